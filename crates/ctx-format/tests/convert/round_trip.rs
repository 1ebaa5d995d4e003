//! Tests conversions of sessions from one dialect to another and back.

use std::io::{Cursor, Read};

use ctx_format::convert::LossKind;
use ctx_format::dialect::{self, ALL, Dialect};
use ctx_format::{Options, Part, Records, Role};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{convert, losses};

/// A part of a session's content, independent of the dialect.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    System(String),
    Summary(String),
    User(String),
    Assistant(String),
    Call(String, String, Value),
    Result(String, String, bool),
}

fn text() -> impl Strategy<Value = String> {
    // No agent treats a text that begins like this as a command.
    "t\\PC{0,12}[\n\"\\\\]?[a-z]{0,3}"
}

/// The calls of a reply, each with its arguments, whether it fails, and where its result is.
fn calls() -> impl Strategy<Value = Vec<(Value, bool, u8)>> {
    let arguments = proptest::collection::btree_map("[a-z]{1,4}", text(), 0..3);
    let arguments = arguments.prop_map(|members| json!(members));
    proptest::collection::vec((arguments, any::<bool>(), any::<u8>()), 0..4)
}

fn turn() -> impl Strategy<Value = Vec<Value>> {
    let replies = proptest::collection::vec((proptest::option::of(text()), calls()), 0..3);
    (text(), replies, text(), "[a-z]{4}").prop_map(|(ask, replies, end, salt)| {
        let mut messages = vec![json!({"role": "user", "content": ask})];
        for (number, (said, calls)) in replies.into_iter().enumerate() {
            if calls.is_empty() {
                continue;
            }
            let id = |place: usize| format!("{salt}_{number}_{place}");
            let listed: Vec<Value> = calls.iter().enumerate().map(|(place, call)| {
                let function = json!({"name": "tool", "arguments": call.0.to_string()});
                json!({"id": id(place), "type": "function", "function": function})
            }).collect();
            messages.push(json!({"role": "assistant", "content": said, "tool_calls": listed}));
            let mut results: Vec<(u8, Value)> = calls.iter().enumerate().map(|(place, call)| {
                let mut result = json!({"role": "tool", "tool_call_id": id(place), "content": format!("r{place}")});
                if call.1 {
                    result["is_error"] = json!(true);
                }
                (call.2, result)
            }).collect();
            results.sort_by_key(|result| result.0);
            messages.extend(results.into_iter().map(|result| result.1));
        }
        messages.push(json!({"role": "assistant", "content": end}));
        messages
    })
}

/// A session in the dialect `chat`.
pub(crate) fn session() -> impl Strategy<Value = String> {
    let head = (proptest::option::of(text()), proptest::option::of(text()));
    let turns = proptest::collection::vec(turn(), 1..4);
    (head, turns).prop_map(|((system, summary), turns)| {
        let system = system.map(|text| json!({"role": "system", "content": text}));
        let summary =
            summary.map(|text| json!({"role": "user", "name": "ctx_summary", "content": text}));
        let head = system.into_iter().chain(summary);
        let all = head.chain(turns.into_iter().flatten());
        let lines: Vec<String> = all.map(|message| message.to_string()).collect();
        lines.join("\n") + "\n"
    })
}

/// The events in a session. Results are in the order of their calls, because some formats do not
/// allow another order.
fn events(lines: &[String]) -> Vec<Event> {
    let mut records = records(lines);
    let dialect = records.dialect().expect("a known dialect");
    let mut events = Vec::new();
    let mut results: Vec<(usize, Event)> = Vec::new();
    while let Some(record) = records.next().expect("it can be read") {
        let Some(object) = record.whole_object().filter(|_| !record.is_outside()) else { continue };
        for held in dialect.held(object) {
            if held.message.parts.iter().any(|part| !matches!(part, Part::Result(_))) {
                settle(&mut events, &mut results);
            }
            if let Some(summary) = held.summary {
                // The summary is inside an element, and whitespace around it is ignored.
                events.push(Event::Summary(summary.trim().to_owned()));
                continue;
            }
            for part in &held.message.parts {
                match part {
                    Part::Text(text) if text.is_empty() => {}
                    Part::Text(text) => events.push(match held.message.role {
                        Role::User => Event::User(text.to_string()),
                        Role::Assistant => Event::Assistant(text.to_string()),
                        _ => Event::System(text.to_string()),
                    }),
                    Part::Call(call) => {
                        let id = call.id.clone().unwrap_or_default().into_owned();
                        let arguments = serde_json::from_str(&call.arguments).expect("JSON");
                        events.push(Event::Call(id, call.name.to_string(), arguments));
                    }
                    Part::Result(result) => {
                        let id = result.id.clone().unwrap_or_default().into_owned();
                        let is_it =
                            |event: &Event| matches!(event, Event::Call(call, ..) if *call == id);
                        let place = events.iter().position(is_it).expect("a call");
                        let text = result.text().unwrap_or_default().into_owned();
                        results.push((place, Event::Result(id, text, result.is_error)));
                    }
                    part => panic!("{part:?}"),
                }
            }
        }
    }
    settle(&mut events, &mut results);
    events
}

