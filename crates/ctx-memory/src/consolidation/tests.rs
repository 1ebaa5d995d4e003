//! Consolidations of a store.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ctx_store::{Actor, Store};

use super::{Consolidated, Consolidation};

struct Field {
    dir: tempfile::TempDir,
    store: Store,
}

impl Field {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let actor = Actor {
            tool: "test".into(),
            flags: Vec::new(),
        };
        let root = dir.path().join("store");
        let store = Store::open(&root, actor, Box::new(chrono::Utc::now)).expect("a store");
        Self { dir, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.store.memory().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.store.prepare().expect("made");
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.store.audit_log()).unwrap_or_default()
    }

    fn run(&self) -> Consolidated {
        let count = |text: &str| text.split_whitespace().count() as u64;
        let consolidation = Consolidation::new(&self.store, 1000, &count);
        let plan = consolidation.plan().expect("read");
        let done = consolidation.run(&mut |_| None).expect("done");
        assert_eq!(
            (plan.changes, plan.report),
            (done.changes.clone(), done.report.clone())
        );
        done
    }
}

/// All files of a folder with their bytes.
fn all(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(all(&path));
        } else {
            found.push((path.clone(), fs::read(&path).expect("read")));
        }
    }
    found.sort();
    found
}

const OLD: &str = "- We decided to use SQLite for the cache. (user, a:1, 2026-11-01)\n";
const NEW: &str = "- Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n";

/// 16: of nothing nothing is made, not even a store.
#[test]
fn without_a_memory_there_is_nothing_to_do() {
    let field = Field::new();
    assert!(field.run().changes.is_empty());
    assert!(!field.store.root().exists());
}

/// 16: what is replaced is kept, what is done is recorded, and a second run does nothing.
#[test]
fn a_second_run_changes_nothing() {
    let field = Field::new();
    let decisions = format!("# Decisions\n\n{OLD}{NEW}");
    field.write("extracted/decisions.md", &decisions);
    field.write("daily/2026-11-03.md", "- preference: Tabs\n- note\n");
    let done = field.run();
    let names: Vec<&str> = done.changes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "memory/extracted/preferences.md",
            "memory/extracted/decisions.md",
            "memory/summary/master.md"
        ]
    );
    assert!(
        field
            .read("summary/master.md")
            .contains("- Tabs (user, memory/daily/2026-11-03.md:1")
    );
    let kept = all(&field.path("history"));
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].1, decisions.as_bytes());
    let log = field.log();
    assert_eq!(log.matches(r#""op":"consolidate""#).count(), 2, "{log}");
    assert!(
        log.contains(r#""phase":"done""#) && log.contains(r#""count":2"#),
        "{log}"
    );
    let state = fs::metadata(field.path("consolidated.json")).expect("there");
    assert_eq!(state.permissions().mode() & 0o777, 0o600);
    let before = all(field.store.root());
    for _ in 0..2 {
        assert!(field.run().changes.is_empty());
        assert_eq!(all(field.store.root()), before);
    }
    // What is new in a log and has no entries is only noted.
    let daily = field.read("daily/2026-11-03.md");
    field.write("daily/2026-11-03.md", &format!("{daily}mine\n"));
    assert!(field.run().changes.is_empty());
    assert_eq!(field.log(), log);
}

/// 16: the master is kept as it was before it is replaced.
#[test]
fn the_old_master_is_kept() {
    let field = Field::new();
    field.write("extracted/decisions.md", OLD);
    field.run();
    let master = field.read("summary/master.md");
    field.write("extracted/decisions.md", &format!("{OLD}- b (user, c:1)\n"));
    field.run();
    let kept = all(&field.path("history"));
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].1, master.as_bytes());
}

/// 16: what was merged when it was logged, and deleted before the first run, stays away.
#[test]
fn what_somebody_deleted_is_known_by_the_audit_log() {
    let field = Field::new();
    field.write("extracted/decisions.md", NEW);
    let today = field.store.now().format("%F").to_string();
    field.write(
        &format!("daily/{today}.md"),
        "- decision: Tabs. (user, a:1)\n",
    );
    let facts = ctx_store::Facts {
        session: Some("a".to_owned()),
        ..ctx_store::Facts::default()
    };
    field.store.begin("extract", &facts).expect("written");
    assert_eq!(field.run().report.imported, 0);
}

/// 16: nothing outside of the store is read or written.
#[test]
fn links_are_not_followed() {
    for name in [
        "summary/master.md",
        "extracted/facts.md",
        "daily/2026-11-03.md",
        "daily",
    ] {
        let field = Field::new();
        field.write("extracted/decisions.md", OLD);
        let outside = field.dir.path().join("outside");
        fs::create_dir(&outside).expect("made");
        let link = field.path(name);
        fs::create_dir_all(link.parent().expect("a folder")).expect("made");
        symlink(&outside, &link).expect("a link");
        let before = all(field.store.root());
        let count = |_: &str| 0;
        let consolidation = Consolidation::new(&field.store, 9, &count);
        assert!(consolidation.plan().is_err(), "{name}");
        assert!(consolidation.run(&mut |_| None).is_err(), "{name}");
        assert_eq!(all(field.store.root()), before, "{name}");
    }
}
