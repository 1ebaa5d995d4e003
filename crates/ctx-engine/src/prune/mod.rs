//! Pruning: rules shorten or clear tool results, shorten call arguments, and drop reasoning, empty
//! replies and old messages. No text of the user or the model changes, and nothing is summarized.
//!
//! [`Pruner`] gathers facts about each message and decides at the end, so that [`Verdicts`] can say
//! what each change frees before anything is written. A change that would not make the session
//! smaller is not made. Pruning twice with the same options is pruning once: a shortened text is
//! known by its handle.
//!
//! [`PrunePass`] does this for a whole file, which may be a list of messages or an agent's log.

mod carry_out;
mod decide;
mod decision;
mod facts;
mod json;
mod log;
mod log_check;
mod pass;
mod pruner;
mod shorten;
#[cfg(test)]
mod tests;
mod tool_output;
mod usage;
mod verdicts;
mod window;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ctx_format::{Dialect, Object, Role, Saved, Zone};
use ctx_policy::share::Share;
use ctx_policy::{Rule, ToolFilter};

use crate::counter::MessageCounter;
use crate::placeholder::{ReferencePattern, references};
use crate::{Pin, Time};
pub(crate) use carry_out::{changed_record, changes_context};
pub use decision::Decision;
pub(crate) use decision::{report_small_gain, report_sums};
pub use json::PruneReport;
pub use pass::PrunePass;
pub use pruner::Pruner;
pub(crate) use shorten::shorten_arguments;
pub use verdicts::{Freed, Sum, Sums, Verdicts};

/// The rules to apply; by default none.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Shorten long results.
    pub trim: Option<Trim>,
    /// Replace every result before the protected messages with this text.
    pub clear: Option<String>,
    /// The rules that take no parameter.
    pub drop: Vec<Rule>,
    /// Shorten the strings in call arguments that have more characters.
    pub argument_chars: Option<usize>,
    /// Drop all but the last messages. System messages stay and do not count.
    pub window_messages: Option<u64>,
    /// How many assistant messages at the end stay unchanged, with everything after the first of
    /// them.
    pub protect_last: usize,
    /// References to files that hold results; they stay.
    pub references: Vec<ReferencePattern>,
    /// The tools whose results may change.
    pub tools: ToolFilter,
    /// Whether the API wants the user's message first.
    pub user_first: bool,
    /// Whether handles may promise that the originals are saved.
    pub saved: Saved,
}

impl Options {
    /// The rules of a compaction's policy; `None` if it prunes nothing. The caller decides whether
    /// old results are cleared, since a policy may do that only when the rest is not enough.
    pub fn of_policy(
        policy: &ctx_policy::Policy,
        clears: bool,
        dialect: &dyn Dialect,
        saved: Saved,
    ) -> Option<Self> {
        let prune = &policy.prune;
        let trim = prune.max_chars.map(|chars| Trim {
            max_chars: saturating_usize(chars),
            head_share: prune.head_share,
            tail_share: prune.tail_share,
            cut: prune.cut.clone().into(),
            ..Trim::default()
        });
        let options = Self {
            trim,
            clear: clears.then(|| prune.placeholder.clone()),
            drop: prune.drop.clone(),
            references: references(&policy.offload),
            argument_chars: None,
            window_messages: prune.window_messages,
            protect_last: saturating_usize(prune.protect_last),
            tools: ToolFilter { allow: prune.allow.clone(), deny: prune.deny.clone() },
            user_first: dialect.output_rules().user_first,
            saved,
        };
        options.has_rules().then_some(options)
    }

    /// What `ctx-prune --drop superseded,duplicates,noise --trim` does.
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

    /// Whether there is any rule.
    pub fn has_rules(&self) -> bool {
        self.trim.is_some()
            || self.clear.is_some()
            || !self.drop.is_empty()
            || self.argument_chars.is_some()
            || self.window_messages.is_some()
    }

    /// Whether a rule without a parameter applies.
    pub fn drops(&self, rule: Rule) -> bool {
        self.drop.contains(&rule)
    }

    /// Whether handles may be written.
    fn leaves_handles(&self) -> bool {
        self.trim.is_some() || self.leaves_notes() || self.drops(Rule::Noise)
    }

    /// Whether notes may replace results.
    fn leaves_notes(&self) -> bool {
        self.clear.is_some() || self.drop.iter().any(|rule| rule.leaves_notes())
    }
}

/// How long texts are shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// The longest text that stays, in characters.
    pub max_chars: usize,
    /// The share of `max_chars` that is kept from the beginning of a text.
    pub head_share: Share,
    /// The share of `max_chars` that is kept from its end.
    pub tail_share: Share,
    /// How many lines between head and tail are kept because they look like errors.
    pub rescue_lines: usize,
    /// The text between head and tail; `{chars}` stands for the number of missing characters.
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

/// How one session is pruned.
pub struct Plan {
    /// The rules.
    pub options: Options,
    /// Selects records that stay unchanged.
    pub pins: Vec<Pin>,
    /// Only records of this zone change.
    pub zone: Option<Zone>,
    /// Nothing changes if fewer tokens would be freed.
    pub min_gain: u64,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether each change is reported, and not only the sums.
    pub report_changes: bool,
    /// Whether the size of the session is needed. Then all messages are counted; otherwise only
    /// those that may change.
    pub count_all: bool,
    /// Whether a problem of the input is an error.
    pub strict: bool,
    /// The provider's cache, which must be cold before anything changes.
    pub cache: Option<Cache>,
    /// The folder of temporary files.
    pub temp: PathBuf,
}

/// A provider's cache of the prompt. A change at the beginning of the session makes it useless.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// How long the provider keeps it after a call.
    pub ttl: Duration,
    /// The time of the last call, for sessions whose records have no times.
    pub last_call: Option<Time>,
    /// The current time.
    pub now: DateTime<Utc>,
}

impl Cache {
    /// Whether the cache has expired; `None` if the time of the last call is not known.
    fn is_cold(&self, last_call: LastCall) -> Option<bool> {
        let last = last_call.time().or(self.last_call)?;
        // A call in the future has a negative age.
        let age = (self.now - last.0).to_std();
        Some(age.is_ok_and(|age| age > self.ttl))
    }
}

/// Whether pruning loses no warm cache. `None` if the time of the last call is not known.
pub(crate) fn is_cold(cache: Option<&Cache>, last_call: LastCall) -> Option<bool> {
    cache.map_or(Some(true), |cache| cache.is_cold(last_call))
}

/// Finds the time of the last call of the model in the records of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastCall {
    reply: Option<Time>,
    any: Option<Time>,
}

impl LastCall {
    /// The next message; `object` holds it.
    pub fn message(&mut self, role: Role, object: &Object<'_>) {
        let time = Time::of(object);
        self.any = time.or(self.any);
        if role == Role::Assistant {
            self.reply = time.or(self.reply);
        }
    }

    /// The time of the last reply that has one, otherwise of the last message that has one.
    pub fn time(self) -> Option<Time> {
        self.reply.or(self.any)
    }
}

/// A number of characters or messages; more than memory holds means "all".
pub fn saturating_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
