//! Tests of `ctx-gc`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use chrono::{TimeDelta, Utc};
use ctx_store::{Actor, SnapshotKind, Store};
use ctx_testkit::Case;
use tempfile::TempDir;

use crate::rollback::Mounted;
use crate::snapshot::CTX_SNAPSHOT;

pub(crate) const CTX_GC: &str = env!("CARGO_BIN_EXE_ctx-gc");

fn gc(dir: &Path) -> Case {
    Case::new(CTX_GC).within(dir)
}

/// Returns snapshots of session demo, and their ids.
fn saved(count: usize) -> (TempDir, Vec<String>) {
    let dir = tempfile::tempdir().expect("a folder");
    let ids = (1..=count)
        .map(|n| {
            let done = Case::new(CTX_SNAPSHOT)
                .within(dir.path())
                .file("s.jsonl", "{}\n".repeat(n))
                .args(["-s", "demo", "s.jsonl"])
                .stdout_any()
                .run();
            String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
        })
        .collect();
    (dir, ids)
}

fn store(dir: &Path) -> PathBuf {
    dir.join(".local/state/ctx")
}

fn listed(dir: &Path) -> Vec<String> {
    let done = Case::new(CTX_SNAPSHOT).within(dir).args(["--list"]).stdout_any().run();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    // The oldest comes first.
    let lines = text.lines().rev();
    lines.map(|line| line[..line.find(' ').expect("columns")].to_owned()).collect()
}

#[test]
fn reasons_are_shown_and_nothing_is_done() {
    let (dir, ids) = saved(3);
    let plan = format!(
        "would remove {}: no rule keeps it\nkeep {}: --keep-last\nkeep {}: newest of its session, --keep-last\n",
        ids[0], ids[1], ids[2]
    );
    gc(dir.path()).args(["-n", "--keep-last", "2"]).stdout(plan).run();
    assert_eq!(listed(dir.path()), ids);
    gc(dir.path())
        .args(["-n", "--json", "--keep-last", "1", "--keep-within", "1d"])
        .stdout_has(&format!(
            "{{\"id\":\"{}\",\"keep\":true,\"reasons\":[\"newest of its session\",\"--keep-last\",\"--keep-within\"],\"kind\":\"snapshot\",\"action\":\"keep\"}}\n",
            ids[2]
        ))
        .run();
}

/// Returns the line of `--json` about an item that is removed.
fn going(id: &str, kind: &str, action: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"keep\":false,\"reasons\":[],\"kind\":\"{kind}\",\"action\":\"{action}\"}}\n"
    )
}

#[test]
fn json_says_what_goes_and_how() {
    let (dir, ids) = saved(3);
    let removed = [&ids[0], &ids[1]].map(|id| going(id, "snapshot", "remove"));
    gc(dir.path()).args(["--json", "--keep-last", "1"]).stdout(removed.concat()).run();
    // The grace period of one of the two items is over.
    let trash = store(dir.path()).join("trash");
    let folder = fs::read_dir(&trash).expect("a trash").next();
    let folder = folder.expect("a folder").expect("an entry").path();
    let long_ago = trash.join("20200102T030405.000000Z-0001");
    fs::create_dir(&long_ago).expect("a folder");
    for entry in fs::read_dir(&folder).expect("reads") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        if name.to_string_lossy().starts_with(&ids[0]) {
            fs::rename(&path, long_ago.join(name)).expect("moves");
        }
    }
    let purged = going(&ids[0], "snapshot", "purge");
    gc(dir.path()).args(["-n", "--json"]).stdout_has(&purged).run();
    gc(dir.path()).args(["--json"]).stdout(purged).run();
    gc(dir.path()).args(["--json", "--purge"]).stdout(going(&ids[1], "snapshot", "purge")).run();
    gc(dir.path())
        .args(["-n", "--json", "--forget", "-s", "demo"])
        .stdout(going(&ids[2], "snapshot", "delete"))
        .run();
    gc(dir.path())
        .args(["--json", "--forget", "-s", "demo"])
        .stdout(going(&ids[2], "snapshot", "delete"))
        .run();
}

#[test]
fn a_bare_m_is_refused_in_a_span() {
    let (dir, ids) = saved(1);
    gc(dir.path())
        .args(["--keep-within", "1m"])
        .code(2)
        .stderr_has("m could mean months or minutes; write 1mo for a month or 1min for a minute")
        .run();
    for span in ["1mo", "1min", "1y6mo2w3d4h5min6s"] {
        gc(dir.path())
            .args(["-n", "--keep-within", span])
            .stdout(format!("keep {}: newest of its session, --keep-within\n", ids[0]))
            .run();
    }
}

