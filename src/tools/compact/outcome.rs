//! How the compaction of one session ended, for people and for programs.

use ctx_cli::{ExitStatus, Failure};
use ctx_select::trigger::Size;
use ctx_store::Survived;
use serde::Serialize;

use super::forecast::Forecast;

/// What became of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// It is smaller now.
    Compacted,
    /// Nothing was summed up; what is sent to the model is smaller.
    Pruned,
    /// Nothing in it is old.
    NothingToDo,
    /// No trigger fired.
    NotDue,
    /// What is worth keeping was saved; the session is as it was.
    Flushed,
    /// The policy is switched off.
    Disabled,
    /// The result would not be smaller.
    NoGain,
    /// Even the last turn with the shortest summary is above the target.
    Unreachable,
    /// It could not be made smaller before, and has not grown since.
    GivenUp,
}

impl Outcome {
    pub(super) fn status(self) -> ExitStatus {
        match self {
            Self::NoGain | Self::Unreachable | Self::GivenUp => ExitStatus::No,
            _ => ExitStatus::Done,
        }
    }
}

/// All that is said of one session; the names are those of the systems whose
/// policies can be run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    pub(super) preset: String,
    pub(super) outcome: Outcome,
    /// Whether the session is as it should be; a target out of reach is none.
    pub(super) success: bool,
    pub(super) dry_run: bool,
    /// The triggers that fired.
    pub(super) due: Vec<String>,
    pub(super) previous_tokens: u64,
    pub(super) current_tokens: u64,
    pub(super) freed_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target_tokens: Option<u64>,
    pub(super) previous_messages: u64,
    pub(super) current_messages: u64,
    /// Records that are kept, system messages not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preserved_count: Option<u64>,
    /// Number of the first kept record, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_kept_index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<String>,
    /// How much of a model's answer had to be mended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary_mends: Option<usize>,
    /// What would be done, of a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<Forecast>,
    /// What was tried, in order, with the tokens it came to.
    pub(super) attempts: Vec<Attempt>,
    /// The snapshot of what was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snapshot: Option<String>,
    /// Files of offloaded results that nothing names any more, moved to the trash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deleted_files: Option<usize>,
    /// What of the session survived, as ctx-score has it: one number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fidelity: Option<f64>,
    /// The same by class; lost is what only the snapshot has.
    #[serde(skip_serializing_if = "Survived::is_empty")]
    pub(super) survived: Survived,
    /// Bytes that arrived while it ran, carried over.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) late_bytes: u64,
}

/// One rung of the ladder.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Attempt {
    pub(super) what: &'static str,
    pub(super) tokens: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Report {
    /// How it ended.
    pub(super) fn end(&mut self, outcome: Outcome) {
        self.outcome = outcome;
        self.success = outcome.status() == ExitStatus::Done;
    }

    /// What is sent to the model was pruned, too.
    pub(super) fn pruned(&mut self, size: &Size) {
        if self.outcome != Outcome::Compacted {
            self.end(Outcome::Pruned);
        }
        self.current_tokens = size.tokens;
        self.freed_tokens = self.previous_tokens - size.tokens;
        self.current_messages = size.messages;
    }

    /// Nobody could be told of it: when the session has changed, the exit status
    /// must not say that it has not.
    pub(super) fn untold(&self, failure: Failure) -> Failure {
        if self.snapshot.is_some() && !failure.is_silent() {
            let file = &self.file;
            return failure
                .status(ExitStatus::Uncertain)
                .hint(format!("{file} is compacted"));
        }
        failure
    }

    /// The line for people.
    pub(super) fn line(&self) -> String {
        let Self {
            previous_tokens: before,
            current_tokens: after,
            freed_tokens: freed,
            ..
        } = self;
        let would = if self.dry_run { "would be " } else { "" };
        match self.outcome {
            Outcome::Compacted | Outcome::Pruned => {
                let percent = 100 * freed / (*before).max(1);
                let done = if self.outcome == Outcome::Pruned {
                    "pruned"
                } else {
                    "compacted"
                };
                format!("{would}{done}: {before} → {after} tokens, {freed} freed ({percent} %)")
            }
            Outcome::NothingToDo => format!("nothing to do: nothing is old in {before} tokens"),
            Outcome::NotDue => format!("not due at {before} tokens"),
            Outcome::Flushed => format!("{would}flushed: memory is saved, {before} tokens stay"),
            Outcome::Disabled => "disabled".to_owned(),
            Outcome::NoGain => format!(
                "no gain: {before} tokens would be {}; unchanged",
                self.best()
            ),
            Outcome::Unreachable => format!(
                "the target of {} tokens is out of reach: {before} tokens would be {}; unchanged",
                self.target_tokens.unwrap_or_default(),
                self.best()
            ),
            Outcome::GivenUp => format!(
                "not tried again at {before} tokens: it was no smaller before, and has not grown since; --force tries"
            ),
        }
    }

    /// The least that any attempt came to.
    fn best(&self) -> u64 {
        let tokens = self.attempts.iter().map(|attempt| attempt.tokens);
        tokens.min().unwrap_or(self.previous_tokens)
    }
}
