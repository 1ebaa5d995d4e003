//! Tests of `ctx-snapshot`.

use std::fs;
use std::os::unix::fs::symlink;

use ctx_testkit::{Case, Finished};

pub(crate) const CTX_SNAPSHOT: &str = env!("CARGO_BIN_EXE_ctx-snapshot");

const A: &str = "{\"role\":\"user\",\"content\":\"a\"}\n";
const B: &str = "{\"role\":\"assistant\",\"content\":\"b\"}\n";

fn snapshot() -> Case {
    Case::new(CTX_SNAPSHOT)
}

/// Returns the printed id.
fn id(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stdout).trim_end().to_owned()
}

/// Returns two snapshots of `s.jsonl` in one folder: one with A, and one with A and B.
fn two() -> (Finished, String, String) {
    let first = snapshot().file("s.jsonl", A).args(["-s", "demo", "s.jsonl"]).stdout_any().run();
    let second = snapshot()
        .within(first.dir())
        .file("s.jsonl", [A, B].concat())
        .args(["-s", "demo", "s.jsonl"])
        .stdout_any()
        .run();
    let ids = (id(&first), id(&second));
    (first, ids.0, ids.1)
}

#[test]
fn stdin_is_saved_and_passed_on() {
    let done = snapshot().args(["-s", "demo"]).stdin(A).stdout(A).run();
    snapshot().within(done.dir()).args(["--show", "latest", "-s", "demo"]).stdout(A).run();
}

#[test]
fn what_cannot_be_saved_is_not_passed_on() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("store"), "").expect("writes");
    snapshot()
        .within(dir.path())
        .args(["-s", "demo", "--store", "store"])
        .stdin(A)
        .code(2)
        .stderr("ctx-snapshot: store is not safe: it is not a directory; allow writing only by the owner: chmod 700\n")
        .run();
}

#[test]
fn bytes_of_all_kinds_come_back() {
    let bad: &[u8] = b"\xef\xbb\xbf{\"role\":\"user\",\"content\":\"a\"}\r\n\xff\n\0\0\0\n{}{}\n\n{\"a\":1e400,\"a\":-0}\n{\"cut";
    let done = snapshot()
        .args(["-s", "demo"])
        .stdin(bad)
        .stdout(bad)
        .stderr("ctx-snapshot: warning: <stdin>:2: not a JSON object (not-utf8); 3 such lines in all, saved unchanged\n")
        .run();
    let list = snapshot().within(done.dir()).args(["--list", "--json"]).stdout_any().run();
    let meta: serde_json::Value = serde_json::from_slice(&list.stdout).expect("JSON");
    assert_eq!(meta["bytes"], bad.len());
    assert_eq!(
        (&meta["lines"], &meta["tail_bytes"], &meta["bad_lines"]),
        (&7.into(), &5.into(), &3.into())
    );
    assert_eq!(meta["messages"], 1);
    assert_eq!(meta["bad"][1], serde_json::json!({"line": 3, "offset": 36, "class": "nul"}));
}

#[test]
fn a_file_gives_its_session_a_name() {
    let done = snapshot().file("my chat.jsonl", A).args(["my chat.jsonl"]).stdout_any().run();
    let printed = id(&done);
    assert!(printed.starts_with("my_chat-") && printed.ends_with("-0001"), "{printed}");
    let path = done.dir().canonicalize().expect("a path");
    let path = path.join("my chat.jsonl");
    let list = listed(done.dir(), &["--list"]);
    let cells = format!("30  1  -  snapshot  -  {}", path.display());
    assert_eq!(list, [format!("{printed}  {cells}")]);
}

/// Returns the lines of a list, with two spaces between the cells and without the age.
fn listed(dir: &std::path::Path, args: &[&str]) -> Vec<String> {
    let done = snapshot().within(dir).args(args.iter().copied()).stdout_any().run();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let lines = text.lines().map(|line| {
        let cells = line.split("  ").map(str::trim);
        let mut cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        cells.remove(1);
        cells.join("  ")
    });
    lines.collect()
}

