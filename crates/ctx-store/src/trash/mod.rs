//! The trash, which keeps removed items until their grace period is over. Each removal moves its
//! items into a new folder, which is named after the time of the removal. Snapshots are stored
//! directly in the folder, and offloaded files in its subfolders `offloaded/{session}/`.

pub(crate) mod list;
pub(crate) mod removal;
mod undelete;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{
    create_private_dir, file_names, if_there, is_there, make_dirs, remove_file, rename, sync_dir,
};
use crate::snapshot::meta::{META, PACKED, PLAIN, snapshot_files};
use crate::trash::removal::{Removal, RemovalReport, StoreItem};
use crate::{Flaw, OffloadName, OffloadedFile, SessionId, SnapshotId, Stamp, Store};

/// The name of the subfolder that contains the offloaded files within a trash folder.
const OFFLOADED: &str = "offloaded";

/// The files that belong to an item in the trash. If the item was removed several times, there may
/// be several files of each kind, in different folders.
#[derive(Debug, Default)]
pub(crate) struct TrashedFiles {
    /// The paths of offloaded files, or of files that hold a snapshot's plain or packed bytes.
    pub(crate) data: Vec<PathBuf>,
    /// The paths of commit records, if the item is a snapshot.
    pub(crate) meta: Vec<PathBuf>,
}

impl TrashedFiles {
    pub(crate) fn append(&mut self, others: &mut Self) {
        self.data.append(&mut others.data);
        self.meta.append(&mut others.meta);
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.meta.iter().chain(&self.data)
    }

    /// Whether any of these files still exists.
    pub(crate) fn are_there(&self) -> Result<bool> {
        let mut found = self.paths().map(|path| is_there(path));
        found.find(|found| !matches!(found, Ok(false))).unwrap_or(Ok(false))
    }

    /// Returns the folders that contain these files.
    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.paths().filter_map(|path| path.parent()).map(Path::to_owned)
    }

    /// Deletes the files for good. Commit records are deleted first, so that there is never a
    /// record without bytes.
    pub(crate) fn delete(&self) -> Result<()> {
        self.paths().try_for_each(|path| remove(path))
    }
}

impl Store {
    /// Moves snapshots, and bytes that were never committed, into the trash. Leaves a snapshot
    /// where it is if it is on hold, or if it was committed or saved again after `listed`, the time
    /// when the caller listed the snapshots.
    pub fn discard(
        &self,
        committed: &[SnapshotId],
        uncommitted: &[SnapshotId],
        listed: DateTime<Utc>,
    ) -> Result<RemovalReport> {
        let ids = committed.iter().chain(uncommitted).cloned();
        let uncommitted: BTreeSet<&SnapshotId> = uncommitted.iter().collect();
        let items = ids.map(StoreItem::Snapshot).collect();
        self.move_into("gc", &self.trash(), items, |item| match item {
            StoreItem::Snapshot(id) if uncommitted.contains(id) => is_there(&self.meta_path(id)),
            StoreItem::Snapshot(id) => match self.read_meta(id) {
                Ok(meta) => Ok(meta.held || meta.saved_again > Some(listed)),
                Err(Flaw::Damaged(_)) => Ok(false),
                Err(Flaw::Unread(why)) => Err(StoreError::Unread { id: id.to_string(), why }),
            },
            StoreItem::Offloaded(_) => Ok(false),
        })
    }

    /// Moves items into a new folder in `dir`, which is the trash or a folder with the same layout.
    /// Calls `is_spared` for each item while the store is locked. An item stays if `is_spared`
    /// returns true.
    pub(crate) fn move_into(
        &self,
        op: &'static str,
        dir: &Path,
        items: Vec<StoreItem>,
        is_spared: impl Fn(&StoreItem) -> Result<bool>,
    ) -> Result<RemovalReport> {
        if items.is_empty() {
            return Ok(RemovalReport::default());
        }
        let mut removal = Removal::begin(self, op, None, &items)?;
        let bin = self.new_bin(dir)?;
        let mut changed = BTreeSet::new();
        removal.each(items, |item| {
            match is_spared(&item) {
                Ok(true) => return None,
                Ok(false) => {}
                Err(error) => return Some((item, Err(error))),
            }
            let moved = match &item {
                StoreItem::Snapshot(id) => {
                    changed.extend([self.snapshots(), bin.clone()]);
                    // Create the folder again if necessary, because a run that was emptying the
                    // trash may have removed it.
                    make_dirs(&bin).and_then(|()| self.move_snapshot(id, &bin))
                }
                StoreItem::Offloaded(file) => {
                    let to = bin.join(OFFLOADED).join(file.session.as_str());
                    changed.extend([self.offloaded().join(file.session.as_str()), to.clone()]);
                    make_dirs(&to).and_then(|()| self.move_offloaded(file, &to))
                }
            };
            Some((item, moved))
        });
        for folder in changed {
            removal.uncertain(sync_removal(&folder))?;
        }
        // Remove the folder only if it is empty.
        let _ = fs::remove_dir(&bin);
        removal.done()
    }

