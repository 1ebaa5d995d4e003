//! Logs that agents write of their sessions: what the tools know about them, change in them, and
//! leave alone.

use ctx_testkit::Case;

use crate::tool_path;

/// A session of Claude Code with an abandoned branch, a reply of two lines, its result with a
/// second copy, and lines that no model sees.
const CLAUDE_CODE: &str = concat!(
    r#"{"type":"file-history-snapshot","messageId":"u1","snapshot":{}}"#,
    "\n",
    r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"What is in a.txt?"},"uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z"}"#,
    "\n",
    r#"{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m0","role":"assistant","content":[{"type":"text","text":"I do not know."}]},"uuid":"a0","timestamp":"2026-01-01T00:00:01.000Z"}"#,
    "\n",
    r#"{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"I look."}]},"uuid":"a1","timestamp":"2026-01-01T00:00:02.000Z"}"#,
    "\n",
    r#"{"parentUuid":"a1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.txt"}}]},"uuid":"a2","timestamp":"2026-01-01T00:00:03.000Z"}"#,
    "\n",
    r#"{"parentUuid":"a2","isSidechain":false,"sessionId":"s1","type":"progress","data":{"type":"hook_progress"},"uuid":"p1","timestamp":"2026-01-01T00:00:04.000Z"}"#,
    "\n",
    r#"{"parentUuid":"p1","isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"hello"}]},"toolUseResult":{"file":{"content":"hello"}},"uuid":"u2","timestamp":"2026-01-01T00:00:05.000Z"}"#,
    "\n",
    r#"{"parentUuid":"u2","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"It says hello."}]},"uuid":"a3","timestamp":"2026-01-01T00:00:06.000Z"}"#,
);

fn case(tool: &str) -> Case {
    Case::new(tool_path(tool)).file("s.jsonl", CLAUDE_CODE)
}

#[test]
fn what_the_model_is_sent_is_counted_and_each_byte_is_somewhere() {
    case("ctx-count").args(["s.jsonl"]).stdout("4 41 1571 s.jsonl\n").run();
    case("ctx-count")
        .args(["--by", "reach", "s.jsonl"])
        .stdout(
            " 5  696  44.3% metadata\n \
             5  405  25.8% sent\n \
             1  220  14.0% dead branch\n \
             1  158  10.1% never sent: progress\n \
             1   64   4.1% never sent: file-history-snapshot\n \
             1   28   1.8% second copies\n\
             14 1571 100.0% total\n",
        )
        .run();
}

#[test]
fn it_is_legal_and_its_zones_leave_no_trace() {
    let warning = "ctx-check: warning: s.jsonl:8: no-line-end: a last line without a line ending: Claude Code appends its next line to this one, and then reads only this one\n";
    case("ctx-check").args(["s.jsonl"]).stdout("s.jsonl: ok\n").stderr(warning).run();
    case("ctx-split").args(["--strip", "s.jsonl"]).stdout(CLAUDE_CODE).run();
}

/// The lines of a log refer to each other, so removing a line breaks those that refer to it.
#[test]
fn nothing_is_taken_out_of_it() {
    let calls: [(&str, &[&str], &str); 3] = [
        (
            "ctx-prune",
            &["--window-messages", "2", "s.jsonl"],
            ": a session of claude-code cannot be cut to a window, because its lines depend on each other",
        ),
        (
            "ctx-summarize",
            &["--budget", "100", "s.jsonl"],
            ": a session of claude-code cannot be summarized, because its lines depend on each other",
        ),
        (
            "ctx-summarize",
            &["s.jsonl"],
            ": a session of claude-code cannot be summarized, because its lines depend on each other",
        ),
    ];
    for (tool, args, what) in calls {
        let hint = "ctx-compact can compact this file; ctx-convert turns it into messages, which this tool can read";
        let home = case(tool)
            .args(args.iter().copied())
            .code(2)
            .stderr(&format!("{tool}: s.jsonl{what}; {hint}\n"))
            .run();
        assert!(home.read("s.jsonl") == CLAUDE_CODE.as_bytes(), "{tool}");
    }
}

/// A reasoning item and the next item are refused without each other.
#[test]
fn nothing_is_taken_out_of_items_either() {
    let items = concat!(
        r#"{"type":"message","role":"user","content":"go"}"#,
        "\n",
        r#"{"type":"reasoning","id":"rs_1","summary":[]}"#,
        "\n",
        r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#,
        "\n",
        r#"{"type":"function_call_output","call_id":"c","output":"x"}"#,
        "\n",
    );
    let case = |tool| Case::new(tool_path(tool)).file("i.jsonl", items);
    case("ctx-check").args(["i.jsonl"]).stdout("i.jsonl: ok\n").run();
    case("ctx-prune")
        .args(["--drop", "reasoning", "i.jsonl"])
        .code(2)
        .stderr_has("a session of responses cannot be pruned by whole messages, because its lines depend on each other")
        .run();
    // A change within an item separates nothing.
    case("ctx-prune").args(["--clear", "i.jsonl"]).stdout(items).run();
    // This is also true in a conversation of a batch.
    let list = items.trim_end().replace('\n', ",");
    let zones = r#"["old","old","old","keep"]"#;
    let batch = format!("{{\"_ctx\":{{\"zones\":{zones},\"end\":1}},\"messages\":[{list}]}}\n");
    Case::new(tool_path("ctx-summarize"))
        .args(["--batch"])
        .stdin(batch)
        .code(2)
        .stderr_has(
            "a session of responses cannot be summarized, because its lines depend on each other",
        )
        .run();
}

