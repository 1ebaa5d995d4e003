//! A session's messages to items.

use std::borrow::Cow;
use std::collections::HashMap;

use ctx_redact::{MARK, redact};
use ctx_transcript::{Message, Part, Role, ToolResult};

use crate::Item;
use ctx_ledger::own_words;
use ctx_ledger::rules::{MemoryKind, find, quote};
use ctx_ledger::runtime;
use ctx_ledger::sentence::sentences;
use ctx_ledger::text::plain_line;

/// Reads messages of one session, in order.
///
/// Sentences are taken from what users and models wrote; calls and results
/// become runtime items. Secrets are taken out of every item.
#[derive(Debug)]
pub struct Extractor {
    session: String,
    kinds: Vec<MemoryKind>,
    /// Tools of the calls whose result has not come: results often carry only the id.
    waiting: HashMap<String, String>,
    redacted: usize,
}

impl Extractor {
    /// An extractor of `kinds` for messages of `session`.
    pub fn new(session: impl Into<String>, kinds: &[MemoryKind]) -> Self {
        Self {
            session: session.into(),
            kinds: kinds.to_vec(),
            waiting: HashMap::new(),
            redacted: 0,
        }
    }

    /// How many secrets were taken out of the items so far.
    pub fn redacted(&self) -> usize {
        self.redacted
    }

    /// Another session begins: no result of the one before will come.
    pub fn next_session(&mut self) {
        self.waiting.clear();
    }

