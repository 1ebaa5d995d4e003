//! `ctx-compact` with every preset: just below, at and just above each threshold of its table, and
//! each row of its tables of errors and edge cases.

mod claw;
mod default;
mod edges;
mod figures;
mod pomelobot;
mod sanbot;
mod synapse;
mod talk;
mod turns;

use std::fs;
use std::path::{Path, PathBuf};

use ctx_testkit::{Act, Case, Finished, Server};
use serde_json::Value;

use crate::compact::CTX_COMPACT;
use talk::Talk;

const ALL: [&str; 7] =
    ["default", "openclaw", "pomelobot", "sanbot", "synapse", "turns", "xopcbot"];

/// Returns a call of the tool with a preset, on `s.jsonl` of a session named `demo`.
fn call(preset: &str, session: &str) -> Case {
    Case::new(CTX_COMPACT)
        .file("s.jsonl", session)
        .args(["--json", "-s", "demo", "--preset", preset, "s.jsonl"])
        .stdout_any()
}

/// Returns a call with a preset in the folder `dir`, which has the session and the store of an
/// earlier call.
fn call_in(dir: &Path, preset: &str) -> Case {
    Case::new(CTX_COMPACT)
        .within(dir)
        .args(["--json", "-s", "demo", "--preset", preset, "s.jsonl"])
        .stdout_any()
}

/// Returns the report of a call with `--json`.
fn report(done: &Finished) -> Value {
    serde_json::from_slice(&done.stdout).expect("a JSON object")
}

/// Returns the session as the call left it.
fn live(done: &Finished) -> String {
    String::from_utf8(done.read("s.jsonl")).expect("UTF-8")
}

/// Returns the outcome that `--if-due` predicts for a session, and the reason.
fn due(preset: &str, session: &Talk, args: &[&str]) -> (String, Vec<String>, Value) {
    let done =
        call(preset, session.as_str()).args(["-n", "--if-due"]).args(args.iter().copied()).run();
    let report = report(&done);
    let text = |value: &Value| value.as_str().expect("a word").to_owned();
    let fired = report["triggers"].as_array().expect("a list");
    let fired = fired.iter().map(text).collect();
    (text(&report["outcome"]), fired, report)
}

/// Of three sessions, just below, at and above a limit, only the last one needs a compaction.
fn is_due_above(
    preset: &str,
    limit: u64,
    trigger: &str,
    talk: &dyn Fn(u64) -> Talk,
    args: &[&str],
) {
    for (tokens, fires) in [(limit - 1, false), (limit, false), (limit + 1, true)] {
        let (outcome, fired, report) = due(preset, &talk(tokens), args);
        assert_eq!(report["tokens_before"], tokens, "{preset}: the fixture");
        let expected: &[&str] = if fires { &[trigger] } else { &[] };
        assert_eq!(fired, expected, "{preset} at {tokens}");
        assert_eq!(outcome == "compacted", fires, "{preset} at {tokens}: {outcome}");
    }
}

/// The report of a real run on a session, and the session that the run left.
struct Ran {
    report: Value,
    live: String,
    done: Finished,
}

fn run(case: Case) -> Ran {
    let done = case.run();
    Ran { report: report(&done), live: live(&done), done }
}

impl Ran {
    fn is(&self, outcome: &str) {
        assert_eq!(self.report["outcome"], outcome, "{}", self.report);
    }

    fn number(&self, key: &str) -> u64 {
        self.report[key].as_u64().unwrap_or_else(|| panic!("{key} in {}", self.report))
    }

    /// Returns the attempts, in order.
    fn tried(&self) -> Vec<&str> {
        let attempts = self.report["attempts"].as_array().expect("a list");
        attempts.iter().map(|attempt| attempt["what"].as_str().expect("a word")).collect()
    }

    /// Returns the text of the summary message, and its role.
    fn summary(&self) -> (String, String) {
        let mut records = self.live.lines().map(|line| {
            let record: Value = serde_json::from_str(line).expect("a record");
            record
        });
        let record = records.find(|record| record["name"] == "ctx_summary");
        let record = record.unwrap_or_else(|| panic!("no summary in {}", self.live));
        let text = |key: &str| record[key].as_str().expect("text").to_owned();
        (text("role"), text("content"))
    }

    /// Returns true if the store has a file whose path contains `part`.
    fn store_has(&self, part: &str) -> bool {
        self.in_store(part).is_some()
    }

    /// Returns the content of a file of the store.
    fn stored(&self, part: &str) -> String {
        let path = self.in_store(part).expect("it is there");
        fs::read_to_string(path).expect("text")
    }

    fn in_store(&self, part: &str) -> Option<PathBuf> {
        let mut folders = vec![self.done.dir().join(".local")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.to_string_lossy().contains(part) {
                    return Some(path);
                }
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        None
    }
}

/// Returns an answer with this text.
fn said(text: &str) -> Act {
    let choice = serde_json::json!({"message": {"content": text}, "finish_reason": "stop"});
    Act::ok(&serde_json::json!({"choices": [choice]}).to_string())
}

/// Makes the call use a model at `server`, with a known window and without waiting between
/// attempts.
fn asking(server: &Server, case: Case) -> Case {
    case.env("CTX_LLM_URL", &server.url).args(["--llm-backoff", "0", "--llm-window", "200000"])
}

/// Returns an answer with these sections.
fn with_sections(sections: &[&str]) -> String {
    let sections = sections.iter().map(|name| format!("## {name}\nNone.\n"));
    sections.collect()
}
