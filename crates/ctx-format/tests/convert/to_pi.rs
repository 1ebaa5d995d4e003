//! Tests that the members which pi and `OpenClaw` need to resume a session are written.

use serde_json::Value;

use crate::support::convert;

/// The members `message` of the entries.
fn messages(lines: &[String]) -> Vec<Value> {
    let lines = lines.iter();
    let entries = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let messages = entries.filter_map(|mut entry| entry.get_mut("message").map(Value::take));
    messages.collect()
}

/// An agent names the model before a turn. The model applies to all replies until another model is
/// named.
#[test]
fn the_model_is_the_one_that_the_session_names_last() {
    let session = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}}
{"timestamp":"2026-01-01T00:00:00.000Z","type":"turn_context","payload":{"cwd":"/elsewhere","model":"gpt-5"}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}}
{"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}}
{"timestamp":"2026-01-01T00:00:03.000Z","type":"turn_context","payload":{"cwd":"/elsewhere","model":"gpt-5-mini"}}
{"timestamp":"2026-01-01T00:00:04.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"c"}]}}
{"timestamp":"2026-01-01T00:00:05.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"}]}}
"#;
    let (lines, report) = convert("pi", session);
    assert_eq!(report.losses, []);
    assert!(lines[0].contains(r#""cwd":"/work""#), "{}", lines[0]);
    let messages = messages(&lines);
    let models = messages.iter().map(|message| message["model"].as_str());
    let models: Vec<_> = models.collect();
    assert_eq!(models, [None, Some("gpt-5"), None, Some("gpt-5-mini")]);
    assert_eq!(messages[1]["provider"], "openai");
}
