//! Reads a session record by record, and keeps track of bad lines and parts that are not
//! understood. Nothing is removed from a session with parts that are not understood, because they
//! may depend on what would be removed.

use std::io::Read;
use std::sync::Arc;

use ctx_format::dialect::Sniff;
use ctx_format::{
    Class, Dialect, Foreign, Options, Record, Records, Unread, UnreadRule, counted, dialect,
};

use crate::{ErrorKind, Notes, Result};

/// The treatment of bad lines. An unfinished last line does not count as a bad line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Invalid {
    /// Keep bad lines in place and count them
    #[default]
    Keep,
    /// Stop at the first bad line
    Fail,
    /// Leave bad lines out and count them
    Drop,
}

/// An open session.
pub struct Session {
    /// The reader of the records, which knows the problems of a log.
    pub records: Records<Box<dyn Read + Send>>,
    invalid: Invalid,
    /// The bad lines so far.
    pub bad: BadLines,
    /// Whether an exchange in another dialect is an error; true if the user did not name a dialect.
    pub(crate) refuses_strangers: bool,
    /// Whether the session may be in an unknown format. Raw lines may, because they are not read as
    /// messages.
    pub accepts_unknown: bool,
    /// For a session made from another session, each record's line in the original.
    pub(crate) lines: Option<Arc<[u64]>>,
    batch: bool,
}

impl Session {
    /// Opens a session that is read from `reader`.
    pub fn open(reader: Box<dyn Read + Send>, options: &Options, invalid: Invalid) -> Result<Self> {
        Self::open_twice(reader, None, options, invalid)
    }

    /// Like [`Self::open`], but with a second reader of the same bytes, so that no record has to be
    /// held in memory.
    pub(crate) fn open_twice(
        reader: Box<dyn Read + Send>,
        again: Option<Box<dyn Read + Send>>,
        options: &Options,
        invalid: Invalid,
    ) -> Result<Self> {
        Ok(Self {
            records: Records::open_twice(reader, again, options).map_err(ErrorKind::Read)?,
            invalid,
            bad: BadLines::default(),
            refuses_strangers: options.dialect.is_none() && !options.raw,
            accepts_unknown: options.raw,
            lines: None,
            batch: options.batch,
        })
    }

