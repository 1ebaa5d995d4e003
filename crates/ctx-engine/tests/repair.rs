//! A property of repairs: whatever became of a session, its repaired copy is accepted by a check,
//! or there is none.

use std::io::Cursor;

use ctx_engine::check::{CheckPass, Plan, RepairPass, RepairedSession};
use ctx_engine::{Invalid, Result, Session};
use ctx_format::Options;
use proptest::prelude::*;

fn open(bytes: &[u8]) -> Result<Session> {
    Session::open(Box::new(Cursor::new(bytes.to_vec())), &Options::default(), Invalid::Keep)
}

/// Returns what a check finds in a session.
fn problems(bytes: &[u8], strict: bool) -> Vec<String> {
    let mut session = open(bytes).expect("from memory");
    let plan = Plan { strict, all: true, ..Plan::default() };
    let report = match CheckPass::run(&plan, &mut session) {
        Ok(report) => report,
        Err(error) => return vec![error.to_string()],
    };
    report.findings.into_iter().map(|it| format!("{:?}: {}", it.line, it.message)).collect()
}

fn repair(bytes: &[u8], strict: bool) -> Result<RepairedSession> {
    let mut session = open(bytes)?;
    let mut pass = RepairPass::new(&mut session, None);
    session.each(|record| pass.push(record))?;
    pass.finish(strict)
}

/// Returns the lines of a healthy session in each dialect. Each session has two calls in one reply,
/// one in another, and an open call at the end.
fn sessions() -> [Vec<String>; 8] {
    let list = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let chat = r#"{"role":"user","content":"look at a and b"}
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"ls","arguments":"{\"p\":\"b\"}"}}]}
{"role":"tool","tool_call_id":"c1","content":"a.txt"}
{"role":"tool","tool_call_id":"c2","content":"b.txt"}
{"role":"assistant","content":"two files"}
{"role":"user","content":"read them"}
{"role":"assistant","content":"","tool_calls":[{"id":"c3","type":"function","function":{"name":"cat","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"c3","content":"text"}
{"role":"assistant","content":"","tool_calls":[{"id":"c4","type":"function","function":{"name":"cat","arguments":"{}"}}]}"#;
    let anthropic = r#"{"role":"user","content":[{"type":"text","text":"look at a and b"}]}
{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}},{"type":"tool_use","id":"c2","name":"ls","input":{"p":"b"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a.txt"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"b.txt"}]}]}
{"role":"assistant","content":[{"type":"text","text":"two files"}]}
{"role":"user","content":[{"type":"text","text":"read them"}]}
{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"cat","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"text"},{"type":"text","text":"quickly"}]}
{"role":"assistant","content":[{"type":"tool_use","id":"c4","name":"cat","input":{}}]}"#;
    let responses = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"look"}]}
{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}
{"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"}
{"type":"function_call","call_id":"c2","name":"ls","arguments":"{}"}
{"type":"function_call_output","call_id":"c1","output":"a.txt"}
{"type":"function_call_output","call_id":"c2","output":"b.txt"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two files"}]}
{"type":"message","role":"user","content":[{"type":"input_text","text":"read them"}]}
{"type":"custom_tool_call","call_id":"c3","name":"apply","input":"x"}
{"type":"custom_tool_call_output","call_id":"c3","output":"text"}
{"type":"function_call","call_id":"c4","name":"cat","arguments":"{}"}"#;
    let header = r#"{"id":"r","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","originator":"codex_cli_rs","cli_version":"0.169.0"}"#;
    let item = |item| ("response_item", item);
    let codex = std::iter::once(("session_meta", header.to_owned()))
        .chain(list(responses).into_iter().map(item))
        .map(|(kind, payload)| {
            let time = "2026-01-01T00:00:00.000Z";
            format!(r#"{{"timestamp":"{time}","type":"{kind}","payload":{payload}}}"#)
        });
    let tree = |id: &'static str, parent: &'static str, rest: &[String]| -> Vec<String> {
        let line = |(at, rest): (usize, &String)| {
            let before = if at == 0 { "null".to_owned() } else { format!("\"{:08x}\"", at - 1) };
            let time = format!("2026-01-01T00:{at:02}:00.000Z");
            format!(r#"{{"{id}":"{at:08x}","{parent}":{before},"timestamp":"{time}",{rest}}}"#)
        };
        rest.iter().enumerate().map(line).collect()
    };
    let kind = |text: &String| if text.contains("assistant") { "assistant" } else { "user" };
    let of_claude = |text: &String| {
        format!(r#""sessionId":"s","isSidechain":false,"type":"{}","message":{text}"#, kind(text))
    };
    let claude: Vec<_> = list(anthropic).iter().map(of_claude).collect();
    let pi = r#"{"role":"user","content":"look at a and b"}
{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}},{"type":"toolCall","id":"c2","name":"ls","arguments":{}}]}
{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"a.txt"}]}
{"role":"toolResult","toolCallId":"c2","toolName":"ls","content":[{"type":"text","text":"b.txt"}]}
{"role":"assistant","content":[{"type":"text","text":"two files"}]}
{"role":"user","content":"read them"}
{"role":"assistant","content":[{"type":"toolCall","id":"c3","name":"cat","arguments":{}}]}
{"role":"toolResult","toolCallId":"c3","toolName":"cat","content":[{"type":"text","text":"text"}]}
{"role":"assistant","content":[{"type":"toolCall","id":"c4","name":"cat","arguments":{}}]}"#;
    let of_pi = |text: &String| format!(r#""type":"message","message":{text}"#);
    let pi: Vec<_> = list(pi).iter().map(of_pi).collect();
    let mut pi = tree("id", "parentId", &pi);
    let time = "2026-01-01T00:00:00.000Z";
    pi.insert(
        0,
        format!(r#"{{"type":"session","version":3,"id":"s","timestamp":"{time}","cwd":"/"}}"#),
    );
    let gemini = r#"{"sessionId":"s","projectHash":"p"}
{"id":"m1","timestamp":"2026-01-01T00:01:00.000Z","type":"user","content":[{"text":"look"}]}
{"id":"m2","timestamp":"2026-01-01T00:02:00.000Z","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"ls","args":{},"result":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a.txt"}}}],"status":"success"}]}
{"id":"m3","timestamp":"2026-01-01T00:03:00.000Z","type":"gemini","content":"a file"}
{"id":"m4","timestamp":"2026-01-01T00:04:00.000Z","type":"user","content":[{"text":"thanks"}]}"#;
    let qwen = r#"{"role":"user","parts":[{"text":"look at a and b"}]}
{"role":"model","parts":[{"functionCall":{"id":"c1","name":"ls","args":{}}},{"functionCall":{"id":"c2","name":"ls","args":{}}}]}
{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a.txt"}}},{"functionResponse":{"id":"c2","name":"ls","response":{"output":"b.txt"}}}]}
{"role":"model","parts":[{"text":"two files"}]}
{"role":"user","parts":[{"text":"read them"}]}
{"role":"model","parts":[{"functionCall":{"id":"c3","name":"cat","args":{}}}]}
{"role":"user","parts":[{"functionResponse":{"id":"c3","name":"cat","response":{"output":"text"}}},{"text":"quickly"}]}
{"role":"model","parts":[{"functionCall":{"id":"c4","name":"cat","args":{}}}]}"#;
    let of_qwen = |text: &String| {
        let kind = if text.contains("model") { "assistant" } else { "user" };
        format!(r#""sessionId":"s","cwd":"/","type":"{kind}","message":{text}"#)
    };
    let qwen: Vec<_> = list(qwen).iter().map(of_qwen).collect();
    let qwen = tree("uuid", "parentUuid", &qwen);
    let claude = tree("uuid", "parentUuid", &claude);
    let codex = codex.collect();
    [list(chat), list(anthropic), list(responses), claude, codex, pi, list(gemini), qwen]
}

/// Damages a session. `kind` says how, and `one` and `other` are positions or numbers of lines.
fn damaged(bytes: &[u8], (kind, one, other): (usize, usize, usize)) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(Into::into).collect();
    let Some((at, to)) = one.checked_rem(lines.len()).zip(other.checked_rem(lines.len())) else {
        return Vec::new();
    };
    let place = one % bytes.len();
    match kind {
        0 => return bytes[..place].to_vec(),
        1 => {
            return [&bytes[..place], &[bytes[place] ^ 1 << (other % 8)], &bytes[place + 1..]]
                .concat();
        }
        2 => lines.insert(to, lines[at].clone()),
        3 => lines.swap(at, to),
        4 => drop(lines.remove(at)),
        5 => {
            let length = other % lines[at].len();
            lines[at].truncate(length);
        }
        6 => {
            lines[at].splice(0..0, *b"\xef\xbb\xbf");
        }
        7 => {
            // One place in which an id stands gets another id.
            let text = String::from_utf8_lossy(bytes).into_owned();
            let ids: Vec<_> = (1..5).map(|id| format!("\"c{id}\"")).collect();
            let found: Vec<_> = ids.iter().flat_map(|id| text.match_indices(id.as_str())).collect();
            if let Some((at, id)) = one.checked_rem(found.len()).map(|place| found[place]) {
                let new = &ids[other % ids.len()];
                return [&text[..at], new, &text[at + id.len()..]].concat().into_bytes();
            }
        }
        _ => {
            // One place in which a text stands gets another value.
            let values =
                ["\"\"", "\" \"", "null", "[]", "{}", "7", "\"\\ud800\"", "\"functions.ls:0\""];
            let text = String::from_utf8_lossy(bytes).into_owned();
            let found: Vec<_> = text.match_indices("\":\"").map(|(at, _)| at + 2).collect();
            if let Some(from) = one.checked_rem(found.len()).map(|place| found[place])
                && let Some(end) = text[from + 1..].find('"')
            {
                let behind = &text[from + 1 + end + 1..];
                return [&text[..from], values[other % values.len()], behind].concat().into_bytes();
            }
        }
    }
    lines.concat()
}

