//! An agent that appends while its session is rolled back, again and again.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use crate::Bench;
use ctx_store::{Replaced, Severity, Store};

const LINES: usize = 400;

/// Opens, appends a line and closes, as agents do.
fn append_all(path: &Path) {
    for n in 0..LINES {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .expect("opens");
        file.write_all(format!("{{\"n\":{n}}}\n").as_bytes())
            .expect("writes");
        drop(file);
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// Runs `replace` over and over while an agent appends.
fn under_fire(path: &Path, mut replace: impl FnMut()) {
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| append_all(path));
        while !agent.is_finished() {
            replace();
        }
    });
}

fn lines(bytes: &[u8]) -> HashSet<String> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Which of the agent's lines are neither in the live file nor in a snapshot.
fn lost(live: &Path, store: Option<&Store>) -> usize {
    let mut found = lines(&fs::read(live).expect("reads"));
    if let Some(store) = store {
        for entry in store.catalog(None).expect("lists").entries {
            store.open_verified(&entry).expect("whole");
            found.extend(lines(&fs::read(store.data_path(&entry.id)).expect("reads")));
        }
    }
    (0..LINES)
        .filter(|n| !found.contains(&format!("{{\"n\":{n}}}")))
        .count()
}

#[test]
fn no_line_is_lost() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"start\n");
    let targets = [bench.take(b"one\n"), bench.take(b"two\n")];
    let (mut at, mut done) = (0, 0);
    under_fire(&live, || {
        at += 1;
        match bench.restore(&live, &targets[at % 2]) {
            Ok(Replaced::New { .. }) => done += 1,
            Ok(_) => {}
            Err(error) => assert_eq!(error.severity(), Severity::Busy, "{error}"),
        }
    });
    bench.store.sweep_retained(None).expect("sweeps");
    assert_eq!(lost(&live, Some(&bench.store)), 0);
    assert!(done > 0, "at least one replacement went through");
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

/// Without this, the test above could pass because nothing ever collides.
#[test]
fn the_naive_way_loses_lines() {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    fs::write(&live, "start\n").expect("writes");
    under_fire(&live, || {
        let old = fs::read(&live).expect("reads");
        let new = dir.path().join("new");
        fs::write(&new, old).expect("writes");
        std::thread::sleep(Duration::from_millis(1));
        fs::rename(new, &live).expect("renames");
    });
    assert!(lost(&live, None) > 0);
}
