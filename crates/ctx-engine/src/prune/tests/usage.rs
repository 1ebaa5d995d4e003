//! Tests how pruning corrects the usage that an agent has recorded.

use super::{pass, plan};
use crate::prune::{Options, Plan, Trim};

fn trims() -> Plan {
    let trim = Trim { max_chars: 40, ..Trim::default() };
    plan(Options { trim: Some(trim), protect_last: 1, ..Options::default() })
}

/// Returns Claude Code lines with these types, other members and messages. Each line is the child
/// of the previous one.
fn claude(lines: &[(&str, &str, String)]) -> Vec<String> {
    let of = |(at, (kind, beside, message)): (usize, &(&str, &str, String))| {
        let parent = at.checked_sub(1).map(|parent| format!("\"u{parent}\""));
        let parent = parent.unwrap_or_else(|| "null".to_owned());
        format!(
            r#"{{"type":"{kind}","uuid":"u{at}","parentUuid":{parent},"sessionId":"s"{beside},"message":{{"role":"{kind}",{message}}}}}"#
        )
    };
    lines.iter().enumerate().map(of).collect()
}

fn reply(id: &str, content: &str, prompt: u64) -> String {
    format!(
        r#""id":"{id}","model":"claude","usage":{{"input_tokens":4,"cache_read_input_tokens":{},"output_tokens":9}},"content":[{content}]"#,
        prompt - 4
    )
}

fn result(id: u64, text: &str) -> String {
    format!(r#""content":[{{"type":"tool_result","tool_use_id":"t{id}","content":"{text}"}}]"#)
}

fn call(id: u64) -> String {
    format!(r#"{{"type":"tool_use","id":"t{id}","name":"Read","input":{{}}}}"#)
}

const TEXT: &str = r#"{"type":"text","text":"So it is."}"#;
const ASK: &str = r#""content":"What is there?""#;

/// Returns a call, a result of 1,000 tokens, and a reply of two lines.
fn session() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("user", "", ASK.to_owned()),
        ("assistant", "", reply("m1", &call(1), 20_000)),
        ("user", "", result(1, &"word ".repeat(800))),
        ("assistant", "", reply("m2", TEXT, 21_250)),
        ("assistant", "", reply("m2", &call(2), 21_250)),
    ]
}

/// Returns each changed line before and after pruning, and the notes on usage.
fn changed(session: &[String]) -> (Vec<(String, String)>, Vec<String>) {
    let (written, notes) = pass(&trims(), &session.join("\n")).expect("no failure");
    let pairs = session.iter().zip(written.lines());
    let changed = pairs.filter(|(before, after)| before != after);
    let changed = changed.map(|(before, after)| (before.clone(), after.to_owned()));
    let notes = notes.into_iter().filter(|note| note.contains("usage"));
    (changed.collect(), notes.collect())
}

/// The API counts 1.2 tokens for each of the 969 tokens that are freed.
const NOTE: &str = "recorded usage of the last reply: 21259 tokens, now 20096";

#[test]
fn all_lines_of_the_last_reply_say_what_its_prompt_comes_to_now() {
    let (changed, notes) = changed(&claude(&session()));
    let [_, usage @ ..] = &changed[..] else {
        panic!("{changed:?}");
    };
    assert_eq!(usage.len(), 2);
    for (before, after) in usage {
        assert_eq!(*after, before.replace(":21246", ":20083"));
    }
    assert_eq!(notes, [NOTE]);
}

#[test]
fn what_was_not_sent_yet_is_not_taken_off() {
    let mut lines = session();
    lines[2].2 = result(1, "short");
    lines.push(("user", "", result(2, &"word ".repeat(800))));
    let mut plan = trims();
    plan.options.protect_last = 0;
    let lines = claude(&lines);
    let (written, notes) = pass(&plan, &lines.join("\n")).expect("no failure");
    let same = lines.iter().zip(written.lines()).filter(|(a, b)| a == b);
    assert_eq!((same.count(), lines.len()), (5, 6));
    assert!(!notes.iter().any(|note| note.contains("usage")));
}