#[test]
fn a_healthy_session_is_its_own_copy() {
    for lines in sessions() {
        let text = lines.join("\n") + "\n";
        assert_eq!(problems(text.as_bytes(), false), [""; 0], "{text}");
        let copy = repair(text.as_bytes(), false).expect("a copy");
        assert!(copy.actions.is_empty() && *copy.bytes == *text.as_bytes(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn a_repair_succeeds_if_and_only_if_a_check_accepts_the_copy(
        which in 0usize..7,
        damages in proptest::collection::vec((0usize..9, any::<usize>(), any::<usize>()), 1..4),
        strict: bool,
    ) {
        let text = sessions()[which].join("\n") + "\n";
        let bytes = damages.into_iter().fold(text.into_bytes(), |bytes, it| damaged(&bytes, it));
        let shown = String::from_utf8_lossy(&bytes);
        match repair(&bytes, strict) {
            Ok(copy) => {
                let copied = String::from_utf8_lossy(&copy.bytes);
                let found = problems(&copy.bytes, strict);
                prop_assert!(found.is_empty(), "{found:?}\n{shown}\n{copied}");
                let again = repair(&copy.bytes, strict).expect("it is legal");
                prop_assert!(again.bytes == copy.bytes, "{copied}");
            }
            Err(error) => {
                let found = problems(&bytes, strict);
                prop_assert!(!found.is_empty(), "{error:?}\n{shown}");
            }
        }
    }
}
