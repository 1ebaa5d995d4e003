//! Replaces a session file to which an agent may be writing. Neither the file's old content nor
//! anything appended during the replacement is lost.
//!
//! A file is replaced in these steps. Lock the session. Refuse a file that another process has open
//! for writing. Copy the file's bytes; the caller makes the new content from the copy. Write the
//! new file next to the old one. Turn the copy into a snapshot, so that the old content is safe
//! before any file is renamed. Carry over what was appended after the copy was made. Exchange the
//! names of the two files, which commits the replacement. Carry over what other processes are still
//! writing through handles to the old file.
//!
//! The new content's hash is checked as the content is read. If the replacement fails, its snapshot
//! is deleted again, so that a job that fails every night does not fill the disk.

pub(crate) mod append;
pub(crate) mod restore;
pub(crate) mod retained;
pub(crate) mod session_file;
pub(crate) mod swap;
pub(crate) mod target;

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ctx_format::{FixedFile, Tally};
use ring::digest::{Context, SHA256};

use crate::error::{OrCannot, Result, Severity, StoreError};
use crate::fs::{
    TempFile, create, each_block, hex, is_there, parent, reap_beside, remove_file, sync_name,
};
use crate::replace::swap::{NewFile, swap};
use crate::trash::removal::{Removal, StoreItem};
use crate::trash::sync_removal;
use crate::{
    Draft, Entry, Facts, Figures, MinIdle, SessionFile, SessionId, SessionLock, Snapshot,
    SnapshotId, SnapshotKind, Store, SweepReport,
};

/// The result of a replacement.
#[derive(Debug)]
pub enum ReplaceOutcome {
    /// The file already had the new content, so nothing was done.
    Same,
    /// The file did not exist and was created.
    Created,
    /// The file now has the new content.
    New {
        /// The snapshot of the old content.
        before: Box<Snapshot>,
        /// The number of bytes that other processes appended during the replacement. These bytes
        /// now follow the new content.
        late_bytes: u64,
        /// The old file's second name, if a process may still be writing to that file.
        retained: Option<PathBuf>,
    },
}

/// A session file that is about to be replaced. The file has been locked and copied, and no other
/// process has it open for writing. If the value is dropped without [`Replacement::commit`], no
/// files are left behind.
pub struct Replacement<'s> {
    pub(crate) store: &'s Store,
    pub(crate) session: SessionId,
    pub(crate) lock: SessionLock,
    pub(crate) live: SessionFile,
    pub(crate) draft: Draft<'s>,
    /// Whether lines appended during the replacement may follow the new content. If this is false,
    /// the replacement is abandoned as soon as the file grows.
    pub(crate) may_grow: bool,
}

impl Store {
    /// Replaces the content of a session file that has been idle for `min_idle`, or creates the
    /// file.
    pub fn replace(
        &self,
        path: &Path,
        session: &SessionId,
        min_idle: MinIdle,
        new: &mut NewContent<'_>,
    ) -> Result<ReplaceOutcome> {
        Self::refuse_inside(path)?;
        if let Ok(false) = is_there(path) {
            let _lock = self.lock_session(session)?;
            return self.create(path, session, new);
        }
        self.begin_replacement(path, session, min_idle)?.commit(new)
    }

