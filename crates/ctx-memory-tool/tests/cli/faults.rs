//! Damaged, hostile and busy stores.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::field::Field;

const LINE: &str = r#"{"role":"user","content":"the port is 8443"}"#;

/// A damaged snapshot is reported, and all other snapshots are searched.
#[test]
fn a_damaged_snapshot_is_told() {
    let field = Field::new();
    let bad = field.snapshot("bad", &[LINE]);
    let good = field.snapshot("good", &[LINE]);
    let path = field.root().join(format!("memory/session-summaries/{bad}.jsonl"));
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("writable");
    let other = fs::read_to_string(&path).expect("read").replace("8443", "8444");
    fs::write(&path, other).expect("damaged");
    for _ in 0..2 {
        let done = field.call(&["search", "8443"]);
        let done = done.code(3).stdout_has(&format!("{{\"ref\":\"{good}:1\""));
        let done = done.stderr_has("is damaged").run();
        assert!(done.stderr.starts_with("ctx-memory: "), "{}", done.stderr);
        assert!(done.stderr.contains(&bad), "{}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
    fs::remove_file(field.root().join(format!("memory/session-summaries/{good}.jsonl")))
        .expect("removed");
    let done = field.call(&["search", "nothing"]).code(3).stderr_has(&good);
    done.run();
}

/// If a memory folder is a symbolic link, it is reported and not followed.
#[test]
fn a_folder_that_is_a_link_is_told() {
    let field = Field::new().with_memory();
    fs::create_dir(field.dir.path().join("elsewhere")).expect("made");
    fs::write(field.dir.path().join("elsewhere/a.md"), "secret\n").expect("written");
    let daily = field.root().join("memory/daily");
    fs::remove_dir_all(&daily).expect("removed");
    std::os::unix::fs::symlink("../../elsewhere", daily).expect("a link");
    field
        .call(&["search", "secret", "harbour"])
        .code(3)
        .stdout_has("master.md:3")
        .stderr("ctx-memory: store/memory/daily: cannot read: it is not a folder\n")
        .run();
}

/// A damaged index is rebuilt, with a note.
#[test]
fn a_damaged_index_is_made_anew() {
    let field = Field::new().with_memory();
    assert_eq!(field.refs(&["harbour"]).len(), 1);
    fs::write(field.root().join("index/search/meta.json"), "{").expect("damaged");
    field
        .call(&["search", "harbour"])
        .stdout_has("master.md:3")
        .stderr("ctx-memory: warning: the search index is damaged or from another version; rebuilding it\n")
        .run();
    assert_eq!(field.refs(&["harbour"]).len(), 1);
}

/// While another run updates the index, its current content is searched.
#[test]
fn a_locked_index_is_searched() {
    let field = Field::new().with_memory();
    assert_eq!(field.refs(&["harbour"]).len(), 1);
    let lock = File::open(field.root().join("index/search.lock")).expect("there");
    lock.lock().expect("locked");
    field
        .call(&["search", "harbour"])
        .stdout_has("master.md:3")
        .stderr("ctx-memory: warning: another run is updating the search index; new content may be missing\n")
        .run();
}

/// Text from a session cannot control a terminal.
#[test]
fn control_characters_are_escaped() {
    let field = Field::new();
    let line = "{\"role\":\"user\",\"content\":\"zephyr \\u001b]0;x\\u0007 \u{9b}2J end\"}";
    field.snapshot("demo", &[line]);
    let done = field.call(&["search", "zephyr"]).stdout_has("zephyr").run();
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    let text = text.trim_end_matches('\n');
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.contains(r"zephyr \u001b]0;x\u0007 \u009b2J end"), "{text}");
}
