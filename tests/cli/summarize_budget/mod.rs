//! `ctx-summarize --budget`: the whole output fits one number of tokens.

mod input;
mod property;
mod summary;
pub(crate) mod talk;

use std::path::Path;
use std::process::{Command, Output};

use ctx_testkit::Case;
use serde_json::Value;

const CTX_SUMMARIZE: &str = env!("CARGO_BIN_EXE_ctx-summarize");

fn case(budget: u64) -> Case {
    Case::new(CTX_SUMMARIZE).args(["--budget".to_owned(), budget.to_string()])
}

/// Returns the output for `session`, if the run succeeds.
fn within(budget: u64, args: &[&str], session: impl Into<Vec<u8>>) -> String {
    let case = case(budget).args(["-q"]).args(args.iter().copied());
    let done = case.stdin(session).stdout_any().stderr_has("").run();
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// Returns the result of a run on a file in `dir`, successful or not.
fn tried(dir: &Path, budget: u64, args: &[&str]) -> Output {
    Command::new(CTX_SUMMARIZE)
        .args(["--budget", &budget.to_string()])
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .output()
        .expect("it starts")
}

/// Returns the total according to ctx-count.
pub(crate) fn tokens(session: impl Into<Vec<u8>>, dialect: &str) -> u64 {
    let done = Case::new(env!("CARGO_BIN_EXE_ctx-count"))
        .args(["--json", "--dialect", dialect])
        .stdin(session)
        .stdout_any()
        .run();
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    let total = text.lines().last().expect("a total");
    let total: Value = serde_json::from_str(total).expect("JSON");
    total["tokens"].as_u64().expect("a number")
}

/// Returns the records other than the summary, and the text of the summary.
pub(crate) fn parts(output: &str) -> (Vec<&str>, Option<String>) {
    let is_summary = |line: &&str| line.contains("ctx_summary");
    let mut summaries = output.lines().filter(is_summary);
    let summary = summaries.next().map(|line| {
        let record: Value = serde_json::from_str(line).expect("JSON");
        record["content"].as_str().expect("text").to_owned()
    });
    assert_eq!(summaries.next(), None, "one summary at most");
    let rest = output.lines().filter(|line| !is_summary(line));
    (rest.collect(), summary)
}
