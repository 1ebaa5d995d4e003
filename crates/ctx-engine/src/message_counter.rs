//! Counts the tokens that a model charges for messages.
//!
//! Overhead is counted according to OpenAI's cookbook, "How to count tokens with tiktoken"
//! (`num_tokens_from_messages`). A message costs 3 tokens plus those in its role, a name costs 1
//! token plus those in the name, and each conversation costs 3 tokens that prime the reply. The
//! cookbook does not cover the following cases, for which we use our own rules:
//!
//! - a call is counted by its name and by its arguments as written; its id and the surrounding JSON
//!   are not counted;
//! - a result is counted by its content;
//! - reasoning is counted as text, because reasoning in a record is sent back to the API; it is
//!   counted by its signature (one token per [`SEALED`] characters) if that results in more tokens,
//!   because the visible text may be only a summary of the reasoning that is charged for;
//! - an image is counted by its size, as the API charges for it; an image of unknown size, audio or
//!   a document is counted as 1,000 tokens; base64 is never counted as text;
//! - a part of an unknown kind is counted by its JSON text; long base64 in that text is counted
//!   like a signature, because APIs return encrypted reasoning in this form.
//!
//! A record does not say to which API an image will be sent, so the rule depends on the form of the
//! image:
//! - Anthropic (`image`, and `file` in an opencode session): 1 token for each patch of 28 by 28
//!   pixels; an image is scaled down if an edge exceeds 1,568 pixels or there are more than 1,568
//!   patches
//!   (platform.claude.com/docs/en/build-with-claude/vision; the newest models take up to 4,784);
//! - OpenAI (`image_url`, `input_image`): an image is scaled down to fit into 2,048 by 2,048
//!   pixels, and then until its shorter edge is at most 768; it costs 85 tokens, plus 170 for each
//!   tile of 512 by 512 pixels; with low detail, it costs only 85 tokens (gpt-4o;
//!   developers.openai.com/api/docs/guides/images-vision);
//! - Gemini (`inlineData`): an image costs 258 tokens if neither edge exceeds 384 pixels, and
//!   otherwise 258 tokens for each tile of 768 by 768 pixels
//!   (ai.google.dev/gemini-api/docs/tokens).

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use ctx_format::{Media, Message, Object, Outline, Part, ToolResult};
use ctx_policy::trigger::Size;
use ctx_tokens::{Encoding, TokenCounter};
use derive_more::{Add, AddAssign, Sum};

/// The overhead of a message, in tokens: 3, plus 1 for the role, which is a single token in the
/// encodings of chat models.
pub const PER_MESSAGE: u64 = 4;

/// The overhead of a name, in tokens, not including the name itself.
pub const PER_NAME: u64 = 1;

/// The number of tokens that prime the model's reply, counted once per conversation.
pub const PRIMING: u64 = 3;

/// The estimated number of tokens in audio, in a document, or in an image of unknown size.
const PER_MEDIA: u64 = 1_000;

/// The number of characters per token in signatures and encrypted text. Claude charges one token
/// per 5.0 characters, and about 1.2 of Claude's tokens correspond to one of ours (docs/tokens.md).
pub const SEALED: u64 = 6;

/// Base64 strings of at least this many characters are not counted as text.
const LEAST_BASE64: usize = 256;

/// A number for each kind of content, such as its number of tokens or parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, AddAssign, Sum)]
pub struct ByKind {
    /// Text and refusals.
    pub text: u64,
    /// The model's reasoning.
    pub reasoning: u64,
    /// Tool calls: names and arguments.
    pub calls: u64,
    /// Text in tool results.
    pub results: u64,
    /// Images, audio and documents anywhere in a message, counted by size or estimated.
    pub media: u64,
    /// Parts of unknown kinds, counted as JSON text.
    pub other: u64,
    /// The overhead of messages and names, and the tokens that prime replies.
    pub overhead: u64,
}

impl ByKind {
    /// Returns the sum of all kinds.
    pub fn total(&self) -> u64 {
        self.rows().iter().map(|(_, number)| number).sum()
    }

