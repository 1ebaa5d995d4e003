//! Writes the new file, exchanges it with the live session file, and carries over what other
//! processes append to the live file in the meantime. This module also handles files that other
//! processes put in the session file's place at the moment of the exchange.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{OrCannot, Result, Severity, StoreError};
use crate::fs::{
    TempFile, TempName, begins_line, ends_line, file_id, fingerprint, fingerprint_of, hard_link,
    hash, id_of, inherit, is_unchanged, open_plain, parent, remove_file, rename, sync_dir,
    take_the_place,
};
use crate::os::{Lease, Writers, has_no_writer};
use crate::{FileHash, NewContent, SessionFile, Snapshot, Store};

/// How many times to try to catch up with a file that keeps growing.
const ROUNDS: usize = 5;
/// After this many attempts to catch up, the new file is no longer flushed to disk each time.
const SYNCED_ROUNDS: usize = 3;
/// The kernel may have revoked a lease that was held for longer than this.
const LEASE: Duration = Duration::from_secs(5);
const OTHER_CONTENT: &str =
    "does not have the new content: another process has overwritten it, or the disk is faulty";

/// A file with the new content, next to the live session file. Dropping this value removes the
/// file.
pub(crate) struct NewFile {
    temp: TempFile,
    /// The length and hash of the content.
    pub(crate) content: FileHash,
}

impl NewFile {
    pub(crate) fn write(live: &SessionFile, new: &mut NewContent<'_>) -> Result<Self> {
        let path = &live.path;
        let name = path.file_name().unwrap_or_default();
        // The unfinished files of killed runs were removed when the session was locked.
        let temp = TempFile::create(parent(path), name, 0o600);
        let mut temp = temp.or_cannot("create a file next to", path)?;
        let bytes = new.copy_to(&mut temp, path)?;
        inherit(&temp.file, &live.meta).or_cannot("keep the mode of", path)?;
        temp.file.sync_all().or_cannot("sync", temp.path())?;
        Ok(Self { temp, content: FileHash { bytes, sha256: new.sha256.to_owned() } })
    }
}

/// Puts the new file in the place of the live file, and carries over what was appended in the
/// meantime. Returns the number of bytes carried over. If the old file may still be in use, or
/// contains bytes that are not saved elsewhere, also returns its path. If a step before the
/// exchange fails, nothing is changed.
pub(crate) fn swap(
    store: &Store,
    live: &SessionFile,
    before: &Snapshot,
    new: NewFile,
    may_grow: bool,
) -> Result<(u64, Option<PathBuf>)> {
    let path = &live.path;
    // This is the second name of the replaced file. The commit record of the snapshot contains this
    // name, so that the next run can find the file.
    let old = path.with_file_name(before.meta.retained.as_deref().unwrap_or_default());
    let mut carry_over = CarryOver::since(live, before);
    let writers_wait = carry_over.catch_up(&new.temp, may_grow)?;
    let NewFile { temp: TempFile { mut name, file }, content } = new;
    let carried = carry_over.late;
    let begun = Instant::now();
    let all_wait = Lease::on_everyone(&file);
    let mut others = Vec::new();
    if let Err(error) = exchange_with_live(&mut name, &old, live, &mut others) {
        drop((writers_wait, all_wait));
        let saved = save_foreign_files(store, before, &content, (path, &old), others);
        // If the session may have changed, report that error rather than the failure to save
        // another process's file.
        return Err(match saved {
            Err(not_saved) if error.severity() != Severity::Uncertain => not_saved,
            _ => error,
        });
    }
    let finish = || {
        // Let waiting writers continue only now, after the exchange. A process that has been
        // waiting opens the old file, so its line will be carried over. A process that opens the
        // session from now on waits until the new file contains all late bytes, so its line follows
        // those bytes.
        drop(writers_wait);
        let mut is_over = carry_over.drain(&file)?;
        if carry_over.late > carried && !(all_wait.is_some() && begun.elapsed() < LEASE) {
            // Keep the old file, because a process may have read the new file before the late bytes
            // were added, and may write it back without those bytes. If our lease on the new file
            // has not been revoked, no process can have read the new file yet.
            is_over = false;
        }
        drop(all_wait);
        file.sync_all().or_cannot("sync", path)?;
        sync_dir(parent(path))?;
        check(&file, path, &content)?;
        if is_over && carry_over.are_over(&file, begun)? {
            // No process can write to the old file any more, and all its bytes have been saved.
            remove_file(&old).or_cannot("remove", &old)?;
            return Ok((carry_over.late, None));
        }
        Ok((carry_over.late, Some(old)))
    };
    let what = format!("the replacement of {}", path.display());
    finish().map_err(|error: StoreError| error.after(what))
}