    /// Deletes a snapshot's existing files, the commit record first.
    pub(crate) fn remove_snapshot(&self, id: &SnapshotId) -> Result<()> {
        let mut paths = names_of(id).into_iter().map(|name| self.snapshots().join(name));
        paths.try_for_each(|path| remove(&path))
    }

    /// Moves a snapshot's existing files. The commit record is moved first, so that there is never
    /// a record without bytes.
    fn move_snapshot(&self, id: &SnapshotId, bin: &Path) -> Result<()> {
        for name in names_of(id) {
            let from = self.snapshots().join(&name);
            if_there(rename(&from, bin.join(name)).or_cannot("move to the trash", &from))?;
        }
        Ok(())
    }

    /// Creates a folder in `dir`, named after the time when the grace period begins for its items.
    pub(crate) fn new_bin(&self, dir: &Path) -> Result<PathBuf> {
        self.make_dirs(dir)?;
        let (mut sequence, time) = (0, self.grace_begins()?);
        loop {
            let bin = dir.join(Stamp { sequence, time }.to_string());
            match create_private_dir(&bin) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => sequence += 1,
                other => {
                    other.or_cannot("create", &bin)?;
                    sync_dir(dir)?;
                    return Ok(bin);
                }
            }
        }
    }

    /// Returns the items moved to the trash at or before `deadline`, or all items if `deadline` is
    /// `None`. Skips files that the tools did not put there.
    pub(crate) fn trashed(
        &self,
        deadline: Option<DateTime<Utc>>,
    ) -> Result<BTreeMap<StoreItem, TrashedFiles>> {
        files_in_bins(bins(&self.trash(), deadline)?)
    }

    /// Returns the damaged items in `damaged/`.
    pub(crate) fn set_aside(&self) -> Result<BTreeMap<StoreItem, TrashedFiles>> {
        files_in_bins(bins(&self.damaged(), None)?)
    }

    /// Removes a trash folder if it is empty, and then each parent that has become empty.
    pub(crate) fn remove_empty_from(&self, folder: &Path) {
        let ends = [self.trash(), self.damaged()];
        let inside = |folder: &&Path| !ends.iter().any(|end| end == *folder);
        for folder in folder.ancestors().take_while(inside) {
            // Remove the folder only if it is empty.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

/// Returns the names of the files that a snapshot may have, the commit record first.
fn names_of(id: &SnapshotId) -> [String; 3] {
    [META, PLAIN, PACKED].map(|ending| format!("{id}{ending}"))
}

/// Returns the trash folders that are dated at or before `deadline`, or all of them if `deadline`
/// is `None`, oldest first.
pub(crate) fn bins(trash: &Path, deadline: Option<DateTime<Utc>>) -> Result<Vec<PathBuf>> {
    let due = |stamp: Stamp| deadline.is_none_or(|deadline| stamp.time <= deadline);
    let mut names = file_names(trash)?;
    names.retain(|name| Stamp::parse(name).is_some_and(due));
    names.sort();
    Ok(names.iter().map(|name| trash.join(name)).collect())
}

/// Returns the items in the given trash folders, with their files. Skips files that the tools did
/// not put there.
fn files_in_bins(bins: Vec<PathBuf>) -> Result<BTreeMap<StoreItem, TrashedFiles>> {
    let mut found = BTreeMap::<StoreItem, TrashedFiles>::new();
    for bin in bins {
        for file in snapshot_files(&bin)? {
            let files = found.entry(StoreItem::Snapshot(file.id)).or_default();
            if file.is_meta {
                files.meta.push(file.path);
            } else {
                files.data.push(file.path);
            }
        }
        let sessions = entries(&bin.join(OFFLOADED), |name| name.parse::<SessionId>().ok())?;
        for (session, folder) in sessions {
            for (name, path) in entries(&folder, OffloadName::parse)? {
                let file = OffloadedFile { session: session.clone(), name };
                found.entry(StoreItem::Offloaded(file)).or_default().data.push(path);
            }
        }
    }
    Ok(found)
}

/// Returns the parsed names and the paths of those entries whose names `parse` accepts. The list is
/// empty if `folder` is not a folder.
fn entries<T>(folder: &Path, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<(T, PathBuf)>> {
    let there = if_there(fs::symlink_metadata(folder).or_cannot("read", folder))?;
    if !there.is_some_and(|meta| meta.is_dir()) {
        return Ok(Vec::new());
    }
    let names = file_names(folder)?.into_iter();
    Ok(names.filter_map(|name| Some((parse(&name)?, folder.join(name)))).collect())
}

/// Flushes a folder to disk after files have been removed from it.
pub(crate) fn sync_removal(dir: &Path) -> Result<()> {
    // If the folder no longer exists, it was removed because it had become empty.
    if_there(sync_dir(dir)).map(|_| ()).map_err(|error| error.after("the removal"))
}

/// Deletes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    if_there(remove_file(path).or_cannot("remove", path)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::tests::Bench;
    use crate::{StoreError, StoreItem};

    #[test]
    fn what_was_removed_twice_is_one_thing() {
        let bench = Bench::new();
        let live = bench.file("s.jsonl", "");
        let deadline = bench.store.now() + chrono::TimeDelta::days(1);
        for _ in 0..2 {
            let file = bench.offload("demo", "a result", &live);
            let removed = bench.store.discard_offloaded(&[file], deadline);
            assert_eq!(removed.expect("removed").items.len(), 1);
        }
        let expired = bench.store.expired(None).expect("listed");
        let [item] = &expired[..] else {
            panic!("one thing: {expired:?}");
        };
        bench.store.undelete(item).expect("brought back");
        assert!(bench.store.expired(None).expect("listed").is_empty());
        assert_eq!(fs::read_dir(bench.store.trash()).expect("a folder").count(), 0);
        let gone = bench.store.undelete(item);
        assert!(matches!(gone, Err(StoreError::NotInTrash(_))), "{gone:?}");
    }

    #[test]
    fn a_name_that_fits_several_things_names_none() {
        let bench = Bench::new();
        let ids: Vec<_> = (0..7).map(|_| bench.take("demo", b"1\n")).collect();
        bench.store.discard(&ids, &[], bench.store.now()).expect("removed");
        let find = |wanted| bench.store.find_deleted(None, wanted);
        assert_eq!(find("7").expect("one"), StoreItem::Snapshot(ids[6].clone()));
        let Err(StoreError::Ambiguous { matches, .. }) = find("demo-") else {
            panic!("ambiguous");
        };
        assert_eq!(matches.len(), 6);
        assert_eq!(matches[5], "and 2 more");
        assert!(matches!(find("8"), Err(StoreError::NotInTrash(_))));
        let other = crate::tests::id("other");
        let found = bench.store.find_deleted(Some(&other), "7");
        assert!(matches!(found, Err(StoreError::NotInTrash(_))));
    }

    #[test]
    fn a_commit_record_alone_or_bytes_alone_can_be_purged() {
        let bench = Bench::new();
        for half in [1, 2] {
            let id = bench.take("demo", b"1\n");
            if half == 1 {
                fs::remove_file(bench.store.meta_path(&id)).expect("removed");
                bench.store.discard(&[], std::slice::from_ref(&id), bench.store.now())
            } else {
                fs::remove_file(bench.store.data_path(&id)).expect("removed");
                bench.store.discard(std::slice::from_ref(&id), &[], bench.store.now())
            }
            .expect("removed");
            let purged = bench.store.purge(None).expect("purged");
            assert_eq!(purged.items, [StoreItem::Snapshot(id)]);
        }
    }
}
