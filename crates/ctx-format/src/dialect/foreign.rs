//! Formats that are recognized but not read. `foreign_certain.json` and `foreign.json` list the
//! name of each format, a remedy, and a sign by which its records are recognized, the first bytes
//! of its files, or the id of a format that only code can recognize.

use std::borrow::Cow;
use std::sync::LazyLock;

use derive_more::Display;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dialect::sign::Sign;
use crate::dialect::{ALL, Dialect, Sniff};
use crate::{Object, Options, json};

/// A format that is recognized but not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[display("this is {name}")]
pub struct Foreign {
    /// A noun phrase for the file, as in "this is an `OpenHands` history".
    pub name: &'static str,
    /// How to convert the file to a session that the tools can read.
    pub remedy: &'static str,
    /// Whether its records are not ours, even if a record has the sign of a dialect.
    pub(crate) is_certain: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    #[serde(borrow = "'static")]
    name: Cow<'static, str>,
    #[serde(borrow = "'static")]
    remedy: Cow<'static, str>,
    sign: Option<Sign>,
    id: &'static str,
    /// What a file may begin with, with one character for each byte.
    begins: Vec<String>,
    /// The offset of `begins`.
    at: usize,
}

/// The formats in `foreign_certain.json`, which are looked for in every file: formats without lines
/// of JSON, and those whose records are not ours, even if a record has the sign of a dialect.
static CERTAIN: LazyLock<Vec<Listed>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("foreign_certain.json")).expect("the file is valid")
});

/// The formats in `foreign.json`, which are looked for in files without a certain dialect. Specific
/// formats come before general ones.
static OTHERS: LazyLock<Vec<Listed>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("foreign.json")).expect("the file is valid")
});

impl Listed {
    fn is_of(&self, object: &Object<'_>) -> bool {
        self.sign.as_ref().is_some_and(|sign| sign.is_of(object))
    }

    fn begins(&self, head: &[u8]) -> bool {
        let head = head.iter().skip(self.at).copied().map(char::from);
        let is_head = |begin: &String| head.clone().take(begin.chars().count()).eq(begin.chars());
        self.begins.iter().any(is_head)
    }
}

/// The format that `--batch` reads.
const BATCH: &str = "a batch with one conversation per line";

impl Foreign {
    /// Recognizes a file without readable lines by its first bytes.
    pub(crate) fn encoded(head: &[u8]) -> Option<Self> {
        let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
        let returns = memmem::find(line, b"}\r{").map(|_| Self::with_id("carriage-returns"));
        returns.or_else(|| Self::certain(|format| format.begins(head.trim_ascii_start())))
    }

    fn with_id(id: &str) -> Self {
        Self::listed(|format| format.id == id).expect("foreign.json has this id")
    }

    fn listed(is_it: impl Fn(&Listed) -> bool) -> Option<Self> {
        Self::certain(&is_it).or_else(|| {
            let Listed { name, remedy, .. } = OTHERS.iter().find(|it| is_it(it))?;
            Some(Self { name, remedy, is_certain: false })
        })
    }

    fn certain(is_it: impl Fn(&Listed) -> bool) -> Option<Self> {
        let Listed { name, remedy, .. } = CERTAIN.iter().find(|it| is_it(it))?;
        Some(Self { name, remedy, is_certain: true })
    }

    /// Recognizes JSON that takes up several lines, so that it is not a batch.
    pub(crate) fn indented(input: &[u8]) -> Option<Self> {
        let mut values = serde_json::Deserializer::from_slice(input).into_iter::<&RawValue>();
        let first = values.next()?.ok()?;
        let is_indented = first.get().contains('\n') && values.all(|value| value.is_ok());
        let batch = Options { batch: true, ..Options::default() };
        let indented = || Self::with_id("indented");
        is_indented.then(|| Self::of_file(input, &batch).unwrap_or_else(indented))
    }

