//! Tests of search results and how they are printed.

use crate::field::{Field, TAKEN};

const ASKED: &str = r#"{"role":"user","content":"Repair src/berth/calendarSync.py please"}"#;
const CALLED: &str = r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"grep","arguments":"{\"pattern\":\"zephyr\\nquartz\"}"}}]}"#;
const ANSWERED: &str = r#"{"role":"tool","tool_call_id":"a","content":"found it at line 8443"}"#;

/// Content of each kind is found; a result has a path, line, session, score and snippet.
#[test]
fn each_kind_is_found() {
    let field = Field::new().with_memory();
    let id = field.snapshot("demo", &[ASKED, CALLED, ANSWERED]);
    let done = field.call(&["search", "calendarSync"]);
    done.stdout(format!(
        "{{\"ref\":\"{id}:1\",\"kind\":\"snapshot\",\"session\":\"demo\",\"path\":\"store/memory/session-summaries/{id}.jsonl\",\"line\":1,\"role\":\"user\",\"time\":\"2026-11-20T10:00:00.000Z\",\"holds\":\"first\",\"score\":11.463,\"snippet\":\"Repair src/berth/calendarSync.py please\"}}\n"
    ))
    .run();
    assert!(TAKEN.starts_with("2026-11-20T10:00:00"));
    for (query, found) in [
        ("候补名单", "memory/extracted/decisions.md:3"),
        ("候補名單", "memory/extracted/decisions.md:3"),
        ("gate code", "memory/extracted/decisions.md:4"),
        ("feed", "memory/daily/2026-11-19.md:3"),
        ("harbour", "memory/summary/master.md:3"),
        ("nightly", "memory/session-summaries/demo.md:1"),
        ("calendar", &format!("{id}:1")),
        ("quartz", &format!("{id}:2")),
        ("8443", &format!("{id}:3")),
    ] {
        assert_eq!(field.refs(&[query]), [found], "{query}");
    }
    let offloaded = field.refs(&["test_two_kiosks"]);
    assert!(offloaded[0].starts_with("offloaded/demo/"), "{offloaded:?}");
}

