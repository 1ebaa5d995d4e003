//! Every option of every tool that names an output refuses a path in a store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_testkit::Case;

use super::place;
use crate::{tool_path, tools};

/// Options that name a file or a folder that is only read.
const READ: [&str; 6] = ["--config", "--cwd", "--evidence", "--project", "--replay", "--template"];

/// Flags for a model that is never asked, because there is no server.
const MODEL: [&str; 4] = ["--method", "llm", "--llm-url", "http://127.0.0.1:9"];

/// A call that would write to a path, and its option, or none if the path is an operand. (The file
/// that `ctx-rollback FILE` restores was never in a store.)
struct Call {
    tool: &'static str,
    option: &'static str,
    args: Vec<String>,
}

fn call(tool: &'static str, option: &'static str, path: &str, others: &[&str]) -> Call {
    let named = [option, path].into_iter().filter(|arg| !arg.is_empty());
    let args = named.chain(others.iter().copied()).map(str::to_owned);
    Call { tool, option, args: args.collect() }
}

fn calls(path: &str) -> Vec<Call> {
    let output = |tool, others: &[&str]| call(tool, "--output", path, others);
    let record = |tool, others: &[&str]| {
        let others = [&MODEL[..], others].concat();
        call(tool, "--record", path, &others)
    };
    let mut calls = vec![
        output("ctx-check", &["s.jsonl"]),
        output("ctx-check", &["--repair", "s.jsonl"]),
        output("ctx-compact", &["--keep-messages", "2"]),
        output("ctx-convert", &["--to", "anthropic", "s.jsonl"]),
        output("ctx-count", &["s.jsonl"]),
        output("ctx-count", &["--annotate", "s.jsonl"]),
        output("ctx-extract", &["s.jsonl"]),
        output("ctx-extract", &["--into", "memory", "s.jsonl"]),
        output("ctx-offload", &["-s", "x", "s.jsonl"]),
        output("ctx-offload", &["-s", "x", "-n", "s.jsonl"]),
        output("ctx-offload", &["-s", "x", "--restore", "s.jsonl"]),
        output("ctx-prune", &["--clear", "s.jsonl"]),
        output("ctx-score", &["s.jsonl", "s.jsonl"]),
        output("ctx-split", &["s.jsonl"]),
        output("ctx-stats", &[]),
        Call {
            tool: "ctx-memory",
            option: "--output",
            args: ["inject", "--output", path].map(str::to_owned).to_vec(),
        },
        output("ctx-summarize", &["--budget", "400", "s.jsonl"]),
        call("ctx-extract", "--into", path, &["s.jsonl"]),
        call("ctx-rollback", "--to", path, &["-s", "demo", "--snapshot", "1"]),
        call("ctx-rollback", "--to", path, &["-n", "-s", "demo", "--snapshot", "1"]),
        call("ctx-compact", "", path, &["--keep-messages", "2"]),
        call("ctx-compact", "", path, &["-n", "--keep-messages", "2"]),
        record("ctx-compact", &["--keep-messages", "2", "s.jsonl"]),
        record("ctx-summarize", &["--budget", "400", "s.jsonl"]),
    ];
    // Only calls that create a store write anything here.
    let store = |tool, others: &[&str]| call(tool, "--store", path, others);
    calls.extend([
        store("ctx-compact", &["--keep-messages", "2", "s.jsonl"]),
        store("ctx-extract", &["--into-store", "s.jsonl"]),
        store("ctx-offload", &["-s", "x", "--min-tokens", "50", "s.jsonl"]),
        store("ctx-prune", &["--clear", "s.jsonl", "-o", "s.jsonl"]),
        store("ctx-snapshot", &["s.jsonl"]),
        store("ctx-summarize", &["--budget", "400", "-s", "x", "s.jsonl"]),
    ]);
    calls
}

/// Returns the content of a folder, with the bytes of files.
fn everything(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// No tool writes into a store, whichever option names the path, in whatever form.
#[test]
fn no_option_writes_into_a_store() {
    let dir = place();
    let dir = dir.path();
    let case = |tool: &str| Case::new(tool_path(tool)).within(dir);
    case("ctx-snapshot")
        .args(["-q", "-s", "demo", "s.jsonl", "--store", "deep/store"])
        .stdout_any()
        .run();
    case("ctx-snapshot").args(["-q", "-s", "demo", "s.jsonl"]).stdout_any().run();
    fs::create_dir(dir.join("deep/store/trash")).expect("a folder");
    fs::create_dir(dir.join("deep/store/damaged")).expect("a folder");
    symlink("deep/store", dir.join("link")).expect("a link");
    symlink("deep/store/tmp/new", dir.join("dangling")).expect("a link");
    let before = everything(&dir.join("deep"));
    let is_snapshot = |path: &&PathBuf| path.to_string_lossy().ends_with("Z-0001.jsonl");
    let snapshot = before.keys().find(is_snapshot).expect("one");
    let snapshot = snapshot.strip_prefix(dir).expect("within");
    for path in [
        snapshot.to_str().expect("UTF-8"),
        "deep/store/tmp/new",
        "deep/store/new",
        "deep/store/trash/a/b",
        "deep/store/damaged",
        "deep/store/memory/session-summaries",
        "deep/../deep/store/new",
        "link/new",
    ] {
        let there = dir.join(path).is_file();
        let fit = |call: &Call| there || !call.option.is_empty();
        for Call { tool, args, .. } in calls(path).into_iter().filter(fit) {
            let session = fs::read(dir.join("s.jsonl")).expect("reads");
            let call = format!("{tool} {args:?}");
            let done = case(tool).args(args).stdin(session.clone()).code(2);
            let said = done.stderr_has("").run().stderr;
            assert!(said.contains("is in the store"), "{call}: {said}");
            assert!(everything(&dir.join("deep")) == before, "{call}");
            assert!(fs::read(dir.join("s.jsonl")).expect("reads") == session);
        }
    }
    // A link to a missing file is replaced itself, or it is refused.
    for Call { tool, args, .. } in calls("dangling") {
        let session = fs::File::open(dir.join("s.jsonl")).expect("opens");
        let call = format!("{tool} {args:?}");
        Command::new(tool_path(tool))
            .args(args)
            .current_dir(dir)
            .env("HOME", dir)
            .env_remove("CTX_HOME")
            .stdin(session)
            .output()
            .expect("the tool starts");
        assert!(everything(&dir.join("deep")) == before, "{call}");
        let _ = fs::remove_file(dir.join("dangling"));
        symlink("deep/store/tmp/new", dir.join("dangling")).expect("a link");
    }
}

/// Each option that names a file is in the table above or is only read.
#[test]
fn every_option_that_names_a_file_is_known() {
    let tried: BTreeSet<(&str, &str)> =
        calls("x").iter().map(|call| (call.tool, call.option)).collect();
    for tool in tools() {
        let mut command = tool.full_command();
        command.build();
        for argument in command.get_arguments() {
            let names = argument.get_value_names().unwrap_or_default();
            let is_file =
                names.iter().any(|name| ["FILE", "DIR"].iter().any(|kind| name.contains(kind)));
            let Some(long) = argument.get_long().filter(|_| is_file) else {
                continue;
            };
            let option = format!("--{long}");
            let is_read = READ.contains(&option.as_str());
            // A tool that only reads a store creates none.
            let only_looks = option == "--store";
            assert!(
                is_read || only_looks || tried.contains(&(tool.name, option.as_str())),
                "{} {option}",
                tool.name
            );
        }
    }
}
