//! Who writes the summary: the rule, or a model with the rule behind it.

use std::fmt;

use ctx_cli::{Failure, Io};
use ctx_summary::check::{Checked, Mended, Rules, Source, check};
use ctx_summary::llm::{Client, Clock, Completion, LlmError, Question, Tape, TapeError};
use ctx_summary::{Job, ModelSummary, Template, Transcript, summarize};
use ctx_tokens::Encoding;

use super::old::OldZone;

/// Writes summaries.
pub(crate) struct Writer {
    encoding: Encoding,
    /// What a rule summary must fit into.
    limit: Option<u64>,
    model: Option<Model>,
}

/// A summary as it was written.
pub(super) struct Written {
    pub(super) text: String,
    /// How much of a model's answer had to be mended.
    pub(super) mends: usize,
}

impl Written {
    fn plain(text: String) -> Self {
        Self { text, mends: 0 }
    }
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

    pub(super) fn asks_a_model(&self) -> bool {
        self.model.is_some()
    }

    /// The summary of an old zone.
    pub(super) fn write(&self, old: &OldZone, name: &str, io: &mut Io) -> Result<Written, Failure> {
        let nothing_said =
            old.earlier.is_empty() && old.transcript.as_ref().is_none_or(Transcript::is_empty);
        let Some(model) = self.model.as_ref().filter(|_| !nothing_said) else {
            return Ok(Written::plain(self.by_rule(old, name, io)));
        };
        let error = match self.by_model(model, old) {
            Ok(summary) => {
                tell(&summary, old, name, io);
                match self.checked(model, old, &summary.text) {
                    Checked::Use(mended) => {
                        tell_mends(&mended, name, io);
                        return Ok(accepted(mended));
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
                    .hint("--on-failure rule takes the rule summary instead"),
            );
        }
        io.warn(format_args!(
            "{name}: no summary from {asked}: {error}; the rule summary is taken"
        ));
        Ok(Written::plain(self.by_rule(old, name, io)))
    }

    /// Whether the answer can be used, and what has to be mended.
    fn checked(&self, model: &Model, old: &OldZone, answer: &str) -> Checked {
        let rules = Rules {
            headings: &model.template.headings(),
            prompt: &model.template.prompt(&model.instructions, model.target),
            largest: old.most_tokens(),
            counter: self.encoding.counter(),
        };
        match &old.source {
            Some(source) => check(answer, source, &rules),
            None => check(answer, &Source::default(), &rules),
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

    fn by_model(&self, model: &Model, old: &OldZone) -> Result<ModelSummary, LlmError> {
        let Some(transcript) = &old.transcript else {
            return Err(LlmError::Empty { finish: None });
        };
        let job = Job {
            template: &model.template,
            transcript,
            earlier: &old.earlier.join("\n\n"),
            instructions: &model.instructions,
            target: model.target,
            window: model.window,
            counter: self.encoding.counter(),
        };
        summarize(&job, &mut |question| model.asked.ask(question))
    }
}

/// A model's summary in its last form: checked and mended. What must be in every
/// summary and is not in this one is added here, and nowhere else.
fn accepted(mended: Mended) -> Written {
    Written {
        text: mended.text,
        mends: mended.mends.total(),
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
