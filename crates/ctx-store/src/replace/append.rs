//! Appends lines to a session file. The existing bytes stay in place, and the file keeps its name
//! and inode, so a running agent keeps writing to the right file.
//!
//! Lines are added in these steps. Claim the file, as for a replacement. Take a snapshot, whose
//! commit record describes the future content. Record the lines in the store, so that the file can
//! be repaired if the run is killed. Append the lines in a single write, if the file is still
//! exactly as it was read. If the write is incomplete, this run or the next one removes the bytes
//! that were written.
//!
//! If the kernel grants a lease on the file, no process can open the file between the check and the
//! write. Without a lease, an agent may write between the check and the write. If the agent's line
//! comes after ours, it does no harm. If it comes before ours, the check after the write reports
//! it.
//!
//! If a run is killed, the next run on the same file finds the record in `appending/`, and compares
//! the file with the record and the snapshot. If the file consists of the old bytes, with or
//! without all of our lines, nothing needs to be done. If only some of our bytes follow the old
//! bytes, our bytes are cut off. An agent may have written lines after our incomplete line, with no
//! newline in between. The next run then takes a snapshot of the file, and replaces the file with a
//! copy that omits our bytes. A file with any other content has been rewritten by another program,
//! and is left alone.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, Result, Severity, StoreError};
use crate::fs::{
    careful, file_names, hash, hex, is_unchanged, open_patiently, open_plain, remove_file,
};
use crate::os::Lease;
use crate::{
    Facts, Figures, FileHash, NewContent, ReplaceOutcome, Replacement, SessionFile, SessionId,
    SessionLock, Snapshot, SnapshotId, SnapshotKind, Store,
};

/// Lines to append to a session file.
pub struct Addition<'a> {
    /// The lines to append. The last line may lack its newline.
    pub lines: &'a [u8],
    /// The name of the operation in the audit log, such as `compact`.
    pub operation: &'static str,
    /// The kind of snapshot to take before the change.
    pub kind: SnapshotKind,
    /// The measured effects of the change, for the audit log.
    pub figures: Figures,
}

impl Replacement<'_> {
    /// Takes a snapshot of the file and appends the lines, if the file is still exactly as it was
    /// read. If the lines cannot be appended, the snapshot is deleted again. For `first`, see
    /// [`Replacement::commit_after`].
    pub fn append_after<E>(
        mut self,
        addition: Addition<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>> {
        if addition.lines.is_empty() {
            return Ok(first().map(|()| ReplaceOutcome::Same));
        }
        let bytes = self.behind(addition.lines);
        let mut hasher = self.draft.measured.hasher.clone();
        hasher.update(&bytes);
        self.draft.replaced_by = Some(FileHash {
            bytes: self.draft.measured.bytes + bytes.len() as u64,
            sha256: hex(hasher.finish()),
        });
        self.draft.stays_in_place = true;
        let Self { store, session, lock: _lock, live, draft, .. } = self;
        store.change(&session, &live.path.clone(), (draft, addition.kind), first, |before| {
            let mut facts = Facts {
                bytes: before.meta.replaced_by.as_ref().map(|new| new.bytes),
                added_bytes: Some(bytes.len() as u64),
                ..before.facts_of_change()
            };
            let note = store.note_addition(before, &live, &bytes)?;
            let write = || {
                let operation = store.begin(addition.operation, &facts)?;
                #[cfg(test)]
                crate::tests::moments::moment();
                live.into_tail()?.append(&bytes)?;
                #[cfg(test)]
                crate::tests::moments::moment();
                facts.figures = addition.figures;
                store.done(&operation, &facts)
            };
            let written = write();
            // If the file's state is uncertain, keep the record, so that the next run checks the
            // file.
            if !matches!(&written, Err(error) if error.severity() == Severity::Uncertain) {
                Store::remove_note(&note);
            }
            written.map(|()| (0, None))
        })
    }

    /// Returns the bytes to append: `lines`, with a newline after the last one. If the file's last
    /// line is unfinished, the bytes begin with a newline.
    fn behind(&self, lines: &[u8]) -> Vec<u8> {
        let line_end_if = |is_missing: bool| -> &[u8] { if is_missing { b"\n" } else { b"" } };
        let is_unfinished = self.draft.measured.tail > 0;
        [line_end_if(is_unfinished), lines, line_end_if(!lines.ends_with(b"\n"))].concat()
    }
}

