//! The report on the compaction of a session.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use ctx_llm::Usage;
use ctx_policy::Method;
use ctx_policy::trigger::{Due, Size};
use ctx_summary::ledger::score::{Class, Row, Score, rounded};
use derive_more::{Add, Sum};
use serde::Serialize;
use serde_with::skip_serializing_none;
use strum::{EnumString, IntoStaticStr};

use super::forecast::Forecast;
use crate::PassError;
use crate::summarize::Summing;

/// The outcome of compacting a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The session is smaller, and within its target if it has one.
    Compacted,
    /// The session is smaller but still above its target, because the part that must stay is too
    /// large.
    OverTarget,
    /// Nothing was summarized, but the messages to be sent to the model were pruned.
    Pruned,
    /// Nothing could be removed, so everything stays.
    #[default]
    NothingToDo,
    /// No trigger fired.
    NotDue,
    /// Items from the session were written to the memory files, but the session is unchanged.
    Flushed,
    /// The policy is switched off.
    Disabled,
    /// No result would be smaller than the session.
    NoGain,
    /// The part that must stay is larger than the target, so nothing was written.
    Unreachable,
    /// No model returned a usable summary, and the policy accepts no other. Tool results that were
    /// already offloaded stay in their files, so the session may still be smaller.
    SummaryFailed,
    /// The session was skipped because earlier attempts failed and it has not grown since.
    GivenUp,
}

impl Outcome {
    /// Returns true if a compaction was tried without success, which is recorded in the audit log.
    pub fn is_without_result(self) -> bool {
        matches!(self, Self::NoGain | Self::Unreachable | Self::SummaryFailed)
    }

    /// Returns true if the session was compacted.
    pub fn is_compacted(self) -> bool {
        matches!(self, Self::Compacted | Self::OverTarget)
    }

    /// Returns true if the session needs no attention.
    pub fn is_good(self) -> bool {
        !self.is_without_result() && self != Self::GivenUp
    }
}

/// Whether a session needs a person's attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attention {
    /// No attention is needed.
    #[default]
    None,
    /// The session could not be made smaller.
    Needed,
    /// The session could not be made smaller, and it will be skipped until it has grown.
    LastTime,
}

/// An attempt to make the session smaller, with or without success.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The name of the attempt.
    pub what: &'static str,
    /// The size of the resulting session, in tokens.
    pub tokens: u64,
}

/// The name of the attempt that prunes before anything is summarized.
pub const PRUNED_FIRST: &str = "pruned-first";

/// The fate of the ledger's items in one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Add, Sum)]
pub struct Survivors {
    /// The number of items in the new session.
    pub retained: u64,
    /// The number of items that the new session refers to but does not contain.
    pub recoverable: u64,
    /// The number of items that are neither in the new session nor in anything it refers to.
    pub lost: u64,
}

impl Survivors {
    /// Returns the counts of each class that has items.
    pub fn of_classes(score: &Score) -> impl Iterator<Item = (Class, Self)> {
        let rows = score.rows().into_iter().filter(|row| row.total > 0);
        rows.map(|Row { class, retained, recoverable, lost, .. }| {
            (class, Self { retained, recoverable, lost })
        })
    }
}

