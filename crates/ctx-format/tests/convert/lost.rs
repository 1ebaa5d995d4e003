//! Tests that a conversion names everything that it loses.

use ctx_format::convert::LossKind::{
    Field, Instructions, Line, Media, Name, Part, Reasoning, Record,
};
use ctx_format::dialect::{ALL, Dialect};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::round_trip::{cases, records, session};
use crate::support::convert;

/// Something that a session may contain and that few dialects know.
#[derive(Clone, Debug)]
struct Extra {
    /// Which record and which value in it, counted from the first and beginning again at the end.
    place: (usize, usize),
    value: Value,
}

/// Content that some dialects can represent, and content that none of them can.
fn extra() -> impl Strategy<Value = Extra> {
    let value = (0..8_usize, "[a-z]{8}").prop_map(|(kind, word)| match kind {
        0 => json!({"type": "text", "text": word}),
        1 => json!({"type": "thinking", "thinking": word, "signature": word.repeat(2)}),
        2 => json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": word}}),
        3 => json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{word}"), "detail": "low"}}),
        4 => json!({"type": "input_file", "filename": "a.pdf", "file_data": format!("data:application/pdf;base64,{word}")}),
        5 => json!({"type": word, "nested": {"list": [{"a": word.repeat(2)}, word.repeat(3)]}}),
        6 => json!({"text": word, "thought": true, "thoughtSignature": word.repeat(2)}),
        _ => json!(word),
    });
    (any::<(usize, usize)>(), value).prop_map(|(place, value)| Extra { place, value })
}

/// The values in a record that the model receives, each with its path in the record.
fn sent<'v>(dialect: &dyn Dialect, record: &'v mut Value) -> Vec<(String, &'v mut Value)> {
    let is = |record: &Value, kind: &str| record["type"] == json!(kind);
    match dialect.name() {
        "claude-code" => {
            record.get_mut("message").map(|it| (".message".to_owned(), it)).into_iter().collect()
        }
        "codex" if is(record, "response_item") => {
            vec![(".payload".to_owned(), &mut record["payload"])]
        }
        "kimi" if is(record, "context.append_message") => {
            let message = record["message"].as_object_mut().expect("an object").iter_mut();
            let sent = message.filter(|(key, _)| matches!(key.as_str(), "content" | "toolCalls"));
            sent.map(|(key, value)| (format!(".message.{key}"), value)).collect()
        }
        "pi" if is(record, "message") => {
            vec![(".message.content".to_owned(), &mut record["message"]["content"])]
        }
        "qwen" if record.get("message").is_some() => {
            vec![(".message.parts".to_owned(), &mut record["message"]["parts"])]
        }
        "opencode" => {
            let parts = record["parts"].as_array_mut().expect("parts").iter_mut().enumerate();
            let values = parts.flat_map(|(at, part)| {
                let path = format!(".parts[{at}]");
                let members = part.as_object_mut().expect("an object").iter_mut();
                members.flat_map(move |(key, value)| match key.as_str() {
                    "text" | "url" => vec![(format!("{path}.{key}"), value)],
                    "state" => {
                        let sent = ["input", "output", "error", "attachments"];
                        let members = value.as_object_mut().expect("an object").iter_mut();
                        let members = members.filter(|(key, _)| sent.contains(&key.as_str()));
                        members.map(|(key, it)| (format!("{path}.state.{key}"), it)).collect()
                    }
                    _ => Vec::new(),
                })
            });
            values.collect()
        }
        "gemini" if record.get("content").is_some() => {
            let mut parts = record["content"].as_array().into_iter().flatten();
            // The client then sends no calls and thoughts from outside the content.
            let is_whole = parts
                .any(|part| part.get("functionCall").is_some() || part.get("thought").is_some());
            let members = record.as_object_mut().expect("an object").iter_mut();
            let sent = members.flat_map(|(key, value)| match key.as_str() {
                "toolCalls" if is_whole => {
                    let calls = value.as_array_mut().into_iter().flatten().enumerate();
                    let results = calls.filter_map(|(at, call)| {
                        Some((format!(".toolCalls[{at}].result"), call.get_mut("result")?))
                    });
                    results.collect()
                }
                "content" => vec![(".content".to_owned(), value)],
                "thoughts" | "toolCalls" if !is_whole => vec![(format!(".{key}"), value)],
                _ => Vec::new(),
            });
            sent.collect()
        }
        "copilot" => {
            let members = record["data"].as_object_mut().into_iter().flatten();
            let sent = members.flat_map(|(key, value)| match (key.as_str(), value) {
                ("content" | "transformedContent", value) => vec![(format!(".data.{key}"), value)],
                ("result", value) if value.get("content").is_some() => {
                    vec![(".data.result.content".to_owned(), &mut value["content"])]
                }
                ("error", value) => vec![(".data.error.message".to_owned(), &mut value["message"])],
                ("toolRequests", Value::Array(calls)) => {
                    let calls = calls.iter_mut().enumerate();
                    let arguments = calls.filter_map(|(at, call)| {
                        let path = format!(".data.toolRequests[{at}].arguments");
                        Some((path, call.get_mut("arguments")?))
                    });
                    arguments.collect()
                }
                ("attachments", Value::Array(files)) => {
                    let files = files.iter_mut().enumerate();
                    let tagged = files.filter_map(|(at, file)| {
                        let key = if is(file, "blob") { "data" } else { "taggedFilesEntry" };
                        Some((format!(".data.attachments[{at}]"), file.get_mut(key)?))
                    });
                    tagged.collect()
                }
                _ => Vec::new(),
            });
            let mut sent: Vec<_> = sent.collect();
            if sent.iter().any(|(path, _)| path == ".data.transformedContent") {
                sent.retain(|(path, _)| path != ".data.content");
            }
            sent
        }
        "codex" | "gemini" | "kimi" | "pi" | "qwen" => Vec::new(),
        _ => vec![(String::new(), record)],
    }
}

