//! Reads the records of a session file: splits documents into records, detects the dialect, and
//! finds the context.

pub(crate) mod document;
pub(crate) mod reread;

use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with::skip_serializing_none;

use self::document::{Document, Frame};
use self::reread::{Again, SecondReading, Source};
use crate::compaction::LineText;
use crate::convert::Loss;
use crate::dialect::{Detector, Dialect, foreign};
use crate::record::json::one_line;
use crate::record::lines::Lines;
use crate::{Flaw, Foreign, MAX_LINE, Origin, Record, Spool, json};

/// How to read a session.
#[derive(Clone, Default)]
pub struct Options {
    /// The dialect, if it is already known.
    pub dialect: Option<&'static dyn Dialect>,
    /// Whether each line is a conversation, so that the input cannot be a document.
    pub batch: bool,
    /// Whether to only read lines, without recognizing documents or detecting the dialect.
    pub raw: bool,
    /// Whether to return the records of a log immediately, without their presence. The caller must
    /// determine the presence by passing the records to the dialect's view.
    pub unseen: bool,
    /// The folder for a temporary file, which is used if waiting records exceed the memory limit.
    /// Records wait while the session is read to find its dialect or its context. Without a folder,
    /// all waiting records are held in memory, and only the first megabytes are examined to detect
    /// the dialect.
    pub temp: Option<PathBuf>,
}

/// Reads records, and lends each record to the caller until the next one is read.
pub struct Records<R> {
    lines: Lines<Again<R>>,
    /// The document from which the records in `lines` come, if the input is a document.
    document: Option<Document>,
    dialect: Option<&'static dyn Dialect>,
    /// The format of an input that cannot be read. Such an input is compressed, is not encoded in
    /// UTF-8, or is in another format than those that we read or than the caller named.
    pub foreign: Option<Foreign>,
    /// Whether the input is a JSON value that spans several lines but is not a session, so that its
    /// lines cannot be read one by one.
    pub is_other_document: bool,
    /// The model that will continue the session, if the caller or the document names one.
    pub model: Option<Arc<str>>,
    /// The second reading of the session, if the session is an agent's log.
    second: Option<SecondReading>,
}

/// The number of records to examine for messages. If none of the records examined is a message, the
/// format is unknown.
const DETECT_IN: usize = 64;

/// The number of bytes per read when a source is read again.
const READ_AHEAD: usize = 256 << 10;

/// The maximum number of bytes to examine if there is no folder for a temporary file.
const LOOK_AT: usize = 16 << 20;

impl<R: Read> Records<R> {
    /// Opens a session and reads it until its dialect is known. The beginning of the session is
    /// usually enough, but an agent's log, or a session with nothing but plain text, is read to the
    /// end.
    pub fn open(source: R, options: &Options) -> io::Result<Self> {
        Self::open_twice(source, None, options)
    }

    /// Like [`Self::open`], but with a second reader, `again`, which returns the same bytes.
    /// Because a log can be read again, its records need not be stored until the context is known.
    pub fn open_twice(
        source: R,
        again: Option<Box<dyn Read + Send>>,
        options: &Options,
    ) -> io::Result<Self> {
        let mut lines = Lines::new(Again::new(source));
        let unreadable = unreadable(&mut lines, options.batch)?;
        let is_one_session = !options.raw && !options.batch;
        let document = if is_one_session { unwrap_document(&mut lines)? } else { None };
        let mut dialect = options.dialect;
        let mut detector = Detector::default();
        if dialect.is_none() && !options.raw {
            detector = detect(&mut lines, options)?;
            dialect = detector.decide();
        }
        let is_detected = dialect.is_some() && options.dialect.is_none();
        let is_known = options.raw && !options.batch || is_detected;
        let mut records = Self {
            foreign: unreadable,
            is_other_document: false,
            model: None,
            lines,
            document,
            dialect,
            second: None,
        };
        records.model = records.document_text("model").map(Into::into);
        if !is_known {
            let ahead = records.lines.ahead();
            let of_file = || Foreign::of_file(ahead, options);
            records.foreign = unreadable.or(detector.foreign()).or_else(of_file);
            records.is_other_document = records.document.is_none() && foreign::is_document(ahead);
        }
        // In a batch, each line holds a plain list of messages, even if an agent wrote the
        // messages.
        let is_seen = is_one_session && !options.unseen;
        let log = dialect.filter(|_| is_seen).and_then(Dialect::log);
        if let Some(log) = log {
            let mut view = log.view_builder();
            // The records of a document do not have the same bytes as the source, so they have to
            // be stored.
            let again = again.filter(|_| records.document.is_none());
            let mut second = SecondReading::new(match again {
                Some(source) => Source::Reader(BufReader::with_capacity(READ_AHEAD, source)),
                None => Source::Spool(options.spool()),
            });
            if let Some(document) = &records.document {
                view.begin_document(&document.beside);
            }
            while let Some(record) = records.next()? {
                second.push(&record, view.as_mut())?;
            }
            records.second = Some(second.finish(view.as_ref(), log));
        }
        Ok(records)
    }

