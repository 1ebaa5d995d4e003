//! Tests for the store's public interface.

mod audit;
mod clock;
mod find;
mod growing;
mod live;
mod model;
mod pack;
mod repair;
mod replace;
mod snapshots;
mod trash;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::DateTime;
use ctx_store::{
    Actor, Entry, Figures, MinIdle, NewContent, ReplaceOutcome, SessionId, Snapshot, SnapshotKind,
    Store, StoreError, StoreItem,
};
use tempfile::TempDir;

/// A store in its own folder, with a clock that moves only on request.
struct Bench {
    dir: TempDir,
    store: Store,
    micros: Arc<AtomicI64>,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let micros = Arc::new(AtomicI64::new(1_795_304_587_123_456));
        let store = open(&dir.path().join("store"), &micros);
        Self { dir, store, micros }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("writes");
        path
    }

    fn wait_days(&self, days: i64) {
        self.micros.fetch_add(days * 86_400_000_000, Ordering::SeqCst);
    }

    /// Takes a snapshot of bytes that do not come from a file.
    fn take(&self, bytes: &[u8]) -> Snapshot {
        take(&self.store, bytes)
    }

    /// Takes a snapshot of a session file.
    fn save(&self, path: &Path, session: &SessionId) -> Snapshot {
        let draft = self.store.draft_of(path).expect("reads");
        draft.commit(session, SnapshotKind::Snapshot).expect("commits")
    }

    /// Restores the item in the trash that `wanted` names.
    fn undelete(&self, wanted: &str) -> Result<StoreItem, StoreError> {
        let item = self.store.find_deleted(None, wanted)?;
        undelete(&self.store, &item).map(|()| item)
    }

    /// Rolls `path` back to `snapshot`.
    fn restore(&self, path: &Path, snapshot: &Snapshot) -> Result<ReplaceOutcome, StoreError> {
        let catalog = self.store.catalog(None)?;
        let entry = catalog.find(&snapshot.id.to_string())?;
        let (mut file, meta) = self.store.open_verified(entry)?;
        self.replace(path, &mut file, &meta.sha256)
    }

    fn replace(
        &self,
        path: &Path,
        reader: &mut dyn Read,
        sha256: &str,
    ) -> Result<ReplaceOutcome, StoreError> {
        let mut new = NewContent {
            reader,
            sha256,
            operation: "rollback",
            kind: SnapshotKind::PreRollback,
            figures: Figures::default(),
        };
        self.store.replace(path, &session(), MinIdle::default(), &mut new)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(folder))
            .expect("reads")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        names
    }
}

fn open(root: &Path, micros: &Arc<AtomicI64>) -> Store {
    let micros = Arc::clone(micros);
    let clock =
        move || DateTime::from_timestamp_micros(micros.load(Ordering::SeqCst)).expect("a time");
    let actor = Actor { tool: "test".into(), flags: vec!["session".into()] };
    Store::open(root, actor, Box::new(clock)).expect("opens")
}

/// All committed snapshots in the store.
fn all(store: &Store) -> Vec<Entry> {
    store.catalog(None).expect("lists").entries
}

fn session() -> SessionId {
    "demo".parse().expect("an id")
}

fn take(store: &Store, bytes: &[u8]) -> Snapshot {
    let draft = store.draft(bytes, Path::new("memory"));
    let draft = draft.expect("from memory");
    draft.commit(&session(), SnapshotKind::Snapshot).expect("commits")
}

fn show(store: &Store, wanted: &str) -> Vec<u8> {
    let catalog = store.catalog(None).expect("lists");
    let entry = catalog.find(wanted).expect("finds");
    let (mut file, _) = store.open_verified(entry).expect("whole");
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).expect("reads");
    bytes
}

/// Restores one item from the trash.
fn undelete(store: &Store, item: &StoreItem) -> Result<(), StoreError> {
    let (_, mut failed) = store.undelete_all(std::slice::from_ref(item));
    failed.pop().map_or(Ok(()), Err)
}
