//! A folder of the store, opened step by step: no link on the way is followed,
//! so that no path leads out of the store.
//! How a transcript names offloaded files.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, renameat};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{OrCannot, StoreError};
use crate::fs::folder::{Entries, make_dirs};
use crate::fs::{if_there, only_regular};
use crate::id::SessionId;
use crate::offload::{Content, OffloadName, OffloadedFile};
use crate::os;
use crate::store::Store;

/// An opened folder: `offloaded/`, or a session's folder in it.
#[derive(Debug)]
pub(super) struct Folder {
    handle: File,
    pub(super) path: PathBuf,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const OTHER_BYTES: &str = "is damaged: its bytes do not have the sha256 of its name";

impl Folder {
    /// `offloaded/`.
    pub(super) fn of_all(store: &Store) -> Result<Self, StoreError> {
        let path = store.root().to_owned();
        let handle = File::open(&path).or_cannot("open", &path)?;
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
            Err(error) => return Err(error).or_cannot("create", &path),
        }
        if_there(all.folder(session.as_str()))?.ok_or_else(missing)
    }

    fn folder(&self, name: &str) -> Result<Self, StoreError> {
        let path = self.path.join(name);
        match retry_on_intr(|| openat(&self.handle, name, FOLDER, Mode::empty())) {
            Ok(handle) => Ok(Self { handle: handle.into(), path }),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(StoreError::refused(&path, "is not a folder")),
            Err(error) => Err(error).or_cannot("open", &path),
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
        read().or_cannot("read", &self.path)
    }

    /// Opens a regular file of it: no link, and no FIFO that would hang.
    pub(super) fn open(&self, name: &str, flags: OFlags) -> Result<File, StoreError> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = retry_on_intr(|| openat(&self.handle, name, flags, mode));
        let opened = opened.map(File::from).map_err(io::Error::from);
        only_regular(opened, "read", &self.path.join(name))
    }

    /// The content of a file, checked against its name.
    pub(super) fn read(&self, name: &OffloadName) -> Result<Content, StoreError> {
        let path = self.path.join(name.to_string());
        let mut file = self.open(&name.to_string(), OFlags::RDONLY)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).or_cannot("read", &path)?;
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
        moved.or_cannot("move to the trash", &self.path.join(&name))
    }

    /// Makes the names in it durable.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        os::sync(&self.handle).or_cannot("sync", &self.path)
    }
}

/// The folder of a session's offloaded files, by its real and absolute path: an
/// agent can read it from wherever it runs.
#[derive(Clone, Debug)]
pub struct OffloadFolder {
    session: SessionId,
    path: String,
}

impl Store {
    /// The folder of a session's offloaded files, which need not exist yet.
    pub fn offload_folder(&self, session: &SessionId) -> Result<OffloadFolder, StoreError> {
        let root = real(self.root()).or_cannot("find", self.root())?;
        let folder = root.join("offloaded").join(session.as_str());
        let not_utf8 = |_| StoreError::NotUtf8(self.root().to_owned());
        Ok(OffloadFolder {
            session: session.clone(),
            path: folder.into_os_string().into_string().map_err(not_utf8)?,
        })
    }
}

impl OffloadFolder {
    /// Its path, without a slash at the end.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How a transcript names a file in it.
    pub fn path_of(&self, name: &OffloadName) -> String {
        format!("{}/{name}", self.path)
    }

    /// The file that a path names, if it is in this folder. Compares text, so neither `..` nor a
    /// link leads elsewhere.
    pub fn file(&self, path: &str) -> Option<OffloadedFile> {
        let name = path.strip_prefix(&self.path)?.strip_prefix('/')?;
        Some(OffloadedFile { session: self.session.clone(), name: OffloadName::parse(name)? })
    }

    /// The files of this folder that a text names by their paths.
    pub fn files_in(&self, text: &str) -> HashSet<OffloadedFile> {
        let starts = text.match_indices(&self.path);
        let file = |(at, _): (usize, &str)| {
            let folder_end = at + self.path.len();
            self.file(&text[at..folder_end + name_length(&text[folder_end..])])
        };
        starts.filter_map(file).collect()
    }
}

