//! Carries over what other processes append to a session file while it is being replaced.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use crate::error::{OrCannot, StoreError};
use crate::fs::{Fingerprint, begins_line, ends_line, is_unchanged};
use crate::os::{self, Writers, has_no_writer};
use crate::replace::session_file::SessionFile;
use crate::snapshot::draft::Snapshot;

/// A process that still has the old file open is waited for until it has written nothing
/// for this long…
const QUIET: Duration = Duration::from_millis(50);
/// …but never longer than this.
const DRAIN: Duration = Duration::from_secs(1);
/// The interval between two checks of the old file. It is short, because other processes are
/// waiting, or are writing lines to the new file that belong after those carried over.
const POLL: Duration = Duration::from_micros(100);
/// A process that found the old file by its name, and opens it only now, is seen after at most this
/// long: far more than a busy machine needs between the two.
const OPENING: Duration = Duration::from_millis(20);
/// A session that has not changed for so many seconds is not being written.
const AT_WORK: i64 = 10;

/// Carries over to the new file what is appended to the old one, and counts it.
pub(crate) struct CarryOver<'a> {
    live: &'a SessionFile,
    before: &'a Snapshot,
    /// The time of the old file's last change, in seconds and nanoseconds, as last seen.
    pub(crate) modified: (i64, i64),
    /// The offset of the line that was unfinished when the snapshot was taken.
    line: u64,
    /// The length of the part of the old file that is in the snapshot or carried over.
    pub(crate) covered: u64,
    /// The fingerprint of the carried bytes, which are not in the snapshot.
    carried: Fingerprint,
    /// Bytes carried over.
    pub(crate) late: u64,
}

impl<'a> CarryOver<'a> {
    pub(crate) fn since(live: &'a SessionFile, before: &'a Snapshot) -> Self {
        Self {
            live,
            before,
            modified: (live.meta.mtime(), live.meta.mtime_nsec()),
            line: before.meta.bytes - before.meta.tail_bytes,
            covered: before.meta.bytes,
            carried: Fingerprint::new(),
            late: 0,
        }
    }

    /// Whether the old file holds what is in the snapshot or was carried over, and only has more.
    pub(crate) fn are_all(&self) -> Result<bool, StoreError> {
        let path = &self.live.path;
        let before = self.before;
        let mut old = &self.live.file;
        old.rewind().or_cannot("read", path)?;
        let of = |bytes| Fingerprint::of(&mut old.take(bytes)).or_cannot("read", path);
        let saved = of(before.meta.bytes)?;
        let since = of(self.covered - before.meta.bytes)?;
        Ok(saved == before.fingerprint && since == self.carried.value())
    }

    /// Appends to `out` what the old file holds from there up to `to`.
    pub(crate) fn carry(&mut self, to: u64, mut out: &File) -> Result<(), StoreError> {
        let path = &self.live.path;
        if to <= self.covered {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let from = if self.late > 0 || self.goes_on(out).or_cannot("read", path)? {
            self.covered
        } else {
            if !ends_line(out).or_cannot("read", path)? {
                bytes.push(b'\n');
            }
            // A line that was unfinished when the snapshot was taken is copied from its start.
            self.line
        };
        let start = bytes.len();
        let mut old = &self.live.file;
        old.seek(SeekFrom::Start(from)).or_cannot("read", path)?;
        old.take(to - from).read_to_end(&mut bytes).or_cannot("read", path)?;
        let known = usize::try_from(self.covered - from).unwrap_or(usize::MAX);
        let read = bytes.get(start.saturating_add(known)..);
        self.carried.update(read.unwrap_or_default());
        // One write, so that a line which an agent appends at this moment stays whole.
        out.write_all(&bytes).or_cannot("write", path)?;
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

    /// After the exchange: carries over what is written through older handles. True once the kernel
    /// reports that there are none.
    pub(crate) fn drain(&mut self, out: &File) -> Result<bool, StoreError> {
        let path = &self.live.path;
        // The file is live now: others append to it as well.
        let appending = rustix::fs::fcntl_setfl(out, rustix::fs::OFlags::APPEND);
        appending.or_cannot("append to", path)?;
        let begun = Instant::now();
        let mut moved = begun;
        loop {
            let is_free = has_no_writer(&self.live.file);
            let length = self.metadata()?.len();
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
                let somebody = matches!(Writers::of(&self.live.file), Writers::Some(_));
                if !somebody {
                    self.carry(length, out)?;
                }
                return Ok(false);
            }
            std::thread::sleep(POLL);
        }
    }

    /// Where the last line ends before `to`, among those that are not carried over.
    fn last_line_end(&self, to: u64) -> Result<u64, StoreError> {
        let mut old = &self.live.file;
        let mut bytes = Vec::new();
        let read = old.seek(SeekFrom::Start(self.covered)).and_then(|from| {
            let mut rest = old.take(to.saturating_sub(from));
            rest.read_to_end(&mut bytes)
        });
        read.or_cannot("read", &self.live.path)?;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        Ok(self.covered + end as u64)
    }

    /// At the end: whether all bytes of the old file are saved and no process can write to it. Late
    /// bytes are carried over, and then the old file stays, because readers of the new file may
    /// have missed them.
    pub(crate) fn are_over(&mut self, out: &File, exchanged: Instant) -> Result<bool, StoreError> {
        let path = &self.live.path;
        let old = self.metadata()?;
        // The exchange is the last change of the file's number, without a look at a clock.
        if old.ctime() - old.mtime() < AT_WORK {
            std::thread::sleep(OPENING.saturating_sub(exchanged.elapsed()));
        }
        let late = self.late;
        let is_quiet = self.drain(out)?;
        if self.late > late {
            os::sync(out).or_cannot("sync", path)?;
            return Ok(false);
        }
        let seen = self.metadata()?;
        let are_all = is_quiet && self.are_all()?;
        #[cfg(test)]
        crate::tests::moments::moment();
        let is_free = are_all && has_no_writer(&self.live.file) == Some(true);
        Ok(is_free && is_unchanged(&self.metadata()?, &seen))
    }

    fn metadata(&self) -> Result<Metadata, StoreError> {
        self.live.file.metadata().or_cannot("read", &self.live.path)
    }
}
