//! What another agent says, in a line of its own: `inter_agent_communication`, in the files of
//! some versions. The client makes an item `agent_message` of it before it sends it
//! (`to_model_input_item` in codex-rs/protocol); newer ones write that item.

use crate::compaction::LineText;
use crate::{Object, Part, json};

/// The payload of such a line.
pub(super) struct Agent<'a>(Object<'a>);

impl<'a> Agent<'a> {
    pub(super) fn of(payload: Object<'a>) -> Self {
        Self(payload)
    }

    /// Whether the client loads it: these members have no default.
    pub(super) fn is_loaded(&self) -> bool {
        let texts = ["author", "recipient", "content"];
        let is_flag = matches!(self.0.get("trigger_turn"), Some("true" | "false"));
        is_flag && texts.iter().all(|key| self.0.text_of(key).is_some())
    }

    /// What is said; of what only the API can read, what comes before it.
    pub(super) fn parts(&self) -> Vec<Part<'a>> {
        let Some(sealed) = self.sealed() else {
            let said = self.0.text_of("content").map(Part::Text);
            return said.into_iter().collect();
        };
        let block = sealed_block(sealed);
        vec![Part::Text(self.head().into()), Part::Opaque(block.into())]
    }

    /// The item that the client sends for it.
    pub(super) fn item(&self) -> String {
        let text = |text: &str| {
            let block = LineText::new().text("type", "input_text");
            block.text("text", text).end()
        };
        let content = match self.sealed() {
            Some(sealed) => vec![text(&self.head()), sealed_block(sealed)],
            None => vec![text(&self.0.text_of("content").unwrap_or_default())],
        };
        let mut item = LineText::new().text("type", "agent_message");
        for key in ["id", "author", "recipient"] {
            if let Some(raw) = self.some(key) {
                item = item.json(key, raw);
            }
        }
        item = item.list("content", &content);
        // What the API is told beside it has had two names.
        for key in ["metadata", "internal_chat_message_metadata_passthrough"] {
            if let Some(raw) = self.some(key) {
                item = item.json(key, raw);
            }
        }
        item.end()
    }

    fn some(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).filter(|raw| *raw != "null")
    }

    /// What only the API can read, raw.
    fn sealed(&self) -> Option<&'a str> {
        let raw = self.0.get("encrypted_content")?;
        json::text(raw).map(|_| raw)
    }

    /// What the client says before that.
    fn head(&self) -> String {
        let kind = if self.0.is_true("trigger_turn") {
            "NEW_TASK"
        } else {
            "MESSAGE"
        };
        let text = |key| self.0.text_of(key).unwrap_or_default();
        format!(
            "Message Type: {kind}\nTask name: {}\nSender: {}\nPayload:\n",
            text("recipient"),
            text("author")
        )
    }
}

fn sealed_block(raw: &str) -> String {
    let block = LineText::new().text("type", "encrypted_content");
    block.json("encrypted_content", raw).end()
}
