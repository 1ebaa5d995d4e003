//! The store's directory: what lies where, who may touch it, which format it has.
//! Files of the store that are made of others and may be lost: they cost time, and nothing else.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound, Utc};
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, StoreError};
use crate::fs::atomic::{TempFile, persist, reap, reap_beside};
use crate::fs::folder::{Entries, make_dirs};
use crate::fs::{if_there, only_regular, open_careful, parent};
use crate::id::SnapshotId;
use crate::lock::read_json;
use crate::snapshot::bytes::PACKED;

/// Tells the time: the system's, or a test's.
pub type Clock = Box<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The user of the store, for the audit log.
#[derive(Clone, Debug)]
pub struct Actor {
    /// `ctx-gc`.
    pub tool: String,
    /// Names of the flags that were given, never their values.
    pub flags: Vec<String>,
}

/// A store that exists, or that the first write creates.
pub struct Store {
    root: PathBuf,
    pub(crate) actor: Actor,
    clock: Clock,
}

const FORMAT: &str = "{\"format\":1}\n";
const UNKNOWN_FORMAT: &str = "has an unknown format; a newer version of the tools wrote it";
/// What a directory without FORMAT may contain: a run was killed before it wrote that file, or
/// another tool made its folder first.
const OURS: [&str; 8] =
    ["FORMAT", "lock", "locks", "tmp", "context", "memory", "offloaded", "index"];

