//! Lets a model summarize input of any length.
//!
//! Input that fits into the model's window is summarized in one request. Longer input is split at
//! message boundaries. Each part is summarized, and the summaries are summarized in turn until only
//! one is left. The following rules make this work for any input:
//! - If a summary is so long that no other summary fits next to it, its middle is cut out.
//! - If the model does not summarize a part, the part is replaced by its beginning and end.
//! - If there are more than [`MOST_PARTS`] parts, the messages are shortened first.

use ctx_tokens::TokenCounter;

use crate::template::{Filling, Template};
use crate::transcript::{Record, Transcript, escaped, labelled, pack, shorten};
use ctx_llm::{Completion, LlmError, Question};

/// The usual value of [`Job::most_percent`]. It allows a fifth more than requested, because models
/// cannot count tokens.
pub const USUAL_PERCENT: u64 = 120;

/// The input for a summary, and its settings.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The prompt.
    pub template: &'a Template,
    /// The messages to summarize.
    pub transcript: &'a Transcript,
    /// The earlier summaries. The caller must redact summaries that were written by other tools.
    pub earlier: &'a str,
    /// A list of items that the summary must contain, found without a model. The list is sent only
    /// if the record had to be cut or split.
    pub reminder: &'a str,
    /// The points that the user wants to emphasize.
    pub instructions: &'a str,
    /// The requested length of the summary, in tokens.
    pub target: u64,
    /// The maximum length of the summary as a percentage of `target`, usually [`USUAL_PERCENT`].
    pub most_percent: u64,
    /// The model's context window, which is the maximum number of tokens in its input and output
    /// together.
    pub window: u64,
    /// Counts tokens in approximately the same way as the model.
    pub counter: &'static dyn TokenCounter,
}

/// A summary, and how it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSummary {
    /// The text of the summary.
    pub text: String,
    /// The number of model answers that went into the summary.
    pub answers: u32,
    /// The number of parts into which the messages were split.
    pub parts: usize,
    /// True if the model reached its output limit before the summary was finished.
    pub cut: bool,
    /// The number of parts that the model did not summarize. Such parts were replaced by their
    /// beginnings and ends.
    pub excerpts: usize,
    /// The number of tool results and arguments that were shortened to make the record fit.
    pub cuts: usize,
    /// True if the input was so long that messages had to be shortened in the middle.
    pub thinned: bool,
}

/// The minimum number of tokens that a question must leave for the record.
const SMALLEST_INPUT: u64 = 200;
/// The maximum number of parts. A model takes several seconds for each part, and this many parts
/// contain millions of tokens.
const MOST_PARTS: usize = 96;
/// If there are too many parts, messages are shortened to this number of characters. The number is
/// then halved until there are few enough parts, or down to [`THINNEST_CHARS`].
const THINNED_CHARS: usize = 16_000;
const THINNEST_CHARS: usize = 200;
/// The maximum number of tokens in the line above the summary of a part.
const LABEL: u64 = 24;

/// Summarizes the messages. `ask` sends one question to the model. If the model reports that the
/// input is too long, shorter inputs are tried, down to a limit.
pub fn summarize(
    job: &Job<'_>,
    ask: &mut dyn FnMut(&Question<'_>) -> Result<Completion, LlmError>,
) -> Result<ModelSummary, LlmError> {
    let mut room = room(job);
    loop {
        let done = ModelSummary { parts: 1, ..ModelSummary::default() };
        match (Run { job, room, ask: &mut *ask, done }).all() {
            Err(LlmError::TooLong(_)) if room / 2 >= SMALLEST_INPUT => room /= 2,
            outcome => return outcome,
        }
    }
}

/// Returns how many tokens of the record fit into one question. A tenth of the window is left free,
/// because chat templates add tokens and tokenizers differ.
fn room(job: &Job<'_>) -> u64 {
    let (system, message) = fill(job, job.target, "", "-");
    let prompt = job.counter.count(&system) + job.counter.count(&message);
    let free = job.window - job.window / 10;
    free.saturating_sub(prompt + most_output(job, job.target)).max(SMALLEST_INPUT)
}

fn fill(job: &Job<'_>, target: u64, earlier: &str, transcript: &str) -> (String, String) {
    job.template.fill(&Filling { target, instructions: job.instructions, earlier, transcript })
}

/// Returns the maximum length of an answer in tokens, for the requested length `target`. The limit
/// is at most half of the window.
fn most_output(job: &Job<'_>, target: u64) -> u64 {
    let most = target.min(job.target) * job.most_percent / 100;
    most.min(job.window / 2).max(1)
}

struct Run<'a, 'q> {
    job: &'a Job<'a>,
    room: u64,
    ask: &'q mut dyn FnMut(&Question<'_>) -> Result<Completion, LlmError>,
    done: ModelSummary,
}

