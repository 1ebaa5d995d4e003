//! Counts the messages, tokens and bytes of a session.

mod breakdown;
mod json;
mod reach;
mod tally;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};
use std::path::Path;

use ctx_format::{Dialect, Message, Object, Options, Record};

use crate::estimate::{Calibration, CalibrationPass, Estimate};
use crate::message_counter::MessageCounter;
use crate::outlet::{Announced, Outlet};
use crate::parallel::{InTurn, Work};
use crate::{BadLines, Invalid, Notes, Result, Session};

pub use breakdown::{Breakdown, Row, Slice};
pub use json::Calibrated;
pub use reach::{Reach, Volume};
pub use tally::{Share, Tally};

/// The counts of a session.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The total number of records of any kind.
    pub records: u64,
    /// The total length of the records in bytes, including tags and line endings.
    pub bytes: u64,
    /// The counts of messages and their tokens.
    pub tally: Tally,
    /// If requested, how many bytes of the file are sent and, for each reason, how many are not.
    pub reach: Reach,
    /// If requested, the model and the usage recorded in the session.
    pub of_session: OfSession,
    /// Lines that are not JSON objects.
    pub bad: BadLines,
    /// The number of objects in an unknown format, which are counted as text.
    unknown: u64,
    /// The number of objects in a batch that have no list of messages.
    no_conversation: u64,
}

impl Counts {
    /// Counts text that is not a session. Invalid UTF-8 is counted as U+FFFD.
    pub fn of_text(bytes: &[u8], counter: &MessageCounter) -> Self {
        let mut counts = Self { bytes: bytes.len() as u64, ..Self::default() };
        counts.tally.text(counter, &String::from_utf8_lossy(bytes));
        counts
    }

    /// Adds the counts of other conversations.
    pub fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.bytes += other.bytes;
        self.tally.merge(&other.tally);
        self.reach.merge(&other.reach);
        self.bad.count_in(&other.bad);
        self.unknown += other.unknown;
        self.no_conversation += other.no_conversation;
    }

    /// Warns about lines that were not counted as messages.
    pub fn report(&self, notes: &mut Notes) {
        self.bad.report(notes);
        if self.bad.count() > 0 && self.bad.count() == self.records {
            notes.warn("no line is a JSON object; --text counts plain text");
        }
        if self.unknown > 0 {
            notes.warn(
                "unknown format, so each line is counted as plain text; \
                 --dialect or --batch says how to read it",
            );
        }
        warn_no_conversation(self.no_conversation, notes);
    }

    fn seen(&mut self, record: &Record<'_>) {
        self.records += u64::from(record.piece.begins());
        self.bytes += record.bytes.len() as u64;
    }

    fn conversation(
        &mut self,
        object: &Object<'_>,
        dialect: &dyn Dialect,
        counter: &MessageCounter,
    ) -> u64 {
        let Some(messages) = object.conversation() else {
            self.no_conversation += 1;
            return 0;
        };
        let before = self.tally.tokens.total();
        self.tally.begin();
        for object in &messages {
            self.message(dialect.message(object), counter);
        }
        self.tally.tokens.total() - before
    }

    fn message(&mut self, message: Option<Message<'_>>, counter: &MessageCounter) -> u64 {
        let Some(message) = message else { return 0 };
        if self.tally.conversations == 0 {
            self.tally.begin();
        }
        self.tally.message(counter, &message).total()
    }
}

/// Warns about objects in a batch that have no list of messages.
pub(crate) fn warn_no_conversation(count: u64, notes: &mut Notes) {
    if count > 0 {
        notes.warn(format_args!("lines without a conversation (\"messages\"): {count}"));
    }
}

