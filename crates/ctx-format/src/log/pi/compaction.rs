//! A compaction in pi's format: an entry with a summary and the id of the first earlier entry to
//! keep.
//!
//! The first entry to keep and all later entries are kept. If an entry after the first kept entry
//! is removed, or if a kept entry has changed, all kept entries are written again after the
//! compaction.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::entry::SYSTEM;
use super::tree::{Entries, Node, has_no_ids};
use super::{NO_USAGE, entry, view};
use crate::dialect::content::parts;
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Kept, LineText, NewLines, copy_with,
};
use crate::log::links::{LineId, Tree};
use crate::{Message, Object, Part, Portion, Role};

/// Collects what the entries of a session reveal about the file's version and the last entry.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) entries: Entries,
    /// The id, as raw JSON, of the last entry, from which the session continues.
    last: Option<String>,
    /// In a version 1 file, the number of each entry, keyed by the hash of the entry's text. Only
    /// lines that are JSON are numbered.
    numbers: HashMap<LineId, usize>,
}

impl Writer {
    /// Returns the id of the last entry, as raw JSON.
    pub(super) fn last(&self) -> &str {
        self.last.as_deref().unwrap_or("null")
    }
}

/// Creates ids that do not occur in a session.
#[derive(Default)]
pub(super) struct NewIds(HashSet<LineId>);

impl NewIds {
    pub(super) fn next(&mut self, entries: &Entries, new: &mut NewLines) -> String {
        loop {
            let id = new.ids.short();
            let hash = LineId::of(&id);
            if entries.place(Some(hash)).is_none() && self.0.insert(hash) {
                return id;
            }
        }
    }
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        let (place, number) = (self.entries.nodes.len(), self.entries.lines);
        self.entries.add(number, object);
        if self.entries.newest == Some(place)
            && let Some(id) = object.get("id")
        {
            self.last = Some(id.to_owned());
        }
        if self.entries.version.is_some_and(has_no_ids) {
            self.numbers.insert(LineId::of(object.text().trim()), number);
        }
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        let Self { entries, numbers, .. } = &*self;
        let version = entries.version.ok_or(CompactionError::NoHeader)?;
        let has_ids = !has_no_ids(version);
        let (mut ids, mut new) = (NewIds::default(), NewLines::of(compaction));
        let id = ids.next(entries, &mut new);
        let is_named = compaction.is_end && compaction.kept.iter().all(|kept| !kept.is_changed);
        let first = if is_named { compaction.kept.first() } else { None };
        let mut line = LineText::of_type("compaction");
        if has_ids {
            line = line.text("id", &id).json("parentId", self.last());
        }
        line = line.text("timestamp", &new.time()).text("summary", compaction.summary);
        // A compaction that keeps no entries refers to itself as the first kept entry.
        line = match (has_ids, first) {
            (true, Some(kept)) => line.json("firstKeptEntryId", &id_of(kept)?),
            (true, None) => line.text("firstKeptEntryId", &id),
            (false, Some(kept)) => {
                let number = numbers.get(&LineId::of(kept.text.trim()));
                let number = number.ok_or(CompactionError::Unreadable)?;
                line.json("firstKeptEntryIndex", &number.to_string())
            }
            (false, None) => line.json("firstKeptEntryIndex", &entries.lines.to_string()),
        };
        line = line.json("tokensBefore", &compaction.tokens.0.to_string());
        let context = view::context(entries, &entries.path_to(entries.newest));
        let edits = view::edits(&context);
        if let Some(system) = replayed_system(&context, compaction.now.timestamp_millis()) {
            line = line.json("systemMessage", &system);
        }
        let mut lines = vec![line.end()];
        if !is_named {
            let mut parent = id;
            for kept in &compaction.kept {
                let id = ids.next(entries, &mut new);
                let time = new.time();
                let ids = [("timestamp", &*time), ("id", &*id), ("parentId", &*parent)];
                // Entries have no ids in version 1 of the format.
                let texts = if has_ids { &ids[..] } else { &ids[..1] };
                let mut object = kept.object()?;
                // A `context_edit` does not apply to copies, so that the copy gets the new content.
                let new_content =
                    LineId::at_filled(&object, "id").and_then(|id| *edits.get(&id)?);
                let portion = new_content.map(Portion::with_content);
                let edited = portion.and_then(|portion| entry::edited(&object.only(portion)));
                if let Some(text) = &edited {
                    object = Object::parse(text).map_err(|_| CompactionError::Unreadable)?;
                }
                let copy = copy_with(&object, texts, NO_USAGE);
                lines.push(copy.of_object(&object).trim().to_owned());
                parent = id;
            }
        }
        Ok(lines)
    }
}

fn id_of(kept: &Kept<'_>) -> Result<String, CompactionError> {
    kept.object()?.get("id").map(str::to_owned).ok_or(CompactionError::Unreadable)
}

/// Combines all system messages in the context into one, as pi does when it compacts. pi also
/// accepts a compaction without a system message, but then it sends its whole prompt again and
/// loses texts that were added to the prompt.
fn replayed_system<'n>(nodes: &[&'n Node], milliseconds: i64) -> Option<String> {
    let message = |node: &&'n Node| Object::within(node.system.as_deref()?);
    let (mut texts, mut sections, mut tools) = (Vec::new(), Vec::new(), Vec::new());
    for message in nodes.iter().filter_map(message) {
        let content = parts(message.get("content"), &|block| block.text_of("text").map(Part::Text));
        let text = Message::new(Role::System, content).texts().join("\n");
        if !text.is_empty() {
            texts.push(text);
        }
        let patch = message.object_of("sections");
        for section in patch.iter().flat_map(Object::members) {
            let text = Some(section.value).filter(|text| *text != "null");
            set(&mut sections, section.key.clone(), text);
        }
        for (key, is_added) in [("toolsRemoved", false), ("toolsAdded", true)] {
            for tool in message.elements_of(key).unwrap_or_default() {
                let name = Object::within(tool).and_then(|tool| tool.text_of("name"));
                set(&mut tools, name?, is_added.then_some(tool));
            }
        }
    }
    if texts.is_empty() && sections.is_empty() && tools.is_empty() {
        return None;
    }
    let patch =
        sections.iter().fold(LineText::default(), |patch, (name, text)| patch.json(name, text));
    let tools: Vec<String> = tools.iter().map(|(_, tool)| (*tool).to_owned()).collect();
    let line = LineText::default()
        .json("role", SYSTEM)
        .text("content", &texts.join("\n\n"))
        .json("sections", &patch.end())
        .list("toolsAdded", &tools)
        .json("timestamp", &milliseconds.to_string());
    Some(line.end())
}

/// Replaces the value of `name` in `all`, or appends it if `name` is new. If the new value is
/// `None`, `name` is removed from `all`.
fn set<'a>(all: &mut Vec<(Cow<'a, str>, &'a str)>, name: Cow<'a, str>, value: Option<&'a str>) {
    let at = all.iter().position(|(own, _)| *own == name);
    match (at, value) {
        (Some(at), Some(value)) => all[at].1 = value,
        (Some(at), None) => drop(all.remove(at)),
        (None, Some(value)) => all.push((name, value)),
        (None, None) => {}
    }
}
