//! An agent that appends while its session is rolled back, again and again.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Bench;
use ctx_store::{Replaced, Severity, Store};

/// Opens, appends a line and closes, as agents do, until it is told to stop;
/// returns how many lines it wrote.
fn append_lines(path: &Path, stop: &AtomicBool) -> usize {
    let mut written = 0;
    while !stop.load(Ordering::SeqCst) {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .expect("opens");
        file.write_all(line(written).as_bytes()).expect("writes");
        drop(file);
        written += 1;
        std::thread::sleep(Duration::from_micros(300));
    }
    written
}

fn line(number: usize) -> String {
    format!("{{\"n\":{number}}}\n")
}

/// Lets an agent append until `replace` has gone through so many times.
fn under_fire(path: &Path, times: usize, mut replace: impl FnMut() -> bool) -> usize {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| append_lines(path, &stop));
        let begun = Instant::now();
        let mut through = 0;
        while through < times && begun.elapsed() < Duration::from_secs(60) {
            through += usize::from(replace());
        }
        stop.store(true, Ordering::SeqCst);
        let written = agent.join().expect("the agent ends");
        assert_eq!(through, times, "not one try in a minute went through");
        written
    })
}

fn lines(bytes: &[u8]) -> HashSet<String> {
    String::from_utf8_lossy(bytes)
        .split_inclusive('\n')
        .map(str::to_owned)
        .collect()
}

/// How many of the agent's lines are neither in the live file nor in a snapshot.
fn lost(written: usize, live: &Path, store: Option<&Store>) -> usize {
    let mut found = lines(&fs::read(live).expect("reads"));
    if let Some(store) = store {
        for entry in store.catalog(None).expect("lists").entries {
            store.open_verified(&entry).expect("whole");
            found.extend(lines(&fs::read(store.data_path(&entry.id)).expect("reads")));
        }
    }
    (0..written).filter(|n| !found.contains(&line(*n))).count()
}

#[test]
fn no_line_is_lost() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"start\n");
    let targets = [bench.take(b"one\n"), bench.take(b"two\n")];
    let mut turn = 0;
    let written = under_fire(&live, 8, || {
        turn += 1;
        match bench.restore(&live, &targets[turn % 2]) {
            Ok(replaced) => matches!(replaced, Replaced::New { .. }),
            Err(error) => {
                assert_eq!(error.severity(), Severity::Busy, "{error}");
                false
            }
        }
    });
    bench.store.sweep_retained(None).expect("sweeps");
    assert_eq!(lost(written, &live, Some(&bench.store)), 0);
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

/// Without this, the test above could pass because nothing ever collides.
#[test]
fn the_naive_way_loses_lines() {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    fs::write(&live, "start\n").expect("writes");
    let written = under_fire(&live, 30, || {
        let old = fs::read(&live).expect("reads");
        let new = dir.path().join("new");
        fs::write(&new, old).expect("writes");
        std::thread::sleep(Duration::from_millis(1));
        fs::rename(new, &live).expect("renames");
        true
    });
    assert!(lost(written, &live, None) > 0);
}
