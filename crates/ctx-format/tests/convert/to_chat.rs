//! Tests conversions from the logs of agents to the dialect `chat`.

use ctx_format::convert::LossKind;

use crate::support::{convert, losses};

/// The blocks of one reply on several lines, with a result between them.
const CLAUDE: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"list"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq"}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{"p": 1e0}}]}}
{"type":"user","uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:03.000Z","toolUseResult":"second copy","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true}]}}
{"type":"assistant","uuid":"5","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:04.000Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"b","name":"cat","input":{}}]}}
{"type":"user","uuid":"6","parentUuid":"5","sessionId":"s","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"y"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},{"type":"text","text":"go on"}]}}
"#;

#[test]
fn blocks_of_a_reply_are_one_message_and_its_results_follow() {
    let (lines, report) = convert("chat", CLAUDE);
    let expected = [
        r#"{"role":"user","content":"list","timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\": 1e0}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}],"timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"a","content":"x","timestamp":"2026-01-01T00:00:03.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"b","content":"y","timestamp":"2026-01-01T00:00:05.000Z"}"#,
        r#"{"role":"user","content":"go on","timestamp":"2026-01-01T00:00:05.000Z"}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), ["ErrorMark  1", "Reasoning  1", "Media image 1"]);
    assert_eq!(report.losses[1].first_line, 2);
    assert_eq!(report.losses[1].paths, ["records[1].message.content[0]"]);
    assert_eq!(report.losses[2].paths, ["records[5].message.content[0].content[1]"]);
    assert!(report.lost_something());
}

/// A compaction with a list of messages in one record, and a call whose result is in a later
/// record.
const CODEX: &str = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"compacted","payload":{"message":"all that was","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"first ask"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"all that was"}]}]}}
{"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}}
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
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}],"timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"{\"input\":\"not JSON\"}"}}],"timestamp":"2026-01-01T00:00:03.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"b","content":"y","timestamp":"2026-01-01T00:00:07.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"a","content":"x","timestamp":"2026-01-01T00:00:08.000Z"}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), ["Arguments  1", "Reasoning  1"]);
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
        r#"{"role":"tool","tool_call_id":"call_ctx_1","content":"x","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"tool","tool_call_id":"call_ctx_2","content":"{\"list\":[1]}","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"role":"user","content":"go on","timestamp":"2026-01-01T00:00:04.000Z"}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), ["SecondResult  2", "AsText  1"]);
    assert!(!report.lost_something());
}