/// A person reads where the passage is, and the passage.
#[test]
fn a_result_can_be_text() {
    let field = Field::new();
    let id = field.snapshot("demo", &[r#"{"role":"user","content":"zephyr \u001b[31m"}"#]);
    let text = format!("{id}:1  snapshot, user, 2026-11-20 10:00\n  zephyr \\u{{1b}}[31m\n");
    field.call(&["search", "--text", "zephyr"]).stdout(text).run();
}

/// Filters restrict the search.
#[test]
fn filters_confine() {
    let field = Field::new().with_memory();
    let user = r#"{"role":"user","content":"port"}"#;
    let tool = r#"{"role":"tool","tool_call_id":"a","content":"port"}"#;
    let id = field.snapshot("demo", &[ASKED, CALLED, tool, user]);
    let other = field.snapshot("other", &[user]);
    field.put("memory/extracted/facts.md", "- port\n");
    let facts = "memory/extracted/facts.md:1".to_owned();
    let at = |id: &str, line: u64| format!("{id}:{line}");
    // The memory file is newer than the snapshots, which were all taken at [`TAKEN`]. Among
    // messages with the same time, the first message in the first session comes first.
    let all = [at(&id, 3), facts.clone(), at(&id, 4), at(&other, 1)];
    assert_eq!(field.refs(&["port"]), all);
    assert_eq!(field.refs(&["port", "-s", "other"]), [at(&other, 1)]);
    assert_eq!(field.refs(&["port", "-s", "othe"]), [at(&other, 1)]);
    field
        .call(&["search", "port", "-s", "oter"])
        .code(2)
        .stderr("ctx-memory: no session \"oter\" in the store; did you mean -s other?\n")
        .run();
    assert_eq!(field.refs(&["port", "--kind", "extracted"]), all[1..2]);
    assert_eq!(field.refs(&["port", "--role", "tool"]), [at(&id, 3)]);
    assert_eq!(field.refs(&["port", "--limit", "2"]), all[..2]);
    let but_the_file = [all[0].clone(), at(&id, 4), at(&other, 1)];
    assert_eq!(field.refs(&["port", "--before", "2026-11-21"]), but_the_file);
    field
        .call(&["search", "port", "--before", "2026-11-20"])
        .code(1)
        .stderr("ctx-memory: warning: nothing matches \"port\"\n")
        .run();
    field
        .call(&["search", "port", "--since", "soon"])
        .code(2)
        .stderr_has("ctx-memory: --since: \"soon\" is not a time; ")
        .run();
}

/// Removed and changed content is no longer found; new content is found.
#[test]
fn the_index_follows_the_store() {
    let field = Field::new().with_memory();
    assert_eq!(field.refs(&["SQLite"]).len(), 1);
    field.put("memory/extracted/decisions.md", "- Postgres it is\n");
    assert_eq!(field.refs(&["Postgres"]), ["memory/extracted/decisions.md:1"]);
    field.call(&["search", "SQLite", "-q"]).code(1).run();
    field
        .call(&["-v", "search", "SQLite"])
        .code(1)
        .stderr("ctx-memory: indexed 0 files and snapshots, removed 0 from the index\nctx-memory: warning: nothing matches \"SQLite\"\n")
        .run();
}

/// A message that occurs in several snapshots of a session is found once.
#[test]
fn snapshots_of_a_growing_session_give_one_result() {
    let field = Field::new();
    let first = field.snapshot("demo", &[ASKED]);
    let second = field.snapshot("demo", &[ASKED, ANSWERED]);
    assert_eq!(field.refs(&["calendarSync"]), [format!("{first}:1")]);
    assert_eq!(field.refs(&["8443"]), [format!("{second}:2")]);
}

/// A search does not create a missing store.
#[test]
fn nothing_is_made_where_nothing_is() {
    let field = Field::new();
    field
        .call(&["search", "x"])
        .code(1)
        .stderr("ctx-memory: warning: the store contains nothing to search\n")
        .run();
    assert!(!field.root().exists());
    field.call(&["search"]).code(2).stderr_has("<QUERY>").run();
}

/// Filters find a memory file entry by the session, the role and the day that it names.
#[test]
fn entries_are_of_what_they_name() {
    let field = Field::new().with_memory();
    field.put(
        "memory/extracted/decisions.md",
        "# Decisions\n\n- Keep the port. (user, demo:3, 2026-11-18)\n- Drop the port. (assistant, other:4, 2026-11-19, taken back in other:9)\n- Mind the port (see demo:3).\n",
    );
    let at = |line: u64| format!("memory/extracted/decisions.md:{line}");
    let found = |args: &[&str]| {
        let mut refs = field.refs(&[&["port"], args].concat());
        refs.sort();
        refs
    };
    assert_eq!(found(&[]), [at(3), at(4), at(5)]);
    assert_eq!(found(&["-s", "demo"]), [at(3)]);
    assert_eq!(found(&["-s", "other", "--kind", "extracted"]), [at(4)]);
    assert_eq!(found(&["--role", "assistant"]), [at(4)]);
    assert_eq!(found(&["--before", "2026-11-19"]), [at(3)]);
    let done = field.call(&["search", "port", "--before", "2026-11-19"]);
    done.stdout(
        "{\"ref\":\"memory/extracted/decisions.md:3\",\"kind\":\"extracted\",\"session\":\"demo\",\"path\":\"store/memory/extracted/decisions.md\",\"line\":3,\"role\":\"user\",\"time\":\"2026-11-18T00:00:00.000Z\",\"holds\":\"whole\",\"score\":1.877,\"snippet\":\"- Keep the port. (user, demo:3, 2026-11-18)\"}\n",
    )
    .run();
}

/// A search also covers `soul.md`.
#[test]
fn the_soul_is_searched() {
    let field = Field::new().with_memory();
    field.put("memory/summary/soul.md", "You are kind to sailors.\n");
    let found = field.refs(&["sailors", "--kind", "soul"]);
    assert_eq!(found, ["memory/summary/soul.md:1"]);
    assert_eq!(field.refs(&["sailors"]), found);
}
