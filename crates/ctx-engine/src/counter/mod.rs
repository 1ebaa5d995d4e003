//! Counts messages: what a model charges for one.
//!
//! The frame of a message is counted by the rule OpenAI publishes in its cookbook, "How to count
//! tokens with tiktoken" (`num_tokens_from_messages`): 3 tokens per message and the tokens of its
//! role, 1 per name and the tokens of the name, and 3 per conversation, which prime the reply. That
//! rule leaves these open, so they are ours:
//!
//! - a call counts as the tokens of its name and of its arguments as written; ids of calls and the
//!   JSON around them do not count;
//! - a result counts as the tokens of its content;
//! - reasoning counts as text, since it is sent back if the record keeps it; or by its signature,
//!   one token for [`SEALED`] characters, if that is more: the charged text is sealed in it, and
//!   the visible text may be a summary;
//! - an image counts by its size, as the API charges for it ([`crate::counter::image`]); an image
//!   of unknown size, a sound or a document counts 1,000 tokens; base64 never counts as text;
//! - a part of an unknown kind counts as its JSON text, and long base64 in it like a signature: the
//!   encrypted reasoning of APIs.

pub mod image;

use std::ops::AddAssign;

use ctx_format::{Message, Outline, Part, Tag, ToolResult};
use ctx_policy::trigger::Size;
use ctx_tokens::{Encoding, TokenCounter};

/// The frame of a message: 3, and 1 for its role, which is one token in the
/// encodings of the chat models.
pub const PER_MESSAGE: u64 = 4;

/// Additional tokens for a name.
pub const PER_NAME: u64 = 1;

/// The tokens that prime the reply, once per conversation.
pub const PRIMING: u64 = 3;

/// An image whose size is not known, a sound, a document: a flat estimate.
const PER_MEDIA: u64 = 1_000;

/// So many characters of a signature, or of what is encrypted, are a token. Of the tokens that
/// Claude charges one has 5.0, and of these there are some 1.2 on one of the encodings here
/// (docs/tokens.md).
pub const SEALED: u64 = 6;

/// From so many characters on a string of nothing but the letters of base64 is no text.
const LEAST_BASE64: usize = 256;

/// A number for each kind of content: the tokens of a message, of many messages,
/// or how many parts of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind {
    /// Text and refusals.
    pub text: u64,
    /// The model's reasoning.
    pub reasoning: u64,
    /// Tool calls: names and arguments.
    pub calls: u64,
    /// Text of tool results.
    pub results: u64,
    /// Images, sounds, documents, wherever they stand; by size, or estimated.
    pub media: u64,
    /// Parts of unknown kinds, as JSON text.
    pub other: u64,
    /// Frames of messages, their names, the priming of replies.
    pub overhead: u64,
}

impl ByKind {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.rows().iter().map(|(_, number)| number).sum()
    }

    /// Each kind by its name, in a fixed order.
    pub fn rows(&self) -> [(&'static str, u64); 7] {
        [
            ("text", self.text),
            ("reasoning", self.reasoning),
            ("calls", self.calls),
            ("results", self.results),
            ("media", self.media),
            ("other", self.other),
            ("overhead", self.overhead),
        ]
    }
}

impl AddAssign for ByKind {
    fn add_assign(&mut self, other: Self) {
        self.text += other.text;
        self.reasoning += other.reasoning;
        self.calls += other.calls;
        self.results += other.results;
        self.media += other.media;
        self.other += other.other;
        self.overhead += other.overhead;
    }
}

impl std::iter::Sum for ByKind {
    fn sum<I: Iterator<Item = Self>>(tokens: I) -> Self {
        tokens.fold(Self::default(), |mut sum, tokens| {
            sum += tokens;
            sum
        })
    }
}

/// Counts messages with one encoding. Cheap to make and to copy.
#[derive(Clone, Copy)]
pub struct MessageCounter {
    encoding: Encoding,
    texts: &'static dyn TokenCounter,
}

