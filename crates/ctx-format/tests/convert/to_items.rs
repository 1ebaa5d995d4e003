//! Tests conversions to items of the OpenAI Responses API.

use crate::support::{convert, losses};

/// The API takes parts in a reply only with the id under which it returned the reply.
#[test]
fn a_reply_is_a_text_unless_the_api_returned_it() {
    let session = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}
{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"zz"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"},{"type":"refusal","refusal":"c"}],"phase":"commentary"}
{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"d","annotations":[]}]}
"#;
    let (lines, report) = convert("responses", session);
    let expected = [
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"zz"}"#,
        r#"{"type":"message","role":"assistant","content":"b","phase":"commentary"}"#,
        r#"{"type":"message","role":"assistant","content":"c","phase":"commentary"}"#,
        r#"{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"d","annotations":[]}]}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), Vec::<String>::new());
}

#[test]
fn the_missing_result_of_a_custom_tool_is_of_its_kind() {
    let call = format!(
        r#"{{"type":"custom_tool_call","call_id":"{}","name":"patch","input":"+a"}}"#,
        "c".repeat(70)
    );
    let session = format!("{call}\n{{\"role\":\"user\",\"content\":\"go on\"}}\n");
    let (lines, report) = convert("responses", &session);
    let id = format!("{}_", "c".repeat(55));
    assert!(lines[0].contains(&format!(r#""call_id":"{id}"#)), "{}", lines[0]);
    let result = format!(r#"{{"type":"custom_tool_call_output","call_id":"{id}"#);
    assert!(lines[1].starts_with(&result), "{}", lines[1]);
    assert_eq!(losses(&report), ["MissingResult  1"]);
}

/// Some values that programs store are not among those that the API accepts.
#[test]
fn an_item_of_the_api_is_kept_with_what_the_api_demands() {
    let session = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":{"url":"https://example.org/a.png"}},{"type":"input_file","file_id":"file_1"}]}
{"type":"function_call","call_id":"","name":"f","arguments":"{}","status":null}
{"type":"function_call_output","call_id":"","output":"x"}
{"type":"code_interpreter_call","id":"ci_1","status":"completed","code":"1","container_id":"c","outputs":null}
{"type":"message","role":"assistant","id":"item_1","status":"completed","content":[{"type":"output_text","text":"so","annotations":[]}]}
{"type":"shell_call","call_id":"s","action":{"commands":["ls"]}}
{"type":"message","role":"user","content":"b"}
"#;
    let (lines, report) = convert("responses", session);
    let expected = [
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://example.org/a.png","detail":"auto"},{"type":"input_file","file_id":"file_1"}]}"#,
        r#"{"type":"function_call","call_id":"call_ctx_1","name":"f","arguments":"{}"}"#,
        r#"{"type":"function_call_output","call_id":"call_ctx_1","output":"x"}"#,
        r#"{"type":"code_interpreter_call","id":"ci_1","status":"completed","code":"1","container_id":"c","outputs":null}"#,
        r#"{"type":"message","role":"assistant","content":"so"}"#,
        r#"{"type":"message","role":"user","content":"b"}"#,
    ];
    assert_eq!(lines, expected);
    // Only the program that called a shell could say how the command ended.
    assert_eq!(losses(&report), ["Part shell_call 1"]);
    assert_eq!(report.losses[0].paths, ["messages[5]"]);
}
