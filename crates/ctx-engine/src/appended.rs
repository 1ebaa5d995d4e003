//! Writes changes to messages as new lines at the end of an agent's log, if the agent reads such
//! lines. The changed records then keep their bytes.

use std::collections::{HashMap, HashSet};

use ctx_format::{Dialect, EditWriter, Edits, Record};

use crate::Time;

/// The changes to a session that are written as new lines.
pub(crate) struct AppendedEdits {
    writer: Box<dyn EditWriter>,
    newest: Option<Time>,
    /// The number of changes so far.
    pub(crate) count: usize,
    /// Whether the last record has no line end.
    is_unfinished: bool,
}

impl AppendedEdits {
    /// Returns `None` if the agent reads no such lines.
    pub(crate) fn new(dialect: Option<&dyn Dialect>) -> Option<Self> {
        let writer = dialect?.log()?.edit_writer()?;
        Some(Self { writer, newest: None, count: 0, is_unfinished: false })
    }

    /// Adds the next record of the session and, if it changes, its new bytes. Returns true if the
    /// change will be a new line, so that the record itself stays.
    pub(crate) fn take(&mut self, record: &Record<'_>, new: Option<&[u8]>) -> bool {
        self.is_unfinished = record.line_end().is_empty();
        let Some(object) = record.whole_object() else { return false };
        self.newest = Time::of(object).max(self.newest);
        self.writer.push(object);
        let changed = new.map(|bytes| record.origin.clone().record(bytes));
        let changed = changed.as_ref().and_then(Record::whole_object);
        let is_taken = changed.is_some_and(|changed| self.writer.edit(object, changed));
        self.count += usize::from(is_taken);
        is_taken
    }

    /// Returns the bytes that follow the last record.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.count == 0 {
            return Vec::new();
        }
        let seed = ctx_text::hash(&(self.newest.map(|time| time.0), self.count)).to_le_bytes();
        let lines = self.writer.finish(self.newest.map(|time| time.0), &seed);
        let lines = lines.into_iter().map(|line| line + "\n");
        let first = if self.is_unfinished { "\n" } else { "" };
        first.chars().map(String::from).chain(lines).collect::<String>().into_bytes()
    }
}

/// Undoes changes that were written as new lines, by removing these lines.
#[derive(Default)]
pub(crate) struct RemovedEdits {
    /// The ids of the records whose changes are undone.
    pub(crate) of: HashSet<String>,
    /// Maps the id of each removed line to the id of its parent.
    parents: HashMap<String, Option<String>>,
}

impl RemovedEdits {
    /// Returns true if the line is removed.
    pub(crate) fn remove(&mut self, record: &Record<'_>, dialect: &dyn Dialect) -> bool {
        let (Some(object), Some(log)) = (record.whole_object(), dialect.log()) else {
            return false;
        };
        let target = log.edited(object);
        if !target.is_some_and(|target| self.of.contains(&*target)) {
            return false;
        }
        let links = dialect.links(object);
        if let Some(id) = &links.id {
            let parent = links.parent();
            let above = parent.map(|parent| self.parents.get(parent).cloned());
            let above = above.map(|above| above.unwrap_or(parent.map(str::to_owned)));
            self.parents.insert(id.to_string(), above.flatten());
        }
        true
    }

    /// Returns the bytes of the record without links to removed lines; `None` if it has none.
    pub(crate) fn relinked(&self, record: &Record<'_>, dialect: &dyn Dialect) -> Option<Vec<u8>> {
        let object = record.whole_object().filter(|_| !self.parents.is_empty())?;
        let mut edits = Edits::default();
        let moved = |id: &str, _| self.parents.get(id).map(Option::as_deref);
        dialect.links(object).moved(moved, &mut edits);
        (!edits.is_empty()).then(|| record.edited(&edits))
    }
}
