//! The store's directory: what lies where, who may touch it, which format it has.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound, Utc};
use serde::Deserialize;

use crate::SnapshotId;
use crate::atomic::persist;
use crate::bytes::PACKED;
use crate::entries::Entries;
use crate::error::{Naming, StoreError};
use crate::files::{if_there, only_regular, open_careful, parent, sync_dir};
use crate::lock::read_json;
use crate::temp::{self, TempFile, reap_beside};

/// Tells the time: the system's, or a test's.
pub type Clock = Box<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// Who works on the store, for the audit log.
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
/// What may stand in a directory that has no FORMAT yet: a run was killed
/// before it wrote that, or another tool made its folder first.
const OURS: [&str; 8] = [
    "FORMAT",
    "lock",
    "locks",
    "tmp",
    "context",
    "memory",
    "offloaded",
    "index",
];

impl Store {
    /// Where the store lies unless somebody says otherwise: state, not data, for it belongs
    /// to this machine (XDG Base Directory Specification, `$XDG_STATE_HOME`). `variable`
    /// reads a variable of the environment.
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
        let store = Self {
            root: root.to_owned(),
            actor,
            clock,
        };
        store.check()?;
        Ok(store)
    }

    /// The directory of the store that `path` lies in; the path need not exist.
    pub fn around(path: &Path) -> Option<PathBuf> {
        let real = path.ancestors().find_map(|above| {
            let is_bare = above.as_os_str().is_empty();
            let above = if is_bare { Path::new(".") } else { above };
            above.canonicalize().ok()
        })?;
        real.ancestors()
            .find(|dir| is_store(dir))
            .map(Path::to_owned)
    }

    /// Refuses a path that lies in a store, be it this one or another: whoever names all
    /// files below a folder does not mean the snapshots in there.
    pub fn refuse_inside(path: &Path) -> Result<(), StoreError> {
        match Self::around(path) {
            Some(root) => Err(StoreError::InStore {
                path: path.to_owned(),
                root,
            }),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        let Some(meta) = if_there(fs::metadata(&self.root).naming("open", &self.root))? else {
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
        Err(StoreError::Insecure {
            path: self.root.clone(),
            why,
        })
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
        for name in Entries::of(&self.root).naming("read", &self.root)? {
            let name = name.naming("read", &self.root)?;
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
        if !format.try_exists().naming("read", &format)? {
            make_dirs(&self.root)?;
            reap_beside(&format);
            let mut temp = TempFile::beside(&format, 0o600).naming("create", &format)?;
            temp.write_all(FORMAT.as_bytes()).naming("write", &format)?;
            // Without anything in it, the store is not what was asked for.
            persist(temp, &format).map_err(StoreError::before)?;
        }
        for dir in [
            self.snapshots(),
            self.tmp(),
            self.locks(),
            self.root.join("context"),
        ] {
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

    /// Large tool results that were taken out of sessions, a folder per session.
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
        temp::reap(&dir, None);
        TempFile::create(&dir, stem.as_ref(), mode).naming("create a file in", &dir)
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    pub(crate) fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// What was set aside because it is damaged.
    pub(crate) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }

    /// The time, to the microsecond, as names of snapshots have it.
    pub fn now(&self) -> DateTime<Utc> {
        (self.clock)().trunc_subsecs(6)
    }
}

/// Whether what lies at a path is of this store's making and no session: a store, or a file that was
/// replaced and stays beside its successor for a while.
pub fn is_kept_aside(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let is_retained = |name: &str| name.starts_with('.') && name.contains(crate::meta::RETAINED);
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

/// Creates a private directory and those above it, durably.
pub(crate) fn make_dirs(dir: &Path) -> Result<(), StoreError> {
    let is_root = dir.parent().is_none();
    match fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Err(error) if is_root || error.kind() != io::ErrorKind::NotFound => {
            return Err(error).naming("create", dir);
        }
        _ => {}
    }
    let above = parent(dir);
    make_dirs(above)?;
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => sync_dir(above),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).naming("create", dir),
    }
}

#[cfg(test)]
mod tests {
    use super::{Actor, Store, UNKNOWN_FORMAT};
    use crate::StoreError;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn open(root: &Path) -> Result<Store, StoreError> {
        let actor = Actor {
            tool: "test".into(),
            flags: Vec::new(),
        };
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

    /// P3: a store that others can write into, or that is none.
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
        assert_eq!(
            fs::read_to_string(root.join("FORMAT")).expect("reads"),
            "{\"format\":1}\n"
        );
    }
}