/// Adds two turns, the second of which is long.
fn long_session() -> String {
    let line = |id: &str, parent: &str, kind: &str, text: &str| {
        format!(
            "\n{{\"parentUuid\":\"{parent}\",\"isSidechain\":false,\"sessionId\":\"s1\",\"version\":\"2.1.197\",\"type\":\"{kind}\",\"message\":{{\"id\":\"m-{id}\",\"role\":\"{kind}\",\"content\":\"{text}\"}},\"uuid\":\"{id}\",\"timestamp\":\"2026-01-01T00:01:00.000Z\"}}"
        )
    };
    let long = "Port 8443 is taken. ".repeat(60);
    let lines = [
        line("u3", "a3", "user", "Which port does it use?"),
        line("a4", "u3", "assistant", &long),
        line("u4", "a4", "user", "And now?"),
        line("a5", "u4", "assistant", "Now we are done."),
    ];
    CLAUDE_CODE.to_owned() + &lines.concat()
}

/// The old lines do not change. A boundary and a summary follow them, and a rollback removes these.
#[test]
fn it_is_compacted_in_its_agents_own_words() {
    let session = long_session();
    let compact = |args: &[&str]| {
        Case::new(tool_path("ctx-compact"))
            .file("s.jsonl", &session)
            .args(["--store", "store", "--keep-turns", "1"])
            .args(args.iter().copied())
            .args(["s.jsonl"])
    };
    // The plan of a run that would do nothing says so.
    for (args, shown) in [(&[][..], ""), (&["-n"], "s.jsonl: would be compacted: ")] {
        compact(args)
            .code(4)
            .stdout_has(shown)
            .stderr_has("s.jsonl changed just now; a running agent would not notice")
            .run();
    }
    let home = compact(&["--min-idle", "0s"])
        .stdout("s.jsonl: compacted: 492 → 71 tokens, 421 freed (86 %)\n")
        .run();
    let new = String::from_utf8(home.read("s.jsonl")).expect("text");
    let added: Vec<&str> = new[session.len()..].lines().collect();
    assert!(new.starts_with(&session));
    assert_eq!(added.len(), 3, "{added:?}");
    assert!(added[0].is_empty(), "the last line had no end");
    assert!(added[1].contains(r#""subtype":"compact_boundary""#));
    assert!(added[1].contains(r#""preservedMessages":{"anchorUuid":""#));
    assert!(added[1].contains(r#""uuids":["u4","a5"]"#));
    assert!(added[2].contains(r#""isCompactSummary":true"#));
}

/// A list of items is rewritten: reasoning is removed together with the next item, and everything
/// that stays keeps its bytes, including line ends.
#[test]
fn items_are_compacted_with_what_belongs_to_them() {
    let turn = |number: usize| {
        let long = "The parser keeps bytes. ".repeat(20);
        [
            format!(r#"{{"type":"message","role":"user","content":"Step {number}?"}}"#),
            format!(r#"{{"type":"reasoning","id":"rs_{number}","summary":[],"encrypted_content":"x"}}"#),
            format!(r#"{{"type":"function_call","call_id":"c{number}","name":"f","arguments":"{{}}"}}"#),
            format!(r#"{{"type":"function_call_output","call_id":"c{number}","output":"{long}"}}"#),
            format!(r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"Port {number} it is."}}]}}"#),
        ]
        .map(|line| line + "\r\n")
        .concat()
    };
    let items: String = (1..6).map(turn).collect();
    let home = Case::new(tool_path("ctx-compact"))
        .file("i.jsonl", &items)
        .args([
            "--store",
            "store",
            "--force",
            "--keep-turns",
            "1",
            "i.jsonl",
        ])
        .stdout("i.jsonl: compacted: 678 → 212 tokens, 466 freed (69 %)\n")
        .stderr("ctx-compact: warning: i.jsonl:3: kept 1 signed block of reasoning by an unrecorded model: GPT-6.2 and newer ignore it after a change to an earlier message\n")
        .run();
    let new = String::from_utf8(home.read("i.jsonl")).expect("text");
    let (summary, tail) = new.split_once('\n').expect("a summary");
    assert!(summary.starts_with(r#"{"role":"user","content":"[ctx_summary]\n\n"#));
    assert_eq!(tail, turn(5));
    Case::new(tool_path("ctx-rollback"))
        .within(home.dir())
        .args(["-q", "--store", "store", "--undo", "i.jsonl"])
        .run();
    assert_eq!(home.read("i.jsonl"), items.as_bytes());
}
