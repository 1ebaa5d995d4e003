//! Content that only the vendor's server can read: the server's own summaries, which no tool may
//! drop, and signed reasoning, which newer models refuse after a changed message.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::bench::{bash, good};

fn lines(records: &[Value]) -> String {
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

/// Six turns of the Anthropic API with long results; `blocks` precede the text of the third reply.
fn anthropic(blocks: &[Value]) -> String {
    let mut records = Vec::new();
    for turn in 0..6 {
        let id = format!("toolu_{turn}");
        let mut said = if turn == 2 { blocks.to_vec() } else { Vec::new() };
        said.push(json!({"type": "text", "text": format!("Part {turn} is done.")}));
        records.extend([
            json!({"role": "user", "content": format!("Please look at part {turn}.")}),
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id,
                "content": "a line of the log\n".repeat(60)}]}),
            json!({"role": "assistant", "content": said}),
        ]);
    }
    lines(&records)
}

/// Returns six such turns in the Responses API; the third item is `item`.
fn responses(item: &Value) -> String {
    let mut records = vec![
        json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Please look at part 0."}]}),
        json!({"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "Part 0 is done."}]}),
        item.clone(),
    ];
    for turn in 1..6 {
        let text = format!("Please look at part {turn}. {}", "It is long. ".repeat(60));
        records.push(json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": text}]}));
        records.push(json!({"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": format!("Part {turn} is done.")}]}));
    }
    lines(&records)
}

/// Returns a rollout of Codex whose history before line 3 the server has compacted.
fn codex() -> String {
    let history = [
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Please look at part 0."}]}),
        json!({"type": "compaction", "encrypted_content": "gAAAAABz"}),
    ];
    let mut records = vec![
        json!({"timestamp": "2026-11-01T00:00:00.000Z", "type": "session_meta", "payload": {
            "id": "0199c0de-0000-7000-8000-000000000001", "timestamp": "2026-11-01T00:00:00.000Z",
            "cwd": "/work", "originator": "codex_cli_rs", "cli_version": "0.169.0"}}),
        json!({"timestamp": "2026-11-01T00:00:01.000Z", "type": "compacted", "payload": {
            "message": "", "replacement_history": history}}),
    ];
    for record in responses(&Value::Null).lines().skip(3) {
        let item: Value = serde_json::from_str(record).expect("an item");
        records.push(json!({"timestamp": "2026-11-01T00:00:02.000Z", "type": "response_item",
            "payload": item}));
    }
    lines(&records)
}

/// Returns the exit status and the messages of a command on `s.jsonl`, and whether the file is
/// unchanged.
fn run(dir: &Path, command: &str) -> (i32, String, bool) {
    let before = fs::read(dir.join("s.jsonl")).expect("the session");
    let done = bash(dir, command);
    let after = fs::read(dir.join("s.jsonl")).expect("the session");
    (done.code, done.stderr, before == after)
}

const COMPACT: &str =
    "ctx-compact -q --store st --min-idle 0 --force --keep-messages 4 --summary-tokens 200 s.jsonl";

#[test]
fn nobody_drops_the_summary_of_the_vendor() {
    let block = json!({"type": "compaction", "encrypted_content": "gAAAAABz"});
    let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABz"});
    let split = "ctx-split --keep-turns 1 s.jsonl | ctx-summarize > new";
    for (session, line, commands) in [
        (
            anthropic(&[block]),
            12,
            &[
                COMPACT,
                split,
                "ctx-convert --to chat s.jsonl",
                "ctx-convert --to pi -o new s.jsonl",
            ][..],
        ),
        (
            responses(&item),
            3,
            &[COMPACT, "ctx-compact --force < s.jsonl", "ctx-convert --to anthropic s.jsonl"],
        ),
        (codex(), 2, &[COMPACT, "ctx-convert --to claude-code s.jsonl"]),
    ] {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        fs::write(dir.join("s.jsonl"), &session).expect("written");
        for command in commands {
            let (code, said, is_unchanged) = run(dir, command);
            let (place, why) = said.split_once(": the vendor").expect(&said);
            assert!(place.ends_with(&format!(":{line}")), "{command}: {said}");
            assert_eq!((code, is_unchanged), (2, true), "{command}: {said}");
            assert!(
                why.starts_with(
                    "'s own compaction replaces all earlier messages here, so nothing can be "
                ) && why.ends_with(
                    "; only its API can continue from it; ctx-prune keeps it and shortens results\n"
                ),
                "{command}: {said}"
            );
        }
        good(dir, "ctx-check -q s.jsonl");
        let kept = good(dir, "ctx-prune --max-chars 200 s.jsonl");
        assert!(kept.contains("\"compaction\""), "{kept}");
    }
    // Without a call, only the block shows the API of the session.
    let dir = tempfile::tempdir().expect("a folder");
    let texts = [
        json!({"role": "user", "content": "Look."}),
        json!({"role": "assistant", "content": [{"type": "compaction", "content": "Done."}]}),
        json!({"role": "user", "content": "Go on."}),
    ];
    fs::write(dir.path().join("s.jsonl"), lines(&texts)).expect("written");
    let kept = good(dir.path(), "ctx-convert -q --to anthropic s.jsonl");
    assert!(kept.contains("\"compaction\""), "{kept}");
    let chat = good(dir.path(), "ctx-convert -q --to chat s.jsonl");
    assert!(chat.contains("\"ctx_summary\",\"content\":\"Done.\""), "{chat}");
    // The API wants its summary first.
    let first = texts[1..].iter().map(|text| format!("{text}\n"));
    fs::write(dir.path().join("s.jsonl"), first.collect::<Vec<_>>().concat()).expect("written");
    good(dir.path(), "ctx-check -q --dialect anthropic s.jsonl");
    // A failed compaction replaces nothing.
    let dir = tempfile::tempdir().expect("a folder");
    let failed = json!({"type": "compaction", "content": null});
    fs::write(dir.path().join("s.jsonl"), anthropic(&[failed])).expect("written");
    good(dir.path(), COMPACT);
}

#[test]
fn a_readable_summary_of_the_vendor_is_an_earlier_summary() {
    let block = json!({"type": "compaction", "content": "Part 0 is done, 7731 rows."});
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("s.jsonl");
    let session = anthropic(&[block]);
    for command in [
        COMPACT,
        "ctx-split --keep-turns 1 s.jsonl | ctx-summarize > new && mv new s.jsonl",
        "ctx-summarize --budget 600 s.jsonl > new && mv new s.jsonl",
        "ctx-convert --to chat s.jsonl > new && mv new s.jsonl",
        "ctx-convert --to pi s.jsonl > new && mv new s.jsonl",
    ] {
        fs::write(&path, &session).expect("written");
        good(dir.path(), command);
        let new = fs::read_to_string(&path).expect("a session");
        assert!(new.contains("7731 rows"), "{command}: {new}");
        assert!(!new.contains("\"compaction\",\"content"), "{command}: {new}");
        if command.contains("convert") {
            assert!(new.contains("Part 2 is done."), "{command}: {new}");
        }
        good(dir.path(), "ctx-check -q s.jsonl");
    }
    // The API ignores everything before the block, so a new summary must not precede it.
    fs::write(&path, &session).expect("written");
    for command in [
        COMPACT.replace("--keep-messages 4", "--keep-turns 4"),
        "ctx-prune --window-messages 3 s.jsonl".to_owned(),
    ] {
        let (code, said, is_unchanged) = run(dir.path(), &command);
        assert_eq!((code, is_unchanged), (2, true), "{command}: {said}");
        assert!(said.contains("s.jsonl:12: the vendor"), "{command}: {said}");
    }
}

fn thinking(text: &str, signature: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": signature})
}

/// Returns a session of Claude Code with a model whose third reply begins with signed reasoning.
fn claude_code(model: &str) -> String {
    let mut parent = Value::Null;
    let mut records = Vec::new();
    let messages = anthropic(&[thinking("next", "EqQBCk")]);
    for (number, line) in messages.lines().enumerate() {
        let mut message: Value = serde_json::from_str(line).expect("a message");
        let kind = message["role"].clone();
        if kind == "assistant" {
            message["id"] = format!("m{number}").into();
            message["model"] = model.into();
        }
        let id = format!("u{number}");
        records.push(json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": "s",
            "isSidechain": false, "timestamp": "2026-11-01T00:00:00.000Z", "message": message}));
        parent = id.into();
    }
    lines(&records)
}

