//! The cost of a run does not grow with unrelated files. It is measured in system calls, so that a
//! busy machine does not matter. Needs strace.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::compact::{CTX_COMPACT, messages};
use crate::gc::CTX_GC;
use crate::snapshot::CTX_SNAPSHOT;

/// Runs a tool in `dir` and returns strace's lines about one system call; nothing if there is no
/// strace or it may not trace.
fn traced(dir: &Path, call: &str, tool: &str, args: &[&str]) -> Option<String> {
    let log = dir.join("trace");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-e", &format!("trace={call}"), "-o"])
        .arg(&log)
        .arg(tool)
        .args(args)
        .env_clear()
        .env("CTX_HOME", dir.join("store"))
        .current_dir(dir)
        .output()
        .ok()?
        .status;
    let text = fs::read_to_string(&log).ok()?;
    assert!(status.success(), "{tool} {args:?}: {status}");
    Some(text)
}

/// Returns the number of bytes of file names that a compaction reads.
fn bytes_of_names(dir: &Path) -> Option<u64> {
    fs::write(dir.join("s.jsonl"), messages(0, 20)).expect("writes");
    let args = ["-q", "--force", "--keep-messages", "4", "s.jsonl"];
    let trace = traced(dir, "getdents64", CTX_COMPACT, &args)?;
    let results = trace.lines().filter_map(|line| line.rsplit_once(" = "));
    let bytes = results.filter_map(|(_, bytes)| bytes.parse::<u64>().ok());
    Some(bytes.sum())
}

/// G5: a compaction reads no snapshots of other sessions, and no other files in the folder of its
/// session.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_compaction_costs_the_same_in_a_store_of_any_size() {
    let dir = tempfile::tempdir().expect("a folder");
    // The first run creates the store.
    let _ = bytes_of_names(dir.path());
    let Some(before) = bytes_of_names(dir.path()) else {
        eprintln!("skipped: no strace");
        return;
    };
    let snapshots = dir.path().join("store/memory/session-summaries");
    for n in 100..2100 {
        let id = format!("other-20260101T000000.000000Z-{n:04}");
        for end in ["jsonl", "meta.json"] {
            fs::write(snapshots.join(format!("{id}.{end}")), "").expect("writes");
        }
        fs::write(dir.path().join(format!("session-{n}.jsonl")), "").expect("writes");
    }
    let after = bytes_of_names(dir.path()).expect("strace");
    // There are a few more snapshots of the session itself.
    assert!(after <= before + 2000, "{before} bytes, then {after}");
}

/// Whether a folder of the trash is empty is checked once, not once for each snapshot,
/// because each check may read the whole folder. Other runs can lock the store in between.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn emptying_the_trash_takes_a_step_a_snapshot() {
    const COUNT: usize = 1200;
    let dir = tempfile::tempdir().expect("a folder");
    let bin = dir.path().join("store/trash/20260101T000000.000000Z-0000");
    fs::write(dir.path().join("s.jsonl"), "{}\n").expect("writes");
    let taken = Command::new(CTX_SNAPSHOT)
        .arg("s.jsonl")
        .env("CTX_HOME", dir.path().join("store"))
        .current_dir(dir.path())
        .output();
    assert!(taken.expect("runs").status.success());
    fs::create_dir_all(&bin).expect("a folder");
    for n in 100..100 + COUNT {
        let id = format!("other-20260101T000000.000000Z-{n:04}");
        for end in ["jsonl", "meta.json"] {
            fs::write(bin.join(format!("{id}.{end}")), "").expect("writes");
        }
    }
    let calls = "unlink,rmdir,unlinkat,flock";
    let Some(trace) = traced(dir.path(), calls, CTX_GC, &["--purge"]) else {
        eprintln!("skipped: no strace");
        return;
    };
    assert!(!bin.exists());
    let count = |call: &str| trace.matches(call).count();
    assert_eq!(count("unlink("), 2 * COUNT);
    assert!(count("rmdir(") < 5, "{}", count("rmdir("));
    let locked = count("LOCK_EX");
    assert!((4..20).contains(&locked), "locked {locked} times");
}
