//! The format of a session is determined from all of it, and never guessed if an exchange could be
//! cut.

use std::fmt::Write as _;

use ctx_testkit::{Api, Case, refusal};

use crate::compact::CTX_COMPACT;

const PLAIN: usize = 66;

/// Returns messages with texts, which are legal in every format.
fn texts(from: usize, to: usize) -> String {
    let mut texts = String::new();
    for n in from..to {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        let text = format!("number {n}, {}", "and some words more ".repeat(20));
        let _ = writeln!(texts, r#"{{"role":"{role}","content":"{text}"}}"#);
    }
    texts
}

const BLOCKS: &str = r#"{"role":"user","content":"look"}
{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a"}]}
{"role":"assistant","content":"seen"}
"#;
const CALLS: &str = r#"{"role":"user","content":"look"}
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"c","content":"a"}
{"role":"assistant","content":"seen"}
"#;

/// The first exchange decides the format, even after 66 texts, and is never cut. The rest may be
/// only texts, which are cut again.
#[test]
fn an_exchange_behind_many_texts_is_seen() {
    for (api, exchange) in [(Api::Anthropic, BLOCKS), (Api::Chat, CALLS)] {
        for keep in ["2", "3", "4"] {
            let mut session = texts(0, PLAIN) + exchange;
            for round in 1..4 {
                let done = Case::new(CTX_COMPACT)
                    .args(["-q", "--keep-messages", keep])
                    .stdin(session)
                    .stdout_any()
                    .run();
                session = String::from_utf8(done.stdout.clone()).expect("UTF-8");
                assert_eq!(refusal(api, &session), None, "{keep}, {round}: {session}");
                assert!(session.contains("ctx_summary"), "{keep}, {round}: {session}");
                session += &texts(round * 100, round * 100 + 10);
            }
        }
    }
}

/// If a file has two formats, the error names the line and the flag, and nothing is written.
#[test]
fn two_formats_in_one_session_are_refused() {
    let session = format!("{CALLS}{}{BLOCKS}", texts(0, 20));
    let done = Case::new(CTX_COMPACT)
        .file("s.jsonl", &session)
        .args(["--keep-messages", "2", "s.jsonl"])
        .code(2)
        .stderr("ctx-compact: s.jsonl:26: the exchange is in the format anthropic, but the session is in the format chat; no API accepts both formats: put each into a file of its own\n")
        .run();
    assert_eq!(done.read("s.jsonl"), session.as_bytes());
    // If it is read as one of them, the calls of the other are not understood.
    Case::new(CTX_COMPACT)
        .within(done.dir())
        .args(["--dialect", "anthropic", "--keep-messages", "4", "s.jsonl"])
        .code(2)
        .stderr("ctx-compact: s.jsonl:2: a list of calls outside the content cannot be read, so nothing can be compacted: this is a session in the format chat; leave --dialect out, put each format into a file of its own, or let ctx-convert write what it can read\n")
        .run();
}
