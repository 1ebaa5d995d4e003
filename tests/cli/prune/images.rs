//! `ctx-prune --drop images`.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ctx_testkit::Case;

use crate::tool_path;

/// Returns the bytes of a picture of 800 by 600 pixels that no program can show.
fn picture() -> Vec<u8> {
    let header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x03\x20\0\0\x02\x58\x08\x02\0\0\0";
    [header.as_slice(), &[7; 900]].concat()
}

fn base64() -> String {
    STANDARD.encode(picture())
}

const HANDLE: &str = "⟦ctx: image/png, all 929 bytes: ctx-offload --show 761004b3⟧";

/// A session with a picture from the user and one from a tool, and with `copy` in each record of a
/// result.
fn anthropic() -> String {
    let image = format!(
        r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{}"}}}}"#,
        base64()
    );
    let said =
        |role: &str, content: &str| format!("{{\"role\":\"{role}\",\"content\":{content}}}\n");
    let result = format!(r#"[{{"type":"tool_result","tool_use_id":"t","content":[{image}]}}]"#);
    let rest: String =
        (0..3).map(|_| said("user", "\"Go on.\"") + &said("assistant", "\"Yes.\"")).collect();
    said("user", &format!(r#"[{{"type":"text","text":"See:"}},{image}]"#))
        + &said("assistant", r#"[{"type":"tool_use","id":"t","name":"Read","input":{}}]"#)
        + &said("user", &result)
        + &rest
}

#[test]
fn a_handle_stays_in_the_place_of_an_image_and_gets_it_back() {
    let before = anthropic();
    let done = Case::new(tool_path("ctx-prune"))
        .file("s.jsonl", &before)
        .args(["-i", "--drop", "images", "s.jsonl"])
        .stdout("s.jsonl: 2 changes, 1224 tokens freed\n")
        .run();
    let image = before.find(r#"{"type":"image""#).expect("an image");
    let end = before[image..].find("}}").expect("its end") + image + 2;
    let text = format!(r#"{{"type":"text","text":"{HANDLE}"}}"#);
    assert_eq!(
        String::from_utf8(done.read("s.jsonl")).expect("text"),
        before.replace(&before[image..end], &text)
    );
    let again = |name: &str| Case::new(tool_path(name)).within(done.dir());
    again("ctx-check").args(["s.jsonl"]).stdout("s.jsonl: ok\n").run();
    again("ctx-offload").args(["--show", HANDLE]).stdout(picture()).run();
    let none = "s.jsonl: 0 changes, 0 tokens freed\n";
    again("ctx-prune").args(["-i", "--drop", "images", "s.jsonl"]).stdout(none).run();
}

#[test]
fn images_in_protected_messages_stay() {
    let said = "rule        changes     tokens      after      freed\nimages            1        638         26        612\ntotal             1        638         26        612\n1 more image would change with less than --protect-last 4\n";
    Case::new(tool_path("ctx-prune"))
        .file("s.jsonl", anthropic())
        .args(["-n", "--drop", "images", "--protect-last", "4", "s.jsonl"])
        .stdout(said)
        .run();
    Case::new(tool_path("ctx-prune"))
        .stdin(anthropic())
        .args(["--drop", "images", "--protect-last", "4"])
        .stdout(
            anthropic().replacen(
                &anthropic()[anthropic().find(r#"{"type":"image""#).expect("an image")..]
                    .split_inclusive("}}")
                    .next()
                    .expect("an image")
                    .to_owned(),
                &format!(
                    r#"{{"type":"text","text":"{}"}}"#,
                    HANDLE.replace(" bytes:", " bytes, if saved:")
                ),
                1,
            ),
        )
        .run();
}

/// Codex repeats every image in each compaction.
#[test]
fn images_in_a_compaction_of_codex_are_dropped() {
    let image = format!(
        r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"See:"}},{{"type":"input_image","image_url":"data:image/png;base64,{}"}}]}}"#,
        base64()
    );
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","payload":{payload}}}"#)
            + "\n"
    };
    let said = |role: &str, kind: &str| {
        line(
            "response_item",
            &format!(
                r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"x"}}]}}"#
            ),
        )
    };
    let turn = said("user", "input_text") + &said("assistant", "output_text");
    let meta = r#"{"id":"00000000-0000-4000-8000-000000000007","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","originator":"x","cli_version":"0.169.0"}"#;
    let history = format!(r#"{{"message":"","replacement_history":[{image},{image}]}}"#);
    let session = line("session_meta", meta)
        + &line("response_item", &image)
        + &turn
        + &line("compacted", &history)
        + &turn.repeat(4);
    let done = Case::new(tool_path("ctx-prune"))
        .file("s.jsonl", &session)
        .args(["-q", "-i", "--min-idle", "0s", "--drop", "images,before-compaction", "s.jsonl"])
        .run();
    let after = String::from_utf8(done.read("s.jsonl")).expect("text");
    assert_eq!(after.matches(&base64()).count(), 0);
    let text = format!(r#"{{"type":"input_text","text":"{HANDLE}"}}"#);
    assert_eq!(after.matches(&text).count(), 2);
    assert_eq!(after.lines().count(), session.lines().count() - 3);
    Case::new(tool_path("ctx-check"))
        .within(done.dir())
        .args(["s.jsonl"])
        .stdout("s.jsonl: ok\n")
        .run();
    let undo = Case::new(tool_path("ctx-rollback")).within(done.dir());
    undo.args(["-q", "--undo", "s.jsonl"]).run();
    assert!(fs::read(done.dir().join("s.jsonl")).expect("there") == session.as_bytes());
}

/// A Gemini CLI session with an image in a result of a tool.
fn gemini() -> [String; 2] {
    let header = r#"{"sessionId":"5d90627b-f02f-5c32-8012-393edc59a9a9","projectHash":"a","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}"#;
    let line = |id: u32, kind: &str, rest: &str| {
        format!(r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}",{rest}}}"#)
    };
    let [before, after] = [
        format!(
            r#"{{"output":"a.png"}},"parts":[{{"inlineData":{{"mimeType":"image/png","data":"{}"}}}}]"#,
            base64()
        ),
        format!(r#"{{"output":"a.png\n{HANDLE}"}},"parts":[]"#),
    ]
    .map(|response| {
        let calls = format!(
            r#""content":"","toolCalls":[{{"id":"c","name":"read_file","args":{{}},"status":"success","timestamp":"2026-01-01T00:00:00.000Z","result":[{{"functionResponse":{{"id":"c","name":"read_file","response":{response}}}}}]}}]"#
        );
        let lines = [
            header.to_owned(),
            line(1, "user", r#""content":[{"text":"See a.png"}]"#),
            line(2, "gemini", &calls),
            line(3, "gemini", r#""content":"It is blue.""#),
            String::new(),
        ];
        lines.join("\n")
    });
    [before, after]
}

/// A Copilot CLI session with an image that the user attached.
fn copilot() -> [String; 2] {
    let line = |id: u32, kind: &str, data: &str| {
        let uuid = |id: u32| format!("\"5d11e854-93de-4e8a-b40d-f2e1cf90538{id}\"");
        let parent = id.checked_sub(1).map_or("null".to_owned(), uuid);
        format!(
            r#"{{"type":"{kind}","data":{data},"id":{},"timestamp":"2026-01-01T00:00:00.000Z","parentId":{parent}}}"#,
            uuid(id)
        ) + "\n"
    };
    let [before, after] = [
        format!(
            r#"{{"type":"blob","data":"{}","mimeType":"image/png","displayName":"a.png"}}"#,
            base64()
        ),
        format!(r#"{{"type":"file","path":"a.png","displayName":"a.png","taggedFilesEntry":"{HANDLE}"}}"#),
    ]
    .map(|attachment| {
        line(0, "session.start", r#"{"sessionId":"e2057401-764e-524c-aec6-d17ba7120209","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-01-01T00:00:00.000Z","context":{"cwd":"/work"}}"#)
            + &line(1, "user.message", &format!(r#"{{"content":"See:","attachments":[{attachment}]}}"#))
            + &line(2, "assistant.message", r#"{"messageId":"m","content":"It is blue.","toolRequests":[]}"#)
    });
    [before, after]
}

/// An opencode session with an image from the user and one that a tool has read.
fn opencode() -> [String; 2] {
    let ids = |part: u32, message: u32| {
        format!(r#""id":"prt_{part}","sessionID":"ses_1","messageID":"msg_{message}""#)
    };
    let image = |ids: &str, base64: &str| {
        format!(
            r#"{{{ids},"type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,{base64}"}}"#
        )
    };
    let begin = |id: u32, role: &str| {
        format!(
            r#"{{"info":{{"id":"msg_{id}","sessionID":"ses_1","role":"{role}","agent":"build","time":{{"created":{id}}}"#
        )
    };
    let of_user = r#","model":{"providerID":"p","modelID":"m"}}"#;
    let of_reply = r#","parentID":"msg_1","mode":"build","modelID":"m","providerID":"p","path":{"cwd":"/w","root":"/"},"cost":0,"finish":"stop","tokens":{"input":9,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}"#;
    let document = |said: &str, output: &str, attachments: &str| {
        format!(
            "{{\"info\":{{\"id\":\"ses_1\",\"title\":\"t\"}},\"messages\":[\n{}{of_user},\"parts\":[{said}]}},\n{}{of_reply},\"parts\":[{{{},\"type\":\"tool\",\"tool\":\"read\",\"callID\":\"c\",\"state\":{{\"status\":\"completed\",\"input\":{{}},\"output\":\"{output}\",\"title\":\"\",\"metadata\":{{}},\"time\":{{\"start\":1,\"end\":2}},\"attachments\":[{attachments}]}}}}]}}\n]}}\n",
            begin(1, "user"),
            begin(2, "assistant"),
            ids(2, 2)
        )
    };
    let text = format!(r#"{{"type":"text",{},"text":"{HANDLE}"}}"#, ids(1, 1));
    [
        document(&image(&ids(1, 1), &base64()), "Image read", &image(&ids(3, 2), &base64())),
        document(&text, &format!("Image read\\n{HANDLE}"), ""),
    ]
}

/// Some formats have lists in which a text cannot take the place of an image.
#[test]
fn handles_stand_where_the_agent_reads_texts() {
    for [before, after] in [gemini(), copilot(), opencode()] {
        let done = Case::new(tool_path("ctx-prune"))
            .file("s", &before)
            .args(["-q", "-i", "--min-idle", "0s", "--drop", "images", "--protect-last", "0", "s"])
            .run();
        assert_eq!(String::from_utf8(done.read("s")).expect("text"), after);
        let again = |name: &str| Case::new(tool_path(name)).within(done.dir());
        again("ctx-check").args(["s"]).stdout("s: ok\n").run();
        again("ctx-rollback").args(["-q", "--undo", "s"]).run();
        assert_eq!(String::from_utf8(done.read("s")).expect("text"), before);
    }
}
