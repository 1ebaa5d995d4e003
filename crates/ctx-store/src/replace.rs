//! New content for a session file that an agent may be writing: nothing that
//! was in it, and nothing that is appended meanwhile, is lost.
//!
//! The steps: lock the session; refuse a file that somebody has open for writing; copy its
//! bytes (the caller makes the new content from them); write the new file beside the old one;
//! make the copy a snapshot; carry over what was appended since; exchange the two, which is the
//! commit; carry over what is still written through a handle that was opened before it.

use std::convert::Infallible;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Naming, Severity, StoreError};
use crate::files::{if_there, parent, sync_name};
use crate::live::Live;
use crate::look::Look;
use crate::rename;
use crate::swap::{NewFile, Swap};
use crate::temp::{TempFile, reap_beside};
use crate::{
    Draft, Facts, MinIdle, NewContent, SessionId, SessionLock, Snapshot, SnapshotKind, Store,
};

/// How a replacement ended.
#[derive(Debug)]
pub enum ReplaceOutcome {
    /// The file had that content already; nothing was done.
    Same,
    /// There was no file; there is one now.
    Created,
    /// The content is new.
    New {
        /// The snapshot of what was there.
        before: Box<Snapshot>,
        /// The number of bytes that were appended meanwhile and now follow the new content.
        late_bytes: u64,
        /// The second name of the old file, when a process may still be writing to it.
        retained: Option<PathBuf>,
    },
}

/// A session file that is about to be replaced: it is locked, nobody has it open for
/// writing, and its bytes are copied. Dropped without [`Replacement::commit`], it leaves
/// nothing behind.
pub struct Replacement<'s> {
    pub(crate) store: &'s Store,
    pub(crate) session: SessionId,
    pub(crate) lock: SessionLock,
    pub(crate) live: Live,
    pub(crate) draft: Draft<'s>,
    may_grow: bool,
}

impl Store {
    /// Replaces the content of a session file that has been left alone for `min_idle`, or
    /// creates it.
    pub fn replace(
        &self,
        path: &Path,
        session: &SessionId,
        min_idle: MinIdle,
        new: &mut NewContent<'_>,
    ) -> Result<ReplaceOutcome, StoreError> {
        Self::refuse_inside(path)?;
        if let Ok(None) = if_there(fs::symlink_metadata(path).naming("read", path)) {
            let _lock = self.lock_session(session)?;
            return self.create(path, session, new);
        }
        self.begin_replacement(path, session, min_idle)?.commit(new)
    }

    /// Locks a session and copies the bytes of its file. Making the new content from them
    /// may take long: what is appended meanwhile is carried over. A file that has several
    /// names, that somebody has open for writing, or that changed less than `min_idle` ago, is
    /// refused.
    pub fn begin_replacement(
        &self,
        path: &Path,
        session: &SessionId,
        min_idle: MinIdle,
    ) -> Result<Replacement<'_>, StoreError> {
        Self::refuse_inside(path)?;
        let (lock, live) = self.claim(path, session)?;
        let (lock, live) = match self.repair_addition(session, lock, live)? {
            Some(claimed) => claimed,
            None => self.claim(path, session)?,
        };
        let only_if = self.refuse_unless_idle(&live, session, min_idle)?;
        let draft = live.draft(self)?;
        if let Some(only_if) = only_if {
            only_if.check(&draft.sha256)?;
        }
        // The file is locked: no run is between giving such a name and its commit.
        for link in live.second_names()? {
            fs::remove_file(&link).naming("remove", &link)?;
        }
        Ok(Replacement::new(self, session, lock, live, draft))
    }

    /// Locks a session and its file, and cleans up behind a run that was killed.
    fn claim(&self, path: &Path, session: &SessionId) -> Result<(SessionLock, Live), StoreError> {
        let lock = self.lock_session(session)?;
        if lock.after_a_kill {
            self.recall(session)?;
        }
        lock.remember(self);
        // A run that was killed may have left something beside the file.
        self.sweep_recent(session)
            .map_err(|error| not_saved(path, error))?;
        let seen = Look::at(path)?;
        if lock.after_a_kill {
            reap_beside(&seen.live.path);
        }
        seen.refuse_users()?;
        Ok((lock, seen.live))
    }

    fn create(
        &self,
        path: &Path,
        session: &SessionId,
        new: &mut NewContent<'_>,
    ) -> Result<ReplaceOutcome, StoreError> {
        let facts = Facts {
            sha256: Some(new.sha256.to_owned()),
            figures: std::mem::take(&mut new.figures),
            ..Facts::of(session)
        };
        let operation = self.begin(new.operation, &facts)?;
        // Private: nobody knows which mode the lost file had.
        let mut temp = TempFile::beside(path, 0o600).naming("create a file in", parent(path))?;
        new.copy_to(&mut temp, path)?;
        temp.file.sync_all().naming("sync", temp.path())?;
        rename::create(temp, path)?;
        sync_name(path)?;
        self.done(&operation, &facts)?;
        Ok(ReplaceOutcome::Created)
    }
}