/// Checks the written bytes by reading them back, unless another file has replaced ours since the
/// exchange.
fn check(mut file: &File, path: &Path, content: &FileHash) -> Result<()> {
    let ours = file.metadata().or_cannot("read", path)?;
    if file_id(path).or_cannot("read", path)? != id_of(&ours) {
        return Ok(());
    }
    // Use the same handle, because another open would wait for our lease if the lease could not be
    // released.
    file.rewind().or_cannot("read", path)?;
    let written = hash(&mut file.take(content.bytes)).or_cannot("read", path)?;
    if written == content.sha256 {
        return Ok(());
    }
    Err(StoreError::refused(path, OTHER_CONTENT))
}

/// Gives the new file the name of the live file, and renames the old file to `aside`. If another
/// process's file was exchanged by mistake and then restored, adds it to `others`.
fn exchange_with_live(
    new: &mut TempName,
    aside: &Path,
    live: &SessionFile,
    others: &mut Vec<File>,
) -> Result<()> {
    let is_live = |found: &Path| file_id(found).is_ok_and(|id| id == id_of(&live.meta));
    let taken_out = |found: &Path| others.extend(open_plain(found));
    if !take_the_place(new, aside.to_owned(), &live.path, is_live, taken_out)? {
        rename_over(&new.path, aside, live)?;
    }
    new.keep = true;
    Ok(())
}

/// Takes snapshots of other processes' files that were restored. While our file was in place, an
/// agent may have read it, and may now overwrite a restored file with a new version of ours.
fn save_foreign_files(
    store: &Store,
    before: &Snapshot,
    content: &FileHash,
    (live, aside): (&Path, &Path),
    others: Vec<File>,
) -> Result<()> {
    for mut file in others {
        let id = id_of(&file.metadata().or_cannot("read", live)?);
        let sha256 = hash(&mut file).or_cannot("read", live)?;
        let is_known = [&before.meta.sha256, &content.sha256].contains(&&sha256);
        // The file that is now named `aside` is checked later, like an old file.
        if is_known || file_id(aside).is_ok_and(|aside| aside == id) {
            continue;
        }
        store.save_late(&before.id.session, live, &file, live)?;
    }
    Ok(())
}

/// Replaces the session file on a file system that cannot exchange names. First gives the old file
/// a second name, so that the rename does not delete it. If an agent renames a file into place
/// after the last check and before our rename, that file is lost.
fn rename_over(new: &Path, aside: &Path, live: &SessionFile) -> Result<()> {
    let path = &live.path;
    match hard_link(path, aside) {
        // Another process has just removed the file.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(StoreError::Changed(path.clone()));
        }
        linked => linked.or_cannot("keep a link to", path)?,
    }
    let mut link = TempName {
        path: aside.to_owned(),
        keep: false,
        id: file_id(aside).or_cannot("read", aside)?,
    };
    sync_dir(parent(path))?;
    live.metadata_now()?;
    if link.id != id_of(&live.meta) {
        return Err(StoreError::Changed(path.clone()));
    }
    let renamed = rename(new, path).or_cannot("replace", path);
    link.keep = renamed.is_ok();
    renamed
}

/// How long to wait for another write to the old file after the most recent write.
const QUIET: Duration = Duration::from_millis(50);
/// How long to wait in total for processes that still have the old file open.
const DRAIN: Duration = Duration::from_secs(1);
/// The interval between two checks of the old file. The interval is short because other processes
/// are waiting, or are already writing to the new file, where their lines should follow the late
/// lines from the old file.
const POLL: Duration = Duration::from_micros(100);
/// How long to wait for a process that has looked up the old file by name but has not yet opened
/// it. Opening a file takes far less time, even on a busy machine, so once this time has passed,
/// the kernel knows about every such process.
const OPENING: Duration = Duration::from_millis(20);
/// A session that has not changed for this many seconds is assumed to have no writers.
const AT_WORK: i64 = 10;

