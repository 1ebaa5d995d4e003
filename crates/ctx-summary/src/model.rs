//! A summary by a model, from an input of any length.
//!
//! What fits into the model's window is summed up in one question. What does
//! not is cut into parts at the borders of messages; each part is summed up, and
//! the summaries are summed up in turn, until one is left.

use ctx_tokens::TokenCounter;

use crate::llm::{Completion, LlmError, Question};
use crate::transcript::pack;
use crate::{Filling, Template, Transcript};

/// What is to be summed up, and how.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The prompt.
    pub template: &'a Template,
    /// The messages.
    pub transcript: &'a Transcript,
    /// Summaries of what came before, redacted by the caller if they come from elsewhere.
    pub earlier: &'a str,
    /// What the user wants stressed.
    pub instructions: &'a str,
    /// Length of the summary in tokens; the model may write a fifth more.
    pub target: u64,
    /// Input and output of the model together, in tokens.
    pub window: u64,
    /// Counts tokens, as the model does or nearly so.
    pub counter: &'static dyn TokenCounter,
}

/// A summary, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSummary {
    /// The text.
    pub text: String,
    /// Answers of the model that went into it.
    pub answers: u32,
    /// Parts the messages were cut into.
    pub parts: usize,
    /// The model ran into its limit before it had said all.
    pub cut: bool,
}

/// Below this there is no room for any record.
const SMALLEST_INPUT: u64 = 200;
/// Sums up; `ask` puts one question to the model. An input that the model calls
/// too long is cut smaller, down to a limit.
pub fn summarize(
    job: &Job<'_>,
    ask: &mut dyn FnMut(&Question<'_>) -> Result<Completion, LlmError>,
) -> Result<ModelSummary, LlmError> {
    let mut room = room(job);
    loop {
        match Run::new(job, room, &mut *ask).all() {
            Err(LlmError::TooLong(_)) if room / 2 >= SMALLEST_INPUT => room /= 2,
            outcome => return outcome,
        }
    }
}

/// Tokens of record that fit into one question. A tenth of the window is left
/// free: chat templates add tokens, and tokenizers differ.
fn room(job: &Job<'_>) -> u64 {
    let (system, message) = job.template.fill(&Filling {
        target: job.target,
        instructions: job.instructions,
        earlier: "",
        transcript: "-",
    });
    let prompt = job.counter.count(&system) + job.counter.count(&message);
    let free = job.window - job.window / 10;
    free.saturating_sub(prompt + most_output(job))
        .max(SMALLEST_INPUT)
}

/// A fifth more than the target, and never more than half of the window.
fn most_output(job: &Job<'_>) -> u64 {
    (job.target + job.target / 5).min(job.window / 2).max(1)
}

struct Run<'a, 'q> {
    job: &'a Job<'a>,
    room: u64,
    ask: &'q mut dyn FnMut(&Question<'_>) -> Result<Completion, LlmError>,
    answers: u32,
    cut: bool,
}

