//! Tests which requests are found in a session, and how they are counted.

use std::fmt::Write;

use crate::message_counter::{MessageCounter, PER_MESSAGE, PRIMING};
use ctx_format::Options;
use ctx_tokens::Encoding;

use super::{Calibration, CalibrationPass};
use crate::{Invalid, Result, Session};

fn calibrate(lines: &[String]) -> Calibration {
    let reader = Box::new(std::io::Cursor::new(lines.join("\n").into_bytes()));
    let mut session =
        Session::open(reader, &Options::default(), Invalid::Keep).expect("from memory");
    let counter = MessageCounter::new(Encoding::Chars4);
    let mut pass = CalibrationPass::new(counter, session.dialect());
    let done = session.each(|record| -> Result<()> {
        pass.push(record, None);
        Ok(())
    });
    done.expect("from memory");
    pass.finish()
}

/// Returns the line of each request, our count of it, and its prompt as the API counted it.
fn requests(lines: &[String]) -> Vec<(u64, u64, u64)> {
    let calibration = calibrate(lines);
    let replies = calibration.replies.iter();
    replies.map(|reply| (reply.line, reply.counted, reply.prompt)).collect()
}

/// Returns a Claude Code line whose text has this many tokens.
fn claude(id: &str, parent: &str, kind: &str, tokens: usize, beside: &str) -> String {
    let text = "text".repeat(tokens);
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"sessionId":"s",{beside}"role":"{kind}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

fn user(id: &str, parent: &str, tokens: usize) -> String {
    claude(id, parent, "user", tokens, "\"message\":{")
}

/// Returns a block of the reply `reply`, whose request had `prompt` tokens.
fn block(id: &str, parent: &str, tokens: usize, reply: &str, prompt: u64) -> String {
    let beside = format!(
        r#""requestId":"r","message":{{"id":"{reply}","model":"claude-opus-4-5","usage":{{"input_tokens":1,"cache_read_input_tokens":{},"output_tokens":1}},"#,
        prompt - 1
    );
    claude(id, parent, "assistant", tokens, &beside)
}

#[test]
fn a_reply_of_several_lines_is_one_request() {
    let lines = [
        user("1", "", 10),
        block("2", "1", 20, "a", 500),
        block("3", "2", 30, "a", 500),
        user("4", "3", 40),
        block("5", "4", 50, "b", 600),
    ];
    let frame = PER_MESSAGE;
    let before_second = 10 + 20 + 30 + 40 + 3 * frame;
    assert_eq!(requests(&lines), [(2, 10 + frame, 500), (5, before_second, 600)]);
    let calibration = calibrate(&lines);
    let counted = before_second + 50 + frame + PRIMING;
    assert_eq!(calibration.counted, counted);
    assert_eq!(calibration.model.as_deref(), Some("claude-opus-4-5"));
    let estimate = calibration.estimate.expect("two requests");
    assert!(estimate.holds(600 + 50 + 40), "{estimate:?}");
    assert_eq!(calibration.replies[0].tokens, None);
    assert_eq!(calibration.foretold(), (1, 1));
}

#[test]
fn branches_that_were_left_and_helpers_are_no_part_of_it() {
    let helper =
        block("7", "6", 50, "c", 9_000).replace("\"message\"", "\"isSidechain\":true,\"message\"");
    let lines = [
        user("1", "", 10),
        block("2", "1", 20, "a", 500),
        user("3", "2", 1_000),
        block("4", "3", 1_000, "b", 7_000),
        user("6", "2", 30),
        helper,
        block("8", "6", 40, "d", 600),
    ];
    let requests = requests(&lines);
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert_eq!(requests[1], (7, 10 + 20 + 30 + 3 * PER_MESSAGE, 600));
}

#[test]
fn behind_a_compaction_the_count_begins_anew() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"4","parentUuid":null,"logicalParentUuid":"3","sessionId":"s"}"#;
    let summary = claude("5", "4", "user", 15, "\"isCompactSummary\":true,\"message\":{");
    let mut lines = vec![
        user("1", "", 10),
        block("2", "1", 20, "a", 5_000),
        block("3", "2", 30, "b", 5_100),
        boundary.to_owned(),
        summary,
    ];
    let calibration = calibrate(&lines);
    assert_eq!(calibration.replies.len(), 2);
    assert_eq!(calibration.counted, 15 + PER_MESSAGE + PRIMING);
    // No request has followed the compaction, so the base is the earlier one plus an allowance.
    let estimate = calibration.estimate.expect("a base");
    assert!(estimate.holds(5_000 + 20) && estimate.high > 6_000, "{estimate:?}");
    lines.push(user("6", "5", 5));
    lines.push(block("7", "6", 10, "c", 5_050));
    let last = requests(&lines)[2];
    assert_eq!(last, (7, 15 + 5 + 2 * PER_MESSAGE, 5_050));
}

fn codex(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"t","type":"{kind}","payload":{payload}}}"#)
}

fn said(role: &str, tokens: usize) -> String {
    let (kind, text) = match role {
        "assistant" => ("output_text", "text".repeat(tokens)),
        _ => ("input_text", "text".repeat(tokens)),
    };
    codex(
        "response_item",
        &format!(
            r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}"#
        ),
    )
}

fn event(prompt: u64) -> String {
    codex(
        "event_msg",
        &format!(
            r#"{{"type":"token_count","info":{{"last_token_usage":{{"input_tokens":{prompt},"output_tokens":1}}}}}}"#
        ),
    )
}