    /// Locks a session and copies the bytes of its file. Any lines appended while the caller makes
    /// the new content are carried over, even if that takes a long time. Refuses a file that has
    /// several names, that another process has open for writing, or that was changed less than
    /// `min_idle` ago.
    pub fn begin_replacement(
        &self,
        path: &Path,
        session: &SessionId,
        min_idle: MinIdle,
    ) -> Result<Replacement<'_>> {
        Self::refuse_inside(path)?;
        let (lock, live) = self.claim(path, session)?;
        let repaired = self.repair_addition(session, lock, live)?;
        let (lock, live) = repaired.map_or_else(|| self.claim(path, session), Ok)?;
        let exception = self.refuse_unless_idle(&live, session, min_idle)?;
        let draft = live.draft(self)?;
        exception.map_or(Ok(()), |exception| exception.check(&draft.sha256))?;
        // Remove second names left by killed runs. The file is locked, so no running tool needs
        // them.
        for link in live.second_names()? {
            remove_file(&link).or_cannot("remove", &link)?;
        }
        Ok(Replacement { store: self, session: session.clone(), lock, live, draft, may_grow: true })
    }

    /// Locks a session and its file, and cleans up if the previous run was killed.
    fn claim(&self, path: &Path, session: &SessionId) -> Result<(SessionLock, SessionFile)> {
        let lock = self.lock_session(session)?;
        if lock.after_a_kill {
            self.rebuild_recent(Some(session))?;
        }
        lock.remember(self);
        // A killed run may have left a file next to the session file.
        self.sweep_recent(session).map_err(|error| not_saved(path, error))?;
        let seen = SessionFile::open_replaceable(path)?;
        if lock.after_a_kill {
            reap_beside(&seen.path);
        }
        seen.refuse_users()?;
        Ok((lock, seen))
    }

    fn create(
        &self,
        path: &Path,
        session: &SessionId,
        new: &mut NewContent<'_>,
    ) -> Result<ReplaceOutcome> {
        let facts = Facts {
            sha256: Some(new.sha256.to_owned()),
            figures: std::mem::take(&mut new.figures),
            ..Facts::of(session)
        };
        let operation = self.begin(new.operation, &facts)?;
        // Make the new file private, because there is no old file whose mode it could inherit.
        let mut temp = TempFile::beside(path, 0o600).or_cannot("create a file in", parent(path))?;
        new.copy_to(&mut temp, path)?;
        temp.file.sync_all().or_cannot("sync", temp.path())?;
        create(temp, path)?;
        sync_name(path)?;
        self.done(&operation, &facts)?;
        Ok(ReplaceOutcome::Created)
    }

    /// Commits a snapshot of the current content, and then calls `first` and `change`. `change`
    /// changes the file, and returns the number of bytes carried over. If the old file stays,
    /// `change` also returns that file's path. If `first` or `change` fails, the snapshot is
    /// deleted again. If a killed run left a snapshot of the same bytes, it is deleted as well.
    pub(crate) fn change<E>(
        &self,
        session: &SessionId,
        path: &Path,
        (draft, kind): (Draft<'_>, SnapshotKind),
        first: impl FnOnce() -> Result<(), E>,
        change: impl FnOnce(&Snapshot) -> Result<(u64, Option<PathBuf>)>,
    ) -> Result<Result<ReplaceOutcome, E>> {
        let superseded = self.superseded(session, &draft, kind);
        let (before, failed) = draft.take(session, kind).map_err(|error| not_saved(path, error))?;
        if let Some(error) = failed {
            self.withdraw_failed(&before);
            return Err(not_saved(path, error));
        }
        if let Some(id) = superseded {
            // Ignore a failure, because a superseded snapshot does no harm.
            let _ = self.withdraw(&id);
        }
        if let Err(error) = first() {
            self.withdraw_failed(&before);
            return Ok(Err(error));
        }
        match change(&before) {
            Ok((late_bytes, retained)) => {
                Ok(Ok(ReplaceOutcome::New { before: Box::new(before), late_bytes, retained }))
            }
            Err(error) => {
                if error.severity() != Severity::Uncertain {
                    self.withdraw_failed(&before);
                }
                Err(error)
            }
        }
    }

    /// Cleans up after a failed replacement. Removes the file with the second name if it is no
    /// longer in use, and deletes the snapshot unless it is needed to find that file.
    pub(crate) fn withdraw_failed(&self, before: &Snapshot) {
        let mut swept = SweepReport::default();
        let judged = self.sweep_one(&before.id, &before.meta, &mut swept);
        if judged.is_ok() && !before.meta.has_retained() {
            // Ignore a failure, because the snapshot does no harm.
            let _ = self.withdraw(&before.id);
        }
    }

    /// Deletes a snapshot for good. The commit record is deleted first, so that there is never a
    /// record without bytes.
    pub(crate) fn withdraw(&self, id: &SnapshotId) -> Result<()> {
        let item = StoreItem::Snapshot(id.clone());
        let items = [item.clone()];
        let mut removal = Removal::begin(self, "withdraw", Some(&id.session), &items)?;
        removal.each([item], |item| Some((item, self.remove_snapshot(id))));
        sync_removal(&self.snapshots())?;
        removal.done()?;
        let gone = id.to_string();
        if self.recent(&id.session).newest.as_ref() == Some(&gone) {
            // List all snapshots of the session to find the newest one. Failed runs are rare, so
            // this may be slow.
            return self.rebuild_recent(Some(&id.session)).map(drop);
        }
        let mut locked = self.lock()?;
        locked.change_recent(&id.session, |recent| recent.retained.retain(|id| *id != gone));
        Ok(())
    }

    /// Returns a session's newest snapshot, if it has the same bytes, source and kind as the draft,
    /// and neither a hold nor a replaced file needs it. That snapshot is redundant: the run that
    /// took it was killed, or the change that followed was undone by hand.
    fn superseded(
        &self,
        session: &SessionId,
        draft: &Draft<'_>,
        kind: SnapshotKind,
    ) -> Option<SnapshotId> {
        let Entry { id, meta: Ok(meta) } = self.newest(session)? else { return None };
        let is_same = meta.sha256 == draft.sha256 && meta.source == draft.source;
        (is_same && meta.kind == kind && !meta.held && !meta.has_retained()).then_some(id)
    }
}