    /// The dialect of the session; `None` if its format is unknown.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.dialect
    }

    /// The names of the members that the document has besides `messages`; those members are not in
    /// any record. `None` if the input is not a document.
    pub fn document_members_beside(&self) -> Option<Vec<&str>> {
        let beside = self.document.as_ref()?.beside.iter();
        Some(beside.map(|(key, _)| key.as_str()).collect())
    }

    /// The text in a member that the document has besides `messages`.
    pub fn document_text(&self, key: &str) -> Option<String> {
        let mut beside = self.document.as_ref()?.beside.iter();
        let (_, raw) = beside.find(|(name, _)| name == key)?;
        json::text(raw).map(Into::into)
    }

    /// Takes the document whose list of messages the records are, if the agent's own sessions are
    /// documents.
    pub fn take_frame(&mut self) -> Option<Frame> {
        self.document.as_mut()?.frame.take()
    }

    /// Takes the members that a document has besides `messages`: the record that comes before the
    /// messages, and the loss of the other members. The record is the header of a Gemini CLI
    /// document, or the system prompt of a request.
    pub fn take_beside(&mut self) -> (Option<String>, Option<Loss>) {
        if self.dialect.is_some_and(|it| it.format().is_document) {
            return (None, None);
        }
        let is_log = self.document_text("projectHash").is_some();
        let beside = self.document.as_mut().map(|it| std::mem::take(&mut it.beside));
        let beside = beside.unwrap_or_default();
        if is_log {
            let member =
                |line: LineText, (key, raw): &(String, String)| line.json(key, &one_line(raw));
            return (Some(beside.iter().fold(LineText::default(), member).end()), None);
        }
        let is_system = |(key, raw): &(String, String)| {
            key == "system" && raw.starts_with(['"', '[']) && raw != "\"\""
        };
        let (system, others): (Vec<_>, Vec<_>) = beside.into_iter().partition(is_system);
        let message = |raw: &str| format!(r#"{{"role":"system","content":{}}}"#, one_line(raw));
        let paths: Vec<String> = others.into_iter().map(|(key, _)| key).collect();
        (system.first().map(|(_, raw)| message(raw)), Loss::of_members(paths))
    }

    /// The problems that the agent has when it loads the log, each with its line number.
    pub fn flaws(&self) -> &[(u64, Flaw)] {
        self.second.as_ref().map_or(&[], |second| &second.flaws)
    }

    /// Returns the next record, or the next piece of a line that is too long.
    #[allow(clippy::should_implement_trait)] // An `Iterator` cannot lend its items.
    pub fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        if let Some(second) = &mut self.second {
            return second.next();
        }
        let Some(mut record) = self.lines.next()? else { return Ok(None) };
        if let Some(document) = &mut self.document {
            document.locate(&mut record);
        }
        record.model.clone_from(&self.model);
        Ok(Some(record))
    }
}

impl Options {
    fn spool(&self) -> Spool {
        self.temp.as_ref().map_or_else(|| Spool::with_limit("", usize::MAX), Spool::new)
    }
}

