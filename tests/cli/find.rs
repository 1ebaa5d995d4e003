//! Snapshots are found by number, time, path, name and content.

use std::fs;
use std::path::Path;

use ctx_testkit::{Case, Finished};

use crate::gc::CTX_GC;
use crate::rollback::{NEW, OLD, saved};
use crate::snapshot::CTX_SNAPSHOT;

const CTX_ROLLBACK: &str = env!("CARGO_BIN_EXE_ctx-rollback");

fn snapshot(dir: &Path) -> Case {
    Case::new(CTX_SNAPSHOT).within(dir)
}

fn rollback(dir: &Path) -> Case {
    Case::new(CTX_ROLLBACK).within(dir).stdout_any()
}

fn save(dir: &Path, session: &str, file: &str, text: &str) -> String {
    fs::write(dir.join(file), text).expect("writes");
    id(&snapshot(dir).args(["-s", session, file]).stdout_any().run())
}

fn id(finished: &Finished) -> String {
    let text = String::from_utf8_lossy(&finished.stdout);
    text.trim_end().to_owned()
}

/// Returns the first word of each line of a list.
fn ids(dir: &Path, args: &[&str]) -> Vec<String> {
    let done = snapshot(dir).args(args.iter().copied()).stdout_any().run();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let words = text.lines().filter_map(|line| line.split(' ').next());
    words.map(str::to_owned).collect()
}

/// The beginning of a session's id, at least four characters, stands for the session, but not where
/// everything is deleted for good.
#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let done = saved();
    let dir = done.dir();
    save(dir, "session-one", "s.jsonl", NEW);
    save(dir, "session-two", "s.jsonl", OLD);
    let snapshot = |args: &[&str]| snapshot(dir).args(args.to_vec());
    snapshot(&["--list", "-s", "session-o"]).stdout_has("session-one-").run();
    snapshot(&["--verify", "-s", "session-o"]).stdout_has("session-one-").run();
    snapshot(&["--show", "latest", "-s", "session-o"]).stdout(NEW).run();
    snapshot(&["--list", "-s", "session"])
        .code(2)
        .stderr("ctx-snapshot: no session \"session\" in the store; did you mean -s session-one or -s session-two?\n")
        .run();
    let gc = |args: &[&str]| Case::new(CTX_GC).within(dir).args(args.to_vec());
    gc(&["-n", "-s", "session-o"]).stdout_has("keep session-one-").run();
    gc(&["--forget", "-s", "session-o"])
        .code(2)
        .stderr("ctx-gc: session-o is only the beginning of an id; -s session-one names the session to delete for good\n")
        .run();
    rollback(dir).args(["-s", "session-o", "latest", "--to", "new.jsonl"]).run();
    assert_eq!(done.read("new.jsonl"), NEW.as_bytes());
}

