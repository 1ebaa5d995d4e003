//! Sessions of pi 1.5.2: the prompt in `system` messages, and edits of what is sent.
//! `tests/clients/run --agent pi` shows what pi itself sends for such sessions.

use ctx_testkit::Case;

use crate::tool_path;

/// Returns the text of a page that is read, long enough to be worth a summary.
fn page() -> String {
    format!("port = 7001\n{}", "a setting that nobody reads\n".repeat(60))
}

fn entry(id: &str, parent: &str, rest: &str) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        _ => format!("\"{parent}\""),
    };
    format!(
        r#"{{"type":"{rest},"id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z"}}"#
    )
}

fn message(id: &str, parent: &str, said: &str) -> String {
    entry(id, parent, &format!(r#"message","message":{{{said}}}"#))
}

fn call(id: &str, parent: &str, call: &str) -> String {
    let content =
        format!(r#"[{{"type":"toolCall","id":"{call}","name":"read","arguments":{{}}}}]"#);
    let said = format!(r#""role":"assistant","content":{content},"stopReason":"toolUse""#);
    message(id, parent, &said)
}

fn result(id: &str, parent: &str, call: &str, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a text");
    message(
        id,
        parent,
        &format!(
            r#""role":"toolResult","toolCallId":"{call}","toolName":"read","content":[{{"type":"text","text":{text}}}],"isError":false,"durationMs":3"#
        ),
    )
}

fn reply(id: &str, parent: &str, text: &str) -> String {
    let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    let said = format!(
        r#""role":"assistant","content":{content},"stopReason":"stop","thinkingLevel":"off""#
    );
    message(id, parent, &said)
}

fn user(id: &str, parent: &str, text: &str) -> String {
    message(id, parent, &format!(r#""role":"user","content":"{text}""#))
}

fn session(entries: &[String]) -> String {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}"#;
    format!("{header}\n{}\n", entries.join("\n"))
}

fn edited() -> String {
    let prompt =
        r#""role":"system","content":"","sections":{"cwd":"/work"},"toolsAdded":[{"name":"read"}]"#;
    let shorter = r#"context_edit","targetId":"c","replacement":{"content":[{"type":"text","text":"port = 8443"}]}"#;
    session(&[
        message("p", "", prompt),
        user("a", "p", "Which port does the server use?"),
        call("b", "a", "c1"),
        result("c", "b", "c1", &page()),
        reply("d", "c", "It uses port 8443."),
        entry("e", "d", shorter),
        entry("u", "e", r#"usage","kind":"cache_warm","usage":{"input":9}"#),
        user("f", "u", "An aside that was taken back."),
        entry("g", "f", r#"context_edit","targetId":"f","replacement":null"#),
        user("h", "g", "And the client?"),
        call("i", "h", "c2"),
        result("j", "i", "c2", &page()),
        reply("k", "j", "It uses port 7001."),
        user("l", "k", "Thanks."),
        reply("m", "l", "Done."),
    ])
}

fn tool(name: &str) -> Case {
    Case::new(tool_path(name)).file("s.jsonl", edited())
}

#[test]
fn what_is_shown_of_a_session_is_what_pi_sends() {
    tool("ctx-check").args(["s.jsonl"]).stdout("s.jsonl: ok\n").run();
    let page = serde_json::to_string(&page()).expect("a text");
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"read","arguments":"{{}}"}}}}]}}"#
        )
    };
    let (first, second) = (call("c1"), call("c2"));
    tool("ctx-convert")
        .args(["--to", "chat", "s.jsonl"])
        .stdout(format!(
            r#"{{"role":"user","content":"Which port does the server use?"}}
{first}
{{"role":"tool","tool_call_id":"c1","content":"port = 8443"}}
{{"role":"assistant","content":"It uses port 8443."}}
{{"role":"user","content":"And the client?"}}
{second}
{{"role":"tool","tool_call_id":"c2","content":{page}}}
{{"role":"assistant","content":"It uses port 7001."}}
{{"role":"user","content":"Thanks."}}
{{"role":"assistant","content":"Done."}}
"#
        ))
        .run();
    tool("ctx-count").args(["s.jsonl"]).stdout("10 451 6227 s.jsonl\n").run();
}

