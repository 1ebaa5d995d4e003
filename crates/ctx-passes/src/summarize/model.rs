//! A model that is asked for a summary.

use std::fmt;

use chrono::{DateTime, Utc};
use ctx_llm::{Client, Clock, Completion, LlmError, Tape, TapeError};
use ctx_summary::check::{Checked, Mended, Rules, Source, check};
use ctx_summary::{Job, ModelSummary, Template, Transcript, missing_headings, summarize};
use ctx_tokens::Encoding;

use super::old::OldZone;
use crate::{ErrorKind, Notes, PassError};

/// A model, and what it is told.
pub struct Model {
    /// Who answers.
    pub source: ModelSource,
    /// The prompt.
    pub template: Template,
    /// What the summary shall stress.
    pub instructions: String,
    /// The length that is asked for, in tokens.
    pub target: u64,
    /// What it may write, in percent of that.
    pub most_percent: u64,
    /// Its window in tokens.
    pub window: u64,
    /// Its silence is a failure; else a summary by code is taken.
    pub must_answer: bool,
    /// Headings that its summary must have, where a policy wants it checked.
    pub headings: Option<Vec<String>>,
    /// The time, for servers that say when to come again.
    pub now: fn() -> DateTime<Utc>,
}

/// Who answers.
pub enum ModelSource {
    /// A server.
    Server(Client),
    /// A server, and what it says is kept.
    Recorded(Client, Tape),
    /// What a server said once.
    Replayed(Tape),
}

/// What is asked.
pub(super) struct Question<'q> {
    pub(super) old: &'q OldZone,
    /// What the model gets beside the record.
    pub(super) known: &'q str,
    pub(super) target: u64,
    pub(super) encoding: Encoding,
}

/// What a model wrote, and what is to be thought of it.
pub(super) struct Answer {
    pub(super) summary: ModelSummary,
    pub(super) checked: Checked,
    /// Why a policy that wants it checked asks again.
    pub(super) flaw: Option<String>,
}

impl ModelSource {
    fn ask(
        &self,
        question: &ctx_llm::Question<'_>,
        now: fn() -> DateTime<Utc>,
    ) -> Result<Completion, LlmError> {
        let clock = Clock {
            now: &now,
            sleep: &std::thread::sleep,
        };
        match self {
            Self::Server(client) => client.ask(question, clock),
            Self::Recorded(client, tape) => tape.record(question, || client.ask(question, clock)),
            Self::Replayed(tape) => tape.replay(question),
        }
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(client) | Self::Recorded(client, _) => client.endpoint().fmt(f),
            Self::Replayed(tape) => tape.dir().display().fmt(f),
        }
    }
}

impl Model {
    /// `flaw` is what was wrong with the summary before.
    pub(super) fn ask(&self, question: &Question<'_>, flaw: &str) -> Result<Answer, LlmError> {
        let old = question.old;
        let Some(transcript) = &old.transcript else {
            return Err(LlmError::Empty { finish: None });
        };
        let instructions = [self.instructions.as_str(), flaw].join("\n");
        let job = Job {
            template: &self.template,
            transcript,
            earlier: question.known,
            instructions: instructions.trim(),
            target: question.target,
            most_percent: self.most_percent,
            window: self.window,
            counter: question.encoding.counter(),
        };
        let summary = summarize(&job, &mut |asked| self.source.ask(asked, self.now))?;
        let checked = self.check(question, &summary);
        let flaw = self.flaw(&summary, &checked);
        Ok(Answer {
            summary,
            checked,
            flaw,
        })
    }

    /// Whether its text can be used, and what has to be mended.
    fn check(&self, question: &Question<'_>, summary: &ModelSummary) -> Checked {
        let rules = Rules {
            headings: &self.template.headings(),
            prompt: &self.template.prompt(&self.instructions, question.target),
            cut: summary.cut,
            largest: question.old.most_tokens(),
            counter: question.encoding.counter(),
        };
        match &question.old.source {
            Some(source) => check(&summary.text, source, &rules),
            None => check(&summary.text, &Source::default(), &rules),
        }
    }

    /// What a summary lacks, where a policy wants to know.
    fn flaw(&self, summary: &ModelSummary, checked: &Checked) -> Option<String> {
        let headings = self.headings.as_ref()?;
        if let Checked::Reject(reason) = checked {
            return Some(reason.to_string());
        }
        if summary.cut {
            return Some("it reached its limit before its end: be shorter".to_owned());
        }
        let missing = missing_headings(&summary.text, headings);
        (!missing.is_empty()).then(|| format!("these sections are missing: {}", missing.join(", ")))
    }
}

pub(super) fn not_on_file(error: TapeError) -> PassError {
    ErrorKind::Tape(error).into()
}

/// How the answer came about.
pub(super) fn tell(summary: &ModelSummary, old: &OldZone, notes: &mut Notes) {
    let redacted = old.redacted + old.transcript.as_ref().map_or(0, Transcript::redacted);
    if redacted > 0 {
        notes.info(format_args!(
            "secrets taken out of what was sent: {redacted}"
        ));
    }
    if summary.parts > 1 {
        notes.info(format_args!(
            "summed up in {} parts, {} answers",
            summary.parts, summary.answers
        ));
    }
    if summary.thinned {
        notes.warn(
            &[],
            "too many messages for one model: some of their text was left out",
        );
    }
    if summary.excerpts > 0 {
        notes.warn(
            &[],
            format_args!(
                "parts that the model did not sum up, and of which head and tail went on: {}",
                summary.excerpts
            ),
        );
    }
    if summary.cut {
        notes.warn(
            &[],
            "the model reached its limit: the end of the summary is missing; \
             --summary-tokens gives it more",
        );
    }
}

/// What had to be mended in the answer.
pub(super) fn tell_mends(mended: &Mended, notes: &mut Notes) {
    let mut said = mended.mends.to_string();
    if !mended.missing.is_empty() {
        let missing = format!("sections missing: {}", mended.missing.join(", "));
        said = if said.is_empty() {
            missing
        } else {
            format!("{said}, {missing}")
        };
    }
    if said.is_empty() {
        return;
    }
    // Numbers and missing sections alone change nothing in it.
    if mended.mends.total() > 0 {
        notes.warn(&[], format_args!("the model's answer was mended: {said}"));
    } else {
        notes.info(format_args!("in the model's answer: {said}"));
    }
}
