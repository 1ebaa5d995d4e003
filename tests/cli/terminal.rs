//! H9: foreign text (names of files, tools, roles, ids, models, and everything in a record) cannot
//! control a terminal, whichever tool prints it.

use std::fs;
use std::process::{Command, Output};

use ctx_testkit::Case;
use serde_json::{Value, json};

const USER: &str = "{\"role\":\"user\",\"content\":\"x\"}\n";
/// Sets the window title and colours, and clears the screen with a control character of two bytes.
const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}2J\u{7f}";

/// H9: terminal escapes in records and in file names do not reach the terminal.
#[test]
fn h9_no_text_of_a_record_drives_the_terminal() {
    let escape = "\u{1b}]0;owned\u{7}";
    let call = format!(
        "{{\"role\":\"assistant\",\"tool_calls\":[{{\"id\":\"\\u001b]0;owned\\u0007\",\"type\":\"function\",\"function\":{{\"name\":\"\\u001b]0;owned\\u0007\",\"arguments\":\"\"}}}}]}}\n{USER}"
    );
    let counted = tool("ctx-count").args(["--by", "tool"]).stdin(call.clone()).stdout_any().run();
    assert!(!String::from_utf8_lossy(&counted.stdout).contains(escape));
    let name = format!("{escape}.jsonl");
    let missing = tool("ctx-split").args([name.as_str()]).stderr_has("no such file").code(2).run();
    assert!(!missing.stderr.contains('\u{1b}'));
    let tagged =
        tool("ctx-split").args(["--keep-messages", "0"]).stdin(call).stdout_any().run().stdout;
    let summed = tool("ctx-summarize").args(["-v"]).stdin(tagged).stdout_any().stderr_has("").run();
    assert!(!summed.stderr.contains('\u{1b}'));
}

fn tool(name: &str) -> Case {
    Case::new(crate::tool_path(name))
}

/// Returns true if a terminal would interpret the text instead of showing it.
fn drives(text: &str) -> bool {
    text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Returns a call in a folder with `file`, whose name follows the arguments.
fn called(name: &str, args: &[&str], file: &str, text: &str) -> Output {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join(file), text).expect("a session");
    Command::new(crate::tool_path(name))
        .args(args)
        .arg(file)
        .env_clear()
        .env("HOME", dir.path())
        .current_dir(dir.path())
        .output()
        .expect("the tool starts")
}

fn lines(records: &[Value]) -> String {
    let line = |record: &Value| record.to_string() + "\n";
    records.iter().map(line).collect()
}

/// Returns a session in which every name is meant to do harm.
fn session() -> String {
    let e = ESCAPES;
    let mut records = vec![json!({"role": "user", "content": format!(
        "Please rename the module {e}parser_17. We decided to use {e}SQLite. Never touch {e}db.rs."
    )})];
    for n in 0..6 {
        let arguments =
            json!({"path": format!("src/{e}main_{n}.rs"), "command": format!("cat {e}x")});
        records.extend([
            json!({"role": "assistant", "content": format!("I looked at {e}order_{n}."), "model": e,
                "tool_calls": [{"id": format!("{e}{n}"), "type": "function",
                    "function": {"name": format!("read{e}file"), "arguments": arguments.to_string()}}]}),
            json!({"role": "tool", "tool_call_id": format!("{e}{n}"), "name": format!("read{e}file"),
                "content": format!("error: {e}failed at src/{e}main_{n}.rs:7\n{e}line of order_{n}")}),
            json!({"role": "user", "content": format!("Question {n}: is port {e}80 right?")}),
        ]);
    }
    lines(&records)
}

/// Returns such a session with every kind of problem.
fn broken() -> String {
    let e = ESCAPES;
    let records = [
        json!({"role": format!("ro{e}le"), "content": "x"}),
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": format!("c{e}"), "type": "function",
            "function": {"name": format!("n{e}"), "arguments": "{"}}]}),
        json!({"role": "tool", "tool_call_id": format!("z{e}"), "content": "x"}),
    ];
    session() + &lines(&records) + ESCAPES + "\n"
}

