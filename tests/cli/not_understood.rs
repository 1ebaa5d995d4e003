//! Sessions that the tools do not understand: a tool that would remove messages refuses them, and
//! says what they are.

use ctx_testkit::Case;

use crate::tool_path;

const USER: &str = "{\"role\":\"user\",\"content\":\"Please look at src/main.rs again\"}\n";
const REPLY: &str = "{\"role\":\"assistant\",\"content\":\"It is all right\"}\n";
const CALL: &str = "{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"read\",\"arguments\":{}}]}\n";
const RESULT: &str = "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}\n";

const UNKNOWN: &str = "the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen";

fn tool(name: &str) -> Case {
    Case::new(tool_path(name))
}

/// Checks that the tool with these flags refuses the session, and that the file is unchanged.
fn refuses(name: &str, args: &[&str], session: &str, why: &str) {
    let done = tool(name)
        .file("s.jsonl", session)
        .args(args.iter().copied())
        .args(["s.jsonl"])
        .stderr(&format!("{name}: s.jsonl{why}\n"))
        .code(2)
        .run();
    assert!(done.read("s.jsonl") == session.as_bytes());
}

/// Messages of pi without the entries around them used to pass as chat, with an orphan after the
/// summary.
#[test]
fn messages_of_pi_are_no_chat() {
    let session = USER.repeat(20) + CALL + RESULT + USER + REPLY;
    let why = ":21: a part of the type \"toolCall\" cannot be read, so nothing can be compacted: this is a list of pi messages without the entries of its session file; use the session file: its entries link the messages";
    let chat = ["--dialect", "chat"];
    refuses("ctx-compact", &chat, &session, why);
    refuses(
        "ctx-summarize",
        &["--budget", "60", "--dialect", "chat"],
        &session,
        &why.replace("compacted", "summarized"),
    );
    refuses(
        "ctx-prune",
        &["--window-messages", "2", "--dialect", "chat"],
        &session,
        &why.replace("compacted", "cut to a window"),
    );
}

/// A tool that only shortens what it understands leaves the rest unchanged.
#[test]
fn a_result_is_shortened_beside_a_part_that_is_not_read() {
    let part = "{\"role\":\"user\",\"content\":[{\"type\":\"smell\",\"of\":\"roses\"}]}\n";
    let call = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}\n";
    let result = format!(
        "{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{}\"}}\n",
        "word ".repeat(4_000)
    );
    let session = [USER, part, call, &result, USER].concat();
    let told = "ctx-prune: warning: <stdin>:2: a part of the type \"smell\" cannot be read, so it stays as it is\n";
    let prune = || tool("ctx-prune").args(["--trim", "--protect-last", "0"]).stdin(session.clone());
    let done = prune().stdout_any().stderr(told).run();
    let why = "a part of the type \"smell\" cannot be read, so nothing can be changed; ";
    prune().args(["--strict"]).code(2).stderr_has(why).run();
    let written = String::from_utf8(done.stdout).expect("text");
    let lines: Vec<&str> = written.split_inclusive('\n').collect();
    assert_eq!((lines[1], lines[4]), (part, USER));
    assert!(lines[3].len() < result.len() / 2, "{}", lines[3]);
}

/// A named dialect that does not match the session is refused.
#[test]
fn a_wrong_dialect_is_found_out() {
    let line = |id: &str, parent: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"a\"}}}}\n"
        )
    };
    let log = line("u", "null") + &line("v", "\"u\"");
    let why = ": this is a Claude Code session, so it cannot be read; leave --dialect out, put each format into a file of its own, or let ctx-convert write what it can read";
    for dialect in
        ["chat", "anthropic", "codex", "gemini", "kimi", "opencode", "pi", "qwen", "responses"]
    {
        // The lines show that a file is an agent's own, whatever the flag says.
        refuses("ctx-compact", &["--min-idle", "0s", "--dialect", dialect], &log, why);
        refuses("ctx-convert", &["--to", "chat", "--dialect", dialect], &log, why);
    }
    // Nothing in this text shows its format, but it has no message of the named one.
    let why = ": no message of chat; no line is a message of this format; without --dialect, the tool detects the format";
    for (name, args) in
        [("ctx-compact", &[][..]), ("ctx-convert", &["--to", "pi"]), ("ctx-extract", &[])]
    {
        refuses(name, &[args, &["--dialect", "chat"]].concat(), "hello\n", why);
    }
}

