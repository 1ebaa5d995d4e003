//! Pruning: tool results get shorter by rules, reasoning and old messages go.

mod anew;
#[cfg(feature = "clap")]
mod asked;
pub(crate) mod decision;
mod gate;
mod items;
mod last_call;
mod log;
mod pass;
mod told;
mod usage;

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ctx_policy::Offload;
use ctx_select::count::MessageCounter;
use ctx_select::prune::{Policy, ReferencePattern, ToolFilter, Trim};
use ctx_transcript::{Dialect, Saved, Zone};

use crate::offload::Template;
use crate::{Pin, Time};
pub use anew::{Beside, NewSession};
#[cfg(feature = "clap")]
pub use asked::{Asked, Given, NoPlan};
pub use decision::Decision;
pub use last_call::LastCall;
pub use pass::PrunePass;
pub use told::Told;

/// What is pruned.
pub struct Plan {
    /// The rules.
    pub policy: Policy,
    /// Records that stay as they are.
    pub pins: Vec<Pin>,
    /// Only records of this zone change.
    pub zone: Option<Zone>,
    /// Nothing changes where it would free fewer tokens.
    pub min_gain: u64,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether each change is told.
    pub tell_changes: bool,
    /// Whether the size of the session is asked for: then all of it is counted.
    pub size: bool,
    /// Whether an input that breaks a rule of its dialect is refused.
    pub strict: bool,
    /// What must be cold before anything changes.
    pub cache: Option<Cache>,
    /// Where temporary files lie.
    pub temp: PathBuf,
}

/// A provider's cache of the prompt: it is lost when the beginning of the session
/// changes.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// How long it lives.
    pub ttl: Duration,
    /// When the model was called last, where the records do not tell.
    pub last_call: Option<Time>,
    /// The time.
    pub now: DateTime<Utc>,
}

impl Cache {
    /// Whether nothing is lost when the beginning of the session changes; `None`
    /// where nothing tells when the last call was.
    pub fn is_cold(&self, last_call: LastCall) -> Option<bool> {
        let last = last_call.time().or(self.last_call)?;
        // A call in the future is not old.
        let age = (self.now - last.0).to_std();
        Some(age.is_ok_and(|age| age > self.ttl))
    }
}

/// [`Cache::is_cold`], where there is a cache that must not be lost.
pub(crate) fn is_cold(cache: Option<&Cache>, last_call: LastCall) -> Option<bool> {
    cache.map_or(Some(true), |cache| cache.is_cold(last_call))
}

/// The rules of a compaction's policy; `None` if it prunes nothing. Whether old results
/// are cleared, and what handles may promise, is up to the caller.
pub fn rules(
    whole: &ctx_policy::Policy,
    clears: bool,
    dialect: &dyn Dialect,
    saved: Saved,
) -> Option<Policy> {
    let prune = &whole.prune;
    let trim = prune.max_chars.map(|chars| Trim {
        max_chars: size(chars),
        head_share: prune.head_share,
        tail_share: prune.tail_share,
        cut: prune.cut.clone().into(),
        ..Trim::default()
    });
    let policy = Policy {
        trim,
        clear: clears.then(|| prune.placeholder.clone()),
        drop: prune.drop.clone(),
        references: references(&whole.offload),
        argument_chars: None,
        window_messages: prune.window_messages,
        protect_last: size(prune.protect_last),
        tools: ToolFilter {
            allow: prune.allow.clone(),
            deny: prune.deny.clone(),
        },
        user_first: dialect.output_rules().user_first,
        saved,
    };
    policy.does_anything().then_some(policy)
}

/// The references that may stand in the place of results: those that this policy writes,
/// and those that `ctx-offload` writes by default, or did.
pub fn references(offload: &Offload) -> Vec<ReferencePattern> {
    let built_in = ctx_policy::Policy::default().offload;
    let templates = [offload, &built_in].map(|offload| [&offload.reference, &offload.unavailable]);
    let templates = templates.iter().flatten().map(|template| template.as_str());
    templates
        .chain([Template::OLDER])
        .filter_map(ReferencePattern::of)
        .collect()
}

