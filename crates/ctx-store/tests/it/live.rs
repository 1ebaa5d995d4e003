//! An agent appends lines while its session is rolled back again and again.

use std::fs;
use std::path::Path;

use crate::Bench;
use ctx_store::{ReplaceOutcome, Severity, Store};
use ctx_testkit::{Agent, lost, replace_by_rename, under_fire};

/// The contents of the live file and of every snapshot.
fn files(live: &Path, store: &Store) -> Vec<Vec<u8>> {
    let mut files = vec![fs::read(live).expect("reads")];
    for entry in store.catalog(None).expect("lists").entries {
        store.open_verified(&entry).expect("whole");
        files.push(fs::read(store.data_path(&entry.id)).expect("reads"));
    }
    files
}

#[test]
fn no_line_is_lost() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"start\n");
    let targets = [bench.take(b"one\n"), bench.take(b"two\n")];
    let mut turn = 0;
    let written = under_fire(&live, Agent::Opening, 8, || {
        turn += 1;
        match bench.restore(&live, &targets[turn % 2]) {
            Ok(replaced) => matches!(replaced, ReplaceOutcome::New { .. }),
            Err(error) => {
                assert_eq!(error.severity(), Severity::Busy, "{error}");
                false
            }
        }
    });
    bench.store.sweep_retained(None).expect("sweeps");
    assert!(lost(&written, &files(&live, &bench.store)).is_empty());
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

/// Shows that the agent's writes do collide with rollbacks. Otherwise the test above could pass
/// merely because no collision ever happens.
#[test]
fn the_naive_way_loses_lines() {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    fs::write(&live, "start\n").expect("writes");
    let written = under_fire(&live, Agent::Opening, 30, || replace_by_rename(&live));
    assert!(!lost(&written, &[fs::read(&live).expect("reads")]).is_empty());
}