#[test]
fn tokens_are_counted_where_asked_for() {
    let done = snapshot().file("s.jsonl", A).args(["--count", "s.jsonl"]).stdout_any().run();
    let path = done.dir().canonicalize().expect("a path");
    let path = path.join("s.jsonl");
    let expected = format!("{}  30  1  8  snapshot  -  {}", id(&done), path.display());
    assert_eq!(listed(done.dir(), &["--list"]), [expected]);
}

#[test]
fn the_difference_is_shown_without_what_is_shared() {
    let (done, first, second) = two();
    for (a, b, sign) in [("1", "2", '+'), ("2", "1", '-')] {
        let (removed, added) = if sign == '+' { ("0 records", 1) } else { ("1 record", 0) };
        snapshot()
            .within(done.dir())
            .args(["--diff", a, b])
            .code(1)
            .stdout(format!(
                "{sign}  2  assistant  34  b\n{removed} removed, {added} added, 0 changed, 0 moved, 1 unchanged\n"
            ))
            .run();
    }
    snapshot().within(done.dir()).args(["--diff", "1", &first]).run();
    snapshot()
        .within(done.dir())
        .args(["--raw", "--diff", &first, &second])
        .code(1)
        .stdout(format!("@@ -1,0 +2,1 @@\n+{B}"))
        .run();
    snapshot()
        .within(done.dir())
        .args(["--raw", "--diff", "2", "1"])
        .code(1)
        .stdout(format!("@@ -2,1 +1,0 @@\n-{B}"))
        .run();
    snapshot().within(done.dir()).args(["--raw", "--diff", "1", &first]).run();
}

/// A snapshot is compared with a file, and `latest` is the newest snapshot of that file. A
/// name that could be both is refused.
#[test]
fn a_snapshot_is_compared_with_a_file() {
    let (done, _, _) = two();
    let other = snapshot().within(done.dir()).args(["-s", "other"]);
    other.stdin(B).stdout(B).run();
    let path = done.dir().join("s.jsonl");
    fs::write(&path, [A, B].concat()).expect("writes");
    for name in ["s.jsonl", "./s.jsonl"] {
        snapshot().within(done.dir()).args(["--diff", "latest", name]).run();
    }
    let longer = A.replace("\"a\"", "\"a and more than a few words of it\"");
    let changed = longer.replace("words of it", "words of it, changed");
    fs::write(&path, [&longer, B].concat()).expect("writes");
    snapshot().within(done.dir()).args(["-s", "demo", "s.jsonl"]).stdout_any().run();
    fs::write(&path, [&changed, B].concat()).expect("writes");
    snapshot()
        .within(done.dir())
        .args(["--diff", "latest", "s.jsonl"])
        .code(1)
        .stdout_has(
            "~  1  user  61 → 70  text: 33 → 42 characters: a and more than a few words of it\n",
        )
        .run();
    // The files differ in a byte, not in a message.
    fs::write(&path, [&longer, B.trim_end()].concat()).expect("writes");
    snapshot()
        .within(done.dir())
        .args(["--diff", "latest", "s.jsonl"])
        .code(1)
        .stderr(
            "ctx-snapshot: warning: no message differs, but some bytes do; --raw shows the lines\n",
        )
        .run();
    fs::write(done.dir().join("1"), A).expect("writes");
    snapshot()
        .within(done.dir())
        .args(["--diff", "1", "2"])
        .code(2)
        .stderr("ctx-snapshot: \"1\" is the name of a snapshot and of a file; use ./1 for the file, or the full id for the snapshot\n")
        .run();
    snapshot()
        .within(done.dir())
        .args(["--diff", "2", "no/such"])
        .code(2)
        .stderr("ctx-snapshot: no/such: cannot read: No such file or directory; check the path\n")
        .run();
}

