//! A search for the arguments of a later call finds the message that first contained them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::field::Field;

/// Collects the texts of a message: its content and the arguments of its calls.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(inner @ Value::Object(_)) => texts(&inner, found),
            _ => found.push(text.clone()),
        },
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(members) => members.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Lines of call arguments in the second half of a session that occur in an earlier message, each
/// with the line number of the first such message.
fn queries(lines: &[&str]) -> Vec<(String, u64)> {
    let values: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let held = values.iter().map(|value| {
        let mut found = Vec::new();
        texts(&value["content"], &mut found);
        texts(&value["tool_calls"], &mut found);
        found.join("\n")
    });
    let held: Vec<String> = held.collect();
    let mut queries = Vec::new();
    for (number, value) in values.iter().enumerate().skip(lines.len() / 2) {
        let mut arguments = Vec::new();
        for call in value["tool_calls"].as_array().into_iter().flatten() {
            texts(&call["function"]["arguments"], &mut arguments);
        }
        let parts = arguments.iter().flat_map(|text| text.lines());
        let parts = parts.map(str::trim).filter(|part| part.contains(char::is_alphanumeric));
        for part in parts {
            let first = held[..number].iter().position(|text| text.contains(part));
            if let Some(first) = first {
                queries.push((part.to_owned(), first as u64 + 1));
            }
        }
    }
    queries.sort();
    queries.dedup();
    queries
}

/// The first result of a search for a later call's arguments is the message that first contained
/// them.
#[test]
fn arguments_of_later_calls_find_where_they_come_from() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/session.jsonl");
    let session = fs::read_to_string(path).expect("the example");
    let lines: Vec<&str> = session.lines().collect();
    let field = Field::new().with_memory();
    let id = field.snapshot("example", &lines);
    let queries = queries(&lines);
    assert!(queries.len() >= 50, "{queries:?}");
    for (query, line) in queries.into_iter().step_by(4) {
        let found = field.refs(&["--kind", "snapshot", "--", &query]);
        assert_eq!(found[0], format!("{id}:{line}"), "{query}");
    }
}