const OTHER_CONTENT: &str =
    "does not end with the new lines: another process has overwritten them, or the disk is faulty";

const NOT_ALONE: &str = "another process wrote to the file while the lines were being appended";

/// Functions that change the end of a session file, by appending lines or cutting them off.
impl SessionFile {
    /// Reopens the file in order to change its end. Refuses a file that another process has open
    /// for writing.
    pub(crate) fn into_tail(self) -> Result<Self> {
        drop(self.keep_writers_out()?);
        let Self { file, path, meta } = self;
        // The kernel counts every open handle to the file. To get a lease that excludes all other
        // handles, we must close our handle for reading. Close the handle before opening the file
        // again, because the open would wait for our earlier lease if that lease could not be
        // released.
        drop(file);
        let file = open_patiently(careful().append(true), &path).or_cannot("append to", &path)?;
        let tail = Self { file, path, meta };
        tail.lock()?;
        Ok(tail)
    }

    /// Appends the bytes, but only if the file is still exactly as it was read.
    pub(crate) fn append(self, bytes: &[u8]) -> Result<()> {
        let Self { file, path, meta } = &self;
        let alone = Lease::on_everyone(file);
        self.refuse_change()?;
        self.write(bytes)?;
        // Release the lease before the sync, so that other writers do not wait for the disk.
        drop(alone);
        let finish = || {
            #[cfg(test)]
            crate::tests::moments::moment();
            file.sync_all().or_cannot("sync", path)?;
            let mut found = vec![0; bytes.len()];
            if file.read_exact_at(&mut found, meta.len()).is_ok() && found == bytes {
                return Ok(());
            }
            Err(StoreError::refused(path, OTHER_CONTENT))
        };
        let what = || format!("the addition to {}", path.display());
        finish().map_err(|error: StoreError| error.after(what()))
    }

    /// Truncates the file to `length` bytes and restores its modification time, but only if the
    /// file has not changed since it was opened.
    fn cut(self, length: u64, modified: Option<SystemTime>) -> Result<()> {
        let alone = Lease::on_everyone(&self.file);
        self.refuse_change()?;
        self.cut_to(length, modified).or_cannot("cut", &self.path)?;
        drop(alone);
        self.file.sync_all().or_cannot("sync", &self.path)
    }

    fn cut_to(&self, length: u64, modified: Option<SystemTime>) -> io::Result<()> {
        while let Err(error) = self.file.set_len(length) {
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // Restore the modification time, because the next run would otherwise take this change for
        // an agent's.
        let _ = modified.map(|at| self.file.set_modified(at));
        Ok(())
    }

    fn refuse_change(&self) -> Result<()> {
        if is_unchanged(&self.metadata_now()?, &self.meta) {
            return Ok(());
        }
        Err(StoreError::Changed(self.path.clone()))
    }

    /// Writes all bytes, in a single call if the system accepts that many at once. If only some of
    /// the bytes can be written, truncates the file to its old length, unless another process has
    /// also written to it.
    fn write(&self, bytes: &[u8]) -> Result<()> {
        let Self { path, meta, .. } = self;
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
        let is_cut_back =
            || self.ends_at(written) && self.cut_to(meta.len(), meta.modified().ok()).is_ok();
        if written == 0 || is_cut_back() {
            return Err(failed).or_not_written(path);
        }
        let what = format!("part of the addition to {}", path.display());
        let error = Err(failed).or_cannot("write", path);
        error.map_err(|error: StoreError| error.after(what))
    }

    /// Writes the next bytes of the addition. Fails if another process has written to the file
    /// since an earlier, incomplete write.
    fn write_some(&self, bytes: &[u8], written: usize) -> io::Result<usize> {
        #[cfg(test)]
        let bytes = crate::tests::moments::part(bytes)?;
        if written > 0 && !self.ends_at(written) {
            return Err(io::Error::other(NOT_ALONE));
        }
        (&self.file).write(bytes)
    }

    /// Whether the file ends right after the first `written` bytes of the addition.
    fn ends_at(&self, written: usize) -> bool {
        self.file.metadata().is_ok_and(|now| now.len() == self.meta.len() + written as u64)
    }
}

/// The first line of a note about an addition. A note is a file in `appending/` that records an
/// addition: it contains this line, followed by the bytes to append.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The id of the snapshot that was taken before the addition.
    snapshot: String,
    /// The session file's modification time before the addition, as the time since the start of
    /// 1970.
    modified: Option<Duration>,
}

