//! Undelete: what people name comes back from the trash.

use std::fs;
use std::path::PathBuf;

use crate::error::{Naming, StoreError};
use crate::files::{let_others_in, sync_dir};
use crate::lock::StoreLock;
use crate::query::Query;
use crate::removal::StoreItem;
use crate::trash::TrashedFiles;
use crate::{Facts, SessionId, Store, When};

/// How many things come back while the store is locked once.
const AT_A_TIME: usize = 100;

/// How it ended, when several things were to come back.
#[derive(Debug, Default)]
pub struct UndeleteReport {
    /// What is back.
    pub back: Vec<StoreItem>,
    /// What failed.
    pub failed: Vec<StoreError>,
}

impl Store {
    /// All in the trash that `wanted` names: `all`; what [`Store::find_deleted`] finds; or all
    /// that was removed at a time or later. What was never committed is no snapshot, and
    /// nothing to come back unless it is named. What was removed first comes first.
    pub fn find_all_deleted(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
    ) -> Result<Vec<StoreItem>, StoreError> {
        let since = if wanted == "all" {
            None
        } else {
            match self.find_deleted(session, wanted) {
                Ok(item) => return Ok(vec![item]),
                Err(StoreError::NotInTrash(missing)) => {
                    let when = When::parse(wanted, self.now());
                    let when = when.map_err(|_| StoreError::NotInTrash(missing))?;
                    Some(when.start)
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

    /// The thing in the trash that `wanted` names: a snapshot by its number or the
    /// beginning of its id, an offloaded file by the beginning of its hash.
    pub fn find_deleted(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
    ) -> Result<StoreItem, StoreError> {
        let mut trashed = self.trashed(None)?;
        let query = Query::new(wanted);
        trashed.retain(|item, files| {
            let is_named = match item {
                StoreItem::Snapshot(id) => {
                    let is_whole = !files.meta.is_empty();
                    is_whole && (query.is_number_of(id) || query.begins(id))
                }
                StoreItem::Offloaded(file) => query.begins_file(file),
            };
            is_named && session.is_none_or(|session| session == item.session())
        });
        let mut found: Vec<&StoreItem> = trashed.keys().collect();
        // Snapshots come first; what is a name of one is not taken for a hash.
        if let Some(StoreItem::Snapshot(_)) = found.first() {
            found.retain(|item| matches!(item, StoreItem::Snapshot(_)));
        }
        match found[..] {
            [] => Err(StoreError::NotInTrash(wanted.to_owned())),
            [item] => Ok(item.clone()),
            _ => Err(StoreError::ambiguous(wanted, found)),
        }
    }

    /// Brings a thing back from the trash.
    pub fn undelete(&self, item: &StoreItem) -> Result<(), StoreError> {
        let mut locked = self.lock()?;
        let trashed = self.trashed(None)?.remove(item);
        self.undelete_one(&mut locked, item, trashed)
    }

    /// Brings things back from the trash; what fails does not hinder the others.
    pub fn undelete_all(&self, items: &[StoreItem]) -> UndeleteReport {
        let mut report = UndeleteReport::default();
        for items in items.chunks(AT_A_TIME) {
            let begun = self.lock().and_then(|it| Ok((it, self.trashed(None)?)));
            let (mut locked, mut trashed) = match begun {
                Ok(begun) => begun,
                Err(error) => {
                    report.failed.push(error);
                    return report;
                }
            };
            for item in items {
                let files = trashed.remove(item);
                match self.undelete_one(&mut locked, item, files) {
                    Ok(()) => report.back.push(item.clone()),
                    Err(error) => report.failed.push(error),
                }
            }
            drop(locked);
            let_others_in();
        }
        report
    }

    fn undelete_one(
        &self,
        locked: &mut StoreLock<'_>,
        item: &StoreItem,
        trashed: Option<TrashedFiles>,
    ) -> Result<(), StoreError> {
        let Some(trashed) = trashed else {
            return Err(StoreError::NotInTrash(item.to_string()));
        };
        let mut facts = Facts::of(item.session());
        match item {
            StoreItem::Snapshot(id) => facts.snapshots = vec![id.to_string()],
            StoreItem::Offloaded(file) => facts.sha256 = Some(file.name.sha256().to_owned()),
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

    /// The commit record comes last, as when it was made.
    fn bring_back(&self, trashed: &TrashedFiles) -> Result<(), StoreError> {
        let folder = self.snapshots();
        let bring = |path: &PathBuf| {
            let to = folder.join(path.file_name().unwrap_or_default());
            fs::rename(path, &to).naming("bring back", &to)
        };
        for path in &trashed.data {
            bring(path)?;
            sync_dir(&folder)?;
        }
        for path in &trashed.meta {
            bring(path)?;
            // With its meta.json, the snapshot is there again.
            sync_dir(&folder).map_err(|error| error.after("undelete"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, id};
    use crate::{SnapshotId, StoreError, StoreItem};

    /// 15 C5
    #[test]
    fn all_or_what_was_removed_since_a_time_is_found() {
        let bench = Bench::new();
        let store = &bench.store;
        let ids = ["demo", "other", "demo"].map(|session| bench.take(session, b"1\n"));
        for id in &ids {
            let ids = std::slice::from_ref(id);
            store.discard(ids, &[]).expect("removed");
            bench.wait_days(1);
        }
        let bare = bench.take("bare", b"1\n");
        std::fs::remove_file(store.meta_path(&bare)).expect("removed");
        store.discard(&[], &[bare]).expect("removed");
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
        let report = store.undelete_all(&all);
        assert_eq!(report.back, all);
        assert!(report.failed.is_empty());
        let report = store.undelete_all(&all[..1]);
        assert!(matches!(report.failed[..], [StoreError::NotInTrash(_)]));
    }
}
