//! The entries of a session as a tree, and the path from which pi continues.
//!
//! The rules follow the loaders of pi 0.73.1 and 1.5.2. The first line that is JSON must be a
//! header; otherwise pi reads nothing. The path consists of the newest entry and its ancestors. In
//! version 1 of the format, entries have no ids, and each entry's parent is the preceding entry.

use std::collections::HashMap;

use super::Pi;
use super::entry::{self, Entry, EntryKind, new_content};
use crate::dialect::content::kind_of;
use crate::log::links::{LineId, Tree, TreeLine};
use crate::log::{Flaw, HeaderFacts, Log, Remedy};
use crate::{Object, json};

/// The properties of an entry that determine the path and the context.
pub(super) struct Node {
    /// The number of the entry's record, starting at 0.
    pub(super) record: usize,
    pub(super) id: Option<LineId>,
    pub(super) parent: Option<LineId>,
    pub(super) content: Content,
    /// Whether pi sends the entry when it is in the context.
    pub(super) is_sent: bool,
    /// If this is an edit, the id of the edited entry and its new content as raw JSON. If an edit
    /// has no new content, the edited entry is not sent.
    pub(super) edit: Option<(LineId, Option<Box<str>>)>,
    /// The system message that declares the prompt and the tools, as raw JSON, if the entry
    /// contains one.
    pub(super) system: Option<Box<str>>,
}

/// What an entry contributes to the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A message from the user, the model or a tool.
    Message,
    /// Other content for the model: summaries of branches, commands, and texts from extensions.
    Extra,
    /// A boundary: a compaction, or a reset in `OpenClaw` and oh-my-pi. Entries before the boundary are no
    /// longer sent, except those that the boundary keeps.
    Boundary {
        /// The id of the first kept entry before the boundary.
        first_kept: Option<LineId>,
        /// Whether only messages, and no other entries, are kept from before the boundary.
        keeps_messages_only: bool,
    },
    /// No content for the model: settings, names, prompts, edits, and the state of extensions.
    State,
}

impl Node {
    /// Reads the entry in the record with this number. `version` is the version of the file.
    fn of(record: usize, object: &Object<'_>, version: f64) -> Self {
        let entry = Entry::of(object);
        let boundary = |keeps_messages_only| {
            let first_kept = LineId::at_filled(object, "firstKeptEntryId");
            Content::Boundary { first_kept, keeps_messages_only }
        };
        let kind = kind_of(object);
        let content = match (&*kind, entry.as_ref().map(|entry| entry.kind)) {
            ("compaction", _) => boundary(false),
            ("reset" | "reset_boundary", _) => boundary(true),
            (_, Some(EntryKind::User | EntryKind::Assistant | EntryKind::ToolResult)) => {
                Content::Message
            }
            (_, Some(_)) => Content::Extra,
            (_, None) => Content::State,
        };
        let target = LineId::at_filled(object, "targetId").filter(|_| kind == "context_edit");
        Self {
            record,
            id: LineId::at_filled(object, "id"),
            parent: LineId::at_filled(object, "parentId"),
            content,
            is_sent: entry.is_some_and(|entry| entry.is_sent(version)),
            edit: target.map(|target| (target, new_content(object).map(Box::from))),
            system: entry::system_message(object).map(Box::from),
        }
    }

    pub(super) fn is_boundary(&self) -> bool {
        matches!(self.content, Content::Boundary { .. })
    }
}

/// All entries of a session.
#[derive(Default)]
pub(super) struct Entries {
    /// The entries in file order, without headers.
    pub(super) nodes: Vec<Node>,
    /// For each id, the index of the last entry with that id.
    places: HashMap<LineId, usize>,
    /// The version in the header; `None` if there is no header, in which case pi reads nothing.
    pub(super) version: Option<f64>,
    /// The number of lines that are JSON, including headers.
    pub(super) lines: usize,
    pub(super) newest: Option<usize>,
    /// Whether an entry declares the prompt. Versions of pi that declare it also read edits; the
    /// version in the header is the same in older files.
    pub(super) has_prompt: bool,
    /// The flaw for a session without a header.
    pub(super) headless: Option<Flaw>,
    /// In `OpenClaw`, a pair of ids: if the next entry's parent is the first id, the second id
    /// replaces it.
    stands_for: Option<(LineId, Option<LineId>)>,
}

impl Entries {
    /// Adds the next record in the session.
    pub(super) fn add(&mut self, record: usize, object: &Object<'_>) {
        // oh-my-pi writes the title in front of the header.
        if self.lines == 0 && kind_of(object) == "title" {
            return;
        }
        if self.lines == 0 {
            self.version = header_version(object);
            if self.version.is_none() {
                self.headless = Some(no_header(record, object));
            }
        }
        if let Some(version) = self.version
            && !is_header(object)
        {
            let mut node = Node::of(record, object, version);
            if has_no_ids(version) {
                self.number(&mut node, object);
            }
            self.add_node(node, object);
        }
        self.lines += 1;
    }