impl Store {
    /// The default path of the store: state, not data, because it belongs to this machine (XDG Base
    /// Directory Specification, `$XDG_STATE_HOME`). `variable` reads an environment variable.
    pub fn usual_root(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let absolute = |name| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("ctx"))
    }

    /// Uses the store at `root`, which need not exist yet. One that others can write into,
    /// or that has an unknown format, is refused; so is a new one within another, whose trash
    /// it may be in.
    pub fn open(root: &Path, actor: Actor, clock: Clock) -> Result<Self, StoreError> {
        if !is_store(root) {
            Self::refuse_inside(root)?;
        }
        let store = Self { root: root.to_owned(), actor, clock };
        store.check()?;
        Ok(store)
    }

    /// The store that contains `path`; the path need not exist.
    pub fn around(path: &Path) -> Option<PathBuf> {
        let real = path.ancestors().find_map(|above| {
            let is_bare = above.as_os_str().is_empty();
            let above = if is_bare { Path::new(".") } else { above };
            above.canonicalize().ok()
        })?;
        real.ancestors().find(|dir| is_store(dir)).map(Path::to_owned)
    }

    /// Refuses a path inside any store: a command that names all files below a folder does not mean
    /// the snapshots.
    pub fn refuse_inside(path: &Path) -> Result<(), StoreError> {
        match Self::around(path) {
            Some(root) => Err(StoreError::InStore { path: path.to_owned(), root }),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        let Some(meta) = if_there(fs::metadata(&self.root).or_cannot("open", &self.root))? else {
            return Ok(());
        };
        let why = if !meta.is_dir() {
            "it is not a directory"
        } else if meta.uid() != rustix::process::geteuid().as_raw() {
            "it belongs to another user"
        } else if meta.mode() & 0o022 != 0 {
            "others can write into it"
        } else {
            return self.check_format();
        };
        Err(StoreError::Insecure { path: self.root.clone(), why })
    }

    fn check_format(&self) -> Result<(), StoreError> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let path = self.root.join("FORMAT");
        // Whoever may write there can put anything in its place: a FIFO, a device.
        if let Some(mut file) = if_there(only_regular(open_careful(&path), "read", &path))? {
            return match read_json(&mut file) {
                Some(Format { format: 1 }) => Ok(()),
                _ => Err(StoreError::refused(&path, UNKNOWN_FORMAT)),
            };
        }
        for name in Entries::of(&self.root).or_cannot("read", &self.root)? {
            let name = name.or_cannot("read", &self.root)?;
            let known = OURS.iter().any(|ours| name == *ours)
                || name.as_encoded_bytes().starts_with(b".FORMAT.");
            if !known {
                return Err(StoreError::NotAStore(self.root.clone()));
            }
        }
        Ok(())
    }

    /// Creates the store if it is not there; for everything that writes.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let format = self.root.join("FORMAT");
        if !format.try_exists().or_cannot("read", &format)? {
            make_dirs(&self.root)?;
            reap_beside(&format);
            let mut temp = TempFile::beside(&format, 0o600).or_cannot("create", &format)?;
            temp.write_all(FORMAT.as_bytes()).or_cannot("write", &format)?;
            // Without anything in it, the store is not what was asked for.
            persist(temp, &format).map_err(StoreError::before)?;
        }
        for dir in [self.snapshots(), self.tmp(), self.locks(), self.root.join("context")] {
            make_dirs(&dir)?;
        }
        Ok(())
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The snapshots, the cumulative summaries and the memory files.
    pub fn memory(&self) -> PathBuf {
        self.root.join("memory")
    }

    /// The folder of offloaded results, with one folder per session.
    pub fn offloaded(&self) -> PathBuf {
        self.root.join("offloaded")
    }

    /// The audit log.
    pub fn audit_log(&self) -> PathBuf {
        self.root.join("context/events.jsonl")
    }

    /// The bytes of a snapshot, until they are packed.
    pub fn data_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(data_name(id))
    }

    /// The packed bytes of a snapshot.
    pub fn packed_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(packed_name(id))
    }

    /// The commit record of a snapshot.
    pub fn meta_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(meta_name(id))
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.memory().join("session-summaries")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A new file in `tmp/`; what killed runs left there is removed.
    pub(crate) fn temp(&self, stem: &str, mode: u32) -> Result<TempFile, StoreError> {
        let dir = self.tmp();
        reap(&dir, None);
        TempFile::create(&dir, stem.as_ref(), mode).or_cannot("create a file in", &dir)
    }

    /// Writes a private file of the store, whole or not at all.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        make_dirs(parent(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut temp = self.temp(&name, 0o600)?;
        temp.write_all(bytes).or_not_written(path)?;
        persist(temp, path)
    }

    /// Writes a file that is made of others and may be lost: it is not flushed to the disk.
    pub(crate) fn write_derived(
        &self,
        stem: &str,
        path: &Path,
        value: &impl Serialize,
    ) -> Result<(), StoreError> {
        let mut temp = self.temp(stem, 0o600)?;
        serde_json::to_writer(&mut temp, value).or_cannot("write", path)?;
        fs::rename(temp.path(), path).or_cannot("write", path)?;
        temp.keep();
        Ok(())
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    pub(crate) fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// The folder of damaged files that were set aside.
    pub(crate) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }

    /// The time, to the microsecond, as names of snapshots have it.
    pub fn now(&self) -> DateTime<Utc> {
        (self.clock)().trunc_subsecs(6)
    }

    /// The index of the sessions on this machine.
    pub fn session_index(&self) -> PathBuf {
        self.root().join("index/sessions.jsonl")
    }

    /// The folder of the index of words by which the store is searched. Its lock has the same
    /// name and ends in `.lock`.
    pub fn search_index(&self) -> PathBuf {
        self.root().join("index/search")
    }

    /// The content of the index of sessions; `None` if it cannot be read for any reason.
    pub fn read_session_index(&self) -> Option<String> {
        let file = File::open(self.session_index()).ok()?;
        let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let mut text = String::new();
        // Lines that are appended to it meanwhile are not the tools'.
        file.take(meta.len()).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Replaces the index of sessions. No lock and no flush to the disk: of two runs at the
    /// same time the later one's stays, and one that a crash tore is as good as none.
    pub fn replace_session_index(&self, text: &str) -> Result<(), StoreError> {
        self.prepare()?;
        let path = self.session_index();
        make_dirs(&self.root().join("index"))?;
        let mut temp = TempFile::beside(&path, 0o600).or_cannot("create", &path)?;
        temp.write_all(text.as_bytes()).or_cannot("write", &path)?;
        fs::rename(temp.path(), &path).or_cannot("replace", &path)?;
        temp.keep();
        Ok(())
    }
}

/// Whether a path belongs to the tools and is not a session: a store, or a replaced file that is
/// kept next to its successor for a while.
pub fn is_kept_aside(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let is_retained =
        |name: &str| name.starts_with('.') && name.contains(crate::snapshot::meta::RETAINED);
    name.is_some_and(|name| is_retained(&name)) || is_store(path)
}

/// Whether a directory is a store: what is always in one tells, so that also a store of
/// another format, or one that lost its FORMAT, is known.
pub fn is_store(dir: &Path) -> bool {
    let has = |name| dir.join(name).is_dir();
    let is_whole = || has("locks") && has("memory/session-summaries");
    has("context") && (dir.join("FORMAT").is_file() || is_whole())
}

/// `{id}.jsonl`.
pub(crate) fn data_name(id: &SnapshotId) -> String {
    format!("{id}.jsonl")
}

/// `{id}.jsonl.zst`.
pub(crate) fn packed_name(id: &SnapshotId) -> String {
    data_name(id) + PACKED
}

