//! Documents, which hold a whole session in a single JSON value: an array of messages or
//! `{"messages":[…]}`, on one or more lines. A document is split into records. Each record is an
//! element of the list, without line breaks and indentation but otherwise unchanged.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::dialect::{self, Detector, Dialect, Sniff};
use crate::record::BYTE_ORDER_MARK;
use crate::{Object, Record, json};

/// A session that was read as a single JSON value.
pub(crate) struct Document {
    /// The records of the document, one per line.
    pub(crate) text: Vec<u8>,
    /// The line number and byte offset in the source of each record that [`Self::locate`] has not
    /// reached yet.
    places: std::vec::IntoIter<(u64, u64)>,
    /// The members other than `messages`, as keys and raw values.
    pub(crate) beside: Vec<(String, String)>,
    /// The document, if the agent's own sessions are documents. Its messages can be replaced.
    pub(crate) frame: Option<Frame>,
}

impl Document {
    /// Returns true if an input that begins with `head` could be a document, in which case more of
    /// it must be read before it is split into lines.
    pub(crate) fn may_begin(head: &[u8]) -> bool {
        let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
        match head.first() {
            Some(b'[') => true,
            Some(b'{') => {
                let mut lines = head.split(|b| *b == b'\n');
                let line = std::str::from_utf8(lines.next().unwrap_or_default());
                // `{"messages":[…]}` on a single line is a document only if no other line follows
                // it.
                let is_conversation = |object: Object<'_>| {
                    object.get("messages").is_some() && object.get("role").is_none()
                };
                Object::parse(line.unwrap_or_default()).map_or(true, is_conversation)
            }
            _ => false,
        }
    }

    /// Parses an input as a document; `None` if the input is not a single JSON value, or has no
    /// list of objects that begins with a message.
    pub(crate) fn parse(input: &[u8]) -> Option<Self> {
        let source = std::str::from_utf8(input).ok()?;
        let (_, elements, object) = list_of(source)?;
        let first = elements.first().and_then(|raw| Object::parse(raw).ok());
        let is_agents = first.is_some_and(|first| {
            let of_documents = |it: &dyn Dialect| it.format().is_document;
            let mut all = dialect::ALL.into_iter().filter(|it| of_documents(*it));
            all.any(|it| it.sniff(&first) == Sniff::Yes)
        });
        let mut places = Vec::with_capacity(elements.len());
        let (mut line, mut counted) = (1, 0);
        for element in &elements {
            let start = json::place_in(source, element).start;
            line += memchr::memchr_iter(b'\n', &source.as_bytes()[counted..start]).count() as u64;
            counted = start;
            places.push((line, start as u64));
        }
        let members = object.as_ref().map_or(&[][..], Object::members).iter();
        let beside = members.filter(|member| member.key != "messages");
        let beside = beside.map(|it| (it.key.to_string(), it.value.to_owned())).collect();
        let frame = if is_agents { Frame::of_document(input.to_vec()) } else { None };
        Some(Self { text: lines_of(elements), places: places.into_iter(), beside, frame })
    }

    /// Sets the line number and byte offset of the next record in [`Self::text`] to those in the
    /// source.
    pub(crate) fn locate(&mut self, record: &mut Record<'_>) {
        if let Some(place) = self.places.next() {
            (record.line, record.offset) = place;
        }
    }
}

/// Returns a document's list of messages as raw JSON, the elements of that list, and the object
/// around the list, if the document is one.
fn list_of(text: &str) -> Option<(&str, Vec<&str>, Option<Object<'_>>)> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_ascii();
    let (list, object) = if trimmed.starts_with('{') {
        let object = Object::parse(trimmed).ok().filter(|object| object.rest().is_empty())?;
        if object.get("role").is_some() {
            return None;
        }
        (object.get("messages")?, Some(object))
    } else {
        (trimmed, None)
    };
    let elements = json::elements(list)?;
    let objects: Option<Vec<_>> = elements.iter().map(|raw| Object::parse(raw).ok()).collect();
    objects?.first().filter(|first| is_message(first))?;
    Some((list, elements, object))
}

/// Returns true if the object has a role or can belong to only one dialect.
fn is_message(object: &Object<'_>) -> bool {
    let mut all = dialect::ALL.into_iter();
    object.text_of("role").is_some() || all.any(|it| it.sniff(object) == Sniff::Yes)
}

