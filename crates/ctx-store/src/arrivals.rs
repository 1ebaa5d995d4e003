//! What other processes append to a session file while it is being replaced.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::Snapshot;
use crate::error::{Naming, StoreError};
use crate::files::{begins_line, ends_line};
use crate::lease;
use crate::live::Live;
use crate::writers::{Writers, writers};
use crate::{hash, hex};

/// A process that still has the old file open is waited for until it has written nothing
/// for this long…
const QUIET: Duration = Duration::from_millis(50);
/// …but never longer than this.
const DRAIN: Duration = Duration::from_secs(1);
/// The time between two looks at the old file. It is short, because others wait meanwhile, or
/// write to the new file what has to stand behind what is carried over.
const POLL: Duration = Duration::from_micros(100);
/// Who has found the old file by its name, and has it open only now, is seen after this long
/// at the latest: it is far more than a busy machine takes from the one to the other.
const OPENING: Duration = Duration::from_millis(20);
/// A session that has not changed for so many seconds is not being written.
const AT_WORK: i64 = 10;

/// Carries over to the new file what is appended to the old one, and counts it.
pub(crate) struct Arrivals<'a> {
    live: &'a Live,
    before: &'a Snapshot,
    /// The time of the old file's last change, in seconds and nanoseconds, as last seen.
    pub(crate) modified: (i64, i64),
    /// The offset of the line that was unfinished when the snapshot was taken.
    line: u64,
    /// The length of the part of the old file that is in the snapshot or carried over.
    pub(crate) covered: u64,
    /// The hash of those of it that are not in the snapshot.
    carried: Sha256,
    /// Bytes carried over.
    pub(crate) late: u64,
}

impl<'a> Arrivals<'a> {
    pub(crate) fn since(live: &'a Live, before: &'a Snapshot) -> Self {
        Self {
            live,
            before,
            modified: (live.meta.mtime(), live.meta.mtime_nsec()),
            line: before.meta.bytes - before.meta.tail_bytes,
            covered: before.meta.bytes,
            carried: Sha256::new(),
            late: 0,
        }
    }

    /// Whether the old file holds what is in the snapshot or was carried over, and only has more.
    pub(crate) fn are_all(&self) -> Result<bool, StoreError> {
        let path = &self.live.path;
        let before = &self.before.meta;
        let mut old = &self.live.file;
        old.rewind().naming("read", path)?;
        let saved = hash(&mut old.take(before.bytes)).naming("read", path)?;
        let since = hash(&mut old.take(self.covered - before.bytes)).naming("read", path)?;
        Ok(saved == before.sha256 && since == hex(&self.carried.clone().finalize()))
    }

    /// Appends to `out` what the old file holds from there up to `to`.
    pub(crate) fn carry(&mut self, to: u64, mut out: &File) -> Result<(), StoreError> {
        let path = &self.live.path;
        if to <= self.covered {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let from = if self.late > 0 || self.goes_on(out).naming("read", path)? {
            self.covered
        } else {
            if !ends_line(out).naming("read", path)? {
                bytes.push(b'\n');
            }
            // A line that was unfinished when the snapshot was taken is copied from its start.
            self.line
        };
        let start = bytes.len();
        let mut old = &self.live.file;
        old.seek(SeekFrom::Start(from)).naming("read", path)?;
        old.take(to - from)
            .read_to_end(&mut bytes)
            .naming("read", path)?;
        let known = usize::try_from(self.covered - from).unwrap_or(usize::MAX);
        let read = bytes.get(start.saturating_add(known)..);
        self.carried.update(read.unwrap_or_default());
        // In one write, so that a line which an agent appends at this moment stays whole.
        out.write_all(&bytes).naming("write", path)?;
        self.late += to - from;
        self.covered = to;
        Ok(())
    }

    /// Whether the new content ends with the line that was unfinished when the snapshot
    /// was taken: then only the rest of that line has to follow.
    fn goes_on(&self, out: &File) -> io::Result<bool> {
        let length = usize::try_from(self.covered - self.line).map_err(io::Error::other)?;
        let Some(at) = out.metadata()?.len().checked_sub(length as u64) else {
            return Ok(false);
        };
        if length == 0 || !begins_line(out, at)? {
            return Ok(false);
        }
        let (mut old, mut new) = (vec![0; length], vec![0; length]);
        self.live.file.read_exact_at(&mut old, self.line)?;
        out.read_exact_at(&mut new, at)?;
        Ok(old == new)
    }

    /// After the exchange: carries over what is written through a handle that was opened
    /// before it. True when the kernel says that nobody has one.
    pub(crate) fn drain(&mut self, out: &File) -> Result<bool, StoreError> {
        let path = &self.live.path;
        // The file is live now: others append to it as well.
        let appending = rustix::fs::fcntl_setfl(out, rustix::fs::OFlags::APPEND);
        appending.naming("append to", path)?;
        let begun = Instant::now();
        let mut moved = begun;
        loop {
            let is_free = lease::is_free(&self.live.file);
            let length = self.live.file.metadata().naming("read", path)?.len();
            let end = if is_free == Some(true) {
                length
            } else {
                // Half a line stays with its writer: another one's would be glued to it.
                self.last_line_end(length)?
            };
            if end > self.covered {
                self.carry(end, out)?;
                moved = Instant::now();
            } else if is_free == Some(true) {
                return Ok(true);
            }
            if moved.elapsed() > QUIET || begun.elapsed() > DRAIN {
                let somebody = matches!(writers(&self.live.file), Writers::Somebody(_));
                if !somebody {
                    self.carry(length, out)?;
                }
                return Ok(false);
            }
            std::thread::sleep(POLL);
        }
    }

    /// Where the last line ends before `to`, of those that are not carried over.
    fn last_line_end(&self, to: u64) -> Result<u64, StoreError> {
        let mut old = &self.live.file;
        let mut bytes = Vec::new();
        let read = old.seek(SeekFrom::Start(self.covered)).and_then(|from| {
            let mut rest = old.take(to.saturating_sub(from));
            rest.read_to_end(&mut bytes)
        });
        read.naming("read", &self.live.path)?;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        Ok(self.covered + end as u64)
    }

    /// At the end: whether the old file holds nothing that is not saved, and nobody can write
    /// to it. What still comes is carried over, and the file stays: who reads the new one may
    /// have missed that.
    pub(crate) fn are_over(&mut self, out: &File, exchanged: Instant) -> Result<bool, StoreError> {
        let path = &self.live.path;
        let old = self.live.file.metadata().naming("read", path)?;
        // The exchange is the last change of the file's number, without a look at a clock.
        if old.ctime() - old.mtime() < AT_WORK {
            std::thread::sleep(OPENING.saturating_sub(exchanged.elapsed()));
        }
        let late = self.late;
        let is_quiet = self.drain(out)?;
        if self.late > late {
            out.sync_all().naming("sync", path)?;
            return Ok(false);
        }
        let seen = self.state()?;
        let are_all = is_quiet && self.are_all()?;
        #[cfg(test)]
        crate::moments::moment();
        Ok(are_all && lease::is_free(&self.live.file) == Some(true) && self.state()? == seen)
    }

    /// By which any change is seen.
    fn state(&self) -> Result<(u64, i64, i64), StoreError> {
        let now = self.live.file.metadata().naming("read", &self.live.path)?;
        Ok((now.len(), now.mtime(), now.mtime_nsec()))
    }
}
