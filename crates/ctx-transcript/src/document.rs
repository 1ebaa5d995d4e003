//! Documents: a whole session as one JSON value, an array of messages or
//! `{"messages":[…]}`, on one line or pretty-printed. They are unwrapped to
//! records: each element loses its line breaks and indentation, nothing else.

use crate::dialect::{self, Sniff};
use crate::{Object, Record, json};

/// A session that came as one JSON value.
pub(crate) struct Document {
    /// Its records, one a line.
    pub(crate) text: Vec<u8>,
    /// Where those that are not located yet begin in the source.
    places: std::vec::IntoIter<Place>,
    /// How many members stand beside `messages`.
    pub(crate) members_beside: usize,
}

struct Place {
    line: u64,
    offset: u64,
}

impl Document {
    /// Whether input that begins like this could be a document, so that more of
    /// it is worth reading before it is taken for lines.
    pub(crate) fn may_begin(head: &[u8]) -> bool {
        let Some(first) = head.iter().position(|b| !b.is_ascii_whitespace()) else {
            return false;
        };
        match head[first] {
            b'[' => true,
            b'{' => {
                let mut lines = head[first..].split(|b| *b == b'\n');
                let line = std::str::from_utf8(lines.next().unwrap_or_default());
                // `{"messages":[…]}` as one line: a document if nothing follows.
                let is_conversation = |object: Object<'_>| {
                    object.get("messages").is_some() && object.get("role").is_none()
                };
                Object::parse(line.unwrap_or_default()).map_or(true, is_conversation)
            }
            _ => false,
        }
    }

    /// Reads all of an input as one document; `None` when it is none: not one
    /// JSON value, or not a list of objects of which the first is a message.
    pub(crate) fn parse(input: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(input).ok()?;
        let (_, elements, members_beside) = list_of(text)?;
        Some(Self::of(text, &elements, members_beside))
    }

    fn of(source: &str, elements: &[&str], members_beside: usize) -> Self {
        let mut text = Vec::with_capacity(source.len());
        let mut places = Vec::with_capacity(elements.len());
        let (mut line, mut counted) = (1, 0);
        for element in elements {
            let start = json::place_in(source, element).start;
            line += memchr::memchr_iter(b'\n', &source.as_bytes()[counted..start]).count() as u64;
            counted = start;
            on_one_line(element, &mut text);
            text.push(b'\n');
            let offset = start as u64;
            places.push(Place { line, offset });
        }
        Self {
            text,
            places: places.into_iter(),
            members_beside,
        }
    }

    /// Puts the place in the source into the next record of [`Self::text`].
    pub(crate) fn locate(&mut self, record: &mut Record<'_>) {
        if let Some(place) = self.places.next() {
            (record.line, record.offset) = (place.line, place.offset);
        }
    }
}

/// The list of messages of a document, its elements, and how many members stand beside it.
pub(crate) fn list_of(text: &str) -> Option<(&str, Vec<&str>, usize)> {
    let trimmed = text.trim_ascii();
    let (list, members_beside) = if trimmed.starts_with('{') {
        let object = Object::parse(trimmed)
            .ok()
            .filter(|object| object.rest().is_empty())?;
        if object.get("role").is_some() {
            return None;
        }
        (object.get("messages")?, object.members().len() - 1)
    } else {
        (trimmed, 0)
    };
    let elements = json::elements(list)?;
    let objects: Option<Vec<_>> = elements.iter().map(|raw| Object::parse(raw).ok()).collect();
    objects?.first().filter(|first| is_message(first))?;
    Some((list, elements, members_beside))
}

/// Whether it has a role, or is a record that only one dialect has.
fn is_message(object: &Object<'_>) -> bool {
    let mut all = dialect::ALL.into_iter();
    object.text_of("role").is_some() || all.any(|it| it.sniff(object) == Sniff::Yes)
}

/// A JSON string holds no raw line break, so each one is layout; the blanks
/// after it are its indentation.
pub(crate) fn on_one_line(element: &str, out: &mut Vec<u8>) {
    let mut lines = element.split(['\n', '\r']);
    out.extend_from_slice(lines.next().unwrap_or_default().as_bytes());
    for line in lines {
        out.extend_from_slice(line.trim_start_matches([' ', '\t']).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    fn unwrap(input: &str) -> Option<(Vec<(String, u64)>, usize)> {
        let document = Document::parse(input.as_bytes())?;
        let text = String::from_utf8(document.text).expect("UTF-8");
        let records = text.split_inclusive('\n').zip(document.places);
        let records = records.map(|(record, place)| (record.to_owned(), place.line));
        Some((records.collect(), document.members_beside))
    }

    #[test]
    fn an_array_becomes_records() {
        let input = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"a\\n b\"\n  },\n  {\"role\":\"x\"}\n]\n";
        let records = vec![
            (
                "{\"role\": \"user\",\"content\": \"a\\n b\"}\n".to_owned(),
                2,
            ),
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
