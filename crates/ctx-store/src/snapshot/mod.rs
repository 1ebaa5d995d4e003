//! Lists the snapshots in a store, finds them by name, checks them, and measures the store's size.

pub(crate) mod draft;
pub(crate) mod find;
pub(crate) mod meta;
pub(crate) mod pack;
pub(crate) mod recent;
pub(crate) mod repair;
pub(crate) mod verified;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Serialize;
use walkdir::WalkDir;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{if_there, is_there, open_plain};
use crate::os::is_link_error;
use crate::snapshot::meta::{META, Meta, SnapshotFile, snapshot_files};
use crate::{SessionId, SnapshotId, Store};

/// The snapshots in a store, ordered by session and number.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The committed snapshots.
    pub entries: Vec<Entry>,
    /// Snapshots without a meta.json, because a run was killed before the commit or because the
    /// file was removed.
    pub uncommitted: Vec<SnapshotId>,
    /// The time when the catalog was made. Relative times such as "1 week ago" are counted back
    /// from this time.
    pub(crate) now: DateTime<Utc>,
}

/// A committed snapshot.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The snapshot's commit record, or why the snapshot cannot be trusted.
    pub meta: Result<Meta, Flaw>,
}

/// Why a snapshot cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The snapshot's files differ from what was committed.
    #[error("{0}")]
    Damaged(String),
    /// The files of the snapshot could not be read, but may be intact.
    #[error("{0}")]
    Unread(String),
}

impl Flaw {
    /// Converts an error from a failed check into a flaw.
    pub fn of_check(error: StoreError) -> Self {
        match error {
            StoreError::Damaged { why, .. } => Self::Damaged(why),
            StoreError::Unread { why, .. } => Self::Unread(why),
            error @ StoreError::Io { .. } => Self::Unread(error.to_string()),
            error => Self::Damaged(error.to_string()),
        }
    }

    /// Converts an error from a system call on a snapshot's file into a flaw.
    pub(crate) fn of(error: &io::Error, text: String) -> Self {
        let is_gone = error.kind() == io::ErrorKind::NotFound;
        // An error without an OS error code means that the path is not a regular file.
        if is_gone || is_link_error(error) || error.raw_os_error().is_none() {
            Self::Damaged(text)
        } else {
            Self::Unread(text)
        }
    }
}

/// The maximum length of a meta.json in bytes. No valid meta.json exceeds this length, because at
/// most 100 bad lines are listed in it.
const LONGEST_META: u64 = 1 << 20;

