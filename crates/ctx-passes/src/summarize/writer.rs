//! Who writes the summary: code, or a model with code behind it.

use ctx_ledger::Ledger;
use ctx_llm::LlmError;
use ctx_policy::Method;
use ctx_summary::{Recognizer, completed, extractive, must_keep};

use super::Summary;
use super::model::{Model, Question, tell, tell_mends};
use super::old::{ModelInput, Needs, OldZone};
use crate::{ErrorKind, Notes, PassError};

/// Writes summaries.
pub struct Writer {
    /// How code writes, without a model or where it gives no usable answer: extractive or
    /// rule.
    pub offline: Method,
    /// Most tokens of a summary that code writes.
    pub limit: Option<u64>,
    /// The model that is asked first.
    pub model: Option<Model>,
    /// Whether a model's answer is completed from the ledger with what must not be lost.
    pub completes: bool,
}

/// Within a budget for the whole context, a model is asked for a sixth of what is left.
/// The rest is for what code adds, which does not depend on how good the model is.
const MODEL_SHARE: u64 = 6;
/// A model is asked for at least so many tokens.
const LEAST_TARGET: u64 = 64;
/// Tokens of the items that a model is told to keep.
const MUST_KEEP: u64 = 1_200;

impl Writer {
    /// Without a model.
    pub fn offline(offline: Method, limit: Option<u64>) -> Self {
        Self {
            offline,
            limit,
            model: None,
            completes: false,
        }
    }

    /// What it writes from.
    pub fn needs(&self) -> Needs {
        Needs {
            ledger: self.offline == Method::Extractive,
            model: self.model.is_some(),
        }
    }

    /// The summary of an old zone; `room` is how many tokens the context has left for it.
    pub(super) fn write(
        &self,
        old: &OldZone,
        room: Option<u64>,
        notes: &mut Notes,
    ) -> Result<Summary, PassError> {
        let input = old.input.as_ref().filter(|input| !input.is_silent());
        let (Some(model), Some(input)) = (&self.model, input) else {
            return Ok(self.by_code(old, room));
        };
        let error = match self.by_model(model, input, old, without_line(old, room), notes) {
            Ok(summary) => return Ok(summary),
            Err(error) => error,
        };
        // A run from recorded answers is to be the same each time: code does not step in.
        if model.must_answer || matches!(error, ErrorKind::Tape(_)) {
            return Err(error.into());
        }
        let failed_check = matches!(error, ErrorKind::FailedCheck(_));
        let less = if failed_check {
            ", and less is kept"
        } else {
            ""
        };
        let offline = self.offline;
        notes.warn(
            &[],
            format_args!("{error}; the {offline} summary is taken{less}"),
        );
        Ok(Summary {
            failed_check,
            ..self.by_code(old, room)
        })
    }

    /// The summary of an old zone without a model; `room` as above.
    pub(super) fn by_code(&self, old: &OldZone, room: Option<u64>) -> Summary {
        let within = |room| [self.limit, room].into_iter().flatten().min();
        let (text, redacted) = if self.needs().ledger {
            let limit = within(room).unwrap_or_else(|| old.default_length());
            let text = extractive(&old.ledger, limit, old.counter);
            (text, old.ledger.redacted())
        } else {
            let limit = within(without_line(old, room));
            (old.rule.finish(limit, old.counter), old.rule.redacted())
        };
        Summary {
            redacted,
            ..old.summary(text)
        }
    }

    /// What a model writes, checked, mended and, where that is wanted, completed.
    fn by_model(
        &self,
        model: &Model,
        input: &ModelInput,
        old: &OldZone,
        room: Option<u64>,
        notes: &mut Notes,
    ) -> Result<Summary, ErrorKind> {
        let none = |why: &str| {
            let source = &model.source;
            ErrorKind::NoAnswer(format!("no summary from {source}: {why}"))
        };
        let question = Question {
            input,
            known: &self.known(input, old),
            target: target(model, room),
            largest: old.most_tokens(),
            counter: old.counter,
        };
        let answer = model.ask(&question, notes).map_err(|error| match error {
            LlmError::Tape(error) => ErrorKind::Tape(error),
            error => none(&error.to_string()),
        })?;
        if let Some(flaw) = answer.flaw {
            let source = &model.source;
            let what = format!("the summary of {source} failed its check twice: {flaw}");
            return Err(ErrorKind::FailedCheck(what));
        }
        tell(&answer.summary, input, notes);
        let mended = answer.checked.map_err(|reason| none(&reason.to_string()))?;
        if room.is_some_and(|room| old.counter.count(&mended.text) > room) {
            return Err(none("the answer is longer than the budget leaves for it"));
        }
        tell_mends(&mended, notes);
        let mends = mended.mends.total();
        let text = match self.ledger_to_complete(old) {
            Some(ledger) => {
                let limit = room.unwrap_or_else(|| longest(model, question.largest));
                completed(ledger, &mended.text, limit, old.counter)
            }
            None => mended.text,
        };
        Ok(Summary {
            mends,
            ..old.summary(text)
        })
    }

    /// What a model gets beside the record: earlier summaries, and what code found
    /// that a summary must name.
    fn known(&self, input: &ModelInput, old: &OldZone) -> String {
        let mut known = input.earlier.clone();
        if let Some(ledger) = self.ledger_to_complete(old) {
            let items = must_keep(ledger, MUST_KEEP, old.counter);
            if !items.is_empty() {
                known.push(items);
            }
        }
        known.join("\n\n")
    }

    /// What a model's answer is completed from, where that is wanted.
    fn ledger_to_complete<'o>(&self, old: &'o OldZone) -> Option<&'o Ledger> {
        (self.completes && self.needs().ledger).then_some(&old.ledger)
    }
}

