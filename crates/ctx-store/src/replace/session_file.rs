//! A session file that an agent may be writing, opened without following a link and without hanging
//! on a FIFO.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{OrCannot, StoreError};
use crate::fs::temp::marked_in;
use crate::fs::{
    file_id, hash, id_of, if_there, is_same_file, is_there, only_regular, open_careful, parent,
    try_lock,
};
use crate::id::{SessionId, SnapshotId, real_path};
use crate::os::{Lease, keep_writers_out};
use crate::snapshot::draft::Draft;
use crate::snapshot::meta::RETAINED;
use crate::store::Store;

const SEVERAL_NAMES: &str = "has several names (hard links): replacing it would part them";

/// A session file at the time it was opened.
#[derive(Debug)]
pub struct SessionFile {
    pub(crate) file: File,
    /// Its path, without links.
    pub(crate) path: PathBuf,
    pub(crate) meta: Metadata,
}

impl SessionFile {
    /// Opens a regular file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let real = real_path(path).or_cannot("read", path)?;
        let kind = fs::symlink_metadata(&real).or_cannot("read", path)?.file_type();
        let why = if kind.is_symlink() {
            "is a symbolic link"
        } else if kind.is_dir() {
            "is a directory; name session files: find DIR -name '*.jsonl' lists them"
        } else if kind.is_fifo() {
            "is a FIFO"
        } else if !kind.is_file() {
            "is a device or a socket"
        } else {
            let file = only_regular(open_careful(&real), "read", path)?;
            let meta = file.metadata().or_cannot("read", path)?;
            return Ok(Self { file, path: real, meta });
        };
        Err(StoreError::refused(path, why))
    }

    /// Opens a file that could be replaced. Besides what is no regular file, a file with several
    /// names and a file in a store are refused. Nothing is locked or written.
    pub fn open_replaceable(path: &Path) -> Result<Self, StoreError> {
        Store::refuse_inside(path)?;
        let file = Self::open(path)?;
        if file.meta.nlink() > 1 + file.second_names()?.len() as u64 {
            return Err(StoreError::refused(&file.path, SEVERAL_NAMES));
        }
        Ok(file)
    }

    /// Refuses a file that another process has locked or has open for writing. The lock is held
    /// until this value is dropped.
    pub fn refuse_users(&self) -> Result<(), StoreError> {
        self.lock()?;
        self.keep_writers_out().map(drop)
    }

    /// Keeps out runs that use another store, and programs that lock their files.
    pub(crate) fn lock(&self) -> Result<(), StoreError> {
        if let Err(TryLockError::WouldBlock) = try_lock(&self.file) {
            let name = self.path.display();
            return Err(StoreError::Busy(format!("{name} is locked by another process")));
        }
        Ok(())
    }

    /// Another handle for reading, at the start of the file.
    pub fn file(&self) -> Result<File, StoreError> {
        self.file.try_clone().or_cannot("read", &self.path)
    }

    /// The handle for reading, at the start of the file.
    pub fn into_file(self) -> File {
        self.file
    }

    /// The metadata of the file now. An error if its name belongs to another file, or if it shrank.
    pub(crate) fn metadata_now(&self) -> Result<Metadata, StoreError> {
        let changed = || StoreError::Changed(self.path.clone());
        let named = if_there(fs::symlink_metadata(&self.path).or_cannot("read", &self.path))?;
        let named = named.ok_or_else(changed)?;
        let now = self.file.metadata().or_cannot("read", &self.path)?;
        if !is_same_file(&named, &self.meta) || now.len() < self.meta.len() {
            return Err(changed());
        }
        Ok(now)
    }

    /// The other names of this file that a killed run left in its folder, whichever store that
    /// used.
    pub(crate) fn second_names(&self) -> Result<Vec<PathBuf>, StoreError> {
        if self.meta.nlink() == 1 {
            return Ok(Vec::new());
        }
        let (dir, name) = (parent(&self.path), self.path.file_name().unwrap_or_default());
        let mut names = marked_in(dir, name, RETAINED).or_cannot("read", dir)?;
        names.retain(|(path, end)| {
            let is_ours = end.bytes().all(|byte| byte.is_ascii_digit());
            is_ours && file_id(path).is_ok_and(|id| id == id_of(&self.meta))
        });
        Ok(names.into_iter().map(|(path, _)| path).collect())
    }

    /// Refuses a file that a process has open for writing; see [`keep_writers_out`].
    pub(crate) fn keep_writers_out(&self) -> Result<Option<Lease<'_>>, StoreError> {
        keep_writers_out(&self.file, &self.path)
    }

    /// Begins a snapshot of the bytes that the file had when it was opened. An agent may append to
    /// it meanwhile.
    pub(crate) fn draft<'a>(&self, store: &'a Store) -> Result<Draft<'a>, StoreError> {
        let mut draft = store.draft((&self.file).take(self.meta.len()), &self.path)?;
        draft.source = Some(self.path.to_string_lossy().into_owned());
        self.metadata_now()?;
        if draft.measured.bytes == self.meta.len() {
            Ok(draft)
        } else {
            Err(StoreError::Changed(self.path.clone()))
        }
    }
}

/// Whether [`Store::replace`] would be refused now: the question of a dry run.
pub fn refuse_replacement(path: &Path) -> Result<(), StoreError> {
    Store::refuse_inside(path)?;
    if let Ok(false) = is_there(path) {
        return real_path(path).or_cannot("read", path).map(drop);
    }
    SessionFile::open_replaceable(path)?.refuse_users()
}

impl Store {
    /// Begins a snapshot of a session file with its current bytes.
    pub fn draft_of(&self, path: &Path) -> Result<Draft<'_>, StoreError> {
        Self::refuse_inside(path)?;
        SessionFile::open(path)?.draft(self)
    }

    /// A preview of a snapshot of a session file: its size, and an existing snapshot with the same
    /// bytes. Writes nothing.
    pub fn would_save(
        &self,
        path: &Path,
        session: &SessionId,
    ) -> Result<(u64, Option<SnapshotId>), StoreError> {
        Self::refuse_inside(path)?;
        let live = SessionFile::open(path)?;
        let bytes = live.meta.len();
        let sha256 = hash(&mut (&live.file).take(bytes)).or_cannot("read", path)?;
        let source = live.path.to_string_lossy();
        Ok((bytes, self.known(session, Some(&source), &sha256)))
    }
}