    /// Returns the dialect, or `None` if the format is unknown.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.records.dialect()
    }

    /// Returns true if the input is one JSON document whose messages are its records.
    pub fn is_document(&self) -> bool {
        self.records.document_members_beside().is_some()
    }

    /// Returns true if the input is a document and the agent's own sessions are documents, so that
    /// a changed session is a document, too.
    pub fn stays_document(&self) -> bool {
        self.is_document() && self.dialect().is_some_and(|it| it.format().is_document)
    }

    /// Returns the dialect. Returns an error if the dialect is unknown, or if the input is in a
    /// format that we do not read.
    pub fn known(&self) -> Result<&'static dyn Dialect> {
        self.refuse_foreign()?;
        self.dialect().ok_or_else(|| ErrorKind::UnknownFormat.into())
    }

    /// Returns an error if the input is in a format that we do not read.
    pub fn refuse_foreign(&self) -> Result<()> {
        let foreign = self.records.foreign;
        foreign.map_or(Ok(()), |foreign| Err(ErrorKind::Foreign(foreign).into()))
    }

    /// Passes each record to `handle`, except for bad lines that are left out. This is where all
    /// tools refuse an input that is not a session. An input without text is an empty session.
    pub fn each(&mut self, mut handle: impl FnMut(&Record<'_>) -> Result<()>) -> Result<()> {
        self.refuse_foreign()?;
        let is_unknown = self.dialect().is_none() && !self.accepts_unknown;
        let known = self.dialect().filter(|_| self.refuses_strangers);
        // The dialect that the user named, until a record shows that it can be right.
        let is_named = !self.refuses_strangers && !self.accepts_unknown && !self.batch;
        let mut unproven = self.dialect().filter(|_| is_named);
        let mut is_empty = true;
        let mut number = 0;
        while let Some(mut record) = self.records.next().map_err(ErrorKind::Read)? {
            if let Some(line) = self.lines.as_ref().and_then(|lines| lines.get(number)) {
                record.line = *line;
            }
            number += usize::from(record.piece.begins());
            // The first record may still be in the writing.
            let is_torn = record.class == Class::Tail && record.bytes.starts_with(b"{");
            is_empty &= is_torn || record.class == Class::Blank;
            if is_unknown && !is_empty {
                return Err(ErrorKind::UnknownFormat.into());
            }
            if let (Some(named), Some(object)) = (unproven, record.whole_object()) {
                let fits = named.is_message(object) || named.sniff(object) != Sniff::No;
                unproven = unproven.filter(|_| !fits);
            }
            if let Some(known) = known {
                refuse_stranger(known, &record, self.batch)?;
            }
            if record.class.is_bad() {
                match self.invalid {
                    Invalid::Keep => self.bad.add(&record, BadLineOutcome::Kept),
                    Invalid::Drop => {
                        self.bad.add(&record, BadLineOutcome::LeftOut);
                        continue;
                    }
                    Invalid::Fail => {
                        return Err(ErrorKind::BadLine(record.why_bad()).at(record.line));
                    }
                }
            }
            handle(&record)?;
        }
        match unproven {
            Some(named) if !is_empty => Err(ErrorKind::NoMessageOf(named.name()).into()),
            _ => Ok(()),
        }
    }

    /// Like [`Self::each`], for a `visit` that cannot fail.
    pub fn visit(&mut self, mut visit: impl FnMut(&Record<'_>)) -> Result<()> {
        self.each(|record| {
            visit(record);
            Ok(())
        })
    }

    /// Returns an error if the session is a JSON document and either is an agent's log or replaces its
    /// own file. Its messages would be written as lines, which the owner of the file does not expect.
    pub fn refuse_document(&self, done: &'static str, is_replaced: bool) -> Result<()> {
        match self.dialect() {
            Some(dialect)
                if self.is_document()
                    && !self.stays_document()
                    && (is_replaced || dialect.is_log()) =>
            {
                let dialect = dialect.name();
                Err(ErrorKind::Document { dialect, done }.into())
            }
            _ => Ok(()),
        }
    }

    /// Warns if a JSON document has members other than its messages, because they are left out.
    pub fn tell_of_document(&self, notes: &mut Notes) {
        let others = self.records.document_members_beside().unwrap_or_default().join(", ");
        if !others.is_empty() {
            notes.warn(format_args!(
                "members of the document other than its messages are left out: {others}"
            ));
        }
    }
}

/// Returns an error if the record contains an exchange in another dialect. A pass that does not
/// recognize the exchange could separate the call from its result.
fn refuse_stranger(known: &dyn Dialect, record: &Record<'_>, batch: bool) -> Result<()> {
    let Some(object) = record.whole_object() else { return Ok(()) };
    let stranger = if batch {
        let mut messages = object.conversation().into_iter().flatten();
        messages.find_map(|message| dialect::stranger(known, &message))
    } else {
        dialect::stranger(known, object)
    };
    let Some(stranger) = stranger else { return Ok(()) };
    let found = stranger.name();
    let kind = if known.is_certain() {
        ErrorKind::TwoFormats { known: known.name(), found }
    } else {
        ErrorKind::LateFormat { found }
    };
    Err(kind.at(record.line))
}

/// What happened to a bad line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLineOutcome {
    /// The line stays in place.
    Kept,
    /// The line is removed because it is bad.
    LeftOut,
    /// The line is removed along with the part of the session that contains it.
    Gone,
}

/// The number of bad lines with each outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadLines {
    counts: [u64; 3],
    /// The number of the first bad line, and what is wrong with the line.
    first: Option<(u64, String)>,
}

impl BadLines {
    /// Counts a record if it is a bad line. A line that arrives in several pieces is counted once.
    pub fn add(&mut self, record: &Record<'_>, fate: BadLineOutcome) {
        if record.class.is_bad() && record.piece.begins() {
            self.counts[fate as usize] += 1;
            self.first.get_or_insert_with(|| (record.line, record.why_bad()));
        }
    }

