//! New content for a session file that an agent may be writing: nothing that
//! was in it, and nothing that arrives meanwhile, is lost.
//!
//! lock → is it open for writing? → its bytes are taken → (new content is made of
//! them) → snapshot → new file beside it → link to the old one → what arrived since is carried over → rename (the one commit point)
//! → what arrived through an old handle is carried over.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::atomic::{AtomicError, parent, sync_dir};
use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::swap::Swap;
use crate::temp::{self, TempFile};
use crate::writers::{Writers, writers};
use crate::{Draft, Facts, Kind, Origin, SessionId, SessionLock, Snapshot, Store, Survived, hex};

/// What is to stand in a session file.
pub struct NewContent<'a> {
    /// All its bytes.
    pub reader: &'a mut dyn Read,
    /// Their hash, which what is read and what is written must have.
    pub sha256: &'a str,
    /// What the audit log calls the operation: `rollback`.
    pub operation: &'static str,
    /// The kind of the snapshot that is taken of what is replaced.
    pub kind: Kind,
    /// What of the old content survives in it, for the audit log.
    pub survived: Survived,
}

/// How a replacement ended.
#[derive(Debug)]
pub enum Replaced {
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
    ) -> Result<Replaced, StoreError> {
        if matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            let _lock = self.lock_session(session)?;
            return self.create(path, session, new);
        }
        self.begin_replacement(path, session)?.commit(new)
    }

    /// Takes a session's lock and the bytes of its file as they are now, from
    /// which new content can be made for as long as that takes: what arrives
    /// meanwhile is carried over.
    pub fn begin_replacement(
        &self,
        path: &Path,
        session: &SessionId,
    ) -> Result<Replacement<'_>, StoreError> {
        let lock = self.lock_session(session)?;
        let live = self.claim(path, session)?;
        let draft = live.draft(self)?;
        Ok(Replacement {
            store: self,
            session: session.clone(),
            _lock: lock,
            live,
            draft,
        })
    }

    /// Opens the file, and refuses what must not be replaced: a file with other
    /// names, or in use.
    fn claim(&self, path: &Path, session: &SessionId) -> Result<Live, StoreError> {
        // What a killed run left may be a second name of the file.
        self.sweep_retained(Some(session))
            .map_err(|error| not_saved(path, error))?;
        let live = Live::open(path)?;
        if live.meta.nlink() > 1 {
            return Err(StoreError::Refused {
                path: live.path,
                why: "has several names (hard links): replacing it would part them",
            });
        }
        // Tools with another store, and others that respect locks on files.
        if let Err(TryLockError::WouldBlock) = live.file.try_lock() {
            let name = live.path.display();
            return Err(StoreError::Busy(format!(
                "{name} is locked by another process"
            )));
        }
        refuse_writers(&live)?;
        Ok(live)
    }

    fn create(
        &self,
        path: &Path,
        session: &SessionId,
        new: &mut NewContent<'_>,
    ) -> Result<Replaced, StoreError> {
        let facts = Facts {
            session: Some(session.to_string()),
            sha256: Some(new.sha256.to_owned()),
            ..Facts::default()
        };
        let operation = self.begin(new.operation, &facts)?;
        let dir = parent(path);
        let name = path.file_name().unwrap_or_default();
        temp::reap(dir, Some(name));
        // For its owner alone: what mode the lost file had is not known.
        let mut temp = TempFile::create(dir, name, 0o600).naming("create a file in", dir)?;
        copy_checked(new.reader, &mut temp, new.sha256, path)?;
        persist_new(temp, path)?;
        self.done(&operation, &facts)?;
        Ok(Replaced::Created)
    }
}

impl Replacement<'_> {
    /// The bytes of the file, to be read from their start.
    pub fn bytes(&self) -> Result<File, StoreError> {
        let path = &self.live.path;
        let mut file = self.draft.file().try_clone().naming("read", path)?;
        file.rewind().naming("read", path)?;
        Ok(file)
    }

    /// Their hash.
    pub fn sha256(&self) -> String {
        self.draft.sha256()
    }

    /// Makes the bytes a snapshot, then puts the new content into the file.
    pub fn commit(self, new: &mut NewContent<'_>) -> Result<Replaced, StoreError> {
        let store = self.store;
        if self.draft.sha256() == new.sha256 {
            return Ok(Replaced::Same);
        }
        let origin = Origin {
            kind: new.kind,
            source: Some(self.live.source()),
            tokens: None,
        };
        let before = self
            .draft
            .commit(&self.session, origin)
            .map_err(|error| not_saved(&self.live.path, error))?;
        let mut facts = Facts {
            session: Some(self.session.to_string()),
            snapshots: vec![before.id.to_string()],
            sha256_before: Some(before.meta.sha256.clone()),
            sha256: Some(new.sha256.to_owned()),
            ..Facts::default()
        };
        let operation = store.begin(new.operation, &facts)?;
        let mut swap = Swap::prepare(&self.live, &before, new)?;
        swap.catch_up()?;
        let (late_bytes, retained) = swap.commit(new.sha256)?;
        facts.late_bytes = Some(late_bytes);
        facts.survived = std::mem::take(&mut new.survived);
        store.done(&operation, &facts)?;
        Ok(Replaced::New {
            before: Box::new(before),
            late_bytes,
            retained,
        })
    }
}

/// fsync, rename to a name that is still free, fsync of the directory.
fn persist_new(temp: TempFile, path: &Path) -> Result<(), StoreError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    temp.file().sync_all().naming("sync", temp.path())?;
    match renameat_with(CWD, temp.path(), CWD, path, RenameFlags::NOREPLACE) {
        // Somebody made a file there meanwhile.
        Err(rustix::io::Errno::EXIST) => return Err(StoreError::Changed(path.to_owned())),
        other => other.map_err(io::Error::from).naming("create", path)?,
    }
    temp.into_file();
    sync_dir(parent(path)).map_err(|source| {
        let path = path.to_owned();
        StoreError::Write(AtomicError::Uncertain { path, source })
    })
}

fn not_saved(path: &Path, error: StoreError) -> StoreError {
    StoreError::NotSaved {
        path: path.to_owned(),
        source: Box::new(error),
    }
}

pub(crate) fn refuse_writers(live: &Live) -> Result<(), StoreError> {
    match writers(&live.file) {
        Writers::Somebody(who) => Err(StoreError::Busy(format!(
            "{} is open for writing by {who}",
            live.path.display()
        ))),
        Writers::Nobody | Writers::NobodySeen => Ok(()),
    }
}

/// Copies all of `reader`, which must have that hash.
pub(crate) fn copy_checked(
    reader: &mut dyn Read,
    writer: &mut dyn Write,
    sha256: &str,
    path: &Path,
) -> Result<u64, StoreError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    let mut bytes = 0;
    loop {
        let n = match reader.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other.naming("read the new content of", path)?,
        };
        hasher.update(&buffer[..n]);
        writer.write_all(&buffer[..n]).naming("write", path)?;
        bytes += n as u64;
    }
    let found = hex(&hasher.finalize());
    if found == sha256 {
        Ok(bytes)
    } else {
        Err(StoreError::Damaged {
            id: path.display().to_string(),
            why: format!("the new content has sha256 {found} instead of {sha256}"),
        })
    }
}
