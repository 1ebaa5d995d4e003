//! `ctx-gc` packs older snapshots, and readers see no difference.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{TimeDelta, Utc};
use ctx_store::{Actor, SnapshotKind, Store};
use ctx_testkit::Case;
use tempfile::TempDir;

use crate::gc::CTX_GC;
use crate::rollback::{CTX_ROLLBACK, Mounted};
use crate::snapshot::CTX_SNAPSHOT;

const OLD: &str = "{\"role\":\"user\",\"content\":\"old\"}\n";
const NEW: &str = "{\"role\":\"user\",\"content\":\"new\"}\n";

/// Returns snapshots of the session demo, taken this many days ago from the file s.jsonl.
fn saved(root: &Path, ages: &[i64], text: &str) -> Vec<String> {
    saved_as("demo", root, ages, text)
}

/// Takes snapshots of this session, this many days ago.
pub(crate) fn saved_as(session: &str, root: &Path, ages: &[i64], text: &str) -> Vec<String> {
    let live = root.join("s.jsonl");
    let save = |days: &i64| {
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        let days = *days;
        let clock = Box::new(move || Utc::now() - TimeDelta::days(days));
        let store = Store::open(&root.join(".local/state/ctx"), actor, clock).expect("opens");
        fs::write(&live, format!("{text}{{\"days\":{days}}}\n")).expect("written");
        let draft = store.draft_of(&live).expect("reads");
        let session = session.parse().expect("an id");
        let snapshot = draft.commit(&session, SnapshotKind::Snapshot);
        snapshot.expect("commits").id.to_string()
    };
    ages.iter().map(save).collect()
}

fn folder(ages: &[i64]) -> (TempDir, Vec<String>) {
    let dir = tempfile::tempdir().expect("a folder");
    let ids = saved(dir.path(), ages, OLD);
    (dir, ids)
}

fn files(dir: &Path, id: &str) -> [bool; 2] {
    [".jsonl", ".jsonl.zst"].map(|end| path(dir, id, end).exists())
}

fn path(dir: &Path, id: &str, end: &str) -> PathBuf {
    let folder = dir.join(".local/state/ctx/memory/session-summaries");
    folder.join(format!("{id}{end}"))
}

fn gc(dir: &Path) -> Case {
    // The first run after a day without any operation doubts the clock.
    Case::new(CTX_GC).within(dir).args(["--trust-clock"])
}

/// Snapshots older than a day are packed, and an ordinary night reports nothing about it.
#[test]
fn what_is_a_day_old_is_packed_without_a_word() {
    let (dir, ids) = folder(&[3, 0]);
    let size = fs::metadata(path(dir.path(), &ids[0], ".jsonl")).expect("there");
    let size = size.len();
    let plan = format!(
        "keep {}: --keep-days\nkeep {}: newest of its session, --keep-days\nwould pack {}: {size} bytes\n",
        ids[0], ids[1], ids[0]
    );
    gc(dir.path()).args(["-n"]).stdout(plan).run();
    gc(dir.path()).args(["--no-pack"]).run();
    gc(dir.path()).env("CTX_RETENTION_PACK_AFTER_DAYS", "false").run();
    gc(dir.path()).args(["--pack-after-days", "4"]).run();
    assert_eq!(files(dir.path(), &ids[0]), [true, false]);
    gc(dir.path()).run();
    assert_eq!(files(dir.path(), &ids[0]), [false, true]);
    assert_eq!(files(dir.path(), &ids[1]), [true, false]);
    gc(dir.path()).run();
    gc(dir.path())
        .args(["-n", "--keep-last", "1", "--pack-after-days", "0"])
        .stdout_has(&format!(
            "would remove {}: no rule keeps it\nkeep {}: newest of its session, --keep-last\nwould pack {}: ",
            ids[0], ids[1], ids[1]
        ))
        .run();
}