impl<'s> Replacement<'s> {
    pub(crate) fn new(
        store: &'s Store,
        session: &SessionId,
        lock: SessionLock,
        live: Live,
        draft: Draft<'s>,
    ) -> Self {
        Self {
            store,
            session: session.clone(),
            lock,
            live,
            draft,
            may_grow: true,
        }
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Result<File, StoreError> {
        self.draft.reader()
    }

    /// For new content that nothing may follow: what was appended until the rename stops
    /// the replacement, instead of being carried over behind it.
    #[must_use]
    pub fn unless_it_grows(self) -> Self {
        Self {
            may_grow: false,
            ..self
        }
    }

    /// Makes the bytes a snapshot, then puts the new content into the file. When that does not
    /// come about, no snapshot is left.
    pub fn commit(self, new: &mut NewContent<'_>) -> Result<ReplaceOutcome, StoreError> {
        let Ok(done) = self.commit_after(new, || Ok::<(), Infallible>(()))?;
        Ok(done)
    }

    /// The same. As soon as the snapshot exists, `first` writes what belongs to the new content
    /// elsewhere, such as memory files. If it fails, the session stays as it is.
    pub fn commit_after<E>(
        self,
        new: &mut NewContent<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>, StoreError> {
        if self.draft.sha256 == new.sha256 {
            return Ok(first().map(|()| ReplaceOutcome::Same));
        }
        // The lock outlives the new file, so that it stays marked where that cannot be removed.
        let Self {
            store,
            session,
            lock: _lock,
            live,
            mut draft,
            may_grow,
        } = self;
        let file = NewFile::write(&live, new)?;
        draft.replaced_by = Some(file.content.clone());
        let saved = save(store, &session, draft, new.kind);
        let before = saved.map_err(|error| not_saved(&live.path, error))?;
        if let Err(error) = first() {
            store.settle(&before);
            return Ok(Err(error));
        }
        let mut swap = Swap::of(store, &live, &before, file);
        swap.may_grow = may_grow;
        let done = exchange(store, &before, swap, new);
        store.end(before, done).map(Ok)
    }
}

impl Store {
    /// How a change of a file ended: where it did not come about, no snapshot is left.
    pub(crate) fn end(
        &self,
        before: Snapshot,
        done: Result<(u64, Option<PathBuf>), StoreError>,
    ) -> Result<ReplaceOutcome, StoreError> {
        match done {
            Ok((late_bytes, retained)) => Ok(ReplaceOutcome::New {
                before: Box::new(before),
                late_bytes,
                retained,
            }),
            Err(error) => {
                if error.severity() != Severity::Uncertain {
                    self.settle(&before);
                }
                Err(error)
            }
        }
    }
}

/// Commits the snapshot of what is replaced; the copy that a killed run left of the same
/// bytes goes then.
pub(crate) fn save(
    store: &Store,
    session: &SessionId,
    draft: Draft<'_>,
    kind: SnapshotKind,
) -> Result<Snapshot, StoreError> {
    let superseded = store.superseded(session, &draft, kind);
    let (before, failed) = draft.take(session, kind)?;
    if let Some(error) = failed {
        store.settle(&before);
        return Err(error);
    }
    if let Some(id) = superseded {
        // It does no harm where it stays.
        let _ = store.withdraw(&id);
    }
    Ok(before)
}

/// Puts the new file in place; returns how many bytes were carried over, and the old file
/// when it stays.
fn exchange(
    store: &Store,
    before: &Snapshot,
    swap: Swap<'_>,
    new: &mut NewContent<'_>,
) -> Result<(u64, Option<PathBuf>), StoreError> {
    let mut facts = Facts {
        snapshots: vec![before.id.to_string()],
        sha256_before: Some(before.meta.sha256.clone()),
        sha256: Some(new.sha256.to_owned()),
        ..Facts::of(&before.id.session)
    };
    let operation = store.begin(new.operation, &facts)?;
    let (late_bytes, retained) = swap.commit()?;
    facts.late_bytes = Some(late_bytes);
    facts.figures = std::mem::take(&mut new.figures);
    store.done(&operation, &facts)?;
    if retained.is_none() {
        store.forget_retained(&before.id.session, std::slice::from_ref(&before.id));
    }
    Ok((late_bytes, retained))
}

pub(crate) fn not_saved(path: &Path, error: StoreError) -> StoreError {
    StoreError::NotSaved {
        path: path.to_owned(),
        source: Box::new(error),
    }
}
