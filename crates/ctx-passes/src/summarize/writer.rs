//! Who writes the summary: code, or a model with code behind it.

use ctx_llm::LlmError;
use ctx_policy::Method;
use ctx_summary::check::{Checked, Mended};
use ctx_summary::{Recognizer, completed, extractive, must_keep};
use ctx_tokens::Encoding;

use super::model::{Answer, Model, Question, not_on_file, tell, tell_mends};
use super::old::OldZone;
use crate::{ErrorKind, Notes, PassError};

/// Writes summaries.
pub struct Writer {
    encoding: Encoding,
    /// How it is done without a model, or without its answer: extractive or rule.
    offline: Method,
    /// Whether what a model's answer lacks is added to it.
    completes: bool,
    /// What a summary that is written offline must fit into.
    limit: Option<u64>,
    model: Option<Model>,
}

/// Within a budget for the whole context a model's answer may take a sixth of what is
/// left: code, which does not depend on how good the model is, has to tell most.
const MODEL_SHARE: u64 = 6;
/// A model is asked for at least so many tokens.
const LEAST_TARGET: u64 = 64;
/// Tokens of the items that a model is told to keep.
const MUST_KEEP: u64 = 1_200;

/// What has to be gathered of an old zone before its summary can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Its ledger; else what is counted for a rule summary.
    pub ledger: bool,
    /// What a model is sent, and what its answer is held against.
    pub model: bool,
}

impl Needs {
    /// Whether what was gathered for these is enough for others, too.
    pub fn cover(self, others: Self) -> bool {
        self.ledger == others.ledger && (self.model || !others.model)
    }
}

/// The text of a summary.
#[derive(Debug, Default)]
pub(super) struct SummaryText {
    pub(super) text: String,
    /// What the model wrote failed the check twice; this is written by code.
    pub(super) failed_check: bool,
    /// How much of the model's answer had to be mended.
    pub(super) mends: usize,
    /// How many secrets were taken out while it was put together, ...
    pub(super) redacted: usize,
    /// ... and how many afterwards.
    pub(super) redacted_late: usize,
}

impl Writer {
    /// Without a model.
    pub fn offline(offline: Method, encoding: Encoding, limit: Option<u64>) -> Self {
        Self {
            encoding,
            offline,
            completes: false,
            limit,
            model: None,
        }
    }