/// Copies bytes that are appended to the old file into the new file, and counts them.
struct CarryOver<'a> {
    live: &'a SessionFile,
    before: &'a Snapshot,
    /// The most recently seen modification time of the old file, in seconds and nanoseconds.
    modified: (i64, i64),
    /// The offset of the last line, if that line was unfinished when the snapshot was taken.
    line: u64,
    /// How many bytes at the start of the old file are in the snapshot or have been carried over.
    covered: u64,
    /// The fingerprint of the bytes that were carried over, which are not in the snapshot.
    carried: Xxh3,
    /// The number of bytes carried over.
    late: u64,
}

impl<'a> CarryOver<'a> {
    fn since(live: &'a SessionFile, before: &'a Snapshot) -> Self {
        Self {
            live,
            before,
            modified: (live.meta.mtime(), live.meta.mtime_nsec()),
            line: before.meta.bytes - before.meta.tail_bytes,
            covered: before.meta.bytes,
            carried: fingerprint(),
            late: 0,
        }
    }

    /// Carries over what was appended since the snapshot was taken, until the file stops growing.
    /// Fails if the file has grown and `may_grow` is not set. If a lease is returned, no other
    /// process can write to the file until the lease is dropped.
    fn catch_up(&mut self, new: &TempFile, may_grow: bool) -> Result<Option<Lease<'a>>> {
        let live = self.live;
        for round in 0..ROUNDS {
            let alone = live.keep_writers_out()?;
            let now = live.metadata_now()?;
            let modified = (now.mtime(), now.mtime_nsec());
            if now.len() == self.covered && modified == self.modified {
                return Ok(alone);
            }
            drop(alone);
            if (!may_grow && now.len() != self.covered) || !self.are_all()? {
                return Err(StoreError::Changed(live.path.clone()));
            }
            self.modified = modified;
            self.carry(now.len(), &new.file)?;
            // Skip the sync in later attempts, because a busy agent would append more lines during
            // each sync if the disk is slow. Skipping the sync is safe because the old file, which
            // contains the appended bytes, is removed only after the new file has been synced.
            if round < SYNCED_ROUNDS {
                new.file.sync_all().or_cannot("sync", new.path())?;
            }
        }
        Err(StoreError::Busy(format!("{} keeps growing", live.path.display())))
    }

    /// Whether the old file still begins with the bytes in the snapshot, followed by those that
    /// were carried over.
    fn are_all(&self) -> Result<bool> {
        let path = &self.live.path;
        let before = self.before;
        let mut old = &self.live.file;
        old.rewind().or_cannot("read", path)?;
        let of = |bytes| fingerprint_of(&mut old.take(bytes)).or_cannot("read", path);
        let saved = of(before.meta.bytes)?;
        let since = of(self.covered - before.meta.bytes)?;
        Ok(saved == before.fingerprint && since == self.carried.digest128())
    }

    /// Appends to `out` the bytes before offset `to` in the old file that have not been carried
    /// over yet.
    fn carry(&mut self, to: u64, mut out: &File) -> Result<()> {
        let path = &self.live.path;
        if to <= self.covered {
            return Ok(());
        }
        let (mut begin, mut from) = (&b""[..], self.covered);
        if self.late == 0 && !self.goes_on(out).or_cannot("read", path)? {
            if !ends_line(out).or_cannot("read", path)? {
                begin = b"\n";
            }
            // If a line was unfinished when the snapshot was taken, copy it from its start.
            from = self.line;
        }
        let bytes = self.read_old(from, to)?;
        let known = usize::try_from(self.covered - from).unwrap_or(usize::MAX);
        self.carried.update(bytes.get(known..).unwrap_or_default());
        // Use a single write, so that it does not split a line that an agent is appending at this
        // moment.
        out.write_all(&[begin, &bytes].concat()).or_cannot("write", path)?;
        self.late += to - from;
        self.covered = to;
        Ok(())
    }

    /// Whether the new content ends with the line that was unfinished when the snapshot was taken.
    /// If the line is already there, only the rest of it must be carried over.
    fn goes_on(&self, out: &File) -> io::Result<bool> {
        let length = usize::try_from(self.covered - self.line).map_err(io::Error::other)?;
        let Some(at) = out.metadata()?.len().checked_sub(length as u64) else { return Ok(false) };
        if length == 0 || !begins_line(out, at)? {
            return Ok(false);
        }
        let (mut old, mut new) = (vec![0; length], vec![0; length]);
        self.live.file.read_exact_at(&mut old, self.line)?;
        out.read_exact_at(&mut new, at)?;
        Ok(old == new)
    }

    /// Carries over what other processes write to the old file after the exchange, through handles
    /// that are still open. Returns true if, according to the kernel, no such handle is left.
    fn drain(&mut self, out: &File) -> Result<bool> {
        let path = &self.live.path;
        // The new file is live now, and other processes append to it as well.
        rustix::fs::fcntl_setfl(out, rustix::fs::OFlags::APPEND).or_cannot("append to", path)?;
        let begun = Instant::now();
        let mut moved = begun;
        loop {
            let is_free = has_no_writer(&self.live.file);
            let length = self.metadata()?.len();
            let end = if is_free == Some(true) {
                length
            } else {
                // Leave out an unfinished line until the rest of it arrives. If the unfinished part
                // were copied now, another process's line could end up right after it.
                self.last_line_end(length)?
            };
            if end > self.covered {
                self.carry(end, out)?;
                moved = Instant::now();
            } else if is_free == Some(true) {
                return Ok(true);
            }
            if moved.elapsed() > QUIET || begun.elapsed() > DRAIN {
                if !matches!(Writers::of(&self.live.file), Writers::Some(_)) {
                    self.carry(length, out)?;
                }
                return Ok(false);
            }
            std::thread::sleep(POLL);
        }
    }

    /// Returns the offset where the last complete line before `to` ends. If there is none, returns
    /// the end of the bytes that were already carried over.
    fn last_line_end(&self, to: u64) -> Result<u64> {
        let end = memchr::memrchr(b'\n', &self.read_old(self.covered, to)?).map_or(0, |at| at + 1);
        Ok(self.covered + end as u64)
    }

    fn read_old(&self, from: u64, to: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut old = &self.live.file;
        let found = old.seek(SeekFrom::Start(from));
        let read = found.and_then(|_| old.take(to.saturating_sub(from)).read_to_end(&mut bytes));
        read.or_cannot("read", &self.live.path)?;
        Ok(bytes)
    }

    /// Checks for the last time whether all bytes in the old file are saved and no process can
    /// write to it any more. If late bytes arrive now, they are carried over, but the old file must
    /// stay, because readers of the new file may have missed those bytes.
    fn are_over(&mut self, out: &File, exchanged: Instant) -> Result<bool> {
        let path = &self.live.path;
        let old = self.metadata()?;
        // The exchange was the last change to the inode, so the inode's change time can serve as
        // the current time.
        if old.ctime() - old.mtime() < AT_WORK {
            std::thread::sleep(OPENING.saturating_sub(exchanged.elapsed()));
        }
        let late = self.late;
        let is_quiet = self.drain(out)?;
        if self.late > late {
            out.sync_all().or_cannot("sync", path)?;
            return Ok(false);
        }
        let seen = self.metadata()?;
        let are_all = is_quiet && self.are_all()?;
        #[cfg(test)]
        crate::tests::moments::moment();
        let is_free = are_all && has_no_writer(&self.live.file) == Some(true);
        Ok(is_free && is_unchanged(&self.metadata()?, &seen))
    }

    fn metadata(&self) -> Result<Metadata> {
        self.live.file.metadata().or_cannot("read", &self.live.path)
    }
}

#[cfg(test)]
mod exchange_tests {
    use super::exchange_with_live;
    use crate::StoreError;
    use crate::fs::atomic::TempFile;
    use crate::replace::session_file::SessionFile;
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;

    #[test]
    fn a_file_that_came_in_between_is_put_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "old").expect("writes");
        for came in [true, false] {
            let live = SessionFile::open(&path).expect("opens");
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
            let done = exchange_with_live(&mut temp.name, &aside, &live, &mut others);
            assert_eq!(others.len(), usize::from(came));
            assert_eq!(matches!(done, Err(StoreError::Changed(_))), came, "{done:?}");
            let found = fs::read_to_string(&path).expect("reads");
            assert_eq!(found, if came { "others" } else { "new" });
            // The file `aside` is either our own file, which has not been checked yet, or the old
            // file.
            let aside = fs::read_to_string(dir.path().join("aside")).expect("reads");
            assert_eq!(aside, if came { "new" } else { "others" });
            assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 2);
            fs::remove_file(dir.path().join("aside")).expect("removed");
        }
    }
}
