//! Tests that the lines which Kimi Code needs to resume a session are written.

use crate::support::convert;

#[test]
fn each_message_is_a_line_and_the_summary_comes_first() {
    let session = r#"{"role":"system","content":"Be kind."}
{"role":"user","content":"a","timestamp":"2026-01-01T00:00:01.000Z"}
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{\"p\": 1}"}}],"timestamp":"2026-01-01T00:00:02.000Z"}
{"role":"tool","tool_call_id":"c","content":"out","timestamp":"2026-01-01T00:00:03.000Z"}
{"role":"user","name":"ctx_summary","content":"all","timestamp":"2026-01-01T00:00:04.000Z"}
"#;
    let (lines, _) = convert("kimi", session);
    assert_eq!(
        lines,
        [
            r#"{"type":"metadata","protocol_version":"1.5","created_at":1767225601000}"#,
            r#"{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"a"}],"toolCalls":[],"origin":{"kind":"user"}},"time":1767225601000}"#,
            r#"{"type":"context.append_message","agentId":"main","message":{"role":"assistant","content":[],"toolCalls":[{"type":"function","id":"c","name":"ls","arguments":"{\"p\": 1}"}]},"time":1767225602000}"#,
            r#"{"type":"context.append_message","agentId":"main","message":{"role":"tool","content":[{"type":"text","text":"out"}],"toolCalls":[],"toolCallId":"c"},"time":1767225603000}"#,
            r#"{"type":"context.apply_compaction","agentId":"main","compactedCount":0,"time":1767225604000,"summary":"all","legacyTail":true}"#,
        ]
    );
}
