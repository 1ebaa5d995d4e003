//! A folder of the store, opened step by step: no link on the way is followed,
//! so that no path leads out of the store.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, Dir, Mode, OFlags, mkdirat, openat, renameat};
use rustix::io::Errno;

use super::{Content, OffloadName};
use crate::atomic::AtomicError;
use crate::error::{Naming, StoreError};
use crate::open::if_there;
use crate::store::make_dirs;
use crate::temp::TempFile;
use crate::{SessionId, Store};

/// An opened folder: `offloaded/`, or a session's folder in it.
#[derive(Debug)]
pub(super) struct Folder {
    handle: File,
    path: PathBuf,
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Folder {
    /// `offloaded/`; `None` when it is not there.
    pub(super) fn of_all(store: &Store) -> Result<Option<Self>, StoreError> {
        let path = store.root().to_owned();
        match if_there(File::open(&path)).naming("open", &path)? {
            None => Ok(None),
            Some(handle) => Self { handle, path }.folder("offloaded"),
        }
    }

    /// A session's folder; `None` when it is not there.
    pub(super) fn of_session(
        store: &Store,
        session: &SessionId,
    ) -> Result<Option<Self>, StoreError> {
        match Self::of_all(store)? {
            Some(all) => all.folder(session.as_str()),
            None => Ok(None),
        }
    }

    /// A session's folder, made if need be.
    pub(super) fn create(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        make_dirs(&store.offloaded())?;
        let missing = || StoreError::Changed(store.offloaded());
        let all = Self::of_all(store)?.ok_or_else(missing)?;
        let path = all.path.join(session.as_str());
        match mkdirat(&all.handle, session.as_str(), Mode::RWXU) {
            Ok(()) => all.sync()?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(io::Error::from(error)).naming("create", &path),
        }
        all.folder(session.as_str())?.ok_or_else(missing)
    }

    fn folder(&self, name: &str) -> Result<Option<Self>, StoreError> {
        let path = self.path.join(name);
        match openat(&self.handle, name, FOLDER, Mode::empty()) {
            Ok(handle) => Ok(Some(Self {
                handle: handle.into(),
                path,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(StoreError::Refused {
                path,
                why: "is not a folder",
            }),
            Err(error) => Err(io::Error::from(error)).naming("open", &path),
        }
    }

    /// Names of what lies in it, in order; only those that are text.
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.handle)? {
                if let Ok(name) = entry?.file_name().to_str() {
                    names.push(name.to_owned());
                }
            }
            names.sort();
            Ok(names)
        };
        read().naming("read", &self.path)
    }

    /// Opens a regular file of it: no link, and no FIFO that would hang.
    pub(super) fn open(&self, name: &str, flags: OFlags) -> Result<File, StoreError> {
        let path = self.path.join(name);
        let refused = |why| StoreError::Refused {
            path: path.clone(),
            why,
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file: File = match openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::LOOP) => return Err(refused("is a symbolic link")),
            other => other.map_err(io::Error::from).naming("read", &path)?.into(),
        };
        if file.metadata().naming("read", &path)?.is_file() {
            Ok(file)
        } else {
            Err(refused("is not a regular file"))
        }
    }

    /// What a file holds, checked against its name.
    pub(super) fn read(&self, name: &OffloadName) -> Result<Content, StoreError> {
        let path = self.path.join(name.to_string());
        let damaged = |why| StoreError::DamagedFile {
            path: path.clone(),
            why,
        };
        let mut file = self.open(&name.to_string(), OFlags::RDONLY)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).naming("read", &path)?;
        if OffloadName::of(&bytes, name.form()) != *name {
            return Err(damaged("its bytes do not have the sha256 of its name"));
        }
        let form = name.form();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Content { form, text }),
            Err(_) => Err(damaged("it is not UTF-8")),
        }
    }

    /// Whether the file is there and undamaged; then it counts as used now.
    pub(super) fn freshen(&self, name: &OffloadName) -> bool {
        self.read(name).is_ok()
            && self
                .open(&name.to_string(), OFlags::RDONLY)
                .is_ok_and(|file| file.set_modified(SystemTime::now()).is_ok())
    }

    /// A file that is flushed to the disk gets its name; what has it already is replaced.
    pub(super) fn adopt(&self, temp: TempFile, name: &OffloadName) -> Result<(), StoreError> {
        let done = renameat(CWD, temp.path(), &self.handle, name.to_string());
        done.map_err(|error| AtomicError::Unchanged {
            path: self.path.join(name.to_string()),
            source: error.into(),
        })?;
        drop(temp.into_file());
        Ok(())
    }

    /// Moves a file into a folder of the trash.
    pub(super) fn give(&self, name: &OffloadName, to: &Path) -> Result<(), StoreError> {
        let name = name.to_string();
        renameat(&self.handle, &name, CWD, to.join(&name))
            .map_err(io::Error::from)
            .naming("move to the trash", &self.path.join(&name))
    }

    /// Brings a file back from the trash.
    pub(super) fn take_back(&self, from: &Path, name: &OffloadName) -> Result<(), StoreError> {
        let name = name.to_string();
        renameat(CWD, from, &self.handle, &name)
            .map_err(io::Error::from)
            .naming("bring back", &self.path.join(&name))
    }

    /// Makes the names in it durable.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.handle.sync_all().naming("sync", &self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes bytes into a file that has no name of its own yet, and flushes them to the disk.
pub(super) fn spill(store: &Store, bytes: &[u8]) -> Result<TempFile, StoreError> {
    let mut temp = store.temp("offloaded", 0o600)?;
    let written = temp.write_all(bytes).and_then(|()| temp.file().sync_all());
    match written {
        Ok(()) => Ok(temp),
        Err(source) => Err(AtomicError::Unchanged {
            path: store.offloaded(),
            source,
        }
        .into()),
    }
}
