//! Damaged logs of agents: what is reported, and the repaired copy.

use ctx_testkit::Case;

use crate::tool_path;

fn check() -> Case {
    Case::new(tool_path("ctx-check"))
}

/// Returns a line of Claude Code with its id, its parent, and the user's text.
fn line(id: &str, parent: &str, minute: u32) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        _ => format!("\"{parent}\""),
    };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","type":"user","message":{{"role":"user","content":"say {id}"}},"uuid":"{id}","timestamp":"2026-01-01T00:{minute:02}:00.000Z"}}"#
    )
}

fn file(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

#[test]
fn lines_that_ran_together_are_named_and_told_apart() {
    let (a, b, c, d) = (line("a", "", 0), line("b", "a", 1), line("c", "b", 2), line("d", "c", 3));
    let sick = file(&[a.clone(), format!("{b}{c}"), d.clone()]);
    check()
        .file("s.jsonl", sick.clone())
        .args(["--all", "s.jsonl"])
        .code(1)
        .stdout(concat!(
            "s.jsonl:2: bad-line: more than one object on the line: Claude Code reads only the first object on the line, so a message is lost\n",
            "s.jsonl:3: missing-parent: the parents of this line lead to one that is not in the file: Claude Code stops here and does not send 2 lines above\n",
        ))
        .run();
    let done = check()
        .file("s.jsonl", sick)
        .args(["--repair", "--json", "-o", "repaired.jsonl", "s.jsonl"])
        .stderr("ctx-check: warning: s.jsonl:2: split into 2 lines\n")
        .stdout(concat!(
            r#"{"name":"s.jsonl","dialect":"claude-code","output":"repaired.jsonl","actions":[{"line":2,"action":"split","id":null,"message":"split into 2 lines"}],"left":[],"losses":[]}"#,
            "\n",
        ))
        .run();
    assert!(done.read("repaired.jsonl") == file(&[a, b, c, d]).as_bytes());
}

#[test]
fn a_crash_leaves_nul_bytes_a_torn_end_and_a_hole() {
    let [a, b, c] = [("a", "", 0), ("b", "a", 1), ("c", "b", 2)]
        .map(|(id, parent, minute)| line(id, parent, minute));
    let hung_on = |parent| line("e", parent, 4);
    let last = line("f", "e", 5);
    let astray = hung_on("lost");
    let torn = &last[..70];
    let sick = format!("{a}\n\0\0\0\0{b}\n{c}\n{astray}\n{last}\n{torn}");
    let done = check()
        .file("s.jsonl", sick)
        .args(["--repair", "-o", "repaired.jsonl", "s.jsonl"])
        .stderr(concat!(
            "ctx-check: warning: s.jsonl:2: NUL bytes removed\n",
            "ctx-check: warning: s.jsonl:4: attached to line 3: its parents lead to a missing line, or form a loop\n",
            "ctx-check: warning: s.jsonl:6: incomplete object at the end of the file removed\n",
        ))
        .run();
    let repaired = file(&[a, b, c, hung_on("c"), last]);
    assert!(done.read("repaired.jsonl") == repaired.as_bytes());
}

/// An agent that was running when its session was compacted continues from its own last line.
#[test]
fn a_compaction_that_the_agent_does_not_go_on_from_is_a_warning() {
    let boundary = r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"system","subtype":"compact_boundary","compactMetadata":{},"uuid":"k","timestamp":"2026-01-01T00:02:00.000Z"}"#;
    let lines = [
        line("a", "", 0),
        line("b", "a", 1),
        boundary.to_owned(),
        line("sum", "k", 2),
        line("c", "b", 3),
    ];
    let said = "boundary-off-path: this compaction is off the active path: Claude Code resumes from a line that is not below it, and sends the messages before the compaction";
    check()
        .file("s.jsonl", file(&lines))
        .args(["s.jsonl"])
        .stdout("s.jsonl: ok\n")
        .stderr(&format!("ctx-check: warning: s.jsonl:3: {said}\n"))
        .run();
    check()
        .stdin(file(&lines))
        .args(["--json"])
        .stderr(&format!("ctx-check: warning: <stdin>:3: {said}\n"))
        .stdout_has(&format!(
            r#""findings":[],"remarks":[{{"line":3,"rule":"boundary-off-path","id":null,"message":"{}"}}]"#,
            &said[said.find(": ").expect("a rule") + 2..]
        ))
        .run();
}

/// Harmless oddities are reported on request.
#[test]
fn a_parent_that_the_agent_finds_is_a_remark() {
    let near = line("c", "lost", 1).replace("00:01:00", "00:01:04");
    let lines = [line("a", "", 0), line("b", "a", 1), near];
    let case = || check().file("s.jsonl", file(&lines)).stdout("s.jsonl: ok\n");
    case().args(["s.jsonl"]).run();
    case()
        .args(["-v", "s.jsonl"])
        .stderr("ctx-check: s.jsonl:3: missing-parent: the parents of this line lead to one that is not in the file: Claude Code continues from line 2, at most five seconds earlier\n")
        .run();
}

