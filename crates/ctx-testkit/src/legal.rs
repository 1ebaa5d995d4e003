//! Generates sessions that an API accepts, and checks sessions against the reference of the API,
//! independently of the code under test.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

/// The API that a session is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Anthropic,
}

/// A part of a session.
#[derive(Clone, Debug)]
enum Event {
    /// This many questions of the user with the model's answers, without tool calls.
    Talk(usize),
    /// A reply with this many calls, and their results.
    Calls(usize),
}

/// Generates a session in three parts. Each part begins with the user and ends with the model.
pub fn legal_session() -> impl Strategy<Value = (Api, [String; 3])> {
    let event = prop_oneof![
        6 => (1usize..8).prop_map(Event::Talk),
        1 => (60usize..80).prop_map(Event::Talk),
        3 => (1usize..4).prop_map(Event::Calls),
    ];
    let part = proptest::collection::vec(event, 1..5);
    let api = prop_oneof![Just(Api::Chat), Just(Api::Anthropic)];
    (api, [part.clone(), part.clone(), part]).prop_map(|(api, parts)| {
        let mut number = 0;
        (api, parts.map(|events| records(api, &events, &mut number)))
    })
}

fn records(api: Api, events: &[Event], number: &mut usize) -> String {
    let mut records = Vec::new();
    for event in events {
        *number += 1;
        match event {
            Event::Talk(count) => {
                for _ in 0..*count {
                    *number += 1;
                    records.push(says("user", *number));
                    records.push(says("assistant", *number));
                }
            }
            Event::Calls(count) => {
                records.push(says("user", *number));
                records.extend(exchange(api, *count, *number));
                records.push(says("assistant", *number));
            }
        }
    }
    let lines = records.into_iter().map(|record| format!("{record}\n"));
    lines.collect()
}

fn says(role: &str, number: usize) -> Value {
    let text = format!("About part {number}: {}", "and some more words ".repeat(12));
    json!({"role": role, "content": text})
}

fn exchange(api: Api, count: usize, number: usize) -> Vec<Value> {
    let id = |at| format!("call_{number}_{at}");
    let found = "a line of the file\n".repeat(10);
    let calls = 0..count;
    match api {
        Api::Chat => {
            let call = |at| json!({"id": id(at), "type": "function", "function": {"name": "read", "arguments": "{}"}});
            let call: Vec<Value> = calls.clone().map(call).collect();
            let result =
                |at| json!({"role": "tool", "tool_call_id": id(at), "content": found.clone()});
            let reply = json!({"role": "assistant", "content": null, "tool_calls": call});
            std::iter::once(reply).chain(calls.map(result)).collect()
        }
        Api::Anthropic => {
            let call = |at| json!({"type": "tool_use", "id": id(at), "name": "read", "input": {}});
            let call: Vec<Value> = calls.clone().map(call).collect();
            let result = |at| json!({"type": "tool_result", "tool_use_id": id(at), "content": found.clone()});
            let results: Vec<Value> = calls.map(result).collect();
            vec![
                json!({"role": "assistant", "content": call}),
                json!({"role": "user", "content": results}),
            ]
        }
    }
}

/// Returns why the API would refuse a session; `None` if the API would accept it.
pub fn refusal(api: Api, session: &str) -> Option<String> {
    let records = session.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("a record");
        record
    });
    let records: Vec<Value> = records.collect();
    let by_itself = records.iter().find_map(|record| refused_alone(api, record));
    by_itself.or_else(|| match api {
        Api::Chat => refused_as_chat(&records),
        Api::Anthropic => refused_as_anthropic(&records),
    })
}

fn refused_alone(api: Api, record: &Value) -> Option<String> {
    let (roles, keys): (&[&str], &[&str]) = match api {
        Api::Chat => (
            &["system", "user", "assistant", "tool"],
            &["role", "content", "name", "tool_calls", "tool_call_id"],
        ),
        Api::Anthropic => (&["user", "assistant"], &["role", "content"]),
    };
    let members = record.as_object().expect("an object");
    let key = members.keys().find(|key| !keys.contains(&key.as_str()));
    if let Some(key) = key {
        return Some(format!("{key}: extra inputs are not permitted"));
    }
    let role = record["role"].as_str().expect("a role");
    (!roles.contains(&role)).then(|| format!("unexpected role {role}"))
}

fn refused_as_chat(records: &[Value]) -> Option<String> {
    let mut open = BTreeSet::new();
    for record in records {
        if record["role"] == "tool" {
            let id = record["tool_call_id"].as_str().expect("an id").to_owned();
            if !open.remove(&id) {
                return Some(format!("{id} answers no call"));
            }
            continue;
        }
        if !open.is_empty() {
            return Some(format!("no answers to {open:?}"));
        }
        let calls = record["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.map(|call| call["id"].as_str().expect("an id").to_owned()));
    }
    (!open.is_empty()).then(|| format!("no answers to {open:?}"))
}

fn refused_as_anthropic(records: &[Value]) -> Option<String> {
    if records.first().is_some_and(|record| record["role"] != "user") {
        return Some("the first message is not the user's".to_owned());
    }
    let ids = |record: &Value, kind: &str, key: &str| -> BTreeSet<String> {
        let blocks = record["content"].as_array().into_iter().flatten();
        let blocks = blocks.filter(|block| block["type"] == kind);
        blocks.map(|block| block[key].as_str().expect("an id").to_owned()).collect()
    };
    let mut open = BTreeSet::new();
    for record in records {
        let results = ids(record, "tool_result", "tool_use_id");
        if results != open {
            return Some(format!("calls {open:?}, results {results:?}"));
        }
        open = ids(record, "tool_use", "id");
    }
    (!open.is_empty()).then(|| format!("no answers to {open:?}"))
}

#[cfg(test)]
mod tests {
    use super::{Api, Event, legal_session, records, refusal};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_is_generated_is_accepted((api, parts) in legal_session()) {
            prop_assert_eq!(refusal(api, &parts.concat()), None);
        }
    }

    #[test]
    fn what_the_api_does_not_take_is_refused() {
        let session = |api| records(api, &[Event::Calls(2)], &mut 0);
        let (chat, anthropic) = (session(Api::Chat), session(Api::Anthropic));
        let without = |session: &str, line: usize| {
            let mut lines: Vec<&str> = session.lines().collect();
            lines.remove(line);
            lines.join("\n")
        };
        for line in [1, 2, 3] {
            assert!(refusal(Api::Chat, &without(&chat, line)).is_some());
        }
        for line in [0, 1, 2] {
            assert!(refusal(Api::Anthropic, &without(&anthropic, line)).is_some());
        }
        let named = r#"{"role":"user","name":"ctx_summary","content":"x"}"#;
        assert!(refusal(Api::Anthropic, named).is_some());
        assert_eq!(refusal(Api::Chat, named), None);
        assert!(refusal(Api::Anthropic, &chat).is_some());
    }
}
