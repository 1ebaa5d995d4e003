//! Tests conversions to the session files of the Gemini CLI.

use serde_json::{Value, json};

use crate::support::{convert, losses};

/// Gemini refuses a call without the signature that it came with.
#[test]
fn parts_of_the_same_agent_keep_their_bytes() {
    let session = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00.000Z"}
{"id":"1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"go"}]}
{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":[{"text":"so","thoughtSignature":"A"},{"functionCall":{"id":"a","name":"ls","args":{"p":1E2}},"thoughtSignature":"B"},{"functionCall":{"name":"ls","args":{}}}],"toolCalls":[{"id":"a","name":"ls","args":{"p":1E2},"result":[{"functionResponse":{"id":"a","name":"ls","response":{"list":[1]}}}]}]}
{"id":"3","timestamp":"2026-01-01T00:00:03.000Z","type":"user","content":[{"functionResponse":{"name":"ls","response":{"output":"x"}}}]}
{"id":"4","timestamp":"2026-01-01T00:00:04.000Z","type":"gemini","content":"done","thoughts":[{"subject":"S","description":"d","timestamp":"2026-01-01T00:00:04.000Z"}]}
"#;
    let (lines, report) = convert("gemini", session);
    assert_eq!(losses(&report), Vec::<String>::new());
    let content = r#""content":[{"text":"so","thoughtSignature":"A"},{"functionCall":{"id":"a","name":"ls","args":{"p":1E2}},"thoughtSignature":"B"},{"functionCall":{"id":"call_ctx_1","name":"ls","args":{}}}]"#;
    assert!(lines[2].contains(content), "{}", lines[2]);
    assert!(lines[2].contains(r#""response":{"list":[1]}"#), "{}", lines[2]);
    let last: Value = serde_json::from_str(&lines[3]).expect("JSON");
    assert_eq!(
        (&last["thoughts"][0]["subject"], &last["content"]),
        (&json!("S"), &json!([{"text": "done"}]))
    );
}