/// A number is never taken as the start of a date. It names a snapshot of this file, or the error
/// says which session has a snapshot with that number.
#[test]
fn a_number_of_another_session_is_never_restored() {
    let done = saved();
    let dir = done.dir();
    let two = save(dir, "other", "o.jsonl", NEW);
    let three = save(dir, "demo", "s.jsonl", NEW);
    for args in [&["-s", "demo"][..], &[]] {
        rollback(dir)
            .args(args.iter().copied().chain(["--snapshot", "2", "s.jsonl"]))
            .code(2)
            .stderr(&format!(
                "ctx-rollback: 2 is {two}, which belongs to another session; ctx-snapshot -l FILE lists those of a file; add -s other to use that one\n"
            ))
            .run();
    }
    assert_eq!(done.read("s.jsonl"), NEW.as_bytes());
    let day = three["demo-".len()..]["20261121".len()..].len();
    let day = &three["demo-".len()..three.len() - day];
    let (year, month, date) = (&day[..4], &day[4..6], &day[6..]);
    rollback(dir)
        .args(["--snapshot", day, "s.jsonl"])
        .code(2)
        .stderr(&format!(
            "ctx-rollback: {day} is not a snapshot number; to name a day, write {year}-{month}-{date}\n"
        ))
        .run();
    snapshot(dir).args(["--show", "1", "s.jsonl"]).stdout(OLD).run();
    rollback(dir).args(["--snapshot", "1", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
}

/// Days and times name snapshots. If several match, the error lists them.
#[test]
fn days_and_times_name_snapshots() {
    let done = saved();
    let dir = done.dir();
    rollback(dir).args(["--snapshot", "today", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
    rollback(dir)
        .args(["--snapshot", "today", "s.jsonl"])
        .code(2)
        .stderr_has("ctx-rollback: \"today\" is ambiguous: demo-")
        .run();
    fs::write(dir.join("s.jsonl"), NEW).expect("writes");
    rollback(dir).args(["--snapshot", "now", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
    rollback(dir)
        .args(["--snapshot", "1 week ago", "s.jsonl"])
        .code(2)
        .stderr_has("ctx-rollback: no snapshot is older than 1 week ago; the oldest is demo-")
        .run();
    fs::write(dir.join("s.jsonl"), NEW).expect("writes");
    rollback(dir).args(["--before", "now", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
    rollback(dir)
        .args(["--before", "today", "s.jsonl"])
        .code(2)
        .stderr_has("ctx-rollback: no snapshot is older than ")
        .run();
    rollback(dir)
        .args(["--before", "last week", "s.jsonl"])
        .code(2)
        .stderr("ctx-rollback: --before: \"last week\" is not a time; for a time in the past, write \"3 days ago\"\n")
        .run();
}

/// Flags with times restrict a list of snapshots.
#[test]
fn a_list_has_the_times_that_are_asked_for() {
    let done = saved();
    let one = ids(done.dir(), &["--list", "--since", "yesterday"]);
    assert_eq!(one.len(), 1);
    assert!(ids(done.dir(), &["--list", "--before", "today"]).is_empty());
    assert_eq!(ids(done.dir(), &["--list", "--before", "now"]), one);
    assert!(ids(done.dir(), &["--list", "--since", "now"]).is_empty());
}

/// A snapshot that was saved under a name is found by the path of its file.
#[test]
fn a_path_finds_what_was_saved_under_a_name() {
    let done = saved();
    let dir = done.dir();
    save(dir, "second", "s.jsonl", NEW);
    save(dir, "demo", "other.jsonl", NEW);
    let all = ids(dir, &["--list"]);
    assert_eq!(ids(dir, &["--list", "s.jsonl"]), all[1..]);
    assert_eq!(ids(dir, &["--list", "-s", "second", "s.jsonl"]), all[1..2]);
    rollback(dir).args(["--snapshot", "1", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
    rollback(dir).args(["-q", "--undo", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), NEW.as_bytes());
}

/// A file that was moved is recognized by its content, and the command that restores it is printed.
#[test]
fn a_moved_file_is_known_by_its_content() {
    let done = saved();
    let dir = done.dir();
    let real = dir.canonicalize().expect("a path").join("s.jsonl");
    fs::remove_file(dir.join("s.jsonl")).expect("removed");
    fs::write(dir.join("moved.jsonl"), [OLD, NEW].concat()).expect("writes");
    let told = format!(
        "ctx-snapshot: warning: moved.jsonl: no snapshot was taken of this path, but the file contains the session that was saved from {}\n",
        real.display()
    );
    snapshot(dir).args(["--list", "moved.jsonl"]).stdout_has("demo-").stderr(&told).run();
    rollback(dir)
        .args(["--snapshot", "latest", "moved.jsonl"])
        .code(2)
        .stderr_has(&format!(
            "-0001 is a snapshot of {}, which is gone; to restore the snapshot here: ctx-rollback -s demo --snapshot 1 --to moved.jsonl\n",
            real.display()
        ))
        .run();
    rollback(dir)
        .args(["-s", "demo", "--snapshot", "1", "--to", "moved.jsonl"])
        .stderr_has("moved.jsonl: removed 1 line (32 bytes) ")
        .run();
    assert_eq!(done.read("moved.jsonl"), OLD.as_bytes());
    fs::write(dir.join("new.jsonl"), NEW).expect("writes");
    snapshot(dir)
        .args(["--list", "new.jsonl"])
        .code(2)
        .stderr("ctx-snapshot: no snapshot was taken of new.jsonl, and no snapshot matches its beginning; name the session with -s ID; ctx-snapshot --list shows all snapshots\n")
        .run();
}

/// A mistyped name is an error wherever the session must exist.
#[test]
fn a_session_with_a_typing_error_is_an_error() {
    let done = saved();
    let dir = done.dir();
    for (tool, args) in [
        (CTX_SNAPSHOT, &["--list"][..]),
        (CTX_SNAPSHOT, &["--list", "--trash"]),
        (CTX_SNAPSHOT, &["--log"]),
        (CTX_SNAPSHOT, &["--show", "latest"]),
        (CTX_SNAPSHOT, &["--diff", "1", "latest"]),
        (CTX_SNAPSHOT, &["--verify"]),
        (CTX_SNAPSHOT, &["--hold", "1"]),
        (CTX_ROLLBACK, &["--snapshot", "latest", "s.jsonl"]),
        (CTX_ROLLBACK, &["-q", "--undo", "s.jsonl"]),
        (CTX_GC, &["-n"]),
        (CTX_GC, &["--forget"]),
    ] {
        let name = Path::new(tool).file_name().expect("a name").display();
        Case::new(tool)
            .within(dir)
            .args(["-s", "dmeo"])
            .args(args.iter().copied())
            .code(2)
            .stderr(&format!("{name}: no session \"dmeo\" in the store; did you mean -s demo?\n"))
            .run();
    }
    assert_eq!(done.read("s.jsonl"), NEW.as_bytes());
    Case::new(CTX_GC)
        .within(dir)
        .args(["--no-floor", "-s", "demo", "--keep-within", "1s", "-n"])
        .stdout_any()
        .run();
}

/// A snapshot in the trash is reported with the command that restores it.
#[test]
fn what_is_in_the_trash_is_said_to_be_there() {
    let done = saved();
    let dir = done.dir();
    save(dir, "demo", "s.jsonl", NEW);
    let gone = Case::new(CTX_GC).within(dir).args(["--keep-last", "1"]).stdout_any().run();
    let gone = id(&gone);
    let gone = gone.trim_start_matches("removed ").split(':').next().expect("an id");
    for wanted in ["1", gone] {
        snapshot(dir)
            .args(["--show", wanted])
            .code(2)
            .stderr(&format!(
                "ctx-snapshot: {gone} is in the trash; ctx-gc --undelete 1 restores it\n"
            ))
            .run();
    }
}

/// The history of a session lists each operation with its tool: saved, rolled back, undone,
/// removed, restored.
#[test]
fn the_log_tells_a_sessions_history() {
    let done = saved();
    let dir = done.dir();
    rollback(dir).args(["--snapshot", "1", "s.jsonl"]).run();
    rollback(dir).args(["-q", "--undo", "s.jsonl"]).run();
    for args in [&["--keep-last", "1"][..], &["--undelete", "1"]] {
        Case::new(CTX_GC).within(dir).args(args.iter().copied()).stdout_any().run();
    }
    let told = |args: &[&str]| {
        let done = snapshot(dir).args(args.iter().copied()).stdout_any().run();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let lines = text.lines().map(|line| line["2026-11-24T06:04:14Z  ".len()..].to_owned());
        lines.collect::<Vec<String>>()
    };
    let history = [
        "0001  ctx-gc        restored from the trash",
        "   -  ctx-gc        moved to the trash: 0001, 0002",
        "0003  ctx-rollback  rolled back to 0002 (undo)",
        "0002  ctx-rollback  rolled back to 0001",
        "0001  ctx-snapshot  saved 1 message, 1 line, 32 bytes",
    ];
    assert_eq!(told(&["--log", "s.jsonl"]), history);
    assert_eq!(told(&["--log", "-s", "demo"]), history);
    assert!(told(&["--log", "-s", "demo", "--before", "today"]).is_empty());
    let json = snapshot(dir).args(["--log", "--json", "s.jsonl"]).stdout_any().run();
    let lines = String::from_utf8_lossy(&json.stdout).into_owned();
    let first: serde_json::Value =
        serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["op"], &first["tool"]), (&"undelete".into(), &"ctx-gc".into()));
    snapshot(dir)
        .args(["--log"])
        .code(2)
        .stderr("ctx-snapshot: no session is named; name a FILE, or a session with -s\n")
        .run();
}

/// A compaction is listed with its tokens, if the audit log has them.
#[test]
fn the_log_tells_what_a_compaction_freed() {
    let done = saved();
    let dir = done.dir();
    let record = "{\"time\":\"2026-11-21T23:43:07.123456Z\",\"operation\":\"1\",\"op\":\"compact\",\"phase\":\"done\",\"tool\":\"ctx-compact\",\"session\":\"demo\",\"snapshots\":[\"demo-20261121T234307.123456Z-0009\"],\"tokens_before\":30282,\"tokens_after\":9004,\"messages_before\":206,\"messages_after\":1,\"outcome\":\"over-target\"}\n";
    let log = dir.join(".local/state/ctx/context/events.jsonl");
    fs::write(log, record).expect("writes");
    snapshot(dir)
        .args(["--log", "-s", "demo"])
        .stdout("2026-11-21T23:43:07Z  0009  ctx-compact  compacted 30282 → 9004 tokens, 206 → 1 message (over-target)\n")
        .run();
}

/// The newest snapshot of all sessions comes first, and the first word is the id.
#[test]
fn the_newest_comes_first_over_all_sessions() {
    let done = saved();
    let dir = done.dir();
    let two = save(dir, "a", "a.jsonl", NEW);
    let three = save(dir, "demo", "s.jsonl", NEW);
    snapshot(dir).args(["--hold", &two]).stdout_any().run();
    let list = snapshot(dir).args(["--list"]).stdout_any().run();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with(&three), "{list}");
    assert!(lines[1].starts_with(&two) && lines[1].contains("  snapshot  held  /"), "{list}");
    assert!(lines[2].contains("-0001 "), "{list}");
    // Columns are aligned.
    let at = |line: &str| line.find("snapshot  ");
    assert!(lines.iter().all(|line| at(line) == at(lines[0])), "{list}");
}
