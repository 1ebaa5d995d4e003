//! What other processes append to a session file while it is being replaced.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::Snapshot;
use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::writers::{Writers, writers};

/// So long a silence of a process that still has the old file open is waited for…
const QUIET: Duration = Duration::from_millis(50);
/// …and so long at most.
const DRAIN: Duration = Duration::from_secs(1);

/// Counts what is carried over from the old file to the new one.
pub(crate) struct Arrivals<'a> {
    live: &'a Live,
    /// Where the line begins that was unfinished when the snapshot was taken.
    line: u64,
    /// Up to here the old file is in the snapshot or carried over.
    pub(crate) covered: u64,
    /// Bytes carried over.
    pub(crate) late: u64,
}

impl<'a> Arrivals<'a> {
    pub(crate) fn since(live: &'a Live, before: &Snapshot) -> Self {
        Self {
            live,
            line: before.meta.bytes - before.meta.tail_bytes,
            covered: before.meta.bytes,
            late: 0,
        }
    }

    /// Appends to `out` what the old file has up to `to`.
    pub(crate) fn carry(&mut self, to: u64, mut out: &File) -> Result<(), StoreError> {
        let path = &self.live.path;
        if to <= self.covered {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let from = if self.late == 0 {
            if !ends_line(out).naming("read", path)? {
                bytes.push(b'\n');
            }
            // A line that was being written when the snapshot was taken comes whole.
            self.line
        } else {
            self.covered
        };
        let mut old = &self.live.file;
        old.seek(SeekFrom::Start(from)).naming("read", path)?;
        old.take(to - from)
            .read_to_end(&mut bytes)
            .naming("read", path)?;
        // One write: an agent that appends to the new file at this moment is not torn.
        out.write_all(&bytes).naming("write", path)?;
        out.sync_all().naming("sync", path)?;
        self.late += to - from;
        self.covered = to;
        Ok(())
    }

    /// After the rename: carries over what comes through a handle that was opened
    /// before it. True when the kernel says that no more can come.
    pub(crate) fn drain(&mut self, out: &File) -> Result<bool, StoreError> {
        let path = &self.live.path;
        // The file is live now: others append to it as well.
        rustix::fs::fcntl_setfl(out, rustix::fs::OFlags::APPEND)
            .map_err(io::Error::from)
            .naming("append to", path)?;
        let begun = Instant::now();
        let mut moved = begun;
        loop {
            let answer = writers(&self.live.file);
            let length = self.live.file.metadata().naming("read", path)?.len();
            if length > self.covered {
                self.carry(length, out)?;
                moved = Instant::now();
            } else if answer == Writers::Nobody {
                return Ok(true);
            }
            if moved.elapsed() > QUIET || begun.elapsed() > DRAIN {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a file is empty or ends with a line end.
fn ends_line(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}
