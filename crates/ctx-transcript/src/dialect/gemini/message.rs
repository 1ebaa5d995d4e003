//! What the model is sent of one message.

use std::borrow::Cow;
use std::ops::Range;

use super::part::{self, Kind};
use super::request::{self, SNAPSHOT};
use crate::dialect::kind_of;
use crate::{Denial, Object, Part, Role, Slot, ToolResult, cut, json};

/// A message that the model is sent.
pub(super) struct Said<'o, 'a> {
    pub(super) role: Role,
    message: &'o Object<'a>,
}

impl<'o, 'a> Said<'o, 'a> {
    /// `None` when nothing of it is sent: notes of the client to its user, empty replies,
    /// commands.
    pub(super) fn of(message: &'o Object<'a>) -> Option<Self> {
        let role = match kind_of(message).as_ref() {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            _ => return None,
        };
        let said = Self { role, message };
        let has_parts = || {
            let has_content = !said.content().is_empty();
            has_content || !said.thoughts().is_empty() || !said.listed_calls().is_empty()
        };
        let is_sent = match role {
            Role::User => request::is_sent(&said.content()),
            _ => has_parts(),
        };
        is_sent.then_some(said)
    }

    /// All of it, raw.
    pub(super) fn raw(&self) -> &'a str {
        self.message.text().trim()
    }

    /// Its content, raw.
    pub(super) fn content(&self) -> Vec<&'a str> {
        part::list(self.message.get("content"))
    }

    /// Whether the content of a reply is all of it but results: so writes a client that has
    /// loaded the session before. Else thoughts and calls stand beside the content.
    pub(super) fn is_whole(&self) -> bool {
        self.content().into_iter().any(part::is_call_or_thought)
    }

    /// Thoughts beside the content.
    pub(super) fn thoughts(&self) -> Vec<&'a str> {
        self.message.elements_of("thoughts").unwrap_or_default()
    }

    /// Calls beside the content, with their results.
    pub(super) fn listed_calls(&self) -> Vec<Object<'a>> {
        let raw = self.message.elements_of("toolCalls").unwrap_or_default();
        let calls = raw.into_iter().filter_map(Object::within);
        calls.collect()
    }

    /// Whether the user himself asks for something.
    pub(super) fn is_request(&self) -> bool {
        let content = self.content();
        let is_of_user = |raw: &&str| matches!(part::kind(raw), Kind::Text | Kind::Media(_));
        let first = content.into_iter().find(is_of_user);
        let is_own = |raw| part::text(raw).is_none_or(|text| !request::is_of_client(&text));
        self.role == Role::User && first.is_some_and(is_own)
    }

    /// Whether it has anything but results of tools.
    pub(super) fn is_more_than_results(&self) -> bool {
        let is_other = |raw: &str| part::kind(raw) != Kind::Result;
        self.role == Role::Assistant || self.content().into_iter().any(is_other)
    }

    /// The text of it that is a summary of the client's own, when it is the user's.
    pub(super) fn snapshot(&self) -> Option<Cow<'a, str>> {
        let mut texts = self.content().into_iter().filter_map(part::text);
        let found = texts.find(|text| text.contains(SNAPSHOT));
        found.filter(|_| self.role == Role::User)
    }

    /// Whether it is one text and nothing else.
    pub(super) fn is_text(&self) -> bool {
        let content = self.content();
        let is_text = matches!(content[..], [raw] if part::kind(raw) == Kind::Text);
        is_text && self.listed_calls().is_empty()
    }

    /// All that the model is sent of it, in that order; places are those in `record`.
    pub(super) fn parts(&self, record: &Object<'a>) -> Vec<Part<'a>> {
        let content = self.content().into_iter();
        let content = content.map(|raw| part::part(record, raw));
        if self.role == Role::User {
            return content.collect();
        }
        let calls = self.listed_calls();
        let mut parts = Vec::new();
        if self.is_whole() {
            parts.extend(content);
        } else {
            parts.extend(self.thoughts().into_iter().map(thought));
            parts.extend(content);
            parts.extend(calls.iter().map(|it| Part::Call(part::call(record, it))));
        }
        parts.extend(calls.iter().flat_map(|call| results(record, call)));
        parts
    }

    /// What to cut out of the text of `record` so that it is without its reasoning, in any
    /// order. What stands beside the content goes in any case: else it is sent once the
    /// content has no thought any more.
    pub(super) fn reasoning(&self, record: &Object<'a>) -> Vec<Range<usize>> {
        if self.role != Role::Assistant {
            return Vec::new();
        }
        let start = record.place_of(self.message.text()).start;
        let has_thoughts = !self.thoughts().is_empty();
        let members = self.message.members().iter().map(|member| {
            let place = start + member.place.start..start + member.place.end;
            (place, has_thoughts && member.key == "thoughts")
        });
        let elements = self.message.elements_of("content").unwrap_or_default();
        let elements = elements.into_iter().map(|raw| {
            let is_thought = part::kind(raw) == Kind::Thought;
            (record.place_of(raw), is_thought)
        });
        let mut cuts = cut::places(record.text(), members);
        cuts.extend(cut::places(record.text(), elements));
        cuts
    }
}

/// The results of a listed call. The client writes them as parts.
fn results<'a>(record: &Object<'a>, call: &Object<'a>) -> Vec<Part<'a>> {
    let result = call.get("result");
    let Some((raw, text)) = result.and_then(|raw| Some((raw, json::text(raw)?))) else {
        let parts = part::list(result).into_iter();
        return parts.map(|raw| part::part(record, raw)).collect();
    };
    if text.is_empty() {
        return Vec::new();
    }
    vec![Part::Result(ToolResult {
        id: call.text_of("id"),
        name: call.text_of("name"),
        is_error: call.text_of("status").as_deref() == Some("error"),
        denial: Denial::None,
        parts: vec![Part::Text(text)],
        slot: Some(Slot::text(record, raw)),
    })]
}

fn thought(raw: &str) -> Part<'_> {
    let Some(thought) = Object::within(raw) else {
        return Part::Opaque(raw.into());
    };
    let text = thought.text_of("description").unwrap_or_default();
    let subject = thought.text_of("subject").filter(|it| !it.is_empty());
    Part::Reasoning(match subject {
        Some(subject) => Cow::Owned(format!("**{subject}** {text}")),
        None => text,
    })
}
