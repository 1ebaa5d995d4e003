//! Reading a session record by record, with an account of its bad lines.

use std::io::Read;
use std::sync::Arc;

use ctx_format::{Conversation, Dialect, Flaw, Foreign, Options, Record, Records, dialect};

use crate::{BadLines, ErrorKind, Fate, Notes, PassError};

/// What happens to bad lines. An unfinished last line is not a bad line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// They stay in place and are counted.
    #[default]
    Keep,
    /// The first one is an error.
    Fail,
    /// They are removed and counted.
    Drop,
}

/// One opened session.
pub struct Session {
    records: Records<Box<dyn Read + Send>>,
    invalid: Invalid,
    bad: BadLines,
    /// Whether an exchange in another dialect is refused, because the user named none.
    pub(crate) refuses_strangers: bool,
    /// The line of each record in the session that this one was made from.
    pub(crate) lines: Option<Arc<[u64]>>,
    batch: bool,
}

impl Session {
    /// Opens what `reader` gives.
    pub fn open(
        reader: Box<dyn Read + Send>,
        options: &Options,
        invalid: Invalid,
    ) -> Result<Self, PassError> {
        let records = Records::open(reader, options).map_err(ErrorKind::Read)?;
        Ok(Self::of(records, options, invalid))
    }

    /// Like [`Self::open`], but `again` reads the same bytes again, so nothing has to wait.
    pub(crate) fn open_twice(
        reader: Box<dyn Read + Send>,
        again: Box<dyn Read + Send>,
        options: &Options,
        invalid: Invalid,
    ) -> Result<Self, PassError> {
        let records = Records::open_twice(reader, again, options).map_err(ErrorKind::Read)?;
        Ok(Self::of(records, options, invalid))
    }

    fn of(records: Records<Box<dyn Read + Send>>, options: &Options, invalid: Invalid) -> Self {
        Self {
            records,
            invalid,
            bad: BadLines::default(),
            refuses_strangers: options.dialect.is_none() && !options.raw,
            lines: None,
            batch: options.batch,
        }
    }

    /// Its dialect; `None` if the format is unknown.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.records.dialect()
    }

    /// The probable format of an input in no dialect of ours.
    pub fn foreign(&self) -> Option<Foreign> {
        self.records.foreign()
    }

    /// Whether the input is one JSON document and no session.
    pub fn is_other_document(&self) -> bool {
        self.records.is_other_document()
    }

    /// Whether it is one JSON document, whose messages come as records.
    pub fn is_document(&self) -> bool {
        self.records.document_members_beside().is_some()
    }

    /// Hands each record that is not left out to `handle`, to the end of the input. An input of
    /// which no line can be read is refused.
    pub fn each(
        &mut self,
        mut handle: impl FnMut(&Record<'_>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        if let Some(foreign) = self.records.unreadable() {
            let done = "read";
            return Err(ErrorKind::Foreign { foreign, done }.into());
        }
        let known = self.dialect().filter(|_| self.refuses_strangers);
        let mut number = 0;
        while let Some(mut record) = self.records.next().map_err(ErrorKind::Read)? {
            if let Some(line) = self.lines.as_ref().and_then(|lines| lines.get(number)) {
                record.line = *line;
            }
            number += usize::from(record.piece.begins());
            if let Some(known) = known {
                refuse_stranger(known, &record, self.batch)?;
            }
            if record.class.is_bad() {
                match self.invalid {
                    Invalid::Keep => self.bad.add(&record, Fate::Kept),
                    Invalid::Drop => {
                        self.bad.add(&record, Fate::LeftOut);
                        continue;
                    }
                    Invalid::Fail => {
                        return Err(ErrorKind::BadLine(record.why_bad()).at(record.line));
                    }
                }
            }
            handle(&record)?;
        }
        Ok(())
    }

    /// The problems of a log as its agent loads it, by line.
    pub fn flaws(&self) -> &[(u64, Flaw)] {
        self.records.flaws()
    }

    /// The bad lines so far.
    pub fn bad(&self) -> &BadLines {
        &self.bad
    }

    /// Refuses an agent's whole session in one document: its records would come out as lines,
    /// which are no session to the agent any more.
    pub fn refuse_document_of_log(&self, done: &'static str) -> Result<(), PassError> {
        let log = self.dialect().filter(|dialect| dialect.is_log());
        match (log, self.records.document_members_beside()) {
            (Some(dialect), Some(_)) => {
                let dialect = dialect.name();
                Err(ErrorKind::LogDocument { dialect, done }.into())
            }
            _ => Ok(()),
        }
    }

    /// Warns that a document holds more than its messages.
    pub fn tell_of_document(&self, notes: &mut Notes) {
        if let Some(beside @ 1..) = self.records.document_members_beside() {
            notes.warn(
                &[],
                format_args!(
                    "members of the document other than its messages are left out: {beside}"
                ),
            );
        }
    }
}

