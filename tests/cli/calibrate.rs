//! The size of a context is taken from the usage that an agent has recorded: `ctx-count
//! --calibrate` prints it, and `ctx-check` compares it with limits and triggers.

use ctx_testkit::Case;
use serde_json::{Value, json};

use crate::bench::bash;
use crate::tool_path;

/// Returns a session of Claude Code: a system prompt of 20,000 tokens that the file does not have,
/// and a reply of two lines.
fn session() -> String {
    let line = |id: &str, parent: Option<&str>, kind: &str, rest: Value| {
        let mut line = json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:00.000Z", "message": rest});
        line["message"]["role"] = kind.into();
        line.to_string() + "\n"
    };
    let reply = |id: &str, text: &str, prompt: u64| {
        json!({"id": id, "model": "claude-opus-4-5", "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 4, "cache_read_input_tokens": prompt - 4, "output_tokens": 1}})
    };
    let words = "one word after another ".repeat(100);
    [
        line("u1", None, "user", json!({"content": "What is in a.txt?"})),
        line("a1", Some("u1"), "assistant", reply("m1", "I look.", 20_010)),
        line("a2", Some("a1"), "assistant", reply("m1", "It is long.", 20_010)),
        line("u2", Some("a2"), "user", json!({ "content": words })),
        line("a3", Some("u2"), "assistant", reply("m2", "So it is.", 20_540)),
    ]
    .concat()
}

const CHAT: &str = "{\"role\":\"user\",\"content\":\"hello world\"}\n";

fn case(tool: &str) -> Case {
    Case::new(tool_path(tool)).file("s.jsonl", session()).file("chat.jsonl", CHAT)
}

#[test]
fn what_the_api_said_tells_what_the_context_comes_to() {
    case("ctx-count")
        .args(["--calibrate", "s.jsonl"])
        .stdout(
            "s.jsonl: 20590 tokens, 20347 to 20832 (calibrated)\n  \
               counted  437\n  \
               model    claude-opus-4-5\n  \
               replies  2\n  \
               factor   1.200\n  \
               base     20029\n  \
               held     100.0% (1 of 1 replies)\n",
        )
        .run();
}

#[test]
fn without_recorded_usage_it_is_the_messages_alone() {
    case("ctx-count")
        .args(["--calibrate", "chat.jsonl"])
        .stdout("chat.jsonl: 11 tokens, 9 to 15 (no recorded usage)\n  counted  9\n")
        .run();
    case("ctx-count")
        .args(["--calibrate", "--model", "gpt-4o", "chat.jsonl"])
        .stdout("chat.jsonl: 9 tokens, 9 to 9 (no recorded usage)\n  counted  9\n")
        .run();
}

#[test]
fn programs_read_each_reply() {
    case("ctx-count")
        .args(["--calibrate", "--json", "s.jsonl", "chat.jsonl"])
        .stdout(concat!(
            r#"{"name":"s.jsonl","calibrated":true,"counted":437,"low":20347,"tokens":20590,"high":20832,"encoding":"o200k_base","model":"claude-opus-4-5","factor":1.2,"base":20029,"replies":["#,
            r#"{"line":2,"model":"claude-opus-4-5","counted":10,"prompt":20010,"low":null,"tokens":null,"high":null},"#,
            r#"{"line":5,"model":"claude-opus-4-5","counted":426,"prompt":20540,"low":20184,"tokens":20549,"high":20914}]}"#,
            "\n",
            r#"{"name":"chat.jsonl","calibrated":false,"counted":9,"low":9,"tokens":11,"high":15,"encoding":"o200k_base","model":null,"factor":null,"base":null,"replies":[]}"#,
            "\n",
        ))
        .run();
}

#[test]
fn a_format_that_is_not_known_has_no_size() {
    Case::new(tool_path("ctx-count"))
        .args(["--calibrate"])
        .stdin("{\"what\":1}\n")
        .code(2)
        .stderr(
            "ctx-count: <stdin>: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n",
        )
        .run();
}

#[test]
fn limits_and_triggers_go_by_the_likely_number() {
    case("ctx-check")
        .args(["--max-tokens", "20k", "s.jsonl", "chat.jsonl"])
        .code(1)
        .stdout("s.jsonl: max-tokens: 20590 tokens (calibrated), 20000 allowed\nchat.jsonl: ok\n")
        .run();
    case("ctx-check")
        .args(["--max-tokens", "20k", "--no-calibrate", "s.jsonl"])
        .stdout("s.jsonl: ok\n")
        .run();
    case("ctx-check")
        .args(["--due", "--window", "25k", "s.jsonl"])
        .stdout(
            "s.jsonl: due (calibrated: 437 counted, about 20590 tokens)\n  \
             share  20590 of 20000  compact\n",
        )
        .run();
    case("ctx-check")
        .args(["--due", "--window", "25k", "--no-calibrate", "s.jsonl"])
        .code(1)
        .stdout("s.jsonl: not due\n  share  437 of 20000\n")
        .run();
    case("ctx-check")
        .args(["--due", "--json", "--trigger-tokens", "20k", "s.jsonl"])
        .stdout(concat!(
            r#"{"name":"s.jsonl","due":true,"step":"compact","held_back":null,"messages":4,"turns":2,"tokens":437,"calibrated_tokens":20590,"window":200000,"tool_bytes":0,"#,
            r#""triggers":[{"trigger":"tokens","value":20590,"limit":20000,"reached":1.0295,"fired":true,"step":"compact"}]}"#,
            "\n",
        ))
        .run();
}

/// Content that no compaction makes smaller does not reduce the messages step by step: a larger
/// budget never leaves less for them, and an unreachable budget is reported.
#[test]
fn a_greater_budget_never_leaves_less() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("s.jsonl"), session()).expect("written");
    let target = |budget: &str, strict: bool| {
        let strict = ["", "--strict-target"][usize::from(strict)];
        let call =
            format!("ctx-compact -n --json --min-idle 0s --budget {budget} {strict} s.jsonl");
        let done = bash(dir.path(), &call);
        let report: Value = serde_json::from_str(&done.stdout).expect("a report");
        let target = report["target_tokens"].as_u64();
        (target.expect("a number"), done.stderr)
    };
    let budgets = ["5k", "8k", "9k", "20k", "27k", "30k", "32k", "35k", "60k"];
    let targets = budgets.map(|budget| target(budget, false).0);
    assert!(targets.is_sorted(), "{targets:?}");
    assert_eq!(targets[..4], [4_922, 7_875, 8_000, 8_000]);
    assert!(targets[8] > 20_000, "{targets:?}");
    let few = "after a compaction, the agent sends about 22038 besides the messages; ";
    for (budget, strict, state, what) in [
        ("20k", false, "cannot be met", "the messages are only 437"),
        ("20k", true, "cannot be met", "nothing above it is written"),
    ] {
        let said = target(budget, strict).1;
        let budget = budget.replace('k', "000");
        let warning = format!(
            "ctx-compact: warning: s.jsonl: the budget of {budget} tokens {state}: {few}{what}\n"
        );
        assert!(said.contains(&warning), "{said}");
    }
    for within in ["32k", "60k"] {
        assert_eq!(target(within, false).1, "");
    }
    let strict =
        bash(dir.path(), "ctx-compact -n --min-idle 0s --budget 20k --strict-target s.jsonl");
    let unreachable = "ctx-compact: warning: s.jsonl: the budget of 20000 tokens, which leaves 0 for the messages, is out of reach: 437 tokens would be 27; unchanged; keep and pin less, raise the budget, or leave --strict-target out\n";
    assert_eq!((strict.code, strict.stdout.as_str()), (1, ""));
    assert!(strict.stderr.ends_with(unreachable), "{}", strict.stderr);
}

/// A session may be larger than the target of a compaction. If it is within its budget by the API's
/// count, it is left alone; otherwise both figures are reported.
#[test]
fn a_session_within_its_budget_is_left_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let long = session().replace("one word after another ", &"many words ".repeat(60));
    std::fs::write(dir.path().join("s.jsonl"), long.replace("20536", "31000")).expect("written");
    let said = |budget: &str| {
        let call = format!("ctx-compact -n --min-idle 0s --budget {budget} s.jsonl | head -n 1");
        bash(dir.path(), &call).stdout
    };
    let within = said("40k");
    assert!(within.starts_with("s.jsonl: not due: 3"), "{within}");
    assert!(
        within.ends_with(", as counted by the API, are within the limit of 40000\n"),
        "{within}"
    );
    let above = said("30k");
    assert!(above.starts_with("s.jsonl: would be compacted: 1"), "{above}");
    assert!(above.contains("; as counted by the API, about 31k → "), "{above}");
}
