//! `-o` with an existing session as its target: all tools that write one, next to agents that
//! append.

mod agent;
pub(crate) mod idle;
mod in_store;
mod refusals;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use ctx_testkit::Case;
use tempfile::TempDir;

use crate::tool_path;

/// Calls that make another session from `s.jsonl`, and the part of the old one that is removed.
const CHANGES: [(&str, &[&str]); 7] = [
    ("ctx-offload", &["--min-tokens", "50"]),
    ("ctx-prune", &["--clear", "--protect-last", "1"]),
    ("ctx-summarize", &["--budget", "400"]),
    ("ctx-split", &["--keep-messages", "2"]),
    ("ctx-split", &["--keep-messages", "2", "--only", "keep"]),
    ("ctx-count", &["--annotate"]),
    ("ctx-check", &["-q", "--repair"]),
];

fn call(n: usize) -> String {
    let output = format!("line {n} of the log\\n").repeat(40);
    format!(
        "{{\"role\":\"user\",\"content\":\"Look at number {n}.\"}}\n\
         {{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{n}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{}}\"}}}}]}}\n\
         {{\"role\":\"tool\",\"tool_call_id\":\"c{n}\",\"content\":\"{output}\"}}\n\
         {{\"role\":\"assistant\",\"content\":\"Number {n} is fine.\"}}\n"
    )
}

fn session() -> String {
    // A result that answers no call makes a repair necessary.
    let orphan = "{\"role\":\"tool\",\"tool_call_id\":\"gone\",\"content\":\"x\"}\n";
    let calls: String = (0..8).map(call).collect();
    format!("{{\"role\":\"system\",\"content\":\"Be brief.\"}}\n{orphan}{calls}")
}

fn place() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("s.jsonl"), session()).expect("written");
    dir
}

/// Adds a session name if the tool needs one: a session from stdin has no name, and only
/// `ctx-offload` needs it.
fn of_stdin(name: &str) -> &'static [&'static str] {
    if name == "ctx-offload" { &["-s", "demo"] } else { &[] }
}

fn tool(name: &str, dir: &Path) -> Case {
    Case::new(tool_path(name)).within(dir)
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).expect("a file")
}

fn undone(dir: &Path, name: &str) -> String {
    tool("ctx-rollback", dir).args(["-q", "--undo", name]).run();
    read(dir, name)
}

/// A session that is replaced by its own new version is saved first, and can be restored.
#[test]
fn a_session_that_is_written_onto_itself_can_be_had_back() {
    for (name, flags) in CHANGES {
        for output in ["s.jsonl", "link.jsonl", "./s.jsonl"] {
            let dir = place();
            let dir = dir.path();
            symlink("s.jsonl", dir.join("link.jsonl")).expect("links");
            // If a flag names the store, handles only promise text that is saved in it.
            let write = |output: &str| {
                let tool = tool(name, dir).args(flags.iter().copied());
                let tool = tool.args(["--store", "store", "s.jsonl", "-o", output]);
                tool.stderr_has("").run()
            };
            let (calm, onto) = (write("new.jsonl"), write(output));
            assert_eq!(calm.stderr, onto.stderr, "{name}");
            let (new, found) = (read(dir, "new.jsonl"), read(dir, "s.jsonl"));
            assert_ne!(new, session(), "{name} does something");
            assert_eq!(found, new, "{name} -o {output}");
            assert!(dir.join("link.jsonl").is_symlink());
            let undo = ["-q", "--undo", "--store", "store", "s.jsonl"];
            tool("ctx-rollback", dir).args(undo).run();
            assert_eq!(read(dir, "s.jsonl"), session(), "{name} -o {output}");
        }
    }
}

/// Restored results replace a session that is also saved, and so does an unchanged session.
#[test]
fn what_is_restored_and_what_is_passed_on_is_written_the_same_way() {
    let dir = place();
    let dir = dir.path();
    let args = ["-q", "-s", "demo", "s.jsonl", "-o", "s.jsonl"];
    tool("ctx-offload", dir).args(["--min-tokens", "50"]).args(args).run();
    let offloaded = read(dir, "s.jsonl");
    tool("ctx-offload", dir).args(["--restore"]).args(args).run();
    assert_eq!(read(dir, "s.jsonl"), session());
    tool("ctx-rollback", dir).args(["-q", "-s", "demo", "--undo", "s.jsonl"]).run();
    assert_eq!(read(dir, "s.jsonl"), offloaded);
    tool("ctx-extract", dir)
        .args(["-v", "--into", "memory", "s.jsonl", "-o", "s.jsonl"])
        .stderr_has("s.jsonl is unchanged")
        .run();
    assert_eq!(read(dir, "s.jsonl"), offloaded);
}

