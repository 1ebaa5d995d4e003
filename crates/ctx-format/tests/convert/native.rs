//! Tests that a conversion keeps or names whatever its source format knows, and keeps the roles and
//! the pairs of calls and results. The sessions are compared as JSON, without the code of the
//! conversion.

use std::collections::HashMap;

use ctx_format::dialect::ALL;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::lost::unnamed;
use crate::round_trip::cases;
use crate::support::convert;

/// The beginning of each word in a session, and of each id of a call.
const WORD: &str = "zq";
const ID: &str = "kid";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// Returns the exchanges of a format. In their records, each `~` stands for a word that occurs only
/// once, and `@1` for an id that occurs only in its exchange.
fn exchanges(format: &str) -> Value {
    let all = include_str!("native.json");
    let mut all: Value = serde_json::from_str(all).expect("JSON");
    all[match format {
        "claude-code" => "anthropic",
        "codex" => "responses",
        format => format,
    }]
    .take()
}

/// Makes a session of a format from the numbers of exchanges.
fn session(format: &str, numbers: &[usize]) -> Vec<String> {
    let exchanges = exchanges(format);
    let exchanges = exchanges.as_array().expect("a list");
    let mut words = 0_usize;
    let mut records = Vec::new();
    for (salt, number) in numbers.iter().enumerate() {
        let text = exchanges[number % exchanges.len()].to_string();
        let text = text.replace('@', &format!("{ID}{salt}_"));
        let mut filled = String::new();
        for (at, part) in text.split('~').enumerate() {
            if at > 0 {
                words += 1;
                let number = words * 7919 + 10_000_000;
                let letter = |place| LETTERS[number / 26_usize.pow(place) % 26];
                filled += WORD;
                filled.extend((0..6).map(letter).map(char::from));
            }
            filled += part;
        }
        let Value::Array(more) = serde_json::from_str(&filled).expect("JSON") else {
            panic!("a list of records");
        };
        records.extend(more);
    }
    let time = |at: usize| format!("2026-01-01T00:{:02}:{:02}.000Z", at / 60, at % 60);
    let log = |(at, record): (usize, Value)| match format {
        "claude-code" => {
            let parent = at.checked_sub(1).map(|at| at.to_string());
            json!({"type": record["role"], "uuid": at.to_string(), "parentUuid": parent, "sessionId": "s", "timestamp": time(at), "message": record})
        }
        "qwen" => {
            let parent = at.checked_sub(1).map(|at| at.to_string());
            let kind = if record["role"] == "model" { "assistant" } else { "user" };
            json!({"type": kind, "uuid": at.to_string(), "parentUuid": parent, "sessionId": "s", "timestamp": time(at), "cwd": "/", "message": record})
        }
        "codex" => json!({"timestamp": time(at), "type": "response_item", "payload": record}),
        "pi" => {
            let parent = at.checked_sub(1).map(|at| at.to_string());
            json!({"type": "message", "id": at.to_string(), "parentId": parent, "timestamp": time(at), "message": record})
        }
        "kimi" if record.get("role").is_none() => {
            json!({"type": "context.append_loop_event", "agentId": "main", "event": record, "time": at})
        }
        "kimi" => {
            json!({"type": "context.append_message", "agentId": "main", "message": record, "time": at})
        }
        "copilot" => {
            let mut record = record;
            let id = |at: usize| json!(format!("00000000-0000-4000-8000-{at:012}"));
            (record["id"], record["parentId"]) = (id(at + 1), id(at));
            record["timestamp"] = json!(time(at));
            record
        }
        "opencode" => {
            let mut record = record;
            let info = &mut record["info"];
            (info["id"], info["sessionID"]) = (json!(format!("msg_{at:04}")), json!("ses_s"));
            info["time"] = json!({"created": 1_767_225_600_000_u64 + at as u64 * 1000});
            record
        }
        "gemini" => {
            let mut record = record;
            (record["id"], record["timestamp"]) = (json!(at.to_string()), json!(time(at)));
            record
        }
        _ => record,
    };
    let head = match format {
        "codex" => Some(
            json!({"timestamp": time(0), "type": "session_meta", "payload": {"id": "s", "timestamp": time(0), "cwd": "/"}}),
        ),
        "pi" => Some(
            json!({"type": "session", "version": 3, "id": "s", "timestamp": time(0), "cwd": "/"}),
        ),
        "copilot" => Some(
            json!({"type": "session.start", "id": "00000000-0000-4000-8000-000000000000", "parentId": null, "timestamp": time(0), "data": {"sessionId": "s", "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102", "startTime": time(0)}}),
        ),
        "gemini" => Some(
            json!({"sessionId": "s", "projectHash": "p", "startTime": time(0), "lastUpdated": time(0), "kind": "main"}),
        ),
        _ => None,
    };
    let records = records.into_iter().enumerate().map(log);
    head.into_iter().chain(records).map(|record| record.to_string()).collect()
}

/// Where a word is: its speaker, and the id of the call or result that contains it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Place {
    speaker: String,
    id: String,
}

