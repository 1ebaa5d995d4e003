//! `ctx-compact` on whole sessions, with every policy and mode, and repeatedly.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_format::{Options, Records, Rule, Validator};

use crate::compact::CTX_COMPACT;

const PRESETS: [&str; 7] =
    ["default", "sanbot", "synapse", "pomelobot", "turns", "xopcbot", "openclaw"];
const MODES: [&str; 4] = ["", "summary_only", "summary_plus_prune", "prune_only"];

/// Returns the problems of a session, without line numbers, which change.
fn problems(bytes: &[u8]) -> Vec<(Rule, String)> {
    let mut records = Records::open(bytes, &Options::default()).expect("from memory");
    let dialect = records.dialect().expect("a known format");
    let mut validator = Validator::new(dialect.rules());
    while let Some(record) = records.next().expect("from memory") {
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(record.line, &outline);
        }
    }
    let problems = validator.finish().into_iter();
    let mut problems: Vec<_> = problems.map(|problem| (problem.rule, problem.id)).collect();
    problems.sort();
    problems
}

/// Returns true if `whole` has all of `part`, at least as many times.
fn is_within(part: &[(Rule, String)], whole: &[(Rule, String)]) -> bool {
    let mut left = whole.to_vec();
    part.iter().all(|problem| {
        let at = left.iter().position(|other| other == problem);
        at.map(|at| left.remove(at)).is_some()
    })
}

/// Runs the tool on `s.jsonl` in `dir` and returns its report.
fn compact(dir: &Path, preset: &str, mode: &str, args: &[&str]) -> serde_json::Value {
    let mut command = Command::new(CTX_COMPACT);
    command
        .args(["--json", "-s", "demo", "--preset", preset])
        .args(args)
        .arg("s.jsonl")
        .current_dir(dir)
        .env("CTX_HOME", dir.join("store"));
    if !mode.is_empty() {
        command.args(["--set", &format!("mode={mode}")]);
    }
    let output = command.output().expect("the tool starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{preset} {mode}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("a JSON object")
}

/// Returns true if every record, except for the summary and offloaded results, is a record of the
/// input, byte for byte and in order.
fn is_kept(output: &[u8], input: &[u8]) -> bool {
    fn lines(session: &[u8]) -> impl Iterator<Item = &[u8]> {
        session.split(|byte| *byte == b'\n')
    }
    let is_ours = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        line.contains("\"ctx_summary\"")
            || line.contains("Tool result (")
            || line.contains("Tool result is at: ")
    };
    let mut input = lines(input);
    lines(output).all(|line| is_ours(line) || input.any(|record| record == line))
}

/// Compacts a whole session and rolls it back; returns the outcome.
fn check_once(dir: &Path, input: &[u8], preset: &str, mode: &str, args: &[&str]) -> String {
    let live = dir.join("s.jsonl");
    fs::write(&live, input).expect("writes");
    let report = compact(dir, preset, mode, args);
    let output = fs::read(&live).expect("reads");
    let outcome = report["outcome"].as_str().expect("a word").to_owned();
    let number = |key: &str| report[key].as_u64().expect("a number");
    if outcome == "compacted" {
        assert!(number("tokens_after") < number("tokens_before"), "{report}");
        let (before, after) = (problems(input), problems(&output));
        assert!(is_within(&after, &before), "{preset} {mode}: {after:?}");
        if mode == "summary_only" {
            assert!(is_kept(&output, input), "{preset}");
        }
        let undo = Command::new(env!("CARGO_BIN_EXE_ctx-rollback"))
            .args(["-q", "-s", "demo", "--undo", "s.jsonl"])
            .current_dir(dir)
            .env("CTX_HOME", dir.join("store"))
            .status();
        assert!(undo.expect("it starts").success());
    }
    assert!(fs::read(&live).expect("reads") == input, "{preset} {mode}");
    fs::remove_dir_all(dir.join("store")).expect("a store");
    outcome
}

fn example() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/session.jsonl");
    fs::read(path).expect("the example session")
}