/// A session that an agent has open for writing is left alone, also through stdin.
#[test]
fn a_session_that_is_open_for_writing_is_left_alone() {
    for (name, flags) in CHANGES {
        let dir = place();
        let dir = dir.path();
        let held = OpenOptions::new().append(true).open(dir.join("s.jsonl"));
        let _held = held.expect("opens");
        for input in [&["s.jsonl"][..], of_stdin(name)] {
            tool(name, dir)
                .args(flags.iter().copied())
                .args(["-o", "s.jsonl"])
                .args(input.iter().copied())
                .stdin(session())
                .code(4)
                .stderr_has("is open for writing by")
                .run();
        }
        assert_eq!(read(dir, "s.jsonl"), session(), "{name}");
    }
}

/// Another session at the output path is saved before it is replaced, because the file may be its
/// only copy.
#[test]
fn another_session_that_exists_is_saved_first() {
    for (name, flags) in CHANGES {
        let dir = place();
        let dir = dir.path();
        fs::write(dir.join("other.jsonl"), call(99)).expect("written");
        let done = tool(name, dir).args(flags.iter().copied()).args(["-o", "other.jsonl"]);
        let done = done.args(of_stdin(name).iter().copied());
        done.stdin(session()).stderr_has("").run();
        assert_ne!(read(dir, "other.jsonl"), call(99), "{name}");
        assert_eq!(undone(dir, "other.jsonl"), call(99), "{name}");
    }
}

/// The last stage of a pipeline that reads the file it writes saves the session first, and so does
/// a tool whose stdin is its output.
#[test]
fn a_session_that_comes_through_stdin_is_saved_first() {
    let count = format!("{} --annotate s.jsonl", tool_path("ctx-count").display());
    let prune = format!("{} --clear --protect-last 1 -o s.jsonl", tool_path("ctx-prune").display());
    let compact = format!("{} --keep-messages 2 -o s.jsonl", tool_path("ctx-compact").display());
    for line in [
        format!("{count} | {prune}"),
        format!("{prune} < s.jsonl"),
        format!("{compact} < s.jsonl"),
        format!("{{ head -c 1; {prune}; }} < s.jsonl > /dev/null"),
    ] {
        let dir = place();
        let done = Case::new("/bin/bash").within(dir.path());
        let done = done.args(["-eo", "pipefail", "-c", &line]);
        done.stderr_has("").run();
        let new = read(dir.path(), "s.jsonl");
        assert!(!new.is_empty() && new != session(), "{line}");
        assert_eq!(undone(dir.path(), "s.jsonl"), session(), "{line}");
    }
}

/// A report never replaces a session; a file that is not a session is replaced without a snapshot.
#[test]
fn a_report_takes_no_sessions_place() {
    for (name, flags) in [
        ("ctx-count", &["s.jsonl"][..]),
        ("ctx-check", &["--all", "s.jsonl"]),
        ("ctx-extract", &["s.jsonl"]),
        ("ctx-score", &["s.jsonl", "s2.jsonl"]),
    ] {
        let dir = place();
        let dir = dir.path();
        fs::write(dir.join("s2.jsonl"), call(3)).expect("written");
        fs::write(
            dir.join("batch.jsonl"),
            "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n".repeat(2),
        )
        .expect("written");
        for output in ["s.jsonl", "s2.jsonl", "batch.jsonl"] {
            let before = read(dir, output);
            tool(name, dir)
                .args(flags.iter().copied())
                .args(["-o", output])
                .code(2)
                .stderr(&format!(
                    "{name}: {output}: is a session and cannot be overwritten; name another file with -o\n"
                ))
                .run();
            assert_eq!(read(dir, output), before);
        }
        for _ in 0..2 {
            let status = Command::new(tool_path(name))
                .args(flags)
                .args(["-o", "report"])
                .current_dir(dir)
                .env("HOME", dir)
                .stderr(Stdio::null())
                .status();
            assert!(status.expect("runs").code() < Some(2));
            assert_ne!(read(dir, "report"), "");
        }
        assert!(!dir.join(".local").exists(), "{name}: no store is needed");
    }
}
