//! Faults that strace injects into the system calls of whole tools. If strace cannot trace, these
//! tests skip and say so.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ctx_testkit::{COPILOT, Case, KIMI, OPENCODE, QWEN};

use crate::output::idle::of_agent;
use crate::rollback::{NEW, OLD, saved};
use crate::snapshot::CTX_SNAPSHOT;
use crate::tool_path;

/// C1, C3, C9: a run is killed at any call, any call fails, or an agent replaces its file at that
/// moment. The run leaves the old or the new file, nothing is lost, and the next run completes.
/// This is a small sample: CI takes a larger one, and `tests/faults/sweep.py` without `--sample`
/// tries everything.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn no_fault_loses_a_byte() {
    if std::env::var_os("CTX_SWEEP_LATER").is_some() {
        eprintln!("skipped: .ci/run takes a larger sample");
        return;
    }
    let bin = Path::new(CTX_SNAPSHOT).parent().expect("a folder");
    // Only four of the seventeen faults of the script are tried, and no agent's own format, because
    // a test may take only some seconds.
    let faults = ["kill", "EIO", "short", "agent"].map(|fault| ["--fault", fault]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/sweep.py");
    let output = Command::new("python3")
        .arg(script)
        .arg("--bin")
        .arg(bin)
        .args(["--sample", "1", "--agent", "chat"])
        .args(faults.as_flattened())
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: python3 is not here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    // Without strace the script says that it skips, and succeeds.
    eprintln!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[allow(clippy::print_stderr)] // A skipped test must say so.
pub(crate) fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let can = traced.is_ok_and(|traced| traced.status.success());
    if !can {
        eprintln!("skipped: strace is not here, or may not trace");
    }
    can
}

/// Runs a rollback of `s.jsonl` with these injections.
fn rollback(dir: &Path, injections: &[&str]) -> Command {
    let args = ["-q", "-s", "demo", "--snapshot", "1", "s.jsonl"];
    traced(dir, injections, "ctx-rollback", &args)
}

fn traced(dir: &Path, injections: &[&str], tool: &str, args: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "trace"]);
    for injection in injections {
        command.args(["-e", &format!("inject={injection}")]);
    }
    command
        .arg(tool_path(tool))
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("CTX_HOME")
        .stdin(Stdio::null());
    command
}

/// Returns the files next to `s.jsonl`.
fn beside(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("reads").map(|entry| entry.expect("an entry").path());
    let is_ours = |path: &PathBuf| path.to_string_lossy().contains(".s.jsonl.ctx-");
    entries.filter(is_ours).collect()
}

/// If a file is gone when it should get its second name, it was changed meanwhile. (Second names
/// are used if the file system cannot exchange two files.)
#[test]
fn a_file_that_goes_away_is_one_that_changed_meanwhile() {
    if !can_trace() {
        return;
    }
    let no_exchange = "renameat2:error=EINVAL";
    for (injections, code, content) in [
        (&[no_exchange, "linkat:error=ENOENT"][..], 4, NEW),
        (&[no_exchange, "linkat:error=EIO"], 2, NEW),
        (&[no_exchange], 0, OLD),
    ] {
        let done = saved();
        let output = rollback(done.dir(), injections).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{injections:?}: {said}");
        assert_eq!(code == 4, said.contains("changed in the meantime"), "{said}");
        assert_eq!(done.read("s.jsonl"), content.as_bytes(), "{injections:?}");
        assert!(beside(done.dir()).is_empty(), "{injections:?}");
    }
}

/// C9: a signal while a lock is taken changes nothing.
#[test]
fn a_lock_is_taken_however_often_a_signal_comes() {
    if !can_trace() {
        return;
    }
    for when in ["1..3", "4..6", "7..9", "10..12"] {
        let done = saved();
        let injection = format!("flock:error=EINTR:when={when}");
        let output = rollback(done.dir(), &[&injection]).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{when}: {said}");
        assert_eq!(done.read("s.jsonl"), OLD.as_bytes(), "{when}");
    }
}

