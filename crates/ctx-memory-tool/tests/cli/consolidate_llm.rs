//! `ctx-memory consolidate` with a language model.

use std::fs;

use ctx_testkit::{Act, Server};

use crate::field::Field;

fn said(text: &str) -> Act {
    let choice = serde_json::json!({"message": {"content": text}, "finish_reason": "stop"});
    Act::ok(&serde_json::json!({"choices": [choice]}).to_string())
}

fn field() -> Field {
    let field = Field::new();
    field.put("FORMAT", "{\"format\":1}\n");
    field.put(
        "memory/extracted/preferences.md",
        "# Preferences\n\n- Never push to main. (user, a:1, 2026-11-01)\n\
         - Please do never push anything to main. (user, b:2, 2026-11-02)\n",
    );
    field.put(
        "memory/extracted/facts.md",
        "# Facts\n\n- The login of the test server is password=hunter2x. (user, a:8)\n",
    );
    field.put(
        "memory/extracted/decisions.md",
        "# Decisions\n\n- We decided to use SQLite for the cache. (user, a:3, 2026-11-01)\n\
         - Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n",
    );
    field
}

fn lines(field: &Field) -> Vec<String> {
    let master = fs::read_to_string(field.root().join("memory/summary/master.md"));
    let master = master.expect("the master");
    let lines = master.lines().filter(|line| line.starts_with("- "));
    lines.map(str::to_owned).collect()
}

const REDIS: &str = "- Let's use Redis instead of SQLite. (user, b:4; 2026-11-03)";

/// 16: a model's words are told, with all sources; what holds no more is not asked about, and secrets
/// are not sent. A second run asks nobody.
#[test]
fn a_models_words_are_checked_and_kept() {
    let field = field();
    let server = Server::new([said(
        "Here is the list:\n\n## Rules and preferences\n\n- Never push to main [1, 2]\n\n\
         ## Decisions\n\n- Use Redis instead of SQLite [3]\n",
    )]);
    field
        .call(&["consolidate", "--json"])
        .env("CTX_LLM_URL", &server.url)
        .stdout_has("\"shown\":4,\"left_out\":0,\"worded\":2,")
        .run();
    let told = lines(&field);
    assert_eq!(
        told[..2],
        [
            "- Never push to main (user, a:1, b:2; 2026-11-02)".to_owned(),
            "- Use Redis instead of SQLite (user, b:4; 2026-11-03)".to_owned(),
        ],
        "{told:?}"
    );
    let sent = server.requests().concat();
    assert!(
        sent.contains("1. Please do never push") || sent.contains("1. Never push"),
        "{sent}"
    );
    assert!(
        !sent.contains("hunter2x") && !sent.contains("for the cache"),
        "{sent}"
    );
    let log = fs::read_to_string(field.root().join("context/events.jsonl")).expect("the log");
    let took = r#""method":"llm","fell_back":false,"model_calls":1,"#;
    assert!(log.contains(took), "{log}");
    // Nobody answers any more, and nobody has to.
    field
        .call(&["consolidate", "-v"])
        .env("CTX_LLM_URL", &server.url)
        .stderr_has("4 of 5 topics")
        .run();
    field.call(&["consolidate", "-n"]).run();
    assert_eq!(lines(&field), told);
}

/// 16: what a model lost or invented is told, and not taken.
#[test]
fn what_a_model_loses_or_invents_is_not_taken() {
    let field = field();
    let server = Server::new([said(
        "## Rules and preferences\n\n- Push to main [1]\n- Never push to main before 18:00 [2]\n\n\
         ## Decisions\n\n- Use SQLite for the cache [3]\n",
    )]);
    field
        .call(&["consolidate", "--json"])
        .env("CTX_LLM_URL", &server.url)
        .stdout_has("\"worded\":0,")
        .stdout_has("\"model\":{\"used\":0,")
        .stderr_has("of the model's answer")
        .run();
    let told = lines(&field);
    assert!(told.contains(&REDIS.to_owned()), "{told:?}");
    assert!(
        told.last()
            .is_some_and(|line| line.contains(" → taken back in b:4")),
        "{told:?}"
    );
    assert!(
        !told[..told.len() - 1]
            .iter()
            .any(|line| line.contains("SQLite for the cache")),
        "{told:?}"
    );
}

/// 16: without an answer the memory is consolidated all the same, and the next run asks again.
#[test]
fn a_model_is_no_condition() {
    let field = field();
    let server = Server::new([
        Act::answer("401 Unauthorized", "", "{}"),
        said("I cannot help with that."),
    ]);
    for _ in 0..2 {
        field
            .call(&["consolidate", "--llm-tries", "1"])
            .env("CTX_LLM_URL", &server.url)
            .stderr_has("ctx-memory: warning: no model's words: ")
            .run();
        assert!(lines(&field).contains(&REDIS.to_owned()));
    }
    assert_eq!(server.requests().len(), 2);
}