impl Run<'_, '_> {
    fn all(mut self) -> Result<ModelSummary, LlmError> {
        let earlier = self.job.earlier.trim();
        // A complete record contains everything in the reminder, so the reminder is not sent with
        // it.
        let whole = self.within(earlier).filter(|record| record.cuts == 0);
        if let Some(record) = whole {
            return self.last(earlier, &record.pieces.join("\n\n"));
        }
        let known = self.known();
        if let Some(record) = self.within(&known) {
            self.done.cuts = record.cuts;
            return self.last(&known, &record.pieces.join("\n\n"));
        }
        let mut texts = self.parts();
        self.done.parts = texts.len();
        while texts.len() > 1 {
            texts = self.round(&texts)?;
        }
        self.last("", texts.first().map_or("", String::as_str))
    }

    /// Returns the record if it fits into a question together with `known`, or `None` if it does
    /// not.
    fn within(&self, known: &str) -> Option<Record> {
        let Job { transcript, counter, .. } = *self.job;
        let room = self.room.checked_sub(counter.count(known))?;
        transcript.within(room, counter)
    }

    /// Returns the earlier summary and the reminder, which precede the record.
    fn known(&self) -> String {
        [self.job.earlier.trim(), self.job.reminder.trim()].join("\n\n").trim().to_owned()
    }

    /// Packs the earlier summary and all messages into parts.
    fn parts(&mut self) -> Vec<String> {
        let mut pieces = Vec::new();
        let known = self.known();
        if !known.is_empty() {
            pieces.push(labelled("earlier summary", &known));
        }
        let record = self.job.transcript.shortest();
        self.done.cuts = record.cuts;
        pieces.extend(record.pieces);
        let mut parts = pack(&pieces, self.room, self.job.counter);
        let mut chars = THINNED_CHARS;
        while parts.len() > MOST_PARTS && chars >= THINNEST_CHARS {
            self.done.thinned = true;
            let thin: Vec<String> = pieces.iter().map(|piece| shorten(piece, chars)).collect();
            parts = pack(&thin, self.room, self.job.counter);
            chars /= 2;
        }
        if parts.len() > MOST_PARTS {
            parts.drain(MOST_PARTS / 2..parts.len() - MOST_PARTS / 2);
        }
        parts
    }

    /// Summarizes each text, and packs the summaries for the next round of questions. At least two
    /// summaries fit into one question, so the number of texts decreases with every round.
    fn round(&mut self, texts: &[String]) -> Result<Vec<String>, LlmError> {
        let most = self.room / 2 - LABEL;
        let target = self.job.target.min(self.room / 3).max(1);
        let count = texts.len();
        let mut summaries = Vec::with_capacity(count);
        for (number, text) in (1..).zip(texts) {
            let summary = match self.question("", text, target, (number, count)) {
                Err(LlmError::Refused(_) | LlmError::Empty { .. }) => {
                    self.done.excerpts += 1;
                    fit(text, target.min(most), self.job.counter)
                }
                other => fit(&other?, most, self.job.counter),
            };
            summaries.push(labelled(&format!("summary of part {number} of {count}"), &summary));
        }
        Ok(pack(&summaries, self.room, self.job.counter))
    }

    fn last(mut self, earlier: &str, record: &str) -> Result<ModelSummary, LlmError> {
        self.done.text = self.question(earlier, record, self.job.target, (1, 1))?;
        Ok(self.done)
    }

    fn question(
        &mut self,
        earlier: &str,
        record: &str,
        target: u64,
        part: (usize, usize),
    ) -> Result<String, LlmError> {
        // If there is only an earlier summary, the record is empty, but the prompt needs some text
        // in its place.
        let record = if record.is_empty() { "(nothing)" } else { record };
        let (system, message) = fill(self.job, target, &escaped(earlier), record);
        let completion = (self.ask)(&Question {
            instructions: &system,
            text: &message,
            max_tokens: most_output(self.job, target),
            part,
        })?;
        self.done.answers += 1;
        self.done.cut = completion.cut;
        Ok(completion.text)
    }
}

/// Shortens `text` to its beginning and end, so that it has at most `limit` tokens.
fn fit(text: &str, limit: u64, counter: &dyn TokenCounter) -> String {
    if counter.count_up_to(text, limit).is_some() {
        return text.to_owned();
    }
    // Few tokens have more than eight characters.
    let mut chars = usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(8);
    loop {
        let short = shorten(text, chars);
        if chars == 0 || counter.count_up_to(&short, limit).is_some() {
            return short;
        }
        chars = chars * 4 / 5;
    }
}

