//! The content of a session, in a file that can be read any number of times.

use std::fs::File;
use std::io::{self, BufWriter, Cursor, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ctx_format::{
    Class, Dialect, FixedFile, Frame, Options, Record, Records, Watch, dialect, dialect_of_lines,
};
use ctx_policy::SignedReasoning;
use ctx_policy::trigger::Size;

use super::options::Plan;
use crate::bound_reasoning::BoundReasoning;
use crate::error::rewritable;
use crate::message_counter::{MessageCounter, add_to_size};
use crate::session::FirstUnread;
use crate::{ErrorKind, Invalid, Notes, PassError, Result, Session, Time};

/// A session in a file, with its format.
pub struct Content {
    pub(super) file: FixedFile,
    /// The dialect of the session and of its new content.
    pub dialect: &'static dyn Dialect,
    /// Whether the dialect was detected rather than named by the user.
    pub(super) is_detected: bool,
    pub(super) invalid: Invalid,
    /// The model that will continue the session, if the user or the document names one.
    pub model: Option<Arc<str>>,
    /// Whether the session is one JSON document whose messages are the records.
    pub is_document: bool,
    /// The time at which the file was last changed, if it is known.
    pub last_change: Option<Time>,
    /// For a session lowered from a log, each record's line in the log.
    pub(super) lines: Option<Arc<[u64]>>,
    /// For a session lowered from a log, the log's messages in the context.
    pub(super) messages: Option<Arc<[LogMessage]>>,
    /// For a session lowered from a log, the size of the context as the log's records are counted.
    pub(super) counted: Option<Box<Size>>,
    /// For a session lowered from a log, the first message in the log that we do not understand.
    pub(super) unread: FirstUnread,
    /// Receives progress updates while the session is read.
    pub(super) watch: Watch,
}

/// A message of a log, or a later part of one.
pub(super) struct LogMessage {
    pub(super) line: u64,
    pub(super) begins: bool,
    /// The index of the lowered record that contains the message.
    pub(super) record: usize,
}

impl Content {
    /// Opens a session file.
    pub fn open(
        file: impl Into<FixedFile>,
        dialect: Option<&'static dyn Dialect>,
        invalid: Invalid,
        watch: Watch,
    ) -> Result<Self> {
        let file = file.into();
        let options = Options { dialect, unseen: true, ..Options::default() };
        let reader = file.reader().map_err(ErrorKind::Read)?;
        let session = Session::open(Box::new(reader), &options, invalid)?;
        session.refuse_foreign()?;
        let is_document = session.is_document();
        let mut known = session.dialect();
        if known.is_some_and(|known| !known.is_certain()) && !is_document {
            // The whole file can be read, so the first exchange determines the dialect, wherever it
            // is in the file.
            known = file.reader().and_then(dialect_of_lines).map_err(ErrorKind::Read)?;
        }
        let is_empty = file.file.metadata().is_ok_and(|meta| meta.len() == 0);
        if known.is_none() && is_empty {
            known = dialect::by_name("chat");
        }
        Ok(Self {
            dialect: compactable(known)?,
            is_detected: dialect.is_none(),
            is_document,
            invalid,
            model: session.records.model,
            last_change: None,
            lines: None,
            messages: None,
            counted: None,
            unread: FirstUnread::default(),
            watch,
            file,
        })
    }

    /// Copies a stream to a temporary file and opens it.
    pub fn of_stream(
        input: &mut dyn Read,
        dialect: Option<&'static dyn Dialect>,
        invalid: Invalid,
    ) -> Result<Self> {
        let mut buffer = vec![0; BUFFER];
        let file = temporary(|output| {
            loop {
                let count = match input.read(&mut buffer) {
                    Ok(0) => return Ok(()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    count => count.map_err(ErrorKind::Read)?,
                };
                output.write_all(&buffer[..count]).map_err(PassError::temporary)?;
            }
        })?;
        Self::open(file, dialect, invalid, Watch::default())
    }

    /// Returns the number of tokens in the messages that contain a summary.
    pub(super) fn summary_tokens(&self, plan: &Plan<'_>) -> Result<u64> {
        let mut tokens = 0;
        self.each(|record| {
            let summary =
                record.whole_object().filter(|it| self.dialect.summary_text(it).is_some());
            if let Some(message) = summary.and_then(|it| self.dialect.message(it)) {
                tokens += plan.environment.counter.message(&message).total();
            }
            Ok(())
        })?;
        Ok(tokens)
    }

    /// Returns a session in the same dialect whose bytes are in `file`.
    #[must_use]
    pub fn with(&self, file: File) -> Self {
        Self {
            file: file.into(),
            is_document: false,
            lines: None,
            messages: None,
            counted: None,
            model: self.model.clone(),
            unread: FirstUnread::default(),
            watch: self.watch.clone(),
            ..*self
        }
    }

    /// Returns a copy of the session in which each record is replaced with the bytes that `change`
    /// returns. Records for which `change` returns `None` stay unchanged, except for signed
    /// reasoning after a changed record.
    pub fn changed(
        &self,
        action: SignedReasoning,
        notes: &mut Notes,
        mut change: impl FnMut(&Record<'_>) -> Result<Option<Vec<u8>>>,
    ) -> Result<Self> {
        let mut bound = BoundReasoning::new(action);
        let file = temporary(|output| {
            self.each(|record| {
                let new = change(record)?;
                let changes = new.is_some();
                let new = bound.write(record, new, self.dialect, changes);
                let bytes = new.as_deref().unwrap_or(record.bytes);
                output.write_all(bytes).map_err(PassError::temporary)
            })
        })?;
        bound.finish(notes)?;
        Ok(self.with(file))
    }

    /// Returns true if the last line ends with a newline.
    pub(super) fn ends_line(&self) -> Result<bool> {
        let length = self.length()?;
        let mut last = *b"\n";
        if length > 0 {
            self.file.file.read_exact_at(&mut last, length - 1).map_err(ErrorKind::Read)?;
        }
        Ok(last == *b"\n")
    }

    /// Returns the session without its last line if that line is incomplete. After a line ending,
    /// some agents would no longer skip it.
    pub(super) fn without_torn_line(&self) -> Result<Option<Self>> {
        if self.ends_line()? {
            return Ok(None);
        }
        let length = self.length()?;
        let (mut size, mut tail) = (0, Vec::new());
        while size < length && !tail.contains(&b'\n') {
            size = (2 * size).max(1 << 16).min(length);
            tail.resize(usize::try_from(size).unwrap_or_default(), 0);
            let read = self.file.file.read_exact_at(&mut tail, length - size);
            read.map_err(ErrorKind::Read)?;
        }
        let line = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let options = Options { dialect: Some(self.dialect), raw: true, ..Options::default() };
        let last = Records::open(&tail[line..], &options);
        let mut last = last.map_err(ErrorKind::Read)?;
        if last.next().map_err(ErrorKind::Read)?.is_none_or(|it| it.class != Class::Tail) {
            return Ok(None);
        }
        let mut whole = self.file()?.take(length - size + line as u64);
        let file = temporary(|output| {
            io::copy(&mut whole, output).map(|_| ()).map_err(PassError::temporary)
        })?;
        Ok(Some(self.with(file)))
    }

    /// Returns the length of the session in bytes.
    pub fn length(&self) -> Result<u64> {
        let meta = self.file.file.metadata().map_err(ErrorKind::Read)?;
        Ok(meta.len())
    }

    /// Returns a new file descriptor for the session, positioned at the start.
    pub fn file(&self) -> Result<File> {
        let mut file = self.file.file.try_clone().map_err(ErrorKind::Read)?;
        file.rewind().map_err(ErrorKind::Read)?;
        Ok(file)
    }

    /// Passes each record to `handle`.
    pub fn each(&self, handle: impl FnMut(&Record<'_>) -> Result<()>) -> Result<()> {
        self.session()?.each(handle)
    }

    /// Counts the tokens and messages of the session.
    pub(super) fn size(&self, counter: &MessageCounter) -> Result<Size> {
        let mut size = Size::default();
        self.each(|record| {
            let dialect = Some(self.dialect);
            if let Some((outline, message)) = record.outline(dialect).zip(record.message(dialect)) {
                add_to_size(&mut size, &outline, &message, counter);
            }
            Ok(())
        })?;
        Ok(size)
    }

    /// Returns this document with its messages replaced by the records in `new`.
    pub(super) fn document_with(&self, new: &Self) -> Result<Self> {
        self.framed(Frame::of_document(self.bytes()?), &new.bytes()?)
    }

    /// Returns this document with `lines` as further messages.
    pub(super) fn document_with_lines(&self, lines: &[u8]) -> Result<Self> {
        let frame = Frame::of_document(self.bytes()?);
        let own = frame.as_ref().map(Frame::lines).unwrap_or_default();
        self.framed(frame, &[&own, lines].concat())
    }

    fn framed(&self, frame: Option<Frame>, lines: &[u8]) -> Result<Self> {
        let document = frame.map(|frame| frame.with(lines)).unwrap_or_default();
        let written = Frame::of_document(document.clone()).map(|written| written.lines());
        if written.is_none_or(|written| written != lines) {
            return Err(ErrorKind::OtherContext.into());
        }
        let file = temporary(|output| output.write_all(&document).map_err(PassError::temporary))?;
        Ok(Self { is_document: true, ..self.with(file) })
    }

    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file()?.read_to_end(&mut bytes).map_err(ErrorKind::Read)?;
        Ok(bytes)
    }

    /// Opens the content for reading from the beginning.
    pub(super) fn session(&self) -> Result<Session> {
        let mut session = self.session_with(b"")?;
        session.lines.clone_from(&self.lines);
        Ok(session)
    }

    /// Opens the content for reading from the beginning, with the bytes `behind` appended. The file
    /// is opened twice, so that the records of a log need not be held in memory.
    pub(super) fn session_with(&self, behind: &[u8]) -> Result<Session> {
        let options = Options { dialect: Some(self.dialect), ..Options::default() };
        let length = self.length()?;
        let reader = || -> Result<Box<dyn Read + Send>> {
            // Both readers must see the same bytes, even if an agent appends to the file in the
            // meantime.
            let file = self.file.reader().map_err(ErrorKind::Read)?.take(length);
            Ok(Box::new(file.chain(Cursor::new(behind.to_vec()))))
        };
        let first = Box::new(self.watch.over(reader()?, length));
        let mut session = Session::open_twice(first, Some(reader()?), &options, self.invalid)?;
        session.refuses_strangers = self.is_detected;
        session.records.model.clone_from(&self.model);
        Ok(session)
    }

    /// Opens the content for reading from the beginning as plain lines, without determining which
    /// of them are in the context.
    pub(super) fn lines(&self) -> Result<Session> {
        if self.is_document {
            return self.session();
        }
        let options = Options { dialect: Some(self.dialect), raw: true, ..Options::default() };
        let reader = self.file.reader().map_err(ErrorKind::Read)?;
        Session::open(Box::new(reader), &options, self.invalid)
    }
}

/// Returns the dialect, or an error if sessions in that dialect cannot be compacted.
fn compactable(dialect: Option<&'static dyn Dialect>) -> Result<&'static dyn Dialect> {
    match dialect {
        Some(log) if log.is_linked() => Ok(log),
        plain => rewritable(plain, "compacted"),
    }
}

/// The size of the write buffer for a temporary file, in bytes.
const BUFFER: usize = 256 << 10;

/// Creates an unnamed temporary file with the bytes that `write` writes.
pub fn temporary(write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<File> {
    let file = tempfile::tempfile().map_err(PassError::temporary)?;
    let mut output = BufWriter::with_capacity(BUFFER, &file);
    write(&mut output)?;
    output.flush().map_err(PassError::temporary)?;
    drop(output);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ctx_format::Watch;

    use super::super::tests::{content, session, text};
    use super::{Content, temporary};
    use crate::{ErrorKind, Invalid, Result};

    fn open(bytes: &str, invalid: Invalid) -> Result<Content> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes.as_bytes()).expect("written");
        Content::open(file, None, invalid, Watch::default())
    }

    fn lines(content: &Content) -> Vec<u64> {
        let mut lines = Vec::new();
        let read = content.each(|record| {
            lines.push(record.line);
            Ok(())
        });
        read.expect("from a file");
        lines
    }

    #[test]
    fn only_an_empty_session_needs_no_known_format() {
        assert_eq!(open("", Invalid::Keep).expect("empty").dialect.name(), "chat");
        let unknown = open("{\"what\":1}\n", Invalid::Keep);
        let error = unknown.err().expect("the format is not known");
        assert!(matches!(error.kind, ErrorKind::UnknownFormat));
    }

    #[test]
    fn a_document_is_known_as_one_and_what_is_made_of_it_is_none() {
        let document = content("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
        assert!(document.is_document);
        assert_eq!(lines(&document).len(), 1);
        let file = document.file().expect("a handle");
        assert!(!document.with(file).is_document);
    }

    #[test]
    fn the_first_exchange_decides_however_late_it_comes() {
        let block =
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}"#;
        let text = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", "word ".repeat(60_000));
        let late = open(&(text.repeat(70) + block), Invalid::Keep).expect("known");
        assert_eq!(late.dialect.name(), "anthropic");
        assert_eq!(lines(&late).len(), 71);
    }

    #[test]
    fn readers_do_not_disturb_each_other() {
        let content = content(&session(2, 3));
        let mut seen = 0;
        let outer = content.each(|_| {
            seen += 1;
            assert_eq!(lines(&content).len(), 9);
            Ok(())
        });
        outer.expect("from a file");
        assert_eq!(seen, 9);
        assert_eq!(text(&content), session(2, 3));
        assert_eq!(content.length().expect("a file"), session(2, 3).len() as u64);
    }

    #[test]
    fn bad_lines_are_read_as_the_user_wants_them() {
        let bytes = session(1, 3) + "broken\n";
        assert_eq!(lines(&open(&bytes, Invalid::Keep).expect("known")).len(), 6);
        let dropped = open(&bytes, Invalid::Drop).expect("known");
        assert_eq!(lines(&dropped).len(), 5);
        let same = dropped.with(dropped.file().expect("a handle"));
        assert_eq!(lines(&same).len(), 5);
        let fails = open(&bytes, Invalid::Fail).expect("known").each(|_| Ok(()));
        assert_eq!(fails.expect_err("a bad line").lines, [6]);
    }

    #[test]
    fn what_fails_while_it_is_written_leaves_no_file() {
        let failed = temporary(|_| Err(ErrorKind::NoZones.into()));
        assert!(matches!(failed.err().map(|error| error.kind), Some(ErrorKind::NoZones)));
    }
}