#[test]
fn a_log_that_its_agent_would_refuse_is_repaired_or_not_written() {
    let entry = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:05.000Z","message":{{"role":"user","content":"hi"}}}}"#
        )
    };
    let headless = file(&[entry("a", "null"), entry("b", "\"a\"")]);
    check()
        .file("s.jsonl", headless.clone())
        .args(["s.jsonl"])
        .code(1)
        .stdout(
            "s.jsonl:1: no-header: the first line is not a header: pi loads nothing from the file\n",
        )
        .run();
    let header = r#"{"type":"session","version":3,"id":"20260102-0304-7050-8000-000000000000","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}"#;
    check()
        .args(["--repair", "-q"])
        .stdin(headless.clone())
        .stdout(format!("{header}\n{headless}"))
        .run();
    // The reply has a call whose result can only be in another line.
    let header = r#"{"sessionId":"s","projectHash":"p"}"#;
    let user = r#"{"id":"u","timestamp":"t","type":"user","content":[{"text":"go"}]}"#;
    let call = r#"{"id":"g","timestamp":"t","type":"gemini","content":[{"functionCall":{"id":"c","name":"ls","args":{}}}]}"#;
    let next = user.replace("\"u\"", "\"v\"");
    let lines = [header, user, call, &next].map(ToOwned::to_owned);
    let done = check()
        .file("s.jsonl", file(&lines))
        .file("out.jsonl", "before")
        .args(["--repair", "-o", "out.jsonl", "s.jsonl"])
        .code(2)
        .stderr("ctx-check: s.jsonl:3: cannot be repaired: tool call c has no result: the Gemini CLI sends the call without one, which the API refuses; nothing was written; ctx-convert may write what it can read\n")
        .run();
    assert_eq!(done.read("out.jsonl"), b"before");
}

/// If one problem cannot be repaired, nothing is written.
#[test]
fn what_would_be_left_is_told() {
    let lines = [
        r#"{"sessionId":"s","projectHash":"p"}"#,
        r#"{"id":"u","timestamp":"t","type":"user","content":[{"text":"go"}]}"#,
        r#"{"$rewindTo":"lost"}"#,
        r#"{"id":"v","timestamp":"t","type":"user","content":[{"text":"on"}]}"#,
    ];
    let whole = lines.map(|line| line.to_owned() + "\n").concat();
    check()
        .args(["--repair"])
        .stdin(whole.trim_end())
        .stderr("ctx-check: <stdin>:3: cannot be repaired: no message has the id that this rewind names: the Gemini CLI removes the 1 message before the rewind; nothing was written; ctx-convert may write what it can read\n")
        .code(2)
        .run();
}

/// Qwen Code appends its next line to half a line, and loses the session when it resumes again.
#[test]
fn half_a_line_of_qwen_code_is_a_problem() {
    let line = |id: &str, parent: &str, of_user: bool| {
        let (kind, role) = if of_user { ("user", "user") } else { ("assistant", "model") };
        format!(
            r#"{{"uuid":"{id}","parentUuid":{parent},"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","cwd":"/w","provenance":"x","message":{{"role":"{role}","parts":[{{"text":"say {id}"}}]}}}}"#
        )
    };
    let (a, b) = (line("a", "null", true), line("b", "\"a\"", false));
    check()
        .file("s.jsonl", format!("{a}\n{b}\n{}", &a[..60]))
        .args(["s.jsonl"])
        .code(1)
        .stdout("s.jsonl:3: torn-tail: an incomplete last line: Qwen Code appends its next line to this one, and then sends nothing that precedes it\n")
        .run();
}

/// Kimi Code appends its next line to a last line without a line ending, and then reads nothing
/// from there on. Claude Code reads the first of the two lines.
#[test]
fn a_last_line_without_a_line_ending_is_found_and_ended() {
    let kimi = concat!(
        r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#,
        "\n",
        r#"{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"go"}]},"time":2}"#
    );
    let what = "s.jsonl:2: no-line-end: a last line without a line ending: Kimi Code appends its next line to this one, and then reads neither nor what follows\n";
    check().file("s.jsonl", kimi).args(["s.jsonl"]).code(1).stdout(what).run();
    check()
        .file("s.jsonl", kimi)
        .args(["--repair", "s.jsonl"])
        .stdout(format!("{kimi}\n"))
        .stderr("ctx-check: warning: s.jsonl:2: line ending added\n")
        .run();
    let claude = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"go"}}"#;
    check()
        .file("s.jsonl", claude)
        .args(["s.jsonl"])
        .stdout("s.jsonl: ok\n")
        .stderr("ctx-check: warning: s.jsonl:1: no-line-end: a last line without a line ending: Claude Code appends its next line to this one, and then reads only this one\n")
        .run();
}