/// C11: after a kill, some agents would read the first lines of a compaction without the others, or
/// lose messages after half a line. In their formats, all lines become visible at once, in a new
/// file.
#[test]
fn a_compaction_of_which_no_part_may_be_read_replaces_the_file() {
    for session in [of_agent(), COPILOT.before(3), KIMI.before(3), QWEN.before(3)] {
        let done = saved();
        let live = done.dir().join("s.jsonl");
        fs::write(&live, &session).expect("writes");
        let inode = fs::metadata(&live).expect("reads").ino();
        let args = ["-q", "--force", "--keep-messages", "2", "--min-idle", "0s", "s.jsonl"];
        Case::new(tool_path("ctx-compact")).within(done.dir()).args(args).run();
        let new = done.read("s.jsonl");
        assert!(new.starts_with(session.as_bytes()) && new.len() > session.len(), "{session:.80}");
        assert_ne!(fs::metadata(&live).expect("reads").ino(), inode, "{session:.80}");
    }
}

/// L3: nothing may follow the document of an agent, so a document that grows during a run stays.
#[test]
fn a_document_that_grows_is_left_alone() {
    if !can_trace() {
        return;
    }
    let session = ["-q", "--min-idle", "0s", "-s", "demo", "s.jsonl"];
    for (tool, args) in [
        ("ctx-compact", &["--force", "--keep-messages", "2"][..]),
        ("ctx-offload", &["-i", "--min-tokens", "20"]),
        ("ctx-prune", &["-i", "--clear", "--protect-last", "1"]),
        ("ctx-rollback", &["--snapshot", "2"]),
    ] {
        let done = saved();
        let live = done.dir().join("s.jsonl");
        fs::write(&live, OPENCODE.before(0)).expect("writes");
        let snapshot = ["-q", "-s", "demo", "s.jsonl"];
        Case::new(CTX_SNAPSHOT).within(done.dir()).args(snapshot).stdout_any().run();
        fs::write(&live, OPENCODE.before(1)).expect("writes");
        let own =
            if tool == "ctx-prune" { &["-q", "--min-idle", "0s", "s.jsonl"][..] } else { &session };
        let all = [args, own].concat();
        let mut run = traced(done.dir(), &["fsync:delay_enter=200000"], tool, &all);
        let run = run.stderr(Stdio::piped()).spawn().expect("starts");
        wait("it writes the new document", || !beside(done.dir()).is_empty());
        let mut file = fs::OpenOptions::new().append(true).open(&live).expect("opens");
        file.write_all(b"{}\n").expect("writes");
        drop(file);
        let output = run.wait_with_output().expect("ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{tool}: {said}");
        assert!(done.read("s.jsonl") == (OPENCODE.before(1) + "{}\n").as_bytes(), "{tool}");
    }
}

/// C9: a signal while a long line is written changes nothing. Short lines wait in a buffer, whose
/// writes are repeated anyway.
#[test]
fn a_long_line_is_written_however_often_a_signal_comes() {
    if !can_trace() {
        return;
    }
    let long = "words ".repeat(100_000);
    let session = format!("{{\"role\":\"user\",\"content\":\"{long}\"}}\n");
    for output in ["new.jsonl", "s.jsonl"] {
        let done = saved();
        fs::write(done.dir().join("s.jsonl"), &session).expect("writes");
        let args = ["-q", "--clear", "s.jsonl", "-o", output];
        let run = traced(done.dir(), &["write:error=EINTR:when=1+2"], "ctx-prune", &args).output();
        let run = run.expect("runs");
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(0), "{output}: {said}");
        assert!(done.read(output) == session.as_bytes(), "{output}");
    }
}

/// C9: a signal during an exchange of names changes nothing either; on FUSE such a signal is
/// possible.
#[test]
fn names_are_exchanged_however_often_a_signal_comes() {
    if !can_trace() {
        return;
    }
    for when in ["1", "2", "3", "1..3"] {
        let done = saved();
        let injection = format!("renameat2:error=EINTR:when={when}");
        let output = rollback(done.dir(), &[&injection]).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{when}: {said}");
        assert_eq!(done.read("s.jsonl"), OLD.as_bytes(), "{when}");
        assert!(beside(done.dir()).is_empty(), "{when}");
    }
}

