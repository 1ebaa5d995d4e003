//! Sessions of pi 1.5.2: the prompt in `system` messages, and edits of what is sent.
//! `tests/clients/run --agent pi` shows what pi itself sends for such sessions.

use ctx_testkit::{Case, Finished};

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

/// Returns the lines that a tool appended to the session.
fn appended(done: &Finished) -> String {
    let after = String::from_utf8(done.read("s.jsonl")).expect("text");
    after.strip_prefix(&*edited()).expect("no line changed").to_owned()
}

/// Runs another tool on the same files.
fn then(done: &Finished, name: &str) -> Case {
    Case::new(tool_path(name)).within(done.dir())
}

const PRUNE: [&str; 9] =
    ["--min-idle", "0s", "-i", "--trim", "--protect-last", "1", "--max-chars", "100", "s.jsonl"];

#[test]
fn an_edited_result_stays_and_another_one_is_shortened_by_a_new_line() {
    let done = tool("ctx-prune").args(PRUNE).stdout("s.jsonl: 1 change, 314 tokens freed\n").run();
    let line = appended(&done);
    let begin = r#"{"type":"context_edit","id":""#;
    assert!(line.starts_with(begin) && line.lines().count() == 1, "{line}");
    assert!(line.contains(r#""parentId":"m","timestamp":"2026-01-01T00:00:00.001Z","targetId":"j","replacement":{"content":[{"type":"text","text":"port = 7001\n"#), "{line}");
    assert!(line.contains("all 1692 bytes: ctx-offload --show"), "{line}");
    then(&done, "ctx-check").args(["s.jsonl"]).stdout("s.jsonl: ok\n").run();
    let again = then(&done, "ctx-prune").args(PRUNE);
    let again = again.stdout("s.jsonl: 0 changes, 0 tokens freed\n").run();
    assert_eq!(appended(&again), line);
    let undone = then(&done, "ctx-rollback").args(["-q", "--undo", "s.jsonl"]).run();
    assert_eq!(appended(&undone), "");
}

#[test]
fn a_session_whose_lines_are_removed_anyway_is_rewritten() {
    let done = tool("ctx-prune").args(["-q", "--drop", "copies,file-history"]).args(PRUNE).run();
    let (before, after) = (edited(), done.read("s.jsonl"));
    let after = String::from_utf8(after).expect("text");
    let lines = before.lines().zip(after.lines());
    let changed: Vec<&str> =
        lines.filter(|(one, other)| one != other).map(|(one, _)| one).collect();
    assert_eq!(changed, [result("j", "i", "c2", &page())]);
    assert_eq!(before.lines().count(), after.lines().count());
}

/// Versions of pi that declare no prompt read no edits.
#[test]
fn a_session_of_an_older_pi_is_rewritten() {
    let older = session(&[
        user("a", "", "Which port?"),
        call("b", "a", "c1"),
        result("c", "b", "c1", &page()),
        reply("d", "c", "7001."),
    ]);
    let done =
        Case::new(tool_path("ctx-prune")).file("s.jsonl", &older).args(["-q"]).args(PRUNE).run();
    let after = String::from_utf8(done.read("s.jsonl")).expect("text");
    assert_eq!(after.lines().count(), older.lines().count());
    assert!(after.len() < older.len());
}

#[test]
fn an_offloaded_result_is_restored_by_removing_its_edit() {
    let offload = ["--min-idle", "0s", "-q", "-i", "--protect-last", "1", "s.jsonl"];
    let done = tool("ctx-offload").args(["--min-tokens", "100"]).args(offload).run();
    let line = appended(&done);
    assert!(
        line.contains(
            r#""targetId":"j","replacement":{"content":[{"type":"text","text":"Tool result (read, "#
        ),
        "{line}"
    );
    let id = &line[line.find(r#""id":""#).expect("an id") + 6..][..8];
    let next = user("n", id, "And now?") + "\n";
    let more = then(&done, "ctx-offload").file("s.jsonl", edited() + &line + &next);
    let restored = more.args(["--restore", "--min-idle", "0s", "-q", "-i", "s.jsonl"]).run();
    assert_eq!(appended(&restored), user("n", "m", "And now?") + "\n");
}

/// The recorded usage of a reply is that of a request with the old content.
#[test]
fn what_an_edit_removes_is_taken_off_the_recorded_usage() {
    let usage = r#""off","usage":{"input":9000,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":9010}"#;
    let last = reply("m", "l", "Done.");
    let session = edited().replace(&last, &last.replace("\"off\"", usage));
    let count = |tool: Case| {
        let done = tool.args(["--calibrate", "s.jsonl"]).stdout_any().run();
        String::from_utf8(done.stdout).expect("text")
    };
    let before = count(Case::new(tool_path("ctx-count")).file("s.jsonl", &session));
    let done =
        Case::new(tool_path("ctx-prune")).file("s.jsonl", &session).args(["-q"]).args(PRUNE).run();
    let after = count(then(&done, "ctx-count"));
    let shown = |sizes, counted| {
        format!(
            "s.jsonl: {sizes} (calibrated)\n  counted  {counted}\n  replies  1\n  factor   1.200\n  base     8470\n"
        )
    };
    assert_eq!(before, shown("9047 tokens, 8805 to 9289", "451"));
    assert_eq!(after, shown("8670 tokens, 8430 to 8911", "137"));
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