#[test]
fn a_compaction_carries_the_prompt_and_the_edits_go_on() {
    let done = tool("ctx-compact")
        .args(["--min-idle", "0s", "--force", "--keep-turns", "1", "s.jsonl"])
        .stdout("s.jsonl: compacted: 451 → 62 tokens, 389 freed (86 %)\n")
        .run();
    let after = String::from_utf8(done.read("s.jsonl")).expect("text");
    let line = after.strip_prefix(&*edited()).expect("only appended");
    assert!(line.contains(r#""firstKeptEntryId":"l""#), "{line}");
    let prompt = r#""systemMessage":{"role":"system","content":"","sections":{"cwd":"/work"},"toolsAdded":[{"name":"read"}],"timestamp":"#;
    assert!(line.contains(prompt), "{line}");
    assert!(line.contains("8443") && !line.contains("aside"), "{line}");
}

#[test]
fn an_edited_result_stays_and_another_one_is_shortened() {
    let done = tool("ctx-prune")
        .args([
            "--min-idle",
            "0s",
            "-q",
            "-i",
            "--trim",
            "--protect-last",
            "1",
            "--max-chars",
            "100",
        ])
        .args(["--drop", "rewritten,dead-branches", "s.jsonl"])
        .run();
    let (before, after) = (edited(), done.read("s.jsonl"));
    let after = String::from_utf8(after).expect("text");
    let lines = before.lines().zip(after.lines());
    let changed: Vec<&str> =
        lines.filter(|(one, other)| one != other).map(|(one, _)| one).collect();
    assert_eq!(changed, [result("j", "i", "c2", &page())]);
    assert_eq!(before.lines().count(), after.lines().count());
}

/// An edit of unknown shape could change any message, so the session is refused and the edit named.
#[test]
fn an_edit_that_is_not_understood_is_named_and_nothing_is_done() {
    let strange = edited().replace(r#""replacement":null"#, r#""replacement":{"text":"x"}"#);
    let why = "content that is neither text nor a list cannot be read";
    Case::new(tool_path("ctx-check"))
        .file("s.jsonl", &strange)
        .args(["s.jsonl"])
        .code(1)
        .stdout(format!("s.jsonl:10: unread-part: {why}\n"))
        .run();
    let done = Case::new(tool_path("ctx-compact"))
        .file("s.jsonl", &strange)
        .args(["--min-idle", "0s", "--force", "s.jsonl"])
        .code(2)
        .stderr(&format!(
            "ctx-compact: s.jsonl:10: {why}, so nothing can be compacted; this may belong to a message that would be removed; ctx-check --all lists such parts, and --repair or ctx-convert may mend them\n"
        ))
        .run();
    assert!(done.read("s.jsonl") == strange.as_bytes());
}

/// pi sends the compaction at the end of the file first, so it does not follow the call.
#[test]
fn a_call_that_waits_waits_behind_a_compaction_too() {
    let long = "We keep the port of the server as it is. ".repeat(60);
    let waits = session(&[
        user("a", "", &long),
        reply("b", "a", &long),
        user("c", "b", "And the client?"),
        call("d", "c", "c1"),
    ]);
    let ok = "s.jsonl: ok, 1 call at the end waits for its result\n";
    let check = |session: &[u8]| {
        Case::new(tool_path("ctx-check"))
            .file("s.jsonl", session)
            .args(["s.jsonl"])
            .stdout(ok)
            .run();
    };
    check(waits.as_bytes());
    let done = Case::new(tool_path("ctx-compact"))
        .file("s.jsonl", &waits)
        .args(["--min-idle", "0s", "--force", "--keep-messages", "2", "s.jsonl"])
        .stdout("s.jsonl: compacted: 1347 → 286 tokens, 1061 freed (79 %)\n")
        .run();
    let after = done.read("s.jsonl");
    assert!(after.len() > waits.len());
    check(&after);
}