/// Replaces the lines of a document with records. The whole document is read into memory, unless it
/// exceeds the maximum length of a line.
fn unwrap_document<R: Read>(lines: &mut Lines<R>) -> io::Result<Option<Document>> {
    // The first line has been read, and shows whether the input may be a document.
    if !Document::may_begin(lines.ahead()) {
        return Ok(None);
    }
    while lines.read_ahead()? {}
    if lines.ahead().len() >= MAX_LINE {
        return Ok(None);
    }
    let mut document = Document::parse(lines.ahead());
    if let Some(document) = &mut document {
        lines.replace_ahead(std::mem::take(&mut document.text));
    }
    Ok(document)
}

/// Returns the format of an input without readable lines; `None` if the lines can be read.
fn unreadable<R: Read>(lines: &mut Lines<R>, batch: bool) -> io::Result<Option<Foreign>> {
    let has_line = |ahead: &[u8]| memchr::memchr(b'\n', ahead.trim_ascii_start()).is_some();
    while !has_line(lines.ahead()) && lines.read_ahead()? {}
    let mut first = lines.ahead().trim_ascii_start().split(|b| *b == b'\n');
    let mut line = || serde_json::from_slice::<&RawValue>(first.next().unwrap_or_default());
    if batch && line().is_err_and(|error| error.is_eof()) {
        while lines.read_ahead()? {}
        return Ok(Foreign::indented(lines.ahead()));
    }
    Ok(Foreign::encoded(lines.ahead()))
}

/// Examines the lines read so far, and reads more until the dialect is certain. Gives up if none of
/// the first records is a message.
fn detect<R: Read>(lines: &mut Lines<Again<R>>, options: &Options) -> io::Result<Detector> {
    let mut detector = Detector::default();
    let mut at = 0;
    for _ in 0..DETECT_IN {
        let Some(line) = lines.peek(at)? else { return Ok(detector) };
        at += line.len() + 1;
        if look_at(&mut detector, &Origin::ALONE.record(line), options.batch) {
            return Ok(detector);
        }
    }
    if detector.is_open() {
        let most = options.temp.as_ref().map_or(LOOK_AT, |_| usize::MAX);
        let (ahead, source) = lines.ahead_and_source();
        let source = ahead.chain(source.look(options.spool(), most));
        look_on(&mut detector, source, options.batch)?;
    }
    Ok(detector)
}

/// Detects the dialect of a session by reading lines until the dialect is certain. The caller must
/// be able to read the session again, because `source` is consumed.
pub fn dialect_of_lines(source: impl Read) -> io::Result<Option<&'static dyn Dialect>> {
    let mut detector = Detector::default();
    look_on(&mut detector, source, false)?;
    Ok(detector.decide())
}

fn look_on(detector: &mut Detector, source: impl Read, batch: bool) -> io::Result<()> {
    let mut lines = Lines::new(source);
    while let Some(record) = lines.next()? {
        if look_at(detector, &record, batch) {
            break;
        }
    }
    Ok(())
}

/// Examines a record. Returns true once the dialect is certain.
fn look_at(detector: &mut Detector, record: &Record<'_>, batch: bool) -> bool {
    let Some(object) = record.object() else { return false };
    if !batch {
        return detector.look_at(object);
    }
    let mut messages = object.conversation().into_iter().flatten();
    messages.any(|message| detector.look_at(&message))
}

/// Counts of the messages and bad lines in a session.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The name of the session's dialect, if it is known.
    pub dialect: Option<String>,
    /// The number of messages; 0 if the dialect is unknown.
    pub messages: u64,
    /// The number of bad lines. A line is bad unless it is an object, is blank, or is still being
    /// written.
    pub bad_lines: u64,
    /// The first 100 bad lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<BadLine>,
}

/// A bad line, described without quoting it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadLine {
    /// The line number, starting at 1.
    pub line: u64,
    /// The offset of the first byte of the line in the session.
    pub offset: u64,
    /// The name of the line's class, such as `broken` or `nul`.
    pub class: String,
}