/// Writes each JSON value on its own line. JSON strings cannot contain raw line breaks, so every
/// line break is part of the layout, and whitespace after it is indentation.
fn lines_of<'a>(elements: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut out = Vec::new();
    for element in elements {
        let mut lines = element.split(['\n', '\r']);
        out.extend_from_slice(lines.next().unwrap_or_default().as_bytes());
        for line in lines {
            out.extend_from_slice(line.trim_start_matches([' ', '\t']).as_bytes());
        }
        out.push(b'\n');
    }
    out
}

impl Object<'_> {
    /// Returns the messages of the conversation in a batch record; `None` if the object has no list
    /// `messages` or the list has an element that is not an object.
    pub fn conversation(&self) -> Option<Vec<Self>> {
        let elements = json::elements(self.get("messages")?)?.into_iter();
        elements.map(|raw| Object::parse(raw).ok()).collect()
    }
}

/// A JSON value that contains a list of messages, and the position of each message.
pub struct Frame {
    source: String,
    /// The byte offset of the list's opening bracket.
    list: usize,
    /// The byte range of each message.
    pub messages: Vec<Range<usize>>,
}

impl Frame {
    /// Creates the frame of a document. Returns `None` unless `source` is an array of messages or
    /// an object with a list `messages`.
    pub fn of_document(source: Vec<u8>) -> Option<Self> {
        let source = String::from_utf8(source).ok()?;
        let (list, elements, _) = list_of(&source)?;
        let list = json::place_in(&source, list).start;
        let places = elements.iter().map(|raw| json::place_in(&source, raw));
        let messages = places.collect();
        Some(Self { source, list, messages })
    }

    /// Creates the frame of a batch record. Returns `None` unless the record holds a conversation.
    pub fn of_record(record: &Record<'_>) -> Option<Self> {
        let object = record.whole_object()?;
        let source = std::str::from_utf8(record.bytes).ok()?;
        let place = |raw| json::place_in(source, raw);
        let messages = object.conversation()?;
        Some(Self {
            list: place(object.get("messages")?).start,
            messages: messages.iter().map(|message| place(message.text())).collect(),
            source: source.to_owned(),
        })
    }

    /// The messages in the frame, one per line.
    pub fn lines(&self) -> Vec<u8> {
        lines_of(self.messages.iter().map(|place| &self.source[place.clone()]))
    }

    /// Returns the JSON value with the messages in `lines` (one per line) in place of its own.
    /// Messages that were already in the value keep their bytes and the layout before them.
    pub fn with(&self, lines: &[u8]) -> Vec<u8> {
        let own = self.lines();
        let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (number, line) in whole_lines(&own).enumerate() {
            places.entry(line).or_default().push(number);
        }
        let source = self.source.as_bytes();
        let begin = self.messages.first().map_or(self.list + 1, |first| first.start);
        let mut out = source[..begin].to_vec();
        let mut next = 0;
        // The index in the source of the last message that was written. The inner value is `None`
        // if the last message is new.
        let mut before: Option<Option<usize>> = None;
        for line in whole_lines(lines) {
            let found = places.get(line).and_then(|numbers| {
                let at = numbers.partition_point(|number| *number < next);
                numbers.get(at).copied()
            });
            if let Some(before) = before {
                out.extend_from_slice(self.between(before, found));
            }
            match found {
                Some(number) => {
                    out.extend_from_slice(&source[self.messages[number].clone()]);
                    next = number + 1;
                }
                None => out.extend_from_slice(line),
            }
            before = Some(found);
        }
        let end = self.messages.last().map_or(self.list + 1, |last| last.end);
        out.extend_from_slice(&source[end..]);
        out
    }

    /// Returns the text to write between two messages: the text before the second message in the
    /// source or, if the second message is new, the text after the first.
    fn between(&self, before: Option<usize>, after: Option<usize>) -> &[u8] {
        let gap = |number: usize| {
            let (one, next) = (self.messages.get(number)?, self.messages.get(number + 1)?);
            Some(&self.source.as_bytes()[one.end..next.start])
        };
        let number = after.and_then(|after| after.checked_sub(1)).or(before);
        number.and_then(gap).or_else(|| gap(0)).unwrap_or(b",")
    }
}

