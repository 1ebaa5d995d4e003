//! The store's directory: its layout, its format, the access check, and the files that can be
//! recomputed if they are lost.
//!
//! The locks on the store and on sessions are kernel locks. The kernel releases a lock as soon as
//! the process that holds it dies, so there are no stale locks to remove by hand.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{
    Entries, MOMENT, PATIENCE, TempFile, careful, if_there, is_left, lock, make_dirs, only_regular,
    open_careful, open_plain, parent, persist, reap, reap_beside, rename, sync_dir,
};
use crate::id::{SessionId, SnapshotId, Stamp};
use crate::snapshot::meta::{META, PACKED, PLAIN, SnapshotFile, Version, snapshot_files};

/// A function that returns the current time. Tests pass their own clock.
pub type Clock = Box<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The program that is using the store, as recorded in the audit log.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The name of the program, such as `ctx-gc`.
    pub tool: String,
    /// The names of the run's command-line flags, without their values.
    pub flags: Vec<String>,
}

/// A store on disk. If the store does not exist yet, the first write creates it.
pub struct Store {
    /// The directory of the store.
    pub root: PathBuf,
    pub(crate) actor: Actor,
    clock: Clock,
}

const FORMAT: &str = "{\"format\":1}\n";
const UNKNOWN_FORMAT: &str = "has an unknown format; a newer version of the tools wrote it";
/// The names of the entries that a store may contain before it has a FORMAT file. A directory with
/// no other entries may be used as a store. A run may have been killed before it wrote the FORMAT
/// file, or another tool may have created its own folder first.
const OURS: [&str; 8] =
    ["FORMAT", "lock", "locks", "tmp", "context", "memory", "offloaded", "index"];

impl Store {
    /// Returns the default path of the store. The store is in `$XDG_STATE_HOME` rather than with
    /// the user's data, because it is specific to this machine (XDG Base Directory Specification).
    /// `variable` looks up an environment variable.
    pub fn usual_root(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let in_home = || Some(absolute("HOME")?.join(".local/state"));
        Some(absolute("XDG_STATE_HOME").or_else(in_home)?.join("ctx"))
    }

    /// Opens the store at `root`, which need not exist yet. Refuses a store that other users can
    /// write to, or whose format is unknown. A new store inside another store is refused as well,
    /// because its path could be in the outer store's trash.
    pub fn open(root: &Path, actor: Actor, clock: Clock) -> Result<Self> {
        if !is_store(root) {
            // Another process may have created the store in the meantime.
            let is_there = |refused| is_store(root).then_some(()).ok_or(refused);
            Self::refuse_inside(root).or_else(is_there)?;
        }
        let store = Self { root: root.to_owned(), actor, clock };
        store.check()?;
        Ok(store)
    }

    /// Returns the store that contains `path`, if any. The path need not exist.
    pub fn around(path: &Path) -> Option<PathBuf> {
        let real = path.ancestors().find_map(|above| {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            above.canonicalize().ok()
        })?;
        real.ancestors().find(|dir| is_store(dir)).map(Path::to_owned)
    }

