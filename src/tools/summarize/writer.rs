//! Who writes the summary: code, or a model with code behind it.

use std::fmt;

use ctx_cli::{Failure, Io};
use ctx_llm::{Client, Clock, Completion, LlmError, Question, Tape, TapeError};
use ctx_policy::Method;
use ctx_summary::check::{Checked, Mended, Rules, Source, check};
use ctx_summary::{
    Job, ModelSummary, Template, Transcript, completed, compose, extractive, missing_headings,
    must_keep, summarize,
};
use ctx_tokens::Encoding;

use super::old::OldZone;

/// Writes summaries.
pub(crate) struct Writer {
    encoding: Encoding,
    /// How it is done without a model, or without its answer: extractive or rule.
    offline: Method,
    /// Whether what a model's answer lacks is added to it.
    completes: bool,
    /// What a summary that is written offline must fit into.
    limit: Option<u64>,
    model: Option<Model>,
}

/// Of a budget for all, a model's answer may take one part in so many, ...
const MODEL_SHARE: u64 = 6;
/// ... but not less than so many tokens.
const LEAST_TARGET: u64 = 64;
/// Tokens of the items that a model is told to keep.
const MUST_KEEP: u64 = 1_200;

/// A model, and what it is told.
pub(super) struct Model {
    pub(super) asked: Asked,
    pub(super) template: Template,
    pub(super) instructions: String,
    pub(super) target: u64,
    /// What it may write, in percent of that.
    pub(super) most_percent: u64,
    pub(super) window: u64,
    /// Its silence is a failure; else a summary by code is taken.
    pub(super) must_answer: bool,
    /// Headings that its summary must have, where it is checked.
    pub(super) headings: Option<Vec<String>>,
}

/// What was written.
pub(super) struct Written {
    pub(super) text: String,
    /// What the model wrote failed the check twice; this is written by code.
    pub(super) failed_check: bool,
    /// How much of the model's answer had to be mended.
    pub(super) mends: usize,
    /// How many secrets were taken out while it was put together.
    pub(super) redacted: usize,
}

impl Written {
    fn of(text: String) -> Self {
        Self {
            text,
            failed_check: false,
            mends: 0,
            redacted: 0,
        }
    }
}

/// What a model wrote, and what is to be thought of it.
struct Answer {
    summary: ModelSummary,
    checked: Checked,
    /// Why a policy that wants it checked asks again.
    flaw: Option<String>,
}

/// Who answers.
pub(super) enum Asked {
    Server(Client),
    /// A server, and what it says is kept.
    Recorded(Client, Tape),
    /// What a server said once.
    Tape(Tape),
}

impl Asked {
    fn ask(&self, question: &Question<'_>) -> Result<Completion, LlmError> {
        let clock = Clock {
            now: &chrono::Utc::now,
            sleep: &std::thread::sleep,
        };
        match self {
            Self::Server(client) => client.ask(question, clock),
            Self::Recorded(client, tape) => tape.record(question, || client.ask(question, clock)),
            Self::Tape(tape) => tape.replay(question),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(client) | Self::Recorded(client, _) => client.endpoint().fmt(f),
            Self::Tape(tape) => tape.dir().display().fmt(f),
        }
    }
}

impl Writer {
    /// Without a model.
    pub(crate) fn offline(offline: Method, encoding: Encoding, limit: Option<u64>) -> Self {
        Self {
            encoding,
            offline,
            completes: false,
            limit,
            model: None,
        }
    }

    pub(super) fn with_model(mut self, model: Model) -> Self {
        self.model = Some(model);
        self
    }

    /// What a model's answer lacks of what must not be lost is added to it.
    pub(crate) fn completing(mut self) -> Self {
        self.completes = self.offline == Method::Extractive;
        self
    }

    /// With no more of a model than so many percent of what it is asked for.
    pub(crate) fn at_most(mut self, percent: u64) -> Self {
        if let Some(model) = &mut self.model {
            model.most_percent = percent;
        }
        self
    }

    /// Whether the ledger of the session is needed.
    pub(super) fn reads_ledger(&self) -> bool {
        self.offline == Method::Extractive
    }

    /// With what a model writes checked: whole, and with these headings. It is asked
    /// once more, and then no more.
    pub(crate) fn checked(mut self, headings: Vec<String>) -> Self {
        if let Some(model) = &mut self.model {
            model.headings = Some(headings);
        }
        self
    }