    /// Returns each kind with its name, in a fixed order.
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

/// Counts the tokens of messages in one encoding. A counter is cheap to create and copy.
#[derive(Clone, Copy)]
pub struct MessageCounter {
    /// The encoding that this counter uses.
    pub encoding: Encoding,
    texts: &'static dyn TokenCounter,
}

impl MessageCounter {
    /// Creates a counter for `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, texts: encoding.counter() }
    }

    /// Returns the number of tokens in `text`, without any overhead.
    pub fn text(&self, text: &str) -> u64 {
        self.texts.count(text)
    }

    /// Returns the number of tokens in a message, including overhead.
    pub fn message(&self, message: &Message<'_>) -> ByKind {
        self.message_of(message, |part| self.part(part))
    }

    /// Like [`Self::message`], but calls `count` once for each part to get its token count.
    pub fn message_of(
        &self,
        message: &Message<'_>,
        count: impl FnMut(&Part<'_>) -> ByKind,
    ) -> ByKind {
        let mut tokens: ByKind = message.parts.iter().map(count).sum();
        tokens.reasoning += sealed(message, tokens.reasoning);
        // A record that continues a message has no overhead of its own.
        if !message.continues {
            let name = message.name.as_deref();
            tokens.overhead += PER_MESSAGE + name.map_or(0, |name| PER_NAME + self.text(name));
        }
        tokens
    }

    /// Returns the number of tokens in one part of a message.
    pub fn part(&self, part: &Part<'_>) -> ByKind {
        let mut tokens = ByKind::default();
        match part {
            Part::Text(text) | Part::Refusal(text) => tokens.text = self.text(text),
            Part::Reasoning(text) => tokens.reasoning = self.text(text),
            Part::Call(call) => tokens.calls = self.text(&call.name) + self.text(&call.arguments),
            Part::Result(result) => tokens = self.result(result),
            Part::Media(media) => tokens.media = image_tokens(media).unwrap_or(PER_MEDIA),
            Part::Opaque(raw) => tokens.other = self.opaque(raw),
        }
        tokens
    }

    /// Returns the number of tokens in a part of an unknown kind.
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

    /// Returns the number of tokens in a tool result. Text in the result is counted under results
    /// rather than under text.
    pub fn result(&self, result: &ToolResult<'_>) -> ByKind {
        let inner: ByKind = result.parts.iter().map(|part| self.part(part)).sum();
        ByKind {
            results: inner.total() - inner.media - inner.other,
            media: inner.media,
            other: inner.other,
            ..ByKind::default()
        }
    }
}

/// Returns by how many tokens the signatures of a message's reasoning exceed the visible text,
/// which has `said` tokens.
pub(crate) fn sealed(message: &Message<'_>, said: u64) -> u64 {
    (message.sealed / SEALED).saturating_sub(said)
}

/// Converts a count or an index to 32 bits. Four billion is enough for anything in a session.
pub(crate) fn saturating_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Adds a message, its tokens and the bytes in its tool results to the size of a session. The token
/// counts add up to the number that `ctx-count` reports. Returns the message's token count.
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

/// Returns the length in bytes of the text in a message's tool results. Parts of unknown kinds are
/// counted by their JSON text.
pub fn tool_bytes(message: &Message<'_>) -> u64 {
    message.results().map(result_bytes).sum()
}

/// Returns the length in bytes of the text in one tool result.
pub(crate) fn result_bytes(result: &ToolResult<'_>) -> u64 {
    let bytes = |part: &Part<'_>| match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => text.len() as u64,
        Part::Opaque(raw) => raw.len() as u64,
        Part::Media(_) | Part::Call(_) | Part::Result(_) => 0,
    };
    result.parts.iter().map(bytes).sum()
}

/// The number of bytes of base64 in which to look for an image's dimensions. In a photo, an
/// embedded preview may come first.
const LOOK_AT: usize = 128 << 10;

/// The longest edge and the largest number of patches that an image can have without being scaled
/// down for Claude.
const LONGEST: u64 = 1_568;
const MOST_PATCHES: u64 = 1_568;
const PATCH: u64 = 28;