/// The maximum length of a note's first line, in bytes.
const LONGEST_HEAD: u64 = 1024;

/// How far to search, in bytes, for the end of the line that follows our incomplete addition.
const LONGEST_LINE: u64 = 64 << 20;

/// What an interrupted addition left in the session file, after the old bytes.
enum AppendState {
    /// Nothing needs to be removed.
    Nothing,
    /// An incomplete addition is at the end of the file.
    Part {
        /// The length of the file before the addition.
        old: u64,
        /// The modification time of the file before the addition.
        modified: Option<SystemTime>,
    },
    /// An incomplete addition is in this byte range, and another process's bytes follow it.
    PartAndMore(Range<u64>),
}

impl Store {
    fn additions(&self) -> PathBuf {
        self.root.join("appending")
    }

    /// Returns the path of the note for a session file. The note is named after the file's path,
    /// because two files of the same session need separate notes.
    fn note_of(&self, live: &SessionFile) -> Result<PathBuf> {
        Ok(self.additions().join(SessionId::of_path(&live.path)?.as_str()))
    }

    /// Writes a note about an addition to the disk, before its lines are appended. Returns the path
    /// of the note.
    pub(crate) fn note_addition(
        &self,
        before: &Snapshot,
        live: &SessionFile,
        bytes: &[u8],
    ) -> Result<PathBuf> {
        let path = self.note_of(live)?;
        let modified = live.meta.modified().ok();
        let modified = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let head = Head { snapshot: before.id.to_string(), modified };
        let mut note = serde_json::to_vec(&head).or_cannot("write", &path)?;
        note.push(b'\n');
        note.extend_from_slice(bytes);
        self.write_file(&path, &note).map_err(StoreError::before)?;
        Ok(path)
    }

    /// Finds out what an earlier run's interrupted addition left in the file.
    fn find(&self, live: &SessionFile, head: &Head, bytes: &[u8]) -> Result<AppendState> {
        let id = SnapshotId::parse(&head.snapshot);
        let before = id.and_then(|id| self.read_meta(&id).ok());
        let Some(before) = before.filter(|before| before.is_of(&live.path)) else {
            return Ok(AppendState::Nothing);
        };
        let path = &live.path;
        let (old, now) = (before.bytes, live.meta.len());
        let file = &live.file;
        if now <= old || hash(&mut file.take(old)).or_cannot("read", path)? != before.sha256 {
            return Ok(AppendState::Nothing);
        }
        let mut rest = Vec::new();
        let mut behind = file.take((now - old).min(bytes.len() as u64));
        behind.read_to_end(&mut rest).or_cannot("read", path)?;
        let same = rest.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        if same == bytes.len() {
            return Ok(AppendState::Nothing);
        }
        if same as u64 == now - old {
            let modified = head.modified.and_then(|since| UNIX_EPOCH.checked_add(since));
            return Ok(AppendState::Part { old, modified });
        }
        let end = end_of_ours(live, old, &bytes[..same])?;
        Ok(end.map_or(AppendState::Nothing, |end| AppendState::PartAndMore(old..end)))
    }

    pub(crate) fn remove_note(note: &Path) {
        // A note that cannot be removed does no harm, because the next run will see that nothing
        // needs to be repaired.
        let _ = remove_file(note);
    }

    /// Removes the notes for a session that is being deleted from the store.
    pub(crate) fn remove_notes(&self, session: &SessionId) {
        for name in file_names(&self.additions()).unwrap_or_default() {
            let path = self.additions().join(name);
            let head = open_plain(&path).ok().and_then(read);
            let id = head.and_then(|(head, _)| SnapshotId::parse(&head.snapshot));
            if id.is_none_or(|id| id.session == *session) {
                Self::remove_note(&path);
            }
        }
    }

