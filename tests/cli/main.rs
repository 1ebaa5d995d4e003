//! End-to-end tests of whole commands, with one module for each tool.

mod asked;
mod authority;
mod bench;
mod calibrate;
mod check;
mod compact;
mod compact_batch;
mod compact_budget;
mod compact_fire;
mod compact_live;
mod compact_logs;
mod compact_presets;
mod compact_reports;
mod compact_reports_input;
mod compact_sessions;
mod conventions;
mod convert;
mod cookbook;
mod count;
mod daily;
mod dialogues;
mod dry_run;
mod examples;
mod extract;
mod faults;
mod find;
mod fleet;
mod folders;
mod foreign;
mod formats;
mod full_stdout;
mod gc;
mod gc_bounds;
mod gc_pack;
mod generated;
mod generations;

mod guesses;
mod handles;
mod help;
mod hostile;
mod json_keys;
mod kills;
mod limits;
mod live;
mod logs;
mod ls;
mod memory_days;
mod nights;
mod not_understood;
mod offload;
mod old_store;
mod on_terminal;
mod one_number;
mod opencode;
mod output;
mod page;
mod pages;
mod pi;
mod pipeline;
mod places;
mod prune;
mod readme;
mod reliability;
mod rollback;
mod scale;
mod score;
mod score_evidence;
mod sealed;
mod secrets;
mod secrets_at_rest;
mod settings;
mod sick;
mod snapshot;
mod split;
mod stats;
mod summarize;
mod summarize_budget;
mod summarize_checks;
mod summarize_completion;
mod summarize_llm;
mod summarize_llm_key;
mod summarize_room;
mod terminal;
mod thinking;
mod unread;

use std::path::{Path, PathBuf};

/// Returns every tool, including those that have their own package.
fn tools() -> Vec<&'static ctx_cli::Tool> {
    xtask::tools()
}

/// Returns the program of a tool, by name.
fn tool_path(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_ctx-count")).with_file_name(name);
    assert!(
        path.exists(),
        "{name} is not built; `cargo test --test cli` builds it, and with -p ctx-tools `cargo build` does"
    );
    path
}

/// Returns true if a program is installed. If not, prints that the test which needs it is skipped.
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn is_there(program: &str) -> bool {
    let done = std::process::Command::new("sh")
        .args(["-c", "command -v \"$1\" > /dev/null", "-", program])
        .status();
    let is_there = done.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: {program} is not there");
    }
    is_there
}
