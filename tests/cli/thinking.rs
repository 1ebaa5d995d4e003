//! Signed reasoning that a model binds to all messages before it: no operation leaves a bound block
//! after a change.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::bash;

/// A turn: the number of calls, whether its replies have signed reasoning, and the length of its
/// results in lines.
type Turn = (usize, bool, usize);

fn signature(turn: usize, call: usize) -> String {
    format!("Eq{turn}c{call}")
}

/// Returns the messages of a session. If `is_open` is set, the last turn has no final reply.
fn messages(turns: &[Turn], model: Option<&str>, is_open: bool) -> Vec<Value> {
    let mut messages = Vec::new();
    for (turn, &(calls, thinks, lines)) in turns.iter().enumerate() {
        let text = format!("Please look at part {turn}. {}", "It is long. ".repeat(lines));
        messages.push(json!({"role": "user", "content": text}));
        let is_last = is_open && turn + 1 == turns.len();
        let replies = if is_last { calls.max(1) } else { calls + 1 };
        for call in 0..replies {
            let mut content = Vec::new();
            if thinks {
                content.push(if call % 2 == 0 {
                    json!({"type": "thinking", "thinking": "hm", "signature": signature(turn, call)})
                } else {
                    json!({"type": "redacted_thinking", "data": signature(turn, call)})
                });
            }
            let id = format!("t{turn}c{call}");
            let is_final = call == calls && !is_last;
            content.push(if is_final {
                json!({"type": "text", "text": format!("Part {turn} is done.")})
            } else {
                json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}})
            });
            let mut message = json!({"role": "assistant", "content": content});
            if let Some(model) = model {
                message["model"] = model.into();
            }
            messages.push(message);
            if !is_final {
                let text = format!("a line of log {turn}.{call}\n").repeat(lines);
                messages.push(json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": id, "content": text}]}));
            }
        }
    }
    messages
}

fn lines(records: &[Value]) -> String {
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a session");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn signature_of(block: &Value) -> Option<&str> {
    block["signature"].as_str().or(block["data"].as_str())
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["content"].as_array().into_iter().flatten()
}

/// Returns the signatures of a session, in order.
fn signatures(messages: &[Value]) -> Vec<String> {
    messages.iter().flat_map(blocks).filter_map(signature_of).map(str::to_owned).collect()
}

/// Returns the messages before the block with this signature, without any reasoning.
fn prefix(messages: &[Value], signature: &str) -> Vec<Value> {
    let mut prefix = Vec::new();
    for message in messages {
        let mut message = message.clone();
        let end = blocks(&message).position(|block| signature_of(block) == Some(signature));
        if let Some(content) = message["content"].as_array_mut() {
            content.truncate(end.unwrap_or(content.len()));
            content.retain(|block| signature_of(block).is_none());
        }
        prefix.push(message);
        if end.is_some() {
            return prefix;
        }
    }
    panic!("no block {signature}");
}

/// Returns an error if a current model would reject a block in `after`, the result of changes to
/// `before`.
fn check(before: &[Value], after: &[Value]) -> Result<(), String> {
    let (old, new) = (signatures(before), signatures(after));
    let Some(first) = new.first() else { return Ok(()) };
    let start = old.iter().position(|it| it == first).expect("an old block");
    if old[start..].iter().zip(&new).any(|(old, new)| old != new) {
        return Err(format!("a gap between blocks: {new:?}"));
    }
    for signature in &new {
        if prefix(before, signature) != prefix(after, signature) {
            return Err(format!("{signature} follows a change"));
        }
    }
    Ok(())
}

const OPERATIONS: [&str; 9] = [
    "ctx-compact -q --store st --force --keep-turns 2 --summary-tokens 200 < s.jsonl > new",
    "ctx-compact -q --store st --budget 900 < s.jsonl > new",
    "ctx-split --keep-messages 3 s.jsonl | ctx-summarize -q --summary-tokens 100 > new",
    "ctx-prune -q --max-chars 200 --protect-last 1 s.jsonl > new",
    "ctx-prune -q --clear --protect-last 2 s.jsonl > new",
    "ctx-prune -q --drop reasoning --protect-last 2 s.jsonl > new",
    "ctx-prune -q --window-messages 5 --drop reasoning --protect-last 0 s.jsonl > new",
    "ctx-offload -q --store st --min-tokens 50 --protect-last 1 s.jsonl > new",
    "ctx-summarize -q --budget 900 s.jsonl > new",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_operation_leaves_a_bound_block_after_a_change(
        turns in prop::collection::vec((0_usize..3, any::<bool>(), 1_usize..60), 1..7),
        model in prop_oneof![Just(None), Just(Some("claude-opus-5-5")), Just(Some("claude-fable-5-1"))],
        is_open in any::<bool>(),
        operations in prop::collection::vec(0..OPERATIONS.len(), 1..4),
    ) {
        let dir = tempfile::tempdir().expect("a folder");
        let original = messages(&turns, model, is_open);
        let text = lines(&original);
        fs::write(dir.path().join("s.jsonl"), text).expect("written");
        let mut last = signatures(&original);
        for operation in operations {
            let command = OPERATIONS[operation];
            let done = bash(dir.path(), command);
            if done.code != 0 {
                // A session that is small enough, or whose last turn is too long, stays as it is.
                let is_small = done.stderr.contains("budget") || done.code == 1;
                let is_open_loop = is_open && done.stderr.contains("an open tool loop");
                prop_assert!(is_small || is_open_loop, "{}: {}", command, done.stderr);
                continue;
            }
            let new = dir.path().join("new");
            let after = read(&new);
            let checked = check(&original, &after);
            prop_assert!(checked.is_ok(), "{}: {:?}", command, checked);
            let left = signatures(&after);
            prop_assert!(left.iter().all(|it| last.contains(it)), "{} brought one back", command);
            // In an open loop, either all blocks of the loop stay or nothing was written.
            if let (true, Some((calls, true, _))) = (is_open, turns.last()) {
                let of_loop = (0..(*calls).max(1)).map(|call| signature(turns.len() - 1, call));
                let count = of_loop.clone().filter(|it| left.contains(it)).count();
                prop_assert!(count == of_loop.count() || operation == 6, "{}: {:?}", command, left);
            }
            last = left;
            fs::rename(&new, dir.path().join("s.jsonl")).expect("renamed");
        }
    }
}

