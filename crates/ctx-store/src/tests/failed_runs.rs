//! What failed and killed replacements leave behind, and how an undo treats those leftovers.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::SnapshotChoice;
use crate::tests::moments::{Act, around_exchanges};
use crate::tests::{Bench, id};
use crate::{
    Entry, Figures, MinIdle, NewContent, ReplaceOutcome, SnapshotKind, Store, StoreError, hash,
};

/// Calls `run` with these bytes as the new content.
fn with_new<T>(bytes: &str, run: impl FnOnce(&mut NewContent<'_>) -> T) -> T {
    let sha256 = hash(&mut bytes.as_bytes()).expect("from memory");
    run(&mut NewContent {
        reader: &mut bytes.as_bytes(),
        sha256: &sha256,
        operation: "compact",
        kind: SnapshotKind::PreCompact,
        figures: Figures::default(),
    })
}

fn replace_in(store: &Store, path: &Path, bytes: &str) -> Result<ReplaceOutcome, StoreError> {
    with_new(bytes, |new| store.replace(path, &id("demo"), MinIdle::default(), new))
}

fn replace(bench: &Bench, path: &Path, bytes: &str) -> Result<ReplaceOutcome, StoreError> {
    replace_in(&bench.store, path, bytes)
}

/// Runs a replacement that fails, because the new content does not have the expected hash.
fn failed(bench: &Bench, path: &Path) {
    let damaged = with_new("new\n", |new| {
        new.sha256 = "00";
        bench.store.replace(path, &id("demo"), MinIdle::default(), new)
    });
    assert!(matches!(damaged, Err(StoreError::Damaged { .. })));
}

/// Runs a replacement that is killed right before its commit, so that it cleans up nothing.
fn killed(bench: &Bench, path: &Path, bytes: &str) {
    let kill: Act = Box::new(|| panic!("killed"));
    around_exchanges([kill]);
    let run = catch_unwind(AssertUnwindSafe(|| replace(bench, path, bytes)));
    run.expect_err("killed");
}

fn append(path: &Path, bytes: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("opens");
    file.write_all(bytes.as_bytes()).expect("written");
}

fn entries(bench: &Bench) -> Vec<Entry> {
    bench.store.catalog(None).expect("lists").entries
}

/// Returns the content that an undo would restore.
fn undone(bench: &Bench, path: &Path) -> Result<String, StoreError> {
    let found = bench.store.find_restore(&id("demo"), SnapshotChoice::Undo(Some(path)));
    found.map(|found| std::io::read_to_string(found.content).expect("reads"))
}

/// Creates the file `s.jsonl`, which is compacted once and then grows.
fn compacted(bench: &Bench) -> PathBuf {
    let path = bench.file("s.jsonl", "old\n");
    replace(bench, &path, "compacted\n").expect("replaced");
    append(&path, "more\n");
    path
}

/// A failed run leaves no snapshot, however it fails.
#[test]
fn a_failed_run_leaves_no_snapshot() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", "old\n");
    let earlier = bench.take("demo", b"earlier\n");
    let store = &bench.store;
    failed(&bench, &path);
    assert_eq!(entries(&bench).len(), 1);
    let acts: [fn(&Path); 2] = [
        |path| fs::write(path, "OLD\n").expect("written over"),
        |path| fs::remove_file(path).expect("removed"),
    ];
    for act in acts {
        let claimed = store.begin_replacement(&path, &id("demo"), MinIdle::default());
        let claimed = claimed.expect("claimed");
        act(&path);
        let changed = with_new("new\n", |new| claimed.commit(new));
        assert!(matches!(changed, Err(StoreError::Changed(_))), "{changed:?}");
        assert_eq!(entries(&bench).len(), 1);
        let newest = store.newest(&id("demo")).expect("there");
        assert_eq!(newest.id, earlier);
    }
    let log = fs::read_to_string(store.audit_log()).expect("reads");
    assert!(log.contains("\"op\":\"withdraw\""), "{log}");
    let left = crate::fs::file_names(bench.dir.path()).expect("reads");
    assert_eq!(left, ["store"]);
}

/// An undo restores the state before the last compaction, even if a later run failed.
#[test]
fn undo_passes_over_a_run_that_failed_and_one_that_was_killed() {
    let bench = Bench::new();
    let path = compacted(&bench);
    failed(&bench, &path);
    append(&path, "and more\n");
    assert_eq!(undone(&bench, &path).expect("found"), "old\n");

    killed(&bench, &path, "compacted again\n");
    assert_eq!(entries(&bench).len(), 2, "that run could not clean up");
    assert_eq!(undone(&bench, &path).expect("found"), "old\n");
    append(&path, "and still more\n");
    assert_eq!(undone(&bench, &path).expect("found"), "old\n");

    // The file has been rewritten, so the newest replacement counts.
    fs::write(&path, "another\n").expect("written");
    let newest = undone(&bench, &path).expect("found");
    assert_eq!(newest, "compacted\nmore\nand more\n");
    fs::remove_file(&path).expect("removed");
    assert_eq!(undone(&bench, &path).expect("found"), newest);
}

