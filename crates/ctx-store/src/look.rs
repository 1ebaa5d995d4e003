//! A look at a session file: whether it could be replaced, and what it was like then.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::Store;
use crate::error::{Naming, StoreError};
use crate::files::{if_there, try_lock};
use crate::live::Live;
use crate::session::real_path;

const SEVERAL_NAMES: &str = "has several names (hard links): replacing it would part them";

/// A session file as it was at a moment. Nothing is locked, and nothing was written.
#[derive(Debug)]
pub struct Look {
    pub(crate) live: Live,
}

impl Look {
    /// Looks at a file as a replacement does: a link, a FIFO, a file with several names and
    /// one that lies in a store are refused.
    pub fn at(path: &Path) -> Result<Self, StoreError> {
        Store::refuse_inside(path)?;
        let live = Live::open(path)?;
        if live.meta.nlink() > 1 + live.second_names()?.len() as u64 {
            return Err(StoreError::refused(&live.path, SEVERAL_NAMES));
        }
        Ok(Self { live })
    }

    /// Refuses a file that another process has locked, or has open for writing. The lock
    /// is held until this is dropped.
    pub fn refuse_users(&self) -> Result<(), StoreError> {
        // This keeps out tools that use another store, and programs that lock their files.
        if let Err(TryLockError::WouldBlock) = try_lock(&self.live.file) {
            let name = self.live.path.display();
            return Err(StoreError::Busy(format!(
                "{name} is locked by another process"
            )));
        }
        self.live.keep_writers_out().map(drop)
    }

    /// A handle for reading, at the start; the file stays looked at.
    pub fn file(&self) -> Result<File, StoreError> {
        self.live.file.try_clone().naming("read", &self.live.path)
    }

    /// A handle for reading, at the start.
    pub fn into_file(self) -> File {
        self.live.file
    }
}

/// Whether [`Store::replace`] would be refused now: the question of a dry run.
pub fn refuse_replacement(path: &Path) -> Result<(), StoreError> {
    Store::refuse_inside(path)?;
    if let Ok(None) = if_there(fs::symlink_metadata(path).naming("read", path)) {
        return real_path(path).naming("read", path).map(drop);
    }
    Look::at(path)?.refuse_users()
}
