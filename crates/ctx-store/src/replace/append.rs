//! Appends lines to a session file. The old lines stay in place, byte for byte, and agents find the
//! file under its name.
//!
//! The steps: claim the file as for a replacement; take a snapshot, which describes the new file;
//! record the lines in the store; append them in one write, if the file is exactly as it was read.
//! An incomplete write is cut back by this run or by the next one: see [`super::interrupted`].
//!
//! If the kernel has leases and no process has the file open, none can open it between the check
//! and the write. Otherwise an agent may write in these microseconds, and its line then follows
//! ours, as if it had come a little later.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use sha2::Digest;

use crate::audit::{Facts, Figures};
use crate::error::{OrCannot, Severity, StoreError};
use crate::fs::{careful, hex, is_unchanged, open_patiently};
use crate::os::{self, Lease};
use crate::replace::session_file::SessionFile;
use crate::replace::{ReplaceOutcome, Replacement, not_saved, save};
use crate::snapshot::draft::Snapshot;
use crate::snapshot::meta::{SnapshotKind, Successor};
use crate::store::Store;

/// Lines to append to a session file.
pub struct Addition<'a> {
    /// Whole lines.
    pub lines: &'a [u8],
    /// The name of the operation in the audit log: `compact`.
    pub operation: &'static str,
    /// The kind of the snapshot that is taken of what was there.
    pub kind: SnapshotKind,
    /// What the audit log records about the change.
    pub figures: Figures,
}

impl Replacement<'_> {
    /// Takes a snapshot of the file and then appends lines, if the file is exactly as it was read.
    /// If that fails, the snapshot is withdrawn. [`Replacement::commit_after`] explains `first`.
    pub fn append_after<E>(
        mut self,
        addition: Addition<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>, StoreError> {
        if addition.lines.is_empty() {
            return Ok(first().map(|()| ReplaceOutcome::Same));
        }
        let bytes = self.behind(addition.lines);
        let mut hasher = self.draft.measured.hasher.clone();
        hasher.update(&bytes);
        self.draft.replaced_by = Some(Successor {
            bytes: self.draft.measured.bytes + bytes.len() as u64,
            sha256: hex(&hasher.finalize()),
        });
        self.draft.stays_in_place = true;
        let Self { store, session, lock: _lock, live, draft, .. } = self;
        let saved = save(store, &session, draft, addition.kind);
        let before = saved.map_err(|error| not_saved(&live.path, error))?;
        if let Err(error) = first() {
            store.withdraw_failed(&before);
            return Ok(Err(error));
        }
        let done = add(store, &before, live, &bytes, addition);
        store.end(before, done.map(|()| (0, None))).map(Ok)
    }

    /// The lines as they are written: each one ends, and an unfinished line before them is ended
    /// first.
    fn behind(&self, lines: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(lines.len() + 2);
        if self.draft.measured.tail > 0 {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lines);
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes
    }
}

/// Writes the lines, between two records of the audit log.
fn add(
    store: &Store,
    before: &Snapshot,
    live: SessionFile,
    bytes: &[u8],
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    let new = before.meta.replaced_by.as_ref();
    let mut facts = Facts {
        snapshots: vec![before.id.to_string()],
        sha256_before: Some(before.meta.sha256.clone()),
        sha256: new.map(|new| new.sha256.clone()),
        bytes: new.map(|new| new.bytes),
        added_bytes: Some(bytes.len() as u64),
        ..Facts::of(&before.id.session)
    };
    let note = store.note_addition(before, &live, bytes)?;
    let written = || {
        let operation = store.begin(addition.operation, &facts)?;
        #[cfg(test)]
        crate::tests::moments::moment();
        Tail::open(live)?.append(bytes)?;
        #[cfg(test)]
        crate::tests::moments::moment();
        facts.figures = addition.figures;
        store.done(&operation, &facts)
    };
    let done = written();
    // If the content of the file is uncertain, the next run checks it.
    if !matches!(&done, Err(error) if error.severity() == Severity::Uncertain) {
        Store::remove_note(&note);
    }
    done
}

const OTHER_CONTENT: &str = "does not end with what was written: another process has written it over, or the disk is at fault";

const NOT_ALONE: &str = "another process has written after a part of it";

/// A session file that is open to be changed at its end.
pub(crate) struct Tail {
    live: SessionFile,
}

impl Tail {
    /// Refuses a file that another process has open for writing.
    pub(crate) fn open(live: SessionFile) -> Result<Self, StoreError> {
        drop(live.keep_writers_out()?);
        let SessionFile { file, path, meta } = live;
        // The kernel counts all who have it open, so the handle for reading has to go. It goes first:
        // we would wait for our own lease on it, where that could not be given back.
        drop(file);
        let opened = open_patiently(careful().append(true), &path);
        let file = opened.or_cannot("append to", &path)?;
        let live = SessionFile { file, path, meta };
        live.lock()?;
        Ok(Self { live })
    }

    /// Appends bytes to a file that is exactly as it was read: all of them or none.
    pub(crate) fn append(self, bytes: &[u8]) -> Result<(), StoreError> {
        let SessionFile { file, path, meta } = &self.live;
        let alone = Lease::on_everyone(file);
        self.refuse_change()?;
        self.write(bytes)?;
        // Waiting writers do not wait for the disk.
        drop(alone);
        let finish = || {
            #[cfg(test)]
            crate::tests::moments::moment();
            os::sync(file).or_cannot("sync", path)?;
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

    /// Truncates a file that is exactly as it was seen to `length` bytes, and restores its time of
    /// change.
    pub(crate) fn cut(self, length: u64, modified: Option<SystemTime>) -> Result<(), StoreError> {
        let alone = Lease::on_everyone(&self.live.file);
        self.refuse_change()?;
        self.cut_to(length, modified).or_cannot("cut", &self.live.path)?;
        drop(alone);
        let synced = os::sync(&self.live.file);
        synced.or_cannot("sync", &self.live.path)
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
        if is_unchanged(&self.live.metadata_now()?, &self.live.meta) {
            return Ok(());
        }
        Err(StoreError::Changed(self.live.path.clone()))
    }

    /// One write, where the system does all of it; what comes of a part of it is cut back.
    fn write(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let SessionFile { path, meta, .. } = &self.live;
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
            return Err(failed).or_not_written(path);
        }
        let is_last = self.ends_at(written);
        if is_last && self.cut_to(meta.len(), meta.modified().ok()).is_ok() {
            return Err(failed).or_not_written(path);
        }
        let what = format!("a part of the addition to {}", path.display());
        let error = Err(failed).or_cannot("write", path);
        error.map_err(|error: StoreError| error.after(what))
    }

    /// Our bytes must not follow anything that another process has written since.
    fn write_some(&self, bytes: &[u8], written: usize) -> io::Result<usize> {
        let bytes = part(bytes)?;
        if written > 0 && !self.ends_at(written) {
            return Err(io::Error::other(NOT_ALONE));
        }
        let mut out: &File = &self.live.file;
        out.write(bytes)
    }

    /// Whether the file ends after this many of our bytes.
    fn ends_at(&self, written: usize) -> bool {
        let expected = self.live.meta.len() + written as u64;
        let now = self.live.file.metadata();
        now.is_ok_and(|now| now.len() == expected)
    }
}

#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps)] // A test may let it fail.
fn part(wanted: &[u8]) -> io::Result<&[u8]> {
    Ok(wanted)
}

#[cfg(test)]
use crate::tests::moments::part;
