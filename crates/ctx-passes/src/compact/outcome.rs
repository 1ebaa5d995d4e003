//! How the compaction of one session ended.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ctx_ledger::score::rounded;
use ctx_llm::Usage;
use ctx_select::trigger::Size;
use ctx_store::{Compaction, Figures, StoreError, Summing, Survived};
use serde::Serialize;

use super::forecast::Forecast;
use crate::PassError;
use crate::summarize::took;

/// What became of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is smaller now.
    Compacted,
    /// It is smaller now, and still above the target: what has to stay takes more.
    OverTarget,
    /// Nothing was summarized; what is sent to the model is smaller.
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
    const ALL: [Self; 11] = [
        Self::Compacted,
        Self::OverTarget,
        Self::Pruned,
        Self::NothingToDo,
        Self::NotDue,
        Self::Flushed,
        Self::Disabled,
        Self::NoGain,
        Self::Unreachable,
        Self::SummaryFailed,
        Self::GivenUp,
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compacted => "compacted",
            Self::OverTarget => "over-target",
            Self::Pruned => "pruned",
            Self::NothingToDo => "nothing-to-do",
            Self::NotDue => "not-due",
            Self::Flushed => "flushed",
            Self::Disabled => "disabled",
            Self::NoGain => "no-gain",
            Self::Unreachable => "unreachable",
            Self::SummaryFailed => "summary-failed",
            Self::GivenUp => "given-up",
        }
    }

    /// The outcome of this word, as the audit log has it.
    pub fn named(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|outcome| outcome.as_str() == word)
    }

    /// Whether it was tried and changed nothing: that is worth a record, while what is not due, or not tried
    /// again, is none.
    pub(super) fn is_without_result(self) -> bool {
        matches!(self, Self::NoGain | Self::Unreachable | Self::SummaryFailed)
    }

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

/// The step before all others: pruning, where the policy prunes before.
pub const PRUNED_FIRST: &str = "pruned-first";

/// The report on one session. The keys are a contract: new ones may come, none goes; the audit
/// log tells its figures by the same names.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// As the user named it; none of stdin.
    pub name: Option<String>,
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
    /// The triggers that fired; `manual` where none did and it was asked for all the same.
    pub triggers: Vec<&'static str>,
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens now.
    pub tokens_after: u64,
    /// The difference.
    pub freed_tokens: u64,
    /// The tokens now, divided by those before; none of an empty session.
    pub ratio: Option<f64>,
    /// What the tokens before come to for the API, at most, by the usage that an agent has
    /// recorded: triggers and targets go by that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated_tokens: Option<u64>,
    /// What the API most likely counts of the tokens now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated_after: Option<u64>,
    /// What the whole context may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_tokens: Option<u64>,
    /// The same as the API counts, where an agent has recorded usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_tokens: Option<u64>,
    /// Messages before, system ones left out.
    pub messages_before: u64,
    /// Messages now.
    pub messages_after: u64,
    /// Records that are kept, system messages not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_records: Option<u64>,
    /// Number of the first kept record, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_kept_index: Option<u64>,
    /// Who wrote the summary, and what a model took.
    #[serde(flatten)]
    pub summing: Summing,
    /// How long it took, in milliseconds, until the new content was ready to be written.
    pub duration_ms: u64,
    /// The summary, where the policy wants it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_tokens: Option<u64>,
    /// The file that has it, behind those of earlier compactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_file: Option<String>,
    /// How much of a model's answer had to be repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_repairs: Option<usize>,
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
    /// What went into the memory files, as the log of the day has it.
    #[serde(skip)]
    pub(super) entries: Vec<String>,
    /// Why the replaced session's summary is not among those of the store, or the log of the day
    /// does not tell of it.
    #[serde(skip)]
    pub late_error: Option<StoreError>,
    /// Of a preview: why the file would be left alone for now.
    #[serde(skip)]
    pub refused: Option<StoreError>,
    /// Why files that nothing names any more are still there.
    #[serde(skip)]
    pub not_deleted: Vec<StoreError>,
    /// When it began.
    #[serde(skip)]
    pub(super) begun: DateTime<Utc>,
    /// The preset, where the policy is one of ours: the audit log has no other words.
    #[serde(skip)]
    pub(super) known_preset: Option<&'static str>,
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
        self.tokens_after = size.tokens;
        self.freed_tokens = self.tokens_before - size.tokens;
        self.ratio = ratio(size.tokens, self.tokens_before);
        self.messages_after = size.messages;
    }

    /// Another one of the same batch: the figures of all of them.
    pub(super) fn add(&mut self, next: &Self) {
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
        let (all, one) = (&mut self.summing, next.summing);
        if one.method != Summing::default().method {
            all.method = one.method;
        }
        all.fell_back |= one.fell_back;
        all.model_calls += one.model_calls;
        for (all, one) in [
            (&mut all.model_tokens_in, one.model_tokens_in),
            (&mut all.model_tokens_out, one.model_tokens_out),
        ] {
            *all = one.map_or(*all, |one| Some(all.unwrap_or_default() + one));
        }
        all.model_ms += one.model_ms;
        self.duration_ms += next.duration_ms;
    }

    /// What was asked of models until now, and how long all took.
    pub(super) fn measure(&mut self, usage: Usage, now: DateTime<Utc>) {
        self.summing = Summing {
            method: self.summing.method,
            fell_back: self.summing.fell_back,
            ..took(usage)
        };
        // A clock that was set back says nothing.
        self.duration_ms = milliseconds((now - self.begun).to_std().unwrap_or_default());
    }

    /// What the audit log tells of it.
    pub fn figures(&self) -> Figures {
        Figures {
            compaction: Some(Compaction {
                preset: self.known_preset,
                outcome: self.outcome.as_str(),
                success: self.success,
                triggers: self.triggers.clone(),
                tokens_before: self.tokens_before,
                tokens_after: self.tokens_after,
                ratio: self.ratio,
                target_tokens: self.target_tokens,
                messages_before: self.messages_before,
                messages_after: self.messages_after,
            }),
            summing: Some(self.summing),
            duration_ms: Some(self.duration_ms),
            survived: self.survived.clone(),
            ..Figures::default()
        }
    }

    /// The least that any attempt came to.
    pub fn best(&self) -> u64 {
        let tokens = self.attempts.iter().map(|attempt| attempt.tokens);
        tokens.min().unwrap_or(self.tokens_before)
    }
}