/// C3: a lease that cannot be released ends with its descriptor, so that no run waits for itself
/// until the kernel revokes it after 45 seconds.
#[test]
fn no_run_waits_for_its_own_lease() {
    if !can_trace() {
        return;
    }
    // One run replaces the file, and the other appends to it.
    let restore = &["-q", "-s", "demo", "--snapshot", "1", "s.jsonl"][..];
    let append = &["-q", "--force", "--keep-messages", "2", "--min-idle", "0s", "s.jsonl"];
    for (tool, args) in [("ctx-rollback", restore), ("ctx-compact", append)] {
        let run = |injections: &[&str]| {
            let done = saved();
            if tool == "ctx-compact" {
                fs::write(done.dir().join("s.jsonl"), of_agent()).expect("writes");
            }
            let before = done.read("s.jsonl");
            let begun = Instant::now();
            let output = traced(done.dir(), injections, tool, args).output();
            let output = output.expect("runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(begun.elapsed() < Duration::from_secs(5), "{injections:?}: {said}");
            assert_eq!(output.status.code(), Some(0), "{injections:?}: {said}");
            assert_ne!(done.read("s.jsonl"), before, "{injections:?}");
            String::from_utf8(done.read("trace")).expect("text")
        };
        let trace = run(&[]);
        let calls = trace.lines().filter(|line| line.contains(" fcntl("));
        let places = calls.enumerate().filter(|(_, line)| line.contains("F_UNLCK"));
        let places: Vec<usize> = places.map(|(at, _)| at + 1).collect();
        assert!(places.len() > 2, "{trace}");
        for place in places {
            run(&[&format!("fcntl:error=EACCES:when={place}")]);
        }
    }
}

/// C3: if a run could not remove its files because the disk failed, the next run on the session
/// file removes them.
#[test]
fn what_a_failing_disk_left_beside_a_session_is_removed_by_the_next_run() {
    if !can_trace() {
        return;
    }
    let mut left = 0;
    for first in (20..140).step_by(4) {
        let done = saved();
        let injection = format!("statx:error=EIO:when={first}+");
        rollback(done.dir(), &[&injection]).output().expect("runs");
        let is_unfinished = |path: &PathBuf| path.to_string_lossy().contains(".ctx-tmp-");
        left += beside(done.dir()).iter().filter(|path| is_unfinished(path)).count();
        let output = rollback(done.dir(), &[]).output().expect("runs");
        assert!(output.status.success(), "{first}");
        assert!(beside(done.dir()).is_empty(), "{first}: {:?}", beside(done.dir()));
    }
    assert!(left > 0, "no run left anything: the numbers are of another time");
}

/// C4: additions for a new session are written after the snapshot of the old one.
#[test]
fn where_the_snapshot_fails_nothing_else_is_written() {
    if !can_trace() {
        return;
    }
    let turn = |n: usize| {
        let result = format!("line {n} of the log\\n").repeat(40);
        format!(
            "{{\"role\":\"user\",\"content\":\"We decided to keep SQLite {n} for the store. I prefer tabs.\"}}\n\
             {{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{n}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{}}\"}}}}]}}\n\
             {{\"role\":\"tool\",\"tool_call_id\":\"c{n}\",\"content\":\"{result}\"}}\n\
             {{\"role\":\"assistant\",\"content\":\"Number {n} is kept.\"}}\n"
        )
    };
    let session: String = (0..8).map(turn).collect();
    let extracted = "memory/extracted/decisions.md";
    let compact = ["--force", "-s", "demo", "--keep-messages", "2", "--summary-tokens", "200"];
    for (tool, args, written) in [
        (
            "ctx-compact",
            [&compact[..], &["--set", "summary.extract=true", "s.jsonl"]].concat(),
            extracted,
        ),
        ("ctx-compact", [&compact[..], &["--preset", "sanbot", "s.jsonl"]].concat(), extracted),
        (
            "ctx-compact",
            [&compact[..], &["--set", "offload.min_tokens=50", "s.jsonl"]].concat(),
            "offloaded/demo/taken.jsonl",
        ),
        (
            "ctx-summarize",
            vec!["--budget", "600", "-s", "demo", "s.jsonl", "-o", "s.jsonl"],
            "memory/session-summaries/demo.md",
        ),
        ("ctx-extract", vec!["--into-store", "s.jsonl", "-o", "other.jsonl"], extracted),
        (
            "ctx-offload",
            vec!["--min-tokens", "50", "-s", "demo", "s.jsonl", "-o", "s.jsonl"],
            "offloaded/demo/taken.jsonl",
        ),
    ] {
        let run = |injections: &[&str]| {
            let done = saved();
            let is_written = || done.dir().join(".local/state/ctx").join(written).exists();
            for (name, text) in [("s.jsonl", session.as_str()), ("other.jsonl", OLD)] {
                fs::write(done.dir().join(name), text).expect("writes");
            }
            let output = traced(done.dir(), injections, tool, &args).output();
            let output = output.expect("runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), said, is_written())
        };
        let (code, said, is_written) = run(&[]);
        assert_eq!((code, is_written), (Some(0), true), "{tool}: {said}");
        let mut failed = 0;
        for when in 1..=12 {
            let injection = format!("rename:error=ENOSPC:when={when}");
            let (code, said, is_written) = run(&[&injection]);
            if said.contains("its content could not be saved") {
                assert_eq!((code, is_written), (Some(2), false), "{tool} {when}: {said}");
                failed += 1;
            }
            // Both files of a snapshot have failed: the bytes and the meta.json.
            if failed == 2 {
                break;
            }
        }
        assert_eq!(failed, 2, "{tool}");
    }
}

/// References that stay are reported even if the folder cannot be flushed.
#[test]
fn references_that_stay_are_told_although_the_disk_fails() {
    if !can_trace() {
        return;
    }
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let result = "word ".repeat(900);
    let session =
        format!("{call}\n{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{result}\"}}\n");
    let offload = || Case::new(tool_path("ctx-offload")).env("CTX_HOME", "store");
    let done = offload()
        .file("s.jsonl", session)
        .args(["-q", "-s", "demo", "--min-tokens", "500", "s.jsonl", "-o", "small.jsonl"])
        .run();
    let folder = done.dir().join("store/offloaded/demo");
    for entry in fs::read_dir(folder).expect("reads") {
        fs::remove_file(entry.expect("an entry").path()).expect("removed");
    }
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "trace", "-e", "inject=fsync:error=EIO:when=2+"])
        .arg(tool_path("ctx-offload"))
        .args(["-s", "demo", "--restore", "small.jsonl", "-o", "new.jsonl"])
        .current_dir(done.dir())
        .env("CTX_HOME", "store")
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("left as it is"), "{said}");
}

