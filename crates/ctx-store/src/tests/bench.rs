//! A store for unit tests, with helper functions.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chrono::DateTime;
use tempfile::TempDir;

use crate::tests::moments::Act;
use crate::{
    Actor, Addition, Content, Form, OffloadedFile, ReplaceOutcome, Replacement, SessionId,
    SnapshotId, SnapshotKind, Store, StoreError, StoreItem,
};

/// A store in its own folder, with a clock that moves only on request.
pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) store: Store,
    micros: Arc<AtomicI64>,
}

const MICROS_OF_A_DAY: i64 = 86_400_000_000;

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let now = chrono::Utc::now().timestamp_micros();
        let micros = Arc::new(AtomicI64::new(now));
        let clock = {
            let micros = Arc::clone(&micros);
            move || DateTime::from_timestamp_micros(micros.load(Ordering::SeqCst)).expect("a time")
        };
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        let store = Store::open(&dir.path().join("store"), actor, Box::new(clock));
        Self { dir, store: store.expect("opens"), micros }
    }

    /// Opens the store again, as another run would.
    pub(crate) fn other_run(root: &Path) -> Store {
        let actor = Actor { tool: "other".into(), flags: Vec::new() };
        Store::open(root, actor, Box::new(chrono::Utc::now)).expect("opens")
    }

    /// Advances the clock by `days` days.
    pub(crate) fn wait_days(&self, days: i64) {
        self.micros.fetch_add(days * MICROS_OF_A_DAY, Ordering::SeqCst);
    }

    /// Takes a snapshot of bytes that do not come from a file.
    pub(crate) fn take(&self, session: &str, bytes: &[u8]) -> SnapshotId {
        let draft = self.store.draft(bytes, Path::new("memory"));
        let draft = draft.expect("from memory");
        let snapshot = draft.commit(&id(session), SnapshotKind::Snapshot);
        snapshot.expect("commits").id
    }

    /// Creates a session file.
    pub(crate) fn file(&self, name: &str, bytes: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        path
    }

    /// Offloads a result. `transcript` is recorded as a session file that may name the offloaded
    /// file.
    pub(crate) fn offload(&self, session: &str, text: &str, transcript: &Path) -> OffloadedFile {
        let session = id(session);
        let mut writer = self.store.offload(&session);
        let content = Content { form: Form::TEXT, text: text.to_owned() };
        let file = writer.put(&content, None).expect("writes");
        writer.finish(&[Some(transcript)]).expect("syncs");
        file
    }
}

impl Store {
    /// Restores one item from the trash.
    pub(crate) fn undelete(&self, item: &StoreItem) -> Result<(), StoreError> {
        let (_, mut failed) = self.undelete_all(std::slice::from_ref(item));
        failed.pop().map_or(Ok(()), Err)
    }
}

impl Replacement<'_> {
    /// Appends lines without running another step first.
    pub(crate) fn append(self, addition: Addition<'_>) -> Result<ReplaceOutcome, StoreError> {
        let Ok(done) = self.append_after(addition, || Ok::<(), Infallible>(()))?;
        Ok(done)
    }
}

pub(crate) fn id(session: &str) -> SessionId {
    session.parse().expect("an id")
}

/// An agent that runs in its own thread, because a lease may make it wait when it opens the file.
pub(crate) struct Agent {
    start: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Agent {
    pub(crate) fn new(write: impl FnOnce() + Send + 'static) -> Self {
        let (start, started) = mpsc::channel();
        let thread = thread::spawn(move || {
            if started.recv().is_ok() {
                write();
            }
        });
        Self { start, thread }
    }

    /// Returns an event that starts the agent; the replacement continues a little later.
    pub(crate) fn starts(&self) -> Act {
        let start = self.start.clone();
        Box::new(move || {
            start.send(()).expect("it waits");
            thread::sleep(Duration::from_millis(30));
        })
    }

    pub(crate) fn ends(self) {
        self.thread.join().expect("no panic");
    }
}
