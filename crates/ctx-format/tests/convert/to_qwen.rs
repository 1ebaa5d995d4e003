//! Tests that the members which Qwen Code needs to resume a session are written.

use serde_json::{Value, json};

use crate::support::{convert, losses};

fn values(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn each_line_names_its_parent_and_the_folder() {
    let session = r#"{"role":"user","content":"a"}
{"role":"assistant","content":"b","tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"c","content":"out"}
"#;
    let (lines, report) = convert("qwen", session);
    assert_eq!(report.losses, []);
    let lines = values(&lines);
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].clone()).collect();
    assert_eq!(kinds, ["user", "assistant", "tool_result"]);
    assert_eq!(lines[0]["parentUuid"], Value::Null);
    for pair in lines.windows(2) {
        assert_eq!(pair[1]["parentUuid"], pair[0]["uuid"]);
        assert_eq!(pair[1]["sessionId"], pair[0]["sessionId"]);
    }
    assert!(lines.iter().all(|line| line["cwd"] == "/" && line["version"] == "0.24.4"));
    assert_eq!(
        lines[1]["message"]["parts"][1],
        json!({"functionCall": {"id": "c", "name": "ls", "args": {}}})
    );
    let response = json!({"id": "c", "name": "ls", "response": {"output": "out"}});
    assert_eq!(
        lines[2]["message"],
        json!({"role": "user", "parts": [{"functionResponse": response}]})
    );
}

/// The lines before a summary are inside its line, so the line has no parent.
#[test]
fn a_summary_holds_the_messages_before_it() {
    let session = r#"{"role":"user","content":"a"}
{"role":"user","name":"ctx_summary","content":"what was"}
{"role":"user","content":"b"}
"#;
    let (lines, report) = convert("qwen", session);
    assert_eq!(losses(&report), ["BeforeSummary  1"]);
    let [summary, after] = &values(&lines)[..] else { panic!("two lines: {lines:?}") };
    assert_eq!(
        (&summary["subtype"], &summary["parentUuid"]),
        (&json!("chat_compression"), &Value::Null)
    );
    let history = summary["systemPayload"]["compressedHistory"].as_array().expect("a list");
    assert_eq!(history.len(), 2);
    assert_eq!(history[1]["parts"][0]["text"], "a");
    assert_eq!(after["parentUuid"], summary["uuid"]);
}

/// Both agents have the parts of the Gemini API, so a thought keeps its signature.
#[test]
fn thoughts_of_the_gemini_cli_stay_if_they_are_parts() {
    let header = r#"{"sessionId":"s","projectHash":"p","kind":"main"}"#;
    let reply = |rest: &str| {
        format!(
            "{header}\n{{\"id\":\"1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"gemini\",\"model\":\"m\",{rest}}}\n"
        )
    };
    let thought = r#"{"text":"hm","thought":true,"thoughtSignature":"z"}"#;
    let (lines, _) = convert("qwen", &reply(&format!(r#""content":[{thought},{{"text":"so"}}]"#)));
    assert!(lines[0].contains(thought) && lines[0].contains(r#""model":"m""#), "{lines:?}");
    let (back, _) = convert("gemini", &(lines.join("\n") + "\n"));
    assert!(back[1].contains(thought), "{back:?}");
    let of_client = r#""content":"so","thoughts":[{"subject":"a plan","description":"in words"}]"#;
    let (lines, report) = convert("qwen", &reply(of_client));
    assert_eq!(values(&lines)[0]["message"]["parts"], json!([{"text": "so"}]));
    assert_eq!(losses(&report), ["Reasoning  1"]);
}