    /// In a version 1 file, sets an entry's id to its number and its parent to the preceding entry.
    fn number(&self, node: &mut Node, object: &Object<'_>) {
        node.id = Some(LineId::of_number(self.lines));
        node.parent = self.nodes.last().and_then(|last| last.id);
        if let Content::Boundary { first_kept, .. } = &mut node.content {
            let number = object.get("firstKeptEntryIndex");
            *first_kept = number.and_then(|raw| raw.parse().ok()).map(LineId::of_number);
        }
    }

    fn add_node(&mut self, mut node: Node, object: &Object<'_>) {
        let place = self.nodes.len();
        let moves = self.moves(object);
        if kind_of(object) == "leaf" {
            if moves {
                // In `OpenClaw`, a `leaf` refers to the entry from which the session continues.
                node.parent = LineId::at_filled(object, "targetId");
                let hung_on = LineId::at_filled(object, "appendParentId");
                self.stands_for = hung_on.map(|hung_on| (hung_on, node.parent));
            }
        } else if moves {
            if let Some((own, parent)) = self.stands_for.take()
                && Some(own) == node.parent
            {
                node.parent = parent;
            }
        } else {
            // In the file, this entry is the parent of the next one. But the session still
            // continues from `newest`, so the parent of the next entry is changed to `newest`.
            let leaf = self.newest.and_then(|newest| self.nodes[newest].id);
            self.stands_for = node.id.map(|id| (id, leaf));
        }
        if moves {
            self.newest = Some(place);
        }
        self.has_prompt |= node.system.is_some();
        if let Some(id) = node.id {
            self.places.insert(id, place);
        }
        self.nodes.push(node);
    }

    /// Returns true if the session continues from this entry. `OpenClaw` marks entries from which
    /// the session does not continue. A `leaf` counts only if the entry that it refers to is in the
    /// file.
    fn moves(&self, object: &Object<'_>) -> bool {
        if kind_of(object) != "leaf" {
            return object.get("appendMode") != Some("\"side\"");
        }
        match LineId::at_filled(object, "targetId") {
            Some(target) => self.places.contains_key(&target),
            None => object.get("targetId") == Some("null"),
        }
    }

    pub(super) fn place(&self, id: Option<LineId>) -> Option<usize> {
        self.places.get(&id?).copied()
    }

    /// Returns true if a later entry has the same id as the entry at index `place`.
    pub(super) fn is_superseded(&self, place: usize) -> bool {
        let last = self.place(self.nodes[place].id);
        last.is_some_and(|last| last != place)
    }
}

impl Tree for Entries {
    const DIALECT: &'static str = "pi";

    fn parent(&self, place: usize) -> Option<usize> {
        self.place(self.nodes[place].parent)
    }

    fn line(&self, place: usize) -> TreeLine {
        let node = &self.nodes[place];
        TreeLine {
            record: node.record,
            names_parent: node.parent.is_some(),
            is_boundary: node.is_boundary(),
            is_sent: node.is_sent,
            may_be_parent: node.id.is_some() && !self.is_superseded(place),
        }
    }
}

/// Returns true if a line has the type of a header. A header counts only on the first line.
pub(super) fn is_header(object: &Object<'_>) -> bool {
    kind_of(object) == "session"
}

/// Returns the format version in a header, or 1 if the header states none. Returns `None` if
/// `object` is not a header, or is a header without an id.
pub(super) fn header_version(object: &Object<'_>) -> Option<f64> {
    if !is_header(object) || object.text_of("id").is_none() {
        return None;
    }
    match object.get("version") {
        None | Some("null") => Some(1.0),
        Some(raw) => {
            let number = json::text(raw).unwrap_or(raw.into());
            // pi compares versions as numbers. A version that is not a number is never less than
            // another version.
            Some(number.trim().parse().unwrap_or(f64::NAN))
        }
    }
}

/// Returns true if entries in files with this version have no ids.
pub(super) fn has_no_ids(version: f64) -> bool {
    version < 2.0
}

fn no_header(record: usize, first: &Object<'_>) -> Flaw {
    let has_ids = first.get("id").is_some() && first.get("parentId").is_some();
    let version = if has_ids { r#""version":3,"# } else { "" };
    let time = first.text_of("timestamp").map(Into::into);
    let [id, time, cwd] = HeaderFacts { time, ..HeaderFacts::default() }.quoted();
    let header =
        format!(r#"{{"type":"session",{version}"id":{id},"timestamp":{time},"cwd":{cwd}}}"#);
    Pi.flaw(record, "no-header").repaired_by(Remedy::Before(header))
}
