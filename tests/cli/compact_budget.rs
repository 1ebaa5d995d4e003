//! `ctx-compact --budget`: one number limits the whole context.

use std::fs;

use ctx_testkit::{Act, Case, Finished, Server};
use serde_json::{Value, json};

use crate::compact::CTX_COMPACT;
use crate::summarize_budget::talk::{Event, sentences, session, work};
use crate::summarize_budget::{parts, tokens};
use crate::tool_path;

fn compact(session: &str, budget: u64) -> Case {
    Case::new(CTX_COMPACT)
        .file("s.jsonl", session)
        .args(["--budget".to_owned(), budget.to_string()])
        .args(["-s", "demo"])
}

fn again(done: &Finished, budget: u64) -> Case {
    Case::new(CTX_COMPACT)
        .within(done.dir())
        .args(["--budget".to_owned(), budget.to_string()])
        .args(["-s", "demo"])
}

fn live(done: &Finished) -> String {
    String::from_utf8(done.read("s.jsonl")).expect("UTF-8")
}

fn report(case: Case) -> (Value, Finished) {
    let done = case.args(["--json", "s.jsonl"]).stdout_any().stderr_has("").run();
    let report = serde_json::from_slice(&done.stdout).expect("a JSON object");
    (report, done)
}

#[test]
fn a_session_above_it_is_compacted_and_comes_back() {
    let before = work();
    let all = tokens(before.clone(), "chat");
    for budget in [700, 2_000, 5_000] {
        let (report, done) = report(compact(&before, budget));
        let after = live(&done);
        let total = tokens(after.clone(), "chat");
        assert!(total <= budget, "{total} > {budget}");
        assert_eq!(report["outcome"], "compacted");
        assert_eq!(report["triggers"], json!(["budget"]));
        assert_eq!(report["tokens_before"], all);
        assert_eq!(report["tokens_after"], total);
        assert_eq!(report["target_tokens"], budget);
        let attempts = json!([{"what": "budget", "tokens": total}]);
        assert_eq!(report["attempts"], attempts);
        let (rest, summary) = parts(&after);
        assert!(summary.is_some() && report["summary"].is_null());
        assert!(report["summary_tokens"].as_u64().is_some_and(|tokens| tokens < budget));
        assert_eq!(rest.first(), before.lines().next().as_ref());
        assert_eq!(rest.last(), before.lines().last().as_ref());

        Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
            .within(done.dir())
            .args(["-q", "-s", "demo", "--undo", "s.jsonl"])
            .run();
        assert_eq!(live(&done), before);
    }
}

#[test]
fn a_session_within_it_is_left_alone() {
    let before = work();
    let all = tokens(before.clone(), "chat");
    for args in [&[][..], &["--if-due"], &["--preset", "sanbot"]] {
        let done = compact(&before, all)
            .args(args.iter().copied())
            .args(["s.jsonl"])
            .stdout(format!("s.jsonl: not due: {all} tokens are within the limit of {all}\n"))
            .run();
        assert_eq!(live(&done), before);
    }
    // A forced run also removes nothing, because the session fits.
    let done = compact(&before, all)
        .args(["--force", "s.jsonl"])
        .stdout(format!("s.jsonl: nothing to summarize: all messages ({all} tokens) are kept; --budget N keeps fewer\n"))
        .run();
    assert_eq!(live(&done), before);
    let (report, _) = report(compact(&before, all - 1).args(["--if-due"]));
    assert_eq!(report["outcome"], "compacted");
}

#[test]
fn out_of_reach_changes_nothing_until_there_is_more_room() {
    let before = work();
    let done = compact(&before, 20)
        .args(["--strict-target", "s.jsonl"])
        .code(1)
        .stderr_has("the budget of 20 tokens is out of reach: ")
        .run();
    assert_eq!(live(&done), before);
    let (report, _) = report(again(&done, 20).args(["--strict-target"]).code(1));
    assert_eq!(report["outcome"], "unreachable");
    assert_eq!(report["success"], false);
    assert_eq!(report["attempts"][0]["what"], "budget");
    again(&done, 20).args(["s.jsonl"]).code(1).stderr_has("not tried again at ").run();
    again(&done, 19).args(["s.jsonl"]).code(1).stderr_has("not tried again at ").run();
    assert_eq!(live(&done), before);
    again(&done, 2_000).args(["-q", "s.jsonl"]).run();
    assert!(tokens(live(&done), "chat") <= 2_000);
}

