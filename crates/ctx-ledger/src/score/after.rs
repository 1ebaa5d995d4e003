//! The new session, as it is searched.

use std::borrow::Cow;
use std::collections::HashSet;

use ctx_redact::redact;
use ctx_transcript::{Handle, Message, Part, ToolResult, Zone};

use crate::arguments::{keys, leaves};
use crate::text::one_line;
use crate::{ItemKind, Ledger};

/// The new session: its texts, and the items that its own ledger finds.
///
/// Some items are the ledger's wording of an exchange, `Bash: cargo test: error: …`:
/// where the exchange stays, the words stand nowhere, and the item is there.
#[derive(Debug, Default)]
pub struct After {
    pub(super) texts: Texts,
    ledger: Ledger,
}

impl After {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next message.
    pub fn push(&mut self, message: &Message<'_>) {
        self.texts.push(message);
        self.ledger.push(0, message, Zone::Old);
    }

    /// All of its texts, one a line, white space folded, without secrets.
    pub fn as_str(&self) -> &str {
        &self.texts.text
    }

    /// The handles in it.
    pub fn handles(&self) -> Vec<Handle> {
        self.texts.handles()
    }

    /// Whether it has an identifier, also one that only its ledger tells from what
    /// it is written together with.
    pub(super) fn knows(&self, identifier: &str) -> bool {
        self.ledger.index().knows(identifier)
    }

    pub(super) fn items(&self) -> HashSet<(ItemKind, &str)> {
        let items = self.ledger.items().iter();
        items.map(|item| (item.kind, item.text.as_str())).collect()
    }
}

/// Texts on one line each, without secrets: as the ledger has its items.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) text: String,
}

impl Texts {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Everything that a message says: texts, arguments, results.
    fn push(&mut self, message: &Message<'_>) {
        self.parts(&message.parts);
    }

    /// One text.
    pub(super) fn add(&mut self, text: &str) {
        let (clean, _) = redact(text);
        self.text.push_str(&one_line(&clean));
        self.text.push('\n');
    }

    fn handles(&self) -> Vec<Handle> {
        let starts = self.text.match_indices("⟦ctx:");
        let handle = |(at, _): (usize, &str)| {
            let rest = &self.text[at..];
            let end = rest.find('⟧')? + '⟧'.len_utf8();
            rest[..end].parse().ok()
        };
        starts.filter_map(handle).collect()
    }

    fn parts(&mut self, parts: &[Part<'_>]) {
        for part in parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => self.add(text),
                Part::Call(call) => {
                    self.add(&call.name);
                    for key in keys(&call.arguments) {
                        self.add(&key);
                    }
                    match leaves(&call.arguments) {
                        Some(leaves) => leaves.iter().for_each(|leaf| self.add(&leaf.value)),
                        None => self.add(&call.arguments),
                    }
                }
                Part::Result(result) => self.parts(&result.parts),
                Part::Reasoning(_) | Part::Media(_) | Part::Opaque(_) => {}
            }
        }
    }
}

/// The texts of a message that a handle can stand for: each result as a whole, and
/// each text.
pub(super) fn originals<'m>(message: &'m Message<'_>) -> Vec<Cow<'m, str>> {
    let mut found: Vec<_> = message.results().filter_map(ToolResult::text).collect();
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Cow::Borrowed(text.as_ref())),
        _ => None,
    });
    found.extend(texts);
    found
}
