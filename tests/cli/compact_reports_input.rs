//! Odd sessions that users of other systems reported, tested with `ctx-compact`. Each test names
//! the report.

use std::fmt::Write as _;

use ctx_testkit::Case;

use crate::compact::{CTX_COMPACT, messages};
use crate::compact_reports::{after, run};

fn call(id: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).expect("a string");
    format!(
        "{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":{arguments}}}}}"
    )
}

fn calls(calls: &[String]) -> String {
    let calls = calls.join(",");
    format!("{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{calls}]}}\n")
}

fn result(id: &str, text: &str) -> String {
    format!("{{\"role\":\"tool\",\"tool_call_id\":\"{id}\",\"content\":\"{text}\"}}\n")
}

/// Returns the report of `--json`.
fn report(session: &str, args: &[&str]) -> serde_json::Value {
    let done = Case::new(CTX_COMPACT)
        .file("s.jsonl", session)
        .args(["--json"])
        .args(args.iter().copied())
        .args(["s.jsonl"])
        .stdout_any()
        .run();
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// langchain#38352: one of several parallel results had lost its call, and then the others lost
/// theirs.
#[test]
fn a_result_without_a_call_does_not_part_the_others() {
    let batch = [
        calls(&[call("b", "{}"), call("c", "{}")]),
        result("gone", "of no call"),
        result("b", "of b"),
        result("c", "of c"),
    ]
    .concat();
    let session = format!("{}{batch}{}", messages(0, 20), messages(20, 22));
    for keep in 1..=7 {
        let compacted = after(&run(&session, &["--keep-messages", &keep.to_string()]));
        let all = compacted.contains(&batch);
        let none = ["\"b\"", "\"c\""].iter().all(|id| !compacted.contains(id));
        assert!(all || none, "{keep}: {compacted}");
        assert_eq!(all, keep > 2, "{keep}: {compacted}");
    }
}

/// hermes#11762: arguments that had been cut in the middle were not JSON any more, so every later
/// request was refused.
#[test]
fn arguments_stay_json_and_broken_ones_stay_as_they_are() {
    let words = "word ".repeat(9_000);
    let long = format!("{{\"path\":\"a\",\"text\":\"{words}\"}}");
    let broken = &long[..long.len() / 2];
    let exchange = [
        calls(&[call("a", &long), call("b", broken)]),
        result("a", &"line\\n".repeat(9_000)),
        result("b", "failed"),
    ]
    .concat();
    let session = format!("{}{exchange}{}", messages(0, 10), messages(10, 24));
    let prune = ["-q", "--trim", "--max-argument-chars", "200", "--protect-last", "0"];
    let pruned = Case::new(env!("CARGO_BIN_EXE_ctx-prune"))
        .stdin(session.as_bytes())
        .args(prune)
        .stdout_any()
        .run();
    let pruned = String::from_utf8(pruned.stdout).expect("UTF-8");
    let kept = ["--keep-messages", "17", "--set", "target.min_gain=false"];
    let compacted = after(&run(&session, &kept));
    let then = after(&run(&pruned, &kept));
    for (session, is_short) in [(pruned, true), (compacted, false), (then, true)] {
        let line = session.lines().find(|line| line.contains("tool_calls"));
        let line = line.expect("the calls are kept");
        let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let arguments = |at: usize| message["tool_calls"][at]["function"]["arguments"].clone();
        let first = arguments(0);
        let first = first.as_str().expect("a string");
        assert_eq!(first.len() < long.len() / 2, is_short);
        serde_json::from_str::<serde_json::Value>(first).expect("JSON");
        assert_eq!(arguments(1).as_str(), Some(broken));
    }
}

/// openclaw#103930, hermes#104835: Chinese and emoji were counted as a fourth of their tokens, and
/// elsewhere as several times as many.
#[test]
fn chinese_and_emoji_are_counted_as_they_are() {
    let text = "我们决定用新的解析器，因为旧的太慢了。👩\u{200d}🔧🚀 ".repeat(8);
    let mut session = String::new();
    for n in 0..120 {
        let role = ["user", "assistant"][n % 2];
        let _ = writeln!(session, "{{\"role\":\"{role}\",\"content\":\"{n} {text}\"}}");
    }
    let plain = report(&session, &["-n", "--if-due"]);
    let tokens = plain["tokens_before"].as_u64().expect("a number");
    // The count is neither a fourth of the characters nor twice as many.
    let characters = session.chars().count() as u64;
    assert!(tokens > characters / 2 && tokens < 2 * characters, "{tokens} of {characters}");
    // A compaction is needed above four fifths of the window, and not below.
    for (share, outcome) in [(85, "compacted"), (60, "not-due")] {
        let window = (tokens * 100 / share).to_string();
        let args = ["--if-due", "--set", "trigger.reserve=1", "--window", &window];
        let report = report(&session, &args);
        assert_eq!(report["outcome"], outcome, "{report}");
    }
    let target = tokens / 5;
    let report = report(&session, &["--target-tokens", &target.to_string()]);
    let now = report["tokens_after"].as_u64();
    assert!(now <= Some(target), "{report}");
}

/// claude-code#28197: records have a placeholder in place of the tokens of a reply.
#[test]
fn what_records_say_of_their_tokens_is_not_taken_for_true() {
    let plain = messages(0, 40);
    let tokens = report(&plain, &["-n"])["tokens_before"].clone();
    for usage in ["{\"input_tokens\":1,\"output_tokens\":1}", "{\"input_tokens\":9e15}"] {
        let said = format!("\"usage\":{usage},\"role\":");
        let session = plain.replace("\"role\":", &said);
        let report = report(&session, &["-n", "--if-due", "--window", "100k"]);
        assert_eq!(report["tokens_before"], tokens);
        assert_eq!(report["outcome"], "not-due");
    }
}

/// claude-code#42810: a tree of records has hundreds of dead branches, so consecutive lines are not
/// a conversation. No branch is summarized as if it were part of another.
#[test]
fn a_tree_is_not_taken_for_a_conversation() {
    let mut tree = String::new();
    for n in 1..2_000 {
        let role = ["user", "assistant"][n % 2];
        let parent = if n < 3 { "null".to_owned() } else { format!("\"{}\"", n / 3) };
        let _ = writeln!(
            tree,
            "{{\"type\":\"{role}\",\"uuid\":\"{n}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"message\":{{\"role\":\"{role}\",\"content\":\"branch {n} is on port {n}.\"}}}}"
        );
        if n % 10 == 0 {
            tree += "{\"type\":\"file-history-snapshot\",\"messageId\":\"1\",\"snapshot\":{}}\n";
        }
    }
    let done = Case::new(CTX_COMPACT)
        .file("s.jsonl", &tree)
        .args(["--min-idle", "0s", "--keep-turns", "1", "--force", "s.jsonl"])
        .stdout_has("compacted: 96 → 67 tokens")
        .run();
    let after = after(&done);
    let added = after.strip_prefix(tree.as_str()).expect("no line changes");
    let summary = added.lines().nth(1).expect("a boundary and a summary");
    // The path to the last line has every third line.
    let path: Vec<usize> = std::iter::successors(Some(1_999), |n| Some(n / 3)).take(8).collect();
    let is_told = |n: usize| summary.contains(&format!("branch {n} is on"));
    let told: Vec<usize> = (1..2_000).filter(|n| is_told(*n)).collect();
    assert!(told.iter().all(|n| path.contains(n)), "{told:?}");
}

/// Compacts `session` as a filter, and returns the new session and what stderr says.
fn filtered(session: &str, budget: &str) -> (String, String) {
    let args = ["--force", "--score=false", "--budget", budget];
    let case = Case::new(CTX_COMPACT).stdin(session.as_bytes()).args(args);
    let done = case.stdout_any().stderr_has("").run();
    (String::from_utf8(done.stdout).expect("UTF-8"), done.stderr)
}

/// A program that writes files with a byte order mark saves a session whose messages all stay.
#[test]
fn a_byte_order_mark_stays_in_front_of_the_summary() {
    let lines: String = (0..400).fold(String::new(), |mut lines, line| {
        let _ = write!(lines, "line {line} of file_{line}.rs\\n");
        lines
    });
    let chat = [calls(&[call("a", "{}")]), result("a", &lines)].concat();
    let item =
        format!("{{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"{lines}\"}}\n");
    let call = r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#;
    for session in [chat, format!("{call}\n{item}")] {
        let (compacted, _) = filtered(&format!("\u{feff}{session}"), "400");
        let rest = compacted.strip_prefix('\u{feff}').expect("the mark stays in front");
        let lines: Vec<&str> = rest.lines().collect();
        assert!(lines[0].contains("ctx_summary"), "{compacted}");
        assert_eq!(Some(lines[1]), session.lines().next());
    }
}

/// A call at the end waits for its result, which no summary may come before.
#[test]
fn a_summary_does_not_follow_a_call_that_waits_for_its_result() {
    let call = |id| {
        format!(
            "{{\"type\":\"function_call\",\"call_id\":\"{id}\",\"name\":\"f\",\"arguments\":\"{{}}\"}}\n"
        )
    };
    let output = "port 8443 is taken, so 9443 is used. ".repeat(200);
    let output = format!(
        "{{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"{output}\"}}\n"
    );
    let (compacted, stderr) = filtered(&[call("a"), call("b"), output].concat(), "300");
    let lines: Vec<&str> = compacted.lines().collect();
    assert!(lines[0].contains("[ctx_summary]"), "{compacted}");
    assert_eq!(lines[1..3].concat(), [call("a"), call("b")].concat().replace('\n', ""));
    assert!(!stderr.contains("in the input"), "{stderr}");
}

/// An agent died while it wrote a line, and another line is damaged.
#[test]
fn lines_that_the_agent_skips_are_named() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/w"}"#;
    let mut log = format!("{header}\n");
    for number in 0..40 {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"{}\"", number - 1) };
        let words = "the port is 8443 and stays ".repeat(20);
        let _ = writeln!(
            log,
            "{{\"type\":\"message\",\"id\":\"{number}\",\"parentId\":{parent},\"timestamp\":\"2026-11-01T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}}}}"
        );
    }
    let (_, stderr) = filtered(&format!("{log}{{\"a\":\n{{\"type\":\"mess"), "500");
    assert!(
        stderr.contains("<stdin>:42: 1 bad line kept in place; the first: not JSON"),
        "{stderr}"
    );
    assert!(
        stderr.contains("<stdin>:43: the last line is incomplete, so the agent skips it, and a compaction cuts it off"),
        "{stderr}"
    );
}

/// The latest user message is too long, but its result belongs to a call that stays.
#[test]
fn a_long_message_does_not_part_its_result_from_the_call() {
    let words = "the port is 8443 and stays. ".repeat(150);
    let text = |text: &str| format!("{{\"type\":\"text\",\"text\":\"{text}\"}}");
    let result =
        format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"{words}\"}}");
    let message =
        |role: &str, content: &str| format!("{{\"role\":\"{role}\",\"content\":[{content}]}}\n");
    let call = r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#;
    let begin = message("user", &text(&words)) + &message("assistant", call);
    for answer in [text("a word") + "," + &result, result + "," + &text("a word")] {
        let (compacted, _) = filtered(&format!("{begin}{}", message("user", &answer)), "300");
        let parts = ["\"tool_use\"", "\"tool_result\""].map(|part| compacted.contains(part));
        assert_eq!(parts, [true, true], "{compacted}");
    }
}
