//! The end of a session file: lines are put behind it, or what a killed run has put there is cut
//! off.
//!
//! Where the kernel has leases and nobody has the file open, nobody can open it in between. Else
//! an agent may come in the microseconds between a look at the file and a call that changes it:
//! a line of its own then stands behind ours, as if it had come a little later.

use std::fs::File;
use std::fs::TryLockError;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use crate::error::{Naming, StoreError};
use crate::files::{careful, is_unchanged, open_patiently, try_lock};
use crate::lease::{self, Answer, Lease, Others};
use crate::live::Live;

const OTHER_CONTENT: &str = "does not end with what was written: another process has written it over, or the disk is at fault";

const NOT_ALONE: &str = "another process has written behind a part of it";

/// A session file that is open to be changed at its end.
pub(crate) struct Tail {
    live: Live,
}

impl Tail {
    /// Refuses a file that somebody else has open for writing.
    pub(crate) fn open(live: Live) -> Result<Self, StoreError> {
        drop(live.keep_writers_out()?);
        let Live { file, path, meta } = live;
        // The kernel counts all who have it open, so the handle for reading has to go. It goes first:
        // we would wait for our own lease on it, where that could not be given back.
        drop(file);
        let opened = open_patiently(careful().append(true), &path);
        let file = opened.naming("append to", &path)?;
        let live = Live { file, path, meta };
        if let Err(TryLockError::WouldBlock) = try_lock(&live.file) {
            let name = live.path.display();
            return Err(StoreError::Busy(format!(
                "{name} is locked by another process"
            )));
        }
        Ok(Self { live })
    }

    /// Puts bytes behind a file that is exactly as it was read. They are all there at the end, or
    /// none of them.
    pub(crate) fn append(self, bytes: &[u8]) -> Result<(), StoreError> {
        let Live { file, path, meta } = &self.live;
        let alone = alone(file);
        self.refuse_change()?;
        self.write(bytes)?;
        // Who waits to write does not wait for the disk.
        drop(alone);
        let finish = || {
            #[cfg(test)]
            crate::moments::moment();
            file.sync_all().naming("sync", path)?;
            let mut found = vec![0; bytes.len()];
            let read = file.read_exact_at(&mut found, meta.len());
            if read.is_ok() && found == bytes {
                return Ok(());
            }
            Err(StoreError::refused(path, OTHER_CONTENT))
        };
        let what = || format!("the addition to {}", path.display());
        finish().map_err(|error: StoreError| error.after(what()))
    }

    /// Cuts off what stands behind the first `length` bytes of a file that is exactly as it was
    /// seen; it was last changed at `modified` then.
    pub(crate) fn cut(self, length: u64, modified: Option<SystemTime>) -> Result<(), StoreError> {
        let alone = alone(&self.live.file);
        self.refuse_change()?;
        self.cut_to(length, modified)
            .naming("cut", &self.live.path)?;
        drop(alone);
        let synced = self.live.file.sync_all();
        synced.naming("sync", &self.live.path)
    }

    fn cut_to(&self, length: u64, modified: Option<SystemTime>) -> io::Result<()> {
        let file = &self.live.file;
        while let Err(error) = file.set_len(length) {
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // Else the next run would take this for the work of an agent.
        let _ = modified.map(|at| file.set_modified(at));
        Ok(())
    }

    fn refuse_change(&self) -> Result<(), StoreError> {
        if is_unchanged(&self.live.again()?, &self.live.meta) {
            return Ok(());
        }
        Err(StoreError::Changed(self.live.path.clone()))
    }

    /// One write, where the system does all of it; what comes of a part of it is cut back.
    fn write(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let Live { path, meta, .. } = &self.live;
        let mut written = 0;
        let failed = loop {
            if written == bytes.len() {
                return Ok(());
            }
            match self.write_some(&bytes[written..], written) {
                Ok(0) => break io::Error::from(ErrorKind::WriteZero),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break error,
            }
        };
        if written == 0 {
            return Err(failed).not_written(path);
        }
        let is_last = self.ends_at(written);
        if is_last && self.cut_to(meta.len(), meta.modified().ok()).is_ok() {
            return Err(failed).not_written(path);
        }
        let what = format!("a part of the addition to {}", path.display());
        let error = Err(failed).naming("write", path);
        error.map_err(|error: StoreError| error.after(what))
    }

    /// Nothing of ours may stand behind what another one has written since.
    fn write_some(&self, bytes: &[u8], written: usize) -> io::Result<usize> {
        let bytes = part(bytes)?;
        if written > 0 && !self.ends_at(written) {
            return Err(io::Error::other(NOT_ALONE));
        }
        let mut out: &File = &self.live.file;
        out.write(bytes)
    }

    /// Whether nobody has written behind so many bytes of ours.
    fn ends_at(&self, written: usize) -> bool {
        let expected = self.live.meta.len() + written as u64;
        let now = self.live.file.metadata();
        now.is_ok_and(|now| now.len() == expected)
    }
}

/// Keeps everybody from opening the file, where nobody has it open, and the kernel does that.
fn alone(file: &File) -> Option<Lease<'_>> {
    match lease::ask(file, Others::All) {
        Answer::Granted(lease) => Some(lease),
        Answer::InUse | Answer::Unknown => None,
    }
}

#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps)] // A test may let it fail.
fn part(wanted: &[u8]) -> io::Result<&[u8]> {
    Ok(wanted)
}

#[cfg(test)]
use crate::moments::part;
