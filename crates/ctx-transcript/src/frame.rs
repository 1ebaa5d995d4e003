//! What stands around and between the messages of a JSON value that holds them as a list: a
//! document, or a record of a batch. Other messages can be put into it; those that stay keep
//! their bytes and their layout.

use std::collections::HashMap;
use std::ops::Range;

use crate::document::{list_of, on_one_line};
use crate::{Conversation, Object, json};

/// A JSON value that holds messages, and where each of them stands in it.
pub struct Frame {
    source: String,
    /// Where the list begins, with its bracket.
    list: usize,
    messages: Vec<Range<usize>>,
}

impl Frame {
    /// Of a document: an array of messages, or an object with a list `messages`. `None` when
    /// it is none.
    pub fn of_document(source: Vec<u8>) -> Option<Self> {
        let source = String::from_utf8(source).ok()?;
        let (list, elements, _) = list_of(&source)?;
        let list = json::place_in(&source, list).start;
        let places = elements.iter().map(|raw| json::place_in(&source, raw));
        let messages = places.collect();
        Some(Self {
            source,
            list,
            messages,
        })
    }

    /// Of a conversation in a record of a batch.
    pub fn of_conversation(object: &Object<'_>, conversation: &Conversation<'_>) -> Self {
        let start = conversation.start;
        let place = |index| {
            let Range { start: from, end } = conversation.place(index);
            start + from..start + end
        };
        Self {
            source: object.text().to_owned(),
            list: start,
            messages: (0..conversation.messages.len()).map(place).collect(),
        }
    }

    /// Its messages, one a line.
    pub fn lines(&self) -> Vec<u8> {
        let mut lines = Vec::with_capacity(self.source.len());
        for place in &self.messages {
            on_one_line(&self.source[place.clone()], &mut lines);
            lines.push(b'\n');
        }
        lines
    }

    /// The same value with other messages, one a line. Those that it has already stand there as
    /// they did, and so does what stood between two of them.
    pub fn with(&self, lines: &[u8]) -> Vec<u8> {
        let own = self.lines();
        let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (number, line) in whole_lines(&own).enumerate() {
            places.entry(line).or_default().push(number);
        }
        let source = self.source.as_bytes();
        let mut out = source[..self.begin()].to_vec();
        let mut next = 0;
        // Which of the messages was written last.
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
        out.extend_from_slice(&source[self.end()..]);
        out
    }

    /// Where the first message begins.
    fn begin(&self) -> usize {
        self.messages.first().map_or(self.list + 1, |it| it.start)
    }

    /// Where the last one ends.
    fn end(&self) -> usize {
        self.messages.last().map_or(self.list + 1, |it| it.end)
    }

    /// What stands between two messages: where they were neighbours, what stood there.
    fn between(&self, before: Option<usize>, after: Option<usize>) -> &[u8] {
        let gap = |number: usize| {
            let (one, next) = (self.messages.get(number)?, self.messages.get(number + 1)?);
            Some(&self.source.as_bytes()[one.end..next.start])
        };
        let neighbours = before.filter(|number| after == Some(number + 1));
        neighbours.and_then(gap).or_else(|| gap(0)).unwrap_or(b",")
    }
}

fn whole_lines(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Frame;
    use crate::{Conversation, Object};

    fn with(source: &str, lines: &str) -> String {
        let frame = Frame::of_document(source.into()).expect("a document");
        String::from_utf8(frame.with(lines.as_bytes())).expect("UTF-8")
    }

    const PRETTY: &str = "\n{\n  \"model\": \"m\",\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"content\": \"a\"\n    },\n    {\"role\": \"assistant\"},\n\n    {\"role\": \"user\"}\n  ],\n  \"n\": 1.0\n}\n";

    /// 15 A7: what a document keeps keeps its bytes and its layout.
    #[test]
    fn messages_that_stay_keep_their_layout() {
        let last = "{\"role\": \"assistant\"}\n{\"role\": \"user\"}\n";
        assert_eq!(
            with(PRETTY, &format!("{{\"new\":1}}\n{last}")),
            "\n{\n  \"model\": \"m\",\n  \"messages\": [\n    {\"new\":1},\n    {\"role\": \"assistant\"},\n\n    {\"role\": \"user\"}\n  ],\n  \"n\": 1.0\n}\n"
        );
        let first = "{\"role\": \"user\",\"content\": \"a\"}\n";
        let ends = with(PRETTY, &format!("{first}{{\"role\": \"user\"}}\n"));
        assert!(ends.contains("\"a\"\n    },\n    {\"role\": \"user\"}\n  ],"));
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
        let text = r#"{"id":1,"messages":[ {"role":"user"} , {"role":"x"}],"n":2}"#;
        let object = Object::parse(text).expect("an object");
        let conversation = Conversation::of(&object).expect("a conversation");
        let frame = Frame::of_conversation(&object, &conversation);
        assert_eq!(frame.lines(), b"{\"role\":\"user\"}\n{\"role\":\"x\"}\n");
        assert_eq!(frame.with(&frame.lines()), text.as_bytes());
        assert_eq!(
            frame.with(b"{\"role\":\"x\"}\n"),
            br#"{"id":1,"messages":[ {"role":"x"}],"n":2}"#
        );
        let none = Object::parse(r#"{"messages":[]}"#).expect("an object");
        let empty = Conversation::of(&none).expect("a conversation");
        let frame = Frame::of_conversation(&none, &empty);
        assert_eq!(frame.with(b""), br#"{"messages":[]}"#);
    }

    fn message() -> impl Strategy<Value = String> {
        let text = prop_oneof![Just("a".to_owned()), "[b-f]{0,3}"];
        let layout = prop_oneof![Just(""), Just(" "), Just("\n  "), Just("\r\n\t")];
        (text, layout).prop_map(|(text, gap)| format!("{{{gap}\"role\":{gap}\"{text}\"{gap}}}"))
    }

    proptest! {
        /// The messages that a document has, put into it again, give its own bytes; any others
        /// can be had back from it.
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
