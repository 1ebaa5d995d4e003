//! Removals: done under the store's lock and recorded in the audit log; when one thing
//! cannot be removed, the others still are.
//! Deletion for good: of the trash, and of everything that belongs to a session.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use crate::audit::{Facts, Operation};
use crate::error::{OrCannot, Result, StoreError};
use crate::fs::folder::remove_tree;
use crate::fs::{if_there, let_others_in};
use crate::id::{SessionId, SnapshotId};
use crate::offload::OffloadedFile;
use crate::snapshot::Entry;
use crate::store::Store;
use crate::trash::sync_removal;

/// A thing that a store keeps and that can be removed from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreItem {
    /// A snapshot, or what is left of one.
    Snapshot(SnapshotId),
    /// An offloaded file.
    Offloaded(OffloadedFile),
}

impl StoreItem {
    /// The session that it belongs to.
    pub fn session(&self) -> &SessionId {
        match self {
            Self::Snapshot(id) => &id.session,
            Self::Offloaded(file) => &file.session,
        }
    }
}

impl fmt::Display for StoreItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => id.fmt(f),
            Self::Offloaded(file) => file.fmt(f),
        }
    }
}

/// How a removal ended.
#[derive(Debug, Default)]
pub struct RemovalReport {
    /// Removed items.
    pub items: Vec<StoreItem>,
    /// Items that could not be removed.
    pub failed: Vec<StoreError>,
    /// The audit log could not be written because the disk is full. Things are removed all
    /// the same: that makes room.
    pub unaudited: bool,
}

/// How many things are removed while the store is locked once.
const AT_A_TIME: usize = 500;

/// A removal, with its records in the audit log.
pub(crate) struct Removal<'a> {
    store: &'a Store,
    /// Set when everything of one session is removed.
    session: Option<&'a SessionId>,
    /// `None` when the disk is full.
    operation: Option<Operation>,
    removed: RemovalReport,
}

impl<'a> Removal<'a> {
    pub(crate) fn begin(
        store: &'a Store,
        op: &'static str,
        session: Option<&'a SessionId>,
        items: &[StoreItem],
    ) -> Result<Self> {
        let operation = unless_full(store.begin(op, &facts(session, items)))?;
        Ok(Self { store, session, operation, removed: RemovalReport::default() })
    }

    /// Removes one thing after the other; `remove` says what became of it, or nothing when it
    /// is spared. Other runs get the store in between: it is locked for some of them at a time.
    pub(crate) fn each<T>(
        &mut self,
        things: impl IntoIterator<Item = T>,
        mut remove: impl FnMut(T) -> Option<(StoreItem, Result<()>)>,
    ) {
        let mut things = things.into_iter().peekable();
        while things.peek().is_some() {
            let locked = match self.store.lock() {
                Ok(locked) => locked,
                Err(error) => return self.fail(error),
            };
            for thing in things.by_ref().take(AT_A_TIME) {
                if let Some((item, removed)) = remove(thing) {
                    self.note(item, removed);
                }
            }
            drop(locked);
            if things.peek().is_some() {
                let_others_in();
            }
        }
    }

    /// Notes what became of one thing.
    pub(crate) fn note(&mut self, item: StoreItem, removed: Result<()>) {
        match removed {
            Ok(()) => self.removed.items.push(item),
            Err(error) => self.fail(error),
        }
    }

    pub(crate) fn fail(&mut self, error: StoreError) {
        self.removed.failed.push(error);
    }

    /// A failure after everything was removed is the removal's own. If an item could not be
    /// removed, reporting success with a remark would hide that.
    pub(crate) fn uncertain<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Err(error) if !self.removed.failed.is_empty() => {
                // Not done: something is left.
                self.fail(match error {
                    StoreError::Uncertain { source, .. } => *source,
                    other => other,
                });
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    pub(crate) fn done(mut self) -> Result<RemovalReport> {
        let facts = facts(self.session, &self.removed.items);
        let done = match &self.operation {
            Some(operation) => unless_full(self.store.done(operation, &facts)),
            None => Ok(None),
        };
        let done = self.uncertain(done)?;
        self.removed.unaudited = done.is_some_and(|done| done.is_none());
        Ok(self.removed)
    }
}

/// `None` when the disk is full.
fn unless_full<T>(written: Result<T>) -> Result<Option<T>> {
    match written {
        Err(error) if error.is_disk_full() => Ok(None),
        other => other.map(Some),
    }
}

fn facts(session: Option<&SessionId>, items: &[StoreItem]) -> Facts {
    let snapshots = items.iter().filter_map(|item| match item {
        StoreItem::Snapshot(id) => Some(id.to_string()),
        StoreItem::Offloaded(_) => None,
    });
    Facts {
        session: session.map(ToString::to_string),
        snapshots: snapshots.collect(),
        count: Some(items.len() as u64),
        ..Facts::default()
    }
}

impl Store {
    /// Items in the trash since `deadline` or longer, or all of them.
    pub fn expired(&self, deadline: Option<DateTime<Utc>>) -> Result<Vec<StoreItem>> {
        Ok(self.trashed(deadline)?.into_keys().collect())
    }

