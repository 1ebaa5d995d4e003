//! `ctx-prune` on agents' own files.

use ctx_testkit::Case;

use super::prune;
use crate::tool_path;

const START: &str = r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"What is in a.txt?"},"uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z"}"#;
const LEFT: &str = r#"{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m0","role":"assistant","content":[{"type":"text","text":"I do not know."}]},"uuid":"a0","timestamp":"2026-01-01T00:00:01.000Z"}"#;
const THOUGHT: &str = r#"{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"}]},"uuid":"a1","timestamp":"2026-01-01T00:00:02.000Z"}"#;
const CALL: &str = r#"{"parentUuid":"a1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.txt"}}]},"uuid":"a2","timestamp":"2026-01-01T00:00:03.000Z"}"#;
const PROGRESS: &str = r#"{"parentUuid":"a2","isSidechain":false,"sessionId":"s1","type":"progress","data":{"type":"hook_progress"},"uuid":"p1","timestamp":"2026-01-01T00:00:04.000Z"}"#;
const RESULT: &str = r#"{"parentUuid":"p1","isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"TEXT"}]},"toolUseResult":{"file":{"content":"TEXT"}},"uuid":"u2","timestamp":"2026-01-01T00:00:05.000Z"}"#;
const SAID: &str = r#"{"parentUuid":"u2","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"It says that."}]},"uuid":"a3","timestamp":"2026-01-01T00:00:06.000Z"}"#;
const NEXT: &str = r#"{"parentUuid":"a3","isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"And now?"},"uuid":"u3","timestamp":"2026-01-01T00:00:07.000Z"}"#;

fn lines(lines: &[&str]) -> String {
    lines.join("\n") + "\n"
}

/// Returns a session of Claude Code with an abandoned branch, reasoning, and a result with a second
/// copy.
fn session() -> String {
    let result = RESULT.replace("TEXT", &"some words ".repeat(20));
    lines(&[START, LEFT, THOUGHT, CALL, PROGRESS, &result, SAID, NEXT])
}

/// Version 2.1.332 keeps every request, and the prompt on the path of the conversation.
#[test]
fn requests_are_not_sent_and_can_be_dropped() {
    let snapshot = r#"{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"attachment","attachment":{"type":"prompt_snapshot","systemPrompt":["You are an agent."]},"uuid":"t1","timestamp":"2026-01-01T00:00:01.000Z"}"#;
    let date = r#"{"parentUuid":"t1","isSidechain":false,"sessionId":"s1","type":"attachment","attachment":{"type":"date","date":"2026-01-01"},"rendered":[{"content":"It is 2026."}],"uuid":"d1","timestamp":"2026-01-01T00:00:01.000Z"}"#;
    let request = r#"{"type":"api-request","sessionId":"s1","id":"r","params":{}}"#;
    let shape = r#"{"type":"api-request-shape","sessionId":"s1","shapeHash":"h"}"#;
    let left = LEFT.replace("u1", "d1");
    let session = lines(&[START, snapshot, date, shape, request, &left]);
    Case::new(tool_path("ctx-convert"))
        .args(["-q", "--to", "chat"])
        .stdin(&*session)
        .stdout("{\"role\":\"user\",\"content\":\"What is in a.txt?\"}\n{\"role\":\"user\",\"content\":\"It is 2026.\"}\n{\"role\":\"assistant\",\"content\":\"I do not know.\"}\n")
        .run();
    prune()
        .args(["-v", "--drop", "api-requests"])
        .stdin(session)
        .stdout(lines(&[START, &date.replace("t1", "u1"), &left]))
        .stderr("ctx-prune: <stdin>: api-requests: 3 lines, 328 bytes\n")
        .run();
}

