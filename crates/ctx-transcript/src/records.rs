//! A session file as records: documents unwrapped, the dialect found.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::dialect::{Detector, Dialect};
use crate::document::Document;
use crate::second_reading::SecondReading;
use crate::view::ViewBuilder;
use crate::{Conversation, Line, Lines, MAX_LINE, Record, Spool};

/// How to read a session.
#[derive(Clone, Default)]
pub struct Options {
    /// The dialect, when it need not be detected.
    pub dialect: Option<&'static dyn Dialect>,
    /// Each line is a conversation; no documents then.
    pub batch: bool,
    /// Take lines as they are: no documents, no dialect.
    pub raw: bool,
    /// Where records wait, beyond what is held in memory, when the whole session must be
    /// read before it is known which of them are in the context; all in memory without.
    pub temp: Option<PathBuf>,
}

/// Reads records; lends each until the next is asked for.
pub struct Records<R> {
    source: Source<R>,
    dialect: Option<&'static dyn Dialect>,
    /// Everything that `source` gave, where its dialect is not linear.
    second: Option<SecondReading>,
}

enum Source<R> {
    Lines(Lines<R>),
    Document(Document),
}

/// How many records the dialect is looked for in.
const DETECT_IN: usize = 64;

impl<R: Read> Records<R> {
    /// Reads as much of the beginning as it takes to know the dialect; of a session that
    /// is not linear, all.
    pub fn open(source: R, options: &Options) -> io::Result<Self> {
        let mut lines = Lines::new(source);
        let is_one_session = !options.raw && !options.batch;
        let document = if is_one_session {
            find_document(&mut lines)?
        } else {
            None
        };
        let mut source = document.map_or(Source::Lines(lines), Source::Document);
        let mut dialect = options.dialect;
        if dialect.is_none() && !options.raw {
            dialect = source.detect(options.batch)?;
        }
        // A line of a batch is a conversation, which is linear whatever agent had it.
        let view = dialect.filter(|_| is_one_session).and_then(Dialect::view);
        let second = match view {
            Some(view) => Some(source.view(view, options.spool())?),
            None => None,
        };
        Ok(Self {
            source,
            dialect,
            second,
        })
    }

    /// The dialect; `None` when the records are of a format we do not know.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.dialect
    }

    /// When the input is one document: how many members stand beside its
    /// messages, which the records do not carry.
    pub fn document_members_beside(&self) -> Option<usize> {
        match &self.source {
            Source::Lines(_) => None,
            Source::Document(document) => Some(document.members_beside),
        }
    }

    /// The next record, or piece of one that is too long.
    #[allow(clippy::should_implement_trait)] // It lends, which `Iterator` cannot.
    pub fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        match &mut self.second {
            Some(second) => second.next(),
            None => Ok(self.source.next()?.map(Record::classify)),
        }
    }
}

impl Options {
    fn spool(&self) -> Spool {
        match &self.temp {
            Some(dir) => Spool::new(dir),
            None => Spool::with_limit("", usize::MAX),
        }
    }
}

impl<R: Read> Source<R> {
    fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Document(document) => Ok(document.next()),
        }
    }

    fn detect(&mut self, batch: bool) -> io::Result<Option<&'static dyn Dialect>> {
        match self {
            Self::Lines(lines) => detect(lines, batch),
            Self::Document(document) => Ok(detect_in_document(document)),
        }
    }

    /// The first reading of a session that is not linear: all of it.
    fn view(&mut self, mut view: Box<dyn ViewBuilder>, spool: Spool) -> io::Result<SecondReading> {
        let mut second = SecondReading::new(spool);
        while let Some(line) = self.next()? {
            second.push(line, view.as_mut())?;
        }
        Ok(second.finish(view))
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
    let line = Line {
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