/// Returns the number of tokens in an image, or `None` if its size is not in the record.
pub fn image_tokens(media: &Media<'_>) -> Option<u64> {
    let media = media.original();
    let rule = match media.kind {
        "image" | "file" => claude,
        "image_url" | "input_image" | "image_generation_call" => openai,
        "inlineData" => gemini,
        _ => return None,
    };
    let object = Object::parse(&media.raw).ok()?;
    let within = ["source", "image_url", "imageUrl", "inlineData"];
    let inner = within.iter().find_map(|key| object.object_of(key));
    let objects = || inner.iter().chain([&object]);
    // An image that is sent at low detail costs the same at any size.
    if objects().any(|object| object.text_of("detail").as_deref() == Some("low")) {
        return Some(85);
    }
    let keys = ["data", "url", "image_url", "result"];
    let data = objects().find_map(|object| keys.iter().find_map(|key| object.text_of(key)))?;
    let (width, height) = size(&data)?;
    Some(rule(width, height))
}

/// Reads the width and height of an image from the beginning of `data`, which is base64 or a data
/// URL.
fn size(data: &str) -> Option<(u64, u64)> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let data = match data.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?.1,
        None => data,
    };
    let begin = data.get(..LOOK_AT).unwrap_or(data);
    // The base64 was cut and has no padding, so only a multiple of four characters can be decoded.
    let begin = begin.get(..begin.len() / 4 * 4)?;
    let bytes = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT).decode(begin).ok()?;
    let size = imagesize::blob_size(&bytes).ok()?;
    let (width, height) = (size.width as u64, size.height as u64);
    let edges = 1..=u64::from(u32::MAX);
    (edges.contains(&width) && edges.contains(&height)).then_some((width, height))
}

fn claude(width: u64, height: u64) -> u64 {
    let (long, short) = (width.max(height), width.min(height));
    let patches = |long: u64, short: u64| long.div_ceil(PATCH) * short.div_ceil(PATCH);
    // The image is scaled down in proportion until its longer edge fits.
    let edges = (1..=long.min(LONGEST)).rev();
    let mut sizes = edges.map(|edge| {
        let other = (short * edge + long / 2) / long;
        patches(edge, other.max(1))
    });
    sizes.find(|patches| *patches <= MOST_PATCHES).unwrap_or(1)
}

fn openai(width: u64, height: u64) -> u64 {
    let fit = |(width, height): (u64, u64), edge: u64, most: u64| {
        if edge <= most {
            return (width, height);
        }
        let scaled = |length: u64| ((length * most + edge / 2) / edge).max(1);
        (scaled(width), scaled(height))
    };
    let (width, height) = fit((width, height), width.max(height), 2_048);
    let (width, height) = fit((width, height), width.min(height), 768);
    85 + 170 * width.div_ceil(512) * height.div_ceil(512)
}

fn gemini(width: u64, height: u64) -> u64 {
    if width.max(height) <= 384 {
        return 258;
    }
    258 * width.div_ceil(768).saturating_mul(height.div_ceil(768)).min(1 << 20)
}

#[cfg(test)]
mod tests {
    use ctx_format::{Call, Message, Part, Role, ToolResult};
    use ctx_tokens::Encoding;

    use super::{ByKind, MessageCounter, PER_MEDIA, PER_MESSAGE, PRIMING, sealed};

    fn message(role: Role, parts: Vec<Part<'_>>) -> Message<'_> {
        Message::new(role, parts)
    }

    /// The example in OpenAI's cookbook, which says that the API counts 129 tokens for
    /// gpt-3.5-turbo and gpt-4, and 124 tokens for gpt-4o.
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
            parts: vec![Part::Text("hello world".into()), image(), Part::Opaque("7".into())],
            ..ToolResult::default()
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
        // Short strings and strings that contain words are counted as text.
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
}

#[cfg(test)]
mod size_tests {
    use ctx_format::dialect::{Anthropic, Chat};
    use ctx_format::{Dialect, Object};
    use ctx_tokens::Encoding;

