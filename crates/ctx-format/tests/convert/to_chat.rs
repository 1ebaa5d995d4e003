//! Tests conversions from the logs of agents to the dialect `chat`.

use crate::support::{convert, losses};

/// The blocks of one reply on several lines, with a result between them.
const CLAUDE: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"list"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq"}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{"p": 1e0}}]}}
{"type":"user","uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:03.000Z","toolUseResult":"second copy","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true}]}}
{"type":"assistant","uuid":"5","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:04.000Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"b","name":"cat","input":{}}]}}
{"type":"user","uuid":"6","parentUuid":"5","sessionId":"s","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"y"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]},{"type":"text","text":"go on"}]}}
"#;

#[test]
fn blocks_of_a_reply_are_one_message_and_its_results_follow() {
    let (lines, report) = convert("chat", CLAUDE);
    let expected = [
        r#"{"role":"user","content":"list","timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\": 1e0}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}],"timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"a","content":"x","is_error":true,"timestamp":"2026-01-01T00:00:03.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"b","content":"y","timestamp":"2026-01-01T00:00:05.000Z"}"#,
        r#"{"role":"user","content":"go on","timestamp":"2026-01-01T00:00:05.000Z"}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), ["Reasoning  1", "Media image 1"]);
    assert_eq!(report.losses[0].first_line, 2);
    assert!(report.lost_something());
}

/// A compaction with a list of messages in one record, and a call whose result is in a later
/// record.
const CODEX: &str = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"compacted","payload":{"message":"all that was","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"first ask"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"all that was"}]}]}}
{"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}}
{"timestamp":"2026-01-01T00:00:03.000Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"zz"}}
{"timestamp":"2026-01-01T00:00:04.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"so"}]}}
{"timestamp":"2026-01-01T00:00:05.000Z","type":"response_item","payload":{"type":"function_call","name":"ls","arguments":"{\"p\":1}","call_id":"a"}}
{"timestamp":"2026-01-01T00:00:06.000Z","type":"response_item","payload":{"type":"function_call","name":"cat","arguments":"not JSON","call_id":"b"}}
{"timestamp":"2026-01-01T00:00:07.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"b","output":"y"}}
{"timestamp":"2026-01-01T00:00:08.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"x"}}
"#;

#[test]
fn items_of_a_reply_are_one_message() {
    let (lines, report) = convert("chat", CODEX);
    let expected = [
        r#"{"role":"user","content":"first ask","timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"role":"user","name":"ctx_summary","content":"all that was","timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}],"timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"not JSON"}}],"timestamp":"2026-01-01T00:00:03.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"b","content":"y","timestamp":"2026-01-01T00:00:07.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"a","content":"x","timestamp":"2026-01-01T00:00:08.000Z"}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), ["Reasoning  2"]);
}

/// Calls without ids, whose results are in the same record and again in the next record.
const GEMINI: &str = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}
{"id":"1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"list"}]}
{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"so","toolCalls":[{"name":"ls","args":{},"result":[{"functionResponse":{"name":"ls","response":{"output":"x"}}}],"status":"success"},{"name":"ls","args":{"p":2},"result":[{"functionResponse":{"name":"ls","response":{"list":[1]}}}],"status":"success"}]}
{"id":"3","timestamp":"2026-01-01T00:00:03.000Z","type":"user","content":[{"functionResponse":{"name":"ls","response":{"output":"x"}}},{"functionResponse":{"name":"ls","response":{"list":[1]}}}]}
{"id":"4","timestamp":"2026-01-01T00:00:04.000Z","type":"user","content":[{"text":"go on"}]}
"#;

#[test]
fn calls_and_results_of_one_record_are_parted_and_get_ids() {
    let (lines, report) = convert("chat", GEMINI);
    let expected = [
        r#"{"role":"user","content":"list","timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"role":"assistant","content":"so","tool_calls":[{"id":"call_ctx_1","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"call_ctx_2","type":"function","function":{"name":"ls","arguments":"{\"p\":2}"}}],"timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"call_ctx_1","name":"ls","content":"x","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"call_ctx_2","name":"ls","content":"{\"list\":[1]}","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"user","content":"go on","timestamp":"2026-01-01T00:00:04.000Z"}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), ["SecondResult  2", "AsText  1"]);
    assert!(!report.lost_something());
}

#[test]
fn open_calls_and_lone_results_stay_and_are_told() {
    let session = r#"{"role":"user","content":"a"}
{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"ls","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"y","content":"?"}]}
"#;
    let (lines, report) = convert("chat", session);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2], r#"{"role":"tool","tool_call_id":"y","content":"?"}"#);
    assert_eq!(losses(&report), ["OpenCall  1", "LoneResult  1"]);
}

/// A list of messages that replaced all earlier messages.
#[test]
fn messages_of_a_list_come_one_by_one() {
    let session = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}
{"$set":{"messages":[{"id":"1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"<state_snapshot>\nall that was\n</state_snapshot>"}]},{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"Got it."},{"id":"3","timestamp":"2026-01-01T00:00:03.000Z","type":"user","content":"ls"},{"id":"4","timestamp":"2026-01-01T00:00:04.000Z","type":"gemini","content":[{"thought":true,"text":"hm"},{"functionCall":{"id":"a","name":"ls","args":{}}}]},{"id":"5","timestamp":"2026-01-01T00:00:05.000Z","type":"user","content":[{"functionResponse":{"id":"a","name":"ls","response":{"error":"bad"}}}]}]}}
"#;
    let (lines, _) = convert("chat", session);
    let expected = [
        r#"{"role":"user","name":"ctx_summary","content":"all that was","timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"role":"assistant","content":"Got it.","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"user","content":"ls","timestamp":"2026-01-01T00:00:03.000Z"}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}],"timestamp":"2026-01-01T00:00:04.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"a","name":"ls","content":"bad","is_error":true,"timestamp":"2026-01-01T00:00:05.000Z"}"#,
    ];
    assert_eq!(lines, expected);
}