/// Adds `extra` to an object as a member, or to a list as an element.
fn add(value: &mut Value, mut place: usize, extra: &Value) {
    let mut within = Vec::new();
    collect(value, &mut within);
    if within.is_empty() {
        return;
    }
    place %= within.len();
    match value.pointer_mut(&within[place]) {
        Some(Value::Array(list)) => list.push(extra.clone()),
        Some(value) => value["novel"] = extra.clone(),
        None => {}
    }
}

/// The places of all objects and lists in a value.
fn collect(value: &Value, places: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, it)| (at.to_string(), it)).collect()
        }
        Value::Object(members) => members.iter().map(|(key, it)| (key.clone(), it)).collect(),
        _ => return,
    };
    places.push(String::new());
    for (step, value) in inner {
        let mut own = Vec::new();
        collect(value, &mut own);
        places.extend(own.into_iter().map(|place| format!("/{step}{place}")));
    }
}

/// All strings in a value, each with its path, except those that only identify something.
fn strings(value: &Value, path: &str, all: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => all.push((path.to_owned(), text.clone())),
        Value::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                strings(value, &format!("{path}[{at}]"), all);
            }
        }
        Value::Object(members) => {
            let names = ["id", "role", "model", "status", "stop_reason", "timestamp", "usage"];
            for (key, value) in members {
                let is_kind = key == "type" && members.len() > 1;
                let is_id = key.ends_with("_id") || key.ends_with("Id");
                if !is_kind && !is_id && !names.contains(&key.as_str()) {
                    strings(value, &format!("{path}.{key}"), all);
                }
            }
        }
        _ => {}
    }
}

/// Returns true if one of the `strings` holds `text`, as text or within JSON.
fn holds(strings: &[(String, String)], text: &str) -> bool {
    let quoted = json!(text).to_string();
    let (inner, data) = (&quoted[1..quoted.len() - 1], text.split_once(";base64,"));
    strings.iter().any(|(_, it)| {
        it.contains(text) || it.contains(inner) || data.is_some_and(|(_, data)| it.contains(data))
    })
}