/// The maximum number of bad lines that are listed individually. Bad lines beyond this number are
/// only counted.
const NAMED: usize = 100;

impl Tally {
    /// Creates an empty tally for a session in `dialect`.
    pub fn of(dialect: Option<&dyn Dialect>) -> Self {
        Self { dialect: dialect.map(|dialect| dialect.name().to_owned()), ..Self::default() }
    }

    /// Counts the next record in the session.
    pub fn add(&mut self, record: &Record<'_>, dialect: Option<&dyn Dialect>) {
        if !record.class.is_bad() {
            let begins = dialect.is_some_and(|dialect| record.begins_message(dialect));
            self.messages += u64::from(begins);
        } else if record.piece.begins() {
            self.bad_lines += 1;
            if self.bad.len() < NAMED {
                self.bad.push(BadLine {
                    line: record.line,
                    offset: record.offset,
                    class: <&str>::from(record.class).to_owned(),
                });
            }
        }
    }
}

/// Receives progress reports about a run. The methods are called often and from any thread, so they
/// must be fast.
pub trait Observer: Send + Sync {
    /// Reports that the next stage of the work begins. `what` is the name of the stage.
    fn stage(&self, what: &str);
    /// Announces that an input of `bytes` bytes will be read from its start, possibly for the
    /// second time.
    fn reading(&self, bytes: u64);
    /// Reports that `bytes` more of the announced bytes have been read.
    fn read(&self, bytes: u64);
}