#[test]
fn what_is_removed_can_be_had_back() {
    let (dir, ids) = saved(3);
    gc(dir.path())
        .args(["--keep-last", "1"])
        .stdout(format!(
            "removed {}: no rule keeps it\nremoved {}: no rule keeps it\n",
            ids[0], ids[1]
        ))
        .run();
    assert_eq!(listed(dir.path()), ids[2..]);
    gc(dir.path()).args(["--keep-last", "1"]).run();
    gc(dir.path()).args(["--undelete", "1"]).stdout(format!("{}\n", ids[0])).run();
    assert_eq!(listed(dir.path()), [ids[0].clone(), ids[2].clone()]);
    gc(dir.path()).args(["--purge"]).stdout(format!("purged {}\n", ids[1])).run();
    gc(dir.path())
        .args(["--undelete", "2"])
        .code(2)
        .stderr("ctx-gc: nothing in the trash matches \"2\"\n")
        .run();
}

#[test]
fn cron_hears_nothing_when_there_is_nothing_to_do() {
    let (dir, ids) = saved(1);
    gc(dir.path()).run();
    gc(tempfile::tempdir().expect("a folder").path()).run();
    assert_eq!(listed(dir.path()), ids);
}

#[test]
fn held_ones_and_the_newest_stay() {
    let (dir, ids) = saved(3);
    Case::new(CTX_SNAPSHOT)
        .within(dir.path())
        .args(["--hold", "1"])
        .stdout(format!("{}\n", ids[0]))
        .run();
    gc(dir.path())
        .args(["--keep-last", "1", "--no-floor", "-s", "demo"])
        .stdout(format!("removed {}: no rule keeps it\n", ids[1]))
        .run();
    gc(dir.path())
        .args(["--forget", "-s", "demo"])
        .code(2)
        .stderr(&format!(
            "ctx-gc: snapshot {} is held; release it with ctx-snapshot --release\n",
            ids[0]
        ))
        .run();
    Case::new(CTX_SNAPSHOT).within(dir.path()).args(["--release", "1"]).stdout_any().run();
    gc(dir.path()).args(["--keep-last", "1"]).stdout_has(&ids[0]).run();
}

#[test]
fn forgetting_is_for_good() {
    let (dir, ids) = saved(2);
    gc(dir.path())
        .args(["--forget", "-n", "-s", "demo"])
        .stdout(format!("would delete {}\nwould delete {}\n", ids[0], ids[1]))
        .run();
    gc(dir.path())
        .args(["--forget", "-s", "demo"])
        .stdout(format!("deleted {}\ndeleted {}\n", ids[0], ids[1]))
        .run();
    assert!(listed(dir.path()).is_empty());
    let log = fs::read_to_string(store(dir.path()).join("context/events.jsonl")).expect("reads");
    assert!(log.lines().last().expect("a record").contains("\"op\":\"forget\",\"phase\":\"done\""));
}

/// G1: zero, negative numbers and mistyped words are not policies.
#[test]
fn policies_that_keep_nothing_are_usage_errors() {
    let (dir, ids) = saved(2);
    for args in [
        ["--keep-last", "0"],
        ["--keep-days", "0"],
        ["--keep-daily", "-1"],
        ["--keep-weekly", "many"],
        ["--keep-within", ""],
        ["--keep-within", "0d"],
        ["--keep-lst", "3"],
        ["--no-floor", "--floor-days=1"],
        ["--floor-days", "0"],
        ["--forget", "--purge"],
    ] {
        gc(dir.path()).args(args).code(2).stderr_has("").run();
    }
    assert_eq!(listed(dir.path()), ids);
}

/// G3: a snapshot that cannot be read is not known to be old, and a nightly job reports it.
#[test]
fn unknown_is_not_expired() {
    let (dir, ids) = saved(3);
    let folder = store(dir.path()).join("memory/session-summaries");
    let meta = folder.join(format!("{}.meta.json", ids[0]));
    fs::remove_file(&meta).expect("removes");
    fs::write(&meta, "{").expect("writes");
    fs::write(folder.join("demo.md"), "a summary").expect("writes");
    gc(dir.path())
        .args(["--keep-last", "1"])
        .code(3)
        .stdout(format!("removed {}: no rule keeps it\n", ids[1]))
        .stderr_has(&format!("ctx-gc: snapshot {} is damaged: ", ids[0]))
        .run();
    assert!(meta.exists() && folder.join("demo.md").exists());
}

/// L8: ctx-gc skips a session while another run that changes it holds its lock.
#[test]
fn a_session_that_is_rolled_back_at_the_moment_is_skipped() {
    let (dir, ids) = saved(2);
    let path = store(dir.path()).join("locks/demo");
    let lock = fs::File::create(path).expect("creates");
    lock.lock().expect("locks");
    gc(dir.path()).args(["-q", "--keep-last", "1"]).run();
    assert_eq!(listed(dir.path()), ids);
    drop(lock);
    gc(dir.path()).args(["--keep-last", "1"]).stdout_has(&ids[0]).run();
}

