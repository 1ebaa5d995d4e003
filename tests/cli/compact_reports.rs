//! Problems that users of other systems reported, tested with `ctx-compact`. Each test names the
//! report.

use ctx_testkit::{Case, Finished};

use crate::compact::{CTX_COMPACT, messages};
use crate::summarize_budget::tokens;

pub(crate) fn run(session: &str, args: &[&str]) -> Finished {
    Case::new(CTX_COMPACT)
        .file("s.jsonl", session)
        .args(["-q", "-s", "demo"])
        .args(args.iter().copied())
        .args(["s.jsonl"])
        .run()
}

pub(crate) fn after(done: &Finished) -> String {
    String::from_utf8(done.read("s.jsonl")).expect("UTF-8")
}

const KEEP_4: [&str; 2] = ["--keep-messages", "4"];
/// Flags that keep 4 messages and write a summary that says how many messages it covers.
const KEEP_4_AND_COUNT: [&str; 4] = ["--keep-messages", "4", "--method", "rule"];

/// pi#2608: what one compaction kept was neither kept nor summarized by the next.
#[test]
fn the_window_of_one_compaction_is_in_the_next_one() {
    let first = run(&messages(0, 20), &KEEP_4_AND_COUNT);
    let grown = format!("{}{}", after(&first), messages(20, 30));
    let second = after(&run(&grown, &KEEP_4_AND_COUNT));
    // The first summary counts 8 user messages. Of the 7 that were kept or added, the second one
    // summarizes 5: numbers 16 to 24.
    assert!(second.contains("User messages: 13"), "{second}");
    assert!(second.ends_with(&messages(26, 30)), "{second}");
}

/// openclaw#127997: if there was nothing else to summarize, the previous summary was dropped.
#[test]
fn an_earlier_summary_alone_stays_as_it_is() {
    let first = run(&messages(0, 20), &KEEP_4);
    let once = after(&first);
    assert_eq!(after(&run(&once, &KEEP_4)), once);
}

/// langchain#39261: if the summarized part had no user message, a placeholder or an error became
/// the summary.
#[test]
fn an_old_part_without_a_user_message_has_a_summary() {
    let replies = messages(0, 20).replace("\"user\"", "\"assistant\"");
    let session = format!("{replies}{}", messages(20, 24));
    for args in [&KEEP_4[..], &KEEP_4_AND_COUNT] {
        let compacted = after(&run(&session, args));
        assert!(compacted.contains("ctx_summary"), "{compacted}");
        assert!(compacted.ends_with(&messages(20, 24)), "{compacted}");
    }
    let counted = after(&run(&session, &KEEP_4_AND_COUNT));
    assert!(counted.contains("User messages: 0"), "{counted}");
}

/// If the system prompt or the last message was too long by itself, the
/// session was compacted forever.
#[test]
fn what_cannot_become_smaller_is_said_and_left() {
    let huge = "x y ".repeat(4_000);
    let last = format!("{}{{\"role\":\"user\",\"content\":\"{huge}\"}}\n", messages(0, 10));
    let done = Case::new(CTX_COMPACT)
        .file("s.jsonl", &last)
        .args(["-q", "--target-tokens", "1000", "s.jsonl"])
        .run();
    assert!(tokens(after(&done), "chat") <= 1_000);
    let system = format!("{{\"role\":\"system\",\"content\":\"{huge}\"}}\n{}", messages(0, 10));
    let run = |args: &[&str], code| {
        Case::new(CTX_COMPACT)
            .file("s.jsonl", &system)
            .args(["--target-tokens", "1000"])
            .args(args.iter().copied().chain(["s.jsonl"]))
            .code(code)
    };
    let refused =
        run(&["--strict-target"], 1).stderr_has("the target of 1000 tokens is out of reach");
    assert_eq!(after(&refused.run()), system);
    let would = run(&["-n"], 0).stdout_any();
    let would = would.stderr_has("tokens would be above the target of 1000");
    assert_eq!(after(&would.run()), system);
    let written = run(&[], 0).stdout_any();
    let written = written.stderr_has("tokens are above the target of 1000");
    assert!(after(&written.run()).len() < system.len());
}

/// openclaw#7527: a call that was cut off, and a result that was made up for it, were separated.
#[test]
fn a_made_up_result_stays_with_its_call() {
    let pair = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"half\"}}]}\n\
                {\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"[aborted]\"}\n";
    for keep in ["1", "2", "3", "4"] {
        let session = format!("{}{pair}{}", messages(0, 20), messages(20, 22));
        let compacted = after(&run(&session, &["--keep-messages", keep]));
        let calls = compacted.matches("\"tool_calls\"").count();
        let results = compacted.matches("\"tool_call_id\"").count();
        assert_eq!(calls, results, "{keep}: {compacted}");
        assert!(calls == 0 || compacted.contains(pair), "{keep}: {compacted}");
    }
}

/// Codewhale#6119, claude-code#12311: text next to a result, and signed reasoning, which must be
/// sent back unchanged or not at all.
#[test]
fn mixed_and_signed_messages_keep_their_bytes() {
    let tail = "{\"role\":\"user\",\"content\":\"look\"}\n\
                {\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\", \"thinking\":\"hm\",\"signature\":\"Eq\\u002b=\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{ }}]}\n\
                {\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"a\"},{\"type\":\"text\",\"text\":\"go on\"}]}\n\
                {\"role\":\"assistant\",\"content\":\"done\"}\n";
    let before = messages(0, 20).replace(", \"refusal\":null", "");
    let session = before + tail;
    for keep in ["2", "3", "4"] {
        let args = ["--keep-messages", keep, "--signed-reasoning"];
        let exchange = tail.split_once('\n').expect("lines").1;
        let compacted = after(&run(&session, &[&args[..], &["keep"]].concat()));
        assert!(compacted.ends_with(exchange), "{keep}: {compacted}");
        let block = r#"{"type":"thinking", "thinking":"hm","signature":"Eq\u002b="},"#;
        let compacted = after(&run(&session, &args[..2]));
        assert!(compacted.ends_with(&exchange.replace(block, "")), "{keep}: {compacted}");
    }
}

