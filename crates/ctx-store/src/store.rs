//! The store's directory: what lies where, who may touch it, which format it has.
//! Files of the store that are made of others and may be lost: they cost time, and nothing else.
//!
//! The locks on the store and on a session are the kernel's: free as soon as their holder dies, so
//! there is no stale lock and nothing to unlock by hand.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::atomic::{TempFile, is_left, persist, reap, reap_beside};
use crate::fs::folder::{Entries, make_dirs};
use crate::fs::{
    MOMENT, PATIENCE, careful, if_there, lock, only_regular, open_careful, open_plain, parent,
    sync_dir,
};
use crate::id::{SessionId, SnapshotId, Stamp};
use crate::os;
use crate::snapshot::{META, PACKED, PLAIN, SnapshotFile, snapshot_files};

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
    pub fn open(root: &Path, actor: Actor, clock: Clock) -> Result<Self> {
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
    pub fn refuse_inside(path: &Path) -> Result<()> {
        match Self::around(path) {
            Some(root) => Err(StoreError::InStore { path: path.to_owned(), root }),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
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

    fn check_format(&self) -> Result<()> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let path = self.root.join("FORMAT");
        // Whoever may write there can put anything in its place: a FIFO, a device.
        if let Some(file) = if_there(only_regular(open_careful(&path), "read", &path))? {
            return match read_json(&file) {
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
    pub fn prepare(&self) -> Result<()> {
        let format = self.root.join("FORMAT");
        make_dirs(&self.tmp())?;
        if !format.try_exists().or_cannot("read", &format)? {
            reap_beside(&format);
            // Without anything in it, the store is not what was asked for.
            self.write_file(&format, FORMAT.as_bytes()).map_err(StoreError::before)?;
        }
        for dir in [self.snapshots(), self.locks(), self.root.join("context")] {
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
        self.snapshots().join(format!("{id}{PLAIN}"))
    }

    /// The packed bytes of a snapshot.
    pub fn packed_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(format!("{id}{PACKED}"))
    }

    /// The commit record of a snapshot.
    pub fn meta_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(format!("{id}{META}"))
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.memory().join("session-summaries")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A new file in `tmp/`; what killed runs left there is removed.
    pub(crate) fn temp(&self, stem: &str, mode: u32) -> Result<TempFile> {
        let dir = self.tmp();
        reap(&dir);
        TempFile::create(&dir, stem.as_ref(), mode).or_cannot("create a file in", &dir)
    }

    /// Writes a private file of the store, whole or not at all.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        persist(self.written(path, bytes)?, path)
    }

    /// Writes a file that is made of others and may be lost: it is not flushed to the disk.
    pub(crate) fn write_derived(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temp = self.written(path, bytes)?;
        fs::rename(temp.path(), path).or_not_written(path)?;
        temp.keep();
        Ok(())
    }

    /// A file in `tmp/` that will be the one at `path`, whose folder is made.
    fn written(&self, path: &Path, bytes: &[u8]) -> Result<TempFile> {
        make_dirs(parent(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut temp = self.temp(&name, 0o600)?;
        temp.write_all(bytes).or_not_written(path)?;
        Ok(temp)
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
        let file = open_plain(&self.session_index()).ok()?;
        let length = file.metadata().ok()?.len();
        // Lines that are appended to it meanwhile are not the tools'.
        io::read_to_string(file.take(length)).ok()
    }

    /// Replaces the index of sessions. No lock and no flush to the disk: of two runs at the
    /// same time the later one's stays, and one that a crash tore is as good as none.
    pub fn replace_session_index(&self, text: &str) -> Result<()> {
        self.prepare()?;
        self.write_derived(&self.session_index(), text.as_bytes())
    }

    /// Takes the store's lock, creating the store if need be.
    pub(crate) fn lock(&self) -> Result<StoreLock<'_>> {
        self.prepare()?;
        let path = self.root().join("lock");
        let file = open_lock(&path)?;
        let busy = || format!("the store {} is locked", self.root().display());
        lock(&file, &path, PATIENCE, busy)?;
        Ok(StoreLock { store: self, file })
    }

    /// Takes a session's lock, or says who has it.
    pub fn lock_session(&self, session: &SessionId) -> Result<SessionLock> {
        self.prepare()?;
        let path = self.locks().join(session.as_str());
        let file = open_lock(&path)?;
        let holder = || read_json::<Holder>(&file);
        lock(&file, &path, MOMENT, || {
            let by = holder().map(|it| format!(" by {} (pid {})", it.tool, it.pid));
            format!("session {session} is being changed{}", by.unwrap_or_default())
        })?;
        let after_a_kill = holder().is_some();
        let holder = Holder { pid: std::process::id(), tool: self.actor.tool.clone() };
        // A full disk does not matter: the file is locked, whatever it says.
        let _ = write_json(&file, &holder);
        Ok(SessionLock { file, after_a_kill })
    }

    /// The latest time that a snapshot was ever taken at, as far as it can be read now.
    pub(crate) fn latest_time(&self) -> Option<DateTime<Utc>> {
        let counter: Counter = read_json(&open_plain(&self.root().join("lock")).ok()?)?;
        Some(counter.latest)
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

/// The store's lock: sequence numbers, commit renames, gc, audit records.
/// Never held while stdin is read, stdout is written or the network is waited for.
pub(crate) struct StoreLock<'a> {
    pub(crate) store: &'a Store,
    file: File,
}

/// A session's lock: held from plan to commit by what replaces its file.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    /// Whether the previous run was killed before it could clean up.
    pub(crate) after_a_kill: bool,
}

impl SessionLock {
    /// Records durably that this run may leave files next to the session file.
    pub(crate) fn remember(&self, store: &Store) {
        // If this cannot be flushed, gc finds the files.
        if os::sync_data(&self.file).is_ok() {
            let _ = sync_dir(&store.locks());
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // If the file remains, the next run searches for leftovers, as after a kill.
        if !is_left() {
            let _ = self.file.set_len(0);
        }
    }
}

/// Content of the store's lock file.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Counter {
    /// The last number that was given.
    sequence: u64,
    /// The latest time that was given with one.
    latest: DateTime<Utc>,
}

/// Content of a session's lock file while a run has it: for the message that it does, and for
/// the next run, when this one is killed.
#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    tool: String,
}

impl StoreLock<'_> {
    /// The time, with the next number of the store: above every number that was ever given,
    /// also when the snapshots that had them are gone.
    pub(crate) fn next_stamp(&mut self) -> Result<Stamp> {
        let time = self.store.now();
        let last = match read_json::<Counter>(&self.file) {
            Some(last) => last,
            None => self.count()?,
        };
        let next = Counter { sequence: last.sequence + 1, latest: last.latest.max(time) };
        // On the disk, because the names of the snapshots are not read again.
        self.write_counter(&next)?;
        Ok(Stamp { sequence: next.sequence, time })
    }

    /// Counts the snapshots again. Returns whether the last number was missing or too low.
    pub(crate) fn recount(&mut self) -> Result<bool> {
        let counted = self.count()?;
        let known = read_json::<Counter>(&self.file);
        self.write_counter(&counted)?;
        Ok(known.is_none_or(|known| known.sequence < counted.sequence))
    }

    fn write_counter(&mut self, counter: &Counter) -> Result<()> {
        let written = write_json(&self.file, counter);
        let synced = written.and_then(|()| os::sync_data(&self.file));
        synced.or_cannot("write", &self.store.root().join("lock"))
    }

    /// Counts from the names of all snapshots and the remaining counter.
    fn count(&self) -> Result<Counter> {
        #[derive(Deserialize)]
        struct Number {
            sequence: u64,
        }
        let sequence = read_json(&self.file).map_or(0, |Number { sequence }| sequence);
        let mut counter = Counter { sequence, latest: DateTime::UNIX_EPOCH };
        for SnapshotFile { id, .. } in snapshot_files(&self.store.snapshots())? {
            counter.sequence = counter.sequence.max(id.stamp.sequence);
            counter.latest = counter.latest.max(id.stamp.time);
        }
        Ok(counter)
    }
}

fn open_lock(path: &Path) -> Result<File> {
    let opened = careful().write(true).create(true).mode(0o600).open(path);
    opened.or_cannot("open", path)
}

pub(crate) fn read_json<T: DeserializeOwned>(mut file: &File) -> Option<T> {
    file.rewind().ok()?;
    let text = io::read_to_string(file.take(4096)).ok()?;
    serde_json::from_str(&text).ok()
}

/// The content of a derived file; the default where it is missing or damaged.
pub(crate) fn read_derived<T: DeserializeOwned + Default>(path: &Path) -> T {
    let file = open_plain(path).ok();
    file.and_then(|file| read_json(&file)).unwrap_or_default()
}

/// One write, then truncation: a killed run loses no number.
fn write_json(file: &File, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    file.write_all_at(&text, 0)?;
    file.set_len(text.len() as u64)
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
