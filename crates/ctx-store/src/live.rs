//! Session files: opened without following a link and without hanging on a FIFO.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{Naming, StoreError};
use crate::files::{file_id, id_of, if_there, is_same_file, only_regular, open_careful, parent};
use crate::lease::Lease;
use crate::meta::RETAINED;
use crate::session::real_path;
use crate::temp::marked_in;
use crate::writers::keep_out;
use crate::{Draft, SessionId, SnapshotId, Store, hash};

/// A session file that an agent may be writing.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) file: File,
    /// Where it really lies.
    pub(crate) path: PathBuf,
    /// What it was like when it was opened.
    pub(crate) meta: Metadata,
}

impl Live {
    /// Opens a regular file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let real = real_path(path).naming("read", path)?;
        let kind = fs::symlink_metadata(&real)
            .naming("read", path)?
            .file_type();
        let refused = [
            (kind.is_symlink(), "is a symbolic link"),
            (
                kind.is_dir(),
                "is a directory; name session files: find DIR -name '*.jsonl' lists them",
            ),
            (kind.is_fifo(), "is a FIFO"),
            (!kind.is_file(), "is a device or a socket"),
        ];
        if let Some((_, why)) = refused.into_iter().find(|(is_so, _)| *is_so) {
            return Err(StoreError::refused(path, why));
        }
        let file = only_regular(open_careful(&real), "read", path)?;
        let meta = file.metadata().naming("read", path)?;
        Ok(Self {
            file,
            path: real,
            meta,
        })
    }

    /// What it is like now; an error when another file has its name, or when it shrank.
    pub(crate) fn again(&self) -> Result<Metadata, StoreError> {
        let changed = || StoreError::Changed(self.path.clone());
        let named = if_there(fs::symlink_metadata(&self.path).naming("read", &self.path))?;
        let named = named.ok_or_else(changed)?;
        let now = self.file.metadata().naming("read", &self.path)?;
        if !is_same_file(&named, &self.meta) || now.len() < self.meta.len() {
            return Err(changed());
        }
        Ok(now)
    }

    /// The names beside it, and of the same file, that a killed run left, whichever store it
    /// used.
    pub(crate) fn second_names(&self) -> Result<Vec<PathBuf>, StoreError> {
        if self.meta.nlink() == 1 {
            return Ok(Vec::new());
        }
        let (dir, name) = (
            parent(&self.path),
            self.path.file_name().unwrap_or_default(),
        );
        let mut names = marked_in(dir, name, RETAINED).naming("read", dir)?;
        names.retain(|(path, end)| {
            let is_ours = end.bytes().all(|byte| byte.is_ascii_digit());
            is_ours && file_id(path).is_ok_and(|id| id == id_of(&self.meta))
        });
        Ok(names.into_iter().map(|(path, _)| path).collect())
    }

    /// Refuses a file that another process has open for writing; keeps others from opening it
    /// so, where the kernel does that, until what is returned is dropped.
    pub(crate) fn keep_writers_out(&self) -> Result<Option<Lease<'_>>, StoreError> {
        keep_out(&self.file, &self.path)
    }

    /// Begins a snapshot of the bytes that it had when it was opened. An agent may append
    /// to it meanwhile.
    pub(crate) fn draft<'a>(&self, store: &'a Store) -> Result<Draft<'a>, StoreError> {
        let mut draft = store.draft((&self.file).take(self.meta.len()), &self.path)?;
        draft.source = Some(self.path.to_string_lossy().into_owned());
        self.again()?;
        if draft.bytes() == self.meta.len() {
            Ok(draft)
        } else {
            Err(StoreError::Changed(self.path.clone()))
        }
    }
}

impl Store {
    /// Begins a snapshot of a session file, with its bytes as they are now.
    pub fn draft_of(&self, path: &Path) -> Result<Draft<'_>, StoreError> {
        Self::refuse_inside(path)?;
        Live::open(path)?.draft(self)
    }

    /// What a snapshot of a session file would be, without a trace: how many bytes it has, and
    /// the snapshot that has them already.
    pub fn would_save(
        &self,
        path: &Path,
        session: &SessionId,
    ) -> Result<(u64, Option<SnapshotId>), StoreError> {
        Self::refuse_inside(path)?;
        let live = Live::open(path)?;
        let bytes = live.meta.len();
        let sha256 = hash(&mut (&live.file).take(bytes)).naming("read", path)?;
        let source = live.path.to_string_lossy();
        Ok((bytes, self.known(session, Some(&source), &sha256)))
    }
}