/// Kun#1190: a last line that is still being written.
#[test]
fn a_half_written_line_stays_last() {
    let session = format!("{}{{\"role\":\"us", messages(0, 20));
    let compacted = after(&run(&session, &KEEP_4));
    assert!(compacted.contains("ctx_summary"), "{compacted}");
    assert!(compacted.ends_with("\n{\"role\":\"us"), "{compacted}");
}

/// gemini-cli#15225: a summary was used although it was larger than what it replaced.
#[test]
fn a_result_that_is_not_smaller_is_not_written() {
    let session =
        "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n"
            .repeat(3);
    let done = Case::new(CTX_COMPACT)
        .file("s.jsonl", &session)
        .args(["--keep-messages", "2", "s.jsonl"])
        .code(1)
        .stderr_has("no gain")
        .run();
    assert_eq!(after(&done), session);
}

/// ironclaw#6853: a secret in the output of a tool got into the summary.
#[test]
fn a_secret_does_not_get_into_the_summary() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let session = format!(
        "{{\"role\":\"user\",\"content\":\"the token is {secret}, use it\"}}\n{}",
        messages(1, 20)
    );
    let done = run(&session, &["--keep-messages", "4"]);
    assert!(!after(&done).contains(&secret));
}

/// OpenHands#10873: if there was nothing to remove, it looped forever.
#[test]
fn nothing_old_is_nothing_to_do() {
    let session = messages(0, 4);
    Case::new(CTX_COMPACT)
        .file("s.jsonl", &session)
        .args(["--keep-messages", "4", "s.jsonl"])
        .stdout_has("nothing to summarize")
        .run();
}

/// openclaw#71357, #39953: summaries grew with each compaction. Here they grow up to the maximum
/// length of a summary.
#[test]
fn summaries_of_summaries_do_not_grow_for_ever() {
    let mut session = String::new();
    let mut sizes = Vec::new();
    for step in 0..12 {
        session += &messages(20 * step, 20 * step + 20);
        session = after(&run(&session, &KEEP_4));
        assert_eq!(session.matches("ctx_summary").count(), 1);
        sizes.push(session.len());
    }
    // The same number of tokens may have more bytes or fewer.
    assert!(sizes[11] < sizes[2] + sizes[2] / 10, "{sizes:?}");
    assert!(sizes[11] < 2 * sizes[0], "{sizes:?}");
}

/// hermes#23767: the user changed to a model with a smaller window.
#[test]
fn a_smaller_window_is_a_smaller_target() {
    let session = messages(0, 60);
    for (window, most) in [("100k", 5_000), ("4k", 2_000), ("2k", 1_000)] {
        let done = Case::new(CTX_COMPACT)
            .file("s.jsonl", &session)
            .args(["--json", "--if-due", "--window", window, "s.jsonl"])
            .stdout_any()
            .run();
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let tokens = report["tokens_after"].as_u64().expect("a number");
        assert!(tokens <= most || report["outcome"] == "not-due", "{report}");
    }
}

/// codex#32851: a compaction in the middle of a turn brought that turn back after it had been
/// rolled back.
#[test]
fn a_turn_that_was_compacted_midway_can_be_rolled_back() {
    let call = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}\n";
    let result = "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"of the turn\"}\n";
    let midway = format!("{}{call}", messages(0, 21));
    let done = run(&midway, &KEEP_4);
    let compacted = after(&done);
    assert!(compacted.ends_with(&format!("{}{call}", messages(18, 21))));
    let live = done.dir().join("s.jsonl");
    let ended = format!("{compacted}{result}{}", messages(21, 22));
    std::fs::write(&live, &ended).expect("writes");
    let rollback = |snapshot: &str| {
        Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
            .within(done.dir())
            .args(["-q", "-s", "demo", "--snapshot", snapshot, "s.jsonl"])
            .run();
        after(&done)
    };
    // The restored session does not have the end of the turn, but the end is not lost either.
    assert_eq!(rollback("1"), midway);
    assert_eq!(rollback("2"), ended);
    // The next compaction starts from the restored session.
    assert_eq!(rollback("1"), midway);
    let again = Case::new(CTX_COMPACT)
        .within(done.dir())
        .args(["-q", "-s", "demo", "--keep-messages", "4", "s.jsonl"])
        .run();
    assert_eq!(after(&again), compacted);
}

/// openclaw#123737: a request that a later one had withdrawn was listed first.
#[test]
fn a_request_that_was_taken_back_does_not_lead() {
    let ask = |text: &str| {
        format!(
            "{{\"role\":\"user\",\"content\":\"{text}\"}}\n{{\"role\":\"assistant\",\"content\":\"{}\"}}\n",
            "well ".repeat(200)
        )
    };
    let asks = ["rewrite it in COBOL", "no, leave it in Rust", "repair the parser", "add a test"];
    let last = ask("now the changelog");
    let session = format!("{}{last}", asks.map(ask).concat());
    let compacted = after(&run(&session, &["--keep-messages", "2", "--method", "rule"]));
    // The latest request is the user's own message, after the summary.
    assert!(compacted.ends_with(&last), "{compacted}");
    assert!(!compacted.contains("COBOL"), "{compacted}");
    let at = |text: &str| compacted.find(text).expect("it is told");
    assert!(at("leave it in Rust") < at("repair the parser"));
    assert!(at("add a test") < at("now the changelog"));
}