/// An item of an unknown type may be a call.
#[test]
fn an_unknown_item_is_not_compacted() {
    let say = |text: &str| {
        format!(
            "{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":\"{text}\"}}]}}\n"
        )
    };
    let dream = "{\"type\":\"dream_call\",\"call_id\":\"c1\",\"name\":\"ls\"}\n";
    let session = say("Please look at it").repeat(20) + dream + &say("Thanks");
    refuses(
        "ctx-compact",
        &["--budget", "60"],
        &session,
        ":21: the dialect responses has no records of the type \"dream_call\", so nothing can be compacted; this may belong to a message that would be removed; ctx-check --all lists such parts, and --repair or ctx-convert may mend them",
    );
}

/// Empty input is not a session of another format.
#[test]
fn an_empty_input_is_an_empty_session() {
    for (name, args, code) in [
        ("ctx-prune", &["--trim"][..], 0),
        ("ctx-offload", &["-s", "demo"], 0),
        ("ctx-extract", &[], 0),
        ("ctx-convert", &[], 2),
    ] {
        let unknown = format!("{name}: <stdin>: {UNKNOWN}\n");
        let said = if code == 0 { "" } else { &*unknown };
        tool(name).args(args.iter().copied()).stdin("").stderr(said).code(code).run();
    }
}

/// A request with line breaks, as an editor formats it, used to be taken as many bad lines, and was
/// passed on unchanged with exit status 0.
#[test]
fn a_batch_with_line_breaks_in_its_conversations_is_refused() {
    let request = "{\n  \"model\": \"m\",\n  \"messages\": [\n    {\"role\": \"user\", \"content\": \"go\"}\n  ]\n}\n";
    let why = "this is JSON that spans several lines, so it cannot be read; jq -c . writes one value per line\n";
    for input in [request.to_owned(), request.repeat(2)] {
        for (name, args) in [
            ("ctx-check", &[][..]),
            ("ctx-compact", &[]),
            ("ctx-count", &[]),
            ("ctx-extract", &[]),
            ("ctx-offload", &[]),
            ("ctx-split", &["--keep-turns", "1"]),
        ] {
            let finished = tool(name)
                .file("s.json", &input)
                .args(args.iter().copied())
                .args(["--batch", "s.json"])
                .stderr(&format!("{name}: s.json: {why}"))
                .code(2)
                .run();
            assert!(finished.read("s.json") == input.as_bytes(), "{name}");
        }
        tool("ctx-compact")
            .args(["--batch", "--budget", "900"])
            .stdin(input.as_str())
            .stderr(&format!("ctx-compact: <stdin>: {why}"))
            .code(2)
            .run();
    }
}

/// Claude Code and pi read bytes that are not UTF-8 as U+FFFD, so a summary without the message on
/// such a line would lose it.
#[test]
fn a_damaged_line_that_the_agent_reads_is_not_compacted() {
    let line = |number: usize, text: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{number}\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let (bad, last) = (line(2, "port BYTE"), line(3, &"word ".repeat(500)));
    let (before, after) = bad.split_once("BYTE").expect("the line");
    for (byte, what) in [(b"\xff".as_slice(), "is not UTF-8"), (b"\0", "has NUL bytes")] {
        let mut session = line(1, "a").into_bytes();
        for part in [before.as_bytes(), byte, after.as_bytes(), last.as_bytes()] {
            session.extend(part);
        }
        tool("ctx-compact")
            .file("s.jsonl", &session)
            .args(["--min-idle", "0s", "--budget", "100", "s.jsonl"])
            .stderr_has(&format!("s.jsonl:2: the line {what}, but the agent reads it, so nothing can be compacted; ctx-check --repair writes a copy with a readable line\n"))
            .code(2)
            .run();
    }
}