#[test]
fn packing_is_told_to_those_who_ask() {
    let (dir, ids) = folder(&[3, 2]);
    let size = |end| fs::metadata(path(dir.path(), &ids[0], end)).map_or(0, |file| file.len());
    let plain = size(".jsonl");
    gc(dir.path())
        .args(["-v", "-s", "demo", "--pack-after-days", "3"])
        .stderr_has(&format!("packed {}: {plain} bytes in ", ids[0]))
        .run();
    let packed = size(".jsonl.zst");
    assert!(packed > 0);
    let told = format!(
        "{{\"id\":\"{}\",\"keep\":true,\"reasons\":[],\"kind\":\"snapshot\",\"action\":\"pack\",\"bytes\":{plain},\"packed_bytes\":{packed}}}\n",
        ids[1]
    );
    gc(dir.path()).args(["--json"]).stdout(told).run();
}

#[test]
fn packed_snapshots_are_shown_checked_restored_and_removed() {
    let (dir, ids) = folder(&[3, 2]);
    gc(dir.path()).run();
    let text = format!("{OLD}{{\"days\":3}}\n");
    let snapshot = |args: &[&str]| Case::new(CTX_SNAPSHOT).within(dir.path()).args(args.to_vec());
    snapshot(&["--show", "1"]).stdout(text.clone()).run();
    for more in [None, Some("--read-data")] {
        let verdicts = ids.iter().map(|id| format!("{id}: OK\n"));
        let verdicts = verdicts.collect::<String>();
        snapshot(&["--verify"]).args(more).stdout(verdicts).run();
    }
    let rollback = || Case::new(CTX_ROLLBACK).within(dir.path());
    let content = || fs::read_to_string(dir.path().join("s.jsonl")).expect("reads");
    fs::write(dir.path().join("s.jsonl"), NEW).expect("written");
    rollback().args(["-q", "-s", "demo", "--snapshot", "1", "s.jsonl"]).run();
    assert_eq!(content(), text);
    // The snapshot that the rollback took is packed as well, and the undo finds it.
    gc(dir.path()).args(["--pack-after-days", "0"]).run();
    rollback().args(["-q", "-s", "demo", "--undo", "s.jsonl"]).run();
    assert_eq!(content(), NEW);
    rollback().args(["-s", "demo", "--snapshot", "1", "--to", "-"]).stdout(text.clone()).run();
    gc(dir.path())
        .args(["-s", "demo", "--keep-last", "1"])
        .stdout_has(&format!("removed {}: no rule keeps it\n", ids[0]))
        .run();
    assert_eq!(files(dir.path(), &ids[0]), [false, false]);
    Case::new(CTX_GC)
        .within(dir.path())
        .args(["--undelete", "1"])
        .stdout(format!("{}\n", ids[0]))
        .run();
    snapshot(&["--show", "1"]).stdout(text).run();
}

/// Everything can be restored without our tools.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn zstdcat_and_sha256sum_agree_with_the_record() {
    let (dir, ids) = folder(&[3]);
    gc(dir.path()).run();
    let Ok(unpacked) =
        Command::new("zstdcat").arg(path(dir.path(), &ids[0], ".jsonl.zst")).output()
    else {
        eprintln!("skipped: zstdcat is not installed");
        return;
    };
    assert!(unpacked.status.success());
    let sha256 = ctx_store::hash(&mut &unpacked.stdout[..]).expect("from memory");
    let record = path(dir.path(), &ids[0], ".meta.json");
    let record = fs::read_to_string(record).expect("reads");
    assert!(record.contains(&format!("\"sha256\":\"{sha256}\"")), "{record}");
}

/// If the disk is full, plain files stay plain, and the next night packs them.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_full_disk_leaves_them_plain() {
    let Some(disk) = Mounted::new("1m") else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let root = disk.0.path();
    // Bytes that no packing makes smaller than a page.
    let text: Vec<String> =
        (0..8000_u32).map(|n| format!("{{\"n\":{}}}\n", n.wrapping_mul(2_654_435_761))).collect();
    let ids = saved(root, &[3], &text.concat());
    let filler = root.join("filler");
    let mut file = fs::File::create(&filler).expect("creates");
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    gc(root).code(3).stderr_has("No space left on device").run();
    assert_eq!(files(root, &ids[0]), [true, false]);
    fs::remove_file(filler).expect("removed");
    gc(root).run();
    assert_eq!(files(root, &ids[0]), [false, true]);
    Case::new(CTX_SNAPSHOT)
        .within(root)
        .args(["--verify", "--read-data"])
        .stdout(format!("{}: OK\n", ids[0]))
        .run();
}