#[test]
fn signed_reasoning_after_a_change_is_reported_with_its_models() {
    let removed = |blocks: &str, model: &str| {
        format!(
            "removed {blocks} of reasoning by {model}: the API rejects it after a change to an earlier message"
        )
    };
    let kept =
        |model: &str, why: &str| format!("kept 1 signed block of reasoning by {model}: {why}");
    let resent = "if the API rejects it after the change, the agent sends the session without it";
    let unknown = "an unrecorded model";
    let sealed = json!({"type": "redacted_thinking", "data": "EqQBCk"});
    let two = anthropic(&[thinking("", "EqQBCk"), sealed]);
    let compact = COMPACT.replace("-q ", "").replace("--keep-messages 4", "--keep-turns 4");
    let prune = "ctx-prune --max-chars 200 --protect-last 0 s.jsonl";
    let offload = "ctx-offload -q --store st --min-tokens 50 s.jsonl";
    for (session, command, expected) in [
        (two.clone(), prune, removed("2 signed blocks", unknown)),
        (two.clone(), &compact, removed("2 signed blocks", unknown)),
        (
            two.clone(),
            "ctx-split --keep-turns 4 s.jsonl | ctx-summarize",
            removed("2 signed blocks", unknown),
        ),
        (two, &offload.replace("-q ", ""), removed("2 signed blocks", unknown)),
        (
            anthropic(&[thinking("so", "EqQBCk")]),
            "ctx-prune --signed-reasoning keep --max-chars 200 --protect-last 0 s.jsonl",
            kept(
                unknown,
                "after the change, Claude Fable 5.1, Opus 5.5 and newer reject the session unless the request sets drop_block",
            ),
        ),
        (claude_code("claude-opus-5-5"), prune, kept("claude-opus-5-5", resent)),
        (claude_code("claude-fable-5-1"), &compact, kept("claude-fable-5-1", resent)),
        (
            claude_code("claude-fable-5-1"),
            &offload.replace("-q ", ""),
            kept("claude-fable-5-1", resent),
        ),
        // These records do not depend on earlier messages, or their reasoning is removed as well.
        (claude_code("claude-opus-4-5"), prune, String::new()),
        (claude_code("claude-opus-4-5"), &compact, String::new()),
        (claude_code("claude-fable-5-1"), "ctx-prune --drop reasoning s.jsonl", String::new()),
        (anthropic(&[thinking("so", "")]), prune, String::new()),
    ] {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("s.jsonl"), &session).expect("written");
        let done = bash(dir.path(), command);
        assert_eq!(done.code, 0, "{command}: {}", done.stderr);
        let warnings = done.stderr.lines().filter(|line| line.contains("reasoning"));
        let warnings: Vec<&str> = warnings.collect();
        match &*expected {
            "" => assert!(warnings.is_empty(), "{command}: {warnings:?}"),
            text => assert!(
                warnings.len() == 1
                    && warnings[0].contains(" warning: ")
                    && warnings[0].ends_with(text),
                "{command}: {}",
                done.stderr
            ),
        }
    }
}
