//! The trash: what retention removed, for a time of grace.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::atomic::sync_dir;
use crate::catalog::names_in;
use crate::error::{Naming, StoreError};
use crate::offload::remove_empty;
use crate::removal::{Removal, Removed};
use crate::store::{data_name, make_dirs, meta_name};
use crate::{Facts, SessionId, SnapshotId, Stamp, Store};

/// A snapshot in the trash, or a part of one.
#[derive(Debug)]
struct Binned {
    id: SnapshotId,
    is_meta: bool,
    dir: PathBuf,
}

impl Store {
    /// Moves snapshots, and bytes that were never committed, into the trash.
    /// What was held, or committed, since the lists were made is spared.
    pub fn discard(
        &self,
        committed: &[SnapshotId],
        uncommitted: &[SnapshotId],
    ) -> Result<Removed, StoreError> {
        let ids = [committed, uncommitted].concat();
        if ids.is_empty() {
            return Ok(Removed::default());
        }
        let mut removal = Removal::begin(self, "gc", None, &ids, 0)?;
        let bin = self.new_bin()?;
        for (at, id) in ids.into_iter().enumerate() {
            let spared = if at < committed.len() {
                self.read_meta(&id).is_ok_and(|meta| meta.held)
            } else {
                self.meta_path(&id).symlink_metadata().is_ok()
            };
            if !spared {
                let moved = self.bin(&id, &bin);
                removal.note(id, moved);
            }
        }
        sync_removal(&bin)?;
        sync_removal(&self.snapshots())?;
        // Stays unless all was spared.
        let _ = fs::remove_dir(&bin);
        removal.done()
    }

    /// Moves both files, if they are there; the commit record first, so that
    /// nothing ever claims bytes that are elsewhere.
    fn bin(&self, id: &SnapshotId, bin: &Path) -> Result<(), StoreError> {
        for (from, name) in [
            (self.meta_path(id), meta_name(id)),
            (self.data_path(id), data_name(id)),
        ] {
            match fs::rename(&from, bin.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other.naming("move to the trash", &from)?,
            }
        }
        Ok(())
    }

