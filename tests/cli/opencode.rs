//! Sessions of opencode, which are JSON documents and stay so. `tests/clients/run --agent opencode`
//! shows what opencode itself sends for such sessions.

use ctx_testkit::{Case, Finished};
use serde_json::Value;

use crate::tool_path;

/// A long output, which is worth a summary.
fn output(number: usize) -> String {
    format!("port = 700{number}\\n{}", "a setting that nobody reads\\n".repeat(60))
}

/// A message with one part. The layout is that of `opencode export`.
fn message(number: usize, role: &str, info: &str, part: &str) -> String {
    let ids = format!(r#""id": "prt_{number}", "messageID": "msg_{number}", "sessionID": "ses_1""#);
    format!(
        r#"    {{
      "info": {{
        "id": "msg_{number}", "sessionID": "ses_1", "role": "{role}", "agent": "build",
        "time": {{ "created": {} }}, {info}
      }},
      "parts": [
        {{ "type": {part}, {ids} }}
      ]
    }}"#,
        1_767_225_600_000_u64 + number as u64
    )
}

fn user(number: usize) -> String {
    let text = format!(r#""text", "text": "Which port does server {number} use?""#);
    message(number, "user", r#""model": { "providerID": "p", "modelID": "m" }"#, &text)
}

fn reply(number: usize, part: &str) -> String {
    let info = r#""parentID": "msg_0", "mode": "build", "modelID": "m", "providerID": "p", "path": { "cwd": "/w", "root": "/" }, "cost": 0, "finish": "stop", "tokens": { "input": 9, "output": 1, "reasoning": 0, "cache": { "read": 0, "write": 0 } }"#;
    message(number, "assistant", info, part)
}

fn call(number: usize) -> String {
    let output = output(number);
    reply(
        number,
        &format!(
            r#""tool", "tool": "read", "callID": "c{number}", "state": {{ "status": "completed", "input": {{ "filePath": "{number}.toml" }}, "output": "{output}", "title": "", "metadata": {{}}, "time": {{ "start": 1, "end": 2 }} }}"#
        ),
    )
}

fn session() -> String {
    let turn = |at: usize| {
        let text = format!(r#""text", "text": "Server {at} uses port 700{at}.""#);
        [user(3 * at), call(3 * at + 1), reply(3 * at + 2, &text)].join(",\n")
    };
    let turns: Vec<String> = (0..4).map(turn).collect();
    let info = r#"{ "id": "ses_1", "title": "Ports" }"#;
    format!("{{\n  \"info\": {info},\n  \"messages\": [\n{}\n  ]\n}}\n", turns.join(",\n"))
}

fn tool(name: &str) -> Case {
    Case::new(tool_path(name)).file("s.json", session())
}

/// The messages of the document that a tool has written, which must be one.
fn messages(done: &Finished) -> Vec<Value> {
    let mut document: Value = serde_json::from_slice(&done.read("s.json")).expect("a document");
    assert_eq!(document["info"]["title"], "Ports");
    let Value::Array(messages) = document["messages"].take() else { panic!("a list") };
    messages
}

#[test]
fn a_compaction_adds_messages_to_the_document() {
    let done = tool("ctx-compact")
        .args(["--min-idle", "0s", "--keep-messages", "2", "s.json"])
        .stdout_has("s.json: compacted: ")
        .stderr_has("`opencode import FILE` adds the new messages")
        .run();
    let text = String::from_utf8(done.read("s.json")).expect("UTF-8");
    let (begin, end) = session()
        .split_once("\n  ]\n}")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("a list");
    assert!(text.starts_with(&begin) && text.ends_with(&end), "{text}");
    let messages = messages(&done);
    assert_eq!(messages.len(), 14);
    assert_eq!(messages[12]["parts"][0]["tail_start_id"], "msg_9");
    assert_eq!(messages[13]["info"]["summary"], true);
    Case::new(tool_path("ctx-count")).within(done.dir()).args(["s.json"]).stdout_has("4 ").run();
    Case::new(tool_path("ctx-rollback"))
        .within(done.dir())
        .args(["-q", "--min-idle", "0s", "--undo", "s.json"])
        .run();
    assert_eq!(done.read("s.json"), session().as_bytes());
}

#[test]
fn a_filter_writes_the_document_too() {
    let done = Case::new(tool_path("ctx-compact"))
        .args(["--keep-messages", "2"])
        .stdin(session())
        .stdout_any()
        .stderr_has("`opencode import FILE` adds the new messages")
        .run();
    let document: Value = serde_json::from_slice(&done.stdout).expect("a document");
    assert_eq!(document["messages"].as_array().map(Vec::len), Some(14));
    let back = Case::new(tool_path("ctx-convert"))
        .args(["--to", "chat"])
        .stdin(String::from_utf8(done.stdout.clone()).expect("UTF-8"))
        .stdout_any()
        .run();
    let lines = String::from_utf8(back.stdout.clone()).expect("UTF-8");
    assert!(lines.starts_with(r#"{"role":"user","name":"ctx_summary""#), "{lines}");
}

#[test]
fn what_is_pruned_or_offloaded_stays_a_document() {
    let changed = "opencode keeps the messages that it has";
    let done = tool("ctx-prune")
        .args(["-i", "--min-idle", "0s", "--clear", "--protect-last", "0", "s.json"])
        .stdout_has("s.json: ")
        .stderr_has(changed)
        .run();
    let pruned = messages(&done);
    let output = pruned[1]["parts"][0]["state"]["output"].as_str().expect("a text");
    assert!(pruned.len() == 12 && output.len() < 300, "{output}");
    let done = tool("ctx-offload")
        .args(["-i", "--min-idle", "0s", "--min-tokens", "100", "s.json"])
        .stdout_has("4 results offloaded")
        .stderr_has(changed)
        .run();
    assert_eq!(messages(&done).len(), 12);
    Case::new(tool_path("ctx-offload"))
        .within(done.dir())
        .args(["-i", "-q", "--min-idle", "0s", "--restore", "s.json"])
        .run();
    // The layout of a message that has changed is not kept.
    let restored: Value = serde_json::from_slice(&done.read("s.json")).expect("JSON");
    assert_eq!(restored, serde_json::from_str::<Value>(&session()).expect("JSON"));
}

/// opencode would remove the compaction together with the undone messages.
#[test]
fn a_session_with_a_pending_undo_is_not_compacted() {
    let undone = session().replace(
        "\"title\": \"Ports\"",
        "\"title\": \"Ports\", \"revert\": {\"messageID\": \"msg_9\"}",
    );
    let done = Case::new(tool_path("ctx-compact"))
        .file("s.json", &undone)
        .args(["--min-idle", "0s", "--keep-messages", "2", "s.json"])
        .code(2)
        .stderr_has("the agent would not read the compaction as intended; nothing was written")
        .run();
    assert_eq!(done.read("s.json"), undone.as_bytes());
}

#[test]
fn a_document_with_flaws_is_named() {
    let twice = session().replace(
        "\"msg_3\", \"sessionID\": \"ses_1\", \"role\"",
        "\"msg_0\", \"sessionID\": \"ses_1\", \"role\"",
    );
    Case::new(tool_path("ctx-check"))
        .stdin(twice)
        .stdout_has("repeated-id: an earlier message has the id msg_0")
        .code(1)
        .run();
}
