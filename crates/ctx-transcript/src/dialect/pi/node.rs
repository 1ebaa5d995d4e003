//! What an entry says of its place among the others.

use super::entry::{self, Entry, Kind};
use super::system;
use crate::Object;
use crate::dialect::key::Key;
use crate::dialect::kind_of;

/// An entry, as far as it has to do with the tree.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The number of its record, from 0.
    pub(super) record: usize,
    pub(super) id: Option<Key>,
    pub(super) parent: Option<Key>,
    pub(super) content: Content,
    /// Whether the model is sent it when it is in the context.
    pub(super) is_sent: bool,
    /// Which entry it edits, and the new content, raw; without one the entry is not sent.
    pub(super) edit: Option<(Key, Option<Box<str>>)>,
    /// The system message that declares the prompt and the tools, raw.
    pub(super) system: Option<Box<str>>,
}

/// What the entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// What the user, the model or a tool says.
    Message,
    /// What is said beside that: summaries of branches, commands, extensions.
    Beside,
    /// The end of what is no longer sent: a summary of it, or `OpenClaw`'s reset.
    Boundary(Boundary),
    /// No message: settings, names, prompts, edits, the state of extensions.
    State,
}

/// What of the entries before a boundary stays in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boundary {
    /// From which entry on.
    pub(super) first_kept: Option<Key>,
    /// Whether what is said beside messages goes in any case.
    pub(super) keeps_messages_only: bool,
}

impl Node {
    /// Reads the entry of record number `record`, in a file of that version.
    pub(super) fn of(record: usize, object: &Object<'_>, version: f64) -> Self {
        let entry = Entry::of(object);
        let boundary = |keeps_messages_only| {
            Content::Boundary(Boundary {
                first_kept: Key::at(object, "firstKeptEntryId"),
                keeps_messages_only,
            })
        };
        let kind = kind_of(object);
        let content = match (&*kind, entry.as_ref().map(|entry| entry.kind)) {
            ("compaction", _) => boundary(false),
            ("reset", _) => boundary(true),
            (_, Some(Kind::User | Kind::Assistant | Kind::ToolResult)) => Content::Message,
            (_, Some(_)) => Content::Beside,
            (_, None) => Content::State,
        };
        let target = Key::at(object, "targetId").filter(|_| kind == "context_edit");
        Self {
            record,
            id: Key::at(object, "id"),
            parent: Key::at(object, "parentId"),
            content,
            is_sent: entry.is_some_and(|entry| entry.is_sent(version)),
            edit: target.map(|target| (target, entry::new_content(object).map(Box::from))),
            system: system::message(object).map(Box::from),
        }
    }
}