/// Returns the places of all words, and the words outside calls and results in order. The copies of
/// messages that Codex shows on its screen do not count.
fn places(lines: &[String]) -> (HashMap<String, Place>, Vec<String>) {
    let (mut places, mut order) = (HashMap::new(), Vec::new());
    for line in lines {
        let record: Value = serde_json::from_str(line).expect("JSON");
        if record["type"] != json!("event_msg") {
            walk(&record, &Place::default(), &mut places, &mut order);
        }
    }
    (places, order)
}

/// Returns true for an id of a call, which the conversion may have made.
fn is_call_id(id: &str) -> bool {
    id.starts_with(ID) || id.starts_with("call_ctx_")
}

fn walk(
    value: &Value,
    outer: &Place,
    places: &mut HashMap<String, Place>,
    order: &mut Vec<String>,
) {
    match value {
        Value::String(text) => {
            for (at, _) in text.match_indices(WORD) {
                let Some(word) = text.get(at..at + WORD.len() + 6) else { continue };
                if outer.id.is_empty() && !places.contains_key(word) {
                    order.push(word.to_owned());
                }
                places.entry(word.to_owned()).or_insert_with(|| outer.clone());
            }
        }
        Value::Array(list) => list.iter().for_each(|value| walk(value, outer, places, order)),
        Value::Object(members) => {
            let mut place = outer.clone();
            for (key, value) in members {
                let text = value.as_str().unwrap_or_default();
                if let ("info", Some(role)) = (key.as_str(), value["role"].as_str()) {
                    role.clone_into(&mut place.speaker);
                }
                match (key.as_str(), text) {
                    ("role", "model") | ("type", "gemini" | "assistant.message") => {
                        "assistant".clone_into(&mut place.speaker);
                    }
                    ("role", _) | ("type", "user") => text.clone_into(&mut place.speaker),
                    ("type", "user.message") => "user".clone_into(&mut place.speaker),
                    (key, id) if is_call_id(id) && key.to_lowercase().ends_with("id") => {
                        id.clone_into(&mut place.id);
                    }
                    _ => {}
                }
            }
            // Formats differ in whether the name of a file comes before its data, and the Copilot
            // CLI sends attachments after the text.
            let mut all: Vec<_> = members.iter().collect();
            all.sort_by_key(|(key, _)| match key.as_str() {
                "attachments" => 2,
                "filename" => 1,
                _ => 0,
            });
            for (_, value) in all {
                walk(value, &place, places, order);
            }
        }
        _ => {}
    }
}

/// The beginning of a PNG image in base64.
const PNG: &str = "iVBORw0KGgo";

/// Returns true if a text in a value is the data of an image.
fn has_image_as_text(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_image_as_text),
        Value::Object(members) => members.iter().any(|(key, value)| {
            let is_text = matches!(key.as_str(), "text" | "content" | "output" | "error");
            let is_image = |text: &str| is_text && text.contains(PNG);
            value.as_str().map_or_else(|| has_image_as_text(value), is_image)
        }),
        _ => false,
    }
}

/// Returns what differs between the places of the words in two sessions, apart from words that are
/// missing in the second.
fn moved(before: &[String], after: &[String]) -> Vec<String> {
    let ((before, mut order), (after, new_order)) = (places(before), places(after));
    let mut moved = Vec::new();
    for (word, place) in &before {
        let Some(new) = after.get(word) else { continue };
        let is_said = matches!(&*place.speaker, "user" | "assistant") && new.id.is_empty();
        let has_id = place.id.starts_with(ID);
        if has_id && new.id != place.id || !has_id && is_said && new.speaker != place.speaker {
            moved.push(format!("{word}: {place:?} {new:?}"));
        }
    }
    order.retain(|word| new_order.contains(word));
    let kept = new_order.iter().filter(|word| order.contains(word));
    if !kept.eq(&order) {
        moved.push(format!("order: {order:?} {new_order:?}"));
    }
    moved
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_a_format_knows_is_kept_or_named(numbers in proptest::collection::vec(any::<usize>(), 1..5)) {
        let mut faults = Vec::new();
        for from in ALL {
            let lines = session(from.name(), &numbers);
            for to in ALL {
                let pair = format!("{} {}", from.name(), to.name());
                let there = convert(to.name(), &(lines.join("\n") + "\n")).0;
                let back = convert(from.name(), &(there.join("\n") + "\n")).0;
                for (before, after) in [(&lines, &there), (&there, &back)] {
                    faults.extend(moved(before, after).iter().map(|it| format!("{pair}: {it}")));
                }
                let is_image = |line: &&String| has_image_as_text(&serde_json::from_str(line).expect("JSON"));
                faults.extend(there.iter().find(is_image).map(|line| format!("{pair}: {line}")));
                for (from, to, lines) in [(from, to, &lines), (to, from, &there)] {
                    let unnamed = unnamed(from, to, lines);
                    let unnamed = unnamed.iter().filter(|text| text.contains(WORD));
                    faults.extend(unnamed.map(|it| format!("{pair}: unnamed: {it}")));
                }
            }
        }
        prop_assert!(faults.is_empty(), "{faults:#?}");
    }
}