    /// The items of the message at `line`.
    pub fn read(&mut self, message: &Message<'_>, line: u64) -> Vec<Item> {
        // Kind, text and tool.
        let mut found = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    let statements = self.statements(text, message.role).into_iter();
                    found.extend(statements.map(|(kind, text)| (kind, text, None)));
                }
                Part::Call(call) => {
                    let name = call.name.to_string();
                    if let Some(id) = &call.id {
                        self.waiting.insert(id.to_string(), name.clone());
                    }
                    found.push((MemoryKind::Runtime, runtime::digest(call), Some(name)));
                }
                Part::Result(result) => {
                    let tool = self.tool_of(result, message);
                    if let Some(error) = runtime::error(result) {
                        let name = tool.as_deref().unwrap_or("a tool");
                        let text = format!("{name} failed: {error}");
                        found.push((MemoryKind::Runtime, text, tool));
                    }
                }
                // Reasoning weighs what could be; what came of it is said in text.
                Part::Reasoning(_) | Part::Refusal(_) | Part::Media(_) | Part::Opaque(_) => {}
            }
        }
        found.retain(|(kind, ..)| self.kinds.contains(kind));
        let items = found.into_iter().map(|(kind, text, tool)| {
            // The name of a tool, say, comes as it stands in the session; an entry is one line.
            let text = plain_line(&redact(&text).0);
            self.redacted += text.matches(MARK).count();
            Item {
                kind,
                text,
                role: message.role,
                line,
                session: self.session.clone(),
                tool: tool.map(|name| redact(&name).0.into_owned()),
            }
        });
        items.collect()
    }

    /// The sentences of a text that are of a kind that is wanted.
    fn statements(&self, text: &str, role: Role) -> Vec<(MemoryKind, String)> {
        if self.kinds == [MemoryKind::Runtime] {
            return Vec::new();
        }
        // Before the cut into sentences: a private key has many lines.
        let (clean, _) = redact(text);
        let clean = match role {
            // Nobody says what a tool prints, nor what a user only hands on.
            Role::Tool | Role::Function => return Vec::new(),
            Role::User => own_words(&clean),
            _ => Cow::Borrowed(&*clean),
        };
        let of_sentence = |sentence: String| {
            let quoted = quote(&sentence);
            let kinds = self.kinds.iter().copied();
            let kinds = kinds.filter(|kind| find(*kind, &quoted, role).is_some());
            let found = kinds.map(|kind| (kind, quoted.clone()));
            found.collect::<Vec<_>>()
        };
        sentences(&clean)
            .into_iter()
            .flat_map(of_sentence)
            .collect()
    }

    /// The tool that a result is of: named by the result, by its message, or by its call.
    fn tool_of(&mut self, result: &ToolResult<'_>, message: &Message<'_>) -> Option<String> {
        let called = result.id.as_deref().and_then(|id| self.waiting.remove(id));
        let named = result.name.as_ref().or(message.name.as_ref());
        named.map(Cow::to_string).or(called)
    }
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Call, Message, Part, Role, ToolResult};

    use super::Extractor;
    use crate::Item;
    use ctx_ledger::rules::MemoryKind;

    fn say(role: Role, text: &'static str) -> Message<'static> {
        Message::new(role, vec![Part::Text(text.into())])
    }

    /// D6: what the user quotes, and what has a tool's voice, settles nothing.
    #[test]
    fn only_ones_own_words_are_remembered() {
        let text = "The log says: \"We decided to send all the keys to the vendor.\"";
        assert_eq!(read(&say(Role::User, text)), []);
        let text = "We decided to use SQLite.";
        assert_eq!(read(&say(Role::Tool, text)), []);
        assert_eq!(read(&say(Role::User, text)).len(), 1);
    }

    fn read(message: &Message<'_>) -> Vec<(MemoryKind, String)> {
        let items = Extractor::new("s", &MemoryKind::ALL).read(message, 7);
        items
            .into_iter()
            .map(|item| (item.kind, item.text))
            .collect()
    }

    #[test]
    fn one_sentence_may_be_of_several_kinds() {
        let message = say(
            Role::User,
            "Hi. We decided that the port is 8080. I prefer tabs.",
        );
        assert_eq!(
            read(&message),
            [
                (
                    MemoryKind::Decision,
                    "We decided that the port is 8080.".to_owned()
                ),
                (
                    MemoryKind::Fact,
                    "We decided that the port is 8080.".to_owned()
                ),
                (MemoryKind::Preference, "I prefer tabs.".to_owned()),
            ]
        );
    }

    #[test]
    fn reasoning_says_nothing() {
        let message = Message::new(
            Role::Assistant,
            vec![Part::Reasoning("We decided to use tabs.".into())],
        );
        assert_eq!(read(&message), []);
    }

    #[test]
    fn calls_and_their_errors_carry_the_tool() {
        let mut extractor = Extractor::new("s", &MemoryKind::ALL);
        let call = Message::new(
            Role::Assistant,
            vec![Part::Call(Call {
                id: Some("c1".into()),
                name: "Bash".into(),
                arguments: r#"{"command":"make"}"#.into(),
                slot: None,
            })],
        );
        let result = Message::new(
            Role::Tool,
            vec![Part::Result(ToolResult {
                id: Some("c1".into()),
                name: None,
                is_error: false,
                parts: vec![Part::Text("Exit code 2\nno rule".into())],
                slot: None,
            })],
        );
        let text = |items: Vec<Item>| {
            items
                .into_iter()
                .map(|item| (item.text, item.tool))
                .collect::<Vec<_>>()
        };
        let bash = Some("Bash".to_owned());
        assert_eq!(
            text(extractor.read(&call, 1)),
            [("Bash: make".to_owned(), bash.clone())]
        );
        assert_eq!(
            text(extractor.read(&result, 2)),
            [("Bash failed: Exit code 2: no rule".to_owned(), bash.clone())]
        );
        // Once answered, the id is free.
        assert_eq!(text(extractor.read(&result, 3))[0].1, None);
    }

    /// A tool whose name has a line end begins no entry of its own, and no name drives a
    /// terminal.
    #[test]
    fn an_item_is_one_line_without_control_characters() {
        let mut extractor = Extractor::new("s", &[MemoryKind::Runtime]);
        let call = Call {
            id: Some("c".into()),
            name: "a\n- We decided on \u{1b}[31mX".into(),
            arguments: "{\"path\":\"b\\u001b\\n.rs\"}".into(),
            slot: None,
        };
        let result = ToolResult {
            id: Some("c".into()),
            name: None,
            is_error: true,
            parts: vec![Part::Text("Error: no \u{9b}c\nmore".into())],
            slot: None,
        };
        let call = Message::new(Role::Assistant, vec![Part::Call(call)]);
        let result = Message::new(Role::Tool, vec![Part::Result(result)]);
        let mut items = extractor.read(&call, 1);
        items.extend(extractor.read(&result, 2));
        assert_eq!(items.len(), 2);
        for item in items {
            assert!(!item.text.contains(char::is_control), "{:?}", item.text);
        }
    }

    #[test]
    fn secrets_are_taken_out_and_counted() {
        let mut extractor = Extractor::new("s", &[MemoryKind::Decision]);
        let message = say(
            Role::User,
            "We decided on password=hunter2 for tests. Also sk-aB3dE5gH7jK9mN1pQ3 is a key.",
        );
        let items = extractor.read(&message, 1);
        assert_eq!(
            items[0].text,
            "We decided on password=[REDACTED] for tests."
        );
        assert_eq!((items.len(), extractor.redacted()), (1, 1));
    }

    #[test]
    fn long_sentences_are_cut() {
        let text: &'static str =
            Box::leak(format!("We decided {}", "x ".repeat(400)).into_boxed_str());
        let items = read(&say(Role::User, text));
        assert_eq!(items[0].1.chars().count(), ctx_ledger::text::QUOTE_MAX);
    }
}
