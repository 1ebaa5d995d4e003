//! Formats that are recognized but not read. `foreign.json` lists the name of each format, a
//! remedy, and a sign by which its records are recognized.

use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dialect::sign::Sign;
use crate::dialect::{ALL, Dialect, Format, Sniff};
use crate::{Object, json};

/// A format that is recognized but not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// A noun phrase for the file, as in "this is an `OpenHands` history".
    pub name: &'static str,
    /// How to convert the file to a session that the tools can read.
    pub remedy: &'static str,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is {}", self.name)
    }
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    remedy: String,
    sign: Sign,
}

/// The formats in `foreign.json`. Specific formats come before general ones.
static FOREIGN: LazyLock<Vec<Listed>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("foreign.json")).expect("foreign.json is valid")
});

/// Two formats that are recognized by the beginning of the file rather than by a single record.
const CHATGPT: Foreign = Foreign {
    name: "a ChatGPT export, which has a tree of messages for each conversation",
    remedy: "jq can convert one branch to chat messages",
};
const AIDER: Foreign = Foreign {
    name: "an Aider chat history, which is Markdown",
    remedy: "aider --llm-history-file records what the model received, as text",
};

/// Kinds of files that are not UTF-8 text: the first bytes, the name in messages, and a command
/// that decodes such a file.
const ENCODED: [(&[u8], &str, &str); 5] = [
    (b"\x1f\x8b", "a gzip file", "gzip -dc unpacks it"),
    (b"(\xb5/\xfd", "a zstd file", "zstd -dc unpacks it"),
    (b"\xfd7zXZ\0", "an xz file", "xz -dc unpacks it"),
    (b"\xff\xfe", "UTF-16 text", UTF_16),
    (b"\xfe\xff", "UTF-16 text", UTF_16),
];
const UTF_16: &str = "iconv -f UTF-16 -t UTF-8 converts it";

impl Foreign {
    /// Recognizes a file without readable lines by its first bytes.
    pub(crate) fn encoded(head: &[u8]) -> Option<Self> {
        let mut known = ENCODED.into_iter();
        let (_, name, remedy) = known.find(|(magic, ..)| head.starts_with(magic))?;
        Some(Self { name, remedy })
    }

    /// Recognizes a batch in which each conversation takes up several lines instead of one.
    pub(crate) fn indented(input: &[u8]) -> Option<Self> {
        let mut values = serde_json::Deserializer::from_slice(input).into_iter::<&RawValue>();
        let first = values.next()?.ok()?;
        let is_indented = first.get().contains('\n') && values.all(|value| value.is_ok());
        is_indented.then_some(Self {
            name: "JSON that spans several lines",
            remedy: "a batch has one conversation per line, as jq -c . writes it",
        })
    }

    /// Returns the format of a record that cannot be read in `own`, the session's dialect.
    pub fn of(object: &Object<'_>, own: Option<&dyn Dialect>) -> Option<Self> {
        let is_own = |dialect: &dyn Dialect| own.is_some_and(|own| own.name() == dialect.name());
        let of_other = ALL.into_iter().find(|it| !is_own(*it) && it.sniff(object) == Sniff::Yes);
        if let Some(dialect) = of_other.filter(|_| own.is_some()) {
            let name = Format::of(dialect).session;
            return Some(Self { name, remedy: "leave --dialect out" });
        }
        Self::by_sign(object)
    }

    /// Recognizes the format of a record by its sign in `foreign.json`.
    pub(crate) fn by_sign(object: &Object<'_>) -> Option<Self> {
        let format = FOREIGN.iter().find(|format| format.sign.is_of(object))?;
        Some(Self { name: &format.name, remedy: &format.remedy })
    }

    /// Recognizes the format of a file in which no messages were found. `head` is the beginning of
    /// the file, or the whole file if it is short.
    pub(crate) fn of_file(head: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(head).ok()?.trim_ascii();
        if text.starts_with("# aider chat started at") {
            return Some(AIDER);
        }
        let Some(list) = json::elements(text) else {
            let whole = Object::parse(text).ok();
            let of_lines = text.lines().filter_map(|line| Object::parse(line).ok());
            let mut objects = whole.into_iter().chain(of_lines);
            return objects.find_map(|object| Self::of(&object, None));
        };
        let object = Object::parse(list.first()?).ok()?;
        if object.get("mapping").is_some() { Some(CHATGPT) } else { Self::of(&object, None) }
    }
}