/// A damaged snapshot stops an undo. An older state is never restored unless the user asks for it.
#[test]
fn undo_stops_at_a_damaged_snapshot() {
    type Damage = fn(&Bench, &Entry);
    let damages: [(&str, Damage); 4] = [
        ("other bytes", |bench, entry| {
            let path = bench.store.data_path(&entry.id);
            let mut bytes = fs::read(&path).expect("reads");
            bytes[0] ^= 1;
            fs::remove_file(&path).expect("removed");
            fs::write(&path, bytes).expect("written");
        }),
        ("cut", |bench, entry| {
            let path = bench.store.data_path(&entry.id);
            fs::remove_file(&path).expect("removed");
            fs::write(&path, "").expect("written");
        }),
        ("no bytes", |bench, entry| {
            fs::remove_file(bench.store.data_path(&entry.id)).expect("removed");
        }),
        ("no commit record", |bench, entry| {
            let path = bench.store.meta_path(&entry.id);
            fs::remove_file(&path).expect("removed");
            fs::write(&path, "{}").expect("written");
        }),
    ];
    for (what, damage) in damages {
        let bench = Bench::new();
        let path = compacted(&bench);
        replace(&bench, &path, "compacted again\n").expect("replaced");
        let newest = &entries(&bench)[1];
        damage(&bench, newest);
        let error = undone(&bench, &path).expect_err(what);
        let said = error.to_string();
        assert!(said.contains(&newest.id.to_string()), "{what}: {said}");
        assert!(said.contains("nothing was undone"), "{what}: {said}");
    }
}

/// A damaged snapshot that was taken on request does not affect an undo.
#[test]
fn undo_minds_only_snapshots_of_replacements() {
    let bench = Bench::new();
    let path = compacted(&bench);
    let taken = bench.take("demo", b"something\n");
    fs::remove_file(bench.store.data_path(&taken)).expect("removed");
    assert_eq!(undone(&bench, &path).expect("found"), "old\n");
}

/// A job that is killed each night does not fill the disk.
#[test]
fn killed_runs_leave_one_snapshot_of_the_same_bytes() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", "old\n");
    for _ in 0..3 {
        killed(&bench, &path, "new\n");
        assert_eq!(entries(&bench).len(), 1);
    }
    replace(&bench, &path, "new\n").expect("replaced");
    assert_eq!(entries(&bench).len(), 1);
    assert_eq!(undone(&bench, &path).expect("found"), "old\n");
}

/// The next run removes what a killed run left next to the file. After a complete run, the folder
/// is not searched for leftovers, because that would mean reading all of it.
#[test]
fn what_a_killed_run_had_begun_goes() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", "old\n");
    let begun = bench.file(".s.jsonl.ctx-tmp-1-2-3", "ne");
    replace(&bench, &path, "new\n").expect("replaced");
    assert!(begun.exists());
    let lock = bench.store.locks().join("demo");
    assert_eq!(fs::read_to_string(&lock).expect("reads"), "");
    fs::write(&lock, "{\"pid\":1,\"tool\":\"ctx-compact\"}\n").expect("written");
    replace(&bench, &path, "newer\n").expect("replaced");
    assert!(!begun.exists());
}

/// A snapshot on hold stays, even if a later run takes another one with the same bytes.
#[test]
fn what_is_held_is_not_superseded() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", "old\n");
    killed(&bench, &path, "new\n");
    bench.store.hold(None, "1", true).expect("held");
    replace(&bench, &path, "new\n").expect("replaced");
    assert_eq!(entries(&bench).len(), 2);
}

/// After a kill, a run with another store removes the second name that it finds, and does not use a
/// name that is taken.
#[test]
fn a_killed_run_hinders_no_run_with_another_store() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", "old\n");
    for number in [1, 2] {
        let link = bench.dir.path().join(format!(".s.jsonl.ctx-old-{number}"));
        fs::hard_link(&path, link).expect("linked");
    }
    let theirs = bench.file(".s.jsonl.ctx-old-3", "what an agent wrote\n");
    fs::write(bench.dir.path().join(".s.jsonl.ctx-old-x"), "").expect("written");
    let other = Bench::other_run(&bench.dir.path().join("other"));
    for bytes in ["a\n", "b\n", "c\n", "d\n"] {
        replace_in(&other, &path, bytes).expect("replaced");
    }
    assert_eq!(fs::read_to_string(&path).expect("reads"), "d\n");
    assert_eq!(fs::read_to_string(&theirs).expect("reads"), "what an agent wrote\n");
    let mut left = crate::fs::file_names(bench.dir.path()).expect("reads");
    left.sort();
    let expected = [".s.jsonl.ctx-old-3", ".s.jsonl.ctx-old-x", "other", "s.jsonl"];
    assert_eq!(left, expected);

    // A second name that the tools did not create belongs to the user, so the file is refused.
    fs::hard_link(&path, bench.dir.path().join("mine")).expect("linked");
    let refused = replace_in(&other, &path, "e\n").expect_err("two names");
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
}

/// A snapshot's content is read back before anything is replaced.
#[test]
fn a_snapshot_is_read_back_before_anybody_relies_on_it() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", "old\n");
    let claimed = bench.store.begin_replacement(&path, &id("demo"), MinIdle::default());
    let claimed = claimed.expect("claimed");
    let tmp = bench.store.tmp();
    let spooled = crate::fs::file_names(&tmp).expect("reads").pop().expect("one");
    let disk = File::options().write(true).open(tmp.join(spooled));
    disk.and_then(|mut disk| disk.write_all(b"O")).expect("damaged");
    let refused = with_new("new\n", |new| claimed.commit(new));
    let error = refused.expect_err("damaged").to_string();
    assert!(error.contains("differ from those that were written"), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("reads"), "old\n");
    assert_eq!(entries(&bench).len(), 0);
    assert_eq!(fs::read_dir(tmp).expect("reads").count(), 0);
}
