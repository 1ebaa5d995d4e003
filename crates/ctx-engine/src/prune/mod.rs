//! Prunes sessions: rules shorten or clear tool results, shorten call arguments, and drop
//! reasoning, empty replies and old messages. Text from the user or the model never changes, and
//! nothing is summarized.
//!
//! [`Pruner`] gathers facts about each message and makes its decisions at the end, so that
//! [`Verdicts`] can report what each change frees before anything is written. A change that would
//! not make the session smaller is not made. Pruning twice with the same options has the same
//! result as pruning once, because shortened text is recognized by its handle.
//!
//! [`PrunePass`] prunes a whole file, which may be a list of messages or an agent's log.

mod decision;
mod facts;
mod freed;
mod log;
mod pass;
mod pruner;
mod rules;
mod shorten;
#[cfg(test)]
mod tests;
mod verdicts;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ctx_format::{Dialect, Object, Role, Saved, Zone};
use ctx_policy::share::Share;
use ctx_policy::{Keep, Rule, SignedReasoning, ToolFilter};
use facts::{Facts, RecordFacts};

use crate::message_counter::MessageCounter;
use crate::placeholder::{ReferencePattern, references};
use crate::zones::{KnownFacts, KnownZones, MessageFacts};
use crate::{Pin, Time};

pub use decision::Decision;
pub(crate) use decision::{report_small_gain, report_sums};
pub use freed::{Freed, Sum, Sums};
pub use log::Unsent;
pub use pass::PrunePass;
pub use pruner::Pruner;
pub use rules::Spared;
pub(crate) use shorten::shorten_arguments;
pub use verdicts::Verdicts;
pub(crate) use verdicts::{changes_context, record_edits};

/// The rules to apply; none by default.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Shorten long results.
    pub trim: Option<Trim>,
    /// Replace each result before the protected messages with this text.
    pub clear: Option<String>,
    /// The rules that take no parameter.
    pub drop: Vec<Rule>,
    /// Shorten strings of more than this many characters in call arguments.
    pub argument_chars: Option<usize>,
    /// Drop all but this many of the last messages. System messages stay and are not counted.
    pub window_messages: Option<u64>,
    /// The number of assistant messages at the end that stay unchanged, along with everything after
    /// the first of them.
    pub protect_last: usize,
    /// Patterns for references to files with offloaded results. References that match are not
    /// changed.
    pub references: Vec<ReferencePattern>,
    /// The tools whose results may be changed.
    pub tools: ToolFilter,
    /// Whether the API requires the first message to be a user message.
    pub user_first: bool,
    /// Whether handles may state that the originals are saved.
    pub saved: Saved,
}

impl Options {
    /// Returns the pruning rules from a policy. The caller decides whether old results are cleared,
    /// because the policy may allow clearing only if the other rules do not free enough tokens.
    pub fn of_policy(
        policy: &ctx_policy::Policy,
        clears: bool,
        dialect: Option<&dyn Dialect>,
        saved: Saved,
    ) -> Self {
        let prune = &policy.prune;
        let trim = prune.max_chars.map(|chars| Trim {
            max_chars: saturating_usize(chars),
            head_share: prune.head_share,
            tail_share: prune.tail_share,
            cut: prune.cut.clone().into(),
            ..Trim::default()
        });
        Self {
            trim,
            clear: clears.then(|| prune.placeholder.clone()),
            drop: prune.drop.clone(),
            references: references(&policy.offload),
            argument_chars: None,
            window_messages: prune.window_messages,
            protect_last: saturating_usize(prune.protect_last),
            tools: ToolFilter { allow: prune.allow.clone(), deny: prune.deny.clone() },
            user_first: dialect.is_some_and(|dialect| dialect.output_rules().user_first),
            saved,
        }
    }

    /// Returns the rules that `ctx-prune --drop superseded,duplicates,noise --trim` applies.
    pub fn lossless(dialect: Option<&dyn Dialect>) -> Self {
        Self {
            trim: Some(Trim::default()),
            drop: vec![Rule::Superseded, Rule::Duplicates, Rule::Noise],
            references: references(&ctx_policy::Policy::default().offload),
            protect_last: 3,
            user_first: dialect.is_some_and(|dialect| dialect.output_rules().user_first),
            saved: Saved::Yes,
            ..Self::default()
        }
    }

    /// Returns true if there are any rules.
    pub fn has_rules(&self) -> bool {
        self.trim.is_some()
            || self.clear.is_some()
            || !self.drop.is_empty()
            || self.argument_chars.is_some()
            || self.window_messages.is_some()
    }

