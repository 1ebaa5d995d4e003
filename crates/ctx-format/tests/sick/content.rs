//! Content of messages that an API rejects, and its repair.

use ctx_format::{Dialect, Object, Validator, dialect};

use super::repaired;

const USER: &str = r#"{"role":"user","content":"u"}"#;
const SYSTEM: &str = r#"{"role":"system","content":"s"}"#;
const REPLY: &str = r#"{"role":"assistant","content":"so"}"#;
const USE: &str =
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#;

/// Returns the lines and the names of the rules that a session breaks.
fn broken(dialect: &str, text: &str) -> Vec<(u64, &'static str)> {
    let dialect = dialect::by_name(dialect).expect("a dialect");
    let mut validator = Validator::new(dialect.rules());
    for (line, text) in (1..).zip(text.lines()) {
        let object = Object::parse(text).expect("an object");
        assert_eq!(dialect.unread(&object), None, "{text}");
        // The header of a log is no message.
        if let Some(outline) = dialect.outline(&object) {
            validator.push(line, &outline);
        }
    }
    let (problems, ..) = validator.finish_with_open();
    problems.into_iter().map(|it| (it.line, it.rule.into())).collect()
}

/// Checks that the last line of a session breaks `rule`, and that a repair makes `expected` of it.
fn check(dialect: &str, before: &[&str], (rule, line): (&str, &str), expected: &str) {
    let text = [before, &[line, ""]].concat().join("\n");
    let number = before.len() as u64 + 1;
    let mut found = broken(dialect, &text);
    found.dedup();
    assert_eq!(found, [(number, rule)], "{text}");
    let (copy, _) = repaired(dialect::by_name(dialect).expect("a dialect"), text.as_bytes());
    let end = if expected.is_empty() { &[][..] } else { &[expected] };
    assert_eq!(copy.lines().collect::<Vec<_>>(), [before, end].concat(), "{rule}");
    assert_eq!(broken(dialect, &copy), [], "{copy}");
}