fn whole_lines(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// The maximum number of lines to read from the start of a session file. Lines that identify the
/// agent come early in the file.
const LINES: usize = 64;

/// The maximum number of bytes to read from the start of a session file. The first line of a Codex
/// file can contain all instructions for the model.
const BYTES: u64 = 1 << 20;

/// Facts from the first lines of a session file. These facts stay true as long as lines are only
/// appended to the file.
#[derive(Clone, Default)]
pub struct Head {
    /// The dialect, if a line was found that can belong to only one dialect.
    pub dialect: Option<&'static dyn Dialect>,
    /// The id of the session, if it is in the first lines.
    pub session: Option<String>,
}

impl Head {
    /// Reads the first lines of a session file, but only as many as necessary. No facts are read
    /// from a document that spans several lines.
    pub fn read(source: impl Read) -> io::Result<Self> {
        let mut source = BufReader::new(source.take(BYTES));
        let mut detector = Detector::default();
        let mut head = Self::default();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for _ in 0..LINES {
            let mut line = Vec::new();
            if source.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            // Agents do not indent lines. An indented object is part of a document.
            let is_inside = line.starts_with(b" ") || line.starts_with(b"\t");
            let Some(object) = object_of(&line).filter(|_| !is_inside) else { continue };
            if head.dialect.is_none() && detector.look_at(&object) {
                head.dialect = detector.decide();
            }
            lines.push(line);
            if let Some(dialect) = head.dialect {
                // The id of the session may also be in a line before the line that revealed the
                // dialect.
                let mut told = lines.drain(..);
                head.session = told.find_map(|line| {
                    let session = dialect.log()?.about(&object_of(&line)?).session?;
                    Some(session.into_owned())
                });
                if head.session.is_some() {
                    break;
                }
            }
        }
        Ok(head)
    }
}

fn object_of(line: &[u8]) -> Option<Object<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    Object::parse(text.trim_start_matches('\u{feff}')).ok()
}

/// A file that is not modified while it is in use. Short files are also held in memory, because a
/// session is read several times. Reading it does not move the file position that other handles
/// share.
pub struct FixedFile {
    /// The open file.
    pub file: File,
    memory: Option<Arc<Vec<u8>>>,
    at: u64,
}

impl FixedFile {
    /// Creates a fixed file from `file` and, if the file has already been read, its content.
    pub fn new(file: File, memory: Option<Arc<Vec<u8>>>) -> Self {
        Self { file, memory, at: 0 }
    }

    /// Returns a reader that begins at the start of the file.
    pub fn reader(&self) -> io::Result<Self> {
        Ok(Self::new(self.file.try_clone()?, self.memory.clone()))
    }
}

impl From<File> for FixedFile {
    fn from(file: File) -> Self {
        Self::new(file, None)
    }
}

impl Read for FixedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        let count = match &self.memory {
            Some(bytes) => bytes.get(at..).unwrap_or_default().read(buffer)?,
            None => self.file.read_at(buffer, self.at)?,
        };
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    fn unwrap(input: &str) -> Option<(Vec<(String, u64)>, usize)> {
        let document = Document::parse(input.as_bytes())?;
        let text = String::from_utf8(document.text).expect("UTF-8");
        let records = text.split_inclusive('\n').zip(document.places);
        let records = records.map(|(record, place)| (record.to_owned(), place.0));
        Some((records.collect(), document.beside.len()))
    }

    #[test]
    fn an_array_becomes_records() {
        let input = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"a\\n b\"\n  },\n  {\"role\":\"x\"}\n]\n";
        let records = vec![
            ("{\"role\": \"user\",\"content\": \"a\\n b\"}\n".to_owned(), 2),
            ("{\"role\":\"x\"}\n".to_owned(), 6),
        ];
        assert_eq!(unwrap(input), Some((records, 0)));
    }

    #[test]
    fn an_object_with_messages_becomes_records() {
        let (records, beside) =
            unwrap(r#"{"model":"m","messages":[{"role":"user"}],"n":1}"#).expect("a document");
        assert_eq!((records.len(), beside), (1, 2));
    }

    #[test]
    fn records_that_one_dialect_alone_has_are_a_document() {
        let line = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s"}"#;
        assert!(unwrap(&format!("[{line}]")).is_some());
    }

    #[test]
    fn other_json_is_no_document() {
        for input in [
            "[]",
            "[1]",
            "[{\"a\":1}]",
            "{\"messages\":[]}",
            "{\"role\":\"user\",\"messages\":[{\"role\":\"x\"}]}",
            "[{\"role\":\"u\"}]\n[{\"role\":\"u\"}]",
            "{\"messages\":[{\"role\":\"u\"}]}\n{}",
            "[{\"role\":\"u\"}",
            "",
        ] {
            assert!(Document::parse(input.as_bytes()).is_none(), "{input}");
        }
    }
}

#[cfg(test)]
mod batch_tests {
    use crate::Object;

