//! `-n` of every tool that changes a file or the store changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_testkit::Case;

use crate::{tool_path, tools};

/// Adds a result that answers no call, so that there is something to repair.
const ORPHAN: &str = "{\"role\":\"tool\",\"tool_call_id\":\"gone\",\"content\":\"x\"}\n";

/// Calls that change something, without -n.
#[rustfmt::skip]
const CALLS: &[&str] = &[
    "ctx-check --repair -o s.jsonl s.jsonl",
    "ctx-check --repair --json -o new.jsonl s.jsonl",
    "ctx-compact --keep-turns 1 s.jsonl",
    "ctx-compact --keep-turns 1 --json --set summary.extract=true s.jsonl",
    "ctx-convert --to pi -o new.jsonl s.jsonl",
    "ctx-extract --into memory -o new.jsonl s.jsonl",
    "ctx-extract --into-store s.jsonl",
    "ctx-extract --into-store --json -o new.jsonl s.jsonl",
    "ctx-gc --keep-last 1 --no-floor",
    "ctx-gc --grace-days 0 --keep-last 1",
    "ctx-gc --undelete all",
    "ctx-gc --purge",
    "ctx-gc -s demo --forget",
    "ctx-gc --pack-after-days 0",
    "ctx-memory consolidate",
    "ctx-memory inject -o new.md",
    "ctx-memory inject --transcript s.jsonl -o s.jsonl",
    "ctx-offload --min-tokens 5 -i s.jsonl",
    "ctx-offload -s demo --min-tokens 5 -o new.jsonl s.jsonl",
    "ctx-prune --clear --protect-last 1 -i s.jsonl",
    "ctx-prune --clear --protect-last 1 -o new.jsonl s.jsonl",
    "ctx-rollback -s demo 2 --to s.jsonl",
    "ctx-rollback -s demo --undo --to s.jsonl",
    "ctx-rollback -s demo --json latest --to new.jsonl",
    "ctx-snapshot s.jsonl",
    "ctx-snapshot -s demo --json s.jsonl",
    "ctx-snapshot --hold 2 -s demo",
    "ctx-snapshot --release 2 -s demo --json",
    "ctx-snapshot --verify --repair",
    "ctx-split -o s.jsonl s.jsonl",
    "ctx-split --json -o new.jsonl s.jsonl",
    "ctx-summarize --budget 400 -s demo -o s.jsonl s.jsonl",
    "ctx-summarize --budget 400 --json -o new.jsonl s.jsonl",
];

/// Tools that change nothing, and whose help says so.
const READERS: [&str; 4] = ["ctx-count", "ctx-ls", "ctx-score", "ctx-stats"];

fn session() -> String {
    let example = fs::read_to_string("examples/session.jsonl").expect("the example");
    let (system, rest) = example.split_once('\n').expect("lines");
    format!("{system}\n{ORPHAN}{rest}")
}

/// Returns a folder with a session, and a store with snapshots, some in the trash.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path();
    let run = |line: &str| {
        let mut words = line.split_whitespace();
        let tool = words.next().expect("a tool");
        let status = call(tool, words, path).output().expect("it starts").status;
        assert!(status.success(), "{line}");
    };
    for text in ["one", "two", "three"] {
        let line =
            format!("{{\"role\":\"user\",\"content\":\"{text}: we decided to use Postgres.\"}}\n");
        fs::write(path.join("s.jsonl"), line).expect("written");
        run("ctx-snapshot -s demo s.jsonl");
    }
    run("ctx-gc -s demo --keep-last 2");
    run("ctx-extract -q --into-store s.jsonl");
    fs::write(path.join("s.jsonl"), session()).expect("written");
    run("ctx-snapshot -s demo s.jsonl");
    run("ctx-rollback -s demo 3 --to s.jsonl");
    run("ctx-rollback -s demo --undo --to s.jsonl");
    dir
}

fn call<'a>(tool: &str, args: impl Iterator<Item = &'a str>, dir: &Path) -> Command {
    let mut command = Command::new(tool_path(tool));
    command.args(args).current_dir(dir).env_clear().env("HOME", dir);
    command
}

/// Returns the state of the folder: bytes and modes of all files, and the times of their last
/// change.
fn everything(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, std::time::SystemTime)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = fs::symlink_metadata(&path).expect("there");
            if meta.is_dir() {
                folders.push(path.clone());
            }
            let bytes = fs::read(&path).unwrap_or_default();
            let is_lock = path.file_name().is_some_and(|name| name == "lock");
            if !is_lock {
                let changed = meta.modified().expect("a time");
                found.insert(path, (bytes, meta.permissions().mode(), changed));
            }
        }
    }
    found
}

/// With -n every call succeeds, reports what it would do, and changes nothing: no file, no folder,
/// no time.
#[test]
fn a_dry_run_changes_nothing() {
    let dir = place();
    let before = everything(dir.path());
    for line in CALLS {
        let mut words = line.split_whitespace();
        let tool = words.next().expect("a tool");
        let output = call(tool, words.chain(["-n"]), dir.path());
        let output = { output }.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        let is_silent = output.stdout.is_empty() && said.is_empty();
        // These calls may be silent, because there may be nothing to do.
        let may_be_silent = line.contains("--undelete") || line.contains("consolidate");
        assert!(!is_silent || may_be_silent || line.contains("convert"), "{line}");
        assert!(everything(dir.path()) == before, "{line}");
    }
}

/// The same calls without -n change something, so the test above can fail.
#[test]
fn without_it_the_same_calls_change_something() {
    for line in CALLS {
        let dir = place();
        let before = everything(dir.path());
        let mut words = line.split_whitespace();
        let tool = words.next().expect("a tool");
        let mut command = call(tool, words, dir.path());
        let said = command.output().expect("it starts").stderr;
        let said = String::from_utf8_lossy(&said).into_owned();
        // No snapshot is held, and nothing is damaged.
        let is_quiet = line.contains("--release") || line.contains("--verify");
        let changed = everything(dir.path()) != before;
        assert!(changed || is_quiet, "{line}: {said}");
    }
}

/// Each tool has -n and is in the table, or its help says that it changes nothing.
#[test]
fn every_tool_knows_dry_runs_or_says_that_it_needs_none() {
    for tool in tools() {
        if READERS.contains(&tool.name) {
            let no_need = "it changes no session, so it needs no dry run";
            Case::new(tool_path(tool.name))
                .args(["-n"])
                .code(2)
                .stderr_has(&format!("{}: there is no flag -n; {no_need}", tool.name))
                .run();
            continue;
        }
        let start = format!("{} ", tool.name);
        assert!(CALLS.iter().any(|call| call.starts_with(&start)), "{start}");
    }
}
