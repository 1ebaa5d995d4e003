//! Asks a model for a summary.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use ctx_llm::{LlmError, Usage};
use ctx_summary::check::{Reason, Repaired, Rules, check};
use ctx_summary::{Job, ModelSummary, Template, missing_headings, summarize};
use ctx_tokens::TokenCounter;

use super::old::ModelInput;
use super::source::{ModelSource, Window};
use super::writer::SLACK;
use crate::Notes;

/// A model, its instructions, and what is required of its answer.
pub struct Model {
    /// The source of the model's answers.
    pub source: ModelSource,
    /// The template for the prompt.
    pub template: Template,
    /// Whether `template` is the default prompt, which is available in several languages.
    pub is_default: bool,
    /// What the user wants the summary to emphasize.
    pub instructions: String,
    /// The requested length of the summary, in tokens.
    pub target: Option<u64>,
    /// The maximum length of the answer, as a percentage of `target`.
    pub most_percent: u64,
    /// Whether an answer that is longer nevertheless is accepted as a whole.
    pub accepts_longer: bool,
    /// The context window of the model.
    pub window: Window,
    /// Whether the pass fails if there is no usable answer, instead of writing a summary without a
    /// model.
    pub must_answer: bool,
    /// The headings that the summary must have, or `None` if the policy requires no check of the
    /// answer.
    pub headings: Option<Vec<String>>,
    /// Returns the current time, for servers that say at what time to retry.
    pub now: fn() -> DateTime<Utc>,
}

/// If a policy requires a check, at most this percentage of an answer's lines may lack support.
const MOST_UNSUPPORTED: usize = 50;
/// The maximum number of unsupported lines to quote when a model is asked again.
const SHOWN: usize = 5;

/// The request to the model, and the limits for its answer.
pub(super) struct Question<'q> {
    pub(super) input: &'q ModelInput,
    /// Those names and values from the session that the summary must contain.
    pub(super) reminder: &'q str,
    /// The requested length, in tokens.
    pub(super) target: u64,
    /// The maximum length of the answer, in tokens.
    pub(super) largest: Option<u64>,
    pub(super) counter: &'static dyn TokenCounter,
}

/// A model's answer, and the result of its checks.
pub(super) struct Answer {
    pub(super) summary: ModelSummary,
    /// The checked and repaired answer, or the reason why the answer is not usable.
    pub(super) checked: Result<Repaired, Reason>,
    /// The reason why the answer failed the check required by the policy, if it did.
    pub(super) flaw: Option<String>,
}

impl Model {
    /// Asks the model for a summary and, if the answer fails the check required by the policy, asks
    /// once more.
    pub(super) fn ask(
        &self,
        question: &Question<'_>,
        notes: &mut Notes,
    ) -> Result<Answer, LlmError> {
        let answer = self.ask_once(question, "", notes)?;
        let Some(flaw) = &answer.flaw else { return Ok(answer) };
        notes.info(format_args!("the summary failed its check: {flaw}; the model is asked again"));
        match self.ask_once(question, flaw, notes) {
            // Without a check by the policy, a part of the first answer may still be used.
            Err(_) if self.headings.is_none() => Ok(answer),
            asked => asked,
        }
    }