/// Calls that report about a session and do not pass it on.
const TELLING: [(&str, &[&str]); 28] = [
    ("ctx-check", &["-v"]),
    ("ctx-check", &["--all"]),
    ("ctx-check", &["--format", "github", "--all"]),
    ("ctx-check", &["--format", "json", "--all"]),
    ("ctx-check", &["--format", "junit", "--all"]),
    ("ctx-check", &["--due", "--preset", "default"]),
    ("ctx-check", &["--max-tokens", "5"]),
    ("ctx-check", &["-v", "--repair", "-o", "repaired.jsonl"]),
    ("ctx-count", &["-vv"]),
    ("ctx-count", &["--by", "role"]),
    ("ctx-count", &["--by", "kind"]),
    ("ctx-count", &["--by", "tool"]),
    ("ctx-count", &["--by", "tool", "--json"]),
    ("ctx-compact", &["-vv", "-s", "x", "--keep-messages", "1", "-n"]),
    ("ctx-compact", &["-vv", "-s", "x", "--keep-messages", "1"]),
    ("ctx-compact", &["-s", "x", "--keep-messages", "1", "--json"]),
    ("ctx-extract", &["-vv", "-s", "x"]),
    ("ctx-offload", &["-vv", "-s", "x", "-n", "--min-tokens", "10"]),
    ("ctx-offload", &["-vv", "-s", "x", "-n", "--restore"]),
    ("ctx-prune", &["-vv", "--clear", "-n"]),
    ("ctx-prune", &["-vv", "--clear", "-o", "pruned.jsonl"]),
    ("ctx-rollback", &["-v", "-s", "none", "--snapshot", "latest"]),
    ("ctx-score", &["-vv", "--future"]),
    ("ctx-snapshot", &["-v", "-s", "x", "--count"]),
    ("ctx-split", &["-v", "--invalid", "fail", "-o", "out.jsonl"]),
    ("ctx-split", &["-vv", "--keep-messages", "2", "-o", "out.jsonl"]),
    ("ctx-summarize", &["-vv", "--budget", "900", "-o", "out.jsonl"]),
    ("ctx-summarize", &["-vv", "--partial", "-o", "out.jsonl"]),
];

/// H9: every tool escapes names of files and names in records in every kind of output, so that they
/// neither control a terminal nor start a line.
#[test]
fn h9_no_name_drives_the_terminal() {
    let name = format!("{ESCAPES}\nctx: all is well.jsonl");
    let legal = USER.repeat(3);
    for text in [legal, session(), broken()] {
        for (tool_name, args) in TELLING {
            let output = called(tool_name, args, &name, &text);
            for bytes in [output.stdout, output.stderr] {
                let said = String::from_utf8_lossy(&bytes);
                let call = format!("{tool_name} {args:?}: {said:?}");
                assert!(!drives(&said), "{call}");
                assert!(!said.contains("\nctx: all"), "{call}");
            }
        }
    }
}

/// H9: a summary, which is printed and passed on, used to contain a tool's name unchanged.
#[test]
fn h9_no_summary_drives_the_terminal() {
    for method in ["extractive", "rule"] {
        let budget = ["--budget", "900", "--method", method];
        let output = called("ctx-summarize", &budget, "s.jsonl", &session());
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let first: Value = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .next()
            .expect("a record");
        let summary = first["content"].as_str().expect("a text");
        let told = ["line of order_0", "file"];
        assert!(told.iter().any(|told| summary.contains(told)), "{method}: {summary}");
        assert!(!drives(summary), "{method}: {summary:?}");
    }
}

/// H9: a shell pattern can match a file name that begins with two dashes, which is then taken for a
/// flag. On a terminal with colour, the usage error used to show such a name unchanged.
#[test]
fn h9_a_name_that_is_taken_for_a_flag_drives_no_terminal() {
    let name = format!("--{ESCAPES}.jsonl");
    for tool_name in ctx_tools::TOOLS.iter().map(|tool| tool.name) {
        let done = tool(tool_name)
            .args([name.as_str()])
            .env("CLICOLOR_FORCE", "1")
            .code(2)
            .stderr_has("there is no flag --")
            .run();
        // The colour of the tool's name is our own.
        let ours = format!("\u{1b}[31m{tool_name}:\u{1b}[0m");
        let rest = done.stderr.replacen(&ours, "", 1);
        assert!(!drives(&rest), "{tool_name}: {rest:?}");
    }
}