/// Claude Code ignores the usage of replies from before a compaction.
#[test]
fn behind_a_compaction_no_reply_tells() {
    let mut lines = claude(&session());
    lines.truncate(4);
    lines.push(r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"u3","sessionId":"s","compactMetadata":{"trigger":"auto","preTokens":9,"preservedMessages":{"anchorUuid":"c","uuids":["u1","u2","u3"],"allUuids":["u1","u2","u3"]}}}"#.to_owned());
    lines.push(r#"{"type":"user","uuid":"c","parentUuid":"b","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"What was."}}"#.to_owned());
    let (changed, notes) = changed(&lines);
    assert_eq!((changed.len(), notes.len()), (1, 0), "{changed:?}");
}

/// Codex repeats the same numbers when the limits of the user's plan change.
#[test]
fn of_codex_each_event_of_the_last_reply() {
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"{kind}","payload":{payload}}}"#)
    };
    let message = |role: &str, kind: &str| {
        line(
            "response_item",
            &format!(
                r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"So."}}]}}"#
            ),
        )
    };
    let count = |input: u64| {
        line(
            "event_msg",
            &format!(
                r#"{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":41250,"total_tokens":41268}},"last_token_usage":{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":9,"total_tokens":{}}}}},"rate_limits":null}}"#,
                input + 9
            ),
        )
    };
    let text = "word ".repeat(800);
    let lines = [
        line("session_meta", r#"{"id":"s","cwd":"/","originator":"o","cli_version":"0"}"#),
        message("user", "input_text"),
        line(
            "response_item",
            r#"{"type":"function_call","name":"read","arguments":"{}","call_id":"t1"}"#,
        ),
        count(20_000),
        line(
            "response_item",
            &format!(r#"{{"type":"function_call_output","call_id":"t1","output":"{text}"}}"#),
        ),
        message("assistant", "output_text"),
        count(21_250),
        count(21_250),
    ];
    let (changed, notes) = changed(&lines);
    assert_eq!(changed.len(), 3, "{changed:?}");
    for (before, after) in &changed[1..] {
        let expected = before.replace(":21250", ":20087").replace(":21259", ":20096");
        assert_eq!(*after, expected);
    }
    assert_eq!(notes, [NOTE]);
}

#[test]
fn of_pi_the_last_reply_that_came_to_its_end() {
    let entry = |at: u64, message: &str| {
        let parent = if at == 1 { "null".to_owned() } else { format!("\"{}\"", at - 1) };
        format!(
            r#"{{"type":"message","id":"{at}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{message}}}"#
        )
    };
    let reply = |content: &str, stop: &str, read: u64| {
        format!(
            r#"{{"role":"assistant","content":[{content}],"model":"claude","usage":{{"input":4,"output":9,"cacheRead":{read},"cacheWrite":0,"totalTokens":{},"cost":{{"total":1.5}}}},"stopReason":"{stop}","timestamp":1}}"#,
            read + 13
        )
    };
    let text = "word ".repeat(800);
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
        entry(1, r#"{"role":"user","content":"What is there?","timestamp":1}"#),
        entry(2, &reply(r#"{"type":"toolCall","id":"t1","name":"read","arguments":{}}"#, "toolUse", 19_996)),
        entry(3, &format!(r#"{{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[{{"type":"text","text":"{text}"}}],"isError":false,"timestamp":1}}"#)),
        entry(4, &reply(TEXT, "stop", 21_246)),
        entry(5, &reply(TEXT, "aborted", 30_000)),
    ];
    let (changed, notes) = changed(&lines);
    assert_eq!(changed.len(), 2, "{changed:?}");
    let (before, after) = &changed[1];
    let expected = before.replace(":21246", ":20083").replace(":21259", ":20096");
    assert_eq!(*after, expected);
    assert_eq!(notes, [NOTE]);
}

#[test]
fn a_second_pruning_begins_with_what_the_first_one_left() {
    let mut lines = session();
    lines.insert(3, ("assistant", "", reply("m1b", &call(3), 21_250)));
    lines.insert(4, ("user", "", result(3, &"text ".repeat(800))));
    lines[5].2 = reply("m2", TEXT, 22_500);
    lines.truncate(6);
    let lines = claude(&lines);
    let numbers = |notes: &[String]| -> Vec<u64> {
        let note = notes.iter().find(|note| note.contains("usage"));
        let words = note.expect("a note").split(' ');
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let mut first = trims();
    first.pins = vec!["line:5".parse().expect("a selector")];
    let (once, notes) = pass(&first, &lines.join("\n")).expect("no failure");
    let [before, half] = numbers(&notes)[..] else {
        panic!("{notes:?}");
    };
    let (twice, notes) = pass(&trims(), &once).expect("no failure");
    assert_eq!(numbers(&notes)[0], half);
    let (at_once, notes) = pass(&trims(), &lines.join("\n")).expect("no failure");
    let [same, rest] = numbers(&notes)[..] else {
        panic!("{notes:?}");
    };
    assert_eq!((before, twice), (same, at_once));
    assert!(half - rest > 1_000 && before - half > 1_000);
}
