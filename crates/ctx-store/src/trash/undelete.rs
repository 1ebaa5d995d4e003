//! Restores items from the trash.

use std::path::PathBuf;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{let_others_in, rename, sync_dir};
use crate::snapshot::find::Query;
use crate::store::{Store, StoreLock};
use crate::trash::TrashedFiles;
use crate::{Facts, SessionId, StoreItem, When};

impl Store {
    /// Returns the items in the trash that `wanted` names. `wanted` is `all`, the name of one item
    /// as in [`Store::find_deleted`], or a time, which selects everything removed since then.
    /// Snapshots without a valid commit record are left out, unless the user names them. The items
    /// are sorted by time of removal, earliest first.
    pub fn find_all_deleted(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
    ) -> Result<Vec<StoreItem>> {
        let since = if wanted == "all" {
            None
        } else {
            match self.find_deleted(session, wanted) {
                Ok(item) => return Ok(vec![item]),
                Err(StoreError::NotInTrash(missing)) => {
                    let when = When::parse(wanted, self.now());
                    Some(when.map_err(|_| StoreError::NotInTrash(missing))?.start)
                }
                Err(error) => return Err(error),
            }
        };
        let mut list = self.trash_list(session)?;
        list.retain(|it| {
            let is_whole = it.meta.is_some() || matches!(it.item, StoreItem::Offloaded(_));
            is_whole && since.is_none_or(|since| it.removed >= since)
        });
        if list.is_empty() {
            return Err(StoreError::NotInTrash(wanted.to_owned()));
        }
        Ok(list.into_iter().rev().map(|it| it.item).collect())
    }

    /// Returns the item in the trash that `wanted` names. A snapshot is named by its number or by
    /// the beginning of its id or of the time in its id, and an offloaded file by the beginning of
    /// its hash.
    pub fn find_deleted(&self, session: Option<&SessionId>, wanted: &str) -> Result<StoreItem> {
        let mut trashed = self.trashed(None)?;
        let query = Query::new(wanted);
        trashed.retain(|item, files| {
            let is_named = match item {
                StoreItem::Snapshot(id) => {
                    !files.meta.is_empty() && (query.is_number_of(id) || query.begins(id))
                }
                StoreItem::Offloaded(file) => query.begins_file(file),
            };
            is_named && session.is_none_or(|session| session == item.session())
        });
        let mut found: Vec<&StoreItem> = trashed.keys().collect();
        // If the name matches a snapshot, do not also treat it as an offloaded file's hash.
        if let Some(StoreItem::Snapshot(_)) = found.first() {
            found.retain(|item| matches!(item, StoreItem::Snapshot(_)));
        }
        match found[..] {
            [] => Err(StoreError::NotInTrash(wanted.to_owned())),
            [item] => Ok(item.clone()),
            _ => Err(StoreError::ambiguous(wanted, found)),
        }
    }

    /// Restores items from the trash. If an item cannot be restored, continues with the other
    /// items. Returns the restored items, and the errors for those that could not be restored.
    pub fn undelete_all(&self, items: &[StoreItem]) -> (Vec<StoreItem>, Vec<StoreError>) {
        let (mut back, mut failed) = (Vec::new(), Vec::new());
        for items in items.chunks(AT_A_TIME) {
            let begun = self.lock().and_then(|it| Ok((it, self.trashed(None)?)));
            let (mut locked, mut trashed) = match begun {
                Ok(begun) => begun,
                Err(error) => {
                    failed.push(error);
                    return (back, failed);
                }
            };
            for item in items {
                match self.undelete_one(&mut locked, item, trashed.remove(item)) {
                    Ok(()) => back.push(item.clone()),
                    Err(error) => failed.push(error),
                }
            }
            drop(locked);
            let_others_in();
        }
        (back, failed)
    }

    fn undelete_one(
        &self,
        locked: &mut StoreLock<'_>,
        item: &StoreItem,
        trashed: Option<TrashedFiles>,
    ) -> Result<()> {
        let Some(trashed) = trashed else { return Err(StoreError::NotInTrash(item.to_string())) };
        let mut facts = Facts::of(item.session());
        match item {
            StoreItem::Snapshot(id) => facts.snapshots = vec![id.to_string()],
            StoreItem::Offloaded(file) => facts.sha256 = Some(file.name.sha256.clone()),
        }
        let operation = locked.begin("undelete", &facts)?;
        match item {
            StoreItem::Snapshot(_) => self.bring_back(&trashed)?,
            StoreItem::Offloaded(file) => self.bring_back_offloaded(file, &trashed.data)?,
        }
        for folder in trashed.folders() {
            self.remove_empty_from(&folder);
        }
        locked.done(&operation, &facts)
    }

    /// Moves a snapshot's files back. The commit record is moved last, so that there is never a
    /// record without bytes.
    fn bring_back(&self, trashed: &TrashedFiles) -> Result<()> {
        let folder = self.snapshots();
        let bring = |path: &PathBuf| {
            let to = folder.join(path.file_name().unwrap_or_default());
            rename(path, &to).or_cannot("bring back", &to)
        };
        for path in &trashed.data {
            bring(path)?;
            sync_dir(&folder)?;
        }
        for path in &trashed.meta {
            bring(path)?;
            // The snapshot exists again from now on, because its meta.json is in place. If syncing
            // fails, the snapshot may not survive a power cut.
            sync_dir(&folder).map_err(|error| error.after("undelete"))?;
        }
        Ok(())
    }
}

/// How many items to restore before unlocking the store for a moment, so that other runs can use
/// it.
const AT_A_TIME: usize = 100;

#[cfg(test)]
mod tests {
    use crate::tests::{Bench, id};
    use crate::{SnapshotId, StoreError, StoreItem};

    /// Items in the trash can be named by the time of their removal.
    #[test]
    fn all_or_what_was_removed_since_a_time_is_found() {
        let bench = Bench::new();
        let store = &bench.store;
        let ids = ["demo", "other", "demo"].map(|session| bench.take(session, b"1\n"));
        for id in &ids {
            let ids = std::slice::from_ref(id);
            store.discard(ids, &[], store.now()).expect("removed");
            bench.wait_days(1);
        }
        let bare = bench.take("bare", b"1\n");
        std::fs::remove_file(store.meta_path(&bare)).expect("removed");
        store.discard(&[], &[bare], store.now()).expect("removed");
        let item = |id: &SnapshotId| StoreItem::Snapshot(id.clone());
        let all = ids.each_ref().map(item);
        let find = |wanted| store.find_all_deleted(None, wanted);
        assert_eq!(find("all").expect("found"), all);
        assert_eq!(find("50 hours ago").expect("found"), all[1..]);
        assert_eq!(find("30 hours ago").expect("found"), all[2..]);
        assert_eq!(find("2").expect("found"), all[1..2]);
        for none in ["1 hour ago", "9", "no such"] {
            let found = find(none);
            assert!(matches!(found, Err(StoreError::NotInTrash(_))), "{found:?}");
        }
        let of_demo = store.find_all_deleted(Some(&id("demo")), "all");
        assert_eq!(of_demo.expect("found"), [all[0].clone(), all[2].clone()]);
        let (back, failed) = store.undelete_all(&all);
        assert_eq!(back, all);
        assert!(failed.is_empty());
        let (_, failed) = store.undelete_all(&all[..1]);
        assert!(matches!(failed[..], [StoreError::NotInTrash(_)]));
    }
}