#[test]
fn every_policy_and_mode_keeps_a_session_legal_and_can_be_undone() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = example();
    let mut outcomes = BTreeMap::new();
    for preset in PRESETS {
        for mode in MODES {
            let outcome = check_once(dir.path(), &input, preset, mode, &[]);
            *outcomes.entry(outcome).or_insert(0) += 1;
        }
    }
    assert!(outcomes["compacted"] > 10, "{outcomes:?}");
}

/// Run with `CTX_TRANSCRIPTS=DIR cargo test --test cli -- --ignored policies --nocapture`,
/// where DIR/chat/*/*.jsonl are sessions.
#[test]
#[ignore = "needs real sessions in CTX_TRANSCRIPTS"]
#[allow(clippy::print_stderr)] // The test prints figures.
fn all_policies_on_real_sessions() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut outcomes = BTreeMap::new();
    for path in sessions() {
        let input = fs::read(&path).expect("a session");
        // Most sessions are much smaller than the thresholds for today's large windows.
        for window in [None, Some("16000")] {
            for (preset, mode) in PRESETS.into_iter().flat_map(|preset| MODES.map(|m| (preset, m)))
            {
                let args: Vec<&str> = window.map_or(vec![], |tokens| vec!["--window", tokens]);
                let outcome = check_once(dir.path(), &input, preset, mode, &args);
                *outcomes.entry((window, preset, mode, outcome)).or_insert(0) += 1;
            }
        }
    }
    for ((window, preset, mode, outcome), count) in outcomes {
        let window = window.unwrap_or("default");
        eprintln!("window {window}, {preset} {mode}: {count} {outcome}");
    }
}

fn sessions() -> Vec<PathBuf> {
    let root = std::env::var_os("CTX_TRANSCRIPTS").expect("CTX_TRANSCRIPTS names a folder");
    let entries = |dir: PathBuf| {
        let entries = fs::read_dir(dir).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let folders = entries(PathBuf::from(root).join("chat"));
    let mut sessions: Vec<PathBuf> = folders.flat_map(entries).collect();
    sessions.sort();
    assert!(!sessions.is_empty(), "no sessions there");
    sessions
}

fn summaries(session: &[u8]) -> usize {
    let text = String::from_utf8_lossy(session);
    text.matches("\"ctx_summary\"").count()
}

/// Returns a session that grows by a tenth of `records` and is compacted, ten times.
fn replay(dir: &Path, records: &[&[u8]], preset: &str, window: u64) -> usize {
    let live = dir.join("s.jsonl");
    fs::write(&live, b"").expect("writes");
    let window_flag = window.to_string();
    let mut compactions = 0;
    for step in records.chunks(records.len().div_ceil(10)) {
        let mut grown = fs::read(&live).expect("reads");
        for record in step {
            grown.extend_from_slice(record);
        }
        fs::write(&live, &grown).expect("writes");
        let report = compact(dir, preset, "", &["--window", &window_flag]);
        let output = fs::read(&live).expect("reads");
        assert!(is_within(&problems(&output), &problems(&grown)), "{report}");
        if report["outcome"] == "compacted" {
            compactions += 1;
            // In some generations pruning alone is enough.
            let (was, is) = (summaries(&grown), summaries(&output));
            assert!(is <= 1 && is >= was, "one summary, which holds those before it");
        }
        let tokens = report["tokens_after"].as_u64().expect("a number");
        if report["success"] == true {
            assert!(tokens <= window / 2, "{report}");
        }
    }
    compactions
}

#[test]
fn ten_compactions_in_a_row_stay_legal_and_under_the_target() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = example();
    let records: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    // The target is half of the window, which is less than a tenth of the session.
    let compactions = replay(dir.path(), &records, "default", 24_000);
    assert!(compactions >= 1, "{compactions}");
    let compactions = replay(dir.path(), &records, "turns", 12_000);
    assert!(compactions >= 3, "{compactions}");
}

