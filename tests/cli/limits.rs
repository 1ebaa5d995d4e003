//! A lack of disk space, file size, memory or open files. A tool that does not get what it needs
//! says so, and the session is unchanged.

use std::fs;

use crate::bench::{bash, good, leftovers, nothing_is_lost, saved};
use crate::compact::messages;
use crate::rollback::Mounted;

/// Commands that change a session, or write a file next to it.
const CHANGES: [&str; 6] = [
    "ctx-snapshot -s demo s.jsonl",
    "ctx-compact -q -s demo --keep-messages 4 s.jsonl",
    "ctx-rollback -s demo --snapshot 1 s.jsonl",
    "ctx-split s.jsonl -o out.jsonl",
    "ctx-split --keep-messages 90 s.jsonl | ctx-summarize -o out.jsonl",
    "ctx-prune --window-messages 90 s.jsonl -o out.jsonl",
];

/// C5: a write beyond `ulimit -f` is a reported error; the tool is not killed by SIGXFSZ.
#[test]
fn a_file_may_not_grow_that_far() {
    for line in CHANGES {
        let (dir, before) = saved(60);
        let done = bash(dir.path(), &format!("ulimit -f 16; {line}"));
        assert_eq!(done.code, 2, "{line}: {}", done.stderr);
        assert!(done.stderr.contains("File too large"), "{line}: {}", done.stderr);
        let live = fs::read_to_string(dir.path().join("s.jsonl")).expect("reads");
        assert!(live == before, "{line}: the session is another");
        assert!(!dir.path().join("out.jsonl").exists(), "{line}");
        assert_eq!(leftovers(dir.path()), [""; 0], "{line}");
        nothing_is_lost(dir.path(), &before);
        good(dir.path(), line);
    }
}

/// C4: if the disk is full at any moment, nothing is half changed and nothing is left behind. With
/// space again, the same command succeeds.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_disk_that_is_too_small_by_any_amount() {
    let before = messages(0, 60);
    let compact = "ctx-compact -q -s demo --keep-messages 4 s.jsonl";
    let mut ends = [0, 0];
    for kib in (36..160).step_by(8) {
        let Some(disk) = Mounted::new(&format!("{kib}k")) else {
            eprintln!("skipped: no tmpfs can be mounted here");
            return;
        };
        let dir = disk.0.path();
        fs::write(dir.join("s.jsonl"), &before).expect("there is room for the session");
        for line in ["ctx-snapshot -s demo s.jsonl", compact, "ctx-rollback -s demo --undo s.jsonl"]
        {
            let done = bash(dir, line);
            let place = format!("{kib}k: {line}: exit {}: {}", done.code, done.stderr);
            let full = done.stderr.contains("No space left on device");
            let nothing = ["nothing to undo", "no session \"demo\" in the store"];
            let nothing = nothing.iter().any(|why| done.stderr.contains(why));
            assert!(
                done.code == 0 || (done.code == 2 || done.code == 5) && (full || nothing),
                "{place}"
            );
            ends[usize::from(done.code == 0)] += 1;
            assert_eq!(leftovers(dir), [""; 0], "{place}");
            nothing_is_lost(dir, &before);
        }
        good(dir, &format!("mount -o remount,size=4m {}", dir.display()));
        good(dir, compact);
        nothing_is_lost(dir, &before);
    }
    assert!(ends.iter().all(|&count| count > 3), "{ends:?}");
}

