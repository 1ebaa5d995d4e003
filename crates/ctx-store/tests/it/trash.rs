//! A removed item can be restored until its grace period ends.

use std::fs;

use crate::{Bench, session, show};
use chrono::TimeDelta;
use ctx_store::{StoreError, StoreItem};

#[test]
fn what_was_discarded_comes_back_byte_for_byte() {
    let bench = Bench::new();
    let snapshot = bench.take(b"bytes\n");
    let removed = bench
        .store
        .discard(std::slice::from_ref(&snapshot.id), &[], bench.store.now())
        .expect("discards");
    assert_eq!(removed.items, [StoreItem::Snapshot(snapshot.id.clone())]);
    assert!(bench.store.catalog(None).expect("lists").entries.is_empty());
    let item = bench.undelete("1").expect("brings back");
    assert_eq!(item, StoreItem::Snapshot(snapshot.id));
    assert_eq!(show(&bench.store, "1"), b"bytes\n");
    assert!(bench.names("store/trash").is_empty());
    assert!(matches!(bench.undelete("1"), Err(StoreError::NotInTrash(_))));
}

#[test]
fn a_snapshot_whose_move_was_interrupted_comes_back_too() {
    let bench = Bench::new();
    let snapshot = bench.take(b"bytes\n");
    // A run was killed after it had moved meta.json to the trash, and the next run moved the other
    // file.
    let bin = bench.path("store/trash/20261122T000000.000000Z-0000");
    fs::create_dir_all(&bin).expect("mkdir");
    let meta = bench.store.meta_path(&snapshot.id);
    fs::rename(&meta, bin.join(meta.file_name().expect("a name"))).expect("renames");
    let uncommitted = bench.store.catalog(None).expect("lists").uncommitted;
    bench.store.discard(&[], &uncommitted, bench.store.now()).expect("discards");
    bench.undelete("1").expect("brings back");
    assert_eq!(show(&bench.store, "1"), b"bytes\n");
}

#[test]
fn grace_ends_and_foreign_files_stay() {
    let bench = Bench::new();
    let snapshot = bench.take(b"bytes\n");
    bench.store.discard(&[snapshot.id], &[], bench.store.now()).expect("discards");
    let bin = bench.names("store/trash").pop().expect("a folder");
    fs::write(bench.path(&format!("store/trash/{bin}/README")), "mine").expect("writes");
    let deadline = |bench: &Bench| Some(bench.store.now() - TimeDelta::days(7));
    bench.wait_days(6);
    assert!(bench.store.purge(deadline(&bench)).expect("purges").items.is_empty());
    bench.wait_days(1);
    assert_eq!(bench.store.purge(deadline(&bench)).expect("purges").items.len(), 1);
    assert_eq!(bench.names(&format!("store/trash/{bin}")), ["README"]);
}

#[test]
fn what_changed_since_the_plan_is_spared() {
    let bench = Bench::new();
    let held = bench.take(b"1\n");
    let committed = bench.take(b"2\n");
    bench.store.hold(None, "1", true).expect("holds");
    // The list was made before one snapshot was put on hold and while the other was being
    // committed.
    let removed =
        bench.store.discard(&[held.id], &[committed.id], bench.store.now()).expect("discards");
    assert!(removed.items.is_empty());
    assert_eq!(bench.store.catalog(None).expect("lists").entries.len(), 2);
    assert!(bench.names("store/trash").is_empty());
}

#[test]
fn forgetting_leaves_nothing_of_a_session_and_all_of_the_others() {
    let bench = Bench::new();
    let trashed = bench.take(b"1\n");
    bench.store.discard(&[trashed.id], &[], bench.store.now()).expect("discards");
    bench.take(b"2\n");
    let live = bench.file("s.jsonl", b"other\n");
    let other = "other".parse().expect("an id");
    bench.save(&live, &other);
    for session in ["demo", "other"] {
        fs::create_dir_all(bench.path(&format!("store/offloaded/{session}"))).expect("mkdir");
    }
    // Half of a snapshot, as a killed run leaves it in the trash.
    let half = "demo-20200101T000000.000000Z-0001.jsonl";
    let bin = bench.names("store/trash").pop().expect("a folder");
    fs::write(bench.path(&format!("store/trash/{bin}/{half}")), "half").expect("writes");
    bench.store.hold(None, "2", true).expect("holds");
    assert!(matches!(bench.store.forget(&session()), Err(StoreError::Held(_))));
    bench.store.hold(None, "2", false).expect("releases");
    let removed = bench.store.forget(&session()).expect("forgets");
    assert_eq!(removed.items.len(), 3);
    assert_eq!(show(&bench.store, "3"), b"other\n");
    assert_eq!(bench.names("store/offloaded"), ["other"]);
    let left = walkdir::WalkDir::new(bench.path("store")).into_iter().flatten();
    assert!(
        !left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("demo-"))
    );
    let log = fs::read_to_string(bench.store.audit_log()).expect("reads");
    assert!(log.lines().last().expect("a record").contains("\"op\":\"forget\",\"phase\":\"done\""));
}
