//! What a compaction left: the items that take the place of all before it, or, in files of
//! 2025, a summary.

use std::borrow::Cow;
use std::collections::HashSet;

use super::injected;
use crate::dialect::{Held, Wrapped, items, role_of};
use crate::{Message, Object, Outline, Part, Portion, Role, cut, json, within};

/// The payload of a line `compacted`.
pub(super) struct Compacted<'a> {
    /// The summary, raw; empty where only the server can read what stands for it.
    message: &'a str,
    /// The items that are the context now, raw; `None` where the summary and the user's
    /// messages before it are.
    replacement: Option<&'a str>,
    /// Which of the items are in the context, where not all are.
    portion: Option<Portion>,
}

impl<'a> Compacted<'a> {
    /// The payload of `line`.
    pub(super) fn of(line: &Object<'a>, payload: &Object<'a>) -> Option<Self> {
        let message = payload.get("message").filter(|raw| raw.starts_with('"'))?;
        let replacement = payload.get("replacement_history");
        Some(Self {
            message,
            replacement: replacement.filter(|raw| *raw != "null"),
            portion: line.portion.clone(),
        })
    }

    /// Whether items take the place of all before it, and not only a summary.
    pub(super) fn replaces_all(&self) -> bool {
        self.replacement.is_some()
    }

    /// The items of the context, as far as they are objects; `None` when something else is
    /// among them.
    pub(super) fn items(&self) -> Option<Vec<Object<'a>>> {
        let items = self.all()?.into_iter();
        Some(
            items
                .filter_map(|(item, is_in)| is_in.then_some(item))
                .collect(),
        )
    }

    /// All items, and whether each is in the context.
    fn all(&self) -> Option<Vec<(Object<'a>, bool)>> {
        let raw = self
            .replacement
            .map_or(Some(Vec::new()), within::elements)?;
        let items = raw.into_iter().enumerate().map(|(number, raw)| {
            let portion = self.portion.as_ref();
            let is_in = portion.is_none_or(|portion| portion.holds(number));
            Some((Object::within(raw)?, is_in))
        });
        items.collect()
    }

    /// The messages in it are one, of the user. A call that has its result in it is no
    /// matter of the sequence; one whose result comes later waits for it as any other.
    pub(super) fn outline(&self) -> Outline<'a> {
        let items = self.items().unwrap_or_default();
        let ids = |kind| {
            let of_kind = items
                .iter()
                .filter(move |item| items::Kind::of(item) == Some(kind));
            of_kind.filter_map(items::pair_id)
        };
        let answered: HashSet<Cow<'_, str>> = ids(items::Kind::Result).collect();
        let calls = ids(items::Kind::Call).filter(|id| !answered.contains(id));
        let is_summary = self.summary().is_some();
        Outline {
            role: Role::User,
            // Without the summary it is what was said, and may be asked for.
            begins_turn: !is_summary && items.iter().any(is_request),
            is_summary,
            calls: calls.collect(),
            ..Outline::of_line()
        }
    }

    /// The message, whose places are those in `record`.
    pub(super) fn message(&self, record: &Object<'a>) -> Message<'a> {
        let items = self.items().unwrap_or_default();
        let parts = if self.replaces_all() {
            let parts = items.iter().flat_map(|item| items::parts(record, item));
            parts.collect()
        } else {
            vec![Part::Text(self.text())]
        };
        let all = self.all().unwrap_or_default();
        let places = all.iter().map(|(item, is_in)| {
            let is_reasoning = items::Kind::of(item) == Some(items::Kind::Reasoning);
            (record.place_of(item.text()), *is_in && is_reasoning)
        });
        Message {
            reasoning: cut::places(record.text(), places),
            ..Message::new(Role::User, parts)
        }
    }

    /// The messages one by one.
    pub(super) fn held(&self, record: &Object<'a>) -> Vec<Held<'a>> {
        if !self.replaces_all() {
            let summary = Held {
                message: self.message(record),
                raw: record.text().trim().into(),
                summary: Some(self.text()),
                begins_turn: false,
            };
            return vec![summary];
        }
        let items = self.items().unwrap_or_default();
        let held = items.iter().map(|item| {
            // Whatever it is, it is sent.
            let outline = items::outline(item);
            let role = outline.map_or(Role::Other, |outline| outline.role);
            Held {
                message: Message::new(role, items::parts(record, item)),
                raw: item.text().trim().into(),
                summary: self.summary_in(item),
                begins_turn: is_request(item),
            }
        });
        let held: Vec<Held<'a>> = held.collect();
        if !held.is_empty() {
            return held;
        }
        // Nothing is left: a message without parts.
        vec![Held {
            message: self.message(record),
            raw: record.text().trim().into(),
            summary: None,
            begins_turn: false,
        }]
    }

    /// The text of `item`, when it is the summary: the client's own, or what the line itself
    /// says, as other programs write it.
    fn summary_in(&self, item: &Object<'a>) -> Option<Cow<'a, str>> {
        let of_line = || {
            let is_of_user = role_of(item) == Some(Role::User);
            let said = self.text();
            match injected::texts(item).as_slice() {
                [text] if is_of_user && *text == said => Some(said),
                _ => None,
            }
        };
        injected::summary(item).or_else(of_line)
    }

    pub(super) fn wrapped(&self) -> Wrapped<'a> {
        let (sent, copy) = match self.replacement {
            Some(_) if self.portion.is_some() => {
                let items = self.items().unwrap_or_default();
                let raw = items.iter().map(|item| item.text().trim());
                (raw.collect(), Some(self.message))
            }
            Some(items) => (vec![items], Some(self.message)),
            None => (vec![self.message], None),
        };
        Wrapped {
            sent,
            copies: copy.into_iter().collect(),
        }
    }

    /// The summary; among the items where the line itself does not say it. `None` where it has
    /// been taken back.
    pub(super) fn summary(&self) -> Option<Cow<'a, str>> {
        let items = || self.items().unwrap_or_default();
        if self.portion.is_some() {
            return items().iter().rev().find_map(|item| self.summary_in(item));
        }
        let text = self.text();
        if !text.is_empty() {
            return Some(text);
        }
        let of_client = items().iter().rev().find_map(injected::summary);
        Some(of_client.unwrap_or(text))
    }

    /// What the line says as the summary.
    pub(super) fn text(&self) -> Cow<'a, str> {
        json::text(self.message).unwrap_or_default()
    }
}

/// Whether it is what the user asks.
fn is_request(item: &Object<'_>) -> bool {
    let begins_turn = items::outline(item).is_some_and(|outline| outline.begins_turn);
    begins_turn && injected::is_request(item)
}
