//! A session file as records: documents unwrapped, the dialect found.

use std::io::{self, Read};

use crate::dialect::{Detector, Dialect};
use crate::document::Document;
use crate::{Conversation, Lines, MAX_LINE, Outline, Record};

/// How to read a session.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// The dialect, when it need not be detected.
    pub dialect: Option<&'static dyn Dialect>,
    /// Each line is a conversation; no documents then.
    pub batch: bool,
    /// Take lines as they are: no documents, no dialect.
    pub raw: bool,
}

/// Reads records; lends each until the next is asked for.
pub struct Records<R> {
    lines: Lines<R>,
    document: Option<Document>,
    dialect: Option<&'static dyn Dialect>,
}

/// How many records the dialect is looked for in.
const DETECT_IN: usize = 64;

impl<R: Read> Records<R> {
    /// Reads as much of the beginning as it takes to know the dialect.
    pub fn open(source: R, options: &Options) -> io::Result<Self> {
        let mut records = Self {
            lines: Lines::new(source),
            document: None,
            dialect: options.dialect,
        };
        if options.raw {
            return Ok(records);
        }
        if !options.batch {
            records.document = find_document(&mut records.lines)?;
        }
        if records.dialect.is_none() {
            records.dialect = match &mut records.document {
                Some(document) => detect_in_document(document),
                None => detect(&mut records.lines, options.batch)?,
            };
        }
        Ok(records)
    }

    /// The dialect; `None` when the records are of a format we do not know.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.dialect
    }

    /// When the input is one document: how many members stand beside its
    /// messages, which the records do not carry.
    pub fn document_members_beside(&self) -> Option<usize> {
        self.document
            .as_ref()
            .map(|document| document.members_beside)
    }

    /// The next record, or piece of one that is too long.
    #[allow(clippy::should_implement_trait)] // It lends, which `Iterator` cannot.
    pub fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        let line = match &mut self.document {
            Some(document) => document.next(),
            None => self.lines.next()?,
        };
        Ok(line.map(Record::classify))
    }
}

impl<'a> Record<'a> {
    /// Its outline in `dialect`; of a format we do not know each object is a line.
    /// `None` when the record is no message.
    pub fn outline(&self, dialect: Option<&dyn Dialect>) -> Option<Outline<'a>> {
        let object = self.whole_object()?;
        match dialect {
            Some(dialect) => dialect.outline(object),
            None => Some(Outline::of_line()),
        }
    }
}

/// A document is read whole, up to the length of the longest line.
fn find_document<R: Read>(lines: &mut Lines<R>) -> io::Result<Option<Document>> {
    // The first line, or enough of it to see that it is no whole object.
    while !has_line(lines.ahead()) && lines.read_ahead()? {}
    if !Document::may_begin(lines.ahead()) {
        return Ok(None);
    }
    while lines.read_ahead()? {}
    if lines.ahead().len() >= MAX_LINE {
        return Ok(None);
    }
    Ok(Document::parse(lines.ahead()))
}

fn has_line(ahead: &[u8]) -> bool {
    let text = ahead.trim_ascii_start();
    memchr::memchr(b'\n', text).is_some()
}

fn detect_in_document(document: &mut Document) -> Option<&'static dyn Dialect> {
    let mut detector = Detector::default();
    let mut seen = 0;
    while seen < DETECT_IN {
        let Some(line) = document.next() else { break };
        seen += 1;
        if Record::classify(line)
            .object()
            .is_some_and(|object| detector.look_at(object))
        {
            break;
        }
    }
    document.rewind();
    detector.decide()
}

/// Looks at the lines ahead, reading on until one is certain.
fn detect<R: Read>(lines: &mut Lines<R>, batch: bool) -> io::Result<Option<&'static dyn Dialect>> {
    let mut detector = Detector::default();
    let (mut seen, mut at) = (0, 0);
    loop {
        let ahead = &lines.ahead()[at..];
        let Some(end) = memchr::memchr(b'\n', ahead) else {
            if lines.read_ahead()? {
                continue;
            }
            look_at(&lines.ahead()[at..], batch, &mut detector);
            return Ok(detector.decide());
        };
        if look_at(&ahead[..end], batch, &mut detector) {
            return Ok(detector.decide());
        }
        at += end + 1;
        seen += 1;
        if seen == DETECT_IN {
            return Ok(detector.decide());
        }
    }
}

fn look_at(line: &[u8], batch: bool, detector: &mut Detector) -> bool {
    let line = crate::Line {
        bytes: line,
        number: 1,
        offset: 0,
        piece: crate::Piece::Whole,
    };
    let record = Record::classify(line);
    let Some(object) = record.object() else {
        return false;
    };
    if batch {
        let conversation = Conversation::of(object);
        return conversation
            .is_some_and(|c| c.messages.iter().any(|message| detector.look_at(message)));
    }
    detector.look_at(object)
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
        let (name, seen) = read(
            document,
            &Options {
                raw: true,
                ..Options::default()
            },
        );
        assert_eq!((name, seen.concat().as_str()), (None, document));
    }

    #[test]
    fn one_line_of_messages_is_a_document_and_two_are_lines() {
        let line = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]}\n";
        assert_eq!(read(line, &Options::default()).1.len(), 2);
        let two = line.repeat(2);
        let (name, seen) = read(&two, &Options::default());
        assert_eq!((name, seen.len()), (None, 2));
        let (name, seen) = read(
            &two,
            &Options {
                batch: true,
                ..Options::default()
            },
        );
        assert_eq!((name, seen.len()), (Some("chat"), 2));
    }

    #[test]
    fn bad_lines_before_the_first_message_do_not_hide_the_dialect() {
        let input = format!("\n{{broken\n\0\0\n{CHAT}");
        let (name, seen) = read(&input, &Options::default());
        assert_eq!(name, Some("chat"));
        assert_eq!(seen.concat(), input);
    }
}