impl<'a, 'q> Run<'a, 'q> {
    fn new(
        job: &'a Job<'a>,
        room: u64,
        ask: &'q mut dyn FnMut(&Question<'_>) -> Result<Completion, LlmError>,
    ) -> Self {
        Self {
            job,
            room,
            ask,
            answers: 0,
            cut: false,
        }
    }

    fn all(mut self) -> Result<ModelSummary, LlmError> {
        let earlier = self.job.earlier.trim();
        let beside = self.job.counter.count(earlier);
        let whole = pack(self.job.transcript.pieces(), self.room, self.job.counter);
        // An earlier summary that leaves no room is one more part of the record.
        if whole.len() <= 1 && beside < self.room {
            let record = whole.first().map_or("", String::as_str);
            if beside + self.job.counter.count(record) <= self.room {
                return self.last(earlier, record, 1);
            }
        }
        let mut pieces = Vec::new();
        if !earlier.is_empty() {
            pieces.push(format!("[earlier summary]\n{earlier}"));
        }
        pieces.extend_from_slice(self.job.transcript.pieces());
        let parts = pack(&pieces, self.room, self.job.counter);
        let count = parts.len();
        let mut texts = parts;
        loop {
            if let [text] = texts.as_slice() {
                return self.last("", text, count);
            }
            let fewer = self.round(&texts)?;
            // A model that ignores its limit would go on for ever.
            if fewer.len() >= texts.len() {
                return Err(LlmError::NotShorter);
            }
            texts = fewer;
        }
    }

    /// Each text summed up, and the summaries packed for the next question.
    fn round(&mut self, texts: &[String]) -> Result<Vec<String>, LlmError> {
        // Two summaries at least must fit into one question, or no round would
        // leave fewer texts than it found.
        let target = self.job.target.min(self.room / 3).max(1);
        let count = texts.len();
        let mut summaries = Vec::with_capacity(count);
        for (number, text) in (1..).zip(texts) {
            let summary = self.question("", text, target)?;
            summaries.push(format!("[summary of part {number} of {count}]\n{summary}"));
        }
        Ok(pack(&summaries, self.room, self.job.counter))
    }

    fn last(mut self, earlier: &str, record: &str, parts: usize) -> Result<ModelSummary, LlmError> {
        self.cut = false;
        let text = self.question(earlier, record, self.job.target)?;
        Ok(ModelSummary {
            text,
            answers: self.answers,
            parts,
            cut: self.cut,
        })
    }

    fn question(&mut self, earlier: &str, record: &str, target: u64) -> Result<String, LlmError> {
        let (system, message) = self.job.template.fill(&Filling {
            target,
            instructions: self.job.instructions,
            earlier,
            // Nothing but earlier summaries may be old; the paragraph must stay.
            transcript: if record.is_empty() {
                "(nothing)"
            } else {
                record
            },
        });
        let completion = (self.ask)(&Question {
            instructions: &system,
            text: &message,
            max_tokens: (target + target / 5).min(most_output(self.job)).max(1),
        })?;
        self.answers += 1;
        self.cut = completion.cut;
        Ok(completion.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Job, ModelSummary, summarize};
    use crate::llm::{Completion, LlmError, Question};
    use crate::{Template, Transcript};
    use ctx_tokens::Encoding;
    use ctx_transcript::{Message, Part, Role};

    fn transcript(messages: usize) -> Transcript {
        let mut transcript = Transcript::default();
        for number in 0..messages {
            transcript.push(&Message {
                role: Role::User,
                name: None,
                parts: vec![Part::Text(
                    format!("fact {number} of many, spelled out").into(),
                )],
            });
        }
        transcript
    }

    /// A model with `window` tokens that answers with the facts' numbers it saw,
    /// as far as it may write.
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
            Ok(Completion {
                text: format!("{text} ."),
                cut: false,
            })
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
            instructions: "",
            target: 100,
            window: said,
            counter: Encoding::Chars4.counter(),
        };
        let mut log = Vec::new();
        let outcome = summarize(&job, &mut model(real, &mut log));
        (outcome, log)
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
        assert!(
            log.last()
                .expect("asked")
                .contains("[summary of part 1 of ")
        );
        // Every message went into some question.
        for number in 0..120 {
            let fact = format!("fact {number} of");
            assert_eq!(
                log.iter().filter(|text| text.contains(&fact)).count(),
                1,
                "{fact}"
            );
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
            instructions: "",
            target: 100,
            window: 600,
            counter: Encoding::Chars4.counter(),
        };
        let mut asked = 0;
        let outcome = summarize(&job, &mut |_question| {
            asked += 1;
            Ok(Completion {
                text: "on and on ".repeat(400),
                cut: false,
            })
        });
        assert_eq!(outcome, Err(LlmError::NotShorter));
        assert!(asked < 20, "{asked}");
    }

    #[test]
    fn other_errors_end_it() {
        let template: Template = "{{transcript}}".parse().expect("a template");
        let transcript = transcript(1);
        let job = Job {
            template: &template,
            transcript: &transcript,
            earlier: "",
            instructions: "",
            target: 100,
            window: 600,
            counter: Encoding::Chars4.counter(),
        };
        let outcome = summarize(&job, &mut |_| Err(LlmError::HostNotFound));
        assert_eq!(outcome, Err(LlmError::HostNotFound));
    }
}
