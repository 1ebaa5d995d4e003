//! A test store with content of each kind.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use ctx_store::{Actor, Form, OffloadName, Store};
use ctx_testkit::Case;
use tempfile::TempDir;

/// The time at which all snapshots were taken.
pub(crate) const TAKEN: &str = "2026-11-20T10:00:00Z";

/// A folder with a store in it.
pub(crate) struct Field {
    pub(crate) dir: TempDir,
}

impl Field {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        Self { dir }
    }

    /// Adds memory files, a summary and an offloaded result.
    pub(crate) fn with_memory(self) -> Self {
        self.put(
            "memory/extracted/decisions.md",
            "# Decisions\n\n- 我们决定用 SQLite 存候补名单。 (user, demo:3)\n- The gate code lives in berthbook/gate_code.py. (user, demo:4)\n",
        );
        self.put("memory/daily/2026-11-19.md", "# 2026-11-19\n\nThe feed was repaired.\n");
        self.put("memory/summary/master.md", "# Known\n\n- The harbour is in Vila do Porto.\n");
        self.put("memory/session-summaries/demo.md", "[2] user: repair the nightly import\n");
        self.offload("PASSED tests/test_kiosk.py::test_two_kiosks\n");
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// Creates a file in the store.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Offloads a result from the session `demo`, and returns its ref.
    pub(crate) fn offload(&self, text: &str) -> String {
        let name = OffloadName::of(text.as_bytes(), Form::TEXT);
        let name = format!("offloaded/demo/{name}");
        self.put(&name, text);
        format!("{name}:1")
    }

    /// Opens the store with a clock that always shows [`TAKEN`].
    pub(crate) fn store(&self) -> Store {
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        let taken: DateTime<Utc> = TAKEN.parse().expect("a time");
        Store::open(&self.root(), actor, Box::new(move || taken)).expect("opened")
    }

    /// Takes a snapshot of a session and returns its id.
    pub(crate) fn snapshot(&self, session: &str, lines: &[&str]) -> String {
        let store = self.store();
        let text = lines.join("\n") + "\n";
        let draft = store.draft(text.as_bytes(), Path::new("s.jsonl"));
        let session = session.parse().expect("an id");
        let saved = draft.and_then(|draft| draft.save(&session));
        saved.expect("saved").snapshot().id.to_string()
    }

    /// Runs the tool on the store.
    pub(crate) fn call(&self, args: &[&str]) -> Case {
        Case::new(env!("CARGO_BIN_EXE_ctx-memory"))
            .within(self.dir.path())
            .env("CTX_HOME", "store")
            .args(args.iter().copied())
    }

    /// Returns the refs of the results. There must be at least one result.
    pub(crate) fn refs(&self, args: &[&str]) -> Vec<String> {
        let done = self.call(&[&["search"], args].concat()).stdout_any().run();
        let text = String::from_utf8(done.stdout).expect("UTF-8");
        let line = |line| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        let refs = text.lines().map(line);
        refs.map(|hit| hit["ref"].as_str().expect("a ref").to_owned()).collect()
    }
}