#[cfg(test)]
mod tests {
    use super::{Job, ModelSummary, USUAL_PERCENT, fit, summarize};
    use crate::{Template, Transcript};
    use ctx_format::{Message, Part, Role};
    use ctx_llm::{Completion, LlmError, Question};
    use ctx_tokens::Encoding;

    fn transcript(messages: usize) -> Transcript {
        let mut transcript = Transcript::default();
        for (line, number) in (1..).zip(0..messages) {
            transcript.push(
                line,
                &Message::new(
                    Role::User,
                    vec![Part::Text(format!("fact {number} of many, spelled out").into())],
                ),
            );
        }
        transcript
    }

    /// A model with a window of `window` tokens. The model answers with the numbers of the facts in
    /// the question, as far as its output limit allows.
    fn model(
        window: u64,
        log: &mut Vec<String>,
    ) -> impl FnMut(&Question<'_>) -> Result<Completion, LlmError> {
        move |question| {
            let counter = Encoding::Chars4.counter();
            let input = counter.count(question.instructions) + counter.count(question.text);
            if input + question.max_tokens > window {
                return Err(LlmError::TooLong(String::new()));
            }
            log.push(question.text.to_owned());
            let facts: Vec<&str> = question
                .text
                .split_whitespace()
                .filter(|word| word.parse::<u32>().is_ok())
                .collect();
            let most = usize::try_from(question.max_tokens).expect("small") * 4;
            let text: String = facts.join(" ").chars().take(most).collect();
            Ok(Completion { text: format!("{text} ."), cut: false })
        }
    }

    fn run(
        transcript: &Transcript,
        earlier: &str,
        said: u64,
        real: u64,
    ) -> (Result<ModelSummary, LlmError>, Vec<String>) {
        let template: Template =
            "Sum up ({{target}}).\n\nBefore:\n\n{{earlier}}\n\nRecord:\n\n{{transcript}}"
                .parse()
                .expect("a template");
        let job = Job {
            template: &template,
            transcript,
            earlier,
            reminder: "",
            instructions: "",
            target: 100,
            most_percent: USUAL_PERCENT,
            window: said,
            counter: Encoding::Chars4.counter(),
        };
        let mut log = Vec::new();
        let outcome = summarize(&job, &mut model(real, &mut log));
        (outcome, log)
    }