    /// Adds the counts from another session, but not the first bad line.
    pub fn count_in(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// Returns the number of bad lines.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the number of lines that were left out because they are bad.
    pub fn left_out(&self) -> u64 {
        self.counts[BadLineOutcome::LeftOut as usize]
    }

    /// Warns about bad lines, if there are any.
    pub fn report(&self, notes: &mut Notes) {
        let Some((line, why)) = &self.first else { return };
        let lines = counted(self.count(), "bad line");
        let [kept, left_out, gone] = self.counts;
        let fates = match (kept, left_out, gone) {
            (_, 0, 0) => " kept in place".to_owned(),
            (0, _, 0) => " left out".to_owned(),
            (0, 0, _) => " removed with the summarized part".to_owned(),
            _ => {
                let told = |count, fate| {
                    if count == 0 { String::new() } else { format!(", {count} {fate}") }
                };
                told(kept, "kept")
                    + &told(left_out, "left out")
                    + &told(gone, "removed with the summarized part")
            }
        };
        notes.warn_at(*line, format_args!("{lines}{fates}; the first: {why}"));
    }
}

/// The first part of a session that looks like a message but is not understood: its line, a
/// description and, if known, its format.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstUnread(Option<(u64, Unread, Option<Foreign>)>);

impl FirstUnread {
    /// Examines the next record, unless an earlier record was not understood.
    pub(crate) fn look_at(&mut self, record: &Record<'_>, dialect: Option<&dyn Dialect>) {
        let (None, Some(dialect)) = (&self.0, dialect) else { return };
        if let Some(unread) = Unread::damaged(record, dialect) {
            self.0 = Some((record.line, unread, None));
        }
        let Some(object) = record.whole_object() else { return };
        let is_summary = || holds_vendor_summary(record, dialect);
        let unread = record.unread(dialect);
        if let Some(unread) = unread.or_else(|| is_summary().then(Unread::vendor_summary)) {
            let foreign = Foreign::of(object, dialect);
            // In a list of messages, an unknown line can be removed along with the lines around it,
            // so it is not reported here.
            let is_line = unread.rule == UnreadRule::Item && !dialect.is_linked();
            if !is_line || foreign.is_some() {
                self.0 = Some((record.line, unread, foreign));
            }
        }
    }

    /// Returns an error if a record was not understood. `done` names the operation that the error
    /// prevents.
    pub(crate) fn refuse(&self, done: &'static str) -> Result<()> {
        let Some((line, unread, foreign)) = &self.0 else { return Ok(()) };
        let kind = ErrorKind::Unread { unread: unread.clone(), foreign: *foreign, done };
        Err(kind.at(*line))
    }
}

/// Returns true if a record in the context contains a summary that was written by the vendor's
/// server. A summary from the vendor is understood, but it would be removed along with the messages
/// around it.
pub(crate) fn holds_vendor_summary(record: &Record<'_>, dialect: &dyn Dialect) -> bool {
    let object = record.whole_object().filter(|_| !record.is_outside());
    // Few records contain the word "compaction". Searching for this word is cheaper than reading
    // each record again.
    object.is_some_and(|object| {
        object.text().contains("compaction") && dialect.sealed(object).has_summary
    })
}

#[cfg(test)]
mod tests {
    use ctx_format::Options;

    use super::{Invalid, Session};
    use crate::{ErrorKind, Notes, Result};

    fn open(input: &str, invalid: Invalid) -> Session {
        let reader = Box::new(std::io::Cursor::new(input.to_owned().into_bytes()));
        Session::open(reader, &Options::default(), invalid).expect("from memory")
    }

    fn lines(session: &mut Session) -> Result<Vec<u64>> {
        let mut lines = Vec::new();
        session.each(|record| -> Result<()> {
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
        assert_eq!((kept.bad.count(), kept.bad.left_out()), (1, 0));
        let mut dropped = open(&input, Invalid::Drop);
        assert_eq!(lines(&mut dropped).expect("read"), [1, 3, 4]);
        assert_eq!(dropped.bad.left_out(), 1);
        let refused = lines(&mut open(&input, Invalid::Fail));
        assert_eq!(refused.expect_err("a bad line").lines, [2]);
        // An incomplete last line does not count as a bad line.
        let tail = format!("{USER}{{\"half");
        assert_eq!(lines(&mut open(&tail, Invalid::Fail)).expect("read"), [1, 2]);
    }

    const CALL: &str = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}\n";
    const BLOCK: &str = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}]}\n";

    /// An exchange in a format other than the session's is not mistaken for text.
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

    /// An exchange in another format is an error even if it comes after the look-ahead.
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
            let mut notes = Notes::default();
            session.tell_of_document(&mut notes);
            (session.is_document(), notes.take().len())
        };
        let messages = format!("\"messages\":[{}]", USER.trim_end());
        assert_eq!(told(&format!("{{{messages},\n\"model\":\"m\"}}")), (true, 1));
        assert_eq!(told(&format!("{{{messages}\n}}")), (true, 0));
        assert_eq!(told(USER), (false, 0));
    }
}