/// Counts the tokens of a session. Returns `None` if the dialect of the session is unknown.
pub fn tokens(session: Box<dyn Read + Send>, counter: &MessageCounter) -> Result<Option<u64>> {
    let mut session = Session::open(session, &Options::default(), Invalid::Keep)?;
    if session.dialect().is_none() {
        return Ok(None);
    }
    let plan =
        Plan { counter: *counter, batch: false, threads: 1, reach: false, of_session: false };
    let mut pass = CountPass::new(&plan, session.dialect());
    session.visit(|record| pass.push(record))?;
    Ok(Some(pass.finish(&session.bad).tally.tokens.total()))
}

/// The options for counting.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether the input is a batch, in which each record is a whole conversation.
    pub batch: bool,
    /// The number of threads that count the conversations in a batch.
    pub threads: usize,
    /// Whether to count the bytes that are sent and, for each reason, those that are not.
    pub reach: bool,
    /// Whether to read the model and the usage recorded in the session.
    pub of_session: bool,
}

/// Counts the records of a session.
pub struct CountPass {
    plan: Plan,
    dialect: Option<&'static dyn Dialect>,
    counts: Counts,
    batch: Option<InTurn<Counting>>,
    calibration: Option<CalibrationPass>,
}

impl CountPass {
    /// Creates a pass over a session in this dialect. Without a dialect, records are counted as
    /// text.
    pub fn new(plan: &Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        let threaded = dialect.filter(|_| plan.batch && plan.threads > 1);
        let start = |dialect| {
            let counter = plan.counter;
            InTurn::start_on(plan.threads, Counting { dialect, counter }, Counts::default())
        };
        Self {
            plan: *plan,
            dialect,
            counts: Counts::default(),
            batch: threaded.map(start),
            calibration: (plan.of_session && !plan.batch)
                .then(|| CalibrationPass::new(plan.counter, dialect)),
        }
    }

    /// Counts the next record.
    pub fn push(&mut self, record: &Record<'_>) {
        if self.plan.reach {
            self.counts.reach.record(record, self.dialect);
        }
        match &mut self.batch {
            None => {
                let tokens = self.count(record);
                if let Some(calibration) = &mut self.calibration {
                    // Tokens in records outside the context are not counted.
                    calibration.push(record, Some(tokens).filter(|_| !record.is_outside()));
                }
            }
            Some(batch) => {
                self.counts.seen(record);
                if let Some(object) = record.whole_object() {
                    let text = object.text();
                    batch.push(text.to_owned(), text.len());
                }
            }
        }
    }

    /// Counts one record on the current thread, and returns its token count.
    fn count(&mut self, record: &Record<'_>) -> u64 {
        let counter = &self.plan.counter;
        self.counts.seen(record);
        let Some(object) = record.whole_object() else { return 0 };
        match self.dialect {
            None => {
                self.counts.unknown += 1;
                let text = record.untagged();
                let text = String::from_utf8_lossy(text.trim_ascii_end());
                self.counts.tally.text(counter, &text)
            }
            Some(dialect) if self.plan.batch => self.counts.conversation(object, dialect, counter),
            Some(_) => self.counts.message(record.message(self.dialect), counter),
        }
    }

    /// Returns the counts, including the session's bad lines.
    pub fn finish(mut self, bad: &BadLines) -> Counts {
        if let Some(batch) = self.batch {
            self.counts.merge(&batch.finish());
        }
        if let Some(calibration) = self.calibration {
            let Calibration { model, window, estimate, .. } = calibration.finish();
            self.counts.of_session = OfSession { model, window, estimate };
        }
        self.counts.bad = bad.clone();
        self.counts
    }
}

/// The model named in the session, and the size of the session according to the recorded usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfSession {
    /// The model that wrote the last reply, if it is known.
    pub model: Option<String>,
    /// The context window of `model`, if it is known.
    pub window: Option<u64>,
    /// The size of the context in the API's tokens, including content that is sent but not in the
    /// file.
    pub estimate: Option<Estimate>,
}

/// Writes each record with a tag that gives the record's size.
pub struct AnnotatePass<W> {
    count: CountPass,
    outlet: Outlet<W>,
    encoding: &'static str,
}

