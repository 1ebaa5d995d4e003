//! The kinds of content in a context. A profile shows how much of the context window each kind
//! takes up.

use std::ops::AddAssign;

use ctx_engine::message_counter::{ByKind, MessageCounter};
use ctx_format::{Message, Part, Role};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

/// A kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
pub enum ContentKind {
    /// System and developer messages.
    System,
    /// A summary written by a compaction.
    Summary,
    /// The user's text, images and other parts.
    User,
    /// The model's text.
    Assistant,
    /// The model's reasoning.
    Reasoning,
    /// Tool calls: names and arguments.
    Calls,
    /// Tool results, including images in them.
    Results,
}

impl ContentKind {
    /// All kinds, in the order in which the chart stacks them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the kind of a message's text.
    pub(super) fn of_text(role: Role, is_summary: bool) -> Self {
        match role {
            _ if is_summary => Self::Summary,
            Role::System | Role::Developer => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool | Role::Function => Self::Results,
            // A message with any other role is a list of messages that replaces everything before
            // it.
            Role::Other => Self::Summary,
        }
    }

    /// Returns the kind of a part in a message whose text is of the kind `text`.
    fn of_part(part: &Part<'_>, text: Self) -> Self {
        match part {
            _ if text == Self::System => text,
            Part::Reasoning(_) => Self::Reasoning,
            Part::Call(_) => Self::Calls,
            Part::Result(_) => Self::Results,
            Part::Text(_) | Part::Refusal(_) | Part::Media(_) | Part::Opaque(_) => text,
        }
    }
}

/// The number of tokens for each kind of content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokensByKind([u64; 7]);

impl TokensByKind {
    /// Returns the total number of tokens of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the number of tokens of the given kind.
    pub fn of(&self, kind: ContentKind) -> u64 {
        self.0[kind as usize]
    }

    /// Returns each kind with its tokens, in the order of [`ContentKind::ALL`].
    pub fn rows(&self) -> impl Iterator<Item = (ContentKind, u64)> {
        ContentKind::ALL.iter().copied().zip(self.0)
    }

    pub(super) fn add(&mut self, kind: ContentKind, tokens: u64) {
        self.0[kind as usize] += tokens;
    }
}

impl AddAssign for TokensByKind {
    fn add_assign(&mut self, other: Self) {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            *mine += more;
        }
    }
}

/// Token counts for a message.
pub(super) struct Counted {
    /// The message's tokens by kind.
    pub(super) kinds: TokensByKind,
    /// The kind and token count of each part of the message.
    pub(super) parts: Vec<(ContentKind, u64)>,
}

/// Counts a message whose text is of the kind `text`.
pub(super) fn count(counter: &MessageCounter, message: &Message<'_>, text: ContentKind) -> Counted {
    let mut parts = Vec::with_capacity(message.parts.len());
    let (mut kinds, mut said) = (TokensByKind::default(), 0);
    let tokens: ByKind = counter.message_of(message, |part| {
        let tokens = counter.part(part);
        let kind = ContentKind::of_part(part, text);
        said += tokens.reasoning;
        kinds.add(kind, tokens.total());
        parts.push((kind, tokens.total()));
        tokens
    });
    // Encrypted reasoning is not a separate part, so its tokens are added here.
    let sealed = tokens.reasoning.saturating_sub(said);
    if sealed > 0 {
        kinds.add(ContentKind::Reasoning, sealed);
        if let Some((_, part)) = parts.iter_mut().find(|(kind, _)| *kind == ContentKind::Reasoning)
        {
            *part += sealed;
        }
    }
    // In a message that has only results, the message's overhead is counted as results.
    let is_of_results =
        !parts.is_empty() && parts.iter().all(|(kind, _)| *kind == ContentKind::Results);
    let frame = if is_of_results { ContentKind::Results } else { text };
    kinds.add(frame, tokens.overhead);
    Counted { kinds, parts }
}

#[cfg(test)]
mod tests {
    use ctx_engine::message_counter::MessageCounter;
    use ctx_format::{Call, Message, Part, Role, ToolResult};
    use ctx_tokens::Encoding;

    use super::{ContentKind, count};

    fn text(words: &'static str) -> Part<'static> {
        Part::Text(words.into())
    }

    fn result() -> Part<'static> {
        Part::Result(ToolResult {
            parts: vec![text("12345678"), Part::media("image", "{}")],
            ..ToolResult::default()
        })
    }

    /// Returns the number of tokens of each kind, without empty kinds.
    fn kinds(role: Role, is_summary: bool, parts: Vec<Part<'static>>) -> Vec<(ContentKind, u64)> {
        let chars = MessageCounter::new(Encoding::Chars4);
        let message = Message { sealed: 60, ..Message::new(role, parts) };
        let counted = count(&chars, &message, ContentKind::of_text(role, is_summary));
        assert_eq!(counted.kinds.total(), chars.message(&message).total());
        counted.kinds.rows().filter(|(_, it)| *it > 0).collect()
    }

    /// Each part of a message has one kind, and the kinds' tokens add up to the message's tokens.
    #[test]
    fn each_part_is_of_one_kind() {
        let call = Part::Call(Call {
            id: None,
            name: "read".into(),
            arguments: "{\"a\":11}".into(),
            slot: None,
        });
        let reply = vec![text("1234"), Part::Reasoning("1234".into()), call];
        assert_eq!(
            kinds(Role::Assistant, false, reply),
            [(ContentKind::Assistant, 5), (ContentKind::Reasoning, 10), (ContentKind::Calls, 3)]
        );
        let sealed = (ContentKind::Reasoning, 10);
        assert_eq!(
            kinds(Role::User, false, vec![result()]),
            [sealed, (ContentKind::Results, 1006)]
        );
        assert_eq!(
            kinds(Role::User, false, vec![result(), text("1234")]),
            [(ContentKind::User, 5), sealed, (ContentKind::Results, 1002)]
        );
        for (role, is_summary, kind) in [
            (Role::Developer, false, ContentKind::System),
            (Role::User, true, ContentKind::Summary),
            (Role::Other, false, ContentKind::Summary),
            (Role::Function, false, ContentKind::Results),
        ] {
            assert!(kinds(role, is_summary, vec![text("1234")]).contains(&(kind, 5)));
        }
    }
}