    /// Returns true if `rule`, a rule without a parameter, is applied.
    pub fn drops(&self, rule: Rule) -> bool {
        self.drop.contains(&rule)
    }

    /// Returns true if any rule writes handles.
    fn leaves_handles(&self) -> bool {
        self.trim.is_some() || self.leaves_notes() || self.drops(Rule::Noise)
    }

    /// Returns true if any rule replaces results with notes.
    fn leaves_notes(&self) -> bool {
        self.clear.is_some() || self.drops(Rule::Superseded) || self.drops(Rule::Duplicates)
    }
}

/// The rule for shortening text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Text of at most this many characters is not changed.
    pub max_chars: usize,
    /// The length of the beginning to keep, as a share of `max_chars`.
    pub head_share: Share,
    /// The length of the end to keep, as a share of `max_chars`.
    pub tail_share: Share,
    /// The maximum number of apparent error lines to keep between head and tail.
    pub rescue_lines: usize,
    /// The text to insert between head and tail, with `{chars}` for the number of missing
    /// characters.
    pub cut: Cow<'static, str>,
}

impl Default for Trim {
    fn default() -> Self {
        Self {
            max_chars: 10_000,
            head_share: Share::of_percent(30),
            tail_share: Share::of_percent(30),
            rescue_lines: 10,
            cut: Cow::Borrowed("... ({chars} chars truncated) ..."),
        }
    }
}

/// The options for pruning one session.
pub struct Plan {
    /// The rules to apply.
    pub options: Options,
    /// Selectors for records that stay unchanged.
    pub pins: Vec<Pin>,
    /// If set, only records in this zone change.
    pub zone: Option<Zone>,
    /// The minimum number of tokens to free. If fewer tokens would be freed, nothing changes.
    pub min_gain: u64,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether to report each change in addition to the sums.
    pub report_changes: bool,
    /// Whether to treat problems in the input as errors.
    pub strict: bool,
    /// The provider's prompt cache, which must have expired before anything is changed.
    pub cache: Option<Cache>,
    /// What to do with signed reasoning after a change.
    pub signed_reasoning: SignedReasoning,
    /// The folder for temporary files.
    pub temp: PathBuf,
}

/// A provider's prompt cache, which becomes useless when the beginning of a session changes.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// How long the provider keeps the cache after a call.
    pub ttl: Duration,
    /// The time of the last model call, for sessions whose records have no timestamps.
    pub last_call: Option<Time>,
    /// The current time.
    pub now: DateTime<Utc>,
}

/// Returns true if pruning would not waste a prompt cache that is still in use. Returns `None` if
/// the time of the last call is unknown.
pub(crate) fn is_cold(cache: Option<&Cache>, last_call: LastCall) -> Option<bool> {
    let Some(cache) = cache else { return Some(true) };
    let last = last_call.time().or(cache.last_call)?;
    // A call in the future has a negative age, so its cache is assumed to be still in use.
    let age = (cache.now - last.0).to_std();
    Some(age.is_ok_and(|age| age > cache.ttl))
}

/// Finds the time of the last model call in a session's records.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastCall {
    reply: Option<Time>,
    any: Option<Time>,
}

impl LastCall {
    /// Examines the next message, which was read from `object`.
    pub fn message(&mut self, role: Role, object: &Object<'_>) {
        let time = Time::of(object);
        self.any = time.or(self.any);
        if role == Role::Assistant {
            self.reply = time.or(self.reply);
        }
    }

    /// Returns the last timestamp of a reply or, if no reply has one, of any message.
    pub fn time(self) -> Option<Time> {
        self.reply.or(self.any)
    }
}

/// Converts a number of characters or messages to `usize`. A number that is too large becomes the
/// largest possible number, which has the same effect.
pub fn saturating_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Returns, for each record, whether it precedes the window. Returns an empty list if there is no
/// window.
fn records_before(facts: &Facts, options: &Options) -> Vec<bool> {
    let Some(messages) = options.window_messages else { return Vec::new() };
    // Facts that were gathered for options without a window contain no exchanges.
    if facts.exchanges.is_empty() {
        return Vec::new();
    }
    let numbered = || (1..).zip(facts.records.iter().zip(&facts.exchanges).map(known));
    let keep = Keep { messages: Some(messages), ..Keep::default() };
    let mut zones = KnownZones::of(keep, |take| {
        numbered().for_each(|(number, known)| take(number, &known));
    });
    let is_old = |(number, known)| zones.next(number, &known).zone == Zone::Old;
    let mut before: Vec<bool> = numbered().map(is_old).collect();
    if options.user_first {
        extend_to_user(facts, &mut before);
    }
    before
}

