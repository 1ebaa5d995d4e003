//! Secrets of many kinds all over a session: none of them is in any output.

use std::fs;
use std::path::Path;

use ctx_testkit::{Act, Case, Server, secrets};
use serde_json::json;

/// Returns the text of each secret in the session, and the part that must not appear again.
fn planted() -> Vec<(String, String)> {
    let all = secrets().into_iter();
    all.map(|planted| (planted.text, planted.secret)).collect()
}

/// Returns a session with each text in a user message, in a reply, in arguments and in a result.
pub(crate) fn session(tagged: bool) -> String {
    let mut records = Vec::new();
    for (number, (text, _)) in planted().iter().enumerate() {
        let id = format!("c{number}");
        let arguments = json!({ "command": text }).to_string();
        records.push(json!({"role": "user", "content": format!("We decided to use this: {text}")}));
        records.push(json!({"role": "assistant", "content": format!("The service lives in src/a.rs, it wants {text} there."),
            "tool_calls": [{"id": id, "type": "function", "function": {"name": "Bash", "arguments": arguments}}]}));
        records.push(json!({"role": "tool", "tool_call_id": id, "content": format!("Error: no login with {text}")}));
    }
    let all: Vec<String> = planted().into_iter().map(|(text, _)| text).collect();
    records.push(json!({"role": "user", "name": "ctx_summary", "content": all.join("\n\n")}));
    let count = records.len() + 1;
    let mut text = String::new();
    for record in &records {
        let record = record.to_string();
        match record.strip_prefix('{').filter(|_| tagged) {
            Some(rest) => text.extend(["{\"_ctx\":{\"zone\":\"old\"},", rest, "\n"]),
            None => text.extend([record.as_str(), "\n"]),
        }
    }
    let tag = format!("\"_ctx\":{{\"zone\":\"keep\",\"end\":{count}}},");
    let tag = if tagged { tag } else { String::new() };
    text + &format!("{{{tag}\"role\":\"user\",\"content\":\"go on\"}}\n")
}

pub(crate) fn assert_clean(place: &str, text: &str) {
    for (number, (_, secret)) in planted().iter().enumerate() {
        if secret.len() < 6 {
            // The digits of a PIN also occur within times and hashes.
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
            assert!(!words.any(|word| word == secret), "{place}: secret {number}: {secret}");
            continue;
        }
        // The session has each text unchanged, and as quoted text.
        assert!(!text.contains(secret.as_str()), "{place}: secret {number}: {secret}");
        let head = &secret[..secret.len().min(24)];
        assert!(!text.contains(head), "{place}: head of secret {number}: {head}");
    }
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn there_are_more_than_fifty_kinds() {
    assert!(planted().len() >= 54);
}

/// None of the 54 kinds of secrets is sent to a model or kept in an output.
#[test]
fn no_secret_passes_the_rule_summary() {
    let done = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--method", "rule", "-v"])
        .stdin(session(true))
        .stdout_has("go on")
        .stderr_has("secrets removed from the summary: ")
        .run();
    assert_clean("summary", &String::from_utf8_lossy(&done.stdout));
}

/// None of the 54 kinds of secrets is sent to a model or kept in an output.
#[test]
fn no_secret_passes_the_extractive_summary() {
    let done = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--method", "extractive", "--summary-tokens", "8000"])
        .stdin(session(true))
        .stdout_has("go on")
        .stderr_has("")
        .run();
    assert_clean("summary", &String::from_utf8_lossy(&done.stdout));
}

/// None of the 54 kinds of secrets is sent to a model or kept in an output.
#[test]
fn no_secret_is_sent_to_a_model_or_taken_from_its_answer() {
    let all: Vec<String> = planted().into_iter().map(|(text, _)| text).collect();
    let answer = format!("## 任务目标\nuse\n\n## 已完成\n{}", all.join("\n"));
    let choice = json!({"message": {"content": answer}, "finish_reason": "stop"});
    let server = Server::new([Act::ok(&json!({"choices": [choice]}).to_string())]);
    let done = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args([
            "--method",
            "llm",
            "--llm-window",
            "200000",
            "--on-failure",
            "extractive",
            "--instructions",
            "mind password=hunter2x",
        ])
        .env("CTX_LLM_URL", &server.url)
        .stdin(session(true))
        .stdout_has("go on")
        .stderr_has("")
        .run();
    assert_clean("summary", &String::from_utf8_lossy(&done.stdout));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_clean("request", &requests[0]);
    assert!(!requests[0].contains("hunter2x"));
    assert!(requests[0].matches("[REDACTED]").count() > 90);
}

/// None of the 54 kinds of secrets is sent to a model or kept in an output.
#[test]
fn no_secret_becomes_an_item_of_memory() {
    let items = Case::new(env!("CARGO_BIN_EXE_ctx-extract"))
        .args(["-s", "demo"])
        .stdin(session(false))
        .stdout_has("[REDACTED]")
        .run();
    assert_clean("items", &String::from_utf8_lossy(&items.stdout));
    let merged = Case::new(env!("CARGO_BIN_EXE_ctx-extract"))
        .args(["-s", "demo", "--into", "memory"])
        .stdin(session(false))
        .stdout_any()
        .run();
    let written = files(&merged.dir().join("memory"));
    assert!(written.len() >= 2, "{written:?}");
    for file in written {
        let text = fs::read_to_string(&file).expect("a memory file");
        assert_clean(&file.display().to_string(), &text);
    }
}
