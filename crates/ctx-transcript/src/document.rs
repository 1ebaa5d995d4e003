//! Documents: a whole session as one JSON value, an array of messages or
//! `{"messages":[…]}`, on one line or pretty-printed. They are unwrapped to
//! records: each element loses its line breaks and indentation, nothing else.

use crate::{Line, Object, Piece, json};

/// A session that came as one JSON value.
pub(crate) struct Document {
    text: Vec<u8>,
    /// Of each record: its length in `text`, its first line and its offset in the source.
    records: Vec<(usize, u64, u64)>,
    next: usize,
    at: usize,
    /// How many members stand beside `messages`.
    pub(crate) members_beside: usize,
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
                let line = head[first..]
                    .split(|b| *b == b'\n')
                    .next()
                    .unwrap_or_default();
                let Ok(line) = std::str::from_utf8(line) else {
                    return true;
                };
                match Object::parse(line) {
                    // `{"messages":[…]}` as one line: a document if nothing follows.
                    Ok(object) => object.get("messages").is_some() && object.get("role").is_none(),
                    Err(_) => true,
                }
            }
            _ => false,
        }
    }

    /// Reads all of an input as one document; `None` when it is none: not one
    /// JSON value, or not a list of objects of which the first has a role.
    pub(crate) fn parse(input: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(input).ok()?;
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
        objects?.first()?.text_of("role")?;
        Some(Self::of(text, &elements, members_beside))
    }

    fn of(source: &str, elements: &[&str], members_beside: usize) -> Self {
        let mut text = Vec::with_capacity(source.len());
        let mut records = Vec::with_capacity(elements.len());
        let (mut line, mut counted) = (1, 0);
        for element in elements {
            let start = json::offset_in(source, element);
            line += memchr::memchr_iter(b'\n', &source.as_bytes()[counted..start]).count() as u64;
            counted = start;
            let before = text.len();
            on_one_line(element, &mut text);
            text.push(b'\n');
            records.push((text.len() - before, line, start as u64));
        }
        Self {
            text,
            records,
            next: 0,
            at: 0,
            members_beside,
        }
    }

    /// Begins again with the first record.
    pub(crate) fn rewind(&mut self) {
        (self.next, self.at) = (0, 0);
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Option<Line<'_>> {
        let (length, number, offset) = *self.records.get(self.next)?;
        self.next += 1;
        let start = self.at;
        self.at += length;
        Some(Line {
            bytes: &self.text[start..self.at],
            number,
            offset,
            piece: Piece::Whole,
        })
    }
}

/// A JSON string holds no raw line break, so each one is layout; the blanks
/// after it are its indentation.
fn on_one_line(element: &str, out: &mut Vec<u8>) {
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
        let mut document = Document::parse(input.as_bytes())?;
        let mut records = Vec::new();
        while let Some(line) = document.next() {
            records.push((
                String::from_utf8_lossy(line.bytes).into_owned(),
                line.number,
            ));
        }
        Some((records, document.members_beside))
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