    /// Deletes what [`Store::expired`] lists, for good.
    pub fn purge(&self, deadline: Option<DateTime<Utc>>) -> Result<RemovalReport> {
        let trashed = self.trashed(deadline)?;
        if trashed.is_empty() {
            return Ok(RemovalReport::default());
        }
        let items: Vec<StoreItem> = trashed.keys().cloned().collect();
        let mut removal = Removal::begin(self, "purge", None, &items)?;
        let mut folders = BTreeSet::new();
        removal.each(trashed, |(item, files)| {
            // Somebody may have brought it back since it was listed.
            let deleted = match files.are_there() {
                Ok(false) => return None,
                Ok(true) => {
                    folders.extend(files.folders());
                    files.delete()
                }
                Err(error) => Err(error),
            };
            Some((item, deleted))
        });
        self.remove_empty(&mut removal, folders);
        removal.done()
    }

    /// Deletes all snapshots, trash and offloaded files of a session, for good;
    /// what remains is a record in the audit log.
    pub fn forget(&self, session: &SessionId) -> Result<RemovalReport> {
        let _session = self.lock_session(session)?;
        let catalog = self.catalog(Some(session))?;
        let is_held = |entry: &&Entry| entry.meta.as_ref().is_ok_and(|meta| meta.held);
        if let Some(entry) = catalog.entries.iter().find(is_held) {
            return Err(StoreError::Held(entry.id.to_string()));
        }
        let mut items = self.trashed(None)?;
        for (item, mut files) in self.set_aside()? {
            items.entry(item).or_default().append(&mut files);
        }
        items.retain(|item, _| item.session() == session);
        // A run that was killed may have left one of the two files of a snapshot.
        let committed = catalog.entries.into_iter().map(|entry| entry.id);
        for id in committed.chain(catalog.uncommitted) {
            items.entry(StoreItem::Snapshot(id)).or_default();
        }
        // Something else in the place of the folder holds no files of ours; it goes as well.
        let kept = self.offloaded_files(session).unwrap_or_default();
        let kept: Vec<StoreItem> = kept.into_iter().map(StoreItem::Offloaded).collect();

        let all: Vec<StoreItem> = items.keys().chain(&kept).cloned().collect();
        let mut removal = Removal::begin(self, "forget", Some(session), &all)?;
        let mut folders = BTreeSet::new();
        removal.each(items, |(item, trashed)| {
            let deleted = match &item {
                StoreItem::Snapshot(id) => self.remove_snapshot(id),
                StoreItem::Offloaded(_) => Ok(()),
            };
            folders.extend(trashed.folders());
            Some((item, deleted.and_then(|()| trashed.delete())))
        });
        self.remove_empty(&mut removal, folders);
        self.remove_recent(session);
        self.remove_notes(session);
        let folder = self.offloaded().join(session.as_str());
        match if_there(remove_tree(&folder).or_cannot("remove", &folder)) {
            Ok(None) => {}
            Err(error) => removal.fail(error),
            Ok(Some(())) => kept.into_iter().for_each(|item| removal.note(item, Ok(()))),
        }
        // It has words of what is deleted; the next search builds a new one.
        let index = self.search_index();
        if let Err(error) = if_there(remove_tree(&index).or_cannot("remove", &index)) {
            removal.fail(error);
        }
        removal.uncertain(sync_removal(&self.snapshots()))?;
        removal.done()
    }

    /// Removes the folders of the trash that are empty now: once, at the end, because to
    /// find a folder empty the whole of it may have to be read.
    fn remove_empty(&self, removal: &mut Removal<'_>, folders: BTreeSet<PathBuf>) {
        removal.each(folders, |folder| {
            self.remove_empty_from(&folder);
            None
        });
    }
}

#[cfg(test)]
mod removal_tests {
    use std::fs;
    use std::path::Path;

    use super::Removal;
    use crate::StoreError;
    use crate::tests::Bench;

    /// C3: if some files stay and the audit log fails as well, the removal is not reported as done.
    #[test]
    fn what_is_not_removed_is_told_although_the_audit_log_fails() {
        for stays in [true, false] {
            let bench = Bench::new();
            let mut removal = Removal::begin(&bench.store, "forget", None, &[]).expect("begins");
            if stays {
                removal.fail(StoreError::Busy("the store is locked".to_owned()));
            }
            let log = bench.store.audit_log();
            fs::remove_file(&log).expect("removed");
            fs::create_dir(Path::new(&log)).expect("made");
            match removal.done() {
                Ok(report) => assert_eq!((stays, report.failed.len()), (true, 2)),
                Err(error) => assert!(!stays, "{error}"),
            }
        }
    }
}
