//! A compaction in the format of pi: an entry with a summary, which names the first old entry that
//! stays.
//!
//! All entries from that one on stay. If one between them is removed, or one that stays has
//! changed, the entries that stay are written again after the compaction.

use std::collections::{HashMap, HashSet};

use super::tree::{Entries, has_no_ids};
use super::{NO_USAGE, entry, view};
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, Kept, LineText, Times, copy_with,
};
use crate::log::links::LineId;
use crate::log::view::Portion;
use crate::{Object, json};

/// Collects facts from the entries of a session.
#[derive(Default)]
pub(super) struct Writer {
    entries: Entries,
    /// The id of the last entry, from which the session continues, raw.
    last: Option<String>,
    /// The numbers of entries of version 1, by the hash of their text. Only lines of JSON count.
    numbers: HashMap<LineId, usize>,
    times: Times,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.times.push(object);
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
        let Self { entries, last, numbers, times } = self;
        let version = entries.version.ok_or(CompactionError::NoHeader)?;
        let has_ids = !has_no_ids(version);
        let (mut made, mut ids) = (HashSet::new(), Ids::new(&compaction.seed));
        // Creates an id that no entry has.
        let mut new_id = || loop {
            let id = ids.short();
            let hash = LineId::of(&id);
            if entries.place(Some(hash)).is_none() && made.insert(hash) {
                break id;
            }
        };
        let id = new_id();
        let is_named = compaction.is_end && compaction.kept.iter().all(|kept| !kept.is_changed);
        let first = if is_named { compaction.kept.first() } else { None };
        let mut line = LineText::of_type("compaction");
        if has_ids {
            line = line.text("id", &id).json("parentId", last.as_deref().unwrap_or("null"));
        }
        line =
            line.text("timestamp", &times.next(compaction.now)).text("summary", compaction.summary);
        // A compaction that keeps no entries names itself.
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
        let context = view::context(entries, &entries.path());
        let edits = view::edits(&context);
        if let Some(system) = entry::replayed_system(&context, compaction.now.timestamp_millis()) {
            line = line.json("systemMessage", &system);
        }
        let mut lines = vec![line.end()];
        if !is_named {
            let mut parent = id;
            for kept in &compaction.kept {
                let id = new_id();
                let mut members = vec![("timestamp", json::quoted(&times.next(compaction.now)))];
                if has_ids {
                    members.push(("id", json::quoted(&id)));
                    members.push(("parentId", json::quoted(&parent)));
                }
                lines.push(copy(kept, &members, &edits)?);
                parent = id;
            }
        }
        Ok(lines)
    }
}

fn id_of(kept: &Kept<'_>) -> Result<String, CompactionError> {
    kept.object()?.get("id").map(str::to_owned).ok_or(CompactionError::Unreadable)
}

/// Copies the entry with other members. It includes the content of a `context_edit`, because the
/// edit does not apply to the copy.
fn copy(
    kept: &Kept<'_>,
    members: &[(&str, String)],
    edits: &view::Edits<'_>,
) -> Result<String, CompactionError> {
    let mut object = kept.object()?;
    let content = LineId::at_filled(&object, "id").and_then(|id| *edits.get(&id)?);
    let edited = content.and_then(|it| entry::edited(&object.only(Portion::with_content(it))));
    if let Some(text) = &edited {
        object = Object::parse(text).map_err(|_| CompactionError::Unreadable)?;
    }
    let edits = copy_with(&object, members, Some(NO_USAGE));
    Ok(edits.of_object(&object).trim().to_owned())
}
