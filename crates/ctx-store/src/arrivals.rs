//! What other processes append to a session file while it is being replaced.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use crate::Snapshot;
use crate::error::{Naming, StoreError};
use crate::files::{begins_line, ends_line};
use crate::hash;
use crate::live::Live;
use crate::writers::nobody_writes;

/// A process that still has the old file open is waited for until it has written nothing
/// for this long…
const QUIET: Duration = Duration::from_millis(50);
/// …but never longer than this.
const DRAIN: Duration = Duration::from_secs(1);
/// The time between two looks at the old file. It is short, because what the agent writes
/// next goes into the new file and has to stand behind what is carried over.
const POLL: Duration = Duration::from_micros(100);

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
            late: 0,
        }
    }

    /// Whether the old file has only grown since the snapshot.
    pub(crate) fn are_all(&self) -> Result<bool, StoreError> {
        let path = &self.live.path;
        let mut old = &self.live.file;
        old.rewind().naming("read", path)?;
        let found = hash(&mut old.take(self.before.meta.bytes)).naming("read", path)?;
        Ok(found == self.before.meta.sha256)
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
        let mut old = &self.live.file;
        old.seek(SeekFrom::Start(from)).naming("read", path)?;
        old.take(to - from)
            .read_to_end(&mut bytes)
            .naming("read", path)?;
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

    /// After the rename: carries over what is written through a handle that was opened
    /// before it. True when the kernel says that nobody can write any more, and the old file
    /// has only grown: a process that opened it just before the rename may have overwritten
    /// what was there.
    pub(crate) fn drain(&mut self, out: &File) -> Result<bool, StoreError> {
        let path = &self.live.path;
        // The file is live now: others append to it as well.
        let appending = rustix::fs::fcntl_setfl(out, rustix::fs::OFlags::APPEND);
        appending.naming("append to", path)?;
        let begun = Instant::now();
        let mut moved = begun;
        loop {
            let nobody = nobody_writes(&self.live.file);
            let now = self.live.file.metadata().naming("read", path)?;
            let length = now.len();
            if length > self.covered {
                self.carry(length, out)?;
                moved = Instant::now();
            } else if nobody {
                let touched = (now.mtime(), now.mtime_nsec()) != self.modified;
                return Ok(!touched || (length == self.covered && self.are_all()?));
            }
            if moved.elapsed() > QUIET || begun.elapsed() > DRAIN {
                return Ok(false);
            }
            std::thread::sleep(POLL);
        }
    }
}