#[cfg(test)]
mod bad_tests {
    use ctx_format::{Origin, Piece};

    use super::{BadLineOutcome, BadLines};
    use crate::Notes;

    fn add(bad: &mut BadLines, line: u64, piece: Piece, fate: BadLineOutcome) {
        let origin = Origin { line, piece, ..Origin::ALONE };
        bad.add(&origin.record(b"{\"a\":\n"), fate);
    }

    fn report(bad: &BadLines) -> Option<(Vec<u64>, String)> {
        let mut notes = Notes::default();
        bad.report(&mut notes);
        let note = notes.take().pop()?;
        let (told, _) = note.text.split_once("; the first: ")?;
        Some((note.lines, told.to_owned()))
    }

    #[test]
    fn one_fate_is_told_without_numbers_and_several_with_them() {
        let mut bad = BadLines::default();
        assert_eq!(report(&bad), None);
        let mut told = |line, fate| {
            add(&mut bad, line, Piece::Whole, fate);
            report(&bad)
        };
        let at_3 = |text: &str| Some((vec![3], text.to_owned()));
        assert_eq!(told(3, BadLineOutcome::Kept), at_3("1 bad line kept in place"));
        assert_eq!(told(5, BadLineOutcome::Kept), at_3("2 bad lines kept in place"));
        let both = told(6, BadLineOutcome::Gone);
        assert_eq!(both, at_3("3 bad lines, 2 kept, 1 removed with the summarized part"));
        let mut other = BadLines::default();
        add(&mut other, 9, Piece::Whole, BadLineOutcome::LeftOut);
        assert_eq!(report(&other), Some((vec![9], "1 bad line left out".to_owned())));
        bad.count_in(&other);
        let all = "4 bad lines, 2 kept, 1 left out, 1 removed with the summarized part";
        assert_eq!(report(&bad), at_3(all));
        assert_eq!((bad.count(), bad.left_out()), (4, 1));
    }

    #[test]
    fn a_long_line_counts_once_and_a_good_one_never() {
        let mut bad = BadLines::default();
        for piece in [Piece::First, Piece::Middle, Piece::Last] {
            add(&mut bad, 1, piece, BadLineOutcome::Kept);
        }
        bad.add(&Origin::ALONE.record(b"\n"), BadLineOutcome::Kept);
        assert_eq!(bad.count(), 1);
    }
}

#[cfg(test)]
mod unread_tests {
    use ctx_format::dialect::by_name;
    use ctx_format::{Dialect, Origin};

    use super::FirstUnread;

    /// Returns why a session in this dialect is refused if its second line is this record.
    fn refusal(dialect: &str, record: &str) -> Option<String> {
        let dialect = by_name(dialect);
        let mut unread = FirstUnread::default();
        for (line, bytes) in [(1, "{\"role\":\"user\",\"content\":\"a\"}"), (2, record), (3, "{}")]
        {
            let origin = Origin { line, ..Origin::ALONE };
            let record = origin.record(bytes.as_bytes());
            unread.look_at(&record, dialect.map(|it| it as &dyn Dialect));
        }
        let error = unread.refuse("compacted").err()?;
        assert_eq!(error.lines, [2]);
        Some(error.kind.to_string())
    }

    /// A session is refused if it has an unknown part that may be a call or a result.
    #[test]
    fn what_may_belong_to_a_call_is_refused_and_other_lines_are_not() {
        let refused = |dialect, record| refusal(dialect, record).expect("refused");
        assert_eq!(
            refused("chat", r#"{"role":"critic","content":"x"}"#),
            r#"the dialect chat has no role "critic", so nothing can be compacted"#
        );
        assert_eq!(
            refused("chat", r#"{"role":"toolResult","toolCallId":"c","content":[]}"#),
            r#"the dialect chat has no role "toolResult", so nothing can be compacted: this is a list of pi messages without the entries of its session file"#
        );
        assert_eq!(
            refused("anthropic", r#"{"role":"user","content":[{"type":"smell"}]}"#),
            r#"a part of the type "smell" cannot be read, so nothing can be compacted"#
        );
        refused("responses", r#"{"type":"dream_call","call_id":"c"}"#);
        // In another format, the unknown part may be a call.
        refused("chat", r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#);
        assert_eq!(refusal("chat", r#"{"type":"progress"}"#), None);
        assert_eq!(refusal("chat", "no JSON"), None);
    }
}
