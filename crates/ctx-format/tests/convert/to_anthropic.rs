//! Tests conversions to messages of the Anthropic API.

use crate::support::{convert, losses};

#[test]
fn blocks_of_the_same_api_keep_their_bytes() {
    let session = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"a"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","message":{"id":"m","model":"claude-opus-4-5","role":"assistant","content":[{"type":"thinking", "thinking":"hm","signature":"Eq"}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","sessionId":"s","message":{"id":"m","model":"claude-opus-4-5","role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"encrypted_content":"x"}]},{"type":"text","text":"so","citations":[1E2]}]}}
"#;
    let (lines, report) = convert("anthropic", session);
    let expected = [
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"assistant","content":[{"type":"thinking", "thinking":"hm","signature":"Eq"},{"type":"server_tool_use","id":"s1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"encrypted_content":"x"}]},{"type":"text","text":"so","citations":[1E2]}]}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), Vec::<String>::new());
    // A current model binds its reasoning to the agent's prompt and tools.
    let (lines, report) = convert("anthropic", &session.replace("opus-4-5", "opus-5-5"));
    assert!(!lines.concat().contains("thinking"), "{lines:?}");
    assert_eq!(losses(&report), ["Reasoning  1"]);
}

#[test]
fn results_are_the_first_blocks_of_one_message() {
    let session = r#"{"role":"system","content":"be good"}
{"role":"user","name":"ann","content":"a"}
{"role":"assistant","content":"so","tool_calls":[{"id":"x","type":"function","function":{"name":"ls","arguments":"{ \"p\":1E2,\n\"p\":2 }"}},{"id":"y","type":"function","function":{"name":"py","arguments":"print(1)"}}]}
{"role":"tool","tool_call_id":"y","content":"1","is_error":true}
{"role":"tool","tool_call_id":"x","content":[{"type":"text","text":"p"},{"type":"text","text":"q"}]}
{"role":"assistant","content":null,"refusal":"no"}
"#;
    let session = session.replace(":1E2,\n", ":1E2,\\n");
    let (lines, report) = convert("anthropic", &session);
    let expected = [
        r#"{"role":"system","content":"be good"}"#,
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"x","name":"ls","input":{ "p":1E2, "p":2 }},{"type":"tool_use","id":"y","name":"py","input":{"input":"print(1)"}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"y","content":"1","is_error":true},{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"p"},{"type":"text","text":"q"}]}]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"no"}]}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(losses(&report), ["Name  1", "Arguments  1"]);
}

#[test]
fn a_summary_is_known_as_one() {
    let session = r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"sessionId":"s"}
{"type":"user","uuid":"1","parentUuid":"b","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"all that was"}}
"#;
    let (lines, _) = convert("anthropic", session);
    let expected = r#"{"role":"user","content":"[ctx_summary]\n\nall that was"}"#;
    assert_eq!(lines, [expected]);
}

#[test]
fn what_the_api_rejects_is_mended_or_left_out() {
    let session = r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"text","text":" "},{"type":"image","source":{"type":"base64","media_type":"image/svg+xml","data":"PHN2Zw=="}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"/9j/iVBORw0KGgo="}},{"type":"file","path":"a.rs","content":"fn a"}]}
{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s2","content":[]},{"type":"text","text":"half \ud83d"}]}
{"role":"user","content":"  "}
"#;
    let (lines, report) = convert("anthropic", session);
    let expected = [
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/iVBORw0KGgo="}}]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"half \ufffd"}]}"#,
    ];
    assert_eq!(lines, expected);
    let expected = [
        "Media image 1",
        "Field  1",
        "Media file 1",
        "LoneSurrogate  1",
        "Part server_tool_use 1",
        "Empty  1",
    ];
    assert_eq!(losses(&report), expected);
}