    /// Removes an incomplete addition that a killed run may have left in the file. The caller must
    /// have locked the session and the file. Returns `None` if the file was changed; the caller
    /// must then open it again.
    pub(crate) fn repair_addition(
        &self,
        session: &SessionId,
        lock: SessionLock,
        live: SessionFile,
    ) -> Result<Option<(SessionLock, SessionFile)>> {
        let path = self.note_of(&live)?;
        let Ok(note) = open_plain(&path) else { return Ok(Some((lock, live))) };
        let found = match read(note) {
            Some((head, bytes)) => self.find(&live, &head, &bytes)?,
            None => AppendState::Nothing,
        };
        // Rewind the handle, because the caller will copy the file from the start.
        (&live.file).rewind().or_cannot("read", &live.path)?;
        match found {
            AppendState::Nothing => {
                Self::remove_note(&path);
                return Ok(Some((lock, live)));
            }
            AppendState::Part { old, modified } => {
                let facts = Facts { bytes: Some(old), ..Facts::of(session) };
                let operation = self.begin(OPERATION, &facts)?;
                live.into_tail()?.cut(old, modified)?;
                self.done(&operation, &facts)?;
            }
            AppendState::PartAndMore(part) => {
                let draft = live.draft(self)?;
                let (store, session) = (self, session.clone());
                let replacement = Replacement { store, session, lock, live, draft, may_grow: true };
                replace_without(replacement, part)?;
            }
        }
        Self::remove_note(&path);
        Ok(None)
    }
}

fn read(note: File) -> Option<(Head, Vec<u8>)> {
    let mut note = BufReader::new(note);
    let mut head = Vec::new();
    (&mut note).take(LONGEST_HEAD).read_until(b'\n', &mut head).ok()?;
    let head = serde_json::from_slice(&head).ok()?;
    let mut bytes = Vec::new();
    note.read_to_end(&mut bytes).ok()?;
    Some((head, bytes))
}

/// Finds where our incomplete addition ends and an agent's line begins, if there is no newline in
/// between. Our bytes start at offset `old`. Comparing bytes is not enough, because the agent's
/// line may happen to begin with the same bytes that we would have written next. Our bytes end
/// where a complete JSON object begins. Returns `None` if none of our bytes are in the file, or if
/// it is unclear where they end.
fn end_of_ours(live: &SessionFile, old: u64, same: &[u8]) -> Result<Option<u64>> {
    let path = &live.path;
    let mut file = &live.file;
    let mut glued = Vec::new();
    let behind = file.seek(SeekFrom::Start(old + same.len() as u64));
    let mut rest = BufReader::new(file.take(LONGEST_LINE));
    let read = behind.and_then(|_| rest.read_until(b'\n', &mut glued));
    read.or_cannot("read", path)?;
    for end in (0..=same.len()).rev() {
        let head = &same[end..];
        if head.first().or(glued.first()) != Some(&b'{') {
            continue;
        }
        if serde_json::from_reader::<_, IgnoredAny>(head.chain(&glued[..])).is_ok() {
            return Ok((end > 0).then_some(old + end as u64));
        }
    }
    Ok(None)
}

/// The name of the operation in the audit log.
const OPERATION: &str = "repair-addition";

/// Replaces the file with a copy that omits our incomplete addition but contains the lines that an
/// agent wrote after it.
fn replace_without(replacement: Replacement<'_>, part: Range<u64>) -> Result<()> {
    let path = replacement.live.path.clone();
    let copy = replacement.draft.temp.path().to_owned();
    let rest = || -> io::Result<_> {
        let (before, mut behind) = (open_plain(&copy)?, open_plain(&copy)?);
        behind.seek(SeekFrom::Start(part.end))?;
        Ok(before.take(part.start).chain(behind))
    };
    let sha256 = rest().and_then(|mut rest| hash(&mut rest)).or_cannot("read", &path)?;
    let mut new = NewContent {
        reader: &mut rest().or_cannot("read", &path)?,
        sha256: &sha256,
        operation: OPERATION,
        kind: SnapshotKind::PreCompact,
        figures: Figures::default(),
    };
    replacement.commit(&mut new).map(drop)
}

#[cfg(test)]
mod note_tests {
    use std::time::Duration;

    use super::Head;

    /// Notes from older versions of the tools, which contain the seconds and nanoseconds as a list,
    /// can still be read.
    #[test]
    fn notes_of_older_versions_are_read() {
        let note = br#"{"snapshot":"x","modified":[7,8]}"#;
        let head: Head = serde_json::from_slice(note).expect("a note");
        assert_eq!(head.modified, Some(Duration::new(7, 8)));
        let now = serde_json::to_vec(&head).expect("JSON");
        let head: Head = serde_json::from_slice(&now).expect("a note");
        assert_eq!(head.modified, Some(Duration::new(7, 8)));
    }
}
