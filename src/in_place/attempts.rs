//! Counts the failed attempts to make a session smaller, so that a nightly job does not repeat
//! hopeless attempts. The count is stored in the session's newest snapshot.
//!
//! An attempt is a whole run, including all of its policy's fallbacks. Runs that failed for reasons
//! unrelated to the session, such as a full disk or a model that gave no response, are not counted.

use ctx_cli::Result;
use ctx_engine::compact::{Attention, Compaction, Outcome, Source};
use ctx_store::{COMPACTION_STRIKES, Facts, Replacement};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{OPERATION, SessionFile, figures};
use crate::store::unchanged;

/// The failed attempts to make a session smaller, as stored in a snapshot's `meta.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct FailedAttempts {
    count: u64,
    /// The size of the session in tokens at the last attempt.
    tokens: u64,
    /// The target of the last attempt in tokens, or `None` if it had no target.
    #[serde(default)]
    target: Option<u64>,
}

impl FailedAttempts {
    /// Reads the stored attempts. If the value cannot be read, no attempts are counted.
    fn of(value: Option<Value>) -> Self {
        value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// Returns true if `target` is easier to reach than the target of the last attempt, or if there
    /// is no longer any target.
    fn is_easier(self, target: Option<u64>) -> bool {
        self.target.is_some_and(|then| target.is_none_or(|now| now > then))
    }

    /// Adds a failed attempt. The count is reset only if the target has become easier. If the
    /// session has grown, compaction is tried again, but the count continues, so that the failure
    /// is not reported again.
    fn and_one(self, tokens: u64, target: Option<u64>) -> Self {
        let count = if self.is_easier(target) { 1 } else { self.count + 1 };
        Self { count, tokens, target }
    }
}

impl SessionFile<'_> {
    /// Returns true if the maximum number of attempts failed in a row, and since then the session
    /// has not grown and the target has not become easier.
    pub(super) fn is_given_up(&self, source: &Source<'_>, compaction: &Compaction<'_>) -> bool {
        if self.options.force {
            return false;
        }
        let attempts = FailedAttempts::of(self.store.note(self.session, COMPACTION_STRIKES));
        let has_grown = compaction.before.size.tokens > attempts.tokens;
        let has_changed = has_grown || attempts.is_easier(source.target());
        attempts.count >= self.options.policy.target.max_attempts && !has_changed
    }

    /// Records a failed attempt in the audit log, and counts it unless only the summary failed.
    pub(super) fn record_failure(
        &self,
        compaction: &mut Compaction<'_>,
        source: &Source<'_>,
        replacement: Replacement<'_>,
    ) -> Result<()> {
        let tokens = compaction.before.size.tokens;
        let report = &mut compaction.report;
        if !report.outcome.is_without_result() {
            return Ok(());
        }
        let facts = Facts { figures: figures(report), ..Facts::of(self.session) };
        self.store.failed(OPERATION, &facts).map_err(unchanged)?;
        if report.outcome == Outcome::SummaryFailed {
            return Ok(());
        }
        let mut count = 0;
        let remembered = replacement.remember(COMPACTION_STRIKES, |old| {
            let attempts = FailedAttempts::of(old.cloned()).and_one(tokens, source.target());
            count = attempts.count;
            json!(attempts)
        });
        remembered.map_err(unchanged)?;
        if count == self.options.policy.target.max_attempts {
            report.attention = Attention::LastTime;
        } else if self.options.only_if_due {
            // A nightly job reports the failure only once, after the last attempt.
            report.attention = Attention::None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FailedAttempts;

    #[test]
    fn attempts_in_a_row_are_counted_until_the_target_is_easier() {
        let once = FailedAttempts::of(None).and_one(100, Some(50));
        assert_eq!((once.count, once.tokens, once.target), (1, 100, Some(50)));
        let twice = once.and_one(90, Some(50));
        assert_eq!(twice.count, 2);
        // The session has grown.
        assert_eq!(twice.and_one(101, Some(50)).count, 3);
        assert_eq!(twice.and_one(90, Some(51)).count, 1);
        assert_eq!(twice.and_one(90, None).count, 1);
        assert_eq!(twice.and_one(90, Some(49)).count, 3);
    }

    #[test]
    fn a_value_that_cannot_be_read_counts_as_none() {
        assert_eq!(FailedAttempts::of(Some(json!("twice"))), FailedAttempts::default());
        let old = FailedAttempts::of(Some(json!({"count": 2, "tokens": 7})));
        assert_eq!((old.count, old.tokens, old.target), (2, 7, None));
    }
}