/// An optional observer of a run.
#[derive(Clone, derive_more::Debug, Default)]
pub struct Watch(#[debug(skip)] Option<Arc<dyn Observer>>);

impl Watch {
    /// Creates a watch that notifies `observer`.
    pub fn of(observer: Arc<dyn Observer>) -> Self {
        Self(Some(observer))
    }

    /// Reports that the next stage of the work begins.
    pub fn stage(&self, what: &str) {
        self.asking(|| what.to_owned());
    }

    /// Reports that a request is being sent to a model, which is a stage of its own. `what` is
    /// called only if there is an observer.
    pub fn asking(&self, what: impl FnOnce() -> String) {
        if let Some(observer) = &self.0 {
            observer.stage(&what());
        }
    }

    /// Wraps a reader of `bytes` bytes so that its progress is reported.
    pub fn over<R: Read>(&self, reader: R, bytes: u64) -> Watched<R> {
        if let Some(observer) = &self.0 {
            observer.reading(bytes);
        }
        Watched { reader, watch: self.clone() }
    }
}

/// A reader that reports to an observer how many bytes were read.
pub struct Watched<R> {
    reader: R,
    watch: Watch,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if let Some(observer) = &self.watch.0 {
            observer.read(count as u64);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Records};
    use crate::dialect;

    fn read(input: &str, options: &Options) -> (Option<&'static str>, Vec<String>) {
        let mut records = Records::open(input.as_bytes(), options).expect("from memory");
        let name = records.dialect().map(dialect::Dialect::name);
        let mut seen = Vec::new();
        while let Some(record) = records.next().expect("from memory") {
            seen.push(String::from_utf8_lossy(record.bytes).into_owned());
        }
        (name, seen)
    }

    const CHAT: &str = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"\"}";

    #[test]
    fn lines_come_as_they_are() {
        let (name, seen) = read(CHAT, &Options::default());
        assert_eq!(name, Some("chat"));
        assert_eq!(seen.concat(), CHAT);
    }

    #[test]
    fn documents_are_unwrapped_unless_raw() {
        let document = "[\n {\"role\":\"user\",\n  \"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]}\n]";
        let (name, seen) = read(document, &Options::default());
        assert_eq!(name, Some("anthropic"));
        assert_eq!(seen.len(), 1);
        let (name, seen) = read(document, &Options { raw: true, ..Options::default() });
        assert_eq!((name, seen.concat().as_str()), (None, document));
    }

    #[test]
    fn one_line_of_messages_is_a_document_and_two_are_lines() {
        let line = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]}\n";
        assert_eq!(read(line, &Options::default()).1.len(), 2);
        let two = line.repeat(2);
        let (name, seen) = read(&two, &Options::default());
        assert_eq!((name, seen.len()), (None, 2));
        let (name, seen) = read(&two, &Options { batch: true, ..Options::default() });
        assert_eq!((name, seen.len()), (Some("chat"), 2));
    }

    #[test]
    fn bad_lines_before_the_first_message_do_not_hide_the_dialect() {
        let input = format!("\n{{broken\n\0\0\n{CHAT}");
        let (name, seen) = read(&input, &Options::default());
        assert_eq!(name, Some("chat"));
        assert_eq!(seen.concat(), input);
    }

    #[test]
    fn a_log_that_is_read_twice_is_the_one_that_waited() {
        let node = |id: &str, parent: &str, text: &str| {
            format!(
                "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
            )
        };
        let log = node("1", "null", "a")
            + "broken\n\n"
            + &node("2", "\"1\"", "left")
            + &node("3", "\"1\"", "b").replace('\n', "\r\n")
            + "{\"half";
        let source = || Box::new(std::io::Cursor::new(log.clone().into_bytes()));
        let seen = |mut records: Records<_>| {
            let mut seen = Vec::new();
            while let Some(record) = records.next().expect("from memory") {
                seen.push((record.bytes.to_vec(), record.class, record.presence));
            }
            seen
        };
        let options = Options::default();
        let waited = seen(Records::open(source(), &options).expect("from memory"));
        let twice = Records::open_twice(source(), Some(source()), &options).expect("from memory");
        assert_eq!(waited.len(), 6);
        assert_eq!(seen(twice), waited);

        let shorter = Box::new(std::io::Cursor::new(log.as_bytes()[..log.len() - 9].to_vec()));
        let mut records =
            Records::open_twice(source(), Some(shorter), &options).expect("from memory");
        let error = loop {
            match records.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("nothing was missing"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), "the session shrank while it was being read");
    }

    #[test]
    fn a_document_is_not_read_again() {
        let document = "{\"sessionId\":\"s\",\"projectHash\":\"h\",\"messages\":[{\"id\":\"1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"gemini\",\"content\":\"a\"}]}";
        let again = Box::new(std::io::empty());
        let records = Records::open_twice(document.as_bytes(), Some(again), &Options::default());
        let mut records = records.expect("from memory");
        assert_eq!(records.dialect().map(dialect::Dialect::name), Some("gemini"));
        let record = records.next().expect("it waited").expect("a message");
        assert!(record.presence.is_some());
    }

    /// A block that only one format has reveals the dialect, no matter how late in the session it
    /// occurs.
    #[test]
    fn a_late_block_decides_and_no_byte_is_lost() {
        let plain = "{\"role\":\"user\",\"content\":\"a\"}\n";
        let late = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}]}\n";
        let with_file = Options { temp: Some(std::env::temp_dir()), ..Options::default() };
        for before in [0, 1, 63, 64, 65, 66, 200, 20_000] {
            let input = plain.repeat(before) + late + plain;
            for options in [&Options::default(), &with_file] {
                let (name, seen) = read(&input, options);
                assert_eq!(name, Some("anthropic"), "{before}");
                assert!(seen.concat() == input, "{before}");
            }
            let found = super::dialect_of_lines(input.as_bytes()).expect("from memory");
            assert_eq!(found.map(dialect::Dialect::name), Some("anthropic"));
        }
        let input = plain.repeat(200);
        let records = Records::open(input.as_bytes(), &with_file).expect("from memory");
        assert!(!records.dialect().expect("messages").is_certain());
    }

    #[test]
    fn an_input_without_readable_lines_is_known_by_name() {
        let unreadable = |input: &[u8], batch: bool| {
            let options = Options { batch, ..Options::default() };
            let records = Records::open(input, &options).expect("from memory");
            records.foreign.map(|foreign| foreign.name)
        };
        for (input, name) in [
            (&b"\x1f\x8b\x08\0\n"[..], "a gzip file"),
            (b"\x28\xb5\x2f\xfd\x04", "a zstd file"),
            (b"\xfd7zXZ\0\0", "an xz file"),
            (b"\xff\xfe{\0}\0\n\0", "UTF-16 text"),
            (b"\xfe\xff\0{\0}\0\n", "UTF-16 text"),
        ] {
            assert_eq!(unreadable(input, false), Some(name));
            assert_eq!(unreadable(input, true), Some(name));
        }
        let indented = "{\n  \"messages\": [\n    {\"role\":\"user\",\"content\":\"a\"}\n  ]\n}\n";
        let name = "JSON that spans several lines";
        for input in [indented.to_owned(), indented.repeat(2)] {
            assert_eq!(unreadable(input.as_bytes(), true), Some(name));
            assert_eq!(unreadable(input.as_bytes(), false), None);
        }
        // Any line in a batch may be malformed, including the first.
        let line = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
        for batch in ["{\"messages\":[{\n".to_owned() + line, line.to_owned(), String::new()] {
            assert_eq!(unreadable(batch.as_bytes(), true), None);
        }
    }

    #[test]
    fn messages_of_a_format_that_is_not_read_are_not_taken_for_ours() {
        let bedrock = "{\"role\":\"user\",\"content\":[{\"text\":\"go\"}]}\n";
        let text = "{\"role\":\"user\",\"content\":\"a\"}\n";
        let open = |input: &str, options: &Options| {
            let records = Records::open(input.as_bytes(), options).expect("from memory");
            let foreign = records.foreign.map(|foreign| foreign.name);
            (records.dialect().map(dialect::Dialect::name), foreign)
        };
        let options = Options::default();
        let named = Some("a list of messages of the Bedrock Converse API");
        assert_eq!(open(bedrock, &options), (None, named));
        assert_eq!(open(&(text.repeat(9) + bedrock), &options), (None, named));
        let batch = Options { batch: true, ..Options::default() };
        let conversation = format!("{{\"messages\":[{}]}}\n", bedrock.trim_end());
        assert_eq!(open(&conversation, &batch), (None, named));
        // A record in an unsupported format carries less weight than a record that certainly
        // belongs to a dialect, even if the unsupported one comes first.
        let tool = "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"x\"}\n";
        assert_eq!(open(&format!("{bedrock}{tool}"), &options).0, Some("chat"));
        let late = text.repeat(64) + bedrock;
        assert_eq!(open(&late, &options).0, Some("chat"));
    }

    /// A late conversation in a batch can still reveal the dialect.
    #[test]
    fn a_late_conversation_decides() {
        let plain = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
        let late = "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]}]}\n";
        let batch = Options { batch: true, ..Options::default() };
        let input = plain.repeat(100) + late;
        let (name, seen) = read(&input, &batch);
        assert_eq!(name, Some("anthropic"));
        assert_eq!(seen.concat(), input);
    }
}

