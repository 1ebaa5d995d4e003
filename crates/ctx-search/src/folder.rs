//! The folder of the index: private, locked by who writes, emptied when it is damaged.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::SearchError;

/// The time between two looks whether a lock is free.
const POLL: Duration = Duration::from_millis(20);

/// A folder for an index.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes it, if need be.
    pub(crate) fn make(path: &Path) -> Result<Self, SearchError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(SearchError::io("create", path))?;
        Ok(Self { path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the writers' lock; `None` if another run holds it after `patience`. It is next to the
    /// folder, so that it stays when the folder is emptied.
    pub(crate) fn lock(&self, patience: Duration) -> Result<Option<File>, SearchError> {
        let path = self.path.with_extension("lock");
        let mut options = OpenOptions::new();
        let options = options.create(true).append(true).mode(0o600);
        let file = options.open(&path).map_err(SearchError::io("open", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(error)) => {
                    return Err(SearchError::io("lock", &path)(error));
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() >= patience => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
            }
        }
    }

    /// Removes all files in it.
    pub(crate) fn empty(&self) -> Result<(), SearchError> {
        for file in self.files()? {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SearchError::io("remove", &file)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes all files in it private: the engine makes them as the process's mask has it.
    pub(crate) fn make_private(&self) -> Result<(), SearchError> {
        for file in self.files()? {
            let private = Permissions::from_mode(0o600);
            match fs::set_permissions(&file, private) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SearchError::io("change the mode of", &file)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<PathBuf>, SearchError> {
        let read = || -> io::Result<Vec<PathBuf>> {
            let entries = fs::read_dir(&self.path)?;
            entries.map(|entry| Ok(entry?.path())).collect()
        };
        read().map_err(SearchError::io("read", &self.path))
    }
}