#[test]
fn only_floors_of_flags_hold() {
    let before = work();
    let lines: Vec<&str> = before.lines().collect();
    // The policy keeps the last 20 messages.
    let preset = |budget| compact(&before, budget).args(["--preset", "sanbot"]);
    let (least, _) = report(preset(700));
    assert!(least["kept_records"].as_u64().expect("a number") < 20);
    let (floor, done) = report(preset(9_000).args(["--keep-messages", "20"]));
    assert!(floor["kept_records"].as_u64().expect("a number") >= 20);
    let after = live(&done);
    for line in &lines[lines.len() - 20..] {
        let is_result = line.contains("\"tool_call_id\"");
        assert!(is_result || after.contains(line), "{line}");
    }
    let pinned = ["--pin", "re:Step 2:"];
    let (_, done) = report(preset(2_000).args(pinned));
    let step = lines.iter().find(|line| line.contains("Step 2:"));
    assert!(live(&done).contains(step.expect("there")));
    let keep = ["--keep-messages", "30"];
    let (missed, done) = report(preset(700).args(keep));
    assert_eq!(missed["outcome"], "over-target");
    assert_eq!(missed["success"], true);
    assert!(missed["kept_records"].as_u64().expect("a number") >= 30);
    assert!(tokens(live(&done), "chat") < tokens(before.clone(), "chat"));
    let strict = ["--strict-target"];
    let (refused, done) = report(preset(700).args(keep).args(strict).code(1));
    assert_eq!(refused["outcome"], "unreachable");
    assert_eq!(live(&done), before);
}

#[test]
fn as_a_filter() {
    let before = work();
    let filter = |budget: u64| {
        Case::new(CTX_COMPACT)
            .args(["-q".to_owned(), "--budget".to_owned(), budget.to_string()])
            .stdin(before.clone())
    };
    let done = filter(2_000).stdout_any().run();
    let after = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(parts(&after).1.is_some());
    assert!(tokens(after, "chat") <= 2_000);
    for (budget, code) in [(1_000_000, 0), (20, 1)] {
        let strict = filter(budget).args(["--strict-target"]);
        strict.code(code).stdout(before.clone()).run();
    }
    let least = filter(20).stdout_any().run();
    assert!(tokens(least.stdout, "chat") < 200);
    let document = format!("[{}]", before.lines().collect::<Vec<_>>().join(","));
    let done = filter(2_000).stdin(document).stdout_any().run();
    assert!(tokens(done.stdout, "chat") <= 2_000);
}

#[test]
fn a_preview_tells_what_would_be_done_and_does_nothing() {
    let before = work();
    let (preview, done) = report(compact(&before, 2_000).args(["-n"]));
    assert_eq!(live(&done), before);
    assert!(!done.dir().join(".local").exists(), "no store was made");
    let (real, _) = report(compact(&before, 2_000));
    for number in ["tokens_after", "kept_records", "first_kept_index", "summary_tokens"] {
        assert_eq!(preview[number], real[number], "{number}");
    }
    let zone = |n: usize, member: &str| preview["plan"]["zones"][n][member].clone();
    assert_eq!([zone(0, "zone"), zone(0, "records")], [json!("system"), json!(1)]);
    let records = before.lines().count() as u64;
    let (old, keep) = (zone(1, "records"), zone(2, "records"));
    let sum = old.as_u64().zip(keep.as_u64()).map(|(old, keep)| old + keep);
    assert_eq!(sum, Some(records - 1));
    assert_eq!(keep, real["kept_records"]);
    compact(&before, 2_000)
        .args(["-n", "s.jsonl"])
        .stdout_has("s.jsonl: would be compacted: ")
        .run();
}

#[test]
fn what_leaves_is_saved_for_memory() {
    let ask = session(
        "chat",
        None,
        &[Event::User(
            "We decided to use Postgres 16 and no SQLite for the booking store.".to_owned(),
        )],
    );
    let work = work();
    let before = work.replacen('\n', &format!("\n{ask}"), 1);
    let (_, done) = report(compact(&before, 700).args(["--preset", "sanbot"]));
    let memory = done.dir().join(".local/state/ctx/memory/extracted/decisions.md");
    let memory = fs::read_to_string(memory).expect("it is there");
    assert!(memory.contains("Postgres 16"), "{memory}");
    // The snapshot has the result at the end that was shortened.
    let after = live(&done);
    let last = after.lines().rev().nth(1).expect("a result");
    let handle = &last[last.find('⟦').expect("a handle")..=last.find('⟧').expect("its end") + 2];
    let shown = Case::new(env!("CARGO_BIN_EXE_ctx-offload"))
        .within(done.dir())
        .args(["--show", handle])
        .stdout_any()
        .run();
    assert_eq!(String::from_utf8_lossy(&shown.stdout), sentences(900, 40));
}

