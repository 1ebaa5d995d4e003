//! What the loader takes a line of a session for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::Object;

/// A line, told by its keys in this order: one may have several of them.
#[derive(Clone, Debug)]
pub(super) enum Line<'a> {
    /// The message of that id and all behind it are taken back.
    Rewind(Cow<'a, str>),
    /// A message.
    Message,
    /// Messages that take the place of all before them.
    Checkpoint(Vec<Object<'a>>),
    /// What the session is; as one line also the messages that it began with.
    Header(Vec<Object<'a>>),
    /// Metadata, or nothing that the loader knows.
    Other,
}

impl<'a> Line<'a> {
    pub(super) fn of(object: &Object<'a>) -> Self {
        if let Some(id) = object.text_of("$rewindTo") {
            return Self::Rewind(id);
        }
        if object.text_of("id").is_some() {
            return Self::Message;
        }
        if let Some(set) = object.object_of("$set") {
            return messages_in(&set).map_or(Self::Other, Self::Checkpoint);
        }
        if is_header(object) {
            return Self::Header(messages_in(object).unwrap_or_default());
        }
        Self::Other
    }

    /// The messages in the line.
    pub(super) fn into_messages(self, object: &Object<'a>) -> Vec<Object<'a>> {
        match self {
            Self::Message => vec![object.clone()],
            Self::Checkpoint(messages) | Self::Header(messages) => messages,
            Self::Rewind(_) | Self::Other => Vec::new(),
        }
    }
}

/// Whether the line says which session it is.
pub(super) fn is_header(object: &Object<'_>) -> bool {
    object.text_of("sessionId").is_some() && object.text_of("projectHash").is_some()
}

/// The messages in a list: of several with one id the last one, at the place of the first;
/// what has no id is none. `None` where there is no list.
fn messages_in<'a>(object: &Object<'a>) -> Option<Vec<Object<'a>>> {
    let mut messages: Vec<Object<'a>> = Vec::new();
    let mut places = HashMap::new();
    for raw in object.elements_of("messages")? {
        let Some(message) = Object::within(raw) else {
            continue;
        };
        let Some(id) = message.text_of("id") else {
            continue;
        };
        match places.entry(id) {
            Entry::Occupied(place) => messages[*place.get()] = message,
            Entry::Vacant(place) => {
                place.insert(messages.len());
                messages.push(message);
            }
        }
    }
    Some(messages)
}