    /// Returns the outcome with this model, and the number of requests.
    fn with(
        transcript: &Transcript,
        earlier: &str,
        window: u64,
        mut model: impl FnMut(&Question<'_>) -> Result<Completion, LlmError>,
    ) -> (Result<ModelSummary, LlmError>, u32) {
        let template: Template = "Sum up.\n\nBefore:\n\n{{earlier}}\n\nRecord:\n\n{{transcript}}"
            .parse()
            .expect("a template");
        let job = Job {
            template: &template,
            transcript,
            earlier,
            reminder: "",
            instructions: "",
            target: 100,
            most_percent: USUAL_PERCENT,
            window,
            counter: Encoding::Chars4.counter(),
        };
        let mut asked = 0;
        let outcome = summarize(&job, &mut |question| {
            asked += 1;
            model(question)
        });
        (outcome, asked)
    }

    #[test]
    fn what_fits_is_one_question() {
        let (outcome, log) = run(&transcript(3), "it began", 4000, 4000);
        let summary = outcome.expect("a summary");
        assert_eq!((summary.answers, summary.parts), (1, 1));
        assert_eq!(summary.text, "0 1 2 .");
        assert!(
            log[0].starts_with("Sum up (100).\n\nBefore:\n\nit began\n\nRecord:"),
            "{}",
            log[0]
        );
    }

    #[test]
    fn what_does_not_fit_is_summed_up_in_parts() {
        let (outcome, log) = run(&transcript(120), "it began", 700, 700);
        let summary = outcome.expect("a summary");
        assert!(summary.parts > 2, "{summary:?}");
        assert_eq!(summary.answers as usize, log.len());
        assert!(log[0].contains("[earlier summary]\nit began"), "{}", log[0]);
        assert!(log.last().expect("asked").contains("[summary of part 1 of "));
        // Every message is part of some question.
        for number in 0..120 {
            let fact = format!("fact {number} of");
            assert_eq!(log.iter().filter(|text| text.contains(&fact)).count(), 1, "{fact}");
        }
    }

    #[test]
    fn a_window_smaller_than_said_is_found_out() {
        let (outcome, _) = run(&transcript(120), "", 100_000, 900);
        assert!(outcome.expect("a summary").parts > 1);
    }

    #[test]
    fn a_window_too_small_for_anything_is_an_error() {
        let (outcome, _) = run(&transcript(120), "", 100_000, 50);
        assert!(matches!(outcome, Err(LlmError::TooLong(_))), "{outcome:?}");
    }

    #[test]
    fn a_model_that_ignores_its_limit_does_not_run_for_ever() {
        let template: Template = "{{transcript}}".parse().expect("a template");
        let transcript = transcript(200);
        let job = Job {
            template: &template,
            transcript: &transcript,
            earlier: "",
            reminder: "",
            instructions: "",
            target: 100,
            most_percent: USUAL_PERCENT,
            window: 600,
            counter: Encoding::Chars4.counter(),
        };
        let mut asked = 0;
        let outcome = summarize(&job, &mut |_question| {
            asked += 1;
            Ok(Completion { text: "on and on ".repeat(400), cut: false })
        });
        let summary = outcome.expect("a summary all the same");
        assert!(summary.parts > 2);
        assert!(asked < 60, "{asked}");
    }

    #[test]
    fn a_part_without_a_summary_goes_on_as_an_excerpt() {
        let mut asked = 0;
        let (outcome, _) = with(&transcript(120), "", 700, |question| {
            asked += 1;
            if asked == 2 {
                return Err(LlmError::Refused("no".to_owned()));
            }
            assert!(asked < 5 || question.text.contains("characters left out"));
            Ok(Completion { text: "short".to_owned(), cut: false })
        });
        let summary = outcome.expect("a summary");
        assert_eq!(summary.excerpts, 1);
        assert_eq!(summary.text, "short");
        // There is no alternative to the last question, so its error is returned.
        let (outcome, _) =
            with(&transcript(3), "", 4000, |_| Err(LlmError::Refused("no".to_owned())));
        assert!(matches!(outcome, Err(LlmError::Refused(_))));
    }

    #[test]
    fn zones_of_every_length_are_summed_up() {
        // A message in this transcript has about eight tokens.
        for (messages, window) in [(1, 2_000), (60, 2_000), (6_000, 8_000), (62_500, 32_000)] {
            let transcript = transcript(messages);
            let (outcome, questions) = with(&transcript, "it began", window, |question| {
                let counter = Encoding::Chars4.counter();
                let input = counter.count(question.instructions) + counter.count(question.text);
                assert!(input + question.max_tokens <= window, "{input}");
                Ok(Completion { text: "a long answer ".repeat(30), cut: false })
            });
            let summary = outcome.expect("a summary");
            assert_eq!(summary.answers, questions, "{messages}");
            assert!(summary.parts <= super::MOST_PARTS && !summary.thinned, "{messages}");
        }
    }

    #[test]
    fn too_many_messages_are_thinned_out() {
        let mut asked = 0;
        let (outcome, _) = with(&transcript(20_000), "it began", 1_000, |_| {
            asked += 1;
            Ok(Completion { text: "so it was".to_owned(), cut: false })
        });
        let summary = outcome.expect("a summary");
        assert!(summary.thinned && summary.parts == super::MOST_PARTS, "{summary:?}");
        assert!(asked < 110, "{asked}");
    }

    #[test]
    fn one_giant_message_and_no_message_of_the_user_are_no_special_case() {
        for (role, text) in [
            (Role::User, "决定用八千端口。".repeat(40_000)),
            (Role::Assistant, "word and more ".repeat(60_000)),
            (Role::Assistant, "x".repeat(400_000)),
        ] {
            let mut transcript = Transcript::default();
            transcript.push(1, &Message::new(role, vec![Part::Text(text.into())]));
            let (outcome, _) = with(&transcript, "", 8_000, |question| {
                assert!(Encoding::Chars4.counter().count(question.text) < 8_000);
                Ok(Completion { text: "one thing".to_owned(), cut: false })
            });
            assert_eq!(outcome.expect("a summary").text, "one thing");
        }
    }

    #[test]
    fn what_is_fitted_fits() {
        let counter = Encoding::Chars4.counter();
        assert_eq!(fit("short", 10, counter), "short");
        for text in ["word ".repeat(900), "决定".repeat(900)] {
            let short = fit(&text, 60, counter);
            assert!(counter.count(&short) <= 60, "{short}");
            assert!(short.contains("characters left out"), "{short}");
        }
    }

    #[test]
    fn other_errors_end_it() {
        let template: Template = "{{transcript}}".parse().expect("a template");
        let transcript = transcript(1);
        let job = Job {
            template: &template,
            transcript: &transcript,
            earlier: "",
            reminder: "",
            instructions: "",
            target: 100,
            most_percent: USUAL_PERCENT,
            window: 600,
            counter: Encoding::Chars4.counter(),
        };
        let outcome = summarize(&job, &mut |_| Err(LlmError::HostNotFound));
        assert_eq!(outcome, Err(LlmError::HostNotFound));
    }
}