/// Codex writes the usage after the reply and the results of its calls, and again when the limits
/// of the user's plan change.
#[test]
fn usage_that_comes_behind_is_of_the_reply_before() {
    let call = r#"{"type":"function_call","name":"ls","arguments":"{}","call_id":"c"}"#;
    let output = format!(
        r#"{{"type":"function_call_output","call_id":"c","output":"{}"}}"#,
        "text".repeat(300)
    );
    let lines = [
        codex("session_meta", r#"{"id":"i"}"#),
        codex("turn_context", r#"{"model":"gpt-5"}"#),
        event(77),
        said("user", 10),
        said("assistant", 20),
        codex("response_item", call),
        codex("response_item", &output),
        event(900),
        said("assistant", 30),
        event(900),
        event(1_300),
    ];
    let requests = requests(&lines);
    let counted: Vec<(u64, u64)> = requests.iter().map(|it| (it.1, it.2)).collect();
    let before_second = 10 + 20 + 300 + 1 + 1 + 3 * PER_MESSAGE;
    assert_eq!(counted, [(10 + PER_MESSAGE, 900), (before_second, 1_300)]);
    assert_eq!(calibrate(&lines).model.as_deref(), Some("gpt-5"));
}

#[test]
fn turns_that_were_taken_back_say_nothing() {
    let lines = [
        codex("session_meta", r#"{"id":"i"}"#),
        said("user", 10),
        said("assistant", 20),
        event(900),
        said("user", 10),
        said("assistant", 20),
        event(5_000),
        codex("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
    ];
    let requests = requests(&lines);
    assert_eq!(requests, [(4, 10 + PER_MESSAGE, 900)]);
}

#[test]
fn without_usage_nothing_is_known() {
    let calibration = calibrate(&[r#"{"role":"user","content":"texttext"}"#.to_owned()]);
    assert_eq!(calibration.counted, 2 + PER_MESSAGE + PRIMING);
    assert_eq!(calibration.estimate, None);
    assert_eq!((calibration.base, calibration.foretold()), (None, (0, 0)));
    assert_eq!(calibrate(&[]).counted, 0);
}

/// Tests a hundred requests to a model that counts 5 tokens for 4 of ours.
#[test]
fn a_long_session_is_foretold() {
    let mut lines = vec![user("u0", "", 100)];
    let mut counted = 100 + PER_MESSAGE;
    for number in 0..100_u64 {
        let mut id = String::new();
        let _ = write!(id, "a{number}");
        let tokens = 50 + 400 * (number % 7);
        let size = usize::try_from(tokens).expect("small");
        let prompt = 20_000 + counted * 5 / 4 + 45 * number;
        lines.push(block(&id, &format!("u{number}"), size, &id, prompt));
        lines.push(user(&format!("u{}", number + 1), &id, 100));
        counted += tokens + 100 + 2 * PER_MESSAGE;
    }
    let calibration = calibrate(&lines);
    assert_eq!(calibration.foretold(), (99, 99));
    assert!((calibration.factor - 1.25).abs() < 0.02, "{}", calibration.factor);
    let estimate = calibration.estimate.expect("a hundred requests");
    let truth = 20_000 + counted * 5 / 4 + 45 * 100;
    assert!(estimate.holds(truth) && estimate.high - estimate.low < 1_500);
}

/// Returns the result of a call.
fn result(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{id}","parentUuid":"{parent}","sessionId":"s","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{id}","content":"{text}"}}]}}}}"#
    )
}

/// Returns turns whose results of 1,000 tokens were replaced with `left`, followed by three
/// unchanged turns of 500 tokens. The prompt of the first unchanged turn has `prompt` tokens.
fn pruned(left: &str, prompt: u64) -> Vec<String> {
    let mut lines = vec![user("u", "", 10)];
    let mut parent = "u".to_owned();
    let mut turn = |at: u64, text: &str, prompt: u64| {
        let (reply, answer) = (format!("a{at}"), format!("r{at}"));
        lines.push(block(&reply, &parent, 10, &format!("m{at}"), prompt));
        lines.push(result(&answer, &reply, text));
        parent = answer;
    };
    for at in 0..20 {
        turn(at, left, 20_000 + at * 1_250);
    }
    turn(20, &"text".repeat(500), prompt);
    turn(21, &"text".repeat(500), prompt + 650);
    turn(22, &"text".repeat(500), prompt + 1_300);
    lines
}

/// Pruning corrects only the usage of the last reply, and the file no longer contains what was sent
/// for the other replies. Neither fact may affect the factor.
#[test]
fn what_was_pruned_since_tells_nothing() {
    for left in [r"[Old]\n⟦ctx:d5bbfc802054 4000 bytes 1000 tokens⟧", "Tool result is at: /x/y"]
    {
        // Either the usage of the last reply was corrected, or the next prompt is smaller.
        for prompt in [21_000, 45_000] {
            let calibration = calibrate(&pruned(left, prompt));
            let factor = calibration.factor;
            assert!((1.15..1.35).contains(&factor), "{left} {prompt}: {factor}");
            let estimate = calibration.estimate.expect("usage");
            assert!(estimate.holds(prompt + 1_950), "{estimate:?}");
            assert!(estimate.high - estimate.low < 1_500, "{estimate:?}");
            let foretold = calibration.replies.iter().filter(|it| it.tokens.is_some());
            assert_eq!(foretold.count(), 2);
        }
    }
    // A text that the user wrote may end like a pruned one.
    let as_sent = pruned("[Old] tokens", 45_000);
    let foretold = calibrate(&as_sent).foretold();
    assert_eq!(foretold.0, 22);
}