    pub(super) fn asks_a_model(&self) -> bool {
        self.model.is_some()
    }

    /// The summary of an old zone; `room` is what the context has left for it.
    pub(super) fn write(
        &self,
        old: &OldZone,
        room: Option<u64>,
        name: &str,
        io: &mut Io,
    ) -> Result<Written, Failure> {
        let nothing_said =
            old.earlier.is_empty() && old.transcript.as_ref().is_none_or(Transcript::is_empty);
        let Some(model) = self.model.as_ref().filter(|_| !nothing_said) else {
            return Ok(self.by_code(old, room));
        };
        let of_model = self.without_line(room);
        let error = match self.by_model_and_checked(model, (old, of_model), name, io) {
            Ok(Answer {
                flaw: Some(flaw), ..
            }) => return self.failed_check(model, &flaw, (old, room), name, io),
            Ok(answer) => {
                tell(&answer.summary, old, name, io);
                match answer.checked {
                    Checked::Use(mended) if self.is_over(&mended, of_model) => {
                        "the answer is longer than the budget leaves for it".to_owned()
                    }
                    Checked::Use(mended) => {
                        tell_mends(&mended, name, io);
                        return Ok(self.accepted(mended, model, (old, of_model)));
                    }
                    Checked::Reject(reason) => reason.to_string(),
                }
            }
            // Who asks for a repeatable run is not given another one.
            Err(LlmError::Tape(error)) => return Err(not_on_file(&error).at(name, None)),
            Err(error) => error.to_string(),
        };
        let asked = &model.asked;
        if model.must_answer {
            return Err(
                Failure::new(format_args!("no summary from {asked}: {error}"))
                    .at(name, None)
                    .hint("--on-failure extractive takes a summary that needs no model"),
            );
        }
        io.warn(format_args!(
            "{name}: no summary from {asked}: {error}; the {} summary is taken",
            self.offline
        ));
        Ok(self.by_code(old, room))
    }

    /// What is left of the room below the line which says that this is a record. The
    /// extractive summary says it itself.
    fn without_line(&self, room: Option<u64>) -> Option<u64> {
        room.map(|room| room.saturating_sub(self.encoding.counter().count(&compose(None, ""))))
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
        (old, room): (&OldZone, Option<u64>),
    ) -> Written {
        let mends = mended.mends.total();
        let mut text = mended.text;
        if let Some(ledger) = old.ledger.as_ref().filter(|_| self.completes) {
            let limit = room.unwrap_or_else(|| Self::longest(model, old));
            text = completed(ledger, &text, limit, self.encoding.counter());
        }
        Written {
            mends,
            ..Written::of(text)
        }
    }

    /// How long a summary gets where no budget for all is given. A model may write
    /// more than it is asked for; so may code. But what is added must not take
    /// back what the summary saves.
    fn longest(model: &Model, old: &OldZone) -> u64 {
        let asked = model.target * model.most_percent / 100;
        old.most_tokens().map_or(asked, |most| asked.min(most / 2))
    }

    /// How long an answer is asked for: within a budget for all, code has to tell
    /// most, since it does not depend on how good the model is.
    fn target(model: &Model, room: Option<u64>) -> u64 {
        let share = room.map(|room| (room / MODEL_SHARE).max(LEAST_TARGET));
        share.map_or(model.target, |share| share.min(model.target))
    }

    /// The summary of an old zone without a model; `room` as above.
    pub(super) fn by_code(&self, old: &OldZone, room: Option<u64>) -> Written {
        let within = |room| [self.limit, room].into_iter().flatten().min();
        let counter = self.encoding.counter();
        let ledger = old.ledger.as_ref().filter(|_| self.reads_ledger());
        let (text, redacted) = if let Some(ledger) = ledger {
            let limit = within(room).unwrap_or_else(|| old.default_length());
            (extractive(ledger, limit, counter), ledger.redacted())
        } else {
            let limit = within(self.without_line(room));
            (old.rule.finish(limit, counter), old.rule.redacted())
        };
        Written {
            redacted,
            ..Written::of(text)
        }
    }