/// `{id}.meta.json`.
pub(crate) fn meta_name(id: &SnapshotId) -> String {
    format!("{id}.meta.json")
}

#[cfg(test)]
mod store_tests {
    use super::{Actor, Store, UNKNOWN_FORMAT};
    use crate::StoreError;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn open(root: &Path) -> Result<Store, StoreError> {
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        Store::open(root, actor, Box::new(chrono::Utc::now))
    }

    #[test]
    fn the_usual_place_is_named_by_whole_paths_alone() {
        for (state, home, expected) in [
            (Some("/s"), Some("/h"), Some("/s/ctx")),
            (Some("s"), Some("/h"), Some("/h/.local/state/ctx")),
            (None, Some("/h"), Some("/h/.local/state/ctx")),
            (Some(""), Some(""), None),
            (None, None, None),
        ] {
            let root = Store::usual_root(|name| {
                let value = if name == "HOME" { home } else { state };
                value.map(Into::into)
            });
            assert_eq!(root.as_deref(), expected.map(Path::new));
        }
    }

    #[test]
    fn a_path_knows_the_store_that_it_lies_in() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path").join("store");
        assert_eq!(Store::around(&root.join("memory")), None);
        open(&root).and_then(|store| store.prepare()).expect("made");
        for inside in ["", "memory", "memory/no/such"] {
            let found = Store::around(&root.join(inside));
            assert_eq!(found.as_ref(), Some(&root), "{inside}");
        }
        assert_eq!(Store::around(dir.path()), None);
        fs::remove_file(root.join("FORMAT")).expect("removed");
        assert_eq!(Store::around(&root.join("tmp/x")).as_ref(), Some(&root));
        fs::remove_dir(root.join("locks")).expect("removed");
        assert_eq!(Store::around(&root), None, "anybody may have such folders");
    }

    /// P1: a store is private from the first moment.
    #[test]
    fn a_new_store_is_private() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("a/b/store");
        let store = open(&root).expect("opens");
        assert!(!root.exists(), "opening creates nothing");
        store.prepare().expect("creates");
        store.prepare().expect("again");
        open(&root).expect("opens again");
        for entry in walkdir::WalkDir::new(&root) {
            let entry = entry.expect("an entry");
            let mode = entry.metadata().expect("stat").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
        }
    }

    /// P3: a store that others can write to, or a folder that is not a store.
    #[test]
    fn unsafe_and_unknown_directories_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("store");
        fs::create_dir(&root).expect("mkdir");
        fs::set_permissions(&root, Permissions::from_mode(0o777)).expect("chmod");
        assert!(matches!(open(&root), Err(StoreError::Insecure { .. })));
        fs::set_permissions(&root, Permissions::from_mode(0o700)).expect("chmod");
        fs::write(root.join("thesis.tex"), "x").expect("writes");
        assert!(matches!(open(&root), Err(StoreError::NotAStore(_))));
        fs::write(root.join("FORMAT"), "{\"format\":2}\n").expect("writes");
        let Err(error) = open(&root) else {
            panic!("an unknown format");
        };
        assert!(error.to_string().contains(UNKNOWN_FORMAT), "{error}");
        fs::write(root.join("FORMAT"), "{\"format\":1}\n").expect("writes");
        open(&root).expect("what people put there stays");
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("writes");
        assert!(matches!(open(&file), Err(StoreError::Insecure { .. })));
    }

    #[test]
    fn a_store_whose_creation_was_killed_is_finished() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("store");
        fs::create_dir(&root).expect("mkdir");
        fs::write(root.join(".FORMAT.ctx-tmp-1-2-3"), "{").expect("writes");
        open(&root).expect("opens").prepare().expect("finishes");
        assert_eq!(fs::read_to_string(root.join("FORMAT")).expect("reads"), "{\"format\":1}\n");
    }
}

#[cfg(test)]
mod derived_tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use crate::tests::Bench;

    #[test]
    fn the_index_is_private_and_may_be_lost() {
        let Bench { store, dir: _dir, .. } = Bench::new();
        assert_eq!(store.read_session_index(), None);
        store.replace_session_index("a\n").expect("written");
        store.replace_session_index("b\n").expect("written");
        assert_eq!(store.read_session_index().as_deref(), Some("b\n"));
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let path = store.session_index();
        let folder = path.parent().expect("its folder");
        assert_eq!((mode(path.as_path()), mode(folder)), (0o600, 0o700));
        assert_eq!(fs::read_dir(folder).expect("its folder").count(), 1);
        fs::write(&path, b"\xff").expect("written");
        assert_eq!(store.read_session_index(), None);
    }
}