    /// With a model.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.model = Some(model);
        self
    }

    /// What a model's answer lacks of what must not be lost is added to it.
    #[must_use]
    pub fn completing(mut self) -> Self {
        self.completes = self.offline == Method::Extractive;
        self
    }

    /// With no more of a model than so many percent of what it is asked for.
    #[must_use]
    pub fn at_most(mut self, percent: u64) -> Self {
        if let Some(model) = &mut self.model {
            model.most_percent = percent;
        }
        self
    }

    /// With what a model writes checked: whole, and with these headings. It is asked
    /// once more, and then no more.
    #[must_use]
    pub fn checked(mut self, headings: Vec<String>) -> Self {
        if let Some(model) = &mut self.model {
            model.headings = Some(headings);
        }
        self
    }

    /// What it writes from.
    pub fn needs(&self) -> Needs {
        Needs {
            ledger: self.reads_ledger(),
            model: self.model.is_some(),
        }
    }

    pub(super) fn reads_ledger(&self) -> bool {
        self.offline == Method::Extractive
    }

    /// The summary of an old zone; `room` is what the context has left for it.
    pub(super) fn write(
        &self,
        old: &OldZone,
        room: Option<u64>,
        notes: &mut Notes,
    ) -> Result<SummaryText, PassError> {
        let Some(model) = self.model.as_ref().filter(|_| !old.is_silent()) else {
            return Ok(self.by_code(old, room));
        };
        let for_answer = self.without_line(room);
        let error = match self.ask(model, old, for_answer, notes) {
            Ok(Answer {
                flaw: Some(flaw), ..
            }) => {
                let what = format!(
                    "the summary of {} failed its check twice: {flaw}",
                    model.source
                );
                if model.must_answer {
                    return Err(ErrorKind::FailedCheck(what).into());
                }
                let offline = self.offline;
                notes.warn(
                    &[],
                    format_args!("{what}; the {offline} summary is taken, and less is kept"),
                );
                return Ok(SummaryText {
                    failed_check: true,
                    ..self.by_code(old, room)
                });
            }
            Ok(answer) => {
                tell(&answer.summary, old, notes);
                match answer.checked {
                    Checked::Use(mended) if self.is_over(&mended, for_answer) => {
                        "the answer is longer than the budget leaves for it".to_owned()
                    }
                    Checked::Use(mended) => {
                        tell_mends(&mended, notes);
                        return Ok(self.accepted(mended, model, old, for_answer));
                    }
                    Checked::Reject(reason) => reason.to_string(),
                }
            }
            // Who asks for a repeatable run is not given another one.
            Err(LlmError::Tape(error)) => return Err(not_on_file(error)),
            Err(error) => error.to_string(),
        };
        let what = format!("no summary from {}: {error}", model.source);
        if model.must_answer {
            return Err(ErrorKind::NoAnswer(what).into());
        }
        let offline = self.offline;
        notes.warn(&[], format_args!("{what}; the {offline} summary is taken"));
        Ok(self.by_code(old, room))
    }

    /// What is left of the room below the line which says that this is a record. The
    /// extractive summary says it itself.
    fn without_line(&self, room: Option<u64>) -> Option<u64> {
        let line = || Recognizer::default().compose(None, "");
        room.map(|room| room.saturating_sub(self.encoding.counter().count(&line())))
    }

    fn is_over(&self, mended: &Mended, room: Option<u64>) -> bool {
        room.is_some_and(|room| self.encoding.counter().count(&mended.text) > room)
    }

    /// A model's summary in its last form: checked and mended. What must be in every
    /// summary and is not in this one is added here, and nowhere else.
    fn accepted(
        &self,
        mended: Mended,
        model: &Model,
        old: &OldZone,
        room: Option<u64>,
    ) -> SummaryText {
        let mends = mended.mends.total();
        let mut text = mended.text;
        if let Some(ledger) = old.ledger.as_ref().filter(|_| self.completes) {
            let limit = room.unwrap_or_else(|| Self::longest(model, old));
            text = completed(ledger, &text, limit, self.encoding.counter());
        }
        SummaryText {
            text,
            mends,
            ..SummaryText::default()
        }
    }

    /// How long a summary gets where no budget for the whole context is given. A model
    /// may write more than it is asked for; so may code. But what is added must not take
    /// back what the summary saves.
    fn longest(model: &Model, old: &OldZone) -> u64 {
        let asked = model.target * model.most_percent / 100;
        old.most_tokens().map_or(asked, |most| asked.min(most / 2))
    }

    /// How long an answer is asked for.
    fn target(model: &Model, room: Option<u64>) -> u64 {
        let share = room.map(|room| (room / MODEL_SHARE).max(LEAST_TARGET));
        share.map_or(model.target, |share| share.min(model.target))
    }

    /// The summary of an old zone without a model; `room` as above.
    pub(super) fn by_code(&self, old: &OldZone, room: Option<u64>) -> SummaryText {
        let within = |room| [self.limit, room].into_iter().flatten().min();
        let counter = self.encoding.counter();
        let (text, redacted) = match (&old.ledger, &old.rule) {
            (Some(ledger), _) if self.reads_ledger() => {
                let limit = within(room).unwrap_or_else(|| old.default_length());
                (extractive(ledger, limit, counter), ledger.redacted())
            }
            (_, Some(rule)) => {
                let limit = within(self.without_line(room));
                (rule.finish(limit, counter), rule.redacted())
            }
            (_, None) => (String::new(), 0),
        };
        SummaryText {
            text,
            redacted,
            ..SummaryText::default()
        }
    }

    /// Asks a model, and once more when what it wrote fails the check that a policy
    /// wants; the flaw of the answer is that of the last one.
    fn ask(
        &self,
        model: &Model,
        old: &OldZone,
        room: Option<u64>,
        notes: &mut Notes,
    ) -> Result<Answer, LlmError> {
        let known = self.known(old);
        let question = Question {
            old,
            known: &known,
            target: Self::target(model, room),
            encoding: self.encoding,
        };
        let answer = model.ask(&question, "")?;
        let Some(flaw) = &answer.flaw else {
            return Ok(answer);
        };
        notes.info(format_args!(
            "the summary failed its check: {flaw}; asked again"
        ));
        model.ask(&question, flaw)
    }

    /// What a model gets beside the record: earlier summaries, and what code found
    /// that a summary must name.
    fn known(&self, old: &OldZone) -> String {
        let mut known = old.earlier.clone();
        if let Some(ledger) = old.ledger.as_ref().filter(|_| self.completes) {
            let items = must_keep(ledger, MUST_KEEP, self.encoding.counter());
            if !items.is_empty() {
                known.push(items);
            }
        }
        known.join("\n\n")
    }
}
