//! The new file beside the live one, the rename, and what comes right after it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::arrivals::Arrivals;
use crate::atomic::inherit;
use crate::error::{Naming, Severity, StoreError};
use crate::files::{is_same_file, parent, sync_dir};
use crate::hash;
use crate::live::Live;
use crate::rename::{exchange, put_back};
use crate::temp::{TempFile, TempName};
use crate::{NewContent, Snapshot};

/// How often a file that keeps growing is caught up with before we give up.
const ROUNDS: usize = 5;
const OTHER_CONTENT: &str =
    "does not hold what was written: another process has written it over, or the disk is at fault";

/// A replacement up to its commit; dropped before that, it leaves nothing.
pub(crate) struct Swap<'a> {
    live: &'a Live,
    temp: TempFile,
    /// The second name of the old file. When it cannot be removed, the next run sees that
    /// it is a name of the session file, and removes it.
    link: TempName,
    /// Length of the new content.
    length: u64,
    arrivals: Arrivals<'a>,
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
        // What killed runs left is gone: that was looked for when the session was locked.
        let temp = TempFile::create(dir, name, 0o600);
        let mut temp = temp.naming("create a file beside", path)?;
        let length = new.copy_to(&mut temp, path)?;
        inherit(&temp.file, &live.meta).naming("keep the mode of", path)?;
        temp.file.sync_all().naming("sync", temp.path())?;

        let link = dir.join(before.meta.retained.as_deref().unwrap_or_default());
        fs::hard_link(path, &link).naming("keep a link to", path)?;
        let link = TempName {
            path: link,
            keep: false,
        };
        sync_dir(dir)?;
        Ok(Self {
            live,
            temp,
            link,
            length,
            arrivals: Arrivals::since(live, before),
        })
    }

    /// Carries over what was appended since the snapshot, until nothing more comes; where
    /// the file may not grow, it has to be as it was.
    pub(crate) fn catch_up(&mut self, may_grow: bool) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let now = self.live.again()?;
            let modified = (now.mtime(), now.mtime_nsec());
            if now.len() == self.arrivals.covered && modified == self.arrivals.modified {
                return self.live.refuse_writers();
            }
            if (!may_grow && now.len() != self.arrivals.covered) || !self.arrivals.are_all()? {
                return Err(StoreError::Changed(self.live.path.clone()));
            }
            self.arrivals.modified = modified;
            self.arrivals.carry(now.len(), &self.temp.file)?;
        }
        let name = self.live.path.display();
        Err(StoreError::Busy(format!("{name} keeps growing")))
    }

    /// The rename, and what comes after it. Returns the bytes carried over, and
    /// the old file when it may still be in use, or holds what is nowhere else.
    pub(crate) fn commit(mut self, sha256: &str) -> Result<(u64, Option<PathBuf>), StoreError> {
        let path = &self.live.path;
        let renamed = put_in_place(self.temp, self.live);
        self.link.keep = match &renamed {
            Ok(_) => true,
            Err(error) => error.severity() == Severity::Uncertain,
        };
        let file = renamed?;
        let old = self.link.path.clone();
        let finish = || {
            // At once: what an agent appends to the new file must stand behind it.
            let quiet = self.arrivals.drain(&file)?;
            file.sync_all().naming("sync", path)?;
            sync_dir(parent(path))?;
            check(&file, path, self.length, sha256)?;
            if quiet {
                // Nobody can write to it any more, and all its bytes are saved.
                fs::remove_file(&old).naming("remove", &old)?;
            }
            Ok((self.arrivals.late, (!quiet).then_some(old)))
        };
        let what = format!("the replacement of {}", path.display());
        finish().map_err(|error: StoreError| error.after(what))
    }
}

/// fsync, then the name of the live file for the new one. The names are exchanged:
/// what stood there is looked at afterwards, and a file that an agent put there
/// since the last look is put back.
fn put_in_place(temp: TempFile, live: &Live) -> Result<File, StoreError> {
    let path = &live.path;
    temp.file.sync_all().naming("sync", temp.path())?;
    if !exchange(&temp, path)? {
        fs::rename(temp.path(), path).naming("replace", path)?;
        return Ok(temp.keep());
    }
    let displaced = fs::symlink_metadata(temp.path());
    if displaced.is_ok_and(|displaced| !is_same_file(&displaced, &live.meta)) {
        return Err(match put_back(&temp, path) {
            Ok(()) => StoreError::Changed(path.clone()),
            Err(error) => {
                // Not ours to remove.
                temp.keep();
                error.after(format!("the replacement of {}", path.display()))
            }
        });
    }
    // The old file keeps its second name; the temporary one goes.
    Ok(temp.unname())
}

/// Reads back what was written, unless another file stands there by now.
fn check(file: &File, path: &Path, length: u64, sha256: &str) -> Result<(), StoreError> {
    let ours = file.metadata().naming("read", path)?;
    let file = File::open(path).naming("read", path)?;
    let found = file.metadata().naming("read", path)?;
    if !is_same_file(&found, &ours) || hash(&mut file.take(length)).naming("read", path)? == sha256
    {
        return Ok(());
    }
    Err(StoreError::refused(path, OTHER_CONTENT))
}

#[cfg(test)]
mod tests {
    use super::put_in_place;
    use crate::StoreError;
    use crate::live::Live;
    use crate::temp::TempFile;
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;

    #[test]
    fn a_file_that_came_in_between_is_put_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "old").expect("writes");
        for came in [true, false] {
            let live = Live::open(&path).expect("opens");
            if came {
                let others = dir.path().join("others");
                fs::write(&others, "others").expect("writes");
                fs::rename(&others, &path).expect("renames");
            }
            let stem = OsStr::new("s.jsonl");
            let mut temp = TempFile::create(dir.path(), stem, 0o600).expect("creates");
            temp.write_all(b"new").expect("writes");
            let done = put_in_place(temp, &live);
            assert_eq!(
                matches!(done, Err(StoreError::Changed(_))),
                came,
                "{done:?}"
            );
            let found = fs::read_to_string(&path).expect("reads");
            assert_eq!(found, if came { "others" } else { "new" });
            assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 1);
        }
    }
}
