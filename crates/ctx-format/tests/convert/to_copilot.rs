//! Tests conversions to the session files of the Copilot CLI.

use serde_json::{Value, json};

use crate::support::{convert, losses};

/// The type and the data of each event.
fn events(lines: &[String]) -> Vec<(String, Value)> {
    let events = lines.iter().map(|line| {
        let mut event: Value = serde_json::from_str(line).expect("JSON");
        (event["type"].as_str().expect("a type").to_owned(), event["data"].take())
    });
    events.collect()
}

/// An event has only one text. The agent sends its images after the text, and its calls after them.
#[test]
fn each_text_begins_an_event() {
    let session = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":"b"}]}
{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}],"tool_calls":[{"id":"1","type":"function","function":{"name":"ls","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"1","is_error":true,"content":"no"}
{"role":"user","content":"e"}
"#;
    let (lines, report) = convert("copilot", session);
    assert_eq!(losses(&report), Vec::<String>::new());
    let events = events(&lines);
    let texts: Vec<_> = events[1..]
        .iter()
        .map(|(kind, data)| (kind.as_str(), data["content"].as_str().unwrap_or_default()))
        .collect();
    let expected = [
        ("user.message", "a"),
        ("user.message", "b"),
        ("assistant.message", "c"),
        ("assistant.message", "d"),
        ("tool.execution_complete", ""),
        ("user.message", "e"),
    ];
    assert_eq!(texts, expected);
    assert_eq!(events[1].1["attachments"][0]["mimeType"], "image/png");
    assert_eq!(events[3].1["toolRequests"], json!([]));
    assert_eq!(events[4].1["toolRequests"][0]["toolCallId"], "1");
    assert_eq!(events[5].1["error"]["message"], "no");
    // The id in the header is the name of the folder in which the agent looks for the file.
    assert!(events[0].1["sessionId"].as_str().is_some_and(|id| id.len() == 36));
}

/// The agent sends nothing from before a compaction but the user's messages.
#[test]
fn what_precedes_a_summary_follows_it() {
    let session = r#"{"role":"user","content":"a"}
{"role":"assistant","content":"b"}
{"role":"user","name":"ctx_summary","content":"so far"}
{"role":"user","content":"c"}
"#;
    let (lines, report) = convert("copilot", session);
    assert_eq!(losses(&report), ["BeforeSummary  2"]);
    let kinds: Vec<String> = events(&lines).into_iter().map(|(kind, _)| kind).collect();
    let said = ["user.message", "assistant.message", "user.message"];
    assert_eq!(kinds, [&["session.start", "session.compaction_complete"][..], &said].concat());
}