/// The system allows no thread for a moment, as at a user's limit of processes. ureq looked up the
/// server's name in a thread and took it for granted, so the tool died with 101.
#[test]
fn a_thread_that_cannot_be_had_is_no_panic() {
    if !can_trace() {
        return;
    }
    let line = "{\"role\":\"user\",\"content\":\"and some words more\"}\n";
    for when in 1..=4 {
        let inject = format!("inject=clone3:error=EAGAIN:when={when}");
        let done = Case::new("strace")
            .file("s.jsonl", line.repeat(40))
            .args(["-f", "-qq", "-o", "trace", "-e", &inject])
            .args([tool_path("ctx-compact").display().to_string()])
            .args(["--keep-messages", "4", "--method", "llm", "--llm-tries", "1"])
            .args(["--llm-url", "http://127.0.0.1:1", "s.jsonl"])
            .stderr("ctx-compact: s.jsonl: no summary from http://127.0.0.1:1/v1/chat/completions: connection failed: io: Connection refused; --on-failure extractive writes a summary that needs no model\n")
            .stdout_has("s.jsonl: unchanged: ")
            .code(2)
            .run();
        assert!(done.read("s.jsonl") == line.repeat(40).as_bytes());
    }
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a tool and its tracer. The tool is killed first, because without its tracer it would
/// continue.
fn kill(mut tracer: Child, dir: &Path) {
    let trace = fs::read_to_string(dir.join("trace")).expect("reads");
    let pid = trace.split(' ').next().expect("a pid");
    let killed = Command::new("kill").args(["-9", pid]).status();
    assert!(killed.expect("kill").success());
    tracer.wait().expect("ends");
}

/// An agent replaces its file directly before the exchange, and the run is killed directly after
/// it. The next runs find the agent's file.
#[test]
fn what_was_exchanged_out_survives_a_kill() {
    if !can_trace() {
        return;
    }
    let done = saved();
    let dir = done.dir();
    let slow = "renameat2:delay_enter=500000:delay_exit=1000000";
    let run = rollback(dir, &[slow]).spawn().expect("runs");
    wait("it names a file beside", || {
        beside(dir).iter().any(|path| path.to_string_lossy().contains(".ctx-old-"))
    });
    std::thread::sleep(Duration::from_millis(100));
    let live = dir.join("s.jsonl");
    let newer = NEW.replace("new", "newer");
    fs::write(dir.join("theirs"), &newer).expect("writes");
    fs::rename(dir.join("theirs"), &live).expect("renames");
    let theirs = live.metadata().expect("there").ino();
    wait("it exchanges the two", || live.metadata().is_ok_and(|now| now.ino() != theirs));
    kill(run, dir);

    Case::new(tool_path("ctx-rollback"))
        .within(dir)
        .args(["-q", "-s", "demo", "--snapshot", "1", "s.jsonl"])
        .run();
    assert!(beside(dir).is_empty());
    let store = dir.join(".local/state/ctx/memory/session-summaries");
    let kept = fs::read_dir(store).expect("reads").any(|entry| {
        let bytes = fs::read(entry.expect("an entry").path()).expect("reads");
        bytes == newer.as_bytes()
    });
    assert!(kept, "the agent's newer file is in no snapshot");
}

/// Returns a session with large results, of which the older ones are summarized.
fn with_large_results() -> String {
    let log = "another line of the log\\n".repeat(600);
    let call = |n: usize| {
        format!(
            "{{\"role\":\"user\",\"content\":\"Look at number {n}.\"}}\n\
             {{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{n}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{}}\"}}}}]}}\n\
             {{\"role\":\"tool\",\"tool_call_id\":\"c{n}\",\"content\":\"{log}\"}}\n\
             {{\"role\":\"assistant\",\"content\":\"Number {n} is fine.\"}}\n"
        )
    };
    (0..4).map(call).collect()
}

/// Whichever write of the audit log fails, the exit status says what happened to the session.
/// Offloaded files alone used to be reported as a success, exit 5.
#[test]
fn a_compaction_that_only_offloaded_is_no_success() {
    if !can_trace() {
        return;
    }
    let mut statuses = Vec::new();
    for nth in 1..=6 {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        let session = with_large_results();
        fs::write(dir.join("s.jsonl"), &session).expect("written");
        // Makes sure that the log exists, so that strace can watch it.
        Case::new(tool_path("ctx-snapshot"))
            .within(dir)
            .args(["-q", "-s", "other", "s.jsonl"])
            .stdout_any()
            .run();
        let output = Command::new("strace")
            .args(["-f", "-qq", "-o", "trace", "-e", "trace=write", "-P"])
            .arg(dir.join(".local/state/ctx/context/events.jsonl"))
            .args(["-e", &format!("inject=write:error=EIO:when={nth}")])
            .arg(tool_path("ctx-compact"))
            .args(["-q", "-s", "demo", "--force", "--preset", "synapse", "s.jsonl"])
            .current_dir(dir)
            .env("HOME", dir)
            .env_remove("CTX_HOME")
            .output()
            .expect("strace starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        let is_new = fs::read_to_string(dir.join("s.jsonl")).expect("reads") != session;
        assert_eq!(status, Some(if is_new { 5 } else { 2 }), "{nth}: {said}");
        assert!(said.contains("Input/output error"), "{nth}: {said}");
        if said.contains("offload is done") {
            assert!(said.ends_with("; the session is unchanged\n"), "{said}");
            statuses.push("offloaded");
        } else {
            statuses.push(if is_new { "compacted" } else { "as it was" });
        }
    }
    let all = ["as it was", "offloaded", "as it was", "compacted"];
    statuses.dedup();
    assert_eq!(statuses, all);
}