#[cfg(test)]
mod watch_tests {
    use std::io::Read;
    use std::sync::{Arc, Mutex};

    use super::{Observer, Watch};

    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Told {
        fn add(&self, what: String) {
            self.0.lock().expect("no panic").push(what);
        }
    }

    impl Observer for Told {
        fn stage(&self, what: &str) {
            self.add(what.to_owned());
        }
        fn reading(&self, bytes: u64) {
            self.add(format!("of {bytes}"));
        }
        fn read(&self, bytes: u64) {
            self.add(format!("{bytes}"));
        }
    }

    fn run(watch: &Watch) -> String {
        let mut text = String::new();
        watch.stage("reading");
        let mut reader = watch.over(&b"four"[..], 4);
        reader.read_to_string(&mut text).expect("from memory");
        watch.asking(|| "part 1 of 2".to_owned());
        text
    }

    /// Progress is reported, and the bytes are the same with and without an observer.
    #[test]
    fn what_is_read_is_told() {
        let told = Arc::new(Told::default());
        assert_eq!(run(&Watch::of(told.clone())), "four");
        let told = told.0.lock().expect("no panic").clone();
        assert_eq!(told, ["reading", "of 4", "4", "0", "part 1 of 2"]);
        assert_eq!(run(&Watch::default()), "four");
    }
}