#[test]
#[ignore = "needs real sessions in CTX_TRANSCRIPTS"]
#[allow(clippy::print_stderr)] // The test prints figures.
fn replays_of_real_sessions() {
    let (mut replayed, mut compactions) = (0, 0);
    for path in sessions() {
        let input = fs::read(&path).expect("a session");
        let records: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
        if records.len() >= 40 {
            let dir = tempfile::tempdir().expect("a folder");
            compactions += replay(dir.path(), &records, "default", 24_000);
            replayed += 1;
        }
    }
    eprintln!("{replayed} sessions, {compactions} compactions");
}

/// Returns the summary of a session; empty if there is none.
fn summary_of(session: &[u8]) -> String {
    let text = String::from_utf8_lossy(session);
    let record = text.lines().find(|line| line.contains("\"ctx_summary\""));
    let record = record.map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let content = record.and_then(|record| record["content"].as_str().map(str::to_owned));
    content.unwrap_or_default()
}

/// Returns the items of one section of a summary, without the cited lines.
fn section<'t>(summary: &'t str, name: &str) -> Vec<&'t str> {
    let heading = format!("## {name}");
    let lines = summary.lines().skip_while(|line| *line != heading).skip(1);
    let items = lines.take_while(|line| line.starts_with("- "));
    items.map(|line| line.split(" ⟦").next().unwrap_or(line)).collect()
}

fn left_out(summary: &str, name: &str) -> usize {
    let line = summary.lines().find(|line| line.starts_with("⟦left out: "));
    let counts = line.unwrap_or_default().trim_start_matches("⟦left out: ");
    let counts = counts.trim_end_matches('⟧').split(", ");
    let of_kind = counts.filter_map(|count| count.strip_suffix(&name.to_lowercase()));
    of_kind.map(|count| count.trim().parse::<usize>().expect("a number")).sum()
}

/// A file that was read may be changed later; a long request may be shortened again.
fn is_same(before: &str, now: &str) -> bool {
    let head = |text: &str| text.chars().take(40).collect::<String>();
    let shortened = now.ends_with('…') && head(now) == head(before);
    now == before || now == before.replace("- read: ", "- changed: ") || shortened
}

/// Ten compactions while the session grows: every request and every prohibition of one summary is
/// in the next one, or is counted as left out.
fn nothing_is_lost_over_generations(dir: &Path, records: &[&[u8]]) -> usize {
    let live = dir.join("s.jsonl");
    fs::write(&live, b"").expect("writes");
    let mut before = String::new();
    let mut compactions = 0;
    for step in records.chunks(records.len().div_ceil(10)) {
        let mut grown = fs::read(&live).expect("reads");
        for record in step {
            grown.extend_from_slice(record);
        }
        fs::write(&live, &grown).expect("writes");
        let report = compact(dir, "default", "", &["--force", "--keep-messages", "6"]);
        if report["outcome"] != "compacted" {
            continue;
        }
        compactions += 1;
        let summary = summary_of(&fs::read(&live).expect("reads"));
        for name in ["Asks", "Constraints", "Files"] {
            let now = section(&summary, name);
            let missing = section(&before, name);
            let missing: Vec<&str> = missing
                .into_iter()
                .filter(|item| !now.iter().any(|later| is_same(item, later)))
                .collect();
            let counted = left_out(&summary, name).saturating_sub(left_out(&before, name));
            assert!(
                missing.len() <= counted,
                "{missing:?} of {name}, {counted} counted:\n{summary}"
            );
        }
        before = summary;
    }
    compactions
}

#[test]
fn what_the_first_summary_holds_is_in_the_tenth_or_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = example();
    let records: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    let compactions = nothing_is_lost_over_generations(dir.path(), &records);
    assert!(compactions >= 5, "{compactions}");
}

#[test]
#[ignore = "needs real sessions in CTX_TRANSCRIPTS"]
#[allow(clippy::print_stderr)] // The test prints figures.
fn generations_of_real_sessions() {
    let mut compactions = 0;
    let mut replayed = 0;
    for path in sessions() {
        let input = fs::read(&path).expect("a session");
        let records: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
        if records.len() < 40 {
            continue;
        }
        let dir = tempfile::tempdir().expect("a folder");
        compactions += nothing_is_lost_over_generations(dir.path(), &records);
        replayed += 1;
    }
    eprintln!("{replayed} sessions, {compactions} compactions");
}
