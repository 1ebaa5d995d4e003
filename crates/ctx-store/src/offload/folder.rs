//! A folder of the store, opened step by step: no link on the way is followed,
//! so that no path leads out of the store.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, renameat};
use rustix::io::{Errno, retry_on_intr};

use super::{Content, OffloadName};
use crate::entries::Entries;
use crate::error::{Naming, StoreError};
use crate::files::{if_there, only_regular};
use crate::store::make_dirs;
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

const OTHER_BYTES: &str = "is damaged: its bytes do not have the sha256 of its name";

impl Folder {
    /// `offloaded/`.
    pub(super) fn of_all(store: &Store) -> Result<Self, StoreError> {
        let path = store.root().to_owned();
        let handle = File::open(&path).naming("open", &path)?;
        Self { handle, path }.folder("offloaded")
    }

    /// A session's folder.
    pub(super) fn of_session(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        Self::of_all(store)?.folder(session.as_str())
    }

    /// A session's folder, made if need be.
    pub(super) fn create(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        make_dirs(&store.offloaded())?;
        let missing = || StoreError::Changed(store.offloaded());
        let all = if_there(Self::of_all(store))?.ok_or_else(missing)?;
        let path = all.path.join(session.as_str());
        match mkdirat(&all.handle, session.as_str(), Mode::RWXU) {
            Ok(()) => all.sync()?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error).naming("create", &path),
        }
        if_there(all.folder(session.as_str()))?.ok_or_else(missing)
    }

    fn folder(&self, name: &str) -> Result<Self, StoreError> {
        let path = self.path.join(name);
        match retry_on_intr(|| openat(&self.handle, name, FOLDER, Mode::empty())) {
            Ok(handle) => Ok(Self {
                handle: handle.into(),
                path,
            }),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(StoreError::refused(&path, "is not a folder")),
            Err(error) => Err(error).naming("open", &path),
        }
    }

    /// The names in it that are text, in order.
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for name in Entries::of_open(&self.handle)? {
                names.extend(name?.into_string());
            }
            names.sort();
            Ok(names)
        };
        read().naming("read", &self.path)
    }

    /// Opens a regular file of it: no link, and no FIFO that would hang.
    pub(super) fn open(&self, name: &str, flags: OFlags) -> Result<File, StoreError> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = retry_on_intr(|| openat(&self.handle, name, flags, mode));
        let opened = opened.map(File::from).map_err(io::Error::from);
        only_regular(opened, "read", &self.path.join(name))
    }

    /// What a file holds, checked against its name.
    pub(super) fn read(&self, name: &OffloadName) -> Result<Content, StoreError> {
        let path = self.path.join(name.to_string());
        let mut file = self.open(&name.to_string(), OFlags::RDONLY)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).naming("read", &path)?;
        let form = name.form;
        if OffloadName::of(&bytes, form) != *name {
            return Err(StoreError::refused(&path, OTHER_BYTES));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Content { form, text }),
            Err(_) => Err(StoreError::refused(&path, "is damaged: it is not UTF-8")),
        }
    }

    /// Whether the file is there and undamaged; then it counts as used now.
    pub(super) fn freshen(&self, name: &OffloadName) -> bool {
        self.read(name).is_ok()
            && self
                .open(&name.to_string(), OFlags::RDONLY)
                .is_ok_and(|file| file.set_modified(SystemTime::now()).is_ok())
    }

    /// Moves a file from elsewhere into the folder; one that has its name is replaced.
    pub(super) fn adopt(&self, from: &Path, name: &OffloadName) -> io::Result<()> {
        Ok(renameat(CWD, from, &self.handle, name.to_string())?)
    }

    /// Moves a file into a folder of the trash.
    pub(super) fn give(&self, name: &OffloadName, to: &Path) -> Result<(), StoreError> {
        let name = name.to_string();
        let moved = renameat(&self.handle, &name, CWD, to.join(&name));
        moved.naming("move to the trash", &self.path.join(&name))
    }

    /// Makes the names in it durable.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.handle.sync_all().naming("sync", &self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