/// What is left of the room below the line which says that this is a record. The
/// extractive summary says it itself.
fn without_line(old: &OldZone, room: Option<u64>) -> Option<u64> {
    let line = || Recognizer::default().compose("");
    room.map(|room| room.saturating_sub(old.counter.count(&line())))
}

/// How long an answer is asked for.
fn target(model: &Model, room: Option<u64>) -> u64 {
    let share = room.map(|room| (room / MODEL_SHARE).max(LEAST_TARGET));
    share.map_or(model.target, |share| share.min(model.target))
}

/// The most tokens of a completed summary where the context has no budget: as many as the
/// model may write, but no more than half of `largest`, the tokens that it replaces.
fn longest(model: &Model, largest: Option<u64>) -> u64 {
    let asked = model.target * model.most_percent / 100;
    largest.map_or(asked, |most| asked.min(most / 2))
}

#[cfg(test)]
mod tests {
    use ctx_policy::Method;

    use super::super::fixtures::{ASK, DONE, answering_model, old, plan, silent_model, texts};
    use super::super::{Model, Summary};
    use super::{Writer, longest, target};
    use crate::{ErrorKind, Notes, PassError};

    fn with(model: Model) -> Writer {
        Writer {
            model: Some(model),
            ..Writer::offline(Method::Extractive, None)
        }
    }

    fn write(writer: &Writer, lines: &[&str], notes: &mut Notes) -> Result<Summary, PassError> {
        let old = old(&plan(), writer.needs(), lines);
        writer.write(&old, None, notes)
    }

    #[test]
    fn code_keeps_the_limit_and_the_room() {
        let asks: Vec<String> = (1_000..1_100)
            .map(|n| format!(r#"{{"role":"user","content":"Please ship order W{n}."}}"#))
            .collect();
        let asks: Vec<&str> = asks.iter().map(String::as_str).collect();
        for method in [Method::Extractive, Method::Rule] {
            for (limit, room) in [(None, Some(60)), (Some(60), None), (Some(60), Some(90))] {
                let writer = Writer::offline(method, limit);
                let old = old(&plan(), writer.needs(), &asks);
                let text = writer.by_code(&old, room).text;
                let tokens = old.counter.count(&text);
                assert!((20..=60).contains(&tokens), "{method}: {tokens}: {text}");
            }
        }
    }

    #[test]
    fn a_models_answer_is_completed_where_that_is_wanted() {
        let answer = "## Goal\nShip the order.";
        let lines = [ASK, DONE];
        let (model, _server) = answering_model(&[answer, answer]);
        let mut writer = with(model);
        let mut notes = Notes::new();
        let bare = write(&writer, &lines, &mut notes).expect("an answer");
        assert_eq!((bare.text.as_str(), bare.mends), (answer, 0));
        writer.completes = true;
        let plan = plan();
        let old = old(&plan, writer.needs(), &lines);
        let whole = writer
            .write(&old, Some(400), &mut notes)
            .expect("an answer");
        assert!(whole.text.starts_with(answer) && whole.text.contains("W8123"));
        assert!(texts(&mut notes).is_empty());
    }

    #[test]
    fn a_useless_answer_is_followed_by_code_or_by_an_error() {
        let answers = ["Sure, I can do that!"; 2];
        let (model, _server) = answering_model(&answers);
        let mut writer = with(model);
        let mut notes = Notes::new();
        let summary = write(&writer, &[ASK], &mut notes).expect("by code");
        assert!(summary.text.contains("W8123") && !summary.failed_check);
        let told = texts(&mut notes).concat();
        let why = "the answer goes on with the conversation; the extractive summary is taken";
        assert!(told.ends_with(why), "{told}");
        writer.model.as_mut().expect("a model").must_answer = true;
        let error = write(&writer, &[ASK], &mut notes).expect_err("it must answer");
        assert!(matches!(error.kind, ErrorKind::NoAnswer(_)), "{error}");
    }

    #[test]
    fn a_check_that_failed_twice_is_told() {
        let (mut model, _server) = answering_model(&["## Goal\nShip it."; 2]);
        model.headings = Some(vec!["Open".to_owned()]);
        let mut notes = Notes::new();
        let summary = write(&with(model), &[ASK], &mut notes).expect("by code");
        assert!(summary.failed_check);
        let told = texts(&mut notes).concat();
        assert!(told.contains("failed its check twice"), "{told}");
        assert!(told.ends_with("is taken, and less is kept"), "{told}");
    }

    #[test]
    fn a_recording_without_the_answer_is_always_an_error() {
        let error = write(&with(silent_model()), &[ASK], &mut Notes::new());
        let error = error.expect_err("nothing is on file");
        assert!(matches!(error.kind, ErrorKind::Tape(_)), "{error}");
        // Where nothing was said nobody is asked.
        let empty = r#"{"role":"user","content":""}"#;
        let summary = write(&with(silent_model()), &[empty], &mut Notes::new());
        assert_eq!(summary.expect("by code").messages, 1);
    }

    #[test]
    fn a_model_is_asked_for_its_share_and_completed_to_half_of_what_it_replaces() {
        let model = silent_model();
        assert_eq!(target(&model, None), 100);
        assert_eq!(target(&model, Some(6_000)), 100);
        assert_eq!(target(&model, Some(540)), 90);
        assert_eq!(target(&model, Some(0)), 64);
        assert_eq!(longest(&model, None), 120);
        assert_eq!(longest(&model, Some(1_000)), 120);
        assert_eq!(longest(&model, Some(100)), 50);
    }
}
