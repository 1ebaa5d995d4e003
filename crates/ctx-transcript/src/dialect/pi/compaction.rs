//! A compaction in the words of pi: an entry with a summary, and from which entry on the old
//! ones stay.
//!
//! Old entries stay from the one that it names up to it. Where one between them leaves, or one
//! that stays has changed, what stays is written again behind it.

use std::collections::{HashMap, HashSet};

use super::tree::Tree;
use super::{Pi, entry, header, system, view};
use crate::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, Kept, LineText, Times,
};
use crate::dialect::key::Key;
use crate::{Edits, Object, Portion, json};

/// Sees the entries of a session.
#[derive(Default)]
pub(super) struct Writer {
    tree: Tree,
    /// The ids of the entries that are written.
    made: HashSet<Key>,
    /// The id of the last entry that the session goes on from, raw.
    last: Option<String>,
    /// In version 1 entries have no ids: the numbers that count are those of lines that parse,
    /// by the hash of their text.
    indexes: HashMap<Key, usize>,
    lines: usize,
    times: Times,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: Option<&Object<'_>>) {
        let Some(object) = object else {
            return;
        };
        self.times.push(object);
        let place = self.tree.nodes.len();
        self.tree.push(self.lines, object);
        if let Some(id) = object.get("id").filter(|_| self.tree.newest == Some(place)) {
            self.last = Some(id.to_owned());
        }
        if self.tree.version.is_some_and(header::is_first) {
            let text = Key::of(object.text().trim());
            self.indexes.insert(text, self.lines);
        }
        self.lines += 1;
    }

    fn finish(
        mut self: Box<Self>,
        compaction: &Compaction<'_>,
    ) -> Result<Vec<String>, CompactionError> {
        let tree = std::mem::take(&mut self.tree);
        let version = tree.version.ok_or(CompactionError::NoHeader)?;
        let has_ids = !header::is_first(version);
        let mut ids = Ids::new(&compaction.seed);
        let id = self.new_id(&tree, &mut ids);
        let is_named = compaction.is_end && compaction.kept.iter().all(|kept| !kept.is_changed);
        let first = compaction.kept.first().filter(|_| is_named);
        let mut line = LineText::new().text("type", "compaction");
        if has_ids {
            let parent = self.last.as_deref().unwrap_or("null");
            line = line.text("id", &id).json("parentId", parent);
        }
        line = line
            .text("timestamp", &self.times.next(compaction.now))
            .text("summary", compaction.summary);
        // Where nothing stays it names itself, and nothing that stands before it.
        line = if has_ids {
            let named = first.map(|kept| id_of(kept)).transpose()?;
            line.json("firstKeptEntryId", &named.unwrap_or(json::quoted(&id)))
        } else {
            let named = first.map(|kept| self.index_of(kept)).transpose()?;
            let index = named.unwrap_or(self.lines);
            line.json("firstKeptEntryIndex", &index.to_string())
        };
        line = line.json("tokensBefore", &compaction.tokens.0.to_string());
        let context = view::context(&tree, &tree.path());
        let contents = view::edits(&context);
        if let Some(system) = system::replayed(&context, compaction.now.timestamp_millis()) {
            line = line.json("systemMessage", &system);
        }
        let mut lines = vec![line.end()];
        if !is_named {
            let mut parent = id;
            for kept in &compaction.kept {
                let id = self.new_id(&tree, &mut ids);
                let time = self.times.next(compaction.now);
                let place = has_ids.then_some((&id, &parent));
                lines.push(copy(kept, place, &time, &contents)?);
                parent = id;
            }
        }
        Ok(lines)
    }
}

impl Writer {
    /// An id that no entry has.
    fn new_id(&mut self, tree: &Tree, ids: &mut Ids) -> String {
        loop {
            let id = ids.short();
            let key = Key::of(&id);
            if tree.place(Some(key)).is_none() && self.made.insert(key) {
                return id;
            }
        }
    }

    fn index_of(&self, kept: &Kept<'_>) -> Result<usize, CompactionError> {
        let index = self.indexes.get(&Key::of(kept.text.trim()));
        index.copied().ok_or(CompactionError::Unreadable)
    }
}

fn id_of(kept: &Kept<'_>) -> Result<String, CompactionError> {
    let object = Object::parse(kept.text).ok();
    let id = object.as_ref().and_then(|object| object.get("id"));
    id.map(str::to_owned).ok_or(CompactionError::Unreadable)
}

/// The entry at another place of the tree; `place` is its id and that of its parent.
fn copy(
    kept: &Kept<'_>,
    place: Option<(&String, &String)>,
    time: &str,
    contents: &HashMap<Key, Option<&str>>,
) -> Result<String, CompactionError> {
    let mut object = Object::parse(kept.text).map_err(|_| CompactionError::Unreadable)?;
    // The edit of an entry does not name its copy.
    let content = Key::at(&object, "id").and_then(|id| *contents.get(&id)?);
    let edited = content.and_then(|it| entry::edited(&object.only(Portion::with_content(it))));
    if let Some(text) = &edited {
        object = Object::parse(text).map_err(|_| CompactionError::Unreadable)?;
    }
    let mut edits = Edits::new();
    let mut members = vec![("timestamp", time)];
    if let Some((id, parent)) = place {
        members.extend([("id", id.as_str()), ("parentId", parent.as_str())]);
    }
    for (key, new) in members {
        if let Some(raw) = object.get(key) {
            edits.replace(object.place_of(raw), json::quoted(new));
        }
    }
    let message = object.object_of("message");
    let usage = message.as_ref().and_then(|message| message.get("usage"));
    if let Some(raw) = usage {
        // What it has used says nothing of the new context: the agent would compact it again
        // at once.
        edits.replace(object.place_of(raw), Pi::NO_USAGE.to_owned());
    }
    Ok(edits.of_object(&object).trim().to_owned())
}
