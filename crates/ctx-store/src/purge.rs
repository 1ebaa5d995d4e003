//! Deletion for good: of the trash, and of everything that belongs to a session.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use crate::entries::remove_tree;
use crate::error::{Naming, StoreError};
use crate::files::if_there;
use crate::removal::{Removal, RemovalReport, StoreItem};
use crate::trash::sync_removal;
use crate::{Entry, SessionId, Store};

impl Store {
    /// What has been in the trash since `deadline` or longer, or all of it.
    pub fn expired(&self, deadline: Option<DateTime<Utc>>) -> Result<Vec<StoreItem>, StoreError> {
        Ok(self.trashed(deadline)?.into_keys().collect())
    }

    /// Deletes what [`Store::expired`] lists, for good.
    pub fn purge(&self, deadline: Option<DateTime<Utc>>) -> Result<RemovalReport, StoreError> {
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
    pub fn forget(&self, session: &SessionId) -> Result<RemovalReport, StoreError> {
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
        match if_there(remove_tree(&folder).naming("remove", &folder)) {
            Ok(None) => {}
            Err(error) => removal.fail(error),
            Ok(Some(())) => kept.into_iter().for_each(|item| removal.note(item, Ok(()))),
        }
        // It has the words of what is deleted; the next search makes it anew.
        let index = self.search_index();
        if let Err(error) = if_there(remove_tree(&index).naming("remove", &index)) {
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
