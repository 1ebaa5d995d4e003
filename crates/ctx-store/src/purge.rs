//! Deletion for good: of what is due in the trash, and of all that a session has.

use std::collections::HashSet;
use std::fs;

use chrono::{DateTime, Utc};

use crate::error::{Naming, StoreError};
use crate::open::if_there;
use crate::removal::{Removal, RemovalReport, StoreItem};
use crate::trash::{TrashEntry, remove, sync_removal};
use crate::{Entry, SessionId, SnapshotId, Store};

impl Store {
    /// What is in the trash: that whose grace was over at `deadline`, or all.
    pub fn expired(&self, deadline: Option<DateTime<Utc>>) -> Result<Vec<StoreItem>, StoreError> {
        let trashed = self.trashed(deadline)?.into_iter();
        Ok(trashed.map(|trashed| trashed.item).collect())
    }

    /// Deletes what [`Store::expired`] lists, for good.
    pub fn purge(&self, deadline: Option<DateTime<Utc>>) -> Result<RemovalReport, StoreError> {
        let items = self.expired(deadline)?;
        if items.is_empty() {
            return Ok(RemovalReport::default());
        }
        let mut removal = Removal::begin(self, "purge", None, &items)?;
        let items: HashSet<StoreItem> = items.into_iter().collect();
        // Only what is still there: somebody may have brought some of it back.
        for trashed in self.trashed(deadline)? {
            if items.contains(&trashed.item) {
                let deleted = self.delete(&trashed);
                removal.note(trashed.item, deleted);
            }
        }
        removal.done()
    }

    /// Deletes all snapshots, trash and offloaded files of a session, for good;
    /// what remains is a record in the audit log.
    pub fn forget(&self, session: &SessionId) -> Result<RemovalReport, StoreError> {
        let _session = self.lock_session(session)?;
        let catalog = self.catalog(Some(session))?;
        let is_held = |entry: &&Entry| entry.meta.as_ref().is_ok_and(|meta| meta.held);
        if let Some(entry) = catalog.entries.iter().find(is_held) {
            return Err(StoreError::Held(entry.id.to_string()));
        }
        let mut trashed = self.trashed(None)?;
        trashed.retain(|trashed| trashed.item.session() == session);
        let mut ids: Vec<SnapshotId> = catalog.entries.into_iter().map(|entry| entry.id).collect();
        ids.extend(catalog.uncommitted);
        let mut items = Vec::new();
        for TrashEntry { item, .. } in &trashed {
            match item {
                // A run that was killed may have left one of the two files of a snapshot.
                StoreItem::Snapshot(id) => ids.push(id.clone()),
                StoreItem::Offloaded(_) => items.push(item.clone()),
            }
        }
        ids.sort_by_key(|id| id.stamp.sequence);
        ids.dedup();
        items.splice(0..0, ids.into_iter().map(StoreItem::Snapshot));
        // What is no folder holds no files of ours, and goes all the same.
        let kept = self.offloaded_files(session).unwrap_or_default();
        let kept: Vec<StoreItem> = kept.into_iter().map(StoreItem::Offloaded).collect();

        let all = [&items[..], &kept].concat();
        let mut removal = Removal::begin(self, "forget", Some(session), &all)?;
        for item in items {
            let mut trashed = trashed.iter().filter(|trashed| trashed.item == item);
            let deleted = match &item {
                StoreItem::Snapshot(id) => {
                    remove(&self.meta_path(id)).and_then(|()| remove(&self.data_path(id)))
                }
                StoreItem::Offloaded(_) => Ok(()),
            };
            let deleted =
                deleted.and_then(|()| trashed.try_for_each(|trashed| self.delete(trashed)));
            removal.note(item, deleted);
        }
        let folder = self.offloaded().join(session.as_str());
        match if_there(fs::remove_dir_all(&folder)).naming("remove", &folder) {
            Ok(None) => {}
            Err(error) => removal.fail(error),
            Ok(Some(())) => kept.into_iter().for_each(|item| removal.note(item, Ok(()))),
        }
        sync_removal(&self.snapshots())?;
        removal.done()
    }
}