impl MessageCounter {
    /// A counter for `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, texts: encoding.counter() }
    }

    /// The encoding it counts with.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The tokens of a text alone, without any frame.
    pub fn text(&self, text: &str) -> u64 {
        self.texts.count(text)
    }

    /// The tokens of a message with its frame.
    pub fn message(&self, message: &Message<'_>) -> ByKind {
        self.message_of(message, |part| self.part(part))
    }

    /// The same, where the tokens of its parts come from `count`, which is asked once for each.
    pub fn message_of(
        &self,
        message: &Message<'_>,
        count: impl FnMut(&Part<'_>) -> ByKind,
    ) -> ByKind {
        let mut tokens: ByKind = message.parts.iter().map(count).sum();
        tokens.reasoning += sealed(message, tokens.reasoning);
        // The continuation of a message has no frame of its own.
        if !message.continues {
            let name = message.name.as_deref();
            tokens.overhead += PER_MESSAGE + name.map_or(0, |name| PER_NAME + self.text(name));
        }
        tokens
    }

    /// The tokens of some parts of a message.
    fn parts(&self, parts: &[Part<'_>]) -> ByKind {
        parts.iter().map(|part| self.part(part)).sum()
    }

    /// The tokens of one part of a message.
    pub fn part(&self, part: &Part<'_>) -> ByKind {
        let mut tokens = ByKind::default();
        match part {
            Part::Text(text) | Part::Refusal(text) => tokens.text = self.text(text),
            Part::Reasoning(text) => tokens.reasoning = self.text(text),
            Part::Call(call) => tokens.calls = self.text(&call.name) + self.text(&call.arguments),
            Part::Result(result) => tokens = self.result(result),
            Part::Media(media) => tokens.media = image::tokens(media).unwrap_or(PER_MEDIA),
            Part::Opaque(raw) => tokens.other = self.opaque(raw),
        }
        tokens
    }

    /// The tokens of a part of an unknown kind.
    fn opaque(&self, raw: &str) -> u64 {
        let is_base64 = |text: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
            text.len() >= LEAST_BASE64 && text.bytes().all(is_letter)
        };
        if raw.len() < LEAST_BASE64 || !raw.split('"').any(is_base64) {
            return self.text(raw);
        }
        let (sealed, text): (Vec<&str>, Vec<&str>) = raw.split('"').partition(|it| is_base64(it));
        let sealed: u64 = sealed.iter().map(|it| it.len() as u64 / SEALED).sum();
        sealed + self.text(&text.join("\""))
    }

    /// The tokens of a result: text in it is a result, not a text of the conversation.
    pub fn result(&self, result: &ToolResult<'_>) -> ByKind {
        let inner = self.parts(&result.parts);
        ByKind {
            results: inner.total() - inner.media - inner.other,
            media: inner.media,
            other: inner.other,
            ..ByKind::default()
        }
    }

    /// The total of a record's message, taken from its tag where that is still
    /// valid: counted with this encoding, the record (`bytes` long without tag
    /// and line end) unchanged since. Else `message` is read and counted; a
    /// record without a message has no tokens.
    pub fn total<'m>(
        &self,
        tag: Option<&Tag>,
        bytes: u64,
        message: impl FnOnce() -> Option<Message<'m>>,
    ) -> u64 {
        tag.and_then(|tag| tag.valid_tokens(self.encoding.name(), bytes))
            .unwrap_or_else(|| message().map_or(0, |message| self.message(&message).total()))
    }
}

/// How much more a message's sealed reasoning counts than its text of `said` tokens.
pub(crate) fn sealed(message: &Message<'_>, said: u64) -> u64 {
    (message.sealed / SEALED).saturating_sub(said)
}

/// Adds a message to a session's size, with its tokens and the bytes of its tool results. The
/// sum of tokens is what `ctx-count` says of the session. Returns those of the message.
pub fn add_to_size(
    size: &mut Size,
    outline: &Outline<'_>,
    message: &Message<'_>,
    counter: &MessageCounter,
) -> u64 {
    if size.tokens == 0 {
        size.tokens = PRIMING;
    }
    size.add_outline(outline);
    let tokens = counter.message(message).total();
    size.tokens += tokens;
    size.tool_bytes += tool_bytes(message);
    tokens
}

/// Bytes of the text in the tool results of a message; of a part of an unknown
/// kind, of its JSON text.
pub fn tool_bytes(message: &Message<'_>) -> u64 {
    message.results().map(result_bytes).sum()
}

/// Bytes of the text in one tool result.
pub(crate) fn result_bytes(result: &ToolResult<'_>) -> u64 {
    result.parts.iter().map(text_bytes).sum()
}