/// An id stands for the session's file. A file without snapshots is never compared with the
/// snapshot of another session.
#[test]
fn a_session_is_compared_by_its_id() {
    let agents = |text: &str| A.replace("\"a\"", &format!("\"{text}\""));
    let file = ".claude/projects/p/45ba035c-1.jsonl";
    let done = snapshot()
        .file(file, agents("one"))
        .file("s.jsonl", A)
        .file("none.jsonl", B)
        .args(["45ba035c"])
        .stdout_any()
        .run();
    snapshot().within(done.dir()).args(["s.jsonl"]).stdout_any().run();
    fs::write(done.dir().join(file), agents("two")).expect("writes");
    for names in [&["latest", "45ba"][..], &["45ba"], &["1", "45ba035c-1"]] {
        snapshot()
            .within(done.dir())
            .args([&["--diff"], names].concat())
            .code(1)
            .stdout_has("one")
            .run();
    }
    for names in [&["latest", "none.jsonl"][..], &["none.jsonl"], &["yesterday", "none.jsonl"]] {
        snapshot()
            .within(done.dir())
            .args([&["--diff"], names].concat())
            .code(2)
            .stderr("ctx-snapshot: no snapshot was taken of none.jsonl, and no snapshot matches its beginning; name the session with -s ID; ctx-snapshot --list shows all snapshots\n")
            .run();
    }
    snapshot().within(done.dir()).args(["--diff", "2", "none.jsonl"]).code(1).stdout_any().run();
}

/// The trash is listed with the time that is left.
#[test]
fn the_trash_is_listed() {
    let (done, first, _) = two();
    let none = snapshot().within(done.dir()).args(["--list", "--trash"]);
    none.run();
    Case::new(env!("CARGO_BIN_EXE_ctx-gc"))
        .within(done.dir())
        .args(["--keep-last", "1"])
        .stdout_any()
        .run();
    let path = done.dir().canonicalize().expect("a path").join("s.jsonl");
    let list = snapshot().within(done.dir()).args(["--list", "--trash"]).stdout_any().run();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let cells: Vec<&str> = list.split_whitespace().collect();
    assert_eq!((cells[0], cells[2]), (first.as_str(), "6d"), "{list}");
    assert_eq!(cells[3..], ["30", "snapshot", path.to_str().expect("text")]);
    snapshot()
        .within(done.dir())
        .args(["--list", "--trash", "--json"])
        .stdout_has("\"grace_ends\":\"")
        .run();
}

#[test]
fn verify_says_which_are_damaged() {
    let (done, first, second) = two();
    let all = format!("{first}: OK\n{second}: OK\n");
    snapshot().within(done.dir()).args(["--verify", "--read-data"]).stdout(all).run();
    let data = format!(".local/state/ctx/memory/session-summaries/{first}.jsonl");
    let path = done.dir().join(&data);
    fs::remove_file(&path).expect("removes");
    fs::write(&path, A.replace('a', "z")).expect("writes");
    // The bytes are read only on request, but their number is always known.
    snapshot()
        .within(done.dir())
        .args(["--verify"])
        .stdout(format!("{first}: OK\n{second}: OK\n"))
        .run();
    let found = format!("{first}: FAILED: its sha256 is ");
    let done = snapshot()
        .within(done.dir())
        .args(["--verify", "--read-data"])
        .code(1)
        .stdout_has(&found)
        .stderr("ctx-snapshot: warning: 1 of 2 snapshots are damaged\n")
        .run();
    snapshot()
        .within(done.dir())
        .args(["--show", "1"])
        .code(2)
        .stderr_has(&format!("snapshot {first} is damaged: its sha256 is "))
        .run();
}

