//! Removes items while the store is locked, and records the removal in the audit log. If an item
//! cannot be removed, the removal continues with the other items. This module also empties the
//! trash, and deletes everything that belongs to a session.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use derive_more::Display;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{if_there, let_others_in, remove_tree};
use crate::trash::sync_removal;
use crate::{Entry, Facts, OffloadedFile, Operation, SessionId, SnapshotId, Store};

/// An item in the store that can be removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Display, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum StoreItem {
    /// A snapshot, or what remains of its files.
    Snapshot(SnapshotId),
    /// An offloaded file.
    Offloaded(OffloadedFile),
}

impl StoreItem {
    /// Returns the session that the item belongs to.
    pub fn session(&self) -> &SessionId {
        match self {
            Self::Snapshot(id) => &id.session,
            Self::Offloaded(file) => &file.session,
        }
    }
}

/// The result of a removal.
#[derive(Debug, Default)]
pub struct RemovalReport {
    /// The items that were removed.
    pub items: Vec<StoreItem>,
    /// The errors for items that could not be removed.
    pub failed: Vec<StoreError>,
    /// Whether the removal could not be recorded in the audit log because the disk is full. The
    /// items are removed anyway, to free space.
    pub unaudited: bool,
}

/// How many items to remove before unlocking the store for a moment, so that other runs can use it.
const AT_A_TIME: usize = 500;

/// A removal in progress, with its records in the audit log.
pub(crate) struct Removal<'a> {
    store: &'a Store,
    /// The session whose items are removed, or `None` if they may belong to several sessions.
    session: Option<&'a SessionId>,
    /// The operation in the audit log, or `None` if it could not be recorded because the disk is
    /// full.
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

    /// Removes items one after the other. `remove` returns the item and the result, or `None` if
    /// the item stays. Unlocks the store from time to time, so that other runs can use it.
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

    /// Adds the result for one item to the report.
    pub(crate) fn note(&mut self, item: StoreItem, removed: Result<()>) {
        match removed {
            Ok(()) => self.removed.items.push(item),
            Err(error) => self.fail(error),
        }
    }

    pub(crate) fn fail(&mut self, error: StoreError) {
        self.removed.failed.push(error);
    }

    /// Handles a failure after the items were removed. The error says that the removal is done,
    /// unless an item could not be removed: claiming success would hide that failure.
    pub(crate) fn uncertain<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Err(error) if !self.removed.failed.is_empty() => {
                // Report a plain failure, because not all items were removed.
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
        let done = |operation| unless_full(self.store.done(operation, &facts));
        let done = self.operation.as_ref().map_or(Ok(None), done);
        let done = self.uncertain(done)?;
        self.removed.unaudited = done.is_some_and(|done| done.is_none());
        Ok(self.removed)
    }
}

/// Returns `None` instead of an error if the disk is full.
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
    /// Returns the items moved to the trash at or before `deadline`, or all items if `deadline` is
    /// `None`.
    pub fn expired(&self, deadline: Option<DateTime<Utc>>) -> Result<Vec<StoreItem>> {
        Ok(self.trashed(deadline)?.into_keys().collect())
    }

    /// Permanently deletes the items that [`Store::expired`] lists.
    pub fn purge(&self, deadline: Option<DateTime<Utc>>) -> Result<RemovalReport> {
        let trashed = self.trashed(deadline)?;
        if trashed.is_empty() {
            return Ok(RemovalReport::default());
        }
        let items: Vec<StoreItem> = trashed.keys().cloned().collect();
        let mut removal = Removal::begin(self, "purge", None, &items)?;
        let mut folders = BTreeSet::new();
        removal.each(trashed, |(item, files)| {
            // Another run may have restored the item from the trash since it was listed.
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

    /// Permanently deletes all snapshots and offloaded files of a session, including those in the
    /// trash. A record of the deletion remains in the audit log.
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
        // Include snapshots that have only one of their two files; a killed run may have left them.
        for id in catalog.entries.into_iter().map(|entry| entry.id).chain(catalog.uncommitted) {
            items.entry(StoreItem::Snapshot(id)).or_default();
        }
        // Whatever is at the path of the session's folder is removed below, even if it is not a
        // folder with offloaded files.
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
        // Remove the search index, because it contains words from the deleted text. The next search
        // will rebuild it.
        let index = self.search_index();
        if let Err(error) = if_there(remove_tree(&index).or_cannot("remove", &index)) {
            removal.fail(error);
        }
        removal.uncertain(sync_removal(&self.snapshots()))?;
        removal.done()
    }

    /// Removes the folders in the trash that have become empty. Empty folders are removed only
    /// once, at the end, because finding out whether a folder is empty may require reading all of
    /// it.
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

    /// C3: if some files could not be removed and the audit log cannot be written either, the
    /// removal is not reported as done.
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