fn text_bytes(part: &Part<'_>) -> u64 {
    let length = match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => text.len(),
        Part::Opaque(raw) => raw.len(),
        Part::Media(_) | Part::Call(_) | Part::Result(_) => 0,
    };
    length as u64
}

#[cfg(test)]
mod tests {
    use ctx_format::{Call, Denial, Message, Part, Role, Tag, ToolResult};
    use ctx_tokens::Encoding;

    use super::{ByKind, MessageCounter, PER_MEDIA, PER_MESSAGE, PRIMING, sealed};

    fn message(role: Role, parts: Vec<Part<'_>>) -> Message<'_> {
        Message::new(role, parts)
    }

    /// The example of the cookbook, whose count for gpt-3.5-turbo, gpt-4 and
    /// gpt-4o the API confirms there: 129, 129 and 124.
    #[test]
    fn the_published_example_has_the_published_count() {
        let example = [
            (
                Role::System,
                None,
                "You are a helpful, pattern-following assistant that translates corporate \
                 jargon into plain English.",
            ),
            (Role::System, Some("example_user"), "New synergies will help drive top-line growth."),
            (
                Role::System,
                Some("example_assistant"),
                "Things working well together will increase revenue.",
            ),
            (
                Role::System,
                Some("example_user"),
                "Let's circle back when we have more bandwidth to touch base on opportunities \
                 for increased leverage.",
            ),
            (
                Role::System,
                Some("example_assistant"),
                "Let's talk later when we're less busy about how to do better.",
            ),
            (
                Role::User,
                None,
                "This late pivot means we don't have time to boil the ocean for the client \
                 deliverable.",
            ),
        ];
        for (encoding, expected) in [(Encoding::Cl100kBase, 129), (Encoding::O200kBase, 124)] {
            let counter = MessageCounter::new(encoding);
            let tokens: ByKind = example
                .iter()
                .map(|(role, name, text)| {
                    counter.message(&Message {
                        name: name.map(Into::into),
                        ..message(*role, vec![Part::Text((*text).into())])
                    })
                })
                .sum();
            assert_eq!(tokens.total() + PRIMING, expected, "{encoding}");
        }
    }

    #[test]
    fn a_role_is_one_token_in_the_encodings_of_chat_models() {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            for role in [
                Role::System,
                Role::Developer,
                Role::User,
                Role::Assistant,
                Role::Tool,
                Role::Function,
            ] {
                assert_eq!(encoding.counter().count(role.as_str()), PER_MESSAGE - 3);
            }
        }
    }

    #[test]
    fn every_kind_of_part_has_its_place() {
        let counter = MessageCounter::new(Encoding::O200kBase);
        let call = Part::Call(Call {
            id: Some("call_0123456789".into()),
            name: "ls".into(),
            arguments: "{}".into(),
            slot: None,
        });
        let image = || Part::media("image", "{}");
        let result = Part::Result(ToolResult {
            id: Some("call_0123456789".into()),
            name: Some("ls".into()),
            is_error: false,
            denial: Denial::None,
            parts: vec![Part::Text("hello world".into()), image(), Part::Opaque("7".into())],
            slot: None,
        });
        let parts = vec![
            Part::Text("hello world".into()),
            Part::Refusal("no".into()),
            Part::Reasoning("hello".into()),
            call,
            result,
            image(),
            Part::Opaque("{}".into()),
        ];
        let tokens = counter.message(&message(Role::Assistant, parts));
        let expected = ByKind {
            text: 2 + 1,
            reasoning: 1,
            calls: 1 + 1,
            results: 2,
            media: 2 * PER_MEDIA,
            other: 1 + 1,
            overhead: 4,
        };
        assert_eq!(tokens, expected);
        assert_eq!(tokens.total(), 3 + 1 + 2 + 2 + 2_000 + 2 + 4);
    }

    #[test]
    fn reasoning_counts_by_its_signature_where_that_says_more() {
        let counter = MessageCounter::new(Encoding::O200kBase);
        let tokens = |signed, continues| {
            let said = Message {
                sealed: signed,
                continues,
                ..message(Role::Assistant, vec![Part::Reasoning("hello world".into())])
            };
            let tokens = counter.message(&said);
            assert_eq!(tokens.reasoning, 2 + sealed(&said, 2));
            (tokens.reasoning, tokens.overhead)
        };
        assert_eq!(tokens(0, false), (2, 4));
        assert_eq!(tokens(17, false), (2, 4));
        assert_eq!(tokens(18, false), (3, 4));
        assert_eq!(tokens(600, true), (100, 0));
    }

