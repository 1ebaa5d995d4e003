//! Secrets of many kinds, planted all over a session: none is in any output.

use std::fs;
use std::path::Path;

use ctx_testkit::{Act, Case, Server};
use serde_json::json;

/// Planted secrets: the text as it stands in the session, and the part of it
/// that must not be seen again. Made of pieces, so that no secret stands in this file.
fn planted() -> Vec<(String, String)> {
    let random = "aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5fG7hI9";
    let value = ["q9X4fKpTz81m", "WvB7nRc2LdYs6HgJ3e"].concat();
    let hex = "9f86d081884c7d65".repeat(2);
    let word = ["correct-horse", "-battery"].concat();
    let pem = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let key = |prefix: &str, length: usize| {
        let key = [prefix, &random[..length]].concat();
        (key.clone(), key)
    };
    let framed = |before: &str, secret: &str, after: &str| {
        ([before, secret, after].concat(), secret.to_owned())
    };
    vec![
        framed("id ", &["AKIA", "QWERTY7UIOP3ASDF"].concat(), ""),
        framed("aws_secret_access_key = ", &value, ""),
        key("ghp_", 36),
        key("github_pat_11ABCDEFG0", 40),
        key("glpat-", 20),
        key("xoxb-1234567890-1234567890-", 24),
        framed(
            "https://hooks.slack.com/services/T01234567/B01234567/",
            &value,
            "",
        ),
        key("sk_live_", 24),
        key("sk-proj-", 40),
        key("sk-ant-api03-", 40),
        key("AIza", 35),
        framed(
            "{\"type\":\"service_account\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n",
            pem,
            "\\n-----END PRIVATE KEY-----\\n\"}",
        ),
        framed(
            "eyJhbGciOiJIUzI1NiJ9.",
            &["eyJzdWIiOiIx", "MjM0NTYifQ"].concat(),
            ".SflKxwRJSMeKKF2QT4fw",
        ),
        key("npm_", 36),
        key("pypi-AgEIcHlwaS5vcmc", 40),
        key("hf_", 34),
        framed(
            "AccountName=a;AccountKey=",
            &[&value, &value[..]].concat(),
            "==;",
        ),
        framed(
            "https://a.blob.core.windows.net/c?sv=2022&sig=",
            &[&value, "%2Bb"].concat(),
            "%3D",
        ),
        framed("TWILIO_AUTH_TOKEN=", &hex, ""),
        framed("", &format!("{}{}.{random}A", "SG.", &random[..22]), ""),
        framed("bot ", &["123456789:AA", &random[..33]].concat(), ""),
        framed(
            "",
            &["MTk4NjIyNDgzNDcxOTI1MjQ4", ".Cl2FMQ.", &random[..27]].concat(),
            "",
        ),
        framed("postgres://app:", &value, "@db.local:5432/x"),
        framed("Authorization: Basic ", &value, ""),
        framed("Authorization: Bearer ", &value, ""),
        framed("password=", &word, ""),
        framed("密码：", &word, "。"),
        framed("{\"api_key\":\"", &value, "\"}"),
        framed(
            "-----BEGIN RSA PRIVATE KEY-----\n",
            pem,
            "\n-----END RSA PRIVATE KEY-----",
        ),
        framed("SESSION_SECRET=", &value, "\n"),
        framed("\"encryption_key\": \"", &value, "\""),
        framed(
            "it printed ",
            &["Zx8K2q7Lw4Vn9Tb3Rm6Yc1H", "p5Jd0Gs8FaQeWu"].concat(),
            " alone",
        ),
    ]
}

/// A session in which each text stands in what the user says, in the model's
/// words, in arguments and in a result.
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
        // As it is, and as it stands in quoted text.
        assert!(
            !text.contains(secret.as_str()),
            "{place}: secret {number}: {secret}"
        );
        let head = &secret[..secret.len().min(24)];
        assert!(
            !text.contains(head),
            "{place}: head of secret {number}: {head}"
        );
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
fn there_are_more_than_twenty_kinds() {
    assert!(planted().len() >= 30);
}

#[test]
fn no_secret_passes_the_rule_summary() {
    let done = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--method", "rule", "-v"])
        .stdin(session(true))
        .stdout_has("go on")
        .stderr_has("secrets taken out of the summary: ")
        .run();
    assert_clean("summary", &String::from_utf8_lossy(&done.stdout));
}

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
