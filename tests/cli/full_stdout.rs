//! If stdout is on a full disk, the exit status says whether the tool had changed something before.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use ctx_testkit::Case;

use crate::snapshot::CTX_SNAPSHOT;
use crate::tool_path;

const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/session.jsonl");

/// Returns a call in `dir` whose stdout is full.
fn call(dir: &Path, tool: &str, args: &str, stdin: &str) -> Output {
    Command::new(tool_path(tool))
        .args(args.split(' '))
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .stdin(File::open(stdin).expect("opens"))
        .stdout(File::options().write(true).open("/dev/full").expect("opens"))
        .output()
        .expect("starts")
}

/// Returns two snapshots of `s.jsonl`, which is a copy of the example.
fn saved() -> ctx_testkit::Finished {
    let done = Case::new(CTX_SNAPSHOT)
        .file("s.jsonl", fs::read(SESSION).expect("the example"))
        .args(["-s", "demo", "s.jsonl"])
        .stdout_any()
        .run();
    Case::new(CTX_SNAPSHOT).within(done.dir()).args(["-s", "demo", "s.jsonl"]).stdout_any().run();
    done
}

fn say(dir: &Path, (tool, args, stdin): (&str, &str, &str)) -> (Option<i32>, String) {
    let output = call(dir, tool, args, stdin);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// Work that is done stays done, although the report failed.
#[test]
fn a_change_that_cannot_be_told_is_no_failure_without_a_change() {
    let done = saved();
    let full = "cannot write to stdout: No space left on device; ";
    for (tool, args, stdin, what) in [
        ("ctx-snapshot", "-s demo s.jsonl", "/dev/null", " is taken\n"),
        ("ctx-snapshot", "s.jsonl s.jsonl", "/dev/null", " is taken\n"),
        ("ctx-snapshot", "-s demo", SESSION, " is taken\n"),
        ("ctx-snapshot", "--hold 1", "/dev/null", "-0001 is held\n"),
        ("ctx-snapshot", "--release 1", "/dev/null", "-0001 is released\n"),
        ("ctx-gc", "-s demo --keep-last 1", "/dev/null", " was removed\n"),
        ("ctx-gc", "--undelete 1", "/dev/null", "-0001 was restored\n"),
        ("ctx-gc", "-s demo --keep-last 1", "/dev/null", " was removed\n"),
        ("ctx-gc", "--purge", "/dev/null", " was removed\n"),
        ("ctx-gc", "--purge", "/dev/null", ""),
        ("ctx-gc", "--forget -s demo", "/dev/null", " was removed\n"),
        ("ctx-compact", "--keep-turns 3 --force s.jsonl", "/dev/null", "s.jsonl is compacted\n"),
    ] {
        let (code, said) = say(done.dir(), (tool, args, stdin));
        let expected = if what.is_empty() { 0 } else { 5 };
        assert_eq!(code, Some(expected), "{tool} {args}: {said}");
        assert!(said.ends_with(what), "{tool} {args}: {said}");
        assert!(what.is_empty() || said.contains(full), "{tool} {args}: {said}");
    }
    let zoned = Case::new(tool_path("ctx-split"))
        .within(done.dir())
        .args(["--keep-turns=1", SESSION])
        .stdout_any()
        .run();
    fs::write(done.dir().join("zoned"), &zoned.stdout).expect("written");
    let zoned = done.dir().join("zoned");
    let zoned = zoned.to_str().expect("text");
    let (code, said) = say(done.dir(), ("ctx-summarize", "-s demo", zoned));
    assert_eq!(code, Some(5), "{said}");
    assert!(said.ends_with("; the summary is in the store\n"), "{said}");
    let (code, said) = say(done.dir(), ("ctx-summarize", "-s demo", zoned));
    assert_eq!(code, Some(2), "it was there already: {said}");
}

/// If nothing was changed, the exit status is that of any failure.
#[test]
fn a_look_that_cannot_be_shown_is_a_failure() {
    let done = saved();
    for (tool, args) in [
        ("ctx-snapshot", "--list"),
        ("ctx-gc", "-n --keep-last 1"),
        ("ctx-rollback", "-n -s demo --snapshot 1 s.jsonl"),
        ("ctx-compact", "-n --keep-turns 3 s.jsonl"),
    ] {
        let (code, said) = say(done.dir(), (tool, args, "/dev/null"));
        assert_eq!(code, Some(2), "{tool} {args}: {said}");
        assert!(said.ends_with("No space left on device\n"), "{tool} {args}: {said}");
    }
}