/// Returns true if `text` is a single JSON array or object that spans several lines.
pub(crate) fn is_document(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default().trim_ascii();
    if !text.contains('\n') {
        return false;
    }
    match text.bytes().next() {
        Some(b'[') => json::elements(text).is_some(),
        Some(b'{') => Object::parse(text).is_ok_and(|it| it.rest().trim_ascii().is_empty()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{FOREIGN, Foreign};
    use crate::Object;
    use crate::dialect::{Anthropic, Chat, Dialect};

    fn name(text: &str, own: Option<&dyn Dialect>) -> Option<&'static str> {
        let object = Object::parse(text).expect("an object");
        Foreign::of(&object, own).map(|foreign| foreign.name)
    }

    #[test]
    fn each_format_is_known_by_what_only_it_has() {
        let records = [
            r#"{"messages":[{"role":"user","content":"a"}]}"#,
            r#"{"id":0,"timestamp":"t","source":"user","message":"a","action":"message","args":{}}"#,
            r#"{"instance_id":"i","instruction":"a","history":[]}"#,
            r#"{"instance_id":"i","model_patch":"p","model_name_or_path":"m"}"#,
            r#"{"trajectory":[],"history":[],"info":{}}"#,
            r#"{"version":1,"session_id":"s","messages_path":"p"}"#,
            r#"{"role":"user","content":[{"type":"file","path":"a","content":"b"}]}"#,
            r#"{"session":{"id":"s"},"items":[]}"#,
            r#"{"type":"human","content":"a"}"#,
            r#"{"from":"human","value":"a"}"#,
            r#"{"conversations":[{"from":"human","value":"a"}]}"#,
            r#"{"id":"1","role":"user","parts":[{"type":"text","text":"a"}]}"#,
            r#"{"role":"model","parts":[{"text":"a"}]}"#,
            r#"{"role":"toolResult","toolCallId":"c","content":[]}"#,
            r#"{"role":"user","content":[{"toolResult":{}}]}"#,
        ];
        for (record, format) in records.iter().zip(FOREIGN.iter()) {
            assert_eq!(name(record, None), Some(format.name.as_str()), "{record}");
        }
        assert_eq!(records.len(), FOREIGN.len());
        for (more, is) in [
            (r#"{"id":1,"source":"agent","observation":"run"}"#, 1),
            (r#"{"issue":{},"instruction":"a","history":[]}"#, 2),
            (r#"{"lc":1,"type":"constructor","id":[],"kwargs":{}}"#, 8),
        ] {
            assert_eq!(name(more, None), Some(FOREIGN[is].name.as_str()), "{more}");
        }
    }

    #[test]
    fn a_message_of_ours_is_no_other_format() {
        for text in [
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}"#,
            r#"{"type":"progress"}"#,
            "{}",
        ] {
            assert_eq!(name(text, None), None, "{text}");
        }
    }

    #[test]
    fn a_session_that_is_read_as_another_dialect_is_named() {
        let line = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"a"}}"#;
        assert_eq!(name(line, Some(&Anthropic)), Some("a Claude Code session"));
        let call = r#"{"role":"assistant","tool_calls":[]}"#;
        assert_eq!(name(call, Some(&Anthropic)), Some("a session in the format chat"));
        assert_eq!(name(call, Some(&Chat)), None);
    }

    #[test]
    fn a_whole_file_is_known_by_its_first_object() {
        let name = |text: &str| Foreign::of_file(text.as_bytes()).map(|foreign| foreign.name);
        let event = r#"{"id":0,"source":"user","action":"message","args":{}}"#;
        let of_openhands = Some("an OpenHands history");
        assert_eq!(name(&format!("[\n {event},\n 7]\n")), of_openhands);
        assert_eq!(name(&format!("\n{event}\n")), of_openhands);
        let export = r#"[{"title":"t","mapping":{}}]"#;
        assert!(name(export).is_some_and(|name| name.contains("ChatGPT")));
        let aider = "\n# aider chat started at 2026-01-01 00:00:00\n\n#### hello\n";
        assert!(name(aider).is_some_and(|name| name.contains("Aider")));
        for other in ["", "[]", "hello", "[7]", "{\"a\":"] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