    /// Refuses a path inside any store, so that a command that is run on all files below a folder
    /// cannot change snapshots.
    pub fn refuse_inside(path: &Path) -> Result<()> {
        let inside = |root| Err(StoreError::InStore { path: path.to_owned(), root });
        Self::around(path).map_or(Ok(()), inside)
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
            "other users can write to it"
        } else {
            return self.check_format();
        };
        Err(StoreError::Insecure { path: self.root.clone(), why })
    }

    fn check_format(&self) -> Result<()> {
        let path = self.root.join("FORMAT");
        // Open FORMAT without blocking, because anyone who can write to the folder could put a FIFO
        // or a device in its place.
        if let Some(file) = if_there(only_regular(open_careful(&path), "read", &path))? {
            return match read_json(&file) {
                Some(Version { format: 1 }) => Ok(()),
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

    /// Creates the store if it does not exist. Every function that writes to the store calls this
    /// function first.
    pub fn prepare(&self) -> Result<()> {
        let format = self.root.join("FORMAT");
        self.make_dirs(&self.tmp())?;
        if !format.try_exists().or_cannot("read", &format)? {
            reap_beside(&format);
            // Report a plain failure, because nothing that the user asked for has been done yet.
            self.write_file(&format, FORMAT.as_bytes()).map_err(StoreError::before)?;
        }
        for dir in [self.snapshots(), self.locks(), self.root.join("context")] {
            self.make_dirs(&dir)?;
        }
        Ok(())
    }

    /// Creates a folder in the store.
    pub(crate) fn make_dirs(&self, dir: &Path) -> Result<()> {
        self.refuse_links(dir)?;
        make_dirs(dir)
    }

    /// Refuses a path in the store that leads through a symbolic link, because the link could lead
    /// to files that are not the store's. The store itself may be a link.
    pub fn refuse_links(&self, path: &Path) -> Result<()> {
        let mut inside = path.ancestors().take_while(|path| {
            path.starts_with(&self.root) && path.as_os_str() != self.root.as_os_str()
        });
        let link = inside.find(|path| path.is_symlink());
        link.map_or(Ok(()), |link| Err(StoreError::refused(link, "is a symbolic link")))
    }

    /// Returns the folder for snapshots, cumulative summaries and memory files.
    pub fn memory(&self) -> PathBuf {
        self.root.join("memory")
    }

    /// Returns the folder for offloaded results, which contains one folder per session.
    pub fn offloaded(&self) -> PathBuf {
        self.root.join("offloaded")
    }

    /// Returns the path of the audit log.
    pub fn audit_log(&self) -> PathBuf {
        self.root.join("context/events.jsonl")
    }

    /// Returns the path of a snapshot's plain bytes, which exist until the snapshot is packed.
    pub fn data_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(format!("{id}{PLAIN}"))
    }

    /// Returns the path of a snapshot's packed bytes.
    pub fn packed_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(format!("{id}{PACKED}"))
    }

    /// Returns the path of a snapshot's commit record.
    pub fn meta_path(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(format!("{id}{META}"))
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.memory().join("session-summaries")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Removes the files that killed runs left in `tmp/`, and creates a file there.
    pub(crate) fn temp(&self, stem: &str, mode: u32) -> Result<TempFile> {
        let dir = self.tmp();
        reap(&dir);
        TempFile::create(&dir, stem.as_ref(), mode).or_cannot("create a file in", &dir)
    }

    /// Atomically writes a private file in the store.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        persist(self.written(path, bytes)?, path)
    }

    /// Writes a file that can be recomputed. The file is not flushed to disk, because losing it
    /// only means recomputing it.
    pub(crate) fn write_derived(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temp = self.written(path, bytes)?;
        rename(temp.path(), path).or_not_written(path)?;
        temp.keep();
        Ok(())
    }

    /// Writes a file in `tmp/` that will be renamed to `path`, and creates the folder that will
    /// contain it.
    fn written(&self, path: &Path, bytes: &[u8]) -> Result<TempFile> {
        self.make_dirs(parent(path))?;
        let mut temp = self.temp(&path.file_name().unwrap_or_default().to_string_lossy(), 0o600)?;
        temp.write_all(bytes).or_not_written(path)?;
        Ok(temp)
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    pub(crate) fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// Returns the folder for damaged files that were set aside.
    pub(crate) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }

    /// Returns the current time to the microsecond, the precision used in the names of snapshots.
    pub fn now(&self) -> DateTime<Utc> {
        (self.clock)().trunc_subsecs(6)
    }

    /// Returns the path of the index that lists the sessions on this machine.
    pub fn session_index(&self) -> PathBuf {
        self.root.join("index/sessions.jsonl")
    }

    /// Returns the folder that contains the search index. The lock file for the search index has
    /// the same name, followed by `.lock`.
    pub fn search_index(&self) -> PathBuf {
        self.root.join("index/search")
    }

    /// Returns the content of the session index, or `None` if it cannot be read for any reason.
    pub fn read_session_index(&self) -> Option<String> {
        let file = open_plain(&self.session_index()).ok()?;
        let length = file.metadata().ok()?.len();
        // Limit the length, in case another program keeps appending to the file.
        io::read_to_string(file.take(length)).ok()
    }

    /// Replaces the session index, without taking a lock or flushing the file to disk. If two runs
    /// replace the session index at the same time, the later one wins. If a crash damages the
    /// session index, it is rebuilt.
    pub fn replace_session_index(&self, text: &str) -> Result<()> {
        self.prepare()?;
        self.write_derived(&self.session_index(), text.as_bytes())
    }

    /// Locks the store, and creates it if it does not exist.
    pub(crate) fn lock(&self) -> Result<StoreLock<'_>> {
        self.prepare()?;
        let path = self.root.join("lock");
        let file = open_lock(&path)?;
        lock(&file, &path, PATIENCE, || format!("the store {} is locked", self.root.display()))?;
        Ok(StoreLock { store: self, file })
    }

    /// Locks a session. If another run holds the lock, the error identifies that run.
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
        // Ignore a failure, such as a full disk. The file is locked even if it does not contain the
        // holder's name.
        let _ = write_json(&file, &holder);
        Ok(SessionLock { file, after_a_kill })
    }

    /// Returns the latest time at which a snapshot was taken, or `None` if the store's lock file
    /// cannot be read.
    pub(crate) fn latest_time(&self) -> Option<DateTime<Utc>> {
        Some(read_json::<Counter>(&open_plain(&self.root.join("lock")).ok()?)?.latest)
    }
}

/// Whether the path is a store, or a replaced file that is kept for a while next to the new one.
/// Neither a store nor a replaced file is a session.
pub fn is_kept_aside(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let is_retained =
        |name: &str| name.starts_with('.') && name.contains(crate::snapshot::meta::RETAINED);
    name.is_some_and(|name| is_retained(&name)) || is_store(path)
}

