//! Session files: opened without following a link and without hanging on a FIFO.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{Naming, StoreError};
use crate::hash;
use crate::open::{careful, if_there};
use crate::session::real_path;
use crate::writers::{Writers, writers};
use crate::{Draft, Store};

/// A session file that an agent may be writing.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) file: File,
    /// Where it really lies.
    pub(crate) path: PathBuf,
    /// When it was opened.
    pub(crate) meta: Metadata,
}

impl Live {
    /// Opens a regular file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let real = real_path(path).naming("read", path)?;
        let kind = fs::symlink_metadata(&real)
            .naming("read", path)?
            .file_type();
        let refused = |why| StoreError::Refused {
            path: path.to_owned(),
            why,
        };
        if kind.is_symlink() {
            return Err(refused("is a symbolic link"));
        }
        if kind.is_dir() {
            return Err(refused("is a directory"));
        }
        if kind.is_fifo() {
            return Err(refused("is a FIFO"));
        }
        if !kind.is_file() {
            return Err(refused("is a device or a socket"));
        }
        let file = careful().open(&real).naming("read", path)?;
        let meta = file.metadata().naming("read", path)?;
        if !meta.is_file() {
            return Err(refused("is not a regular file"));
        }
        Ok(Self {
            file,
            path: real,
            meta,
        })
    }

    /// As it is now; an error when its path leads to another file or it shrank.
    pub(crate) fn again(&self) -> Result<Metadata, StoreError> {
        let changed = || StoreError::Changed(self.path.clone());
        let named = if_there(fs::symlink_metadata(&self.path)).naming("read", &self.path)?;
        let named = named.ok_or_else(changed)?;
        let now = self.file.metadata().naming("read", &self.path)?;
        if !self.is(&named) || now.len() < self.meta.len() {
            return Err(changed());
        }
        Ok(now)
    }

    /// Refuses a file that another process has open for writing.
    pub(crate) fn refuse_writers(&self) -> Result<(), StoreError> {
        match writers(&self.file) {
            Writers::Somebody(who) => {
                let name = self.path.display();
                let why = format!("{name} is open for writing by {who}");
                Err(StoreError::Busy(why))
            }
            Writers::Nobody | Writers::NobodySeen => Ok(()),
        }
    }

    /// Whether that is this file.
    pub(crate) fn is(&self, found: &Metadata) -> bool {
        (found.dev(), found.ino()) == (self.meta.dev(), self.meta.ino())
    }

    /// Takes the bytes it had when it was opened. An agent may append
    /// meanwhile: what was there before stays the same.
    pub(crate) fn draft<'a>(&self, store: &'a Store) -> Result<Draft<'a>, StoreError> {
        let mut draft = store.draft()?;
        draft.fill((&self.file).take(self.meta.len()), &self.path)?;
        draft.source = Some(self.path.to_string_lossy().into_owned());
        self.again()?;
        if draft.bytes() == self.meta.len() {
            Ok(draft)
        } else {
            Err(StoreError::Changed(self.path.clone()))
        }
    }
}

/// sha256 of a session file as it is now; `None` where there is none.
pub(crate) fn hash_of(path: &Path) -> Result<Option<String>, StoreError> {
    if let Ok(None) = if_there(fs::symlink_metadata(path)) {
        return Ok(None);
    }
    let live = Live::open(path)?;
    hash(&mut &live.file).naming("read", path).map(Some)
}

impl Store {
    /// Begins a snapshot of a session file, with its bytes as they are now.
    pub fn draft_of(&self, path: &Path) -> Result<Draft<'_>, StoreError> {
        Live::open(path)?.draft(self)
    }
}
