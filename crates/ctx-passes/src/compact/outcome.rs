//! How the compaction of one session ended.

use std::path::PathBuf;

use ctx_select::trigger::Size;
use ctx_store::{StoreError, Survived};
use serde::Serialize;

use super::forecast::Forecast;
use crate::PassError;

/// What became of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is smaller now.
    Compacted,
    /// It is smaller now, and still above the target: what has to stay takes more.
    OverTarget,
    /// Nothing was summed up; what is sent to the model is smaller.
    Pruned,
    /// Nothing in it is old.
    #[default]
    NothingToDo,
    /// No trigger fired.
    NotDue,
    /// What is worth keeping was saved; the session is as it was.
    Flushed,
    /// The policy is switched off.
    Disabled,
    /// The result would not be smaller.
    NoGain,
    /// What has to stay is above the target, so that nothing was written.
    Unreachable,
    /// No model gave a summary that can be used, and the policy takes no other. What was put into
    /// files before stays there, so that the session may be smaller all the same.
    SummaryFailed,
    /// It could not be made smaller before, and has not grown since.
    GivenUp,
}

impl Outcome {
    /// Whether the session was compacted.
    pub fn is_compacted(self) -> bool {
        matches!(self, Self::Compacted | Self::OverTarget)
    }

    /// Whether nothing is left that a person should look at.
    pub fn is_good(self) -> bool {
        !matches!(
            self,
            Self::NoGain | Self::Unreachable | Self::SummaryFailed | Self::GivenUp
        )
    }
}

/// Whether a person should look at a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attention {
    /// No.
    #[default]
    None,
    /// It could not be made smaller.
    Needed,
    /// The same, and it is left alone from now on, until it has grown.
    LastTime,
}

/// One thing that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// What it was.
    pub what: &'static str,
    /// The tokens that it came to.
    pub tokens: u64,
}

/// The report on one session. Its keys are those of the systems whose policies the
/// presets are.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// As the user named it.
    pub file: String,
    /// The line in it, of a conversation in a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Its id in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The policy.
    pub preset: String,
    /// How it ended.
    pub outcome: Outcome,
    /// [`Outcome::is_good`].
    pub success: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The triggers that fired.
    pub due: Vec<String>,
    /// Tokens before.
    pub previous_tokens: u64,
    /// What the tokens before come to for the API, at most, by the usage that an agent has
    /// recorded: triggers and targets go by that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated_tokens: Option<u64>,
    /// Tokens now.
    pub current_tokens: u64,
    /// The difference.
    pub freed_tokens: u64,
    /// What the whole context may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_tokens: Option<u64>,
    /// Messages before, system ones left out.
    pub previous_messages: u64,
    /// Messages now.
    pub current_messages: u64,
    /// Records that are kept, system messages not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserved_count: Option<u64>,
    /// Number of the first kept record, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_kept_index: Option<u64>,
    /// The summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How much of a model's answer had to be mended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_mends: Option<usize>,
    /// What would be done; only in a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Forecast>,
    /// What was tried, in order.
    pub attempts: Vec<Attempt>,
    /// The snapshot of what was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The files of offloaded results that went into the trash because nothing names them
    /// any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_files: Option<Vec<String>>,
    /// Files of offloaded results that could not be read, so that the summary was made
    /// without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The share of the ledger's items that survived; see ctx-score. The same ledger
    /// made the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_kept: Option<f64>,
    /// The older name of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<f64>,
    /// The same by class; what only the snapshot has counts as lost.
    #[serde(skip_serializing_if = "Survived::is_empty")]
    pub survived: Survived,
    /// Bytes that were appended while it ran, and carried over.
    #[serde(skip_serializing_if = "is_zero")]
    pub late_bytes: u64,
    /// Why there is no summary.
    #[serde(skip)]
    pub no_summary: Option<PassError>,
    /// Whether somebody should look at it.
    #[serde(skip)]
    pub attention: Attention,
    /// The old file, where another process still has it open.
    #[serde(skip)]
    pub retained: Option<PathBuf>,
    /// Versions of memory files that people wrote and killed runs took out.
    #[serde(skip)]
    pub edits: Vec<PathBuf>,
    /// Why the replaced session's summary is not among those of the store.
    #[serde(skip)]
    pub summary_error: Option<StoreError>,
    /// Why files that nothing names any more are still there.
    #[serde(skip)]
    pub not_deleted: Vec<StoreError>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Report {
    /// How it ended.
    pub fn end(&mut self, outcome: Outcome) {
        self.outcome = outcome;
        self.success = outcome.is_good();
        self.attention = if self.success {
            Attention::None
        } else {
            Attention::Needed
        };
    }

    /// It ended with a session of this size.
    pub(super) fn end_at(&mut self, outcome: Outcome, size: &Size) {
        self.end(outcome);
        self.current_tokens = size.tokens;
        self.freed_tokens = self.previous_tokens - size.tokens;
        self.current_messages = size.messages;
    }

    /// The least that any attempt came to.
    pub fn best(&self) -> u64 {
        let tokens = self.attempts.iter().map(|attempt| attempt.tokens);
        tokens.min().unwrap_or(self.previous_tokens)
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::trigger::Size;

    use super::{Attempt, Outcome, Report};

    #[test]
    fn a_failed_attempt_is_no_success_and_what_needs_none_is() {
        for (outcome, good) in [
            (Outcome::NothingToDo, true),
            (Outcome::Flushed, true),
            (Outcome::NoGain, false),
            (Outcome::Unreachable, false),
            (Outcome::GivenUp, false),
        ] {
            let mut report = Report::default();
            report.end(outcome);
            assert_eq!((report.outcome, report.success), (outcome, good));
        }
    }

    #[test]
    fn what_is_freed_is_the_difference() {
        let mut report = Report {
            previous_tokens: 50,
            previous_messages: 9,
            ..Report::default()
        };
        let size = Size {
            tokens: 20,
            messages: 4,
            ..Size::default()
        };
        report.end_at(Outcome::Pruned, &size);
        assert_eq!((report.current_tokens, report.freed_tokens), (20, 30));
        assert_eq!((report.current_messages, report.success), (4, true));
    }

    #[test]
    fn the_best_attempt_is_the_smallest_and_without_any_nothing_changes() {
        let mut report = Report {
            previous_tokens: 50,
            ..Report::default()
        };
        assert_eq!(report.best(), 50);
        let attempt = |tokens| Attempt { what: "", tokens };
        report.attempts = [70, 60, 65].map(attempt).into();
        assert_eq!(report.best(), 60);
    }

    #[test]
    fn programs_see_what_is_known_and_nothing_else() {
        let report = serde_json::to_string(&Report::default()).expect("JSON");
        assert_eq!(
            report,
            r#"{"file":"","preset":"","outcome":"nothing-to-do","success":false,"dryRun":false,"due":[],"previousTokens":0,"currentTokens":0,"freedTokens":0,"previousMessages":0,"currentMessages":0,"attempts":[]}"#
        );
    }
}
