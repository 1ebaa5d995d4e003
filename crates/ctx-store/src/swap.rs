//! The new file beside the live one, the exchange of the two, and what comes right after it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::arrivals::Arrivals;
use crate::atomic::inherit;
use crate::error::{Naming, StoreError};
use crate::files::{file_id, id_of, is_same_file, open_plain, parent, sync_dir};
use crate::hash;
use crate::lease::{self, Answer, Lease, Others};
use crate::live::Live;
use crate::meta::Successor;
use crate::rename::take_place;
use crate::temp::{TempFile, TempName};
use crate::{NewContent, Snapshot, SnapshotKind, Store};

/// How often a file that keeps growing is caught up with before we give up.
const ROUNDS: usize = 5;
/// In how many of these rounds the disk is waited for.
const SYNCED_ROUNDS: usize = 3;
/// A lease that was held for longer may have been taken away.
const LEASE: Duration = Duration::from_secs(5);
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
    store: &'a Store,
    live: &'a Live,
    before: &'a Snapshot,
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
    pub(crate) fn of(store: &'a Store, live: &'a Live, before: &'a Snapshot, new: NewFile) -> Self {
        let aside = before.meta.retained.as_deref().unwrap_or_default();
        Self {
            store,
            live,
            before,
            temp: new.temp,
            content: new.content,
            aside: live.path.with_file_name(aside),
            arrivals: Arrivals::since(live, before),
            may_grow: true,
        }
    }

    /// Carries over what was appended since the snapshot, until nothing more comes; where
    /// the file may not grow, it has to be as it was. Nobody can write to it before the lease
    /// is dropped, where leases can be had.
    fn catch_up(&mut self) -> Result<Option<Lease<'a>>, StoreError> {
        for round in 0..ROUNDS {
            let alone = self.live.keep_writers_out()?;
            let now = self.live.again()?;
            let modified = (now.mtime(), now.mtime_nsec());
            if now.len() == self.arrivals.covered && modified == self.arrivals.modified {
                return Ok(alone);
            }
            drop(alone);
            if (!self.may_grow && now.len() != self.arrivals.covered) || !self.arrivals.are_all()? {
                return Err(StoreError::Changed(self.live.path.clone()));
            }
            self.arrivals.modified = modified;
            self.arrivals.carry(now.len(), &self.temp.file)?;
            // A slow disk must not let a busy agent win each round. What is not on the disk
            // yet is so before the old file, which has it, goes.
            if round < SYNCED_ROUNDS {
                let synced = self.temp.file.sync_all();
                synced.naming("sync", self.temp.path())?;
            }
        }
        let name = self.live.path.display();
        Err(StoreError::Busy(format!("{name} keeps growing")))
    }

    /// The exchange, and what comes before and after it. Returns the bytes carried over, and
    /// the old file when it may still be in use, or holds what is nowhere else.
    pub(crate) fn commit(mut self) -> Result<(u64, Option<PathBuf>), StoreError> {
        let writers_wait = self.catch_up()?;
        let Self {
            store,
            live,
            before,
            temp: TempFile { mut name, file },
            content,
            aside: old,
            mut arrivals,
            may_grow: _,
        } = self;
        let path = &live.path;
        let carried = arrivals.late;
        let begun = Instant::now();
        let all_wait = match lease::ask(&file, Others::All) {
            Answer::Granted(lease) => Some(lease),
            Answer::InUse | Answer::Unknown => None,
        };
        let mut others = Vec::new();
        if let Err(error) = put_in_place(&mut name, &old, live, &mut others) {
            drop((writers_wait, all_wait));
            let places = (live.path.as_path(), old.as_path());
            save_others(store, before, &content, places, others)?;
            return Err(error);
        }
        let finish = || {
            // Who came meanwhile to write finds the old file. Who comes now waits for the new
            // one until it holds that, so that what he writes stands behind it.
            drop(writers_wait);
            let mut is_over = arrivals.drain(&file)?;
            if arrivals.late > carried && !(all_wait.is_some() && begun.elapsed() < LEASE) {
                // Somebody may have read the new file before that, and write it anew.
                is_over = false;
            }
            drop(all_wait);
            file.sync_all().naming("sync", path)?;
            sync_dir(parent(path))?;
            check(&file, path, &content)?;
            if is_over && arrivals.are_over(&file, begun)? {
                // Nobody can write to it any more, and all its bytes are saved.
                fs::remove_file(&old).naming("remove", &old)?;
                return Ok((arrivals.late, None));
            }
            Ok((arrivals.late, Some(old)))
        };
        let what = format!("the replacement of {}", path.display());
        finish().map_err(|error: StoreError| error.after(what))
    }
}

/// The name of the live file for the new one, and the name `aside` for the old.
/// `others` are the files that were taken out in the place of the old one, and put back.
fn put_in_place(
    new: &mut TempName,
    aside: &Path,
    live: &Live,
    others: &mut Vec<File>,
) -> Result<(), StoreError> {
    let is_live = |found: &Path| file_id(found).is_ok_and(|id| id == id_of(&live.meta));
    let taken_out = |found: &Path| others.extend(open_plain(found));
    if !take_place(new, aside.to_owned(), &live.path, is_live, taken_out)? {
        rename_over(&new.path, aside, live)?;
    }
    new.keep = true;
    Ok(())
}

/// Makes snapshots of the files that were put back. While ours stood there, an agent may have
/// read it, and put what it made of that in the place of one of these by now.
fn save_others(
    store: &Store,
    before: &Snapshot,
    content: &Successor,
    (live, aside): (&Path, &Path),
    others: Vec<File>,
) -> Result<(), StoreError> {
    for mut file in others {
        let id = id_of(&file.metadata().naming("read", live)?);
        let sha256 = hash(&mut file).naming("read", live)?;
        let is_known = [&before.meta.sha256, &content.sha256].contains(&&sha256);
        // What has the name for the old file is judged as that one is.
        if is_known || file_id(aside).is_ok_and(|aside| aside == id) {
            continue;
        }
        file.rewind().naming("read", live)?;
        let mut draft = store.draft(&file, live)?;
        draft.source = Some(live.to_string_lossy().into_owned());
        draft.commit(&before.id.session, SnapshotKind::Late)?;
    }
    Ok(())
}

/// Where names cannot be exchanged: the old file gets its second name first. An agent that
/// renames between the last look and our rename loses its file.
fn rename_over(new: &Path, aside: &Path, live: &Live) -> Result<(), StoreError> {
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
    let renamed = fs::rename(new, path).naming("replace", path);
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
            let mut others = Vec::new();
            let aside = dir.path().join("aside");
            let done = put_in_place(&mut temp.name, &aside, &live, &mut others);
            assert_eq!(others.len(), usize::from(came));
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