/// Reads a commit record as raw bytes.
pub(crate) fn bytes_of_meta(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(LONGEST_META).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Store {
    /// Lists the snapshots of one session, or of all sessions if `session` is `None`.
    pub fn catalog(&self, session: Option<&SessionId>) -> Result<Catalog> {
        let mut catalog = Catalog { now: self.now(), ..Catalog::default() };
        for SnapshotFile { id, is_meta, .. } in snapshot_files(&self.snapshots())? {
            if session.is_some_and(|session| *session != id.session) {
                continue;
            }
            let meta = is_meta.then(|| self.read_meta(&id));
            // If it is unclear whether meta.json exists, assume that the snapshot is committed,
            // because ctx-gc would otherwise move its bytes to the trash.
            let committed = is_there(&self.meta_path(&id)).unwrap_or(true);
            match meta {
                None if committed => {}
                None => catalog.uncommitted.push(id),
                // ctx-gc has moved the snapshot to the trash since the folder was listed.
                Some(Err(_)) if !committed => {}
                Some(meta) => catalog.entries.push(Entry { id, meta }),
            }
        }
        catalog.entries.sort_by(|one, other| one.id.cmp(&other.id));
        catalog.uncommitted.sort();
        // Remove duplicates, because a snapshot may have both plain and packed bytes.
        catalog.uncommitted.dedup();
        Ok(catalog)
    }

    /// Returns the ids of the committed snapshots, using only the file names, without reading any
    /// file.
    pub fn snapshot_ids(&self) -> Result<Vec<SnapshotId>> {
        let files = snapshot_files(&self.snapshots())?.into_iter();
        Ok(files.filter(|it| it.is_meta).map(|it| it.id).collect())
    }

    /// Returns the sessions that have snapshots, uncommitted bytes or offloaded files in the store.
    pub fn sessions(&self) -> Result<BTreeSet<SessionId>> {
        let files = snapshot_files(&self.snapshots())?.into_iter();
        let mut sessions: BTreeSet<SessionId> = files.map(|file| file.id.session).collect();
        sessions.extend(self.offload_sessions()?);
        Ok(sessions)
    }

    /// Reads a commit record, and checks that the snapshot's bytes exist and have the right size.
    pub(crate) fn read_meta(&self, id: &SnapshotId) -> Result<Meta, Flaw> {
        let meta = self.read_sealed(id)?;
        self.check_size(id, &meta).map(|()| meta)
    }

    /// Reads a commit record without checking that the snapshot's bytes exist.
    pub(crate) fn read_sealed(&self, id: &SnapshotId) -> Result<Meta, Flaw> {
        let bytes = bytes_of_meta(&self.meta_path(id))
            .map_err(|error| Flaw::of(&error, format!("{id}{META}: {error}")))?;
        Meta::from_bytes(&bytes, &id.to_string()).map_err(Flaw::Damaged)
    }

    /// Checks that both files of a snapshot exist with the right names and sizes, and that
    /// meta.json has not been changed. If `read_data` is set, also checks the hash of the bytes.
    pub fn verify(&self, entry: &Entry, read_data: bool) -> Result<()> {
        if read_data { self.open_verified(entry).map(drop) } else { entry.trusted_meta().map(drop) }
    }

    /// Whether an undamaged snapshot of the session, or of any session, has bytes with this sha256.
    pub fn has_snapshot_of(&self, session: Option<&SessionId>, sha256: &str) -> Result<bool> {
        for entry in self.catalog(session)?.entries {
            if entry.meta.as_ref().is_ok_and(|meta| meta.sha256 == sha256) {
                match self.open_verified(&entry) {
                    Ok(_) => return Ok(true),
                    Err(StoreError::Damaged { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(false)
    }

    /// Counts the sessions and snapshots in the store, and adds up the lengths of its files. Files
    /// that vanish in the meantime are not counted.
    pub fn usage(&self) -> Result<Usage> {
        let mut usage = Usage {
            sessions: self.sessions()?.len() as u64,
            bytes: length_of(&self.root)?,
            trash_bytes: length_of(&self.trash())?,
            ..Usage::default()
        };
        for file in snapshot_files(&self.snapshots())? {
            usage.snapshots += u64::from(file.is_meta);
            usage.snapshot_bytes += fs::symlink_metadata(&file.path).map_or(0, |meta| meta.len());
        }
        Ok(usage)
    }
}

impl Catalog {
    /// Returns the snapshots whose commit records can be trusted.
    pub(crate) fn trusted(&self) -> impl DoubleEndedIterator<Item = (&SnapshotId, &Meta)> {
        self.entries.iter().filter_map(|entry| Some((&entry.id, entry.meta.as_ref().ok()?)))
    }
}

impl Entry {
    /// Returns the commit record, or an error if the snapshot cannot be trusted.
    pub fn trusted_meta(&self) -> Result<Meta> {
        self.meta.clone().map_err(|flaw| match flaw {
            Flaw::Damaged(why) => self.damaged(why),
            Flaw::Unread(why) => StoreError::Unread { id: self.id.to_string(), why },
        })
    }

    pub(crate) fn damaged(&self, why: String) -> StoreError {
        StoreError::Damaged { id: self.id.to_string(), why }
    }
}

/// How many of the checked items are intact, damaged or unreadable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, derive_more::AddAssign)]
pub struct Verdicts {
    /// The number of intact items.
    pub sound: usize,
    /// The number of damaged items.
    pub damaged: usize,
    /// The number of items that could not be read and may be intact.
    pub unread: usize,
}

impl Verdicts {
    /// Counts one more item, according to the result of its check.
    pub fn add(&mut self, checked: &Result<(), Flaw>) {
        *match checked {
            Ok(()) => &mut self.sound,
            Err(Flaw::Damaged(_)) => &mut self.damaged,
            Err(Flaw::Unread(_)) => &mut self.unread,
        } += 1;
    }

    /// Returns the total number of checked items.
    pub fn all(self) -> usize {
        self.sound + self.damaged + self.unread
    }
}

/// The size of a store, in items and in bytes. All values are zero if the store does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The number of sessions with snapshots or offloaded files.
    pub sessions: u64,
    /// The number of snapshots that are not in the trash.
    pub snapshots: u64,
    /// The total size of all files in bytes.
    pub bytes: u64,
    /// The size in bytes of the snapshot files on disk, packed or plain.
    pub snapshot_bytes: u64,
    /// The size in bytes of the files in the trash.
    pub trash_bytes: u64,
}

/// Returns the total size in bytes of all files in a folder. Does not follow links, and ignores
/// files that vanish in the meantime.
fn length_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(io::Error::from);
        let meta = entry.and_then(|entry| entry.metadata().map_err(Into::into));
        let meta = if_there(meta.or_cannot("read", folder))?;
        bytes += meta.filter(fs::Metadata::is_file).map_or(0, |meta| meta.len());
    }
    Ok(bytes)
}

#[cfg(test)]
mod verdict_tests {
    use std::io;

    use super::{Flaw, Verdicts};
    use crate::StoreError;

    #[test]
    fn what_could_not_be_read_is_not_called_damaged() {
        let denied = StoreError::Io {
            action: "read",
            path: "x".into(),
            source: io::ErrorKind::PermissionDenied.into(),
        };
        let damaged = StoreError::NotAStore("x".into());
        let verdicts = [Ok(()), Err(denied), Err(damaged)].map(|it| it.map_err(Flaw::of_check));
        assert!(matches!(verdicts, [Ok(()), Err(Flaw::Unread(_)), Err(Flaw::Damaged(_))]));
        let mut count = Verdicts::default();
        for verdict in &verdicts {
            count.add(verdict);
        }
        count += count;
        let expected = Verdicts { sound: 2, damaged: 2, unread: 2 };
        assert_eq!((count, count.all()), (expected, 6));
    }
}

#[cfg(test)]
mod usage_tests {
    use std::fs;

    use super::Usage;
    use crate::tests::Bench;

    /// The size of a missing store is zero, and that of an existing store includes every file.
    #[test]
    fn the_room_is_that_of_the_files() {
        let bench = Bench::new();
        assert_eq!(bench.store.usage().expect("read"), Usage::default());
        assert!(!bench.store.root.exists());
        bench.take("demo", b"12345\n");
        let gone = bench.take("other", b"1\n");
        let before = bench.store.usage().expect("read");
        assert_eq!((before.sessions, before.snapshots), (2, 2));
        assert_eq!(before.trash_bytes, 0);
        assert!(before.snapshot_bytes > 8 && before.bytes > before.snapshot_bytes);
        fs::write(bench.store.root.join("memory/more"), "12345").expect("written");
        assert_eq!(bench.store.usage().expect("read").bytes, before.bytes + 5);
        bench.store.discard(&[gone], &[], bench.store.now()).expect("removed");
        let after = bench.store.usage().expect("read");
        assert_eq!((after.sessions, after.snapshots), (1, 1));
        assert!(after.trash_bytes > 2);
    }
}