    /// A new folder, named by the time that the grace counts from.
    pub(crate) fn new_bin(&self) -> Result<PathBuf, StoreError> {
        make_dirs(&self.trash())?;
        let time = self.now();
        for sequence in 0.. {
            let bin = self.trash().join(Stamp { time, sequence }.to_string());
            match DirBuilder::new().mode(0o700).create(&bin) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => {
                    other.naming("create", &bin)?;
                    sync_dir(&self.trash()).naming("sync", &self.trash())?;
                    return Ok(bin);
                }
            }
        }
        unreachable!("numbers do not end")
    }

    /// Whose grace was over at `deadline`, or all.
    pub fn expired(&self, deadline: Option<DateTime<Utc>>) -> Result<Vec<SnapshotId>, StoreError> {
        let mut ids: Vec<SnapshotId> = Vec::new();
        for binned in self.binned(deadline)? {
            if !ids.contains(&binned.id) {
                ids.push(binned.id);
            }
        }
        Ok(ids)
    }

    /// Deletes what [`Store::expired`] lists, for good.
    pub fn purge(&self, deadline: Option<DateTime<Utc>>) -> Result<Removed, StoreError> {
        let ids = self.expired(deadline)?;
        let offloaded = self.binned_offloads(deadline)?;
        if ids.is_empty() && offloaded.is_empty() {
            return Ok(Removed::default());
        }
        let mut removal = Removal::begin(self, "purge", None, &ids, offloaded.len())?;
        let parts = self.binned(deadline)?;
        for id in ids {
            let mut parts = parts.iter().filter(|part| part.id == id).peekable();
            // Unless somebody brought it back meanwhile.
            if parts.peek().is_some() {
                let deleted = parts.try_for_each(Binned::delete);
                removal.note(id, deleted);
            }
        }
        for (file, path) in offloaded {
            if path.symlink_metadata().is_ok() {
                removal.note_offloaded(file, remove(&path));
                remove_empty(&path);
            }
        }
        removal.done()
    }

    /// The snapshot in the trash that `wanted` names.
    pub fn find_deleted(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
    ) -> Result<SnapshotId, StoreError> {
        let parts = self.binned(None)?;
        let ours = |binned: &&Binned| session.is_none_or(|session| *session == binned.id.session);
        let metas = parts.iter().filter(ours).filter(|binned| binned.is_meta);
        pick(metas.map(|binned| &binned.id), wanted)
    }

    /// Brings a snapshot back from the trash.
    pub fn undelete(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
    ) -> Result<SnapshotId, StoreError> {
        let mut locked = self.lock()?;
        let id = self.find_deleted(session, wanted)?;
        let parts = self.binned(None)?;
        let facts = Facts {
            session: Some(id.session.to_string()),
            snapshots: vec![id.to_string()],
            ..Facts::default()
        };
        let operation = locked.begin("undelete", &facts)?;
        // The commit record last, as when it was made.
        for is_meta in [false, true] {
            let wanted = |part: &&Binned| part.id == id && part.is_meta == is_meta;
            for part in parts.iter().filter(wanted) {
                self.bring_back(part)?;
            }
        }
        locked.done(&operation, &facts)?;
        Ok(id)
    }

    fn bring_back(&self, part: &Binned) -> Result<(), StoreError> {
        let to = self.snapshots().join(part.name());
        fs::rename(part.path(), &to).naming("bring back", &to)?;
        if let Err(error) = sync_dir(&self.snapshots()).naming("sync", &self.snapshots()) {
            // With its meta.json, the snapshot is there again.
            return Err(if part.is_meta {
                error.after("undelete")
            } else {
                error
            });
        }
        // Stays as long as something is in it.
        let _ = fs::remove_dir(&part.dir);
        Ok(())
    }

    /// Deletes all snapshots, trash and offloaded files of a session, for good;
    /// what remains is a record in the audit log.
    pub fn forget(&self, session: &SessionId) -> Result<Removed, StoreError> {
        let _session = self.lock_session(session)?;
        let catalog = self.catalog(Some(session))?;
        let held = |meta: &crate::Meta| meta.held;
        if let Some(entry) = catalog
            .entries
            .iter()
            .find(|entry| entry.meta.as_ref().is_ok_and(held))
        {
            return Err(StoreError::Held(entry.id.to_string()));
        }
        let mut ids: Vec<SnapshotId> = catalog.entries.into_iter().map(|entry| entry.id).collect();
        ids.extend(catalog.uncommitted);
        let binned = |binned: &Binned| binned.id.session == *session;
        let trashed: Vec<Binned> = self.binned(None)?.into_iter().filter(binned).collect();
        // A run that was killed may have left one of the two files of a snapshot.
        ids.extend(trashed.iter().map(|part| part.id.clone()));
        ids.sort_by_key(|id| id.stamp.sequence);
        ids.dedup();

        let mut offloaded = self.binned_offloads(None)?;
        offloaded.retain(|(file, _)| file.session == *session);
        // What is no folder holds no files of ours, and goes all the same.
        let kept = self.offloaded_files(session).unwrap_or_default();
        let files = offloaded.len() + kept.len();

        let mut removal = Removal::begin(self, "forget", Some(session), &ids, files)?;
        for id in ids {
            let mut parts = trashed.iter().filter(|part| part.id == id);
            let deleted = remove(&self.meta_path(&id))
                .and_then(|()| remove(&self.data_path(&id)))
                .and_then(|()| parts.try_for_each(Binned::delete));
            removal.note(id, deleted);
        }
        for (file, path) in offloaded {
            removal.note_offloaded(file, remove(&path));
            remove_empty(&path);
        }
        let folder = self.offloaded().join(session.as_str());
        match fs::remove_dir_all(&folder).naming("remove", &folder) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => removal.fail(error),
            Ok(()) => {
                for file in kept {
                    removal.note_offloaded(file, Ok(()));
                }
            }
        }
        sync_removal(&self.snapshots())?;
        removal.done()
    }

    /// What lies in the trash, deleted at `deadline` or before. Files that we
    /// did not put there are not ours to delete.
    fn binned(&self, deadline: Option<DateTime<Utc>>) -> Result<Vec<Binned>, StoreError> {
        let mut binned = Vec::new();
        for dir in bins(&self.trash(), deadline)? {
            for (id, is_meta) in names_in(&dir)? {
                binned.push(Binned {
                    id,
                    is_meta,
                    dir: dir.clone(),
                });
            }
        }
        Ok(binned)
    }
}

/// The folders of the trash, the oldest first.
pub(crate) fn bins(
    trash: &Path,
    deadline: Option<DateTime<Utc>>,
) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(trash) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.naming("read", trash)?,
    };
    let mut bins = Vec::new();
    for entry in entries {
        let entry = entry.naming("read", trash)?;
        let stamp = entry.file_name().to_str().and_then(Stamp::parse);
        let due = |stamp: Stamp| deadline.is_none_or(|deadline| stamp.time <= deadline);
        if stamp.is_some_and(due) {
            bins.push(entry.path());
        }
    }
    bins.sort();
    Ok(bins)
}

impl Binned {
    fn name(&self) -> String {
        if self.is_meta {
            meta_name(&self.id)
        } else {
            data_name(&self.id)
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(self.name())
    }

    fn delete(&self) -> Result<(), StoreError> {
        remove(&self.path())?;
        // Stays as long as something is in it.
        let _ = fs::remove_dir(&self.dir);
        Ok(())
    }
}

/// What was removed stays so.
pub(crate) fn sync_removal(dir: &Path) -> Result<(), StoreError> {
    sync_dir(dir)
        .naming("sync", dir)
        .map_err(|error| error.after("the removal"))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.naming("remove", path),
    }
}

fn pick<'a>(
    ids: impl Iterator<Item = &'a SnapshotId>,
    wanted: &str,
) -> Result<SnapshotId, StoreError> {
    let number = wanted.parse::<u64>().ok();
    let found: Vec<&SnapshotId> = ids
        .filter(|id| Some(id.stamp.sequence) == number || id.to_string().starts_with(wanted))
        .collect();
    match found[..] {
        [] => Err(StoreError::NotInTrash(wanted.to_owned())),
        [id] => Ok(id.clone()),
        _ => Err(StoreError::Ambiguous {
            wanted: wanted.to_owned(),
            matches: found.iter().take(5).map(ToString::to_string).collect(),
        }),
    }
}