impl Replacement<'_> {
    /// Returns the copied bytes of the session file.
    pub fn bytes(&self) -> Result<FixedFile> {
        self.draft.copy()
    }

    /// Accepts the line and message counts from a caller that has already counted them.
    pub fn counted(&mut self, tally: Tally) {
        self.draft.counted(tally);
    }

    /// Abandons the replacement if bytes are appended before the exchange, instead of carrying them
    /// over. Call this if no other lines may follow the new content.
    #[must_use]
    pub fn unless_it_grows(self) -> Self {
        Self { may_grow: false, ..self }
    }

    /// Turns the copy into a snapshot, then puts the new content into the file. After a failure,
    /// the snapshot is deleted again unless it is still needed.
    pub fn commit(self, new: &mut NewContent<'_>) -> Result<ReplaceOutcome> {
        let Ok(done) = self.commit_after(new, || Ok::<(), Infallible>(()))?;
        Ok(done)
    }

    /// Like [`Replacement::commit`], but with a step between the snapshot and the change. Once the
    /// snapshot exists, `first` is called to write any other files that belong to the new content,
    /// such as memory files. If `first` fails, the session file is not changed.
    pub fn commit_after<E>(
        self,
        new: &mut NewContent<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>> {
        if self.draft.sha256 == new.sha256 {
            return Ok(first().map(|()| ReplaceOutcome::Same));
        }
        // The lock must outlive the new file: if the new file cannot be removed, the lock file must
        // tell the next run to look for it.
        let Self { store, session, lock: _lock, live, mut draft, may_grow } = self;
        draft.count_meanwhile();
        let file = NewFile::write(&live, new)?;
        draft.replaced_by = Some(file.content.clone());
        store.change(&session, &live.path, (draft, new.kind), first, |before| {
            let mut facts = before.facts_of_change();
            let operation = store.begin(new.operation, &facts)?;
            let (late_bytes, retained) = swap(store, &live, before, file, may_grow)?;
            facts.late_bytes = Some(late_bytes);
            facts.figures = std::mem::take(&mut new.figures);
            store.done(&operation, &facts)?;
            if retained.is_none() {
                store.forget_retained(&session, std::slice::from_ref(&before.id));
            }
            Ok((late_bytes, retained))
        })
    }
}

fn not_saved(path: &Path, error: StoreError) -> StoreError {
    StoreError::NotSaved { path: path.to_owned(), source: Box::new(error) }
}

/// The new content of a session file.
pub struct NewContent<'a> {
    /// A reader that returns the whole content.
    pub reader: &'a mut dyn Read,
    /// The sha256 of the content. The hash is checked as the content is read, and again after the
    /// file has been written.
    pub sha256: &'a str,
    /// The name of the operation in the audit log, such as `rollback`.
    pub operation: &'static str,
    /// The kind of snapshot to take of the old content.
    pub kind: SnapshotKind,
    /// The measured effects of the change, for the audit log.
    pub figures: Figures,
}

impl NewContent<'_> {
    /// Copies the content into `file`, the new file for `path`, and returns the length of the
    /// content.
    pub(crate) fn copy_to(&mut self, file: &mut dyn Write, path: &Path) -> Result<u64> {
        let mut hasher = Context::new(&SHA256);
        let cannot_read = |read: io::Result<_>| read.or_cannot("read the new content of", path);
        let bytes = each_block(self.reader, cannot_read, |block| {
            hasher.update(block);
            file.write_all(block).or_cannot("write", path)
        })?;
        let found = hex(hasher.finish());
        if found == self.sha256 {
            return Ok(bytes);
        }
        let expected = self.sha256;
        Err(StoreError::Damaged {
            id: path.display().to_string(),
            why: format!("the new content has sha256 {found} instead of {expected}"),
        })
    }
}

#[cfg(test)]
mod content_tests {
    use std::path::Path;

    use ring::digest::{SHA256, digest};

    use super::NewContent;
    use crate::fs::hex;
    use crate::{Figures, SnapshotKind, StoreError};

    fn copy(bytes: &[u8], sha256: &str) -> Result<Vec<u8>, StoreError> {
        let mut reader = bytes;
        let mut new = NewContent {
            reader: &mut reader,
            sha256,
            operation: "test",
            kind: SnapshotKind::Snapshot,
            figures: Figures::default(),
        };
        let mut file = Vec::new();
        let length = new.copy_to(&mut file, Path::new("s.jsonl"))?;
        assert_eq!(length, file.len() as u64);
        Ok(file)
    }

    #[test]
    fn only_content_with_its_hash_is_taken() {
        let bytes = vec![7; 300 * 1024];
        let sha256 = hex(digest(&SHA256, &bytes));
        assert_eq!(copy(&bytes, &sha256).expect("copied"), bytes);
        let error = copy(&bytes[1..], &sha256).expect_err("other bytes");
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(copy(b"", &sha256).is_err());
    }
}
