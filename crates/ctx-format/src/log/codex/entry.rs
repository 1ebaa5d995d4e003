//! The content that a line has for the model.

use std::borrow::Cow;
use std::collections::HashSet;

use super::item::{self, SHAPES};
use crate::dialect::content::{kind_of, role_of};
use crate::dialect::interface::{HeldMessage, Wrapped};
use crate::dialect::items;
use crate::log::compaction::LineText;
use crate::record::edit;
use crate::record::presence::Portion;
use crate::{Message, Object, Outline, Part, Role, json, scan};

/// The part of a line that the client may send to the model.
pub(super) enum Entry<'a> {
    Item(Object<'a>),
    Agent(AgentMessage<'a>),
    Compacted(Compacted<'a>),
}

impl<'a> Entry<'a> {
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let payload = object.object_of("payload");
        match &*kind_of(object) {
            "response_item" => payload.map(Self::Item),
            "inter_agent_communication" => payload.map(|it| Self::Agent(AgentMessage(it))),
            "compacted" => Compacted::of(object, &payload?).map(Self::Compacted),
            _ if object.get("payload").is_some() => None,
            _ => items::ItemType::of(object).map(|_| Self::Item(object.clone())),
        }
    }

    /// The items of the line that are in the context, as they are written; `None` if an element of
    /// a compaction is not an object.
    pub(super) fn items(&self) -> Option<Vec<Object<'a>>> {
        match self {
            Self::Item(item) => Some(vec![item.clone()]),
            Self::Agent(_) => Some(Vec::new()),
            Self::Compacted(compacted) => compacted.items(),
        }
    }
}

/// A message of another agent, which some versions write in a line of its own. The client converts
/// it to an item `agent_message` before it sends it (`to_model_input_item` in codex-rs/protocol);
/// newer versions write that item.
pub(super) struct AgentMessage<'a>(Object<'a>);

impl AgentMessage<'_> {
    /// Returns true if the client loads it. Its members have no default.
    pub(super) fn is_loaded(&self) -> bool {
        SHAPES.agent_message.is_of(&self.0)
    }

    /// The item that the client sends instead. If only the API can read the content, a text says
    /// what it is.
    pub(super) fn item(&self) -> String {
        let text = |key| self.0.text_of(key).unwrap_or_default();
        let sealed = self.0.get("encrypted_content").filter(|raw| json::text(raw).is_some());
        let content = if let Some(raw) = sealed {
            // The client puts a text before encrypted content.
            let kind = if self.0.is_true("trigger_turn") { "NEW_TASK" } else { "MESSAGE" };
            let (task, sender) = (text("recipient"), text("author"));
            let head =
                format!("Message Type: {kind}\nTask name: {task}\nSender: {sender}\nPayload:\n");
            let sealed = LineText::of_type("encrypted_content").json("encrypted_content", raw);
            vec![items::text("input_text", &head), sealed.end()]
        } else {
            vec![items::text("input_text", &text("content"))]
        };
        let copy = |item: LineText, keys: &[&str]| {
            keys.iter().fold(item, |item, key| match self.0.get(key) {
                Some(raw) if raw != "null" => item.json(key, raw),
                _ => item,
            })
        };
        let item = copy(LineText::of_type("agent_message"), &["id", "author", "recipient"]);
        let item = item.list("content", &content);
        // The API's metadata has had two names.
        copy(item, &["metadata", "internal_chat_message_metadata_passthrough"]).end()
    }
}

/// Writes the payload of a line `compacted` with the summary `text`.
pub(super) fn compacted(text: &str, items: &[String]) -> String {
    LineText::new().text("message", text).list("replacement_history", items).end()
}

/// The payload of a line `compacted`.
pub(super) struct Compacted<'a> {
    /// The raw summary; empty if only the server can read the replaced content.
    message: &'a str,
    /// The raw items that replace the context. Files of 2025 have none: there, the summary and the
    /// user's messages before it are the context.
    replacement: Option<&'a str>,
    /// The items that are in the context, if not all of them are.
    portion: Option<Portion>,
}

impl<'a> Compacted<'a> {
    fn of(line: &Object<'a>, payload: &Object<'a>) -> Option<Self> {
        let message = payload.get("message").filter(|raw| raw.starts_with('"'))?;
        let replacement = payload.get("replacement_history").filter(|raw| *raw != "null");
        Some(Self { message, replacement, portion: line.portion.clone() })
    }

    /// Returns true if items replace everything before the line, rather than only a summary.
    pub(super) fn replaces_all(&self) -> bool {
        self.replacement.is_some()
    }