    #[test]
    fn what_is_encrypted_is_no_text() {
        let counter = MessageCounter::new(Encoding::O200kBase);
        let other = |raw: &str| counter.part(&Part::Opaque(raw.into())).other;
        let sealed = |letters: usize| "gAAAA_b-".repeat(letters / 8);
        let block = |data: &str| format!("{{\"type\":\"redacted_thinking\",\"data\":\"{data}\"}}");
        assert_eq!(
            other(&block(&sealed(1200))),
            200 + other("{\"type\":\"redacted_thinking\",\"data\":\"}")
        );
        assert_eq!(other(&format!("\"{}\"", sealed(600))), 100 + counter.text("\""));
        // A short one, and words, are text.
        let short = format!("\"{}\"", sealed(248));
        assert_eq!(other(&short), counter.text(&short));
        let words = format!("\"{}\"", "some words ".repeat(60));
        assert_eq!(other(&words), counter.text(&words));
    }

    #[test]
    fn four_characters_a_token_keep_the_frame() {
        let counter = MessageCounter::new(Encoding::Chars4);
        let said = message(Role::User, vec![Part::Text("12345678".into())]);
        assert_eq!(counter.message(&said).total(), 2 + PER_MESSAGE);
    }

    #[test]
    fn a_tag_is_believed_only_while_it_is_valid() {
        let counter = MessageCounter::new(Encoding::O200kBase);
        let said = || Some(message(Role::User, vec![Part::Text("hello world".into())]));
        let mut tag = Tag {
            bytes: Some(40),
            tokens: Some(77),
            encoding: Some("o200k_base".to_owned()),
            ..Tag::default()
        };
        assert_eq!(counter.total(Some(&tag), 40, || None), 77);
        assert_eq!(counter.total(Some(&tag), 41, said), 6);
        tag.encoding = Some("cl100k_base".to_owned());
        assert_eq!(counter.total(Some(&tag), 40, said), 6);
        assert_eq!(counter.total(None, 40, said), 6);
        assert_eq!(counter.total(None, 40, || None), 0);
    }
}

#[cfg(test)]
mod size_tests {
    use ctx_format::dialect::{Anthropic, Chat};
    use ctx_format::{Dialect, Object};
    use ctx_tokens::Encoding;

    use crate::count::Tally;
    use crate::counter::MessageCounter;
    use ctx_policy::trigger::Size;

    fn measured(dialect: &dyn Dialect, records: &[&str]) -> Size {
        let counter = MessageCounter::new(Encoding::default());
        let (mut size, mut tally) = (Size::default(), Tally::default());
        if !records.is_empty() {
            tally.begin();
        }
        for text in records {
            let object = Object::parse(text).expect("an object");
            let outline = dialect.outline(&object).expect("a message");
            let message = dialect.message(&object).expect("a message");
            super::add_to_size(&mut size, &outline, &message, &counter);
            tally.message(&counter, &message);
        }
        assert_eq!(size.tokens, tally.tokens.total());
        size
    }

    #[test]
    fn messages_turns_and_results_are_counted() {
        let chat = measured(
            &Chat,
            &[
                r#"{"role":"system","content":"be brief"}"#,
                r#"{"role":"user","content":"ls"}"#,
                r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
                r#"{"role":"tool","tool_call_id":"a","content":"a\n中"}"#,
                r#"{"role":"user","content":"and?"}"#,
            ],
        );
        assert_eq!((chat.messages, chat.turns, chat.tool_bytes), (4, 2, 5));
        let blocks = measured(
            &Anthropic,
            &[
                r#"{"role":"user","content":"look"}"#,
                r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"four"},{"type":"image","source":{}},{"a":1}]}]}"#,
            ],
        );
        assert_eq!((blocks.messages, blocks.turns), (3, 1));
        assert_eq!(blocks.tool_bytes, 4 + 7);
    }

    #[test]
    fn nothing_has_no_size() {
        assert_eq!(measured(&Chat, &[]), Size::default());
    }
}