#[test]
fn open_calls_and_lone_results_become_legal() {
    let session = r#"{"role":"user","content":"a"}
{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"ls","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"y","content":"?"}]}
{"role":"assistant","content":[{"type":"tool_use","id":"z","name":"ls","input":{}}]}
"#;
    let (lines, report) = convert("chat", session);
    let expected = [
        r#"{"role":"tool","tool_call_id":"x","content":"The result of this call is missing from the session."}"#,
        r#"{"role":"user","content":"?"}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"z","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
    ];
    assert_eq!(lines[2..], expected);
    assert_eq!(losses(&report), ["MissingResult  1", "LoneResult  1", "OpenCall  1"]);
}

/// Ollama gives calls no ids, and its results name the tool or nothing.
#[test]
fn results_without_ids_answer_calls_in_their_order() {
    let call = |name: &str| format!(r#"{{"function":{{"name":"{name}","arguments":{{}}}}}}"#);
    let calls = [call("ls"), call("cat"), call("wc")].join(",");
    let session = format!(
        r#"{{"role":"user","content":"a","images":["iVBORw0KGgo="]}}
{{"role":"assistant","content":"","tool_calls":[{calls}]}}
{{"role":"tool","tool_name":"cat","content":"of cat"}}
{{"role":"tool","content":"of ls"}}
{{"role":"tool","content":"of wc"}}
"#
    );
    let (lines, report) = convert("chat", &session);
    let results = [("call_ctx_2", "of cat"), ("call_ctx_1", "of ls"), ("call_ctx_3", "of wc")];
    let expected = results
        .map(|(id, text)| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#));
    assert_eq!(lines[2..], expected);
    assert!(lines[0].contains(r#"{"url":"data:image/png;base64,iVBORw0KGgo="}"#), "{}", lines[0]);
    assert_eq!(losses(&report), Vec::<String>::new());
}

#[test]
fn what_a_model_said_aloud_is_its_text() {
    let session = r#"{"role":"user","content":"a"}
{"role":"assistant","content":null,"audio":{"id":"x","data":"iVBORw0KGgo=","transcript":"six"}}
{"role":"user","content":"b"}
{"role":"assistant","audio":{"id":"x"}}
"#;
    let (lines, report) = convert("chat", session);
    let expected = [
        r#"{"role":"assistant","content":"six"}"#,
        r#"{"role":"user","content":"b"}"#,
        r#"{"role":"assistant","content":null,"audio":{"id":"x"}}"#,
    ];
    assert_eq!(lines[1..], expected);
    assert_eq!(losses(&report), ["Field  1"]);
    assert_eq!(report.losses[0].paths, ["messages[1].audio.data"]);
    assert_eq!(
        report.losses[0].say(),
        "1 value has no place in the dialect (messages[1].audio.data)"
    );
}

#[test]
fn calls_that_the_server_answered_become_calls_with_results() {
    let session = r#"{"role":"user","content":"a"}
{"role":"assistant","content":[{"type":"mcp_tool_use","id":"m1","name":"echo","server_name":"echo","input":{"v":1}},{"type":"mcp_tool_result","tool_use_id":"m1","is_error":false,"content":[{"type":"text","text":"42"}]},{"type":"text","text":"so"}]}
"#;
    let (lines, report) = convert("chat", session);
    let expected = [
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"m1","type":"function","function":{"name":"echo","arguments":"{\"v\":1}"}}]}"#,
        r#"{"role":"tool","tool_call_id":"m1","content":"42"}"#,
        r#"{"role":"assistant","content":"so"}"#,
    ];
    assert_eq!(lines[1..], expected);
    assert_eq!(losses(&report), Vec::<String>::new());
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
        r#"{"role":"tool","tool_call_id":"a","content":"bad","timestamp":"2026-01-01T00:00:05.000Z"}"#,
    ];
    assert_eq!(lines, expected);
}

/// The answer to a request for approval is the result of the call.
#[test]
fn a_denied_call_has_a_result_that_says_so() {
    let ask = |id: &str| {
        format!(
            r#"{{"type":"mcp_approval_request","id":"{id}","server_label":"x","name":"rm","arguments":"{{}}"}}"#
        )
    };
    let session = format!(
        r#"{}
{{"type":"mcp_approval_response","approval_request_id":"a","approve":false,"reason":"no"}}
{}
{{"type":"mcp_approval_response","approval_request_id":"b","approve":true}}
"#,
        ask("a"),
        ask("b")
    );
    let (lines, report) = convert("chat", &session);
    assert_eq!(
        lines[1],
        r#"{"role":"tool","tool_call_id":"a","content":"The user denied this call. Reason: no"}"#
    );
    assert!(lines[3].ends_with(r#""content":"The user approved this call."}"#), "{}", lines[3]);
    assert!(report.losses.iter().all(|loss| loss.kind == LossKind::Field), "{report:?}");
    let (lines, _) = convert("anthropic", &session);
    assert!(lines[2].ends_with(r#"Reason: no","is_error":true}]}"#), "{}", lines[2]);
}

#[test]
fn a_role_that_the_api_does_not_know_is_named() {
    let (lines, report) = convert(
        "chat",
        "{\"role\":\"tool\",\"content\":\"\"}\n{\"role\":\"critic\",\"content\":\"x\"}\n",
    );
    assert_eq!(lines, [r#"{"role":"user","content":"x"}"#]);
    assert!(losses(&report).contains(&"Role  1".to_owned()), "{report:?}");
}