/// Whether a directory is a store. A store that has another format or has lost its FORMAT is
/// recognized by the folders that every store contains.
pub fn is_store(dir: &Path) -> bool {
    let has = |name| dir.join(name).is_dir();
    let is_whole = || has("locks") && has("memory/session-summaries");
    has("context") && (dir.join("FORMAT").is_file() || is_whole())
}

/// The lock on the store. The lock protects the sequence numbers, the renames that commit
/// snapshots, ctx-gc's removals, and the audit log. The lock is never held while a tool reads
/// stdin, writes to stdout or waits for the network, because other runs would have to wait as well.
pub(crate) struct StoreLock<'a> {
    pub(crate) store: &'a Store,
    file: File,
}

/// The lock on a session. A tool that replaces the session file takes the lock before copying the
/// old content, and holds it until the new content is in place.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    /// Whether the previous run was killed before it could clean up.
    pub(crate) after_a_kill: bool,
}

impl SessionLock {
    /// Flushes the content of the lock file to disk. After a crash, the lock file tells the next
    /// run that files may have been left next to the session file.
    pub(crate) fn remember(&self, store: &Store) {
        // Ignore a failure, because ctx-gc finds the remaining files even without the lock file.
        if self.file.sync_data().is_ok() {
            let _ = sync_dir(&store.locks());
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // If this process leaves an unfinished file behind, keep the lock file's content, so that
        // the next run cleans up as if this one had been killed.
        if !is_left() {
            let _ = self.file.set_len(0);
        }
    }
}

/// The content of the store's lock file.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Counter {
    /// The most recently assigned sequence number.
    sequence: u64,
    /// The latest time assigned together with a sequence number.
    latest: DateTime<Utc>,
}

/// The content of a session's lock file while a run holds the lock. Other runs read this content to
/// name the holder in error messages. If the holder is killed, the content remains and tells the
/// next run to clean up.
#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    tool: String,
}

impl StoreLock<'_> {
    /// Returns the current time and the next sequence number. The number is higher than any
    /// assigned before, even if the snapshots with those numbers are gone.
    pub(crate) fn next_stamp(&mut self) -> Result<Stamp> {
        let time = self.store.now();
        let last = read_json::<Counter>(&self.file).map_or_else(|| self.count(), Ok)?;
        let next = Counter { sequence: last.sequence + 1, latest: last.latest.max(time) };
        // Flush the counter to disk, because the next run relies on it instead of reading the names
        // of all snapshots.
        self.write_counter(&next)?;
        Ok(Stamp { sequence: next.sequence, time })
    }

    /// Recomputes the counter in the lock file. Returns whether the recorded number was missing or
    /// too low.
    pub(crate) fn recount(&mut self) -> Result<bool> {
        let counted = self.count()?;
        let known = read_json::<Counter>(&self.file);
        self.write_counter(&counted)?;
        Ok(known.is_none_or(|known| known.sequence < counted.sequence))
    }

    fn write_counter(&mut self, counter: &Counter) -> Result<()> {
        let synced = write_json(&self.file, counter).and_then(|()| self.file.sync_data());
        synced.or_cannot("write", &self.store.root.join("lock"))
    }

    /// Computes the counter from the names of all snapshots and from the old counter.
    fn count(&self) -> Result<Counter> {
        let old = read_json::<serde_json::Value>(&self.file).unwrap_or_default();
        let sequence = old["sequence"].as_u64().unwrap_or(0);
        let mut counter = Counter { sequence, latest: DateTime::UNIX_EPOCH };
        for SnapshotFile { id, .. } in snapshot_files(&self.store.snapshots())? {
            counter.sequence = counter.sequence.max(id.stamp.sequence);
            counter.latest = counter.latest.max(id.stamp.time);
        }
        Ok(counter)
    }
}

fn open_lock(path: &Path) -> Result<File> {
    careful().write(true).create(true).mode(0o600).open(path).or_cannot("open", path)
}

pub(crate) fn read_json<T: DeserializeOwned>(mut file: &File) -> Option<T> {
    file.rewind().ok()?;
    serde_json::from_str(&io::read_to_string(file.take(4096)).ok()?).ok()
}

/// Returns a derived file's content, or the default value if the file is missing or damaged.
pub(crate) fn read_derived<T: DeserializeOwned + Default>(path: &Path) -> T {
    let file = open_plain(path).ok();
    file.and_then(|file| read_json(&file)).unwrap_or_default()
}

/// Overwrites the file in a single write and truncates it afterwards, so that its content is not
/// lost if the run is killed.
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
        assert_eq!(Store::around(&root), None, "without FORMAT and locks/, it could be any folder");
    }

    /// P1: a store is private from the moment it is created.
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

    /// P3: a store that other users can write to is refused, and so is a folder that is not a
    /// store.
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
        open(&root).expect("files that people put there stay");
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