#[test]
fn a_cleared_result_takes_its_second_copy_along() {
    let cleared = r"[Old tool result content cleared]\n⟦ctx: Read a.txt, all 220 bytes, if saved: ctx-offload --show d5bbfc80⟧";
    let result = RESULT
        .replace(r#""toolUseResult":{"file":{"content":"TEXT"}},"#, "")
        .replace("TEXT", cleared);
    prune()
        .args(["-v", "--clear", "--protect-last", "1"])
        .stdin(session())
        .stdout(lines(&[START, LEFT, THOUGHT, CALL, PROGRESS, &result, SAID, NEXT]))
        .stderr(
            "ctx-prune: <stdin>: clear: 1 change, from 41 to 37 tokens\n\
             ctx-prune: <stdin>: all rules: 1 change, from 41 to 37 tokens\n",
        )
        .run();
}

#[test]
fn lines_leave_and_what_hung_on_them_moves_up() {
    let call = CALL.replace(r#""parentUuid":"a1""#, r#""parentUuid":"u1""#);
    let result = RESULT
        .replace("TEXT", &"some words ".repeat(20))
        .replace(r#""parentUuid":"p1""#, r#""parentUuid":"a2""#);
    prune()
        .args(["-v", "--drop", "reasoning,progress,dead-branches"])
        .args(["--protect-last", "1"])
        .stdin(session())
        .stdout(lines(&[START, &call, &result, SAID, NEXT]))
        .stderr(
            "ctx-prune: <stdin>: reasoning: 1 change, from 1 to 0 tokens\n\
             ctx-prune: <stdin>: all rules: 1 change, from 1 to 0 tokens\n\
             ctx-prune: <stdin>: reasoning: 1 line, 232 bytes\n\
             ctx-prune: <stdin>: dead-branches: 1 line, 220 bytes\n\
             ctx-prune: <stdin>: progress: 1 line, 158 bytes\n",
        )
        .run();
}

#[test]
fn a_dry_run_says_what_would_go_beside_what_the_model_is_sent() {
    prune()
        .args(["-n", "--drop", "progress,copies", "--protect-last", "1"])
        .stdin(session())
        .stdout(
            "rule        changes     tokens      after      freed\n\
             total             0          0          0          0\n\
             also removed         count      bytes\n\
             progress                 1        158\n\
             copies                   1        260\n",
        )
        .run();
}

#[test]
fn in_place_it_waits_for_the_agent_and_undo_brings_each_byte_back() {
    let home = prune()
        .args(["-i", "--store", "store", "--drop", "progress", "s.jsonl"])
        .file("s.jsonl", session())
        .code(4)
        .stderr_has("stop the agent and try again with --min-idle 0s")
        .run();
    assert!(home.read("s.jsonl") == session().as_bytes());
    let pruned = session()
        .replace(&lines(&[PROGRESS]), "")
        .replace(r#""parentUuid":"p1""#, r#""parentUuid":"a2""#);
    prune()
        .within(home.dir())
        .args(["-i", "--store", "store", "--min-idle", "0s"])
        .args(["--drop", "progress", "s.jsonl"])
        .stdout("s.jsonl: 0 changes, 0 tokens freed; also removed: 158 bytes never sent\n")
        .run();
    assert!(home.read("s.jsonl") == pruned.as_bytes());
    Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
        .within(home.dir())
        .args(["-q", "--undo", "--store", "store", "s.jsonl"])
        .run();
    assert!(home.read("s.jsonl") == session().as_bytes());
}

/// Returns the reply with the usage of its request.
fn with_usage(reply: &str, read: u64) -> String {
    let usage = format!(
        r#""usage" : {{"input_tokens":3,"cache_read_input_tokens":{read},"cache_creation_input_tokens":100,"output_tokens":9}},"role""#
    );
    reply.replacen(r#""role""#, &usage, 1)
}

/// Pruning also reduces the recorded usage, because Claude Code reads this number and would
/// otherwise ask or compact at once. For each of the 763 freed tokens 1.2 API tokens are
/// subtracted.
#[test]
fn the_last_reply_says_what_its_request_comes_to_now() {
    let text = "some words ".repeat(400);
    let result = RESULT.replace("TEXT", &text);
    let call = with_usage(CALL, 19_897);
    let session =
        lines(&[START, THOUGHT, &call, PROGRESS, &result, &with_usage(SAID, 20_897), NEXT]);
    let cleared = r"[Old tool result content cleared]\n⟦ctx: Read a.txt, all 4400 bytes, if saved: ctx-offload --show fee4bfc5⟧";
    let result = RESULT
        .replace(r#""toolUseResult":{"file":{"content":"TEXT"}},"#, "")
        .replace("TEXT", cleared);
    let pruned =
        lines(&[START, THOUGHT, &call, PROGRESS, &result, &with_usage(SAID, 19_981), NEXT]);
    let args = ["--clear", "--protect-last", "1", "s.jsonl"];
    let home = prune()
        .args(["-i", "--store", "store", "--min-idle", "0s"])
        .args(args)
        .file("s.jsonl", &*session)
        .stdout("s.jsonl: 1 change, 763 tokens freed\n")
        .run();
    assert_eq!(String::from_utf8_lossy(&home.read("s.jsonl")), pruned);
    // Nothing is left to prune, and the numbers do not change.
    prune().within(home.dir()).args(args).stdout(&*pruned).run();
    // The reduced usage is an estimate. ctx-count does not take it for a number of the API and
    // predicts nothing from it.
    Case::new(env!("CARGO_BIN_EXE_ctx-count"))
        .within(home.dir())
        .args(["--calibrate", "s.jsonl"])
        .stdout(
            "s.jsonl: 20142 tokens, 19897 to 20387 (calibrated)\n  counted  83\n  replies  2\n  \
             factor   1.200\n  base     20006\n",
        )
        .run();
    Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
        .within(home.dir())
        .args(["-q", "--undo", "--store", "store", "s.jsonl"])
        .run();
    assert!(home.read("s.jsonl") == session.as_bytes());
    // The usage is not changed if too little is freed. A dry run says so, too.
    prune()
        .within(home.dir())
        .args(["--min-gain", "1000", "-v"])
        .args(args)
        .stdout(&*session)
        .stderr_has("nothing was changed")
        .run();
    prune()
        .within(home.dir())
        .args(["-n", "-v"])
        .args(args)
        .stdout_has("total")
        .stderr(
            "ctx-prune: s.jsonl: clear: 1 change, from 801 to 35 tokens\n\
             ctx-prune: s.jsonl: all rules: 1 change, from 801 to 35 tokens\n\
             ctx-prune: s.jsonl: recorded usage of the last reply: 21009 tokens, now 20090\n",
        )
        .run();
}

/// A session in one JSON document is refused if its messages would be written as lines that its
/// agent, or the owner of the file, does not expect.
#[test]
fn a_session_in_one_document_is_refused() {
    let chat = r#"{"sessionId":"s","projectHash":"p","messages":[{"id":"1","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":"hi"}]}"#;
    let stderr = |tool: &str, done: &str| {
        format!(
            "{tool}: s.json: a session of gemini in one JSON document cannot be {done}: lines \
             would replace the document; ctx-convert --to gemini -o FILE writes a file of lines\n"
        )
    };
    let array = "[{\"role\":\"user\",\"content\":\"hi\"}]\n";
    let done = prune()
        .file("s.json", array)
        .args(["-i", "--clear", "--store", "store", "s.json"])
        .code(2)
        .stderr(&stderr("ctx-prune", "pruned").replace("gemini", "chat"))
        .run();
    assert_eq!(done.read("s.json"), array.as_bytes());
    prune()
        .file("s.json", chat)
        .args(["--clear", "s.json"])
        .code(2)
        .stderr(&stderr("ctx-prune", "pruned"))
        .run();
    Case::new(env!("CARGO_BIN_EXE_ctx-offload"))
        .file("s.json", chat)
        .args(["--store", "store", "s.json"])
        .code(2)
        .stderr(&stderr("ctx-offload", "changed"))
        .run();
}

/// In version 1, entries are referred to by number.
#[test]
fn lines_of_a_format_that_cannot_lose_them_stay_and_the_tool_says_why() {
    let session = lines(&[
        r#"{"type":"session","id":"s","timestamp":"t","cwd":"/"}"#,
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"old"}}"#,
        r#"{"type":"compaction","timestamp":"t","summary":"sum","firstKeptEntryIndex":9,"tokensBefore":1}"#,
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"new"}}"#,
    ]);
    prune()
        .args(["--drop", "before-compaction"])
        .stdin(session.clone())
        .stdout(session)
        .stderr(
            "ctx-prune: warning: <stdin>: kept 1 line that a rule would have removed: version 1 of pi's format identifies lines by number\n",
        )
        .run();
}

/// Results are offloaded in place and restored. The second copy for the screen stays, so each byte
/// is still there.
#[test]
fn results_of_a_log_are_offloaded_in_place_and_put_back() {
    let offload = || Case::new(env!("CARGO_BIN_EXE_ctx-offload"));
    let session = session().replace("some words ", &"some words ".repeat(9));
    let home = offload()
        .file("s.jsonl", &session)
        .args(["-i", "--store", "store", "-s", "x", "--min-idle", "0s"])
        .args(["--min-tokens", "10", "--reference", "at {path}", "s.jsonl"])
        .stdout_has("s.jsonl: 1 result offloaded, ")
        .run();
    let changed = String::from_utf8(home.read("s.jsonl")).expect("text");
    assert_eq!(changed.matches("some words").count(), 180);
    offload()
        .within(home.dir())
        .args(["-i", "--restore", "--store", "store", "-s", "x"])
        .args(["--reference", "at {path}", "s.jsonl"])
        .run();
    assert!(home.read("s.jsonl") == session.as_bytes());
}
