//! Writes summaries without a model, or with a model and a fallback for unusable answers.

use ctx_llm::LlmError;
use ctx_policy::Method;
use ctx_summary::ledger::Ledger;
use ctx_summary::{
    Answered, Language, ListLimit, Recognizer, count_rules, extractive, missing_values, must_keep,
};
use ctx_tokens::TokenCounter;

use super::Summary;
use super::model::{Model, Question, tell, tell_repairs};
use super::old::{ModelInput, Needs, OldZone};
use crate::{ErrorKind, Notes, Result};

/// Decides which method writes the summary, and applies that method.
pub struct Writer {
    /// The method to use if there is no model or its answer is not usable: extractive or rule.
    pub offline: Method,
    /// The maximum length, in tokens, of summaries written without a model.
    pub limit: Option<u64>,
    /// The model to ask first.
    pub model: Option<Model>,
    /// Whether to add important missing items from the ledger to a model's answer.
    pub completes: bool,
}

/// If the whole context has a budget, a model's summary should use this percentage of the tokens
/// that the system messages do not use. The other tokens are for the latest messages.
const MODEL_SHARE: u64 = 60;
/// How much to reserve for a model's answer, as a percentage of its maximum length. The percentage
/// is more than 100 because the model's tokenizer may count differently. Whatever the answer does
/// not use is left for the latest messages.
pub(super) const SLACK: u64 = 133;
const MOST_SHARE: u64 = 80;
/// The number of tokens in the fixed text around a summary.
const AROUND: u64 = 40;
/// The minimum length to request from a model, in tokens.
const LEAST_TARGET: u64 = 64;
/// The length to request from a model by default is the length of the replaced text divided by this
/// number, clamped to the limits in `USUAL`.
const USUAL_SHARE: u64 = 10;
const USUAL: (u64, u64) = (500, 4_000);
/// If lines are removed from the end of a model's answer because it is too long, at least this
/// percentage of the answer must remain.
const LEAST_LEFT: u64 = 50;
/// The maximum number of tokens in the list of items that a model is told to keep.
const MUST_KEEP: u64 = 1_200;
/// The minimum space, in tokens, for a list of missing values. Any smaller space is better used for
/// the latest messages.
const LITTLE_ROOM: u64 = 330;
/// The maximum length of a list of missing values is the length of the model's answer divided by
/// this number, clamped to the limits in `LIST`.
const LIST_SHARE: u64 = 8;
const LIST: (u64, u64) = (120, 400);
/// The maximum number of lines in a list of missing values. One more line is allowed for every
/// `LINE_TOKENS` unused tokens.
const LIST_LINES: usize = 12;
const LINE_TOKENS: u64 = 8;

/// A summary that was written for one output and is reused in another output with more kept
/// messages. The model is not asked again for a reused summary.
pub(super) struct ReusedSummary {
    pub(super) summary: Summary,
    /// The input from which the model wrote the summary.
    pub(super) input: Option<ModelInput>,
    /// How many tokens longer than usual a list of missing values may be.
    pub(super) list: u64,
}

impl Writer {
    /// Creates a writer that asks no model.
    pub fn offline(offline: Method, limit: Option<u64>) -> Self {
        Self { offline, limit, model: None, completes: false }
    }

    /// Sets the requirements of a policy for a model's summary. `headings` are those that the summary
    /// must have under a safeguard.
    pub fn under(&mut self, policy: &ctx_policy::Summary, headings: &[String]) {
        self.completes = policy.complete;
        if let Some(model) = &mut self.model {
            model.most_percent = policy.max_output(100).unwrap_or(model.most_percent);
            model.accepts_longer = policy.max_output_factor.is_some();
            model.headings = policy.safeguard.then(|| headings.to_vec());
        }
    }

    /// Returns what the writer needs to know about the old records.
    pub fn needs(&self) -> Needs {
        Needs { ledger: self.offline == Method::Extractive, model: self.model.is_some() }
    }

    /// Returns how many of `room` tokens to reserve for a model's summary, or `None` if no model is
    /// asked.
    pub(super) fn share(&self, room: u64) -> Option<u64> {
        let model = self.model.as_ref()?;
        let asked = model.target.unwrap_or(room * MODEL_SHARE / 100);
        let most = asked * model.most_percent / 100 * SLACK / 100 + AROUND;
        Some(most.min(room * MOST_SHARE / 100))
    }