fn settle(events: &mut Vec<Event>, results: &mut Vec<(usize, Event)>) {
    results.sort_by_key(|result| result.0);
    events.extend(results.drain(..).map(|result| result.1));
}

pub(crate) fn records(lines: &[String]) -> Records<impl Read> {
    let text = lines.join("\n");
    Records::open(Cursor::new(text), &Options::default()).expect("it can be read")
}

/// Removes from the events what the dialect cannot represent.
fn in_dialect(dialect: &dyn Dialect, events: Vec<Event>) -> Vec<Event> {
    let has_instructions = !matches!(
        dialect.name(),
        "claude-code" | "copilot" | "gemini" | "kimi" | "opencode" | "pi" | "qwen"
    );
    let marks_errors = !matches!(dialect.name(), "chat" | "responses" | "codex");
    let kept =
        events.into_iter().filter(|event| has_instructions || !matches!(event, Event::System(_)));
    let kept = kept.map(|event| match event {
        Event::Result(id, text, is_error) => Event::Result(id, text, is_error && marks_errors),
        event => event,
    });
    kept.collect()
}

fn through(names: &[&str], session: &str) -> Vec<String> {
    let mut session = session.to_owned();
    for name in names {
        session = convert(name, &session).0.join("\n");
    }
    session.lines().map(str::to_owned).collect()
}

/// The number of sessions to generate, which the variable `CTX_CASES` can change.
pub(crate) fn cases() -> ProptestConfig {
    let cases = std::env::var("CTX_CASES").map(|cases| cases.parse().expect("a number"));
    ProptestConfig::with_cases(cases.unwrap_or(12))
}

proptest! {
    #![proptest_config(cases())]

    /// After a conversion through any two dialects, the speakers, the calls with their tools and
    /// arguments, and the pairs of calls and results are the same.
    #[test]
    fn there_and_back_says_the_same(session in session()) {
        let lines: Vec<String> = session.lines().map(str::to_owned).collect();
        for first in ALL {
            for second in ALL {
                let back = through(&[first.name(), second.name()], &session);
                let expected = in_dialect(second, in_dialect(first, events(&lines)));
                prop_assert_eq!(events(&back), expected, "{} {}", first.name(), second.name());
            }
        }
    }

    #[test]
    fn the_same_session_gives_the_same_bytes_that_are_of_the_dialect(session in session()) {
        for dialect in ALL {
            let (once, report) = convert(dialect.name(), &session);
            prop_assert!(report.losses.iter().all(|loss| loss.kind != LossKind::Field));
            prop_assert_eq!(&once, &convert(dialect.name(), &session).0);
            let found = dialect::stranger(dialect, &ctx_format::Object::parse(&once[0]).expect("an object"));
            prop_assert!(found.is_none());
        }
    }
}

#[test]
fn texts_of_a_result_that_become_one_are_told() {
    let session = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}
"#;
    let (lines, report) = convert("gemini", session);
    assert!(lines[1].contains(r#"{"output":"x\ny"}"#), "{}", lines[1]);
    assert_eq!(losses(&report), ["AsText text 1"]);
    let (lines, report) = convert("copilot", session);
    assert!(lines[2].contains(r#""result":{"content":"x\ny"}"#), "{}", lines[2]);
    assert_eq!(losses(&report), ["AsText text 1"]);
}

#[test]
fn what_another_agent_told_codex_is_a_message_for_the_api() {
    let session = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"inter_agent_communication","payload":{"author":"/root/w","recipient":"/root","other_recipients":[],"content":"done","trigger_turn":false}}
"#;
    let item = r#"{"type":"agent_message","author":"/root/w","recipient":"/root","content":[{"type":"input_text","text":"done"}]}"#;
    let (lines, _) = convert("responses", session);
    let [line] = lines.as_slice() else {
        panic!("one item: {lines:?}");
    };
    let said = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"done"}]"#;
    assert!(line.starts_with(said), "the API does not know the item: {line}");
    let (lines, _) = convert("codex", session);
    assert!(lines.iter().any(|line| line.ends_with(&format!("{item}}}"))), "{lines:?}");
}