    /// Returns the format of a record that cannot be read in `own`, the session's dialect.
    pub fn of(object: &Object<'_>, own: &dyn Dialect) -> Option<Self> {
        let listed = Self::by_sign(object);
        let is_of = |other: &dyn Dialect| other.sniff(object) == Sniff::Yes;
        match ALL.into_iter().find(|it| it.name() != own.name() && is_of(*it)) {
            Some(_) if is_of(own) => Some(Self::with_id("mixed")),
            Some(other) if listed.is_none_or(|listed| !listed.is_certain) => {
                let name = other.format().session;
                let remedy = "leave --dialect out, put each format into a file of its own, or let ctx-convert write what it can read";
                Some(Self { name, remedy, is_certain: true })
            }
            _ => listed,
        }
    }

    /// Recognizes the format of a record by its sign.
    pub(crate) fn by_sign(object: &Object<'_>) -> Option<Self> {
        Self::listed(|format| format.is_of(object))
    }

    /// Like [`Self::by_sign`], but only for formats whose records cannot be ours.
    pub(crate) fn by_certain_sign(object: &Object<'_>) -> Option<Self> {
        Self::certain(|format| format.is_of(object))
    }

    /// Recognizes the format of a file in which no messages were found. `head` is the beginning of
    /// the file, or the whole file if it is short. If the caller said how to read the file, only
    /// its first object can show that the caller is wrong.
    pub(crate) fn of_file(head: &[u8], options: &Options) -> Option<Self> {
        let text = match std::str::from_utf8(head) {
            Ok(text) => text.trim_ascii(),
            Err(error) => {
                let is_text = error.error_len().is_some() && head.starts_with(b"{");
                let is_not_utf8 = is_text && options.dialect.is_none();
                return is_not_utf8.then(|| Self::with_id("not-utf8"));
            }
        };
        let list = json::elements(text).unwrap_or_else(|| vec![text]);
        let first = list.first().and_then(|first| Object::parse(first).ok());
        let of_lines = text.lines().filter_map(|line| Object::parse(line).ok());
        let mut objects = first.into_iter().chain(of_lines);
        let is_own = |object: &Object<'_>, own: &dyn Dialect| own.sniff(object) == Sniff::Yes;
        match options.dialect {
            _ if options.batch => {
                let first = objects.next().and_then(|object| Self::by_sign(&object));
                first.filter(|format| format.name != BATCH)
            }
            Some(own) => {
                let first = objects.next().filter(|it| !is_own(it, own));
                first.and_then(|object| Self::of(&object, own))
            }
            None => objects.find_map(|object| Self::by_sign(&object)).or(damaged(text)),
        }
    }
}