    /// Writes the summary of the old records. `room` is the number of tokens available for the
    /// summary, or `None` if the context has no budget.
    pub(super) fn write(
        &self,
        old: &OldZone,
        room: Option<u64>,
        notes: &mut Notes,
    ) -> Result<Summary> {
        let input = old.input.as_ref().filter(|input| !input.is_silent());
        let (Some(model), Some(input)) = (&self.model, input) else {
            return Ok(self.by_code(old, room));
        };
        let error = match self.by_model(model, input, old, without_line(old, room), notes) {
            Ok(summary) => return Ok(summary),
            Err(error) => error,
        };
        // If a recorded answer is missing, the pass fails, because a replay must always have the
        // same result.
        if model.must_answer || matches!(error, ErrorKind::Tape(_)) {
            return Err(error.into());
        }
        let failed_check = matches!(error, ErrorKind::FailedCheck(_));
        let less = if failed_check { ", and fewer messages are kept" } else { "" };
        let offline = self.offline;
        notes.warn(format_args!("{error}; the {offline} summary is used{less}"));
        Ok(Summary { failed_check, ..self.by_code(old, room) })
    }

    /// Writes the summary of the old records without a model. `room` has the same meaning as in
    /// [`Self::write`].
    pub(super) fn by_code(&self, old: &OldZone, room: Option<u64>) -> Summary {
        let within = |room| [self.limit, room].into_iter().flatten().min();
        let (text, redacted) = if self.needs().ledger {
            let limit = within(room).unwrap_or_else(|| old.default_length());
            (extractive(&old.ledger, limit, old.counter), old.ledger.redacted)
        } else {
            (old.rule.finish(within(without_line(old, room)), old.counter), old.rule.redacted)
        };
        let rules = count_rules(&old.ledger, &text);
        Summary { method: self.offline, redacted, rules, ..old.summary(text) }
    }

    /// Returns a model's summary after checking, repairing and, if requested, completing it.
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
        let largest = old.most_tokens();
        let question = Question {
            input,
            reminder: &self.reminder(old),
            target: target(model, room, largest),
            largest,
            counter: old.counter,
        };
        let answer = model.ask(&question, notes).map_err(|error| match error {
            LlmError::Tape(error) => ErrorKind::Tape(error),
            error => none(&error.to_string()),
        })?;
        if let Some(flaw) = answer.flaw.filter(|_| model.headings.is_some()) {
            let source = &model.source;
            let what = format!("the summary from {source} failed its check twice: {flaw}");
            return Err(ErrorKind::FailedCheck(what));
        }
        tell(&answer.summary, input, notes);
        let mut repaired = answer.checked.map_err(|reason| none(&reason.to_string()))?;
        if model.is_default {
            // The default prompt tells models to leave out empty sections.
            repaired.missing.clear();
        }
        let limit = model.most_tokens(question.target);
        if let Some(most) = [room, limit].into_iter().flatten().min() {
            let over = none(&format!("the answer is longer than {most} tokens"));
            // Lines can be removed from the end only if the most important parts come first, as
            // they do with the default template, or if the model obeys a limit in the same way.
            let ordered = model.is_default && model.headings.is_none();
            let least = if ordered || room.is_none() { LEAST_LEFT } else { 100 };
            let text = up_to(&repaired.text, most, least, old.counter).ok_or(over)?;
            let lines = repaired.text.lines().count() - text.lines().count();
            repaired.text.truncate(text.len());
            if lines > 0 {
                notes.warn(format_args!(
                    "the model's answer is longer than {most} tokens; lines left out at its end: {lines}"
                ));
            }
        }
        tell_repairs(&repaired, notes);
        let summary = Summary {
            method: Method::Llm,
            repairs: repaired.repairs.total(),
            answer: Some(repaired.text),
            ..old.summary(String::new())
        };
        let has_list = room.is_none_or(|room| room >= LITTLE_ROOM);
        let room = room.unwrap_or_else(|| longest(question.target * model.most_percent, largest));
        Ok(self.completed(summary, old, Some(input), (room, has_list, 0)))
    }

    /// Reuses a model's answer in another output, if it fits. `room` has the same meaning as in
    /// [`Self::write`].
    pub(super) fn again(&self, given: &ReusedSummary, old: &OldZone, room: u64) -> Option<Summary> {
        let before = &given.summary;
        let Some(answer) = &before.answer else {
            return Some(Summary {
                failed_check: before.failed_check,
                ..self.by_code(old, Some(room))
            });
        };
        let room = without_line(old, Some(room)).unwrap_or_default();
        let summary = Summary {
            method: Method::Llm,
            repairs: before.repairs,
            answer: before.answer.clone(),
            ..old.summary(String::new())
        };
        let fits = old.counter.count(answer) <= room;
        let list = (room, room >= LITTLE_ROOM, given.list);
        fits.then(|| self.completed(summary, old, given.input.as_ref(), list))
    }

    /// Completes a model's answer with a short list of missing values, within `room` tokens. If
    /// `has_list` is set, the list of values may have its usual length. `more` is the number of
    /// additional tokens that the list may have.
    fn completed(
        &self,
        mut summary: Summary,
        old: &OldZone,
        input: Option<&ModelInput>,
        (room, has_list, more): (u64, bool, u64),
    ) -> Summary {
        let text = summary.answer.clone().unwrap_or_default();
        summary.text.clone_from(&text);
        let Some(ledger) = self.ledger_to_complete(old) else { return summary };
        let tokens = old.counter.count(&text);
        let source_of = |line| input.and_then(|input| input.transcript.source_of(line));
        let answered = Answered {
            text: &text,
            language: Language::of(&text).unwrap_or_default(),
            source_of: &source_of,
            counter: old.counter,
        };
        // The blank line between the answer and the list takes two tokens.
        let room = room.saturating_sub(tokens + 2);
        let usual = if has_list { (tokens / LIST_SHARE).clamp(LIST.0, LIST.1) } else { 0 };
        let more_lines = usize::try_from(more / LINE_TOKENS).unwrap_or(usize::MAX);
        let limit = ListLimit {
            lines: LIST_LINES.saturating_add(more_lines),
            tokens: room.min(usual + more),
        };
        let list = missing_values(ledger, &answered, limit);
        if !list.is_empty() {
            summary.text = format!("{}\n\n{list}", text.trim_end());
        }
        summary
    }

    /// Returns those names and values from the session that a summary must contain.
    fn reminder(&self, old: &OldZone) -> String {
        let ledger = self.ledger_to_complete(old);
        ledger.map_or_else(String::new, |ledger| must_keep(ledger, MUST_KEEP, old.counter))
    }

    /// Returns the ledger from which to complete a model's answer, if requested.
    fn ledger_to_complete<'o>(&self, old: &'o OldZone) -> Option<&'o Ledger> {
        (self.completes && self.needs().ledger).then_some(&old.ledger)
    }
}