/// No text is longer than memory.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ctx_policy::Clear;
    use ctx_select::count::MessageCounter;
    use ctx_select::prune::Policy;
    use ctx_tokens::Encoding;
    use ctx_transcript::dialect::Chat;
    use ctx_transcript::{Object, Options, Role, Saved};

    use super::{Cache, LastCall, Plan, PrunePass, is_cold, references, rules};
    use crate::{Invalid, Notes, PassError, Session, Time};

    pub(super) fn plan(policy: Policy) -> Plan {
        Plan {
            policy,
            pins: Vec::new(),
            zone: None,
            min_gain: 0,
            counter: MessageCounter::new(Encoding::Chars4),
            tell_changes: false,
            size: false,
            strict: false,
            cache: None,
            temp: std::env::temp_dir(),
        }
    }

    /// A tool result of so many words.
    pub(super) fn result(id: u64, words: usize) -> String {
        let text = "word ".repeat(words);
        format!("{{\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"{text}\"}}\n")
    }

    /// What pruning makes of a session, and what it says; each note with its line.
    pub(super) fn pass(plan: &Plan, session: &str) -> Result<(String, Vec<String>), PassError> {
        let reader = Box::new(std::io::Cursor::new(session.to_owned().into_bytes()));
        let mut session = Session::open(reader, &Options::default(), Invalid::Keep)?;
        let mut pass = PrunePass::new(plan, session.dialect(), false);
        session.each(|record| pass.push(record))?;
        let mut notes = Notes::new();
        let written = pass.finish(true, &mut notes)?.write(0, Vec::new())?;
        let told = notes.take().into_iter().map(|note| {
            let lines = note.lines.iter().map(|line| format!("{line}: "));
            lines.collect::<Vec<_>>().concat() + &note.text
        });
        Ok((String::from_utf8(written).expect("text"), told.collect()))
    }

    #[test]
    fn the_rules_of_a_policy_are_those_of_pruning() {
        let mut whole = ctx_policy::Policy::default();
        whole.prune.max_chars = Some(500);
        whole.prune.protect_last = 2;
        whole.prune.clear = Clear::Never;
        let trims = rules(&whole, false, &Chat, Saved::Yes).expect("it trims");
        assert_eq!(trims.trim.expect("it trims").max_chars, 500);
        assert_eq!((trims.clear, trims.protect_last), (None, 2));
        let clears = rules(&whole, true, &Chat, Saved::Yes).expect("it clears");
        assert_eq!(clears.clear, Some(whole.prune.placeholder.clone()));
        (whole.prune.max_chars, whole.prune.drop) = (None, Vec::new());
        assert!(rules(&whole, false, &Chat, Saved::Yes).is_none());
    }

    #[test]
    fn references_of_the_policy_and_of_the_tool_are_known() {
        let mut offload = ctx_policy::Policy::default().offload;
        assert_eq!(references(&offload).len(), 5);
        // Nothing that a text could be known by.
        offload.reference = "{path}".to_owned();
        assert_eq!(references(&offload).len(), 4);
    }

    #[test]
    fn without_a_cache_nothing_is_warm() {
        assert_eq!(is_cold(None, LastCall::default()), Some(true));
    }

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    #[test]
    fn only_older_is_cold() {
        let is_cold = |now: &str| {
            let cache = Cache {
                ttl: Duration::from_secs(300),
                last_call: Some(time("2025-01-01T00:00:00Z")),
                now: time(now).0,
            };
            cache.is_cold(LastCall::default())
        };
        assert_eq!(is_cold("2024-12-31T00:00:00Z"), Some(false));
        assert_eq!(is_cold("2025-01-01T00:04:59.999Z"), Some(false));
        assert_eq!(is_cold("2025-01-01T00:05:00Z"), Some(false));
        assert_eq!(is_cold("2025-01-01T00:05:00.001Z"), Some(true));
    }

    #[test]
    fn records_tell_before_anything_else_and_somebody_has_to() {
        let mut cache = Cache {
            ttl: Duration::from_secs(60),
            last_call: None,
            now: time("2025-01-01T01:00:00Z").0,
        };
        assert_eq!(cache.is_cold(LastCall::default()), None);
        cache.last_call = Some(time("2025-01-01T01:00:00Z"));
        let object = Object::parse(r#"{"timestamp":"2025-01-01T00:00:00Z"}"#).expect("an object");
        let mut said = LastCall::default();
        said.message(Role::Assistant, &object);
        assert_eq!(cache.is_cold(said), Some(true));
        assert_eq!(cache.is_cold(LastCall::default()), Some(false));
    }
}
