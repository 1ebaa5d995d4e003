//! The new file beside the live one, the rename, and what comes right after it.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Snapshot;
use crate::arrivals::Arrivals;
use crate::atomic::{inherit, parent, persist, sync_dir};
use crate::catalog::hash;
use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::replace::{NewContent, copy_checked, refuse_writers};
use crate::temp::{self, TempFile};

/// So often the file may grow under our eyes before we give up.
const ROUNDS: usize = 5;

/// A replacement up to its commit; dropped before that, it leaves nothing.
pub(crate) struct Swap<'a> {
    live: &'a Live,
    before: &'a Snapshot,
    temp: TempFile,
    link: Link,
    /// Length of the new content.
    length: u64,
    arrivals: Arrivals<'a>,
    /// When the live file was last looked at.
    modified: (i64, i64),
}

/// The second name of the old file.
struct Link {
    path: PathBuf,
    keep: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.keep {
            // If it stays, the next run sees that it is the live file, and removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl<'a> Swap<'a> {
    /// Writes the new file, and links the old one.
    pub(crate) fn prepare(
        live: &'a Live,
        before: &'a Snapshot,
        new: &mut NewContent<'_>,
    ) -> Result<Self, StoreError> {
        let path = &live.path;
        let dir = parent(path);
        let name = path.file_name().unwrap_or_default();
        temp::reap(dir, Some(name));
        let mut temp = TempFile::create(dir, name, 0o600).naming("create a file beside", path)?;
        let length = copy_checked(new.reader, &mut temp, new.sha256, path)?;
        inherit(temp.file(), &live.meta).naming("keep the mode of", path)?;
        temp.file().sync_all().naming("sync", temp.path())?;

        let link = dir.join(before.meta.retained.as_deref().unwrap_or_default());
        fs::hard_link(path, &link).naming("keep a link to", path)?;
        let link = Link {
            path: link,
            keep: false,
        };
        sync_dir(dir).naming("sync", dir)?;
        Ok(Self {
            live,
            before,
            temp,
            link,
            length,
            arrivals: Arrivals::since(live, before),
            modified: (live.meta.mtime(), live.meta.mtime_nsec()),
        })
    }

    /// Carries over what was appended since the snapshot, until nothing more comes.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let now = self.live.again()?;
            let modified = (now.mtime(), now.mtime_nsec());
            if now.len() == self.arrivals.covered && modified == self.modified {
                return refuse_writers(self.live);
            }
            self.refuse_edits()?;
            self.modified = modified;
            self.arrivals.carry(now.len(), self.temp.file())?;
        }
        let name = self.live.path.display();
        Err(StoreError::Busy(format!("{name} keeps growing")))
    }

    /// Growing is all that the file may have done since the snapshot.
    fn refuse_edits(&self) -> Result<(), StoreError> {
        let path = &self.live.path;
        let mut file = &self.live.file;
        file.rewind().naming("read", path)?;
        let found = hash(&mut file.take(self.before.meta.bytes)).naming("read", path)?;
        if found == self.before.meta.sha256 {
            Ok(())
        } else {
            Err(StoreError::Changed(path.clone()))
        }
    }

    /// The rename, and what comes after it. Returns the bytes carried over, and
    /// the old file when it may still be in use.
    pub(crate) fn commit(mut self, sha256: &str) -> Result<(u64, Option<PathBuf>), StoreError> {
        let path = &self.live.path;
        let renamed = persist(self.temp, path);
        self.link.keep = match &renamed {
            Ok(_) => true,
            Err(error) => error.is_committed(),
        };
        let file = renamed?;
        let old = self.link.path.clone();
        let finish = || {
            let quiet = self.arrivals.drain(&file)?;
            check(path, self.length, sha256)?;
            if quiet {
                // Nobody can write to it any longer, and all its bytes are elsewhere.
                fs::remove_file(&old).naming("remove", &old)?;
            }
            Ok((self.arrivals.late, (!quiet).then_some(old)))
        };
        let what = format!("the replacement of {}", path.display());
        finish().map_err(|error: StoreError| error.after(what))
    }
}

/// Reads back what was written.
fn check(path: &Path, length: u64, sha256: &str) -> Result<(), StoreError> {
    let file = File::open(path).naming("read", path)?;
    let found = hash(&mut file.take(length)).naming("read", path)?;
    if found == sha256 {
        Ok(())
    } else {
        Err(StoreError::Damaged {
            id: path.display().to_string(),
            why: format!("it reads back with sha256 {found} instead of {sha256}"),
        })
    }
}