/// What the API rejects in a result of a failed call, in a system message and in cache marks.
#[test]
fn marks_of_errors_and_of_the_cache_and_system_messages_stay_within_limits() {
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}",{mark}}}"#);
    let session = format!(
        r#"{{"role":"user","content":[{}]}}
{{"role":"assistant","content":[{{"type":"tool_use","id":"x","name":"ls","input":{{}}}},{{"type":"tool_use","id":"y","name":"ls","input":{{}}}}]}}
{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"x","is_error":true,"content":[{{"type":"text","text":"\u3000"}}],{mark}}},{{"type":"tool_result","tool_use_id":"y","content":"\u3000"}}]}}
{{"role":"assistant","content":[{{"type":"thinking","thinking":"hm","signature":""}},{{"type":"text","text":"so"}}]}}
{{"role":"system","content":"be good"}}
{{"role":"user","content":"go on"}}
{{"role":"system","content":"be brief"}}
"#,
        ["a", "b", "c", "d"].map(text).join(",")
    );
    let (lines, report) = convert("anthropic", &session);
    let expected = [
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"(no content)","is_error":true},{"type":"tool_result","tool_use_id":"y","content":""}]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"so"}]}"#,
        r#"{"role":"user","content":"be good"}"#,
        r#"{"role":"user","content":"go on"}"#,
        r#"{"role":"system","content":"be brief"}"#,
    ];
    assert_eq!(lines[2..], expected);
    assert_eq!(losses(&report), ["Reasoning  1", "Role  1"]);
    let fifth = session.replace(r#"{"type":"text","text":"so"}"#, &text("so"));
    let (lines, _) = convert("anthropic", &fifth);
    assert_eq!(lines.concat().matches("cache_control").count(), 4);
    assert!(lines[3].contains(r#"[{"type":"text","text":"so"}]"#), "{}", lines[3]);
}

#[test]
fn each_call_gets_its_own_result_however_it_is_named() {
    let call = |id: &str, name: &str| {
        format!(
            "{{\"id\":{id},\"type\":\"function\",\"function\":{{\"name\":\"{name}\",\"arguments\":\"{{}}\"}}}}"
        )
    };
    let reply = |ids: [&str; 2]| {
        let calls = [call(ids[0], "a"), call(ids[1], "b")].join(",");
        format!("{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{calls}]}}\n")
    };
    let results = |b: &str, a: &str| {
        let result =
            |members, of| format!("{{\"role\":\"tool\",{members},\"content\":\"of {of}\"}}\n");
        result(b, "b") + &result(a, "a")
    };
    let user = "{\"role\":\"user\",\"content\":\"q\"}\n";
    let numbers = reply(["1", "2"]) + &results(r#""tool_call_id":2"#, r#""tool_call_id":1"#);
    let ollama = reply(["\"x\"", "\"y\""]) + &results(r#""tool_name":"b""#, r#""tool_name":"a""#);
    let same = r#""tool_call_id":"x","name":"#;
    let same = results(&format!("{same}\"b\""), &format!("{same}\"a\""));
    let same = reply(["\"x\"", "\"x\""]) + &same;
    let adjacent = r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}}]}
{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"b","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"of b"},{"type":"tool_result","tool_use_id":"1","content":"of a"}]}
"#;
    for (session, ids) in [
        (numbers, ["1", "2"]),
        (ollama, ["x", "y"]),
        (same, ["x", "x-2"]),
        (adjacent.to_owned(), ["1", "2"]),
    ] {
        let (lines, report) = convert("anthropic", &format!("{user}{session}"));
        for (id, of) in ids.into_iter().zip(["a", "b"]) {
            let call = format!("\"id\":\"{id}\",\"name\":\"{of}\"");
            let result = format!("\"tool_use_id\":\"{id}\",\"content\":\"of {of}\"");
            assert!(lines[1].contains(&call) && lines[2].contains(&result), "{lines:?}");
        }
        assert_eq!((lines.len(), losses(&report)), (3, Vec::new()), "{lines:?}");
    }
}
