//! Paths that every run refuses, including a dry run: links, FIFOs, paths in a store.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::process::Command;

use ctx_testkit::Case;

use super::{place, session, tool};
use crate::tool_path;

/// Links and other unsafe names are refused, also in a dry run.
#[test]
fn a_dry_run_of_an_output_asks_what_the_real_run_asks() {
    for flags in [&[][..], &["-n"]] {
        let dir = place();
        let dir = dir.path();
        fs::hard_link(dir.join("s.jsonl"), dir.join("name.jsonl")).expect("links");
        tool("ctx-offload", dir)
            .args(flags.iter().copied())
            .args(["s.jsonl", "-o", "s.jsonl"])
            .code(2)
            .stderr_has("has several names (hard links)")
            .run();
        assert!(!dir.join(".local/state/ctx/FORMAT").exists() || flags.is_empty());
    }
}

/// `-n` does not block on a FIFO, and never accepts what the real run refuses: links, hard links,
/// files with a writer.
#[test]
fn a_dry_run_refuses_what_the_real_run_refuses() {
    let dir = place();
    let dir = dir.path();
    tool("ctx-snapshot", dir).args(["-s", "demo", "s.jsonl"]).stdout_any().run();
    let made = Command::new("mkfifo").arg(dir.join("fifo.jsonl")).status();
    assert!(made.expect("mkfifo").success());
    symlink("s.jsonl", dir.join("link.jsonl")).expect("links");
    fs::write(dir.join("two.jsonl"), session()).expect("written");
    fs::hard_link(dir.join("two.jsonl"), dir.join("name.jsonl")).expect("links");
    fs::write(dir.join("held.jsonl"), session()).expect("written");
    let held = OpenOptions::new().append(true).open(dir.join("held.jsonl"));
    let _held = held.expect("opens");
    for (file, code, why) in [
        ("fifo.jsonl", 2, "is a FIFO"),
        ("link.jsonl", 2, "is a symbolic link"),
        ("two.jsonl", 2, "has several names (hard links)"),
        ("held.jsonl", 4, "is open for writing by"),
        ("s.jsonl", 0, ""),
    ] {
        for dry in [&["-n"][..], &[]] {
            tool("ctx-compact", dir)
                .args(dry.iter().copied())
                .args(["--keep-messages", "2", file])
                .code(code)
                .stdout_any()
                .stderr_has(why)
                .run();
            tool("ctx-rollback", dir)
                .args(dry.iter().copied())
                .args(["-s", "demo", "--snapshot", "1", "--to", file])
                .code(code)
                .stdout_any()
                .stderr_has(why)
                .run();
        }
    }
}

/// However many broken lines come before its records, an agent's file is one.
#[test]
fn broken_lines_do_not_hide_an_agents_file() {
    let dir = place();
    let dir = dir.path();
    let agents = r#"{"type":"session","version":3,"id":"p-1","timestamp":"t","cwd":"/"}"#;
    for lines in [0, 63, 64, 70_000] {
        let text = format!("{}{agents}\n", "{broken\n".repeat(lines));
        fs::write(dir.join("p.jsonl"), &text).expect("written");
        for (name, code, why) in
            [("ctx-convert", 4, "p.jsonl changed "), ("ctx-count", 2, "is a session")]
        {
            tool(name, dir).args(["s.jsonl", "-o", "p.jsonl"]).code(code).stderr_has(why).run();
        }
        assert!(fs::read_to_string(dir.join("p.jsonl")).expect("reads") == text, "{lines}");
    }
}

/// No tool that writes accepts a path in any store.
#[test]
fn nothing_in_a_store_is_written() {
    let dir = place();
    let dir = dir.path();
    let store = ["--store", "deep/store"];
    let args = ["-q", "-s", "demo", "s.jsonl"];
    tool("ctx-snapshot", dir).args(store).args(args).stdout_any().run();
    tool("ctx-compact", dir).args(store).args(args).args(["--keep-messages", "2"]).run();
    let files = || {
        let find = Command::new("find").args(["deep", "-type", "f"]).current_dir(dir).output();
        let found = String::from_utf8(find.expect("runs").stdout).expect("names");
        let mut names: Vec<String> = found.lines().map(str::to_owned).collect();
        names.sort();
        let bytes = |name: &String| fs::read(dir.join(name)).expect("a file");
        names.iter().map(|name| (name.clone(), bytes(name))).collect::<Vec<_>>()
    };
    let before = files();
    let mut names = before.iter().map(|(name, _)| name.as_str());
    let snapshot = names.find(|name| name.ends_with("Z-0001.jsonl"));
    let snapshot = snapshot.expect("one");
    let said = format!("{snapshot} is in the store ");
    let calls: [(&str, Vec<&str>); 11] = [
        ("ctx-compact", vec!["--keep-messages", "2", snapshot]),
        ("ctx-compact", vec!["-n", "--keep-messages", "2", snapshot]),
        ("ctx-extract", vec!["--into", "deep/store/trash", "s.jsonl"]),
        ("ctx-extract", vec!["--into", "deep/store", "s.jsonl"]),
        ("ctx-snapshot", vec!["-s", "x", snapshot]),
        (
            "ctx-rollback",
            vec!["-s", "demo", "--store", "deep/store", "--snapshot", "2", "--to", snapshot],
        ),
        ("ctx-offload", vec!["-s", "x", "s.jsonl", "-o", snapshot]),
        ("ctx-prune", vec!["--clear", snapshot, "-o", snapshot]),
        ("ctx-count", vec!["s.jsonl", "-o", snapshot]),
        ("ctx-summarize", vec!["--budget", "400", snapshot, "-o", snapshot]),
        ("ctx-check", vec!["-q", "--repair", "s.jsonl", "-o", snapshot]),
    ];
    for (name, args) in calls {
        let said = if args[0] == "--into" { " is in the store " } else { &said };
        tool(name, dir).args(args).code(2).stderr_has(said).run();
    }
    let absent = "deep/store/memory/new.jsonl";
    tool("ctx-prune", dir)
        .args(["--clear", "s.jsonl", "-o", absent])
        .code(2)
        .stderr_has("is in the store")
        .run();
    assert!(files() == before, "the store is as it was");
    // Commands of a user who forgot that the store is there.
    let line = format!(
        "find deep -name '*.jsonl' | xargs {} --keep-messages 2",
        tool_path("ctx-compact").display()
    );
    let done = Case::new("/bin/bash").within(dir).args(["-c", &line]);
    done.code(123).stdout_any().stderr_has(&said).run();
    assert!(files() == before, "the store is as it was");
}
