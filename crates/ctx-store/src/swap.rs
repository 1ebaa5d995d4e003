//! The new file beside the live one, the exchange of the two, and what comes right after it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::arrivals::Arrivals;
use crate::atomic::inherit;
use crate::error::{Naming, StoreError};
use crate::files::{file_id, id_of, is_same_file, parent, sync_dir};
use crate::hash;
use crate::live::Live;
use crate::meta::Successor;
use crate::rename::take_place;
use crate::temp::{TempFile, TempName};
use crate::{NewContent, Snapshot};

/// How often a file that keeps growing is caught up with before we give up.
const ROUNDS: usize = 5;
const OTHER_CONTENT: &str =
    "does not hold what was written: another process has written it over, or the disk is at fault";

/// The new content beside the live file; dropped, it leaves nothing.
pub(crate) struct NewFile {
    temp: TempFile,
    /// What was written to it.
    pub(crate) content: Successor,
}

impl NewFile {
    pub(crate) fn write(live: &Live, new: &mut NewContent<'_>) -> Result<Self, StoreError> {
        let path = &live.path;
        let name = path.file_name().unwrap_or_default();
        // What a killed run left is gone: that was looked for when the session was locked.
        let temp = TempFile::create(parent(path), name, 0o600);
        let mut temp = temp.naming("create a file beside", path)?;
        let bytes = new.copy_to(&mut temp, path)?;
        inherit(&temp.file, &live.meta).naming("keep the mode of", path)?;
        temp.file.sync_all().naming("sync", temp.path())?;
        let sha256 = new.sha256.to_owned();
        Ok(Self {
            temp,
            content: Successor { bytes, sha256 },
        })
    }
}

/// A replacement up to its commit; dropped before that, it leaves nothing.
pub(crate) struct Swap<'a> {
    live: &'a Live,
    temp: TempFile,
    content: Successor,
    /// The name that the old file will have: that of what was replaced, which the next run
    /// finds by the snapshot.
    aside: PathBuf,
    arrivals: Arrivals<'a>,
    /// Whether what is appended meanwhile may follow the new content; else it stops all.
    pub(crate) may_grow: bool,
}

impl<'a> Swap<'a> {
    pub(crate) fn of(live: &'a Live, before: &'a Snapshot, new: NewFile) -> Self {
        let aside = before.meta.retained.as_deref().unwrap_or_default();
        Self {
            live,
            temp: new.temp,
            content: new.content,
            aside: live.path.with_file_name(aside),
            arrivals: Arrivals::since(live, before),
            may_grow: true,
        }
    }

    /// Carries over what was appended since the snapshot, until nothing more comes; where
    /// the file may not grow, it has to be as it was.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let now = self.live.again()?;
            let modified = (now.mtime(), now.mtime_nsec());
            if now.len() == self.arrivals.covered && modified == self.arrivals.modified {
                return self.live.refuse_writers();
            }
            if (!self.may_grow && now.len() != self.arrivals.covered) || !self.arrivals.are_all()? {
                return Err(StoreError::Changed(self.live.path.clone()));
            }
            self.arrivals.modified = modified;
            self.arrivals.carry(now.len(), &self.temp.file)?;
        }
        let name = self.live.path.display();
        Err(StoreError::Busy(format!("{name} keeps growing")))
    }

    /// The exchange, and what comes after it. Returns the bytes carried over, and
    /// the old file when it may still be in use, or holds what is nowhere else.
    pub(crate) fn commit(self) -> Result<(u64, Option<PathBuf>), StoreError> {
        let Self {
            live,
            temp,
            content,
            aside: old,
            mut arrivals,
            may_grow: _,
        } = self;
        let path = &live.path;
        let file = put_in_place(temp, &old, live)?;
        let finish = || {
            // At once: what an agent appends to the new file must stand behind it.
            let quiet = arrivals.drain(&file)?;
            file.sync_all().naming("sync", path)?;
            sync_dir(parent(path))?;
            check(&file, path, &content)?;
            if quiet {
                // Nobody can write to it any more, and all its bytes are saved.
                fs::remove_file(&old).naming("remove", &old)?;
            }
            Ok((arrivals.late, (!quiet).then_some(old)))
        };
        let what = format!("the replacement of {}", path.display());
        finish().map_err(|error: StoreError| error.after(what))
    }
}

/// fsync, then the name of the live file for the new one, and the name `aside` for the old.
fn put_in_place(mut temp: TempFile, aside: &Path, live: &Live) -> Result<File, StoreError> {
    temp.file.sync_all().naming("sync", temp.path())?;
    let is_live = |found: &Path| file_id(found).is_ok_and(|id| id == id_of(&live.meta));
    if !take_place(&mut temp, aside.to_owned(), &live.path, is_live)? {
        rename_over(&temp, aside, live)?;
    }
    Ok(temp.keep())
}

/// Where names cannot be exchanged: the old file gets its second name first. An agent that
/// renames between the last look and our rename loses its file.
fn rename_over(temp: &TempFile, aside: &Path, live: &Live) -> Result<(), StoreError> {
    let path = &live.path;
    match fs::hard_link(path, aside) {
        // It was removed meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(StoreError::Changed(path.clone()));
        }
        linked => linked.naming("keep a link to", path)?,
    }
    let mut link = TempName {
        path: aside.to_owned(),
        keep: false,
        id: file_id(aside).naming("read", aside)?,
    };
    sync_dir(parent(path))?;
    live.again()?;
    if link.id != id_of(&live.meta) {
        return Err(StoreError::Changed(path.clone()));
    }
    let renamed = fs::rename(temp.path(), path).naming("replace", path);
    link.keep = renamed.is_ok();
    renamed
}

/// Reads back what was written, unless another file stands there by now.
fn check(file: &File, path: &Path, content: &Successor) -> Result<(), StoreError> {
    let ours = file.metadata().naming("read", path)?;
    let file = File::open(path).naming("read", path)?;
    let found = file.metadata().naming("read", path)?;
    if !is_same_file(&found, &ours) {
        return Ok(());
    }
    let written = hash(&mut file.take(content.bytes)).naming("read", path)?;
    if written == content.sha256 {
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
            let done = put_in_place(temp, &dir.path().join("aside"), &live);
            assert_eq!(
                matches!(done, Err(StoreError::Changed(_))),
                came,
                "{done:?}"
            );
            let found = fs::read_to_string(&path).expect("reads");
            assert_eq!(found, if came { "others" } else { "new" });
            // Ours, which nobody has judged yet, or the old one.
            let aside = fs::read_to_string(dir.path().join("aside")).expect("reads");
            assert_eq!(aside, if came { "new" } else { "others" });
            assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 2);
            fs::remove_file(dir.path().join("aside")).expect("removed");
        }
    }
}