    /// Asks the model once. `flaw` describes what was wrong with the previous answer, if there was
    /// one.
    fn ask_once(
        &self,
        question: &Question<'_>,
        flaw: &str,
        notes: &mut Notes,
    ) -> Result<Answer, LlmError> {
        let Question { input, target, counter, .. } = *question;
        let template = self.template_for(input, target);
        let instructions = [self.instructions.as_str(), flaw].join("\n");
        let earlier = input.earlier.join("\n\n");
        let prompt = template.prompt(&self.instructions, target);
        let needed = input.transcript.tokens(counter) + counter.count(&earlier);
        let needed = needed + counter.count(&prompt);
        let job = Job {
            template: &template,
            transcript: &input.transcript,
            earlier: &earlier,
            reminder: question.reminder,
            instructions: instructions.trim(),
            target,
            most_percent: self.most_percent,
            window: self.window.tokens(&self.source, needed, notes)?,
            counter,
        };
        let mut usage = Usage::default();
        let watch = notes.watch.clone();
        let answered = summarize(&job, &mut |asked| {
            watch.asking(|| what_is_asked(asked, counter));
            self.source.ask(asked, self.now, &mut usage)
        });
        watch.stage("checking the summary");
        notes.usage += usage;
        let summary = answered?;
        let rules = Rules {
            headings: &template.headings(),
            prompt: &prompt,
            cut: summary.cut,
            largest: question.largest,
            counter,
        };
        let checked = check(&summary.text, &input.source, &rules);
        // The model's tokenizer may count fewer tokens in an answer that is slightly too long.
        let most = self.most_tokens(target).filter(|_| !summary.cut);
        let length = || Some(counter.count(&checked.as_ref().ok()?.text));
        let long = most.and_then(|most| length().filter(|tokens| *tokens > most * SLACK / 100));
        let flaw = long.map(|tokens| format!("it has {tokens} tokens: write at most {target}"));
        let flaw = flaw.or_else(|| self.flaw(&template, &summary, &checked));
        Ok(Answer { summary, checked, flaw })
    }

    /// Returns the prompt for a summary of `target` tokens, in the user's language if such a prompt
    /// exists.
    fn template_for(&self, input: &ModelInput, target: u64) -> Cow<'_, Template> {
        let language = input.transcript.languages.most();
        let small = Template::small_in(language, target);
        if let Some(small) = small.filter(|_| self.is_default && self.headings.is_none()) {
            return Cow::Owned(small);
        }
        match Template::default_in(language).filter(|_| self.is_default) {
            Some(template) if self.headings.is_some() => Cow::Owned(template.with_all_sections()),
            Some(template) => Cow::Owned(template),
            None => Cow::Borrowed(&self.template),
        }
    }

    /// Returns the maximum length of the answer in tokens, or `None` if any length is accepted.
    pub(super) fn most_tokens(&self, target: u64) -> Option<u64> {
        (!self.accepts_longer).then_some(target * self.most_percent / 100)
    }

    /// Returns why an answer fails the check required by the policy, or `None` if it passes or no
    /// check is required.
    fn flaw(
        &self,
        template: &Template,
        summary: &ModelSummary,
        checked: &Result<Repaired, Reason>,
    ) -> Option<String> {
        let headings = self.headings.as_ref()?;
        let headings = translated(headings, &self.template, template);
        if let Err(reason) = checked {
            return Some(reason.to_string());
        }
        if summary.cut {
            return Some("it reached its limit before its end: be shorter".to_owned());
        }
        let missing = missing_headings(&summary.text, &headings);
        if !missing.is_empty() {
            return Some(format!("these sections are missing: {}", missing.join(", ")));
        }
        let (unsupported, all) = checked.as_ref().ok().map(|it| &it.unsupported)?;
        (unsupported.len() * 100 > all * MOST_UNSUPPORTED).then(|| {
            let few: Vec<&str> = unsupported.iter().map(|line| line.trim()).take(SHOWN).collect();
            format!("the messages do not say this: {}", few.join(" "))
        })
    }
}

/// Returns the progress message to show while the model works.
fn what_is_asked(asked: &ctx_llm::Question<'_>, counter: &dyn TokenCounter) -> String {
    let sent = counter.count(asked.instructions) + counter.count(asked.text);
    let sent = if sent < 10_000 { sent.to_string() } else { format!("{}k", sent / 1_000) };
    match asked.part {
        (_, 1) => format!("asking the model: {sent} tokens sent"),
        (part, of) => format!("asking the model: part {part} of {of}, {sent} tokens sent"),
    }
}

/// Translates headings from the template `from` into those from the template `to`. Omits headings
/// without a counterpart.
fn translated(headings: &[String], from: &Template, to: &Template) -> Vec<String> {
    let (from, to) = (from.headings(), to.headings());
    let in_other = |heading: &String| match from.iter().position(|known| known == heading) {
        Some(at) => to.get(at).cloned(),
        None => Some(heading.clone()),
    };
    headings.iter().filter_map(in_other).collect()
}

