//! Runs that are killed or interrupted at any moment, and runs that overlap.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::{
    bash, done, files, good, has, leftovers, nothing_is_lost, saved, shell, snapshots,
};
use crate::compact::messages;

const ROUNDS: u32 = 60;
const COMPACT: &str = "ctx-compact -q --force -s demo --keep-messages 4 s.jsonl";

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("opens");
    file.write_all(text.as_bytes()).expect("writes");
}

/// C2: runs are killed many times while the session grows. No line is lost. The next run removes
/// the files that a killed run left, so they do not pile up, and none remains in the end.
#[test]
fn a_storm_of_kills() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let live = dir.join("s.jsonl");
    fs::write(&live, messages(0, 40)).expect("writes");
    let start = Instant::now();
    good(dir, COMPACT);
    let mut span = start.elapsed();

    let (mut killed, mut written) = (0, 40);
    for round in 0..ROUNDS {
        append(&live, &messages(written, written + 4));
        written += 4;
        let mut run =
            shell(dir, &format!("exec {COMPACT}")).stdout(Stdio::null()).spawn().expect("bash");
        // This order hits early, middle and late calls alike.
        std::thread::sleep(span * (round * 37 % ROUNDS) / ROUNDS);
        run.kill().expect("kills");
        let status = run.wait().expect("ends");
        match status.code() {
            None => killed += 1,
            code => {
                assert_eq!(code, Some(0));
                span = span * 19 / 20;
            }
        }
        let left = leftovers(dir);
        assert!(left.len() <= 4, "{left:?}");
    }
    assert!(killed > ROUNDS / 6, "{killed}");

    append(&live, &messages(written, written + 4));
    good(dir, COMPACT);
    good(dir, "ctx-gc -q");
    let last = fs::read_to_string(&live).expect("reads");
    nothing_is_lost(dir, &last);
    let mut all = snapshots(dir);
    all.push(last);
    for number in 0..written + 4 {
        let wanted = messages(number, number + 1);
        let found = all.iter().any(|bytes| bytes.contains(&wanted));
        assert!(found, "line {number} is lost");
    }
    assert_eq!(leftovers(dir), [""; 0]);
    let tmp = dir.join(".local/state/ctx/tmp");
    assert_eq!(files(&tmp), [""; 0]);
}

/// L8: ctx-gc does not remove a snapshot that is still being written.
#[test]
fn gc_leaves_alone_what_is_being_saved() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    good(dir, "for n in 1 2 3; do echo '{}' | ctx-snapshot -s demo > /dev/null; done");
    let (half, rest) = (messages(0, 400), messages(400, 800));
    let mut run = shell(dir, "exec ctx-snapshot -s demo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash");
    let mut input = run.stdin.take().expect("a pipe");
    input.write_all(half.as_bytes()).expect("writes");
    let tmp = dir.join(".local/state/ctx/tmp");
    let spooled = || {
        let sizes = files(&tmp).into_iter().map(fs::metadata);
        sizes.flatten().any(|meta| meta.len() > 100_000)
    };
    while !spooled() {
        assert_eq!(run.try_wait().expect("runs"), None);
        std::thread::sleep(Duration::from_millis(5));
    }
    good(dir, "ctx-gc --keep-last 1 && ctx-gc -q --purge");
    assert!(spooled(), "it is gone");
    input.write_all(rest.as_bytes()).expect("writes");
    drop(input);
    let done = done(&run.wait_with_output().expect("ends"));
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout == format!("{half}{rest}"));
    assert!(snapshots(dir).contains(&done.stdout));
}

/// L8: if ctx-gc removes a snapshot while it is being restored, it is restored completely or not at
/// all.
#[test]
fn gc_beside_a_rollback() {
    let (old, new) = (messages(0, 40), messages(0, 60));
    for round in 0..20_u64 {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        for text in [&old, &new] {
            fs::write(dir.join("s.jsonl"), text).expect("writes");
            good(dir, "ctx-snapshot -s demo s.jsonl");
        }
        let rollback =
            shell(dir, "exec ctx-rollback -s demo --snapshot 1 s.jsonl 2>errors").spawn();
        std::thread::sleep(Duration::from_millis(round));
        let gc = bash(dir, "ctx-gc -q --keep-last 1 && ctx-gc -q --purge");
        assert_eq!(gc.code, 0, "{}", gc.stderr);
        let status = rollback.expect("bash").wait().expect("ends");
        let now = fs::read_to_string(dir.join("s.jsonl")).expect("reads");
        match status.code() {
            Some(0) => assert!(now == old),
            code => {
                let said = fs::read_to_string(dir.join("errors")).expect("reads");
                assert!(code == Some(2) || code == Some(4), "{code:?}: {said}");
                assert!(now == new);
            }
        }
        nothing_is_lost(dir, &now);
    }
}

/// C9: a call that a signal interrupts is repeated without a message. Every third call of each kind
/// is interrupted, after those that load the program.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn interrupted_calls_are_done_again() {
    if !has("strace") || bash(Path::new("/"), "strace -o /dev/null true").code != 0 {
        eprintln!("skipped: strace is not here, or may not trace");
        return;
    }
    for line in [
        "ctx-snapshot -s demo s.jsonl",
        "ctx-compact -q -s demo --keep-messages 4 s.jsonl",
        "ctx-rollback -q -s demo --snapshot 1 s.jsonl",
    ] {
        let (dir, _) = saved(20);
        good(dir.path(), line);
        let wanted = fs::read_to_string(dir.path().join("s.jsonl")).expect("reads");
        for (call, loading) in [("openat", 6), ("read", 6), ("write", 0), ("fsync", 0)] {
            let mut interrupted = 0;
            for first in loading + 1..loading + 4 {
                let (dir, before) = saved(20);
                let fault = format!("inject={call}:error=EINTR:when={first}+3");
                let strace = format!("strace -f -qq -o trace -e trace={call} -e {fault}");
                let done = bash(dir.path(), &format!("exec {strace} {line}"));
                let place = format!("{line}: {fault}: {}", done.stderr);
                assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{place}");
                let live = fs::read_to_string(dir.path().join("s.jsonl")).expect("reads");
                assert!(live == wanted, "{place}");
                nothing_is_lost(dir.path(), &before);
                let trace = fs::read_to_string(dir.path().join("trace")).expect("reads");
                interrupted += trace.matches("(INJECTED)").count();
            }
            assert!(interrupted > 0, "{line}: no {call} was interrupted");
        }
    }
}