impl<W: Write> AnnotatePass<W> {
    /// Creates a pass that writes to `output`, with temporary files in `temp`.
    pub fn new(plan: &Plan, dialect: Option<&'static dyn Dialect>, output: W, temp: &Path) -> Self {
        let plan = Plan { threads: 1, ..*plan };
        Self {
            count: CountPass::new(&plan, dialect),
            outlet: Outlet::new(output, Announced::default(), temp),
            encoding: plan.counter.encoding.name(),
        }
    }

    /// Counts and tags the next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let tokens = self.count.count(record);
        let untagged = record.untagged().into_owned();
        let length = untagged.len() - record.line_end().len();
        self.outlet.write_with(record, untagged, |came| {
            let mut tag = came.unwrap_or_default();
            tag.line = tag.line.or(Some(record.line));
            tag.bytes = Some(length as u64);
            tag.tokens = Some(tokens);
            tag.encoding = Some(self.encoding.to_owned());
            Some(tag)
        })
    }

    /// Writes all records that have not been written yet, and returns the output and the counts.
    pub fn finish(self, bad: &BadLines) -> Result<(W, Counts)> {
        Ok((self.outlet.finish(bad.left_out())?, self.count.finish(bad)))
    }
}

/// Counts the conversations in a batch on several threads.
struct Counting {
    dialect: &'static dyn Dialect,
    counter: MessageCounter,
}

impl Work for Counting {
    type Item = String;
    type Done = Counts;
    type State = Counts;

    fn work(&self, portion: &[String]) -> Counts {
        let mut counts = Counts::default();
        for text in portion {
            if let Ok(object) = Object::parse(text) {
                counts.conversation(&object, self.dialect, &self.counter);
            }
        }
        counts
    }

    fn absorb(&self, counts: &mut Counts, _: &[String], done: Counts) {
        counts.merge(&done);
    }
}

#[cfg(test)]
mod of_session_tests {
    use crate::message_counter::MessageCounter;
    use ctx_format::Options;
    use ctx_tokens::Encoding;

    use super::OfSession;
    use crate::count::{CountPass, Plan};
    use crate::{Invalid, Result, Session};

    fn told(text: &str, of_session: bool) -> OfSession {
        let reader = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
        let session = Session::open(reader, &Options::default(), Invalid::Keep);
        let mut session = session.expect("from memory");
        let plan = Plan {
            counter: MessageCounter::new(Encoding::Chars4),
            batch: false,
            threads: 1,
            reach: false,
            of_session,
        };
        let mut pass = CountPass::new(&plan, session.dialect());
        let done = session.each(|record| -> Result<()> {
            pass.push(record);
            Ok(())
        });
        done.expect("from memory");
        pass.finish(&session.bad).of_session
    }

    /// Only the current path counts, because the abandoned branch belonged to another request.
    #[test]
    fn an_agents_own_file_tells_its_model() {
        let line = |id: u32, parent: &str, rest: &str| {
            format!(
                "{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"timestamp\":\"2030-01-01T00:00:0{id}.000Z\",{rest}}}\n"
            )
        };
        let reply = |model: &str, tokens: u32| {
            format!(
                "\"type\":\"assistant\",\"message\":{{\"role\":\"assistant\",\"model\":\"{model}\",\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":3}},\"content\":[{{\"type\":\"text\",\"text\":\"yes\"}}]}}"
            )
        };
        let ask = "\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\"}";
        let text = [
            line(1, "null", ask),
            line(2, "\"1\"", &reply("left", 900)),
            line(3, "\"1\"", &reply("m-1", 40)),
            line(4, "\"3\"", &reply("m-2", 50)),
        ]
        .concat();
        let found = told(&text, true);
        assert_eq!((found.model.as_deref(), found.window), (Some("m-2"), Some(200_000)));
        let estimate = found.estimate.expect("usage is recorded");
        // With the usage recorded on the abandoned branch, the result would be 900.
        assert!((50..200).contains(&estimate.tokens), "{estimate:?}");
        assert_eq!(told(&text, false), OfSession::default());
    }
}
