//! A session file as records: documents unwrapped, the dialect found.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::dialect::{Detector, Dialect};
use crate::document::Document;
use crate::lines::Lines;
use crate::second_reading::SecondReading;
use crate::{Conversation, MAX_LINE, Origin, Record, Spool};

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
    lines: Lines<R>,
    /// What `lines` were, where they came as one JSON value.
    document: Option<Document>,
    dialect: Option<&'static dyn Dialect>,
    /// Everything that `lines` gave, where the dialect is not linear.
    second: Option<SecondReading>,
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
            unwrap_document(&mut lines)?
        } else {
            None
        };
        let mut dialect = options.dialect;
        if dialect.is_none() && !options.raw {
            dialect = detect(&mut lines, options.batch)?;
        }
        let mut records = Self {
            lines,
            document,
            dialect,
            second: None,
        };
        // A line of a batch is a conversation, which is linear whatever agent had it.
        if let Some(mut view) = dialect.filter(|_| is_one_session).and_then(Dialect::view) {
            let mut second = SecondReading::new(options.spool());
            while let Some(record) = records.next()? {
                second.push(&record, view.as_mut())?;
            }
            records.second = Some(second.finish(view));
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
        self.document.as_ref().map(|it| it.members_beside)
    }

    /// The next record, or piece of one that is too long.
    #[allow(clippy::should_implement_trait)] // It lends, which `Iterator` cannot.
    pub fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        if let Some(second) = &mut self.second {
            return second.next();
        }
        let mut record = self.lines.next()?;
        if let (Some(document), Some(record)) = (&mut self.document, &mut record) {
            document.locate(record);
        }
        Ok(record)
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

/// Puts the records of a document in the place of its lines. It is read whole, up to the
/// length of the longest line.
fn unwrap_document<R: Read>(lines: &mut Lines<R>) -> io::Result<Option<Document>> {
    // The first line, or enough of it to see that it is no whole object.
    while !has_line(lines.ahead()) && lines.read_ahead()? {}
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

fn has_line(ahead: &[u8]) -> bool {
    memchr::memchr(b'\n', ahead.trim_ascii_start()).is_some()
}

/// Looks at the lines ahead, reading on until one is certain.
fn detect<R: Read>(lines: &mut Lines<R>, batch: bool) -> io::Result<Option<&'static dyn Dialect>> {
    let mut detector = Detector::default();
    let mut at = 0;
    for _ in 0..DETECT_IN {
        let Some(line) = lines.peek(at)? else { break };
        at += line.len() + 1;
        let record = Origin::ALONE.record(line);
        let Some(object) = record.object() else {
            continue;
        };
        let messages = if batch {
            Conversation::of(object).map_or_else(Vec::new, |conversation| conversation.messages)
        } else {
            vec![object.clone()]
        };
        if messages.iter().any(|message| detector.look_at(message)) {
            break;
        }
    }
    Ok(detector.decide())
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
