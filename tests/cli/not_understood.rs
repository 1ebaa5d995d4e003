//! Sessions that the tools do not understand: a tool that would remove messages refuses them, and
//! says what they are.

use ctx_testkit::Case;

use crate::tool_path;

const USER: &str = "{\"role\":\"user\",\"content\":\"Please look at src/main.rs again\"}\n";
const REPLY: &str = "{\"role\":\"assistant\",\"content\":\"It is all right\"}\n";
const CALL: &str = "{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"read\",\"arguments\":{}}]}\n";
const RESULT: &str = "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}\n";

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

/// Checks that every tool that makes another session refuses this one; `named` is the message of
/// ctx-compact.
fn refused_by_all(session: &str, named: &str) {
    refuses("ctx-compact", &[], session, &format!(": {named}"));
    for (name, args, done) in [
        ("ctx-summarize", &["--budget", "60"][..], "summarized"),
        ("ctx-prune", &["--clear"], "pruned"),
        ("ctx-convert", &["--to", "chat"], "converted"),
        ("ctx-extract", &[], "extracted"),
        ("ctx-offload", &[], "changed"),
        ("ctx-check", &["--repair"], "read"),
    ] {
        let done = named.replace("compacted", done);
        let place = match name {
            "ctx-convert" => "",
            _ => ":1",
        };
        refuses(name, args, session, &format!("{place}: {done}"));
    }
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
    let named = "this is a list of pi messages without the entries of its session file, so it cannot be compacted; use the session file: its entries link the messages";
    refused_by_all(&session, named);
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
    let done =
        tool("ctx-prune").args(["--trim", "--protect-last", "0"]).stdin(session).stdout_any().run();
    let written = String::from_utf8(done.stdout).expect("text");
    let lines: Vec<&str> = written.split_inclusive('\n').collect();
    assert_eq!((lines[1], lines[4]), (part, USER));
    assert!(lines[3].len() < result.len() / 2, "{}", lines[3]);
}

/// The refusal names the format if it is known, and says how to convert it.
#[test]
fn a_format_that_is_known_by_name_is_named() {
    let human = "{\"type\":\"human\",\"content\":\"a\"}\n{\"type\":\"ai\",\"content\":\"b\"}\n";
    let named = "this is a list of LangChain messages, so it cannot be compacted; LangChain's convert_to_openai_messages converts it to chat messages";
    refused_by_all(human, named);
    let unknown = "{\"what\":1}\n";
    let why =
        ": the format is not known, so nothing can be compacted; name the format with --dialect";
    refuses("ctx-compact", &[], unknown, why);
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
    for dialect in ["chat", "anthropic"] {
        let why = format!(
            ":1: the dialect {dialect} has no records of the type \"user\", so nothing can be compacted: this is a Claude Code session; leave --dialect out"
        );
        // The lines show that a file is an agent's own, whatever the flag says.
        let flags = ["--min-idle", "0s", "--dialect", dialect];
        refuses("ctx-compact", &flags, &log, &why);
    }
    for dialect in ["codex", "gemini", "pi", "responses"] {
        let why =
            format!(": no message of {dialect}; leave --dialect out: the tool detects the format");
        let flags = ["--min-idle", "0s", "--dialect", dialect];
        refuses("ctx-compact", &flags, &log, &why);
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
        ":21: the dialect responses has no records of the type \"dream_call\", so nothing can be compacted; this may belong to a message that would be removed; ctx-check --all lists such parts",
    );
}

