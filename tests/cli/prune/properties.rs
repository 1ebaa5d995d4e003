//! Properties that every session has after pruning.

use ctx_format::{Object, Options, Part, Records, Validator, dialect};
use ctx_testkit::{any_jsonl, chat_session};
use proptest::prelude::*;

use super::pruned;

/// Returns sessions with long texts of several kinds, ids that repeat, and problems.
fn long_session(anthropic: bool) -> impl Strategy<Value = String> {
    let text = prop_oneof![
        2 => "[a-z ,.é中]{0,12}",
        2 => "(some |words |of |a |result |日本 |\n){30,120}",
        1 => "(error: no\n|fine\n|\x1b\\[31m){20,60}",
        1 => Just("Qk1 ".to_owned() + &"aB3+".repeat(100)),
    ];
    let id = prop_oneof![Just("c0"), Just("c1"), Just("c2")];
    let tool = prop_oneof![Just("read"), Just("edit"), Just("ls")];
    let message = (0..9_u8, id, tool, text)
        .prop_map(move |(kind, id, tool, text)| message(anthropic, kind, id, tool, &text));
    proptest::collection::vec(message, 0..30).prop_map(|lines| lines.concat())
}

fn message(anthropic: bool, kind: u8, id: &str, tool: &str, text: &str) -> String {
    let input = serde_json::json!({"path": "a", "note": text});
    let message = match (kind, anthropic) {
        (0, _) => serde_json::json!({"role": "user", "content": text}),
        (1, false) => serde_json::json!({"role": "system", "content": text}),
        (2, false) => serde_json::json!({"role": "assistant", "content": "", "reasoning": text}),
        (2, true) => serde_json::json!({"role": "assistant",
            "content": [{"type": "thinking", "thinking": text}]}),
        (1 | 3, _) => serde_json::json!({"role": "assistant", "content": text}),
        (4 | 5, false) => serde_json::json!({"role": "assistant", "content": null, "tool_calls":
            [{"id": id, "function": {"name": tool, "arguments": input.to_string()}}]}),
        (4 | 5, true) => serde_json::json!({"role": "assistant", "content":
            [{"type": "thinking", "thinking": "hm"},
             {"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        (_, false) => serde_json::json!({"role": "tool", "tool_call_id": id, "content": text}),
        (_, true) => serde_json::json!({"role": "user", "content":
            [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
    };
    format!("{message}\n")
}

/// Returns the text of users and replies without blanks, and the number of problems.
fn said(dialect: &str, session: &str) -> (Vec<String>, usize) {
    let dialect = dialect::by_name(dialect).expect("a dialect");
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let mut records = Records::open(session.as_bytes(), &options).expect("from memory");
    let mut said = Vec::new();
    let mut validator = Validator::new(dialect.rules());
    while let Some(record) = records.next().expect("from memory") {
        let message = record
            .whole_object()
            .and_then(|object| Some((dialect.outline(object)?, dialect.message(object)?)));
        let Some((outline, message)) = message else {
            continue;
        };
        validator.push(record.line, &outline);
        for call in message.calls() {
            let arguments = Object::parse(&call.arguments);
            assert!(arguments.is_ok(), "no JSON: {}", call.arguments);
        }
        said.extend(message.parts.into_iter().filter_map(|part| match part {
            Part::Text(text) if !text.trim().is_empty() => Some(text.into_owned()),
            _ => None,
        }));
    }
    (said, validator.finish().len())
}

fn holds(dialect: &str, session: &str, args: &[&str]) -> Result<(), TestCaseError> {
    let args = [args, &["--dialect", dialect, "-q"]].concat();
    let once = pruned(&args, session);
    let (before, problems) = said(dialect, session);
    // If messages are removed, a result without a call directly before them may seem to answer
    // another call. A legal session has no such result.
    if problems == 0 || !args.contains(&"--window-messages") {
        prop_assert_eq!(&pruned(&args, once.clone()), &once);
    }
    let (after, left) = said(dialect, &once);
    prop_assert!(left <= problems);
    if args.contains(&"--window-messages") {
        prop_assert!(after.iter().all(|text| before.contains(text)));
    } else {
        prop_assert_eq!(after, before);
    }
    Ok(())
}

const RULES: [&[&str]; 5] = [
    &[
        "--clear",
        "--placeholder",
        "[x]",
        "--max-chars",
        "40",
        "--protect-last",
        "2",
        "--drop",
        "reasoning,empty,superseded,duplicates,noise",
        "--max-argument-chars",
        "20",
    ],
    &["--window-messages", "5", "--trim"],
    &["--max-chars", "60", "--protect-last", "0", "--drop", "noise,duplicates"],
    &[
        "--drop",
        "superseded,noise",
        "--max-chars",
        "30",
        "--head-share",
        "0.5",
        "--tail-share",
        "0.5",
        "--protect-last",
        "1",
    ],
    &["--drop", "reasoning,superseded", "--protect-last", "1", "--window-messages", "8"],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn once_is_enough_and_what_was_said_stays(
        chat in long_session(false),
        anthropic in long_session(true),
        rules in 0..RULES.len(),
    ) {
        holds("chat", &chat, RULES[rules])?;
        holds("anthropic", &anthropic, RULES[rules])?;
    }

    #[test]
    fn odd_sessions_stay_legal(session in chat_session()) {
        holds("chat", &session, &["--window-messages", "4", "--drop", "empty"])?;
    }

    #[test]
    fn what_no_rule_is_about_keeps_its_bytes(jsonl in any_jsonl()) {
        // No result in it is long enough to be replaced. The first message fits the dialect.
        let jsonl = [&b"{\"role\":\"user\",\"content\":\"a\"}\n"[..], jsonl.as_ref()].concat();
        let args = ["--clear", "--trim", "--protect-last", "0", "--dialect", "chat", "-q"];
        let case = super::prune().args(args).stdin(jsonl.clone());
        case.stdout(jsonl).run();
    }
}
