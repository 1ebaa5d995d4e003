//! Tests that each record stays whole if a session is lowered.

use crate::support::{losses, lower};

#[test]
fn each_record_is_in_one_exchange() {
    let session = r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x","version":3}
{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"a"}}
{"type":"message","id":"2","parentId":"1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"x","name":"ls","arguments":{}},{"type":"new","n":1}],"stopReason":"toolUse"}}
{"type":"message","id":"3","parentId":"2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"x","toolName":"ls","content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"isError":false}}
"#;
    let (lines, report) = lower(session);
    let expected = [
        r#"{"role":"user","content":"a","timestamp":"2026-01-01T00:00:01.000Z","_source":[1]}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"x","name":"ls","input":{}},{"type":"opaque","raw":{"type":"new","n":1}}],"timestamp":"2026-01-01T00:00:02.000Z","_source":[2]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"image","_type":"image","raw":{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}}]}],"timestamp":"2026-01-01T00:00:03.000Z","_source":[3]}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), Vec::<String>::new());
    let lines: Vec<u64> = report.sources.iter().map(|it| it.first_line).collect();
    assert_eq!(lines, [2, 3, 4]);
}

#[test]
fn the_messages_of_a_list_are_told_apart() {
    let session = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"compacted","payload":{"message":"all that was","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"first ask"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"all that was"}]},{"type":"function_call","name":"ls","arguments":"{}","call_id":"a"}]}}
{"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"x"}}
{"timestamp":"2026-01-01T00:00:03.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}}
"#;
    let (lines, _) = lower(session);
    let expected = [
        r#"{"role":"user","content":"first ask","timestamp":"2026-01-01T00:00:01.000Z","_source":["1.0"]}"#,
        r#"{"role":"user","content":"[ctx_summary]\n\nall that was","timestamp":"2026-01-01T00:00:01.000Z","_source":["1.1"]}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}],"timestamp":"2026-01-01T00:00:01.000Z","_source":["1.2"]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}],"timestamp":"2026-01-01T00:00:02.000Z","_source":[2]}"#,
        r#"{"role":"user","content":"b","timestamp":"2026-01-01T00:00:03.000Z","_source":[3]}"#,
    ];
    assert_eq!(lines, expected);
}

/// A later line rewrites the second message of the list, which is then sent at the position of the
/// original. The last message of the list was undone, so it is not sent.
#[test]
fn of_a_list_what_is_in_the_context_comes_in_its_order() {
    let said = |id: &str, kind: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:01.000Z","type":"{kind}","content":"{text}"}}"#
        )
    };
    let list = [
        said("n", "info", "never sent"),
        said("a", "user", "first"),
        said("b", "gemini", "old"),
        said("c", "user", "third"),
        said("d", "gemini", "gone"),
    ];
    let lines = [
        r#"{"sessionId":"s","projectHash":"p"}"#.to_owned(),
        format!(r#"{{"$set":{{"messages":[{}]}}}}"#, list.join(",")),
        r#"{"$rewindTo":"d"}"#.to_owned(),
        said("b", "gemini", "new"),
        String::new(),
    ];
    let (lines, _) = lower(&lines.join("\n"));
    let expected = [
        r#"{"role":"user","content":"first","timestamp":"2026-01-01T00:00:01.000Z","_source":["1.0"]}"#,
        r#"{"role":"assistant","content":"new","timestamp":"2026-01-01T00:00:01.000Z","_source":[3]}"#,
        r#"{"role":"user","content":"third","timestamp":"2026-01-01T00:00:01.000Z","_source":["1.2"]}"#,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn of_a_list_one_message_may_be_all_that_is_left() {
    let session = r#"{"sessionId":"s","projectHash":"p"}
{"$set":{"messages":[{"id":"a","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":"first"},{"id":"b","timestamp":"2026-01-01T00:00:01.000Z","type":"gemini","content":"gone"}]}}
{"$rewindTo":"b"}
"#;
    let (lines, _) = lower(session);
    let expected = r#"{"role":"user","content":"first","timestamp":"2026-01-01T00:00:01.000Z","_source":["1.0"]}"#;
    assert_eq!(lines, [expected]);
}

/// The Gemini CLI writes the results of a reply again as a message of the user, and once more each
/// time it resumes the session.
#[test]
fn copies_of_results_are_marked_as_the_agents() {
    let result = r#"{"functionResponse":{"id":"a","name":"ls","response":{"output":"x"}}}"#;
    let line = |id: &str, kind: &str, rest: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:01.000Z","type":"{kind}","content":{rest}}}"#
        )
    };
    let lines = [
        r#"{"sessionId":"s","projectHash":"p"}"#.to_owned(),
        line("u", "user", r#""ask""#),
        line(
            "g",
            "gemini",
            &format!(
                r#""","toolCalls":[{{"id":"a","name":"ls","args":{{}},"result":[{result}]}}]"#
            ),
        ),
        line("c", "user", &format!("[{result}]")),
        line("d", "user", &format!("[{result}]")),
        String::new(),
    ];
    let (lines, _) = lower(&lines.join("\n"));
    let marks = |line: &String| line.contains(r#""_request":false,"_added":[0,"#);
    let marked: Vec<bool> = lines.iter().map(marks).collect();
    assert_eq!(marked, [false, false, true], "{lines:?}");
}
