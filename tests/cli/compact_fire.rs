//! `ctx-compact` under fire: agents of every kind write while it runs again and again. No line is
//! lost or duplicated, and the session stays legal. Ways of replacing a file that are known to be
//! wrong do lose lines in the same test.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use ctx_testkit::{
    Agent, Case, Order, lost, numbers, replace_by_rename, replace_in_place, under_fire,
};

use crate::compact::{CTX_COMPACT, messages};

/// Runs `ctx-compact`; returns the exit status and the messages.
fn compact(dir: &Path) -> (i32, String) {
    let args = ["-q", "--force", "--keep-messages", "4", "-s", "demo", "s.jsonl"];
    let output = Command::new(CTX_COMPACT)
        .args(args)
        .env("CTX_HOME", dir.join("store"))
        .current_dir(dir)
        .output()
        .expect("the tool starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().expect("it was not killed"), said)
}

fn session(dir: &Path) -> std::path::PathBuf {
    let live = dir.join("s.jsonl");
    fs::write(&live, messages(0, 10)).expect("writes");
    live
}

/// Returns the live file and every snapshot, after `ctx-gc` has handled old files.
fn files(dir: &Path) -> Vec<Vec<u8>> {
    Case::new(env!("CARGO_BIN_EXE_ctx-gc")).within(dir).env("CTX_HOME", "store").args(["-q"]).run();
    let mut files = vec![fs::read(dir.join("s.jsonl")).expect("reads")];
    let snapshots = dir.join("store/memory/session-summaries");
    for entry in fs::read_dir(snapshots).expect("reads").flatten() {
        if entry.path().extension().is_some_and(|ending| ending == "jsonl") {
            files.push(fs::read(entry.path()).expect("reads"));
        }
    }
    files
}

/// Checks that nothing is lost or duplicated, that lines of one descriptor are in order, and that
/// the session is legal.
#[allow(clippy::print_stderr)] // A failing test, or --nocapture, shows the text.
fn check(dir: &Path, written: &[usize], agent: Agent) {
    let files = files(dir);
    assert_eq!(lost(written, &files), [0; 0], "{agent:?}");
    let mut misplaced = 0;
    for file in &files {
        let numbers = numbers(file);
        let order = Order::of(agent, &numbers);
        assert_eq!(order.twice, [0; 0], "{agent:?}: {numbers:?}");
        assert_eq!(order.torn, [0; 0], "{agent:?}: {numbers:?}");
        misplaced += order.misplaced;
    }
    eprintln!("{agent:?}: {} lines, {misplaced} sightings of one out of order", written.len());
    Case::new(env!("CARGO_BIN_EXE_ctx-check")).within(dir).args(["-q", "s.jsonl"]).run();
    let names = fs::read_dir(dir).expect("reads").flatten();
    let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["s.jsonl", "store"], "{agent:?}");
}

/// Runs `ctx-compact` until it succeeds a few times while an agent writes.
fn goes_through(agent: Agent) {
    let dir = tempfile::tempdir().expect("a folder");
    let live = session(dir.path());
    let mut compacted = 0;
    let written = under_fire(&live, agent, 6, || {
        let before = snapshots(dir.path());
        let (code, said) = compact(dir.path());
        let rewritten = code == 5 && said.contains("another process has overwritten it");
        assert!(
            [0, 1, 4].contains(&code) || rewritten && matches!(agent, Agent::WritingOver),
            "{agent:?}: exit {code}: {said}"
        );
        let done = code == 0 && snapshots(dir.path()) > before;
        compacted += usize::from(done);
        done
    });
    assert!(compacted > 0);
    check(dir.path(), &written, agent);
}

fn snapshots(dir: &Path) -> usize {
    let found = fs::read_dir(dir.join("store/memory/session-summaries"));
    found.map_or(0, Iterator::count)
}

/// L2: an agent that opens, appends and closes, a thousand times a second.
#[test]
fn an_agent_that_opens_for_each_line() {
    goes_through(Agent::Opening);
}

#[test]
fn an_agent_that_opens_for_each_half_of_a_line() {
    goes_through(Agent::OpeningForHalves);
}

#[test]
fn an_agent_that_holds_the_file_now_and_then() {
    goes_through(Agent::Holding(8));
}

#[test]
fn an_agent_that_writes_the_file_over() {
    goes_through(Agent::WritingOver);
}

#[test]
fn an_agent_that_writes_a_new_file_and_renames_it() {
    goes_through(Agent::Renaming);
}

#[test]
fn an_agent_that_never_lets_go() {
    for agent in [Agent::Holding(usize::MAX), Agent::HoldingHalves] {
        let dir = tempfile::tempdir().expect("a folder");
        let live = session(dir.path());
        let inode = fs::metadata(&live).expect("reads").ino();
        let written = under_fire(&live, agent, 6, || compact(dir.path()).0 == 4);
        let bytes = fs::read(&live).expect("reads");
        assert_eq!(numbers(&bytes), written, "{agent:?}");
        assert_eq!(fs::metadata(&live).expect("reads").ino(), inode);
    }
}

/// Checks that naive replacements lose lines. Otherwise the tests above could pass just because a
/// tool and an agent never collide.
#[test]
fn the_naive_ways_lose_lines() {
    let naive: [fn(&Path) -> bool; 2] = [replace_by_rename, replace_in_place];
    for agent in [
        Agent::Opening,
        Agent::OpeningForHalves,
        Agent::Holding(8),
        Agent::Holding(usize::MAX),
        Agent::HoldingHalves,
        Agent::WritingOver,
        Agent::Renaming,
    ] {
        for replace in naive {
            let dir = tempfile::tempdir().expect("a folder");
            let live = session(dir.path());
            let written = under_fire(&live, agent, 200, || replace(&live));
            let bytes = fs::read(&live).expect("reads");
            assert!(!lost(&written, &[bytes]).is_empty(), "{agent:?}");
        }
    }
}