/// What is left of it; `None` of nothing.
pub(super) fn ratio(after: u64, before: u64) -> Option<f64> {
    (before > 0).then(|| rounded(after as f64 / before as f64))
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::{TimeDelta, Utc};
    use ctx_llm::Usage;
    use ctx_select::trigger::Size;
    use ctx_store::Standing;
    use serde_json::{Value, json};

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
            tokens_before: 50,
            messages_before: 9,
            ..Report::default()
        };
        let size = Size {
            tokens: 20,
            messages: 4,
            ..Size::default()
        };
        report.end_at(Outcome::Pruned, &size);
        assert_eq!((report.tokens_after, report.freed_tokens), (20, 30));
        assert_eq!((report.messages_after, report.success), (4, true));
    }

    #[test]
    fn of_a_batch_the_figures_are_those_of_all_together() {
        let one = |tokens_before, tokens_after, triggers, tokens_in| {
            let mut report = Report {
                triggers,
                tokens_before,
                tokens_after,
                ..Report::default()
            };
            report.summing.model_calls = 1;
            report.summing.model_tokens_in = tokens_in;
            report
        };
        let mut all = Report::default();
        all.add(&one(30, 10, vec!["tokens"], None));
        all.add(&one(70, 40, vec!["tokens", "messages"], Some(7)));
        all.add(&one(0, 0, vec![], Some(3)));
        assert_eq!((all.tokens_before, all.ratio), (100, Some(0.5)));
        assert_eq!(all.triggers, ["tokens", "messages"]);
        let summing = all.summing;
        assert_eq!(
            (summing.model_calls, summing.model_tokens_in),
            (3, Some(10))
        );
    }

    #[test]
    fn the_best_attempt_is_the_smallest_and_without_any_nothing_changes() {
        let mut report = Report {
            tokens_before: 50,
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
            r#"{"name":null,"preset":"","outcome":"nothing-to-do","success":false,"dry_run":false,"triggers":[],"tokens_before":0,"tokens_after":0,"freed_tokens":0,"ratio":null,"messages_before":0,"messages_after":0,"method":"none","fell_back":false,"model_calls":0,"model_tokens_in":null,"model_tokens_out":null,"model_ms":0,"duration_ms":0,"attempts":[]}"#
        );
    }

    /// 15 A8: the audit log and `--json` say the same by the same names.
    #[test]
    fn the_audit_log_has_the_figures_of_the_report() {
        let mut report = Report {
            preset: "default".to_owned(),
            known_preset: Some("default"),
            tokens_before: 300,
            messages_before: 9,
            target_tokens: Some(150),
            triggers: vec!["share"],
            begun: Utc::now(),
            summary: Some("words of the session".to_owned()),
            ..Report::default()
        };
        report.survived.insert("asks", Standing::default());
        let size = Size {
            tokens: 100,
            messages: 4,
            ..Size::default()
        };
        report.end_at(Outcome::Compacted, &size);
        let usage = Usage {
            calls: 2,
            tokens_in: Some(900),
            tokens_out: None,
            time: Duration::from_millis(70),
        };
        let later = report.begun + TimeDelta::milliseconds(80);
        report.measure(usage, later);
        let told = serde_json::to_value(&report).expect("JSON");
        let audit = serde_json::to_value(report.figures()).expect("JSON");
        let Value::Object(members) = &audit else {
            panic!("{audit}");
        };
        for (name, value) in members {
            assert_eq!(&told[name], value, "{name}");
        }
        assert_eq!(told["ratio"], json!(0.3333));
        assert_eq!(
            (&audit["model_tokens_in"], &audit["model_ms"]),
            (&json!(900), &json!(70))
        );
        assert_eq!((&audit["duration_ms"], members.len()), (&json!(80), 18));
        assert!(!audit.to_string().contains("words"), "{audit}");
        // A clock that was set back.
        report.measure(Usage::default(), report.begun - TimeDelta::days(1));
        assert_eq!(report.duration_ms, 0);
    }

    #[test]
    fn an_outcome_is_one_word_everywhere() {
        for outcome in Outcome::ALL {
            assert_eq!(json!(outcome), outcome.as_str());
        }
    }
}
