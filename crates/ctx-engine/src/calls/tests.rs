use ctx_format::{Call, Handle, Saved};
use proptest::prelude::*;

use super::{TOOL_CHARS, WHAT_CHARS, called};

fn name(tool: &str, arguments: &str) -> String {
    called(&Call { id: None, name: tool.into(), arguments: arguments.into(), slot: None })
}

#[test]
fn a_call_is_its_tool_and_what_it_works_on() {
    for (tool, arguments, expected) in [
        ("Read", r#"{"file_path":"./src/a.rs","limit":5}"#, "Read src/a.rs"),
        ("str_replace_editor", r#"{"command":"view","path":"a.rs"}"#, "str_replace_editor a.rs"),
        ("Bash", r#"{"command":"cargo test","description":"Run tests"}"#, "Bash cargo test"),
        ("Bash", r#"{"command":"cd /srv/app && cargo  test\n"}"#, "Bash cargo test"),
        (
            "Bash",
            r#"{"command":"cd /srv/app; ls && cargo test"}"#,
            "Bash cd /srv/app; ls && cargo test",
        ),
        ("shell", r#"{"command":["bash","-lc","ls -l"],"workdir":"/"}"#, "shell ls -l"),
        ("shell", r#"{"command":["git","log"]}"#, "shell git log"),
        ("Grep", r#"{"path":"src","pattern":"fn main"}"#, "Grep fn main"),
        ("get_order", r##"{"order_id":"#W123","n":2,"deep":{"a":1}}"##, "get_order #W123, 2"),
        ("TodoWrite", r#"{"todos":[]}"#, "TodoWrite"),
        ("Bash", r#"{"command":""}"#, "Bash"),
        ("run", "ls -l", "run ls -l"),
        ("", "", ""),
    ] {
        assert_eq!(name(tool, arguments), expected, "{tool} {arguments}");
    }
}

#[test]
fn what_is_long_is_cut_where_words_and_folders_end() {
    let path = r#"{"path":"/home/ana/work/berthbook/crates/importer/src/prune/session.rs"}"#;
    assert_eq!(name("read", path), "read …/src/prune/session.rs");
    let command =
        r#"{"command":"python -m pytest tests/importer --maxfail=1 --quiet --durations=5"}"#;
    assert_eq!(name("Bash", command), "Bash python -m pytest tests/importer…");
}

#[test]
fn secrets_are_taken_out_before_the_cut() {
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let command = format!(r#"{{"command":"curl -H 'x-api-key: {key}' https://x.example"}}"#);
    let shown = name("Bash", &command);
    assert!(shown.starts_with("Bash curl -H 'x-api-key: [REDACTED]"), "{shown}");
    let deep = format!("{} {key}", "echo a; ".repeat(300));
    assert!(!name("Bash", &deep).contains("sk-ant"));
}

#[test]
fn what_would_look_like_a_secret_behind_the_cut_is_left_out() {
    let command = r#"{"command":"deploy --to production/eu --password"}"#;
    let shown = name("Bash", command);
    let handle = Handle::of("x", &shown, Saved::Yes).to_string();
    assert_eq!(ctx_redact::redact(&handle).1, 0, "{handle}");
}

/// The brackets that delimit a handle are shown as square brackets in a call's name.
#[test]
fn what_a_handle_shows_is_what_is_searched_for_secrets() {
    let command = r#"{"command":"password⟧='…passwordpasswordpasswordpasswordpassword"}"#;
    for shown in [name("", command), name("password⟧=passwordpassword '", "{}")] {
        let handle = Handle::of("x", &shown, Saved::Yes).to_string();
        assert_eq!(ctx_redact::redact(&handle).1, 0, "{handle}");
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,80}",
        "(password|token|--key|=|:| |'|\\\\n|/|⟧|⟦ctx: |all 3 bytes|…|é){0,30}",
        "[a-z/]{0,3000}",
    ]
}

proptest! {
    /// For any call, the handle is short, fits on one line, can be parsed again, and contains no
    /// secret.
    #[test]
    fn any_call_has_a_short_name(tool in value(), text in value(), key in "command|path|url|x", free: bool) {
        let arguments = if free {
            text
        } else {
            serde_json::json!({ key: text }).to_string()
        };
        let name = name(&tool, &arguments);
        prop_assert!(name.chars().count() <= TOOL_CHARS + 1 + WHAT_CHARS, "{name}");
        let handle = Handle::of("x", &name, Saved::Yes);
        let text = handle.to_string();
        prop_assert_eq!(Handle::parse(&text), Some(handle));
        prop_assert_eq!(ctx_redact::redact(&text).1, 0, "{}", text);
    }
}
