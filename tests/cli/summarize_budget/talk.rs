//! Sessions for budgets, in two dialects, long enough that something has to be removed.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// An event in a session.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    User(String),
    Reply(String),
    /// A call with its arguments, and its result.
    Call(String, String),
    /// Two calls in one message, and their results.
    Calls(String, String),
}

/// Returns the records of a session in `dialect`, one on each line, with blanks that a JSON writer
/// would not write.
pub(crate) fn session(dialect: &str, system: Option<&str>, events: &[Event]) -> String {
    let mut text = String::new();
    if let Some(system) = system {
        let _ = writeln!(text, "{{\"role\": \"system\", \"content\": {}}}", json!(system));
    }
    for (number, event) in events.iter().enumerate() {
        let records =
            if dialect == "anthropic" { anthropic(number, event) } else { chat(number, event) };
        for record in records {
            let record = record.to_string();
            let _ = writeln!(text, "{{ {}", record.trim_start_matches('{'));
        }
    }
    text
}

fn chat(number: usize, event: &Event) -> Vec<Value> {
    let call = |id: &str, arguments: &str| {
        let arguments = json!({ "command": arguments }).to_string();
        json!({"id": id, "type": "function", "function": {"name": "run", "arguments": arguments}})
    };
    let calls =
        |calls: Vec<Value>| json!({"role": "assistant", "content": null, "tool_calls": calls});
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let (one, two) = (format!("c{number}a"), format!("c{number}b"));
    match event {
        Event::User(text) => vec![json!({"role": "user", "content": text})],
        Event::Reply(text) => vec![json!({"role": "assistant", "content": text})],
        Event::Call(arguments, text) => {
            vec![calls(vec![call(&one, arguments)]), result(&one, text)]
        }
        Event::Calls(first, second) => vec![
            calls(vec![call(&one, "first"), call(&two, "second")]),
            result(&one, first),
            result(&two, second),
        ],
    }
}

fn anthropic(number: usize, event: &Event) -> Vec<Value> {
    let (one, two) = (format!("t{number}a"), format!("t{number}b"));
    let call = |id: &str, arguments: &str| json!({"type": "tool_use", "id": id, "name": "run", "input": {"command": arguments}});
    let result =
        |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let said = |role: &str, content: Value| json!({"role": role, "content": content});
    match event {
        Event::User(text) => vec![said("user", json!(text))],
        Event::Reply(text) => vec![said("assistant", json!([{"type": "text", "text": text}]))],
        Event::Call(arguments, text) => vec![
            said("assistant", json!([call(&one, arguments)])),
            said("user", json!([result(&one, text)])),
        ],
        Event::Calls(first, second) => vec![
            said("assistant", json!([call(&one, "first"), call(&two, "second")])),
            said("user", json!([result(&one, first), result(&two, second)])),
        ],
    }
}

/// Sentences about `count` things, each with its own name and number.
pub(crate) fn sentences(first: usize, count: usize) -> String {
    let mut text = String::new();
    for n in first..first + count {
        let _ = write!(
            text,
            "The worker number {n} reads src/part_{n}.rs and listens on port {}. ",
            4000 + n
        );
    }
    text
}

/// Returns a system message, a task, and twenty steps with results of many lines.
pub(crate) fn work() -> String {
    let mut events = vec![Event::User(
        "Please repair the importer in src/feed.rs. Do not touch the migrations folder.".to_owned(),
    )];
    for step in 0..20 {
        events.push(Event::Reply(format!("Step {step}: the next part is src/part_{step}.rs.")));
        events.push(Event::Call(format!("cat src/part_{step}.rs"), sentences(10 * step, 30)));
    }
    events.push(Event::User("Now run the tests once more, and tell me what fails.".to_owned()));
    events.push(Event::Call("cargo test".to_owned(), sentences(900, 40)));
    events.push(Event::Reply("Two tests fail: feed_dates and feed_names.".to_owned()));
    session("chat", Some("You are a careful engineer."), &events)
}