fn known((record, exchange): (&RecordFacts, &u32)) -> KnownFacts {
    match record.role {
        None if record.is_tail => KnownFacts::Tail,
        None => KnownFacts::Line,
        Some(role) => KnownFacts::Message(MessageFacts {
            is_system: role.is_system() && !record.is_summary,
            begins_message: record.begins_message,
            begins_turn: record.begins_turn,
            tokens: 0,
            // An earlier summary stays because the messages that it replaced are gone.
            pinned: record.is_fixed || record.is_summary,
            exchange: (*exchange > 0).then_some((*exchange).into()),
            is_orphan: false,
        }),
    }
}

/// Extends the window so that the conversation begins with a user message. No exchange is split.
fn extend_to_user(facts: &Facts, before: &mut [bool]) {
    let records = &facts.records;
    let is_first = |at: &usize| !before[*at] && records[*at].is_conversation();
    let Some(first) = (0..records.len()).find(is_first) else { return };
    // The 1-based number of the earliest record in any exchange that ends at this record or later.
    let mut first_of_exchanges = u64::MAX;
    let begins_window = |at: &usize| {
        let exchange = u64::from(facts.exchanges[*at]);
        if exchange > 0 {
            first_of_exchanges = first_of_exchanges.min(exchange);
        }
        let record = &records[*at];
        *at <= first
            && (*at as u64) < first_of_exchanges
            && record.role == Some(Role::User)
            && (record.begins_turn || record.is_summary)
    };
    let begin = (0..records.len()).rev().find(begins_window).unwrap_or(0);
    if begin < first {
        before[begin..].fill(false);
    }
}

#[cfg(test)]
mod window_tests {
    use ctx_format::{Message, Outline, Role};

    use super::{extend_to_user, records_before};
    use crate::prune::Options;
    use crate::prune::facts::{Facts, RecordFacts};

    /// Creates records by role: `s`ystem, `u`ser, `a`ssistant, `-` for a line that is not a
    /// message. The window keeps records with capital letters. A digit is the 1-based number of the
    /// first record in the exchange.
    fn facts(records: &[&str]) -> (Facts, Vec<bool>) {
        let mut facts = Facts::default();
        let mut before = Vec::new();
        for text in records {
            let letter = &text[..1];
            let role = match letter.to_lowercase().as_str() {
                "s" => Some(Role::System),
                "u" => Some(Role::User),
                "a" => Some(Role::Assistant),
                _ => None,
            };
            let record = role.map_or_else(RecordFacts::default, |role| {
                let outline =
                    Outline { role, begins_turn: role == Role::User, ..Outline::of_line() };
                RecordFacts::of_message(&outline, &Message::new(role, Vec::new()), false)
            });
            facts.add_record(record);
            before.push(letter.to_uppercase() != letter);
            facts.exchanges.push(text[1..].parse().unwrap_or(0));
        }
        (facts, before)
    }

    /// Returns the 1-based numbers of the records that stay if the first message must be a user
    /// message.
    fn kept(records: &[&str]) -> Vec<usize> {
        let (facts, mut before) = facts(records);
        extend_to_user(&facts, &mut before);
        (1..).zip(before).filter(|(_, is_before)| !is_before).map(|(at, _)| at).collect()
    }

    #[test]
    fn without_a_window_nothing_goes() {
        let (facts, _) = facts(&["u", "a"]);
        let options = Options { user_first: true, ..Options::default() };
        assert!(records_before(&facts, &options).is_empty());
    }

    #[test]
    fn more_is_kept_until_the_user_is_first() {
        assert_eq!(kept(&["S", "u", "a", "u", "A", "U"]), [1, 4, 5, 6]);
        assert_eq!(kept(&["u", "a", "U"]), [3]);
        assert_eq!(kept(&["a", "a", "A"]), [1, 2, 3]);
        // The window keeps the user's second message, so the messages after it may be dropped.
        assert_eq!(kept(&["u", "U", "a3", "u3", "A"]), [2, 5]);
        assert_eq!(kept(&["S", "u"]), [1]);
        assert_eq!(kept(&["u", "a", "-", "A"]), [1, 2, 3, 4]);
    }

    #[test]
    fn no_exchange_is_cut() {
        // Without the exchange of record 2, which ends after record 3, the window could begin at
        // record 3.
        assert_eq!(kept(&["u", "a2", "u", "A", "A2"]), [1, 2, 3, 4, 5]);
    }
}