/// G4: a broken chain is reported with its line, and a repair says what it did.
#[test]
fn a_changed_audit_log_is_reported_with_its_place() {
    let (done, first, second) = two();
    let all = format!("{first}: OK\n{second}: OK\n");
    let log = done.dir().join(".local/state/ctx/context/events.jsonl");
    let text = fs::read_to_string(&log).expect("reads");
    fs::write(&log, text.replacen("ctx-snapshot", "ctx-nothing", 1)).expect("writes");
    let broken = format!(
        "{all}{}:2: FAILED: it does not match the line before it; that line was changed, or lines were removed or added\n",
        log.display()
    );
    snapshot()
        .within(done.dir())
        .args(["--verify"])
        .code(1)
        .stdout(broken)
        .stderr("ctx-snapshot: warning: the audit log was changed after it was written\n")
        .run();
    snapshot().within(done.dir()).args(["--verify", "-s", "demo"]).stdout(all.clone()).run();
    let data = format!(".local/state/ctx/memory/session-summaries/{first}");
    fs::remove_file(done.dir().join(format!("{data}.meta.json"))).expect("removes");
    snapshot()
        .within(done.dir())
        .args(["--verify", "--repair"])
        .code(1)
        .stdout(all.clone())
        .stderr_has(&format!(
            "ctx-snapshot: warning: repaired: wrote the missing meta.json of {first}\n"
        ))
        .run();
    snapshot().within(done.dir()).args(["--verify", "--repair", "--read-data"]).stdout(all).run();
    for alone in ["--repair", "--read-data"] {
        snapshot().args([alone]).code(2).stderr_has("--verify").run();
    }
}

#[test]
fn what_is_no_plain_file_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("s.jsonl"), A).expect("writes");
    symlink("s.jsonl", dir.path().join("link")).expect("links");
    let fifo = std::process::Command::new("mkfifo").arg(dir.path().join("fifo")).status();
    assert!(fifo.expect("mkfifo").success());
    for (name, why) in [
        ("link", "is a symbolic link"),
        ("fifo", "is a FIFO"),
        (".", "is a directory"),
        ("/dev/zero", "is a device or a socket"),
    ] {
        snapshot().within(dir.path()).args(["-s", "demo", name]).code(2).stderr_has(why).run();
    }
    snapshot().within(dir.path()).args(["--list"]).run();
}

#[test]
fn names_that_are_no_ids_are_refused() {
    for name in ["../../x", "/abs", "", ".", "a\n", "*", "é", &"x".repeat(129)] {
        snapshot()
            .args([format!("--session={name}")])
            .stdin(A)
            .code(2)
            .stderr_has("is not a session id")
            .run();
    }
    snapshot()
        .stdin(A)
        .code(2)
        .stderr("ctx-snapshot: a session from stdin has no name; name it with -s ID\n")
        .run();
}

#[test]
fn some_files_fail_and_the_others_are_saved() {
    let done = snapshot()
        .file("a.jsonl", A)
        .args(["a.jsonl", "missing.jsonl"])
        .code(3)
        .stdout_any()
        .stderr("ctx-snapshot: missing.jsonl: no such file or directory; check the path\n")
        .run();
    assert!(id(&done).starts_with("a-"));
}

#[test]
fn a_tampered_meta_is_not_followed() {
    let (done, first, _) = two();
    let meta = format!(".local/state/ctx/memory/session-summaries/{first}.meta.json");
    let path = done.dir().join(&meta);
    for text in [
        "{\"format\":3,\"id\":\"\\u001b]0;owned\\u0007\"}\n",
        "{\"format\":1,\"id\":\"../../../etc/passwd\",\"bytes\":9223372036854775808}\n",
        "[[[[",
        "",
    ] {
        fs::remove_file(&path).expect("removes");
        fs::write(&path, text).expect("writes");
        let list = snapshot()
            .within(done.dir())
            .args(["--list"])
            .stdout_has("-0002  ")
            .stderr_has(&format!("warning: {first} is damaged: "))
            .run();
        assert!(!list.stderr.contains('\u{1b}'));
        snapshot().within(done.dir()).args(["--show", "1"]).code(2).stderr_has("is damaged").run();
    }
}