/// C3: any file may be the first that cannot be opened because too many are open.
#[test]
fn too_few_files_may_be_open() {
    for line in &CHANGES[..3] {
        let mut ends = [0, 0];
        for files in 3..24 {
            let (dir, before) = saved(20);
            let done = bash(dir.path(), &format!("ulimit -n {files}; exec {line}"));
            let place = format!("{files}: {line}: exit {}: {}", done.code, done.stderr);
            // Exit status 127 means that the loader could not open a library.
            assert!([0, 2, 127].contains(&done.code), "{place}");
            ends[usize::from(done.code == 0)] += 1;
            if done.code != 0 {
                let live = fs::read_to_string(dir.path().join("s.jsonl")).expect("reads");
                assert!(live == before, "{place}");
                let told = ["rror 24", "Too many open files"];
                assert!(told.iter().any(|it| done.stderr.contains(it)), "{place}");
            }
            assert_eq!(leftovers(dir.path()), [""; 0], "{place}");
            nothing_is_lost(dir.path(), &before);
        }
        assert!(ends.iter().all(|&count| count > 3), "{line}: {ends:?}");
    }
}

/// C1: a tool that runs out of memory at any moment ends like a killed one: the session is the old
/// or the new one, and the next run completes.
#[test]
fn too_little_memory() {
    let line = "ctx-compact -q -s demo --keep-messages 4 s.jsonl";
    let (dir, before) = saved(60);
    let session = dir.path().join("s.jsonl");
    let (mut failed, mut through) = (0, 0);
    for kib in (1_000..400_000).step_by(400) {
        let done = bash(dir.path(), &format!("ulimit -v {kib}; exec {line}"));
        if done.code == 0 {
            through += 1;
            fs::write(&session, &before).expect("writes");
        } else {
            failed += 1;
            nothing_is_lost(dir.path(), &before);
        }
        assert_ne!(done.code, 101, "{kib}: {}", done.stderr);
        if through == 20 {
            break;
        }
    }
    assert!(failed > 3 && through == 20, "{failed} {through}");
    good(dir.path(), line);
    nothing_is_lost(dir.path(), &before);
    assert_eq!(leftovers(dir.path()), [""; 0]);
}

/// C4: a stack of 64 KiB, which leaves no room for the arguments of a command line, is enough.
#[test]
fn too_small_a_stack() {
    for line in CHANGES {
        let (dir, before) = saved(60);
        let done = bash(dir.path(), &format!("ulimit -s 64; {line}"));
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        nothing_is_lost(dir.path(), &before);
    }
}

/// A reply of 6,000 lines with the same id is converted in little memory and compacted in linear
/// time. When every line named the records of all, it took gigabytes; when every line was compared
/// with every other, minutes.
#[test]
fn a_reply_of_many_lines_takes_little_time_and_memory() {
    const LINES: usize = 6_000;
    let dir = tempfile::tempdir().expect("a folder");
    let id = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
    let line = |number: usize, above: usize, role: &str, message: String| {
        format!(
            r#"{{"parentUuid":"{}","isSidechain":false,"cwd":"/w","sessionId":"s","version":"2.1.197","type":"{role}","message":{message},"uuid":"{}","timestamp":"2026-11-01T10:00:00.000Z"}}"#,
            id(above),
            id(number)
        )
    };
    let call = |number: usize| {
        let call = format!(r#"{{"type":"tool_use","id":"t{number}","name":"ls","input":{{}}}}"#);
        let message = format!(r#"{{"id":"m","role":"assistant","model":"c","content":[{call}]}}"#);
        line(number, number - 1, "assistant", message)
    };
    let result = |number: usize| {
        let message = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{number}","content":"x"}}]}}"#
        );
        line(LINES + number, number, "user", message)
    };
    let first = line(1, 0, "user", r#"{"role":"user","content":"go"}"#.to_owned())
        .replace(&format!(r#""{}""#, id(0)), "null");
    let lines = [first].into_iter().chain((2..LINES).map(call)).chain((2..LINES).map(result));
    let text: String = lines.map(|line| line + "\n").collect();
    fs::write(dir.path().join("s.jsonl"), text).expect("writes");
    for line in [
        "ulimit -v 150000; ctx-convert -q --min-idle 0s --to claude-code s.jsonl -o out.jsonl",
        "ulimit -t 20; ctx-compact -q -s demo --min-idle 0s --force s.jsonl",
    ] {
        let done = bash(dir.path(), line);
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
    }
}
