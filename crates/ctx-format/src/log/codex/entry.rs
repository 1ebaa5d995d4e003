//! Reads the part of a line that the model may receive.

use std::borrow::Cow;
use std::collections::HashSet;

use super::Codex;
use super::item;
use crate::dialect::content::{kind_of, role_of};
use crate::dialect::interface::{HeldMessage, Wrapped};
use crate::dialect::items::{self, ItemType};
use crate::log::compaction::LineText;
use crate::record::edit;
use crate::{Message, Object, Outline, Part, Portion, Role, json, scan};

/// The part of a line that the client may send to the model.
pub(super) enum Entry<'a> {
    Item(Object<'a>),
    /// A message from another agent. Some versions store a message from another agent in a line of
    /// a special type, and send the item that [`items::of_agent`] creates from it. Newer versions
    /// store such a message as an `agent_message` item.
    Agent(Object<'a>),
    Compacted(Compacted<'a>),
}

impl<'a> Entry<'a> {
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let payload = object.object_of("payload");
        match &*kind_of(object) {
            "response_item" => payload.map(Self::Item),
            "inter_agent_communication" => payload.map(Self::Agent),
            "compacted" => Compacted::of(object, &payload?).map(Self::Compacted),
            _ if object.get("payload").is_some() => None,
            _ => ItemType::of(object).map(|_| Self::Item(object.clone())),
        }
    }

    /// The items of the line that are in the context, in order; empty for [`Self::Agent`]. `None`
    /// if an element of a compaction is not an object.
    pub(super) fn items(&self) -> Option<Vec<Object<'a>>> {
        match self {
            Self::Item(item) => Some(vec![item.clone()]),
            Self::Agent(_) => Some(Vec::new()),
            Self::Compacted(compacted) => compacted.items(),
        }
    }
}

/// Writes the payload of a `compacted` line. `text` is the summary, and `items` are the items that
/// replace the context.
pub(super) fn compacted(text: &str, items: &[String]) -> String {
    LineText::default().text("message", text).list("replacement_history", items).end()
}

/// The payload of a `compacted` line.
pub(super) struct Compacted<'a> {
    /// The summary as raw JSON; an empty JSON string if only the server can read the summary.
    message: &'a str,
    /// The items that replace the context, as raw JSON. Files from 2025 lack these items; the new
    /// context then consists of the user's earlier messages and the summary.
    replacement: Option<&'a str>,
    /// Which of the items are in the context; `None` if all items are in the context.
    portion: Option<Portion>,
}

impl<'a> Compacted<'a> {
    fn of(line: &Object<'a>, payload: &Object<'a>) -> Option<Self> {
        let message = payload.get("message").filter(|raw| raw.starts_with('"'))?;
        let replacement = payload.get("replacement_history").filter(|raw| *raw != "null");
        Some(Self { message, replacement, portion: line.portion.clone() })
    }

    /// Returns true if the line contains items that replace everything before it, rather than only
    /// a summary.
    pub(super) fn replaces_all(&self) -> bool {
        self.replacement.is_some()
    }

    /// The items that are in the context; `None` if an element of the list is not an object.
    pub(super) fn items(&self) -> Option<Vec<Object<'a>>> {
        let mut raw = self.replacement.map_or(Some(Vec::new()), scan::elements)?;
        if let Some(portion) = &self.portion {
            portion.retain(&mut raw);
        }
        raw.into_iter().map(Object::within).collect()
    }

    /// Returns the outline of the compaction, whose items count as one user message. A call is
    /// omitted if its result is among the items; otherwise its result is expected in a later
    /// record.
    pub(super) fn outline(&self) -> Outline<'a> {
        let items = self.items().unwrap_or_default();
        let outlines: Vec<Outline<'_>> = items.iter().filter_map(item::outline).collect();
        let answered: HashSet<_> = outlines.iter().flat_map(|it| &it.results).collect();
        let calls = outlines.iter().flat_map(|it| &it.calls).filter(|id| !answered.contains(id));
        let is_summary = self.summary().is_some();
        Outline {
            role: Role::User,
            // If a rollback undid the summary, the remaining items are ordinary content, and may
            // include a request.
            begins_turn: !is_summary && outlines.iter().any(|it| it.begins_turn),
            is_summary,
            calls: calls.cloned().collect(),
            ..Outline::of_line()
        }
    }

    /// Reads the compaction as a single message. The byte ranges in the message refer to the text
    /// of `record`.
    pub(super) fn message(&self, record: &Object<'a>) -> Message<'a> {
        let items = self.items().unwrap_or_default();
        let mut parts: Vec<Part<'a>> =
            items.iter().flat_map(|item| items::parts(record, item)).collect();
        if !self.replaces_all() {
            parts.push(Part::Text(self.text()));
        }
        let all = self.replacement.and_then(scan::elements).unwrap_or_default();
        let is_inside = |number| self.portion.as_ref().is_none_or(|it| it.holds(number));
        let places = all.into_iter().enumerate().map(|(number, raw)| {
            let kind = Object::within(raw).as_ref().and_then(ItemType::of);
            (record.place_of(raw), is_inside(number) && kind == Some(ItemType::Reasoning))
        });
        Message { reasoning: edit::cuts(record.text(), places), ..Message::new(Role::User, parts) }
    }

    /// Returns each item of the compaction as a separate message. If none of the items is in the
    /// context, returns a single message without parts.
    pub(super) fn held(&self, record: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let items = self.items().unwrap_or_default();
        if items.is_empty() {
            return HeldMessage::alone(&Codex, record, record.text().trim().into());
        }
        let held = items.iter().map(|item| {
            // The client sends all items in a compaction, even those that are not messages.
            let other = || Message::new(Role::Other, items::parts(record, item));
            HeldMessage {
                message: items::message_of(record, item).unwrap_or_else(other),
                raw: item.text().trim().into(),
                summary: self.summary_in(item),
                begins_turn: item::outline(item).is_some_and(|outline| outline.begins_turn),
            }
        });
        held.collect()
    }

    /// Returns the text of `item` if it is the summary. A summary written by the client begins with
    /// a fixed text. If another program wrote the line, the summary is a user message whose text
    /// equals the summary in the line.
    fn summary_in(&self, item: &Object<'a>) -> Option<Cow<'a, str>> {
        let text = self.text();
        let repeats_it = role_of(item) == Some(Role::User) && item::texts(item) == [&*text];
        item::summary(item).or_else(|| repeats_it.then_some(text))
    }

    pub(super) fn wrapped(&self) -> Wrapped<'a> {
        let Some(items) = self.replacement else {
            return Wrapped { sent: vec![self.message], copies: Vec::new() };
        };
        let sent = match self.items().filter(|_| self.portion.is_some()) {
            Some(items) => items.iter().map(|item| item.text().trim()).collect(),
            None => vec![items],
        };
        Wrapped { sent, copies: vec![self.message] }
    }

    /// The text of the summary; `None` if a rollback undid the summary. If the summary in the line
    /// is empty, the summary is among the items.
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

    /// The summary in the line itself, rather than in its items.
    pub(super) fn text(&self) -> Cow<'a, str> {
        json::text(self.message).unwrap_or_default()
    }
}