/// The report on one session. JSON keys may be added but never removed. The audit log uses the same
/// keys.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The session as the user named it, or `None` for stdin.
    #[serialize_always]
    pub name: Option<String>,
    /// The line of the conversation in a batch, or `None` if the session is not part of a batch.
    pub line: Option<u64>,
    /// The id of the session in the store.
    pub session: Option<String>,
    /// The name of the policy.
    pub preset: String,
    /// How the compaction ended.
    pub outcome: Outcome,
    /// Whether the outcome is good, as defined by [`Outcome::is_good`].
    pub success: bool,
    /// Whether the run was only a preview.
    pub dry_run: bool,
    /// The triggers that fired, or `manual` if the user requested the compaction and none fired.
    pub triggers: Vec<&'static str>,
    /// The size of the session before the compaction, in tokens.
    pub tokens_before: u64,
    /// The size of the session after the compaction, in tokens.
    pub tokens_after: u64,
    /// The number of tokens by which the session shrank.
    pub freed_tokens: u64,
    /// `tokens_after` divided by `tokens_before`, or `None` for an empty session.
    #[serialize_always]
    pub ratio: Option<f64>,
    /// The size of the context before the compaction as the API would count it, estimated from
    /// recorded usage.
    pub calibrated_tokens: Option<u64>,
    /// The size of the context after the compaction as the API would count it, estimated from
    /// recorded usage.
    pub calibrated_after: Option<u64>,
    /// The maximum size of the whole context, in tokens as we count them.
    pub target_tokens: Option<u64>,
    /// The maximum size of the whole context in the API's tokens, if an agent recorded usage.
    pub limit_tokens: Option<u64>,
    /// The size of the window in tokens: the model's, the session's own, or the default.
    pub window: u64,
    /// The number of messages before the compaction.
    pub messages_before: u64,
    /// The number of messages after the compaction.
    pub messages_after: u64,
    /// The number of kept records, not counting system messages.
    pub kept_records: Option<u64>,
    /// The 0-based index of the first kept record.
    pub first_kept_index: Option<u64>,
    /// How the summary was made, and the cost of the model requests.
    #[serde(flatten)]
    pub summing: Summing,
    /// The time taken to prepare the new content, in milliseconds.
    pub duration_ms: u64,
    /// The text of the summary, if the policy asks for it in the report.
    pub summary: Option<String>,
    /// The length of the summary in tokens.
    pub summary_tokens: Option<u64>,
    /// The file in the store that holds the session's summaries.
    pub summary_file: Option<String>,
    /// The number of the user's rules that hold, if the summary is extractive.
    pub rules_found: Option<u64>,
    /// The number of these rules in the summary and in the kept messages.
    pub rules_kept: Option<u64>,
    /// The number of repairs that the model's answer needed.
    pub summary_repairs: Option<usize>,
    /// The planned changes, if the run was only a preview.
    pub plan: Option<Forecast>,
    /// The attempts to make the session smaller, in order.
    pub attempts: Vec<Attempt>,
    /// The snapshot of the session from before the compaction.
    pub snapshot: Option<String>,
    /// Files of offloaded results that were moved to the trash because nothing refers to them
    /// anymore.
    pub deleted_files: Option<Vec<String>>,
    /// Files of offloaded results that could not be read. The summary does not cover these results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The share of the ledger's items that survived, as computed by `ctx-score`.
    pub items_kept: Option<f64>,
    /// For each class, how many of the ledger's items survived.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub survived: BTreeMap<&'static str, Survivors>,
    /// The number of bytes that an agent appended during the compaction and that the new file
    /// includes.
    #[serde(skip_serializing_if = "is_zero")]
    pub late_bytes: u64,
    /// The reason why a model failed to write a summary.
    #[serde(skip)]
    pub no_summary: Option<PassError>,
    /// Whether nothing above the target may be written.
    #[serde(skip)]
    pub strict_target: bool,
    /// Whether the session needs a person's attention.
    #[serde(skip)]
    pub attention: Attention,
    /// The time at which the compaction began.
    #[serde(skip)]
    pub begun: DateTime<Utc>,
    /// The readings of the triggers, unless a budget decides whether a compaction is due.
    #[serde(skip)]
    pub due: Option<Due>,
    /// The name of the preset, if the policy is built in. The audit log records only the names of
    /// built-in policies.
    #[serde(skip)]
    pub known_preset: Option<&'static str>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde's signature.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Report {
    /// Sets the outcome.
    pub fn end(&mut self, outcome: Outcome) {
        self.outcome = outcome;
        self.success = outcome.is_good();
        self.attention = if self.success { Attention::None } else { Attention::Needed };
    }

    /// Sets the outcome, and the size after the compaction.
    pub(super) fn end_at(&mut self, outcome: Outcome, size: &Size) {
        self.end(outcome);
        self.resize(size);
    }

    /// Sets the size after the compaction.
    pub(super) fn resize(&mut self, size: &Size) {
        self.tokens_after = size.tokens;
        self.freed_tokens = self.tokens_before.saturating_sub(size.tokens);
        self.ratio = ratio(size.tokens, self.tokens_before);
        self.messages_after = size.messages;
        if let Some(plan) = &mut self.plan {
            plan.remains(size.tokens, plan.summary);
        }
    }

    /// Ends a compaction whose result is not small enough to be written.
    pub(super) fn give_up(&mut self, outcome: Outcome) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.tokens = self.tokens_after;
        }
        self.summing.method = Method::None;
        (self.summary, self.summary_tokens, self.plan) = (None, None, None);
        (self.kept_records, self.first_kept_index) = (None, None);
        let (tokens, messages) = (self.tokens_before, self.messages_before);
        self.end_at(outcome, &Size { tokens, messages, ..Size::default() });
    }

    /// Adds the figures for another conversation in the same batch.
    pub fn add(&mut self, next: &Self) {
        self.tokens_before += next.tokens_before;
        self.tokens_after += next.tokens_after;
        self.freed_tokens += next.freed_tokens;
        self.ratio = ratio(self.tokens_after, self.tokens_before);
        self.messages_before += next.messages_before;
        self.messages_after += next.messages_after;
        for trigger in &next.triggers {
            if !self.triggers.contains(trigger) {
                self.triggers.push(trigger);
            }
        }
        self.summing.add(&next.summing);
        self.duration_ms += next.duration_ms;
    }

    /// Records the cost of the model requests, and how long the compaction has taken until `now`.
    pub(super) fn measure(&mut self, usage: Usage, now: DateTime<Utc>) {
        self.summing.usage = usage;
        // If the clock was set back, the duration is 0.
        self.duration_ms = u64::try_from((now - self.begun).num_milliseconds()).unwrap_or_default();
    }

    /// Records how many of the ledger's items survived.
    pub fn scored(&mut self, score: &Score) {
        self.items_kept = Some(rounded(score.items_kept()));
        let survivors = Survivors::of_classes(score);
        self.survived = survivors.map(|(class, counts)| (class.into(), counts)).collect();
    }

    /// Returns the smallest size that any attempt reached, in tokens. If there was no attempt,
    /// returns the original size.
    pub fn best(&self) -> u64 {
        let tokens = self.attempts.iter().map(|attempt| attempt.tokens);
        tokens.min().unwrap_or(self.tokens_before)
    }
}

