//! Attempts that did not make a session smaller, remembered in its newest
//! snapshot: against a loop of the same attempt.
//!
//! An attempt is a whole run, with all the fallbacks that its policy has. One that
//! failed (no answer of a model, a full disk) says nothing of the session and is
//! not counted.

use ctx_select::trigger::Size;
use ctx_store::{COMPACTION_STRIKES, Replacement, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Plan, Stores};

/// The member of meta.json.
const KEY: &str = COMPACTION_STRIKES;

/// What meta.json has of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Strikes {
    count: u64,
    /// Tokens of the session at the last one.
    tokens: u64,
    /// The target that it had.
    #[serde(default)]
    target: Option<u64>,
}

impl Strikes {
    /// What cannot be read counts as none.
    fn of(value: Option<Value>) -> Self {
        let strikes = value.and_then(|value| serde_json::from_value(value).ok());
        strikes.unwrap_or_default()
    }

    /// Whether a session of so many tokens, or a target that is nearer, is another
    /// matter than the one that was tried.
    fn is_another(self, tokens: u64, target: Option<u64>) -> bool {
        tokens > self.tokens || self.is_nearer(target)
    }

    fn is_nearer(self, target: Option<u64>) -> bool {
        self.target
            .is_some_and(|then| target.is_none_or(|now| now > then))
    }

    /// With one more without a result. A session that has grown is tried again, but a person is
    /// not told again: only a compaction, or a target that is nearer, begins anew.
    fn and_one(self, tokens: u64, target: Option<u64>) -> Self {
        let is_nearer = self.is_nearer(target);
        Self {
            count: if is_nearer { 1 } else { self.count + 1 },
            tokens,
            target,
        }
    }
}

/// Whether the session has not grown since as many attempts in a row as the policy allows.
pub(super) fn given_up(stores: Stores<'_>, plan: &Plan, now: &Size) -> bool {
    let strikes = Strikes::of(stores.store.note(stores.session, KEY));
    let most = plan.policy.target.max_attempts;
    strikes.count >= most && !strikes.is_another(now.tokens, plan.target)
}

/// One more attempt had no result. Says whether it was the last one that the policy allows: a
/// person is told then, and only then.
pub(super) fn add(
    replacement: Replacement<'_>,
    now: &Size,
    plan: &Plan,
) -> Result<bool, StoreError> {
    let mut count = 0;
    replacement.remember(KEY, |old| {
        let strikes = Strikes::of(old.cloned()).and_one(now.tokens, plan.target);
        count = strikes.count;
        json!(strikes)
    })?;
    Ok(count == plan.policy.target.max_attempts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Strikes;

    #[test]
    fn attempts_in_a_row_are_counted_until_the_target_is_nearer() {
        let once = Strikes::of(None).and_one(100, Some(50));
        assert_eq!((once.count, once.tokens, once.target), (1, 100, Some(50)));
        let twice = once.and_one(90, Some(50));
        assert_eq!(twice.count, 2);
        // It has grown.
        assert_eq!(twice.and_one(101, Some(50)).count, 3);
        // The target is easier to reach, or there is none any more.
        assert_eq!(twice.and_one(90, Some(51)).count, 1);
        assert_eq!(twice.and_one(90, None).count, 1);
        assert_eq!(twice.and_one(90, Some(49)).count, 3);
    }

    #[test]
    fn what_cannot_be_read_counts_as_none() {
        assert_eq!(Strikes::of(Some(json!("twice"))), Strikes::default());
        let old = Strikes::of(Some(json!({"count": 2, "tokens": 7})));
        assert_eq!((old.count, old.tokens, old.target), (2, 7, None));
    }
}