/// The strings that are neither in the new session nor named in the report.
pub(crate) fn unnamed(from: &dyn Dialect, to: &dyn Dialect, lines: &[String]) -> Vec<String> {
    let (written, report) = convert(to.name(), &(lines.join("\n") + "\n"));
    let mut found = Vec::new();
    for line in &written {
        strings(&serde_json::from_str(line).expect("JSON"), "", &mut found);
    }
    // Whatever is an object here may be a string with JSON there, and the reverse.
    found.extend(written.iter().map(|line| (String::new(), line.clone())));
    let list = if from.is_log() { "records" } else { "messages" };
    // Losses of other kinds do not drop the value at their path.
    let drops = [Field, Instructions, Line, Media, Name, Part, Reasoning, Record];
    let losses = report.losses.iter().filter(|loss| drops.contains(&loss.kind));
    let paths: Vec<&String> = losses.flat_map(|loss| &loss.paths).collect();
    let mut unnamed = Vec::new();
    let mut records = records(lines);
    for (number, line) in lines.iter().enumerate() {
        let record = records.next().expect("it can be read").expect("a record for each line");
        let held = record.whole_object().map(|object| from.held(object)).unwrap_or_default();
        // Each format wraps a summary in words of its own.
        if record.is_outside() || held.iter().any(|held| held.summary.is_some()) {
            continue;
        }
        let mut record: Value = serde_json::from_str(line).expect("JSON");
        for (path, value) in sent(from, &mut record) {
            let mut all = Vec::new();
            strings(value, &format!("{list}[{number}]{path}"), &mut all);
            all.retain(|(path, text)| {
                let is_named = |named: &&String| path.starts_with(named.as_str());
                !text.trim().is_empty() && !holds(&found, text) && !paths.iter().any(is_named)
            });
            unnamed.extend(all.into_iter().map(|(path, text)| format!("{path}: {text}")));
        }
    }
    unnamed
}

proptest! {
    #![proptest_config(cases())]

    /// Each string that the model receives is in the new session, or below a path in the report.
    #[test]
    fn what_is_lost_is_named(session in session(), extras in proptest::collection::vec(extra(), 0..6)) {
        for from in ALL {
            let mut lines = convert(from.name(), &session).0;
            for Extra { place: (number, place), value } in &extras {
                let number = number % lines.len();
                let mut record: Value = serde_json::from_str(&lines[number]).expect("JSON");
                // The Gemini CLI sends the calls outside the content only if the content has no
                // thought.
                if value.get("thought").is_some() && record.get("toolCalls").is_some() {
                    continue;
                }
                let sent = sent(from, &mut record).into_iter();
                let is_outside = |path: &str| path.starts_with(".t");
                for (_, sent) in sent.filter(|(path, _)| !is_outside(path)) {
                    add(sent, *place, value);
                }
                lines[number] = record.to_string();
            }
            for to in ALL {
                let unnamed = unnamed(from, to, &lines);
                prop_assert!(unnamed.is_empty(), "{} {}: {unnamed:?}\n{lines:#?}", from.name(), to.name());
            }
        }
    }
}

/// The losses of a session, each as kind and paths.
fn paths(to: &str, session: &str) -> Vec<String> {
    let losses = convert(to, session).1.losses.into_iter();
    losses.map(|loss| format!("{:?} {}", loss.kind, loss.paths.join(" "))).collect()
}

#[test]
fn each_loss_has_its_path() {
    let session = r#"{"role":"assistant","content":"a \ud800"}
{"role":"user","content":[{"type":"text","text":"b"},{"type":"tool_result","tool_use_id":"x","content":"lone"}]}
{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"tool_use","id":"t","name":"f","input":7},{"type":"tool_use","id":"u","name":"f","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"odd"}]}]}
{"role":"user","content":" "}
{"role":"assistant","content":"d"}
"#;
    let expected = [
        "LoneSurrogate messages[0].content",
        "LoneResult messages[1].content[1]",
        "Arguments messages[2].content[1]",
        "ErrorMark messages[3].content[0]",
        "AsText messages[3].content[0]",
        "MissingResult messages[2].content[2]",
        "Empty messages[4]",
    ];
    let mut found = paths("chat", session);
    for path in expected {
        let at = found.iter().position(|it| it == path);
        found.remove(at.unwrap_or_else(|| panic!("{path} is not in {found:?}")));
    }
    assert!(found.is_empty(), "{found:?}");
    let session = r#"{"role":"user","content":"/clear"}
{"role":"assistant","content":"e"}
{"role":"user","name":"ctx_summary","content":"all"}
"#;
    let expected = ["Command messages[0]", "BeforeSummary messages[0] messages[1]"];
    assert_eq!(paths("gemini", session), expected);
    let session = "{\"role\":\"system\",\"content\":\"f\"}\n{\"role\":\"assistant\",\"content\":\"g\",\"refusal\":null}\n";
    assert_eq!(paths("anthropic", session), ["Beginning messages[1]"]);
}
