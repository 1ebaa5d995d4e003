//! Sessions that are not understood: who takes messages out refuses them, and says what they are.

use ctx_testkit::Case;

use crate::tool_path;

const USER: &str = "{\"role\":\"user\",\"content\":\"Please look at src/main.rs again\"}\n";
const REPLY: &str = "{\"role\":\"assistant\",\"content\":\"It is all right\"}\n";
const CALL: &str = "{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"read\",\"arguments\":{}}]}\n";
const RESULT: &str = "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}\n";

fn tool(name: &str) -> Case {
    Case::new(tool_path(name))
}

/// The tool with these flags refuses the session, as a file that stays as it was.
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

/// 15 B2: messages of pi without the entries around them went through as chat, and an orphan
/// stayed behind the summary.
#[test]
fn messages_of_pi_are_no_chat() {
    let session = USER.repeat(20) + CALL + RESULT + USER + REPLY;
    let why = ":21: a part of the type \"toolCall\" is not read, so nothing can be compacted: this is a list of pi messages, taken out of its session file; use that file: its entries say what belongs together";
    refuses("ctx-compact", &["--budget", "60"], &session, why);
    refuses("ctx-compact", &["--dialect", "chat"], &session, why);
    refuses(
        "ctx-summarize",
        &["--budget", "60"],
        &session,
        &why.replace("compacted", "summarized"),
    );
    refuses(
        "ctx-prune",
        &["--window-messages", "2"],
        &session,
        &why.replace("compacted", "cut to a window"),
    );
}

/// 15 B2: what only shortens what it reads leaves the rest as it is.
#[test]
fn a_result_is_shortened_beside_a_part_that_is_not_read() {
    let part = "{\"role\":\"user\",\"content\":[{\"type\":\"smell\",\"of\":\"roses\"}]}\n";
    let call = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}\n";
    let result = format!(
        "{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{}\"}}\n",
        "word ".repeat(4_000)
    );
    let session = [USER, part, call, &result, USER].concat();
    let done = tool("ctx-prune")
        .args(["--trim", "--protect-last", "0"])
        .stdin(session)
        .stdout_any()
        .run();
    let written = String::from_utf8(done.stdout).expect("text");
    let lines: Vec<&str> = written.split_inclusive('\n').collect();
    assert_eq!((lines[1], lines[4]), (part, USER));
    assert!(lines[3].len() < result.len() / 2, "{}", lines[3]);
}

/// 15 B2: the refusal names the format where it is known, and what makes a session of it.
#[test]
fn a_format_that_is_known_by_name_is_named() {
    let human = "{\"type\":\"human\",\"content\":\"a\"}\n{\"type\":\"ai\",\"content\":\"b\"}\n";
    let named = "this is a list of LangChain messages, of which nothing can be compacted; convert_to_openai_messages of LangChain makes chat of it";
    refuses("ctx-compact", &[], human, &format!(": {named}"));
    for (name, args, done) in [
        ("ctx-summarize", &["--budget", "60"][..], "summarized"),
        ("ctx-prune", &["--clear"], "pruned"),
        ("ctx-convert", &["--to", "chat"], "converted"),
        ("ctx-extract", &[], "extracted"),
        ("ctx-check", &["--repair"], "read"),
    ] {
        let done = named.replace("compacted", done);
        let place = match name {
            "ctx-convert" => "",
            _ => ":1",
        };
        refuses(name, args, human, &format!("{place}: {done}"));
    }
    let unknown = "{\"what\":1}\n";
    let why = ": the format is not known, so nothing can be compacted; --dialect names it";
    refuses("ctx-compact", &[], unknown, why);
}

/// 15 B2: a dialect that is named and is not the session's does not go through.
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
            ":1: a record of the type \"user\" is no message of {dialect}, so nothing can be compacted: this is a Claude Code session; leave --dialect out"
        );
        // What an agent's own file is, its lines say, whatever the flag does.
        let flags = ["--min-idle", "0s", "--dialect", dialect];
        refuses("ctx-compact", &flags, &log, &why);
    }
    for dialect in ["codex", "gemini", "pi", "responses"] {
        let why =
            format!(": no message of {dialect}; leave --dialect out: the session shows its format");
        let flags = ["--min-idle", "0s", "--dialect", dialect];
        refuses("ctx-compact", &flags, &log, &why);
    }
}

/// 15 B2: an item of a type that is not known may be a call.
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
        ":21: a record of the type \"dream_call\" is no message of responses, so nothing can be compacted; what is not read may belong to what would go; ctx-check --all lists all of it",
    );
}