/// Whoever sees no exchange in a record may part the call from its result.
fn refuse_stranger(known: &dyn Dialect, record: &Record<'_>, batch: bool) -> Result<(), PassError> {
    let Some(object) = record.whole_object() else {
        return Ok(());
    };
    let stranger = if batch {
        let messages = Conversation::of(object).map(|it| it.messages);
        let mut messages = messages.iter().flatten();
        messages.find_map(|message| dialect::stranger(known, message))
    } else {
        dialect::stranger(known, object)
    };
    let Some(stranger) = stranger else {
        return Ok(());
    };
    let found = stranger.name();
    Err(if known.is_certain() {
        let known = known.name();
        ErrorKind::TwoFormats { known, found }.at(record.line)
    } else {
        ErrorKind::LateFormat { found }.at(record.line)
    })
}

#[cfg(test)]
mod tests {
    use ctx_format::Options;

    use super::{Invalid, Session};
    use crate::{ErrorKind, Notes, PassError};

    fn open(input: &str, invalid: Invalid) -> Session {
        let reader = Box::new(std::io::Cursor::new(input.to_owned().into_bytes()));
        Session::open(reader, &Options::default(), invalid).expect("from memory")
    }

    fn lines(session: &mut Session) -> Result<Vec<u64>, PassError> {
        let mut lines = Vec::new();
        session.each(|record| -> Result<(), PassError> {
            lines.push(record.line);
            Ok(())
        })?;
        Ok(lines)
    }

    const USER: &str = "{\"role\":\"user\",\"content\":\"a\"}\n";

    #[test]
    fn bad_lines_are_kept_left_out_or_refused() {
        let input = format!("{USER}broken\n{USER}{{\"half");
        let mut kept = open(&input, Invalid::Keep);
        assert_eq!(lines(&mut kept).expect("read"), [1, 2, 3, 4]);
        assert_eq!((kept.bad().count(), kept.bad().left_out()), (1, 0));
        let mut dropped = open(&input, Invalid::Drop);
        assert_eq!(lines(&mut dropped).expect("read"), [1, 3, 4]);
        assert_eq!(dropped.bad().left_out(), 1);
        let refused = lines(&mut open(&input, Invalid::Fail));
        assert_eq!(refused.expect_err("a bad line").lines, [2]);
        // A line in the writing is not bad.
        let tail = format!("{USER}{{\"half");
        assert_eq!(lines(&mut open(&tail, Invalid::Fail)).expect("read"), [1, 2]);
    }

    const CALL: &str = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}\n";
    const BLOCK: &str = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}]}\n";

    /// An exchange that the session's format does not have is not mistaken for text.
    #[test]
    fn an_exchange_of_another_format_is_refused_unless_the_format_was_named() {
        let input = [USER, CALL, USER, BLOCK].concat();
        let error = lines(&mut open(&input, Invalid::Keep)).expect_err("two formats");
        assert!(matches!(error.kind, ErrorKind::TwoFormats { known: "chat", found: "anthropic" }));
        assert_eq!(error.lines, [4]);
        let options =
            Options { dialect: ctx_format::dialect::by_name("chat"), ..Options::default() };
        let reader = Box::new(std::io::Cursor::new(input.into_bytes()));
        let named = Session::open(reader, &options, Invalid::Keep);
        assert_eq!(lines(&mut named.expect("from memory")).expect("read"), [1, 2, 3, 4]);
    }

    /// An exchange after the look-ahead stops the reading.
    #[test]
    fn an_exchange_later_than_could_be_looked_at_is_refused() {
        let long = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", "word ".repeat(60_000));
        let input = USER.repeat(70) + &long.repeat(60) + BLOCK;
        let error = lines(&mut open(&input, Invalid::Keep)).expect_err("it is late");
        assert!(matches!(error.kind, ErrorKind::LateFormat { found: "anthropic" }));
        assert_eq!(error.lines, [131]);
    }

    #[test]
    fn a_document_tells_what_it_holds_beside_its_messages() {
        let told = |input: &str| {
            let session = open(input, Invalid::Keep);
            let mut notes = Notes::new();
            session.tell_of_document(&mut notes);
            (session.is_document(), notes.take().len())
        };
        let messages = format!("\"messages\":[{}]", USER.trim_end());
        assert_eq!(told(&format!("{{{messages},\n\"model\":\"m\"}}")), (true, 1));
        assert_eq!(told(&format!("{{{messages}\n}}")), (true, 0));
        assert_eq!(told(USER), (false, 0));
    }
}