/// Texts of the Bedrock Converse API have no type, so they used to be read as empty chat messages.
#[test]
fn messages_of_bedrock_are_no_chat() {
    let session = concat!(
        "{\"role\":\"user\",\"content\":[{\"text\":\"go\"}]}\n",
        "{\"role\":\"assistant\",\"content\":[{\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"run\",\"input\":{}}}]}\n",
        "{\"role\":\"user\",\"content\":[{\"toolResult\":{\"toolUseId\":\"t\",\"content\":[{\"text\":\"ok\"}]}}]}\n",
    );
    let named = "this is a list of messages of the Bedrock Converse API, so it cannot be compacted; use the OpenAI-compatible form of that API, which has chat messages";
    refused_by_all(session, named);
    tool("ctx-check")
        .stdin(session)
        .stdout("<stdin>:1: no-message: no message of a known format: this is a list of messages of the Bedrock Converse API; use the OpenAI-compatible form of that API, which has chat messages\n")
        .code(1)
        .run();
    tool("ctx-offload")
        .args(["-s", "demo"])
        .stdin("{\"what\":1}\n")
        .stderr("ctx-offload: <stdin>:1: the format is not known, so nothing can be changed; name the format with --dialect\n")
        .code(2)
        .run();
    // Empty input is not a session of another format.
    for name in ["ctx-prune", "ctx-convert", "ctx-extract", "ctx-offload"] {
        let args: &[&str] = match name {
            "ctx-prune" => &["--trim"],
            "ctx-offload" => &["-s", "demo"],
            _ => &[],
        };
        let unknown = (name == "ctx-convert").then_some("ctx-convert: <stdin>: the format is not known, so nothing can be converted; name the format with --dialect\n");
        tool(name)
            .args(args.iter().copied())
            .stdin("")
            .stderr(unknown.unwrap_or_default())
            .code(if unknown.is_some() { 2 } else { 0 })
            .run();
    }
}

/// Each tool that reads the records of a session.
const READERS: [(&str, &[&str]); 12] = [
    ("ctx-check", &[]),
    ("ctx-check", &["--repair"]),
    ("ctx-compact", &[]),
    ("ctx-compact", &["--batch"]),
    ("ctx-convert", &[]),
    ("ctx-count", &[]),
    ("ctx-extract", &[]),
    ("ctx-offload", &[]),
    ("ctx-prune", &["--trim"]),
    ("ctx-split", &["--keep-turns", "1"]),
    ("ctx-stats", &[]),
    ("ctx-summarize", &["--budget", "900"]),
];

/// `ctx-count s.jsonl.gz` printed `0 0`, and other tools passed the bytes on, with exit status 0.
#[test]
fn what_is_packed_or_in_another_encoding_is_refused_by_name() {
    for (bytes, what, remedy) in [
        (&b"\x1f\x8b\x08\x00\x00\x00"[..], "a gzip file", "gzip -dc unpacks it"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "a zstd file", "zstd -dc unpacks it"),
        (b"\xfd7zXZ\x00\x00", "an xz file", "xz -dc unpacks it"),
        (b"\xff\xfe{\x00}\x00\n\x00", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 converts it"),
    ] {
        for (name, args) in READERS {
            let done = match (name, args) {
                ("ctx-compact", []) => "compacted",
                ("ctx-convert", _) => "converted",
                _ => "read",
            };
            let finished = tool(name)
                .file("s.jsonl", bytes)
                .args(args.iter().copied())
                .args(["s.jsonl"])
                .stderr(&format!(
                    "{name}: s.jsonl: this is {what}, so it cannot be {done}; {remedy}\n"
                ))
                .code(2)
                .run();
            assert!(finished.read("s.jsonl") == bytes, "{name}");
        }
        // A snapshot saves any bytes.
        tool("ctx-snapshot")
            .file("s.jsonl", bytes)
            .args(["-q", "s.jsonl"])
            .stdout_any()
            .stderr_has("")
            .run();
    }
}

/// A request with line breaks, as an editor formats it, used to be taken as many bad lines, and was
/// passed on unchanged with exit status 0.
#[test]
fn a_batch_with_line_breaks_in_its_conversations_is_refused() {
    let request = "{\n  \"model\": \"m\",\n  \"messages\": [\n    {\"role\": \"user\", \"content\": \"go\"}\n  ]\n}\n";
    let why = "this is JSON that spans several lines, so it cannot be read; a batch has one conversation per line, as jq -c . writes it\n";
    for input in [request.to_owned(), request.repeat(2)] {
        for (name, args) in READERS {
            let of_one = ["ctx-convert", "ctx-prune", "ctx-stats"].contains(&name)
                || args.contains(&"--repair");
            if of_one || args.contains(&"--budget") {
                continue;
            }
            let batch = ["--batch"].into_iter().filter(|it| !args.contains(it));
            let finished = tool(name)
                .file("s.json", &input)
                .args(args.iter().copied().chain(batch))
                .args(["s.json"])
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