/// Recognizes several JSON documents in a file, and a document that takes up several lines, but is
/// incomplete or not valid.
fn damaged(text: &str) -> Option<Foreign> {
    let first = text.lines().next().unwrap_or_default().trim_end();
    let is_document = matches!(first, "{" | "[") || first.starts_with("[{");
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let values: Result<Vec<_>, _> = values.collect();
    let id = match values.map(|values| values.len()) {
        Ok(..=1) => return None,
        Ok(_) if first.starts_with('[') => "lists",
        Ok(_) => "indented",
        Err(_) => "damaged",
    };
    is_document.then(|| Foreign::with_id(id))
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
    use super::{CERTAIN, Foreign, OTHERS};
    use crate::dialect::{Anthropic, Chat, Dialect};
    use crate::{Object, Options};

    fn name(text: &str, own: Option<&dyn Dialect>) -> Option<&'static str> {
        let object = Object::parse(text).expect("an object");
        let found = own.map_or_else(|| Foreign::by_sign(&object), |own| Foreign::of(&object, own));
        found.map(|foreign| foreign.name)
    }

    /// A record of each format that has a sign, in the order of the files.
    const RECORDS: [&str; 68] = [
        r#"{"role":"_checkpoint","id":0}"#,
        r#"{"type":"session_start","id":"s","version":2,"cwd":"/"}"#,
        r#"{"role":"assistant","content":[{"type":"toolRequest","id":"t"}]}"#,
        r#"{"kind":"entry","lane":"main","type":"message","id":"e","message":{"role":"user","content":"a"}}"#,
        r#"{"role":"tool","content":[{"type":"tool-result","toolCallId":"c"}]}"#,
        r#"{"role":"user","contents":[{"$type":"text","text":"a"}]}"#,
        r#"{"role":"assistant","meta":{},"name":null,"content":[{"tool_call":{}}]}"#,
        r#"{"role":"model","content":[{"text":"a"}]}"#,
        r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":"f","arguments":{}}]}"#,
        r#"{"object":"entry","type":"function.call","name":"f"}"#,
        r#"{"messages":[{"role":"user","content":"a"}]}"#,
        r#"{"custom_id":"r","url":"/v1/chat/completions","body":{"model":"m","messages":[]}}"#,
        r#"{"custom_id":"r","url":"/v1/responses","body":{"model":"m","input":[]}}"#,
        r#"{"custom_id":"r","url":"/v1/embeddings","body":{"model":"m","input":"a"}}"#,
        r#"{"custom_id":"r","response":{"body":{"choices":[]}},"error":null}"#,
        r#"{"custom_id":"r","params":{"model":"m","messages":[]}}"#,
        r#"{"custom_id":"r","request":{"messages":[]}}"#,
        r#"{"id":1,"messages":"[]"}"#,
        r#"{"recordId":"r","modelInput":{"messages":[]}}"#,
        r#"{"custom_id":"r","result":{"type":"errored"}}"#,
        r#"{"object":"chat.completion.chunk","choices":[{"delta":{"content":"a"}}]}"#,
        r#"{"object":"chat.completion","choices":[]}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"a"},"done":false}"#,
        r#"{"object":"response","output":[]}"#,
        r#"{"object":"thread.message","role":"user","content":[]}"#,
        r#"{"object":"list","data":[{"type":"message","role":"user"}]}"#,
        r#"{"input":{"messages":[]},"preferred_output":[]}"#,
        r#"{"chosen":[],"rejected":[]}"#,
        r#"{"prompt":"a","completion":"b"}"#,
        r#"{"id":0,"timestamp":"t","source":"user","message":"a","action":"message","args":{}}"#,
        r#"{"instance_id":"i","instruction":"a","history":[]}"#,
        r#"{"instruction":"a","output":"b"}"#,
        r#"{"instance_id":"i","model_patch":"p","model_name_or_path":"m"}"#,
        r#"{"trajectory":[],"history":[],"info":{}}"#,
        r#"{"task_id":0,"traj":[]}"#,
        r#"{"version":1,"session_id":"s","messages_path":"p"}"#,
        r#"{"role":"user","content":[{"type":"file","path":"a","content":"b"}]}"#,
        r#"{"session":{"id":"s"},"items":[]}"#,
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        r#"{"display":"a","pastedContents":{}}"#,
        r#"{"type":"user.message","data":{"content":"a"}}"#,
        r#"{"type":"metadata","protocol_version":"1.5"}"#,
        r#"{"sessionId":"s","history":[{"message":{"role":"user"}}]}"#,
        r#"{"history":[{"role":"user","parts":[{"text":"a"}]}]}"#,
        r#"{"history":[{"role":"user","content":"a"}]}"#,
        r#"{"role":"user","message":{"content":[]}}"#,
        r#"{"requests":[{"message":{},"response":[]}]}"#,
        r#"{"type":"human","content":"a"}"#,
        r#"{"run_type":"llm","inputs":{}}"#,
        r#"{"traceId":"t","input":[],"output":{}}"#,
        r#"{"resourceSpans":[]}"#,
        r#"{"jsonrpc":"2.0","method":"initialize"}"#,
        r#"{"conversations":[{"role":"user","content":"a"}]}"#,
        r#"{"from":"human","value":"a"}"#,
        r#"{"conversations":[{"from":"human","value":"a"}]}"#,
        r#"{"id":"1","role":"user","parts":[{"type":"text","text":"a"}]}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":[]}]}"#,
        r#"{"role":"model","parts":[{"text":"a"}]}"#,
        r#"{"candidates":[{"content":{}}]}"#,
        r#"{"model":"m","input":[]}"#,
        r#"{"role":"toolResult","toolCallId":"c","content":[]}"#,
        r#"{"role":"user","content":[{"toolResult":{}}]}"#,
        r#"{"output":{"message":{}},"stopReason":"end_turn"}"#,
        r#"{"schemaType":"ModelInvocationLog"}"#,
        r#"{"role":"USER","message":"a"}"#,
        r#"{"title":"t","mapping":{}}"#,
        r#"{"uuid":"u","chat_messages":[]}"#,
    ];

    #[test]
    fn each_format_is_known_by_what_only_it_has() {
        let all = CERTAIN.iter().chain(&*OTHERS);
        assert!(all.clone().all(|it| !it.name.is_empty() && !it.remedy.is_empty()));
        let signed: Vec<_> = all.filter(|format| format.sign.is_some()).collect();
        for (record, format) in RECORDS.iter().zip(&signed) {
            let found = Foreign::by_sign(&Object::parse(record).expect("an object"));
            let found = found.map(|found| (found.name, found.remedy));
            assert_eq!(found, Some((&*format.name, &*format.remedy)), "{record}");
        }
        assert_eq!(RECORDS.len(), signed.len());
        for (more, is) in [
            (r#"{"id":1,"source":"agent","observation":"run"}"#, "an OpenHands history"),
            (
                r#"{"issue":{},"instruction":"a","history":[]}"#,
                "the output of an OpenHands evaluation",
            ),
            (r#"{"lc":1,"type":"constructor","kwargs":{}}"#, "a list of LangChain messages"),
            (r#"{"messages":[{"type":"human","content":"a"}]}"#, "a list of LangChain messages"),
            (
                r#"{"role":"assistant","content":"","toolInvocations":[]}"#,
                "a list of UI messages of the Vercel AI SDK",
            ),
            (r#"{"role":"assistant","tool_plan":"a"}"#, "a list of messages of the Cohere API"),
            (r#"{"contents":[{"parts":[]}]}"#, "a request or response of the Gemini API"),
        ] {
            assert_eq!(name(more, None), Some(is), "{more}");
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
        let mixed =
            r#"{"role":"assistant","tool_calls":[],"content":[{"type":"tool_use","id":"t"}]}"#;
        assert_eq!(name(mixed, Some(&Chat)), Some("a message in two formats"));
    }

    #[test]
    fn a_whole_file_is_known_by_its_first_object() {
        let name = |text: &str| {
            let foreign = Foreign::of_file(text.as_bytes(), &Options::default());
            foreign.map(|foreign| foreign.name)
        };
        let event = r#"{"id":0,"source":"user","action":"message","args":{}}"#;
        let of_openhands = Some("an OpenHands history");
        assert_eq!(name(&format!("[\n {event},\n 7]\n")), of_openhands);
        assert_eq!(name(&format!("\n{event}\n")), of_openhands);
        let export = r#"[{"title":"t","mapping":{}}]"#;
        assert!(name(export).is_some_and(|name| name.contains("ChatGPT")));
        let begun = |text: &str| Foreign::encoded(text.as_bytes()).map(|foreign| foreign.name);
        let aider = "\n# aider chat started at 2026-01-01 00:00:00\n\n#### hello\n";
        assert!(begun(aider).is_some_and(|name| name.contains("Aider")));
        assert_eq!(begun("{\"role\":\"user\"}"), None);
        for other in ["", "[]", "hello", "[7]", "{\"a\":"] {
            assert_eq!(name(other), None, "{other}");
        }
        let latin = Foreign::of_file(b"{\"a\":\"\xe9\"}", &Options::default());
        assert_eq!(latin.map(|it| it.name), Some("text in another encoding than UTF-8"));
        assert!(begun("{}\r{}\r").is_some_and(|name| name.contains("carriage return")));
        for cut in ["[{\"role\":\"user\"},]", "{\n \"messages\": [\n"] {
            assert_eq!(name(cut), Some("a damaged JSON document"));
        }
        assert_eq!(name("{\n \"a\": 1\n}\n{\n}"), Some("JSON that spans several lines"));
        assert_eq!(name("[{\"a\":1}]\n[{}]"), Some("a file with a list on each line"));
    }
}
