//! The new session, as it is searched.

use std::borrow::Cow;

use ctx_transcript::redact::redact;
use ctx_transcript::{Handle, Message, Part};

use crate::ledger::leaves;
use crate::text::one_line;

/// Texts on one line each, without secrets: as the ledger has its items.
#[derive(Debug, Default)]
pub struct Texts {
    pub(super) text: String,
}

impl Texts {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that a message says: texts, arguments, results.
    pub fn push(&mut self, message: &Message<'_>) {
        self.parts(&message.parts);
    }

    /// One text.
    pub fn add(&mut self, text: &str) {
        let (clean, _) = redact(text);
        self.text.push_str(&one_line(&clean));
        self.text.push('\n');
    }

    /// All of it, one text a line.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The handles in it.
    pub fn handles(&self) -> Vec<Handle> {
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
    let mut found: Vec<_> = message
        .results()
        .filter_map(|result| result.text())
        .collect();
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Cow::Borrowed(text.as_ref())),
        _ => None,
    });
    found.extend(texts);
    found
}
