//! The snapshots of a store: listed, found by what people type, checked.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::bytes::PACKED;
use crate::error::StoreError;
use crate::files::{is_link, is_there, names, open_plain};
use crate::store::meta_name;
use crate::{Meta, SessionId, SnapshotId, Store};

/// The snapshots of a store, in the order in which they were taken.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Committed snapshots by session and sequence.
    pub entries: Vec<Entry>,
    /// Snapshots without a meta.json: the run was killed before its commit, or somebody
    /// removed the file.
    pub uncommitted: Vec<SnapshotId>,
    /// When it was made: "1 week ago" is counted from it.
    pub(crate) now: DateTime<Utc>,
}

/// A committed snapshot.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: SnapshotId,
    /// Its commit record, or why the snapshot cannot be trusted.
    pub meta: Result<Meta, Flaw>,
}

/// Why nobody can rely on a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It is not what was committed.
    #[error("{0}")]
    Damaged(String),
    /// It could not be looked at, and may be whole.
    #[error("{0}")]
    Unread(String),
}

impl Flaw {
    /// Of a failed call, and what it means for a snapshot.
    pub(crate) fn of(error: &io::Error, text: String) -> Self {
        let is_gone = error.kind() == io::ErrorKind::NotFound;
        // What is no regular file is told without the number of an error.
        if is_gone || is_link(error) || error.raw_os_error().is_none() {
            Self::Damaged(text)
        } else {
            Self::Unread(text)
        }
    }
}

/// How many bytes of a meta.json are read. None is longer: it names 100 bad lines at most.
pub(crate) const LONGEST_META: u64 = 1 << 20;

impl Store {
    /// Lists the snapshots of one session, or of all.
    pub fn catalog(&self, session: Option<&SessionId>) -> Result<Catalog, StoreError> {
        let mut catalog = Catalog {
            now: self.now(),
            ..Catalog::default()
        };
        for SnapshotFile { id, is_meta, .. } in snapshot_files(&self.snapshots())? {
            if session.is_some_and(|session| *session != id.session) {
                continue;
            }
            let meta = is_meta.then(|| self.read_meta(&id));
            // Where that cannot be told, it is: gc would move its bytes away otherwise.
            let committed = is_there(&self.meta_path(&id)).unwrap_or(true);
            match meta {
                None if committed => {}
                None => catalog.uncommitted.push(id),
                // gc moved it away between the listing and now.
                Some(Err(_)) if !committed => {}
                Some(meta) => catalog.entries.push(Entry { id, meta }),
            }
        }
        catalog.entries.sort_by(|one, other| one.id.cmp(&other.id));
        catalog.uncommitted.sort();
        // The bytes of a snapshot may lie there twice, plain and packed.
        catalog.uncommitted.dedup();
        Ok(catalog)
    }

    /// The ids of the committed snapshots, by their names alone: none of them is looked at.
    pub fn snapshot_ids(&self) -> Result<Vec<SnapshotId>, StoreError> {
        let files = snapshot_files(&self.snapshots())?.into_iter();
        Ok(files.filter(|it| it.is_meta).map(|it| it.id).collect())
    }

    /// The sessions of which the store has snapshots, bytes of one, or offloaded files.
    pub fn sessions(&self) -> Result<BTreeSet<SessionId>, StoreError> {
        let files = snapshot_files(&self.snapshots())?.into_iter();
        let mut sessions: BTreeSet<SessionId> = files.map(|file| file.id.session).collect();
        sessions.extend(self.offload_sessions()?);
        Ok(sessions)
    }

    /// Reads a commit record, and checks that the bytes are there.
    pub(crate) fn read_meta(&self, id: &SnapshotId) -> Result<Meta, Flaw> {
        let meta = self.read_sealed(id)?;
        self.check_size(id, &meta).map(|()| meta)
    }

    /// Reads a commit record; its bytes may be missing.
    pub(crate) fn read_sealed(&self, id: &SnapshotId) -> Result<Meta, Flaw> {
        let bytes = self.meta_bytes(id);
        let bytes =
            bytes.map_err(|error| Flaw::of(&error, format!("{}: {error}", meta_name(id))))?;
        Meta::from_bytes(&bytes, &id.to_string()).map_err(Flaw::Damaged)
    }

    /// The bytes of a commit record, as they are.
    pub(crate) fn meta_bytes(&self, id: &SnapshotId) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = open_plain(&self.meta_path(id))?;
        file.take(LONGEST_META).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Checks a snapshot: that both of its files are there, are named and sealed as they
    /// were, and have the size that they had; with `read_data` also that the bytes are those
    /// that were saved.
    pub fn verify(&self, entry: &Entry, read_data: bool) -> Result<(), StoreError> {
        if read_data {
            self.open_verified(entry).map(drop)
        } else {
            entry.trusted_meta().map(drop)
        }
    }

    /// Whether an undamaged snapshot, of one session or of any, has the bytes with this
    /// sha256.
    pub fn has_snapshot_of(
        &self,
        session: Option<&SessionId>,
        sha256: &str,
    ) -> Result<bool, StoreError> {
        let entries = self.catalog(session)?.entries.into_iter();
        let is_of = |entry: &Entry| matches!(&entry.meta, Ok(meta) if meta.sha256 == sha256);
        for entry in entries.filter(is_of) {
            match self.open_verified(&entry) {
                Ok(_) => return Ok(true),
                Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

/// One of the files of a snapshot.
pub(crate) struct SnapshotFile {
    pub(crate) id: SnapshotId,
    /// Whether it is the commit record.
    pub(crate) is_meta: bool,
    pub(crate) path: PathBuf,
}

/// The files in `dir` that are named as those of snapshots are.
pub(crate) fn snapshot_files(dir: &Path) -> Result<Vec<SnapshotFile>, StoreError> {
    let file = |name: String| {
        let (stem, is_meta) = if let Some(stem) = name.strip_suffix(".meta.json") {
            (stem, true)
        } else {
            let plain = name.strip_suffix(PACKED).unwrap_or(&name);
            (plain.strip_suffix(".jsonl")?, false)
        };
        Some(SnapshotFile {
            id: SnapshotId::parse(stem)?,
            is_meta,
            path: dir.join(&name),
        })
    };
    Ok(names(dir)?.into_iter().filter_map(file).collect())
}

impl Entry {
    /// The commit record; an error when the snapshot cannot be trusted.
    pub(crate) fn trusted_meta(&self) -> Result<Meta, StoreError> {
        self.meta.clone().map_err(|flaw| match flaw {
            Flaw::Damaged(why) => self.damaged(why),
            Flaw::Unread(why) => StoreError::Unread {
                id: self.id.to_string(),
                why,
            },
        })
    }

    pub(crate) fn damaged(&self, why: String) -> StoreError {
        StoreError::Damaged {
            id: self.id.to_string(),
            why,
        }
    }
}