/// Adds notes about how the answer was obtained.
pub(super) fn tell(summary: &ModelSummary, input: &ModelInput, notes: &mut Notes) {
    let redacted = input.redacted();
    if redacted > 0 {
        notes.info(format_args!("secrets removed from the request: {redacted}"));
    }
    if summary.parts > 1 {
        notes.info(format_args!(
            "summarized in {} parts with {} answers",
            summary.parts, summary.answers
        ));
    }
    if summary.cuts > 0 {
        notes.info(format_args!(
            "tool results and arguments that were cut to fit the model's window: {}",
            summary.cuts
        ));
    }
    if summary.thinned {
        let what = "there are too many messages for the model, so some of their text was left out";
        notes.warn(what);
    }
    if summary.excerpts > 0 {
        notes.warn(format_args!(
            "parts that the model did not summarize, reduced to their beginning and end: {}",
            summary.excerpts
        ));
    }
    if summary.cut {
        notes.warn(
            "the model reached its limit, so the end of the summary is missing; \
             --summary-tokens allows a longer one",
        );
    }
}

/// Adds a note about what was repaired in the model's answer, or what is missing from it.
pub(super) fn tell_repairs(repaired: &Repaired, notes: &mut Notes) {
    let repairs = repaired.repairs.to_string();
    let missing = repaired.missing.join(", ");
    let missing = (!missing.is_empty()).then(|| format!("missing sections: {missing}"));
    let what = [Some(repairs).filter(|repairs| !repairs.is_empty()), missing];
    let what: Vec<String> = what.into_iter().flatten().collect();
    let what = what.join(", ");
    // Missing sections alone do not change the answer, so there is no warning about them.
    if repaired.repairs.total() > 0 {
        notes.warn(format_args!("the model's answer was repaired: {what}"));
    } else if !what.is_empty() {
        notes.info(format_args!("in the model's answer: {what}"));
    }
}

#[cfg(test)]
mod tests {
    use ctx_summary::check::{Reason, Repaired};
    use ctx_summary::{Language, ModelSummary, Template};

    use super::super::fixtures::{ASK, answering_model, old, plan, silent_model, texts};
    use super::super::{Model, Needs};
    use super::{Answer, Question, tell, tell_repairs, translated};
    use crate::Notes;

    const MODEL: Needs = Needs { ledger: false, model: true };

    fn ask(model: &Model, notes: &mut Notes) -> Answer {
        let plan = plan();
        let earlier = r#"{"role":"user","name":"ctx_summary","content":"it began"}"#;
        let old = old(&plan, MODEL, &[earlier, ASK]);
        let question = Question {
            input: old.input.as_ref().expect("for the model"),
            reminder: "",
            target: 100,
            largest: None,
            counter: old.counter,
        };
        model.ask(&question, notes).expect("an answer")
    }

    #[test]
    fn one_good_answer_is_enough() {
        let (mut model, server) = answering_model(&["## Goal\nShip order W8123."]);
        model.headings = Some(vec!["Goal".to_owned()]);
        let mut notes = Notes::default();
        let answer = ask(&model, &mut notes);
        assert_eq!(answer.flaw, None);
        assert_eq!(answer.summary.text, "## Goal\nShip order W8123.");
        assert!(answer.checked.is_ok() && texts(&mut notes).is_empty());
        let request = server.requests().concat();
        assert!(request.contains("it began") && request.contains("W8123"));
    }

    #[test]
    fn a_flaw_is_told_to_the_model_once() {
        let (mut model, server) = answering_model(&["## Goal\nShip it.", "## Goal\nShip it."]);
        model.headings = Some(vec!["Goal".to_owned(), "Open".to_owned()]);
        model.template = "{{instructions}}\n\n{{transcript}}".parse().expect("a template");
        let mut notes = Notes::default();
        let answer = ask(&model, &mut notes);
        let flaw = "these sections are missing: Open";
        assert_eq!(answer.flaw.as_deref(), Some(flaw));
        assert_eq!(
            texts(&mut notes),
            [format!("the summary failed its check: {flaw}; the model is asked again")]
        );
        let asked: Vec<bool> = server.requests().iter().map(|r| r.contains(flaw)).collect();
        assert_eq!(asked, [false, true]);
    }