/// What binds, and what a model demands, is decided for the model that the user or the document
/// names.
#[test]
fn the_model_that_is_named_counts() {
    let dir = tempfile::tempdir().expect("a folder");
    let session = messages(&[(3, true, 40)], None, false);
    let document = json!({"model": "claude-opus-4-5", "messages": session});
    fs::write(dir.path().join("s.jsonl"), lines(&session)).expect("written");
    fs::write(dir.path().join("d.json"), document.to_string()).expect("written");
    for (command, stay) in [
        ("ctx-prune -q --clear --protect-last 1 s.jsonl", false),
        ("ctx-prune -q --clear --protect-last 1 --model claude-opus-4-5 s.jsonl", true),
        ("ctx-prune -q --clear --protect-last 1 d.json", true),
        ("ctx-offload -q --min-tokens 20 --model claude-opus-4-5 s.jsonl", true),
    ] {
        let done = bash(dir.path(), &format!("{command} > new"));
        assert_eq!(done.code, 0, "{command}: {}", done.stderr);
        let left = signatures(&read(&dir.path().join("new")));
        assert_eq!(left == signatures(&session), stay, "{command}");
    }
    let reply = |reasoning: &str, call: usize| {
        json!({"role": "assistant", "content": null, "reasoning_content": reasoning, "tool_calls":
            [{"id": call.to_string(), "type": "function", "function": {"name": "f", "arguments": "{}"}}]})
    };
    let result =
        |call: usize| json!({"role": "tool", "tool_call_id": call.to_string(), "content": "x"});
    let user = || json!({"role": "user", "content": "go"});
    let chat = [user(), reply("hm", 1), result(1), user(), reply("so", 2), result(2)];
    fs::write(dir.path().join("c.jsonl"), lines(&chat)).expect("written");
    let prune = "ctx-prune -q --drop reasoning --protect-last 1 c.jsonl";
    assert_eq!(bash(dir.path(), prune).code, 0);
    let refused = bash(dir.path(), &format!("{prune} --model deepseek-v4"));
    let told = "ctx-prune: c.jsonl:2: the output would break a rule that the input obeys: ";
    assert!(refused.code == 2 && refused.stderr.starts_with(told), "{}", refused.stderr);
    // The orphan is in the output, as in the input.
    fs::write(dir.path().join("c.jsonl"), lines(&[&chat[..1], &chat[2..]].concat()))
        .expect("written");
    let offload = bash(dir.path(), "ctx-offload --min-tokens 20 c.jsonl > new");
    let told = "ctx-offload: warning: c.jsonl:2: 1 problem in the input; the first: ";
    assert!(offload.code == 0 && offload.stderr.starts_with(told), "{}", offload.stderr);
}