    /// Asks once more when the summary fails the check that a policy wants; also what
    /// is wrong with the last one.
    fn by_model_and_checked(
        &self,
        model: &Model,
        zone: (&OldZone, Option<u64>),
        name: &str,
        io: &mut Io,
    ) -> Result<Answer, LlmError> {
        let answer = self.by_model(model, zone, "")?;
        let Some(flaw) = &answer.flaw else {
            return Ok(answer);
        };
        io.note(format_args!(
            "{name}: the summary failed its check: {flaw}; asked again"
        ));
        self.by_model(model, zone, flaw)
    }

    /// Whether a model's text can be used, and what has to be mended.
    fn check(
        &self,
        model: &Model,
        old: &OldZone,
        (target, summary): (u64, &ModelSummary),
    ) -> Checked {
        let rules = Rules {
            headings: &model.template.headings(),
            prompt: &model.template.prompt(&model.instructions, target),
            cut: summary.cut,
            largest: old.most_tokens(),
            counter: self.encoding.counter(),
        };
        match &old.source {
            Some(source) => check(&summary.text, source, &rules),
            None => check(&summary.text, &Source::default(), &rules),
        }
    }

    fn failed_check(
        &self,
        model: &Model,
        flaw: &str,
        (old, room): (&OldZone, Option<u64>),
        name: &str,
        io: &mut Io,
    ) -> Result<Written, Failure> {
        let endpoint = &model.asked;
        let what = format!("the summary of {endpoint} failed its check twice: {flaw}");
        if model.must_answer {
            return Err(Failure::new(what).at(name, None));
        }
        io.warn(format_args!(
            "{name}: {what}; the {} summary is taken, and less is kept",
            self.offline
        ));
        Ok(Written {
            failed_check: true,
            ..self.by_code(old, room)
        })
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

    /// `flaw` is what was wrong with the summary before.
    fn by_model(
        &self,
        model: &Model,
        (old, room): (&OldZone, Option<u64>),
        flaw: &str,
    ) -> Result<Answer, LlmError> {
        let target = Self::target(model, room);
        let Some(transcript) = &old.transcript else {
            return Err(LlmError::Empty { finish: None });
        };
        let instructions = [model.instructions.as_str(), flaw].join("\n");
        let job = Job {
            template: &model.template,
            transcript,
            earlier: &self.known(old),
            instructions: instructions.trim(),
            target,
            most_percent: model.most_percent,
            window: model.window,
            counter: self.encoding.counter(),
        };
        let summary = summarize(&job, &mut |question| model.asked.ask(question))?;
        let checked = self.check(model, old, (target, &summary));
        let flaw = model.flaw(&summary, &checked);
        Ok(Answer {
            summary,
            checked,
            flaw,
        })
    }
}

fn tell_mends(mended: &Mended, name: &str, io: &mut Io) {
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
    let message = format_args!("{name}: the model's answer was mended: {said}");
    // Numbers and missing sections alone change nothing in it.
    if mended.mends.total() > 0 {
        io.warn(message);
    } else {
        io.note(format_args!("{name}: in the model's answer: {said}"));
    }
}

fn not_on_file(error: &TapeError) -> Failure {
    let failure = Failure::new(error);
    match error {
        TapeError::Missing(_) => {
            failure.hint("session, flags, model and template must be those of the recording")
        }
        TapeError::Damaged(_) => failure.hint("record it again"),
        TapeError::Io(..) => failure,
    }
}

impl Model {
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

fn tell(summary: &ModelSummary, old: &OldZone, name: &str, io: &mut Io) {
    let redacted = old.redacted + old.transcript.as_ref().map_or(0, Transcript::redacted);
    if redacted > 0 {
        io.note(format_args!(
            "{name}: secrets taken out of what was sent: {redacted}"
        ));
    }
    if summary.parts > 1 {
        io.note(format_args!(
            "{name}: summed up in {} parts, {} answers",
            summary.parts, summary.answers
        ));
    }
    if summary.thinned {
        io.warn(format_args!(
            "{name}: too many messages for one model: some of their text was left out"
        ));
    }
    if summary.excerpts > 0 {
        io.warn(format_args!(
            "{name}: parts that the model did not sum up, and of which head and tail went on: {}",
            summary.excerpts
        ));
    }
    if summary.cut {
        io.warn(format_args!(
            "{name}: the model reached its limit: the end of the summary is missing; \
             --summary-tokens gives it more"
        ));
    }
}