/// Returns the share of the tokens that remain after the compaction, or `None` for an empty
/// session.
pub(super) fn ratio(after: u64, before: u64) -> Option<f64> {
    (before > 0).then(|| rounded(after as f64 / before as f64))
}

#[cfg(test)]
mod tests {
    use chrono::{TimeDelta, Utc};
    use ctx_llm::Usage;
    use ctx_policy::trigger::Size;
    use serde_json::json;

    use super::{Attempt, Outcome, Report};

    #[test]
    fn only_a_failed_attempt_is_not_a_success() {
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
    fn freed_tokens_are_the_difference() {
        let mut report = Report { tokens_before: 50, messages_before: 9, ..Report::default() };
        let size = Size { tokens: 20, messages: 4, ..Size::default() };
        report.end_at(Outcome::Pruned, &size);
        assert_eq!((report.tokens_after, report.freed_tokens), (20, 30));
        assert_eq!((report.messages_after, report.success), (4, true));
    }

    #[test]
    fn a_batch_adds_up_the_figures_of_its_conversations() {
        let one = |tokens_before, tokens_after, triggers, tokens_in| {
            let mut report = Report { triggers, tokens_before, tokens_after, ..Report::default() };
            report.summing.usage.calls = 1;
            report.summing.usage.tokens_in = tokens_in;
            report
        };
        let mut all = Report::default();
        all.add(&one(30, 10, vec!["tokens"], None));
        all.add(&one(70, 40, vec!["tokens", "messages"], Some(7)));
        all.add(&one(0, 0, vec![], Some(3)));
        assert_eq!((all.tokens_before, all.ratio), (100, Some(0.5)));
        assert_eq!(all.triggers, ["tokens", "messages"]);
        let usage = all.summing.usage;
        assert_eq!((usage.calls, usage.tokens_in), (3, Some(10)));
    }

    #[test]
    fn the_best_attempt_is_the_smallest() {
        let mut report = Report { tokens_before: 50, ..Report::default() };
        assert_eq!(report.best(), 50);
        let attempt = |tokens| Attempt { what: "", tokens };
        report.attempts = [70, 60, 65].map(attempt).into();
        assert_eq!(report.best(), 60);
    }

    #[test]
    fn the_json_leaves_out_what_is_unknown() {
        let report = serde_json::to_string(&Report::default()).expect("JSON");
        assert_eq!(
            report,
            r#"{"name":null,"preset":"","outcome":"nothing-to-do","success":false,"dry_run":false,"triggers":[],"tokens_before":0,"tokens_after":0,"freed_tokens":0,"ratio":null,"window":0,"messages_before":0,"messages_after":0,"method":"none","fell_back":false,"model_calls":0,"model_tokens_in":null,"model_tokens_out":null,"model_ms":0,"duration_ms":0,"attempts":[]}"#
        );
    }

    #[test]
    fn a_clock_that_was_set_back_gives_a_duration_of_zero() {
        let mut report = Report { begun: Utc::now(), ..Report::default() };
        report.measure(Usage::default(), report.begun + TimeDelta::milliseconds(80));
        assert_eq!(report.duration_ms, 80);
        report.measure(Usage::default(), report.begun - TimeDelta::days(1));
        assert_eq!(report.duration_ms, 0);
    }

    #[test]
    fn an_outcome_has_the_same_word_everywhere() {
        for (outcome, word) in [
            (Outcome::NothingToDo, "nothing-to-do"),
            (Outcome::OverTarget, "over-target"),
            (Outcome::GivenUp, "given-up"),
        ] {
            assert_eq!((json!(outcome), outcome.into()), (json!(word), word));
            assert_eq!(word.parse(), Ok(outcome));
        }
    }
}