#[test]
fn grace_is_over_after_its_days() {
    let (dir, ids) = saved(2);
    gc(dir.path()).args(["--keep-last", "1"]).stdout_has("removed").run();
    let trash = store(dir.path()).join("trash");
    let bin = fs::read_dir(&trash).expect("reads").next().expect("one").expect("an entry").path();
    fs::rename(bin, trash.join("20260101T000000.000000Z-0000")).expect("renames");
    gc(dir.path()).args(["-n"]).stdout_has(&format!("would purge {}\n", ids[0])).run();
    gc(dir.path()).stdout(format!("purged {}\n", ids[0])).run();
    assert_eq!(fs::read_dir(&trash).expect("reads").count(), 0);
}

/// T1: if the clock is far ahead of everything that the store recorded, nothing is removed, and the
/// message says what to do.
#[test]
fn a_clock_that_jumped_removes_nothing_until_somebody_trusts_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let actor = Actor { tool: "test".into(), flags: Vec::new() };
    let a_month_ago = || Utc::now() - TimeDelta::days(30);
    let old = Store::open(&store(dir.path()), actor, Box::new(a_month_ago)).expect("opens");
    for bytes in ["1\n", "2\n"] {
        let draft = old.draft(bytes.as_bytes(), Path::new("memory")).expect("reads");
        let session = "demo".parse().expect("an id");
        draft.commit(&session, SnapshotKind::Snapshot).expect("commits");
    }
    let ids = listed(dir.path());
    for args in [&["-n"][..], &[], &["--keep-last", "1"]] {
        gc(dir.path())
            .args(args.to_vec())
            .code(4)
            .stderr_has(", 30 days after the last time recorded in the store; nothing was removed; if the clock is right, use --trust-clock, or try again after an hour\n")
            .run();
    }
    assert_eq!(listed(dir.path()), ids);
    gc(dir.path())
        .args(["--trust-clock"])
        .stdout(format!("removed {}: no rule keeps it\n", ids[0]))
        .run();
    gc(dir.path()).run();
}

/// C4: ctx-gc must work on a full disk.
///
/// A locked session is an open file, and a process may have few of these.
#[test]
fn more_sessions_than_files_may_be_open_are_collected() {
    const SESSIONS: usize = 140;
    let dir = tempfile::tempdir().expect("a folder");
    let actor = Actor { tool: "test".into(), flags: Vec::new() };
    let made = Store::open(&store(dir.path()), actor, Box::new(Utc::now)).expect("opens");
    for n in 0..2 * SESSIONS {
        let draft = made.draft(&b"{}\n"[..], Path::new("memory")).expect("reads");
        let session = format!("demo-{}", n / 2).parse().expect("an id");
        draft.commit(&session, SnapshotKind::Snapshot).expect("commits");
    }
    let limited = format!("ulimit -n 120 && exec {CTX_GC} --keep-last 1");
    let done =
        Case::new("/bin/sh").within(dir.path()).args(["-c".to_owned(), limited]).stdout_any().run();
    let removed = String::from_utf8_lossy(&done.stdout);
    assert_eq!(removed.lines().count(), SESSIONS, "{removed}");
    assert_eq!(listed(dir.path()).len(), SESSIONS);
}

/// A run that frees disk space must not need any.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_full_disk_does_not_stop_it() {
    let Some(disk) = Mounted::new("256k") else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let store = disk.0.path().join("store");
    let store = store.to_str().expect("text");
    for n in 1..3 {
        let mut bytes = "{}\n".repeat(n * 1000);
        bytes.push('\n');
        Case::new(CTX_SNAPSHOT)
            .args(["-s", "demo", "--store", store])
            .stdin(bytes.clone())
            .stdout(bytes)
            .run();
    }
    // The last page of the audit log is filled, too, so that any entry would need space.
    let log = Path::new(store).join("context/events.jsonl");
    let mut text = fs::read(&log).expect("reads");
    text.resize(text.len().next_multiple_of(4096) - 1, b' ');
    text.push(b'\n');
    fs::write(&log, text).expect("writes");
    let mut filler = fs::File::create(disk.0.path().join("filler")).expect("creates");
    while filler.write_all(&[0; 4096]).is_ok() {}

    let home = tempfile::tempdir().expect("a folder");
    let full = "ctx-gc: warning: the audit log was not written: the disk is full\n";
    gc(home.path())
        .args(["--store", store, "--keep-last", "1"])
        .code(5)
        .stdout_has("-0001: no rule keeps it\n")
        .stderr(full)
        .run();
    gc(home.path())
        .args(["--store", store, "--purge"])
        .stdout_has("purged demo-")
        .stderr_has("")
        .code(5)
        .run();
}
