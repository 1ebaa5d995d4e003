//! Who writes the summary: the rule, or a model with the rule behind it.

use std::fmt;

use ctx_cli::{Failure, Io};
use ctx_summary::llm::{Client, Clock, Completion, LlmError, Question, Tape, TapeError};
use ctx_summary::{Job, ModelSummary, Template, Transcript, missing_headings, summarize};
use ctx_tokens::Encoding;

use super::old::OldZone;

/// Writes summaries.
pub(crate) struct Writer {
    encoding: Encoding,
    /// What a rule summary must fit into.
    limit: Option<u64>,
    model: Option<Model>,
}

/// A model, and what it is told.
pub(super) struct Model {
    pub(super) asked: Asked,
    pub(super) template: Template,
    pub(super) instructions: String,
    pub(super) target: u64,
    pub(super) window: u64,
    /// Its silence is a failure; else the rule summary is taken.
    pub(super) must_answer: bool,
    /// Headings that its summary must have, where it is checked.
    pub(super) headings: Option<Vec<String>>,
}

/// What was written.
pub(super) struct Written {
    pub(super) text: String,
    /// What the model wrote failed the check twice; this is by rule.
    pub(super) failed_check: bool,
}

impl Written {
    fn of(text: String) -> Self {
        Self {
            text,
            failed_check: false,
        }
    }
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
    pub(crate) fn rule(encoding: Encoding, limit: Option<u64>) -> Self {
        Self {
            encoding,
            limit,
            model: None,
        }
    }

    pub(super) fn model(encoding: Encoding, limit: Option<u64>, model: Model) -> Self {
        Self {
            encoding,
            limit,
            model: Some(model),
        }
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

    /// The summary of an old zone.
    pub(super) fn write(&self, old: &OldZone, name: &str, io: &mut Io) -> Result<Written, Failure> {
        let nothing_said =
            old.earlier.is_empty() && old.transcript.as_ref().is_none_or(Transcript::is_empty);
        let Some(model) = self.model.as_ref().filter(|_| !nothing_said) else {
            return Ok(Written::of(self.by_rule(old, name, io)));
        };
        match self.by_model_and_checked(model, old, name, io) {
            Ok((summary, None)) => {
                tell(&summary, old, name, io);
                Ok(Written::of(summary.text))
            }
            Ok((_, Some(flaw))) => self.failed_check(model, &flaw, old, name, io),
            // Who asks for a repeatable run is not given another one.
            Err(LlmError::Tape(error)) => Err(not_on_file(&error).at(name, None)),
            Err(error) if model.must_answer => Err(Failure::new(format_args!(
                "no summary from {}: {error}",
                model.asked
            ))
            .at(name, None)
            .hint("--on-failure rule takes the rule summary instead")),
            Err(error) => {
                io.warn(format_args!(
                    "{name}: no summary from {}: {error}; the rule summary is taken",
                    model.asked
                ));
                Ok(Written::of(self.by_rule(old, name, io)))
            }
        }
    }

    fn by_rule(&self, old: &OldZone, name: &str, io: &mut Io) -> String {
        if old.rule.redacted() > 0 {
            io.note(format_args!(
                "{name}: secrets taken out of the summary: {}",
                old.rule.redacted()
            ));
        }
        old.rule.finish(self.limit, self.encoding.counter())
    }

    /// Asks once more when the summary fails its check; also what is wrong with the
    /// last one.
    fn by_model_and_checked(
        &self,
        model: &Model,
        old: &OldZone,
        name: &str,
        io: &mut Io,
    ) -> Result<(ModelSummary, Option<String>), LlmError> {
        let mut summary = self.by_model(model, old, "")?;
        if let Some(flaw) = model.flaw(&summary) {
            io.note(format_args!(
                "{name}: the summary failed its check: {flaw}; asked again"
            ));
            summary = self.by_model(model, old, &flaw)?;
        }
        let flaw = model.flaw(&summary);
        Ok((summary, flaw))
    }

    fn failed_check(
        &self,
        model: &Model,
        flaw: &str,
        old: &OldZone,
        name: &str,
        io: &mut Io,
    ) -> Result<Written, Failure> {
        let endpoint = &model.asked;
        let what = format!("the summary of {endpoint} failed its check twice: {flaw}");
        if model.must_answer {
            return Err(Failure::new(what).at(name, None));
        }
        io.warn(format_args!(
            "{name}: {what}; the rule summary is taken, and less is kept"
        ));
        Ok(Written {
            text: self.by_rule(old, name, io),
            failed_check: true,
        })
    }

    /// `flaw` is what was wrong with the summary before.
    fn by_model(&self, model: &Model, old: &OldZone, flaw: &str) -> Result<ModelSummary, LlmError> {
        let Some(transcript) = &old.transcript else {
            return Err(LlmError::Empty { finish: None });
        };
        let instructions = [model.instructions.as_str(), flaw].join("\n");
        let job = Job {
            template: &model.template,
            transcript,
            earlier: &old.earlier.join("\n\n"),
            instructions: instructions.trim(),
            target: model.target,
            window: model.window,
            counter: self.encoding.counter(),
        };
        summarize(&job, &mut |question| model.asked.ask(question))
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
    /// What a summary lacks, where it is checked.
    fn flaw(&self, summary: &ModelSummary) -> Option<String> {
        let headings = self.headings.as_ref()?;
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