/// If somebody edited the memory during a killed run, the next run reports it.
#[test]
fn an_edit_of_the_memory_that_a_killed_run_took_out_is_told_of() {
    let ask = "We decided to use Postgres 16 and no SQLite for the booking store.";
    let ask = session("chat", None, &[Event::User(ask.to_owned())]);
    let before = work().replacen('\n', &format!("\n{ask}"), 1);
    let preset = ["--preset", "sanbot", "s.jsonl"];
    let done = compact(&before, 700).args(preset).stdout_any().run();
    let memory = done.dir().join(".local/state/ctx/memory/extracted");
    let edit = memory.join(".decisions.md.ctx-old-1-2-3-99");
    fs::write(&edit, "edited\n").expect("writes");
    fs::write(done.dir().join("s.jsonl"), &before).expect("writes");
    again(&done, 700)
        .args(preset)
        .stdout_any()
        .stderr_has(
            "decisions.md.ctx-old-1-2-3-99 is an edited memory file that a killed run moved away",
        )
        .run();
    assert_eq!(fs::read(&edit).expect("it stays"), b"edited\n");
}

#[test]
fn what_pruning_frees_need_not_be_summed_up() {
    let before = work();
    let prune = |budget: u64, code: i32| {
        let case =
            compact(&before, budget).args(["--preset", "xopcbot", "--set", "mode=prune_only"]);
        let case = case.env("CTX_PRUNE_WHEN", "before").env("CTX_PRUNE_MAX_CHARS", "400");
        report(case.env("CTX_PRUNE_MIN_GAIN", "0").code(code))
    };
    let (freed, done) = prune(20_000, 0);
    assert_eq!(freed["outcome"], "not-due");
    assert_eq!(live(&done), before);
    let (freed, done) = prune(7_000, 0);
    assert_eq!(freed["outcome"], "compacted", "{freed}");
    assert_eq!(parts(&live(&done)).1, None);
    let (refused, done) = prune(500, 1);
    assert_eq!(refused["outcome"], "unreachable");
    assert_eq!(live(&done), before);
}

#[test]
fn many_generations_stay_within_it() {
    let work = work();
    let rest = work.split_once('\n').expect("lines").1;
    let done = compact(&work, 3_000).args(["-q", "s.jsonl"]).run();
    for generation in 0..4 {
        let grown = format!("{}{rest}", live(&done));
        fs::write(done.dir().join("s.jsonl"), &grown).expect("writes");
        again(&done, 3_000).args(["-q", "s.jsonl"]).run();
        let after = live(&done);
        assert!(tokens(after.clone(), "chat") <= 3_000, "{generation}");
        let (_, summary) = parts(&after);
        let summary = summary.expect("a summary");
        assert!(summary.contains("src/feed.rs"), "{generation}: {summary}");
        assert_eq!(after.lines().last(), rest.lines().last());
    }
}

#[test]
fn a_model_is_asked_within_it_and_not_for_a_preview() {
    let choice = json!({"message": {"content": "## Done\nThe importer is repaired in src/feed.rs."}, "finish_reason": "stop"});
    let server = Server::new([Act::ok(&json!({"choices": [choice]}).to_string())]);
    let before = work();
    let asking = || {
        compact(&before, 2_000)
            .args(["--method", "llm", "--llm-backoff", "0", "--llm-window", "200000"])
            .env("CTX_LLM_URL", &server.url)
    };
    report(asking().args(["-n"]));
    assert!(server.requests().is_empty());
    let (_, done) = report(asking());
    let after = live(&done);
    assert!(after.contains("The importer is repaired in src/feed.rs."));
    assert!(tokens(after, "chat") <= 2_000);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn flags_that_do_not_go_together() {
    compact("", 100)
        .args(["--target-tokens", "90", "s.jsonl"])
        .code(2)
        .stderr_has("--budget cannot be used with --target-tokens")
        .run();
    compact(&work(), 100)
        .args(["--config", "policy.toml", "s.jsonl"])
        .file("policy.toml", "[summary]\nmethod = \"none\"\n")
        .code(2)
        .stderr("ctx-compact: --budget needs a summary, but the policy's method is none; --method extractive makes a summary\n")
        .run();
}

/// The result for an agent's log is smaller than the budget by a margin. Between the two, there is
/// nothing to do.
#[test]
fn a_log_within_it_is_not_compacted_for_the_margin() {
    let log = Case::new(tool_path("ctx-convert"))
        .args(["--to", "pi", "--cwd", "/x"])
        .stdin(work())
        .stdout_any()
        .stderr_has("")
        .run();
    let log = String::from_utf8(log.stdout.clone()).expect("UTF-8");
    let all = tokens(log.clone(), "pi");
    let done = compact(&log, all).args(["--min-idle", "0s", "s.jsonl"]);
    done.stdout(format!("s.jsonl: not due: {all} tokens are within the limit of {all}\n")).run();
}
