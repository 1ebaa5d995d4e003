//! New content for a session file that an agent may be writing: nothing that
//! was in it, and nothing that arrives meanwhile, is lost.
//!
//! lock → is it open for writing? → its bytes are taken → (new content is made of
//! them) → snapshot → new file beside it → link to the old one → what arrived since is
//! carried over → rename (the one commit point) → what arrived through an old handle is
//! carried over.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Naming, StoreError};
use crate::files::{if_there, parent, sync_name};
use crate::live::Live;
use crate::rename;
use crate::swap::Swap;
use crate::temp::TempFile;
use crate::{Draft, Facts, NewContent, SessionId, SessionLock, Snapshot, Store};

const SEVERAL_NAMES: &str = "has several names (hard links): replacing it would part them";

/// How a replacement ended.
#[derive(Debug)]
pub enum ReplaceOutcome {
    /// The file had that content already; nothing was done.
    Same,
    /// There was no file; there is one now.
    Created,
    /// The content is new.
    New {
        /// What was there.
        before: Box<Snapshot>,
        /// Bytes that arrived meanwhile and now stand behind the new content.
        late_bytes: u64,
        /// The old file, when a process still has it open for writing.
        retained: Option<PathBuf>,
    },
}

/// A session file about to be replaced: locked, not open for writing elsewhere,
/// its bytes taken. Dropped without [`Replacement::commit`], it leaves nothing.
pub struct Replacement<'s> {
    pub(crate) store: &'s Store,
    pub(crate) session: SessionId,
    _lock: SessionLock,
    pub(crate) live: Live,
    pub(crate) draft: Draft<'s>,
}

impl Store {
    /// Replaces the content of a session file, or creates it.
    pub fn replace(
        &self,
        path: &Path,
        session: &SessionId,
        new: &mut NewContent<'_>,
    ) -> Result<ReplaceOutcome, StoreError> {
        if let Ok(None) = if_there(fs::symlink_metadata(path).naming("read", path)) {
            let _lock = self.lock_session(session)?;
            return self.create(path, session, new);
        }
        self.begin_replacement(path, session)?.commit(new)
    }

    /// Takes a session's lock and the bytes of its file as they are now, from
    /// which new content can be made for as long as that takes: what arrives
    /// meanwhile is carried over. A file with other names, or in use, is refused.
    pub fn begin_replacement(
        &self,
        path: &Path,
        session: &SessionId,
    ) -> Result<Replacement<'_>, StoreError> {
        let lock = self.lock_session(session)?;
        // What a killed run left may be a second name of the file.
        self.sweep_retained(Some(session))
            .map_err(|error| not_saved(path, error))?;
        let live = Live::open(path)?;
        if live.meta.nlink() > 1 {
            return Err(StoreError::refused(&live.path, SEVERAL_NAMES));
        }
        // Tools with another store, and others that respect locks on files.
        if let Err(TryLockError::WouldBlock) = live.file.try_lock() {
            let name = live.path.display();
            return Err(StoreError::Busy(format!(
                "{name} is locked by another process"
            )));
        }
        live.refuse_writers()?;
        let draft = live.draft(self)?;
        Ok(Replacement {
            store: self,
            session: session.clone(),
            _lock: lock,
            live,
            draft,
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
        // For its owner alone: what mode the lost file had is not known.
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
        swap.catch_up()?;
        let (late_bytes, retained) = swap.commit(new.sha256)?;
        facts.late_bytes = Some(late_bytes);
        facts.survived = std::mem::take(&mut new.survived);
        store.done(&operation, &facts)?;
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
