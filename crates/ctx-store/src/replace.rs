//! New content for a session file that an agent may be writing: nothing that
//! was in it, and nothing that is appended meanwhile, is lost.
//!
//! The steps: lock the session; refuse a file that somebody has open for writing; copy its
//! bytes (the caller makes the new content from them); make the copy a snapshot; write the
//! new file beside the old one; give the old one a second name; carry over what was appended
//! since; rename, which is the commit; carry over what is still written through a handle
//! that was opened before the rename.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Naming, StoreError};
use crate::files::{if_there, parent, sync_name};
use crate::live::Live;
use crate::look::Look;
use crate::rename;
use crate::swap::Swap;
use crate::temp::TempFile;
use crate::{Draft, Facts, NewContent, SessionId, SessionLock, Snapshot, Store};

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
    _lock: SessionLock,
    pub(crate) live: Live,
    pub(crate) draft: Draft<'s>,
    may_grow: bool,
}

impl Store {
    /// Replaces the content of a session file, or creates it.
    pub fn replace(
        &self,
        path: &Path,
        session: &SessionId,
        new: &mut NewContent<'_>,
    ) -> Result<ReplaceOutcome, StoreError> {
        Self::refuse_inside(path)?;
        if let Ok(None) = if_there(fs::symlink_metadata(path).naming("read", path)) {
            let _lock = self.lock_session(session)?;
            return self.create(path, session, new);
        }
        self.begin_replacement(path, session)?.commit(new)
    }

    /// Locks a session and copies the bytes of its file. Making the new content from them
    /// may take long: what is appended meanwhile is carried over. A file that has several
    /// names, or that somebody has open for writing, is refused.
    pub fn begin_replacement(
        &self,
        path: &Path,
        session: &SessionId,
    ) -> Result<Replacement<'_>, StoreError> {
        Self::refuse_inside(path)?;
        let lock = self.lock_session(session)?;
        // A run that was killed may have left a second name of the file.
        let not_saved = |error| not_saved(path, error);
        self.sweep_recent(session).map_err(not_saved)?;
        if Live::open(path)?.meta.nlink() > 1 {
            self.sweep_retained(Some(session)).map_err(not_saved)?;
        }
        let seen = Look::at(path)?;
        seen.refuse_users()?;
        let live = seen.live;
        let draft = live.draft(self)?;
        Ok(Replacement {
            store: self,
            session: session.clone(),
            _lock: lock,
            live,
            draft,
            may_grow: true,
        })
    }

    fn create(
        &self,
        path: &Path,
        session: &SessionId,
        new: &mut NewContent<'_>,
    ) -> Result<ReplaceOutcome, StoreError> {
        let facts = Facts {
            sha256: Some(new.sha256.to_owned()),
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

impl Replacement<'_> {
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

    /// Makes the bytes a snapshot, then puts the new content into the file.
    pub fn commit(self, new: &mut NewContent<'_>) -> Result<ReplaceOutcome, StoreError> {
        let store = self.store;
        if self.draft.sha256 == new.sha256 {
            return Ok(ReplaceOutcome::Same);
        }
        let before = self
            .draft
            .commit(&self.session, new.kind)
            .map_err(|error| not_saved(&self.live.path, error))?;
        let mut facts = Facts {
            snapshots: vec![before.id.to_string()],
            sha256_before: Some(before.meta.sha256.clone()),
            sha256: Some(new.sha256.to_owned()),
            ..Facts::of(&self.session)
        };
        let operation = store.begin(new.operation, &facts)?;
        let mut swap = Swap::prepare(&self.live, &before, new)?;
        swap.catch_up(self.may_grow)?;
        let (late_bytes, retained) = swap.commit(new.sha256)?;
        facts.late_bytes = Some(late_bytes);
        facts.survived = std::mem::take(&mut new.survived);
        store.done(&operation, &facts)?;
        if retained.is_none() {
            store.forget_retained(&self.session, std::slice::from_ref(&before.id));
        }
        Ok(ReplaceOutcome::New {
            before: Box::new(before),
            late_bytes,
            retained,
        })
    }
}

fn not_saved(path: &Path, error: StoreError) -> StoreError {
    StoreError::NotSaved {
        path: path.to_owned(),
        source: Box::new(error),
    }
}