    /// The items in the context; `None` if an element is not an object.
    pub(super) fn items(&self) -> Option<Vec<Object<'a>>> {
        let items = self.all_items()?.into_iter();
        Some(items.filter_map(|(item, is_inside)| is_inside.then_some(item)).collect())
    }

    /// All items, each with whether it is in the context.
    fn all_items(&self) -> Option<Vec<(Object<'a>, bool)>> {
        let raw = self.replacement.map_or(Some(Vec::new()), scan::elements)?;
        let items = raw.into_iter().enumerate().map(|(number, raw)| {
            let portion = self.portion.as_ref();
            let is_inside = portion.is_none_or(|portion| portion.holds(number));
            Some((Object::within(raw)?, is_inside))
        });
        items.collect()
    }

    /// The outline: the items are one user message. A call with its result among them is not part
    /// of the sequence; a call whose result comes later waits for it like any other.
    pub(super) fn outline(&self) -> Outline<'a> {
        let items = self.items().unwrap_or_default();
        let outlines: Vec<Outline<'_>> = items.iter().filter_map(items::outline).collect();
        let answered: HashSet<_> = outlines.iter().flat_map(|it| &it.results).collect();
        let calls = outlines.iter().flat_map(|it| &it.calls).filter(|id| !answered.contains(id));
        let is_summary = self.summary().is_some();
        Outline {
            role: Role::User,
            // Without the summary, the items are ordinary content and may include a request.
            begins_turn: !is_summary && items.iter().any(begins_turn),
            is_summary,
            calls: calls.cloned().collect(),
            ..Outline::of_line()
        }
    }

    /// The message, with positions in `record`.
    pub(super) fn message(&self, record: &Object<'a>) -> Message<'a> {
        let parts = if self.replaces_all() {
            let items = self.items().unwrap_or_default();
            items.iter().flat_map(|item| items::parts(record, item)).collect()
        } else {
            vec![Part::Text(self.text())]
        };
        let all = self.all_items().unwrap_or_default();
        let places = all.iter().map(|(item, is_inside)| {
            let is_reasoning = items::ItemType::of(item) == Some(items::ItemType::Reasoning);
            (record.place_of(item.text()), *is_inside && is_reasoning)
        });
        Message { reasoning: edit::cuts(record.text(), places), ..Message::new(Role::User, parts) }
    }

    /// The messages one by one; a single message without parts if none is left.
    pub(super) fn held(&self, record: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let items = self.items().unwrap_or_default();
        if items.is_empty() {
            return vec![HeldMessage {
                message: self.message(record),
                raw: record.text().trim().into(),
                summary: (!self.replaces_all()).then(|| self.text()),
                begins_turn: false,
            }];
        }
        let held = items.iter().map(|item| {
            // The client sends the item even if it is of another type.
            let outline = items::outline(item);
            let role = outline.map_or(Role::Other, |outline| outline.role);
            HeldMessage {
                message: Message::new(role, items::parts(record, item)),
                raw: item.text().trim().into(),
                summary: self.summary_in(item),
                begins_turn: begins_turn(item),
            }
        });
        held.collect()
    }

    /// The text of `item` if it is the summary: either the client's own, or one that the line
    /// repeats, as other programs write it.
    fn summary_in(&self, item: &Object<'a>) -> Option<Cow<'a, str>> {
        if let Some(summary) = item::summary(item) {
            return Some(summary);
        }
        let text = self.text();
        match item::texts(item).as_slice() {
            [own] if role_of(item) == Some(Role::User) && *own == text => Some(text),
            _ => None,
        }
    }

    pub(super) fn wrapped(&self) -> Wrapped<'a> {
        let Some(items) = self.replacement else {
            return Wrapped { sent: vec![self.message], copies: Vec::new() };
        };
        let sent = if self.portion.is_some() {
            let items = self.items().unwrap_or_default();
            items.iter().map(|item| item.text().trim()).collect()
        } else {
            vec![items]
        };
        Wrapped { sent, copies: vec![self.message] }
    }

    /// The summary, which is among the items if the line itself does not repeat it. `None` if it
    /// was rolled back.
    pub(super) fn summary(&self) -> Option<Cow<'a, str>> {
        let items = || self.items().unwrap_or_default();
        if self.portion.is_some() {
            return items().iter().rev().find_map(|item| self.summary_in(item));
        }
        let text = self.text();
        if !text.is_empty() {
            return Some(text);
        }
        Some(items().iter().rev().find_map(item::summary).unwrap_or(text))
    }

    /// The summary in the line itself.
    pub(super) fn text(&self) -> Cow<'a, str> {
        json::text(self.message).unwrap_or_default()
    }
}

fn begins_turn(item: &Object<'_>) -> bool {
    let begins_turn = items::outline(item).is_some_and(|outline| outline.begins_turn);
    begins_turn && item::is_request(item)
}