/// Reduces the available space by the length of the line that marks a summary as a record. An
/// extractive summary already contains this line in its text.
fn without_line(old: &OldZone, room: Option<u64>) -> Option<u64> {
    let line = || Recognizer::default().compose("");
    room.map(|room| room.saturating_sub(old.counter.count(&line())))
}

/// Returns the length to request from a model. Unless a length is given, the requested length
/// depends on the available space or, without a budget, on the length of the replaced text.
fn target(model: &Model, room: Option<u64>, largest: Option<u64>) -> u64 {
    let Some(room) = room else {
        let usual = largest.map_or(USUAL.1, |most| most / USUAL_SHARE);
        return model.target.unwrap_or(usual.clamp(USUAL.0, USUAL.1));
    };
    let most = room * 90 / model.most_percent.max(100);
    let most = most.max(LEAST_TARGET);
    model.target.unwrap_or(most).min(most)
}

/// Returns as many lines from the beginning of an answer as fit. The last line is never a heading.
/// Returns `None` if less than `least` percent of the answer would remain.
fn up_to<'a>(
    answer: &'a str,
    room: u64,
    least: u64,
    counter: &dyn TokenCounter,
) -> Option<&'a str> {
    let all = counter.count(answer);
    let mut text = answer;
    let ends_in_heading =
        |text: &str| text.lines().next_back().is_some_and(|line| line.starts_with('#'));
    while counter.count(text) > room || (text.len() < answer.len() && ends_in_heading(text)) {
        text = text[..text.rfind('\n')?].trim_end();
    }
    (counter.count(text) * 100 >= all * least).then_some(text)
}

/// Returns the maximum length, in tokens, of a completed summary if the context has no budget. The
/// result is the maximum length of the model's answer, but no more than half of `largest`, the
/// length of the replaced text.
fn longest(asked: u64, largest: Option<u64>) -> u64 {
    largest.map_or(asked / 100, |most| (asked / 100).min(most / 2))
}

#[cfg(test)]
mod tests {
    use ctx_policy::Method;
    use ctx_tokens::Encoding;

    use super::super::fixtures::{ASK, DONE, answering_model, old, plan, silent_model, texts};
    use super::super::{Model, Summary};
    use super::{Writer, longest, target, up_to};
    use crate::{ErrorKind, Notes, Result};

    fn with(model: Model) -> Writer {
        Writer { model: Some(model), ..Writer::offline(Method::Extractive, None) }
    }