    #[test]
    fn other_objects_are_no_conversation() {
        for text in ["{}", r#"{"messages":{}}"#, r#"{"messages":[1]}"#, r#"{"messages":null}"#] {
            let object = Object::parse(text).expect("an object");
            assert!(object.conversation().is_none(), "{text}");
        }
    }
}

#[cfg(test)]
mod frame_tests {
    use proptest::prelude::*;

    use super::Frame;
    use crate::Origin;

    fn with(source: &str, lines: &str) -> String {
        let frame = Frame::of_document(source.into()).expect("a document");
        String::from_utf8(frame.with(lines.as_bytes())).expect("UTF-8")
    }

    const PRETTY: &str = "\n{\n  \"model\": \"m\",\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"content\": \"a\"\n    },\n    {\"role\": \"assistant\"},\n\n    {\"role\": \"user\"}\n  ],\n  \"n\": 1.0\n}\n";

    /// Messages that stay in the document keep their bytes and layout.
    #[test]
    fn messages_that_stay_keep_their_layout() {
        let last = "{\"role\": \"assistant\"}\n{\"role\": \"user\"}\n";
        assert_eq!(
            with(PRETTY, &format!("{{\"new\":1}}\n{last}")),
            "\n{\n  \"model\": \"m\",\n  \"messages\": [\n    {\"new\":1},\n    {\"role\": \"assistant\"},\n\n    {\"role\": \"user\"}\n  ],\n  \"n\": 1.0\n}\n"
        );
        let first = "{\"role\": \"user\",\"content\": \"a\"}\n";
        let ends = with(PRETTY, &format!("{first}{{\"role\": \"user\"}}\n"));
        assert!(ends.contains("\"a\"\n    },\n\n    {\"role\": \"user\"}\n  ],"));
    }

    #[test]
    fn a_list_of_one_message_takes_more() {
        assert_eq!(with("[{\"role\":\"u\"}]", "{}\n{}\n"), "[{},{}]");
    }

    #[test]
    fn a_message_that_occurs_twice_is_found_behind_the_last_one() {
        let source = "[{\"role\":\"u\"} ,{\"role\":\"v\"},  {\"role\":\"u\"}]";
        assert_eq!(
            with(source, "{\"role\":\"v\"}\n{\"role\":\"u\"}\n"),
            "[{\"role\":\"v\"},  {\"role\":\"u\"}]"
        );
    }