/// Changes a message so that the API rejects it. Returns false if the message has nothing to change.
fn damage(message: &mut Value, kind: usize) -> bool {
    let is_of_user = message["role"] == "user";
    let Some(content) = message["content"].as_array_mut() else {
        let is_text = is_of_user && kind == 0;
        if is_text {
            message["content"] = json!([{"type": "text", "text": message["content"]},
                {"type": "text", "text": " "}]);
        }
        return is_text;
    };
    let last = content.last_mut().expect("a block");
    match (kind, last["type"].as_str()) {
        (0, Some("tool_result")) => last["content"] = json!([{"type": "text", "text": "\n"}]),
        (0, _) => content.insert(0, json!({"type": "text", "text": " "})),
        (1, Some("tool_use")) => last["id"] = "a b".into(),
        (1, Some("tool_result")) => last["tool_use_id"] = "a b".into(),
        (2, Some("tool_result")) => (last["content"], last["is_error"]) = (json!(""), json!(true)),
        (3, Some("text" | "tool_use")) => last["cache_control"] = json!({"type": "ephemeral"}),
        _ => return false,
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_repair_or_conversion_leaves_a_bound_block_after_a_change(
        turns in prop::collection::vec((0_usize..3, any::<bool>(), 1_usize..3), 1..7),
        damaged in prop::collection::vec((0..20_usize, 0..4_usize), 1..3),
        is_document in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().expect("a folder");
        let mut before = messages(&turns, None, false);
        for (at, kind) in damaged {
            let at = at % before.len();
            if damage(&mut before[at], kind) && kind == 1 {
                let is_call = before[at]["role"] == "assistant";
                damage(&mut before[if is_call { at + 1 } else { at - 1 }], kind);
            }
        }
        let document = || json!({"messages": before}).to_string();
        let text = if is_document { document() } else { lines(&before) };
        fs::write(dir.path().join("s.jsonl"), text).expect("written");
        for command in ["ctx-check -q --repair", "ctx-convert -q --to anthropic"] {
            let done = bash(dir.path(), &format!("{command} s.jsonl > new || [ $? = 1 ]"));
            prop_assert_eq!(done.code, 0, "{}: {}", command, done.stderr);
            let checked = check(&before, &read(&dir.path().join("new")));
            prop_assert!(checked.is_ok(), "{}: {:?}", command, checked);
        }
    }
}

/// Returns a session of pi with signed reasoning by this model.
fn of_pi(model: &str) -> Vec<Value> {
    let mut parent = Value::Null;
    let mut lines = vec![json!({"type": "session", "version": 3, "id": "s",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work"})];
    for turn in 0..6 {
        let said = "It is long. ".repeat(60);
        for (role, content) in [
            ("user", json!(format!("Please look at part {turn}. {said}"))),
            (
                "assistant",
                json!([{"type": "thinking", "thinking": "hm", "thinkingSignature": "Eq",
                        "redacted": turn % 2 == 1},
                    {"type": "text", "text": format!("Part {turn} is done.")}]),
            ),
        ] {
            let id = format!("{turn}{role}");
            let mut message = json!({"role": role, "content": content});
            if role == "assistant" {
                message["model"] = model.into();
                message["stopReason"] = "stop".into();
            }
            lines.push(json!({"type": "message", "id": id, "parentId": parent,
                "timestamp": "2026-01-01T00:00:00.000Z", "message": message}));
            parent = id.into();
        }
    }
    lines
}

/// pi sends the session as it is and gives up if the API rejects it.
#[test]
fn a_compaction_of_pi_keeps_no_bound_block() {
    for (model, keeps) in [("claude-opus-5-5", false), ("claude-opus-4-5", true), ("gpt-6.2", true)]
    {
        let lines = of_pi(model);
        let dir = tempfile::tempdir().expect("a folder");
        let text = self::lines(&lines);
        fs::write(dir.path().join("s.jsonl"), text).expect("written");
        let done =
            bash(dir.path(), "ctx-compact --store st --min-idle 0 --force --keep-turns 2 s.jsonl");
        assert_eq!(done.code, 0, "{}", done.stderr);
        let after = read(&dir.path().join("s.jsonl"));
        let is_compaction = |line: &Value| line["type"] == "compaction";
        let place = after.iter().rposition(is_compaction).expect("a compaction");
        let first = &after[place]["firstKeptEntryId"];
        let kept = after.iter().position(|line| line["id"] == *first).expect("an entry");
        let sent = after[kept..].iter();
        let has_signature = sent.clone().any(|it| it.to_string().contains("thinkingSignature"));
        assert_eq!(has_signature, keeps, "{model}");
        let said = sent.filter(|it| it.to_string().contains("is done.")).count();
        assert!(said >= 2, "{model}: {after:?}");
        assert_eq!(done.stderr.contains("removed 2 signed blocks"), !keeps, "{}", done.stderr);
    }
}

/// A repair removes a result without a call, and keeps reasoning only if the API ignores it.
#[test]
fn a_repair_of_pi_keeps_no_bound_block() {
    for (model, keeps) in [("claude-opus-5-5", false), ("claude-opus-4-5", true), ("gpt-6.2", true)]
    {
        let mut lines = of_pi(model);
        let orphan = json!({"type": "message", "id": "orphan", "parentId": lines[2]["id"],
            "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "toolResult",
            "toolCallId": "c", "toolName": "ls", "content": [], "isError": false}});
        lines[3]["parentId"] = "orphan".into();
        lines.insert(3, orphan);
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("s.jsonl"), self::lines(&lines)).expect("written");
        let done = bash(dir.path(), "ctx-check --repair s.jsonl > new && ctx-check -q new");
        assert_eq!(done.code, 0, "{}", done.stderr);
        let new = read(&dir.path().join("new"));
        let count = new.iter().filter(|it| it.to_string().contains("thinkingSignature")).count();
        assert_eq!(count, if keeps { 6 } else { 1 }, "{model}: {}", done.stderr);
    }
}