    fn write(writer: &Writer, lines: &[&str], notes: &mut Notes) -> Result<Summary> {
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
        let mut notes = Notes::default();
        let bare = write(&writer, &lines, &mut notes).expect("an answer");
        assert_eq!((bare.text.as_str(), bare.repairs), (answer, 0));
        writer.completes = true;
        let plan = plan();
        let old = old(&plan, writer.needs(), &lines);
        let whole = writer.write(&old, Some(400), &mut notes).expect("an answer");
        assert!(whole.text.starts_with(answer) && whole.text.contains("W8123"));
        assert!(texts(&mut notes).is_empty());
    }

    #[test]
    fn a_useless_answer_is_followed_by_code_or_by_an_error() {
        let answers = ["Sure, I can do that!"; 2];
        let (model, _server) = answering_model(&answers);
        let mut writer = with(model);
        let mut notes = Notes::default();
        let summary = write(&writer, &[ASK], &mut notes).expect("by code");
        assert!(summary.text.contains("W8123") && !summary.failed_check);
        let told = texts(&mut notes).concat();
        let why = "the answer continues the conversation; the extractive summary is used";
        assert!(told.ends_with(why), "{told}");
        writer.model.as_mut().expect("a model").must_answer = true;
        let error = write(&writer, &[ASK], &mut notes).expect_err("it must answer");
        assert!(matches!(error.kind, ErrorKind::NoAnswer(_)), "{error}");
    }

    #[test]
    fn a_check_that_failed_twice_is_told() {
        let (mut model, _server) = answering_model(&["## Goal\nShip it."; 2]);
        model.headings = Some(vec!["Open".to_owned()]);
        let mut notes = Notes::default();
        let summary = write(&with(model), &[ASK], &mut notes).expect("by code");
        assert!(summary.failed_check);
        let told = texts(&mut notes).concat();
        assert!(told.contains("failed its check twice"), "{told}");
        assert!(told.ends_with("is used, and fewer messages are kept"), "{told}");
    }

    #[test]
    fn a_recording_without_the_answer_is_always_an_error() {
        let error = write(&with(silent_model()), &[ASK], &mut Notes::default());
        let error = error.expect_err("nothing is on file");
        assert!(matches!(error.kind, ErrorKind::Tape(_)), "{error}");
        // If there is no text, the model is not asked.
        let empty = r#"{"role":"user","content":""}"#;
        let summary = write(&with(silent_model()), &[empty], &mut Notes::default());
        assert_eq!(summary.expect("by code").messages, 1);
    }

    #[test]
    fn a_model_is_asked_for_its_share_and_completed_to_half_of_what_it_replaces() {
        let model = silent_model();
        assert_eq!(target(&model, None, None), 100);
        assert_eq!(target(&model, Some(6_000), None), 100);
        assert_eq!(target(&model, Some(120), None), 90);
        assert_eq!(target(&model, Some(0), None), 64);
        let model = Model { target: None, ..silent_model() };
        assert_eq!(target(&model, Some(6_000), Some(20_000)), 4_500);
        let usual = [None, Some(900), Some(20_000), Some(90_000)];
        let usual = usual.map(|largest| target(&model, None, largest));
        assert_eq!(usual, [4_000, 500, 2_000, 4_000]);
        assert_eq!(longest(12_000, None), 120);
        assert_eq!(longest(12_000, Some(1_000)), 120);
        assert_eq!(longest(12_000, Some(100)), 50);
    }

    #[test]
    fn an_answer_that_is_too_long_loses_its_last_lines() {
        let counter = Encoding::Chars4.counter();
        let answer = "## Goal\nShip order W8123 today.\n\n## Places\nsrc/ship.rs";
        let kept = |room, least| up_to(answer, room, least, counter);
        assert_eq!(kept(100, 100), Some(answer));
        // A heading with no lines below it is also removed.
        let first = "## Goal\nShip order W8123 today.";
        assert_eq!(kept(12, 50), Some(first));
        assert_eq!(kept(8, 50), Some(first));
        assert_eq!(kept(8, 100), None);
        assert_eq!(kept(5, 10), None);
        assert_eq!(up_to("one line that is long", 2, 10, counter), None);
    }

    #[test]
    fn a_models_summary_has_its_share_of_the_room() {
        let share = |target, most_percent, room| {
            let model = Model { target, most_percent, ..silent_model() };
            with(model).share(room)
        };
        assert_eq!(Writer::offline(Method::Rule, None).share(1_000), None);
        assert_eq!(share(None, 120, 1_000), Some(800));
        assert_eq!(share(Some(400), 120, 1_000), Some(678));
        assert_eq!(share(Some(100), 120, 1_000), Some(199));
        assert_eq!(share(Some(5_000), 120, 1_000), Some(800));
    }
}