    #[test]
    fn a_record_of_a_batch_has_a_frame() {
        let text = "\u{feff}{\"id\":1,\"messages\":[ {\"role\":\"user\"} , {\"role\":\"x\"}]}\n";
        let of_record = |text: &str| Frame::of_record(&Origin::ALONE.record(text.as_bytes()));
        let frame = of_record(text).expect("a conversation");
        assert_eq!(frame.messages.len(), 2);
        assert_eq!(frame.lines(), b"{\"role\":\"user\"}\n{\"role\":\"x\"}\n");
        assert_eq!(frame.with(&frame.lines()), text.as_bytes());
        assert_eq!(
            frame.with(b"{\"role\":\"x\"}\n"),
            "\u{feff}{\"id\":1,\"messages\":[ {\"role\":\"x\"}]}\n".as_bytes()
        );
        let frame = of_record(r#"{"messages":[]}"#).expect("a conversation");
        assert_eq!(frame.with(b""), br#"{"messages":[]}"#);
    }

    fn message() -> impl Strategy<Value = String> {
        let text = prop_oneof![Just("a".to_owned()), "[b-f]{0,3}"];
        let layout = prop_oneof![Just(""), Just(" "), Just("\n  "), Just("\r\n\t")];
        (text, layout).prop_map(|(text, gap)| format!("{{{gap}\"role\":{gap}\"{text}\"{gap}}}"))
    }

    proptest! {
        /// Reinserting a document's own messages yields the original bytes, and any other list of
        /// messages can be read back.
        #[test]
        fn what_is_put_in_comes_out(
            messages in prop::collection::vec(message(), 1..6),
            gap in prop_oneof![Just(","), Just(",\n  "), Just(" , ")],
            kept in prop::collection::vec(any::<bool>(), 6),
        ) {
            let source = format!("{{\"x\":0, \"messages\" : [{}\n] }}\n", messages.join(gap));
            let frame = Frame::of_document(source.clone().into()).expect("a document");
            prop_assert_eq!(frame.with(&frame.lines()), source.as_bytes());
            let lines = String::from_utf8(frame.lines()).expect("UTF-8");
            let lines = lines.split_inclusive('\n').zip(&kept);
            let some: String = lines.filter(|(_, kept)| **kept).map(|(line, _)| line).collect();
            let new = format!("{{\"role\":\"new\"}}\n{some}");
            let with = Frame::of_document(frame.with(new.as_bytes())).expect("a document");
            prop_assert_eq!(with.lines(), new.as_bytes());
        }
    }
}

#[cfg(test)]
mod head_tests {
    use super::Head;
    use crate::Dialect;

    fn read(bytes: &[u8]) -> (Option<&'static str>, Option<String>) {
        let head = Head::read(bytes).expect("from memory");
        (head.dialect.map(Dialect::name), head.session)
    }

    fn told(text: &str) -> (Option<&'static str>, Option<String>) {
        read(text.as_bytes())
    }

    #[test]
    fn an_agent_tells_the_id_of_its_session() {
        let tree = r#""uuid":"u","parentUuid":null,"sessionId":"s-1","timestamp":"t""#;
        let main = format!(r#"{{"type":"user",{tree},"isSidechain":false}}"#);
        let helper = format!(r#"{{"type":"user",{tree},"isSidechain":true,"agentId":"a1"}}"#);
        let old_helper = format!(r#"{{"type":"user",{tree},"isSidechain":true}}"#);
        let summary = r#"{"type":"summary","summary":"x","leafUuid":"u"}"#;
        let codex = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"c-1"}}"#;
        let parent = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"c-0"}}"#;
        let old_codex = r#"{"id":"c-2","timestamp":"t","instructions":null}"#;
        let pi = r#"{"type":"session","version":3,"id":"p-1","timestamp":"t","cwd":"/"}"#;
        let gemini = r#"{"sessionId":"g-1","projectHash":"h","startTime":"t"}"#;
        for (text, dialect, session) in [
            (main.clone(), "claude-code", Some("s-1")),
            // The session id in a subagent's file differs from that of the main session.
            (helper, "claude-code", Some("s-1.a1")),
            (old_helper.clone(), "claude-code", None),
            (format!("{old_helper}\n{main}"), "claude-code", Some("s-1")),
            (format!("{summary}\r\n\n{main}\n"), "claude-code", Some("s-1")),
            (format!("\u{feff}{main}\n"), "claude-code", Some("s-1")),
            // In a Codex file, lines copied from the parent session follow the first line.
            (format!("{codex}\n{parent}\n"), "codex", Some("c-1")),
            (old_codex.to_owned(), "codex", Some("c-2")),
            (pi.to_owned(), "pi", Some("p-1")),
            (gemini.to_owned(), "gemini", Some("g-1")),
        ] {
            let expected = (Some(dialect), session.map(str::to_owned));
            assert_eq!(told(&text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_agents_file_tells_nothing() {
        for text in [
            "",
            "\0\0\0",
            r#"{"role":"user","content":"hi","sessionId":"s","id":"x"}"#,
            r#"{"sessionId":"s"}"#,
            // The lines of a document that spans several lines cannot be read one by one.
            "{\"messages\":[\n  {\"info\":{\"id\":\"m\",\"sessionID\":\"s\",\"role\":\"user\"},\"parts\":[]}\n]}",
            "{\n  \"sessionId\": \"g\",\n  \"projectHash\": \"h\",\n  \"messages\": []\n}",
        ] {
            assert_eq!(told(text), (None, None), "{text}");
        }
        assert_eq!(read(b"\xff\xfe\n{}\n"), (None, None));
        // A document on one line is read as an ordinary line here, because more lines could follow.
        let document = r#"{"sessionId":"g","projectHash":"h","messages":[{"id":"1","type":"user","timestamp":"t","content":"x"}]}"#;
        assert_eq!(told(document), (Some("gemini"), None));
        for id in ["7", "null", "{}"] {
            let odd = format!(r#"{{"type":"session","id":{id},"timestamp":"t","cwd":"/"}}"#);
            assert_eq!(told(&odd), (Some("pi"), None));
        }
    }

    #[test]
    fn only_the_first_lines_are_looked_at() {
        let pi = r#"{"type":"session","version":3,"id":"p-1","timestamp":"t","cwd":"/"}"#;
        let late = "{}\n".repeat(63) + pi;
        assert_eq!(told(&late).1.as_deref(), Some("p-1"));
        assert_eq!(told(&format!("{{}}\n{late}")).1, None);
        let long = format!("{{\"x\":\"{}\"}}\n{pi}", "x".repeat(1 << 20));
        assert_eq!(told(&long).1, None);
    }
}