    use crate::count::Tally;
    use crate::message_counter::MessageCounter;
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
        assert_eq!((chat.messages, chat.conversation(), chat.turns, chat.tool_bytes), (5, 4, 2, 5));
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

#[cfg(test)]
mod image_tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use ctx_format::Part;

    use super::{claude, gemini, image_tokens, openai};

    /// Returns the beginning of a PNG file with the given width and height.
    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0]);
        STANDARD.encode(bytes)
    }

    fn counted(kind: &'static str, raw: &str) -> Option<u64> {
        match Part::media(kind, raw) {
            Part::Media(media) => image_tokens(&media),
            _ => None,
        }
    }

    /// The sizes and token counts come from the vendors' documentation and from published
    /// measurements.
    #[test]
    fn what_is_published_is_what_is_counted() {
        for (width, height, expected) in [
            (200, 200, 64),
            (1_000, 1_000, 1_296),
            (1_092, 1_092, 1_521),
            (1_280, 720, 1_196),
            (1_920, 1_080, 1_560),
            (1_080, 1_920, 1_560),
            (1, 1, 1),
        ] {
            assert_eq!(claude(width, height), expected, "{width} by {height}");
        }
        for (width, height, expected) in
            [(1_024, 1_024, 765), (2_048, 4_096, 1_105), (512, 512, 255), (1, 1, 255)]
        {
            assert_eq!(openai(width, height), expected, "{width} by {height}");
        }
        for (width, height, expected) in [(384, 384, 258), (385, 10, 258), (769, 768, 516)] {
            assert_eq!(gemini(width, height), expected, "{width} by {height}");
        }
    }

    #[test]
    fn the_size_is_found_in_the_form_of_each_api() {
        let data = png(1_024, 1_024);
        for (kind, raw, expected) in [
            (
                "image",
                format!(
                    r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
                ),
                1_369,
            ),
            (
                "image",
                format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png"}}"#),
                1_369,
            ),
            (
                "image_url",
                format!(
                    r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#
                ),
                765,
            ),
            (
                "image_url",
                format!(
                    r#"{{"type":"image_url","image_url":{{"url":"https://x","detail":"low","a":"{data}"}}}}"#
                ),
                85,
            ),
            (
                "input_image",
                format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}"#),
                765,
            ),
            (
                "inlineData",
                format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#),
                1_032,
            ),
        ] {
            assert_eq!(counted(kind, &raw), Some(expected), "{raw}");
        }
    }

    #[test]
    fn other_images_are_read_too() {
        let data = |bytes: &[u8]| {
            let data = STANDARD.encode(bytes);
            counted("image", &format!(r#"{{"data":"{data}"}}"#))
        };
        assert_eq!(data(b"GIF89a\x38\x00\x1d\x00\0\0\0\0"), Some(2 * 2));
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04\0\0\xff\xc0\x00\x0b\x08\x00\x1d\x00\x38\x03\x01\x22\0\x02\x11\x01";
        assert_eq!(data(jpeg), Some(2 * 2));
        let webp = b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x37\0\0\x1c\0\0\0\0\0\0";
        assert_eq!(data(webp), Some(2 * 2));
    }

    #[test]
    fn what_tells_no_size_has_none() {
        for (kind, raw) in [
            ("document", format!(r#"{{"data":"{}"}}"#, png(10, 10))),
            ("image", r#"{"source":{"type":"url","url":"https://x/y.png"}}"#.to_owned()),
            ("image", r#"{"data":"aGVsbG8gd29ybGQ="}"#.to_owned()),
            ("image", format!(r#"{{"data":"{}"}}"#, png(0, 10))),
            ("image", r#"{"data":7}"#.to_owned()),
            ("image_url", r#"{"image_url":{"url":"data:image/png,€"}}"#.to_owned()),
            ("image", "no JSON".to_owned()),
        ] {
            assert_eq!(counted(kind, &raw), None, "{raw}");
        }
        let huge = format!(r#"{{"data":"{}"}}"#, png(u32::MAX, u32::MAX));
        assert_eq!(counted("image", &huge), Some(39 * 39));
        assert!(counted("inlineData", &huge).is_some() && counted("image_url", &huge).is_some());
    }
}
