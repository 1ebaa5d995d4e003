//! `--json` and the audit log describe a compaction in the same words.

use ctx_testkit::{Act, Case, Server};
use serde_json::{Value, json};

use super::talk::Talk;
use super::{Ran, asking, call, call_in, run, said};
use crate::compact::CTX_COMPACT;

/// Returns the records of finished compactions in the audit log, in order.
fn records(ran: &Ran) -> Vec<Value> {
    let log = ran.stored("events.jsonl");
    let records = log.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let ended = |record: &Value| record["op"] == "compact" && record["phase"] != "intent";
    records.filter(ended).collect()
}

/// The members of a record that describe the compaction itself.
const FIGURES: [&str; 18] = [
    "preset",
    "outcome",
    "success",
    "triggers",
    "tokens_before",
    "tokens_after",
    "ratio",
    "target_tokens",
    "messages_before",
    "messages_after",
    "method",
    "fell_back",
    "model_calls",
    "model_tokens_in",
    "model_tokens_out",
    "model_ms",
    "duration_ms",
    "session",
];

fn answer(usage: &Value) -> Act {
    let choice = json!({"message": {"content": "## Goal\nThe words stay secret."}});
    Act::ok(&json!({"choices": [choice], "usage": usage}).to_string())
}

/// The calls of a model, including failed ones, and their tokens are in the audit log.
#[test]
fn the_audit_log_tells_what_json_tells_and_no_text() {
    let session = Talk::of(40, 20_000);
    let usage = json!({"prompt_tokens": 900, "completion_tokens": 70});
    let server = Server::new([Act::Cut, answer(&usage)]);
    let case = call("default", session.as_str()).args(["--method", "llm", "--keep-turns", "2"]);
    let ran = run(asking(&server, case.args(["--instructions", "hush"])));
    ran.is("compacted");
    let records = records(&ran);
    assert_eq!(records.len(), 1, "{records:?}");
    let record = &records[0];
    for key in FIGURES {
        assert_eq!(record[key], ran.report[key], "{key}: {record}");
        assert!(!record[key].is_null(), "{key}: {record}");
    }
    assert_eq!(record["snapshots"], json!([ran.report["snapshot"]]));
    assert_eq!(record["triggers"], json!(["manual"]));
    assert_eq!((&record["method"], &record["fell_back"]), (&json!("llm"), &json!(false)));
    assert_eq!((&record["model_calls"], &record["model_tokens_in"]), (&json!(2), &json!(900)));
    assert_eq!((&record["model_tokens_out"], &record["preset"]), (&json!(70), &json!("default")));
    let ratio = ran.number("tokens_after") as f64 / ran.number("tokens_before") as f64;
    let told = record["ratio"].as_f64().expect("a number");
    assert!((told - ratio).abs() < 0.000_051, "{told} {ratio}");
    let log = ran.stored("events.jsonl");
    assert!(!log.contains("stay secret") && !log.contains("hush"), "{log}");
    // The report does not contain the text of the summary, but its path.
    assert!(ran.report["summary"].is_null());
    let file = ran.report["summary_file"].as_str().expect("a path");
    let file = std::fs::read_to_string(file).expect("it is there");
    assert!(file.contains("stay secret"), "{file}");
}

/// If code writes the summary in place of a model, the record in the audit log says so.
#[test]
fn a_summary_by_code_in_the_place_of_a_models_is_told() {
    let session = Talk::of(40, 20_000);
    let server = Server::new((0..3).map(|_| Act::Cut));
    let case = call("default", session.as_str()).args(["--method", "llm", "--keep-turns", "2"]);
    let case = case.args(["--on-failure", "extractive"]);
    let ran = run(asking(&server, case.stderr_has("connection failed")));
    let record = &records(&ran)[0];
    assert_eq!((&record["method"], &record["fell_back"]), (&json!("extractive"), &json!(true)));
    assert_eq!((&record["model_calls"], &record["model_tokens_in"]), (&json!(3), &Value::Null));
}

/// A run that tries to compact without a result is recorded; a run that has no reason to try is
/// not.
#[test]
fn an_attempt_without_result_is_told_and_a_quiet_night_is_not() {
    let session = Talk::of(40, 20_000);
    let server = Server::new((0..3).map(|_| Act::Cut));
    let case = call("synapse", session.as_str()).code(2);
    let ran = run(asking(&server, case.stderr_has("connection failed")));
    ran.is("summary-failed");
    let found = records(&ran);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["phase"], &found[0]["outcome"]),
        (&json!("failed"), &json!("summary-failed"))
    );
    assert_eq!((&found[0]["model_calls"], &found[0]["method"]), (&json!(3), &json!("none")));
    assert_eq!((&found[0]["ratio"], &found[0]["success"]), (&json!(1.0), &json!(false)));
    let night = run(call_in(ran.done.dir(), "synapse").args(["--if-due"]));
    night.is("not-due");
    assert_eq!(night.stored("events.jsonl").lines().count(), 1);
}

/// The policies of xopcbot and openclaw require the text of the summary in the report.
#[test]
fn a_policy_may_want_the_text_in_the_report() {
    let session = Talk::of(60, 60_000);
    for preset in ["xopcbot", "openclaw"] {
        let server = Server::new([said("## Goal\nAll is well.")]);
        let ran = run(asking(&server, call(preset, session.as_str())));
        let summary = ran.report["summary"].as_str().expect("the text");
        assert!(summary.contains("All is well."), "{summary}");
        assert!(!ran.stored("events.jsonl").contains("All is well."));
    }
}

/// If the tool is a filter, stdout is only for the session, so no report goes there.
#[test]
fn a_report_does_not_go_among_the_records() {
    let session = Talk::of(40, 20_000);
    let filter =
        || Case::new(CTX_COMPACT).stdin(session.as_str()).args(["--json", "--keep-turns", "2"]);
    filter()
        .code(2)
        .stderr("ctx-compact: --json and the records cannot both be written to stdout; write the records to a file with -o, or preview the changes with -n\n")
        .run();
    for flags in [&["-o", "new.jsonl"][..], &["-n"]] {
        let done = filter().args(flags.iter().copied()).stdout_any().run();
        let report: Value = serde_json::from_slice(&done.stdout).expect("a JSON object");
        assert_eq!((&report["name"], &report["outcome"]), (&Value::Null, &json!("compacted")));
    }
}