    #[test]
    fn the_default_prompt_is_in_the_users_language_and_so_are_the_headings() {
        let mut model = silent_model();
        let plan = plan();
        let chinese = r#"{"role":"user","content":"请今天把订单 W8123 发出去"}"#;
        let input = old(&plan, MODEL, &[chinese]).input.expect("for the model");
        assert_eq!(*model.template_for(&input, 500), model.template);
        model.template = Template::by_name(Template::DEFAULT).expect("inside");
        model.is_default = true;
        let template = model.template_for(&input, 500);
        assert_eq!(template.headings()[..2], ["目标", "约束与偏好"]);
        // A short summary has no room for headings.
        let small = model.template_for(&input, 100);
        assert_eq!(small.headings(), [""; 0]);
        assert!(small.prompt("", 100).contains("不要标题"));
        let wanted = ["Decisions", "Mine"].map(str::to_owned);
        assert_eq!(translated(&wanted, &model.template, &template), ["决策", "Mine"]);
        let other = Template::default_in(Language::Other).expect("inside");
        assert_eq!(translated(&wanted, &model.template, &other), ["Mine"]);
    }

    fn flaw(
        model: &Model,
        summary: &ModelSummary,
        checked: &Result<Repaired, Reason>,
    ) -> Option<String> {
        model.flaw(&model.template, summary, checked)
    }

    #[test]
    fn only_a_policy_that_wants_headings_looks_for_flaws() {
        let mut model = silent_model();
        let summary = |text: &str, cut| ModelSummary {
            text: text.to_owned(),
            cut,
            ..ModelSummary::default()
        };
        let fine = Ok(Repaired::default());
        assert_eq!(flaw(&model, &summary("", true), &Err(Reason::Empty)), None);
        model.headings = Some(vec!["Goal".to_owned()]);
        assert_eq!(flaw(&model, &summary("## Goal\nIt.", false), &fine), None);
        for (summary, checked, expected) in [
            (summary("", false), Err(Reason::Empty), "the answer is empty"),
            (
                summary("## Goal\nIt", true),
                fine.clone(),
                "it reached its limit before its end: be shorter",
            ),
            (summary("It.", false), fine, "these sections are missing: Goal"),
            (
                summary("## Goal\nIt.", false),
                Ok(Repaired { unsupported: (vec!["It.".into()], 1), ..Repaired::default() }),
                "the messages do not say this: It.",
            ),
        ] {
            assert_eq!(flaw(&model, &summary, &checked).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_is_remarkable_in_an_answer_is_told() {
        let plan = plan();
        let secret = r#"{"role":"user","content":"password=hunter2x"}"#;
        let input = old(&plan, MODEL, &[secret]).input.expect("for the model");
        let mut notes = Notes::default();
        let summary = ModelSummary {
            parts: 2,
            answers: 3,
            thinned: true,
            excerpts: 1,
            cut: true,
            cuts: 4,
            ..ModelSummary::default()
        };
        tell(&summary, &input, &mut notes);
        let told = texts(&mut notes);
        assert_eq!(
            told[..3],
            [
                "secrets removed from the request: 1",
                "summarized in 2 parts with 3 answers",
                "tool results and arguments that were cut to fit the model's window: 4",
            ]
        );
        assert_eq!(told.len(), 6);
        let input = old(&plan, MODEL, &[ASK]).input.expect("for the model");
        tell(&ModelSummary::default(), &input, &mut notes);
        assert!(texts(&mut notes).is_empty());
    }

    #[test]
    fn repairs_are_told_and_missing_sections_are_none() {
        let mut notes = Notes::default();
        let mut repaired = Repaired::default();
        tell_repairs(&repaired, &mut notes);
        repaired.missing = vec!["Goal".to_owned()];
        tell_repairs(&repaired, &mut notes);
        repaired.repairs.unverified = 2;
        repaired.repairs.talk = 1;
        tell_repairs(&repaired, &mut notes);
        assert_eq!(
            texts(&mut notes),
            [
                "in the model's answer: missing sections: Goal",
                "the model's answer was repaired: conversational lines removed: 1, \
                 marked as unverified: 2, missing sections: Goal",
            ]
        );
    }
}
