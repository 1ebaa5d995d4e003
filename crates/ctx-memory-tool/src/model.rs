//! A model that is asked for better words, where one is configured.

use ctx_cli::{Failure, Io, Progress};
use ctx_llm::{LlmError, Question, Usage};
use ctx_memory::consolidate::{Answer, Asked};
use ctx_passes::summarize::{ModelSource, took};
use ctx_policy::Method;
use ctx_redact::redact;
use ctx_store::Summing;
use ctx_summary::check::{Rules, Source, UNVERIFIED, check};
use ctx_tokens::TokenCounter;
use ctx_tools::llm::ServerArgs;
use ctx_tools::passes;
use ctx_transcript::{Message, Part, Role, counted};

const PROMPT: &str = include_str!("../../../prompts/consolidate.md");
/// What an answer may have beyond what it is asked about, in tokens: headings and numbers.
const BEYOND: u64 = 200;

/// A model, and what came of it.
pub(crate) struct Model<'a> {
    server: &'a ServerArgs,
    source: ModelSource,
    counter: &'static dyn TokenCounter,
}

impl<'a> Model<'a> {
    /// The one that is configured.
    pub(crate) fn of(
        server: &'a ServerArgs,
        counter: &'static dyn TokenCounter,
        io: &mut Io,
    ) -> Result<Option<Self>, Failure> {
        let source = server.source(|what| io.warn(what))?;
        Ok(source.map(|source| Self {
            server,
            source,
            counter,
        }))
    }

    /// Asks; a failure is told, and is no reason to stop.
    pub(crate) fn ask(&self, asked: &Asked, io: &mut Io) -> Option<Answer> {
        let answer = self.answer(asked, io);
        match answer {
            Ok(answer) => {
                for (count, what) in [
                    (answer.refused, "lost something of what they stand for"),
                    (answer.invented, "say what is not in the memory"),
                ] {
                    if count > 0 {
                        let lines = counted(count, "line");
                        io.warn(format_args!("{lines} of the model's answer {what}; these entries are told in their own words"));
                    }
                }
                Some(answer)
            }
            Err(why) => {
                io.warn(format_args!(
                    "no model's words: {why}; the entries are told in their own"
                ));
                None
            }
        }
    }

    fn answer(&self, asked: &Asked, io: &mut Io) -> Result<Answer, String> {
        let part = self
            .within_window(asked, io)
            .map_err(|error| error.to_string())?;
        // What is sent is redacted, whoever wrote it there.
        let text = redact(&part.text()).0.into_owned();
        let question = Question {
            instructions: PROMPT,
            text: &text,
            max_tokens: self.counter.count(&text) + BEYOND,
            part: (1, 1),
        };
        let mut usage = Usage::default();
        Progress::current().stage("asking the model");
        let completion = self.source.ask(&question, chrono::Utc::now, &mut usage);
        let completion = completion.map_err(|error| error.to_string())?;
        let mut source = Source::default();
        source.push(&Message::new(
            Role::User,
            vec![Part::Text(text.as_str().into())],
        ));
        let rules = Rules {
            headings: &[],
            prompt: PROMPT,
            cut: completion.cut,
            largest: None,
            counter: self.counter,
        };
        let repaired = check(&completion.text, &source, &rules).map_err(|why| why.to_string())?;
        let is_verified = |line: &&str| !line.contains(UNVERIFIED);
        let lines: Vec<&str> = repaired.text.lines().filter(is_verified).collect();
        let mut answer = part.check(&lines.join("\n"), asked);
        answer.took = Some(Summing {
            method: Method::Llm.as_str(),
            ..took(usage)
        });
        answer.invented += repaired.text.lines().count() - lines.len();
        Ok(answer)
    }

    /// As many as the model's window has room for, with the answer.
    fn within_window(&self, asked: &Asked, io: &mut Io) -> Result<Asked, LlmError> {
        let needed = |asked: &Asked| {
            self.counter.count(PROMPT) + 2 * self.counter.count(&asked.text()) + BEYOND
        };
        let window = self.server.window();
        let window = passes::telling("master.md", io, |notes| {
            window.tokens(&self.source, needed(asked), notes)
        });
        let room = window? * 9 / 10;
        let mut part = asked.clone();
        while part.len() > 1 && needed(&part) > room {
            part = part.first(part.len() * 3 / 4);
        }
        Ok(part)
    }
}