/// The length of the file name at the start of a text. A full stop after it belongs to the
/// sentence.
fn name_length(text: &str) -> usize {
    let belongs = |c: char| matches!(c, '/' | '.') || c.is_ascii_alphanumeric();
    let length = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text[..length].trim_end_matches('.').len()
}

/// The real path of a folder, which need not exist yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            let absolute = std::path::absolute(path)?;
            match (absolute.parent(), absolute.file_name()) {
                (Some(above), Some(name)) => Ok(real(above)?.join(name)),
                _ => Err(error),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod place_tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::OffloadFolder;
    use crate::{Actor, Store, StoreError};

    fn folder(root: &Path) -> Result<OffloadFolder, StoreError> {
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        let store = Store::open(root, actor, Box::new(chrono::Utc::now)).expect("a store");
        store.offload_folder(&"demo".parse().expect("an id"))
    }

    #[test]
    fn the_path_is_real_before_the_store_exists() {
        let dir = tempfile::tempdir().expect("a folder");
        let real = dir.path().canonicalize().expect("a path");
        symlink(&real, dir.path().join("link")).expect("a link");
        let folder = folder(&dir.path().join("link/no/store")).expect("a folder");
        let expected = real.join("no/store/offloaded/demo");
        assert_eq!(Path::new(folder.path()), expected);
    }

    /// The real path of an unmounted target is unknown, so the paths in a session would seem to be
    /// elsewhere.
    #[test]
    fn a_store_behind_a_link_to_nowhere_has_no_path() {
        let dir = tempfile::tempdir().expect("a folder");
        symlink(dir.path().join("nowhere"), dir.path().join("link")).expect("a link");
        let error = folder(&dir.path().join("link/store")).expect_err("nowhere");
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
    }

    #[test]
    fn a_path_that_is_no_text_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let error = folder(&dir.path().join(OsStr::from_bytes(b"\xff"))).expect_err("no text");
        assert!(matches!(error, StoreError::NotUtf8(_)), "{error}");
    }

    #[test]
    fn paths_in_a_text_end_where_names_do() {
        let folder = OffloadFolder {
            session: "demo".parse().expect("an id"),
            path: "/s/offloaded/demo".to_owned(),
        };
        let [one, two] = ["1", "2"].map(|digit| digit.repeat(64));
        let path = "/s/offloaded/demo";
        let text = format!(
            "see {path}/{one}.txt. Or \"{path}/{two}.part.ascii.txt\" ({path}), {path}/{one}.json2"
        );
        let mut names: Vec<_> =
            folder.files_in(&text).into_iter().map(|file| file.name.to_string()).collect();
        names.sort();
        assert_eq!(names, [format!("{one}.txt"), format!("{two}.part.ascii.txt")]);
    }

    #[test]
    fn only_paths_in_the_folder_are_ours() {
        let folder = OffloadFolder {
            session: "demo".parse().expect("an id"),
            path: "/s/offloaded/demo".to_owned(),
        };
        let hash = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        let path = format!("/s/offloaded/demo/{hash}.txt");
        let file = folder.file(&path).expect("a file");
        assert_eq!(folder.path_of(&file.name), path);
        for bad in [
            "/etc/passwd".to_owned(),
            "/s/offloaded/demo/../../../etc/passwd".to_owned(),
            format!("/s/offloaded/demo/../other/{hash}.txt"),
            format!("/s/offloaded/other/{hash}.txt"),
            format!("/s/offloaded/demo//{hash}.txt"),
            format!("/s/./offloaded/demo/{hash}.txt"),
            format!("s/offloaded/demo/{hash}.txt"),
            format!("/s/offloaded/demo/{hash}.txt/"),
            "/s/offloaded/demo/sources.jsonl".to_owned(),
            "/s/offloaded/demo/".to_owned(),
        ] {
            assert_eq!(folder.file(&bad), None, "{bad}");
        }
    }
}