#[test]
fn blocks_that_the_messages_api_rejects_are_repaired() {
    let image = |mime: &str, data: &str| {
        format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"{mime}","data":"{data}"}}}}"#
        )
    };
    let png = image("image/png", "iVBORw0KGgo=");
    let no_image = r#"{"type":"text","text":"(an image of the type image/png was here)"}"#;
    let user = |block: &str| format!(r#"{{"role":"user","content":[{block}]}}"#);
    let failed = |content: &str| {
        user(&format!(r#"{{"type":"tool_result","tool_use_id":"t","is_error":true{content}}}"#))
    };
    let call = |more: &str| USE.replace("\"input\":{}", &format!("\"input\":{{}}{more}"));
    let text = r#"{"type":"text","text":"x"}"#;
    let reply = |block: &str| USE.replace('[', &format!("[{block},"));
    let marks = |mark: &str| {
        let block = format!(r#"{{"type":"text","text":"x"{mark}}}"#);
        let blocks = [&*block; 5].join(",");
        user(&format!(r#"{{"type":"tool_result","tool_use_id":"t","content":[{blocks}]}}"#))
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let signed = r#"{"type":"thinking","thinking":"hm","signature":"Eq"}"#;
    let error = |rule, content: &str, repaired: &str| {
        (vec![USER, USE], rule, failed(content), failed(repaired))
    };
    let (bad, empty) = ("bad-error-result", "empty-error-result");
    let none = r#"{"role":"user","content":[{"content":"(no content)","type":"tool_result","tool_use_id":"t","is_error":true}]}"#;
    let cases = [
        error(empty, r#","content":"""#, r#","content":"(no content)""#),
        error(empty, r#","content":[]"#, r#","content":"(no content)""#),
        (vec![USER, USE], empty, failed(""), none.to_owned()),
        error(empty, &format!(r#","content":[{png}]"#), &format!(r#","content":[{no_image}]"#)),
        error(
            bad,
            &format!(r#","content":[{text},{png}]"#),
            &format!(r#","content":[{text},{no_image}]"#),
        ),
        (vec![], "bad-image", user(&image("image/png", "")), user(no_image)),
        (
            vec![],
            "bad-image",
            user(&image("image/jpeg", "data:image/png;base64,iVBORw0KGgo=")),
            user(&png),
        ),
        (vec![USER], "misplaced-block", reply(&png), reply(no_image)),
        (
            vec![USER],
            "unsigned-reasoning",
            reply(r#"{"type":"thinking","thinking":"hm"}"#),
            USE.to_owned(),
        ),
        (
            vec![USER],
            "extra-member",
            reply(&signed.replace("\"Eq\"", &format!("\"Eq\"{mark}"))),
            reply(signed),
        ),
        (vec![USER], "extra-member", call(r#","index":1,"partial_json":"{}""#), call("")),
        (vec![USER, USE], "cache-marks", marks(mark), marks("")),
    ];
    for (before, rule, line, expected) in &cases {
        check("anthropic", before, (rule, line), expected);
    }
}

/// Claude Code leaves out what is not text in the result of a failed call, and calls of the server
/// without a result. It sends blocks without a signature, and sends the session again without
/// reasoning if the API refuses them.
#[test]
fn only_what_claude_code_does_not_mend_itself_is_repaired() {
    let line = |role: &str, block: &str| {
        let parent = if role == "user" { "\"assistant\"" } else { "\"first\"" };
        format!(
            r#"{{"type":"{role}","uuid":"{role}","parentUuid":{parent},"sessionId":"s","message":{{"role":"{role}","content":[{block}]}}}}"#
        )
    };
    let first = r#"{"type":"user","uuid":"first","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"go"}}"#;
    let legal = [
        r#"{"type":"thinking","thinking":"hm"}"#,
        r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#,
    ];
    for block in legal {
        let said = line("user", r#"{"type":"text","text":"x"}"#);
        let text = [first, &line("assistant", block), &said].join("\n");
        assert_eq!(broken("claude-code", &text), [], "{block}");
    }
    let text = |more: &str| line("user", &format!(r#"{{"type":"text","text":"x"{more}}}"#));
    let failed = |content: &str| {
        line(
            "user",
            &format!(
                r#"{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":{content}}}"#
            ),
        )
    };
    let call = line("assistant", r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#);
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let document = r#"{"type":"document","source":{"type":"text","data":"d"}}"#;
    let note = r#"[{"type":"text","text":"(a document was here)"}]"#;
    let checked = |before: &[&str], rule, wrong: &str, right: &str| {
        check("claude-code", before, (rule, wrong), right);
    };
    checked(&[], "extra-member", &text(r#","index":0"#), &text(""));
    checked(&[first, &call], "empty-error-result", &failed("\"\""), &failed("\"(no content)\""));
    checked(
        &[first, &call],
        "empty-error-result",
        &failed(&format!("[{document}]")),
        &failed(note),
    );
    let with_text = failed(&format!(r#"[{{"type":"text","text":"x"}},{document}]"#));
    assert_eq!(broken("claude-code", &[first, &call, &with_text].join("\n")), []);
    let blank = |block: &str| {
        line(
            "user",
            &format!(
                r#"{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"x"}}{block}]}}"#
            ),
        )
    };
    let nested = blank(r#",{"type":"text","text":" "}"#);
    checked(&[first, &call], "empty-result-text", &nested, &blank(""));
    let said = |content: &str| text("").replace(r#"[{"type":"text","text":"x"}]"#, content);
    checked(&[], "empty-message", &said("\" \""), &said("\"(no content)\""));
    assert_eq!(broken("claude-code", &said("[]")), []);
    assert_eq!(broken("claude-code", &text(mark)), []);
    let twice = [text(mark), text(mark)].join("\n");
    assert_eq!(broken("claude-code", &twice), [(1, "cache-marks")]);
}

/// The Gemini CLI sends media as they are, and leaves out what is empty.
#[test]
fn media_that_the_gemini_api_cannot_decode_are_repaired() {
    let user = |parts: &str| {
        format!(r#"{{"id":"a","timestamp":"t","type":"user","content":[{{"text":"x"}},{parts}]}}"#)
    };
    let called = |result: &str| {
        format!(
            r#"{{"id":"a","timestamp":"t","type":"gemini","content":"","toolCalls":[{{"id":"c","name":"n","args":{{}},"result":[{result}]}}]}}"#
        )
    };
    let png = |data: &str| format!(r#"{{"inlineData":{{"mimeType":"image/png"{data}}}}}"#);
    let good = png(r#","data":"iVBORw0KGgo=""#);
    let url = png(r#","data":"data:image/png;base64,iVBORw0KGgo=""#);
    let no_media = r#"{"text":"(media of the type image/png was here)"}"#;
    let response = r#"{"functionResponse":{"id":"c","name":"n","response":{"output":"x"}}}"#;
    let cases = [
        (user(&url), user(&good)),
        (user(&png("")), user(no_media)),
        (user(&png(r#","data":"@""#)), user(no_media)),
        (user(r#"{"inlineData":{}}"#), user(r#"{"text":"(media was here)"}"#)),
        (called(&format!("{response},{url}")), called(&format!("{response},{good}"))),
    ];
    let header = r#"{"sessionId":"s","projectHash":"0","startTime":"t","lastUpdated":"t"}"#;
    for (wrong, right) in &cases {
        check("gemini", &[header], ("bad-image", wrong), right);
    }
    assert_eq!(broken("gemini", &user(r#"{"text":""}"#)), []);
}

/// Qwen Code sends images and texts as they are, and leaves out what is empty.
#[test]
fn content_that_the_api_of_qwen_code_rejects_is_repaired() {
    let line = |kind: &str, role: &str, parts: &str| {
        format!(
            r#"{{"uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/","type":"{kind}","message":{{"role":"{role}","parts":[{parts}]}}}}"#
        )
    };
    let user = |part: &str| line("user", "user", &format!(r#"{{"text":"x"}},{part}"#));
    let image = |mime: &str, data: &str| {
        format!(r#"{{"inlineData":{{"mimeType":"image/{mime}","data":"{data}"}}}}"#)
    };
    let good = image("png", "iVBORw0KGgo=");
    let no_image = r#"{"text":"(image of the type image/png was here)"}"#;
    for (wrong, right) in [
        (image("jpeg", "iVBORw0KGgo="), &*good),
        (image("png", "data:image/png;base64,iVBORw0KGgo="), &good),
        (image("png", "@"), no_image),
    ] {
        check("qwen", &[], ("bad-image", &user(&wrong)), &user(right));
    }
    // An API accepts only media next to the response.
    let call = line("assistant", "model", r#"{"functionCall":{"id":"c","name":"f","args":{}}}"#);
    let result = |parts: &str| {
        let of =
            format!(r#"{{"functionResponse":{{"id":"c","name":"f","response":{{}}{parts}}}}}"#);
        line("tool_result", "user", &of)
            .replace(r#""a","parentUuid":null"#, r#""b","parentUuid":"a""#)
    };
    let bad = image("png", "@");
    for (wrong, right) in [
        (format!("[{good},{bad},{bad}]"), format!(r#","parts":[{good}]"#)),
        (format!("[{bad}]"), String::new()),
    ] {
        let wrong = result(&format!(r#","parts":{wrong}"#));
        check("qwen", &[&call], ("bad-image", &wrong), &result(&right));
    }
    let half = user(r#"{"text":"a\ud800"}"#);
    check("qwen", &[], ("lone-surrogate", &half), &half.replace("ud800", "ufffd"));
    let pdf = r#"{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}}"#;
    for part in [good.as_str(), pdf, r#"{"text":""}"#] {
        assert_eq!(broken("qwen", &user(part)), [], "{part}");
    }
    let call = line("assistant", "model", r#"{"functionCall":{"id":"c","name":"","args":{}}}"#);
    assert_eq!(broken("qwen", &call), [(1, "empty-tool-name")]);
}

#[test]
fn a_system_message_in_the_conversation_precedes_a_reply() {
    let text = |lines: &[&str]| lines.join("\n");
    for legal in [&[SYSTEM, SYSTEM, USER][..], &[USER, SYSTEM, SYSTEM, REPLY], &[USER, SYSTEM]] {
        assert_eq!(broken("anthropic", &text(legal)), [], "{legal:?}");
    }
    check(
        "anthropic",
        &[USER, REPLY],
        ("misplaced-system", SYSTEM),
        &SYSTEM.replace("system", "user"),
    );
    let misplaced = [(2, "misplaced-system")];
    assert_eq!(broken("anthropic", &text(&[USER, SYSTEM, USER])), misplaced);
    assert_eq!(broken("chat", &text(&[USER, REPLY, SYSTEM, USER])), []);
}

/// A summary that the program asked for has a signature.
#[test]
fn a_signed_summary_begins_the_session() {
    let summary = |text: &str| {
        format!(
            r#"{{"role":"assistant","content":[{text}{{"type":"compaction","content":"c","signature":"Eq"}}]}}"#
        )
    };
    let misplaced = "misplaced-block";
    assert_eq!(broken("anthropic", &[&summary(""), USER].join("\n")), []);
    assert_eq!(broken("anthropic", &[USER, &summary("")].join("\n")), [(2, misplaced)]);
    let late = summary(r#"{"type":"text","text":"x"},"#);
    assert_eq!(broken("anthropic", &[&*late, USER].join("\n")), [(1, misplaced)]);
}

/// The code of the first call makes the others, and its own result follows theirs.
#[test]
fn calls_that_the_server_makes_belong_to_one_of_its_own() {
    let reply = |blocks: &str| format!(r#"{{"role":"assistant","content":[{blocks}]}}"#);
    let server =
        r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}}"#;
    let call = |id: &str| {
        format!(
            r#"{{"type":"tool_use","id":"{id}","name":"n","input":{{}},"caller":{{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}}}"#
        )
    };
    let result = |id: &str| {
        format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}"}}]}}"#)
    };
    let done =
        reply(r#"{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}}"#);
    let first = reply(&[server, &call("a")].join(","));
    let second = reply(&call("b"));
    let begin = [USER, &first, &result("a"), &second, &result("b")].join("\n");
    assert_eq!(broken("anthropic", &[&*begin, &done, USER].join("\n")), []);
    let unanswered = [&*begin, REPLY, USER].join("\n");
    let problem = "server-call";
    assert_eq!(broken("anthropic", &unanswered), [(2, problem), (2, problem), (4, problem)]);
    let (copy, _) = repaired(&dialect::Anthropic, (unanswered + "\n").as_bytes());
    assert!(!copy.contains("srvtoolu_1") && copy.contains(r#""id":"b""#), "{copy}");
    assert_eq!(broken("anthropic", &copy), []);
    let halved = [USER, &second, &result("b"), &done].join("\n");
    assert_eq!(broken("anthropic", &halved), [(4, "server-result")]);
}

#[test]
fn items_that_the_responses_api_rejects_are_repaired() {
    let said =
        |role: &str, id: &str| format!(r#"{{"type":"message","role":"{role}","content":"x"{id}}}"#);
    let user = said("user", "");
    let thought = |more: &str| format!(r#"{{"type":"reasoning","summary":[]{more}}}"#);
    let own = said("assistant", r#","id":"msg_1""#);
    let cases = [
        (vec![&*own], "repeated-item-id", own.clone(), said("assistant", "")),
        (vec![&user], "bad-item-id", said("assistant", r#","id":"item_1""#), said("assistant", "")),
        (vec![&user], "bad-item-id", thought(r#","id":"x_1""#), String::new()),
        (
            vec![&user],
            "bad-item-id",
            thought(r#","id":"x_1","encrypted_content":"e""#),
            thought(r#","encrypted_content":"e""#),
        ),
        (
            vec![&user],
            "bad-call-id",
            r#"{"type":"function_call","call_id":"","name":"n","arguments":"{}"}"#.to_owned(),
            r#"{"type":"function_call","call_id":"_e3b0c442","name":"n","arguments":"{}"}"#
                .to_owned(),
        ),
    ];
    for (before, rule, line, expected) in &cases {
        check("responses", before, (rule, line), expected);
    }
    let part = |role: &str, kind: &str, more: &str| {
        format!(
            r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}_text","text":"x"{more}}}]}}"#
        )
    };
    let annotated = r#","annotations":[]"#;
    let wrong = [part("user", "output", annotated), part("assistant", "input", "")];
    let right = [part("user", "input", ""), part("assistant", "output", "")];
    for (wrong, right) in wrong.iter().zip(&right) {
        check("responses", &[&user], ("misplaced-block", wrong), right);
    }
    let call = |arguments: &str| {
        format!(r#"{{"type":"function_call","call_id":"c","name":"n","arguments":{arguments}}}"#)
    };
    check("responses", &[&user], ("bad-input", &call("{}")), &call(r#""{}""#));
    let lone = [&*user, &thought(r#","id":"rs_1""#), &user].join("\n");
    assert_eq!(broken("responses", &lone), [(2, "lone-reasoning")]);
    let (copy, _) = repaired(&dialect::Responses, (lone + "\n").as_bytes());
    assert_eq!(copy.lines().collect::<Vec<_>>(), [&user, &user]);
    let nameless = r#"{"type":"function_call","name":"n","arguments":"{}"}"#;
    assert_eq!(broken("responses", nameless), [(1, "bad-call-id")]);
}

/// The arguments of a call are an object, or there are none.
#[test]
fn arguments_that_are_no_object_become_one() {
    let reply = |args: &str| {
        format!(
            r#"{{"id":"m","timestamp":"2026-01-01T00:00:00.000Z","type":"gemini","content":"","toolCalls":[{{"id":"c","name":"n","args":{args},"result":[{{"functionResponse":{{"id":"c","name":"n","response":{{"output":"x"}}}}}}]}}]}}"#
        )
    };
    let header = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}"#;
    let copy = |args: &str| {
        let text = [header, &reply(args), ""].join("\n");
        let (copy, _) = repaired(&dialect::Gemini, text.as_bytes());
        copy.lines().last().expect("the reply").to_owned()
    };
    assert_eq!(copy("[]"), reply(r#"{"input":[]}"#));
    assert_eq!(copy("{ }"), reply("{ }"));
}

/// A change that the model does not see leaves signed reasoning valid.
#[test]
fn reasoning_goes_only_if_the_model_sees_a_change() {
    let signed = r#"{"role":"assistant","model":"claude-opus-5-5","content":[{"type":"thinking","thinking":"hm","signature":"Eq"},{"type":"text","text":"so"}]}"#;
    let with = |block: &str| {
        let text = [r#"{"role":"user","content":["#, block, "]}\n", signed, "\n"].concat();
        repaired(&dialect::Anthropic, text.as_bytes()).0
    };
    let stays = with(r#"{"type":"text","text":"x","index":0}"#);
    assert!(stays.contains("thinking") && !stays.contains("index"), "{stays}");
    let goes = with(r#"{"type":"text","text":"x"},{"type":"text","text":""}"#);
    assert!(!goes.contains("thinking"), "{goes}");
}

/// The types are those of the request types in the vendors' SDKs.
#[test]
fn every_type_of_block_and_item_is_read() {
    for kind in [
        "image",
        "document",
        "search_result",
        "redacted_thinking",
        "tool_use",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "advisor_tool_result",
        "container_upload",
        "compaction",
        "tool_addition",
        "tool_removal",
        "mcp_tool_listing",
        "fallback",
        "tool_reference",
        "browser_state",
    ] {
        let text = format!(r#"{{"role":"assistant","content":[{{"type":"{kind}"}}]}}"#);
        let object = Object::parse(&text).expect("an object");
        assert_eq!(dialect::Anthropic.unread(&object), None, "{kind}");
    }
    for kind in [
        "file_search_call",
        "computer_call",
        "computer_call_output",
        "web_search_call",
        "function_call",
        "function_call_output",
        "tool_search_call",
        "tool_search_output",
        "additional_tools",
        "configuration_update",
        "reasoning",
        "compaction",
        "image_generation_call",
        "code_interpreter_call",
        "local_shell_call",
        "local_shell_call_output",
        "shell_call",
        "shell_call_output",
        "apply_patch_call",
        "apply_patch_call_output",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "custom_tool_call",
        "custom_tool_call_output",
        "compaction_trigger",
        "item_reference",
        "program",
        "program_output",
    ] {
        let text = format!(r#"{{"type":"{kind}"}}"#);
        let object = Object::parse(&text).expect("an object");
        assert_eq!(dialect::Responses.unread(&object), None, "{kind}");
    }
}

#[test]
fn reasoning_behind_an_inserted_beginning_goes() {
    let reply = r#"{"role":"assistant","model":"claude-opus-5-5","content":[{"type":"thinking","thinking":"hm","signature":"Eq"},{"type":"text","text":"so"}]}"#;
    let session = format!("{reply}\n{{\"role\":\"user\",\"content\":\"go on\"}}\n");
    let (copy, actions) = repaired(&dialect::Anthropic, session.as_bytes());
    assert!(copy.contains("so") && !copy.contains("signature"), "{copy}");
    assert_eq!(actions, [(1, "begin"), (1, "remove-reasoning")]);
}
