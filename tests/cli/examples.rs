//! The example session has the properties that its page claims, and the example script does what
//! its comments say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_format::{Options, Problem, Records, Validator};

use crate::tool_path;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Returns the number of messages of a chat session, and its problems. Every record must be a
/// message.
fn inspect(session: &[u8]) -> (usize, Vec<Problem>) {
    let mut records = Records::open(session, &Options::default()).expect("from memory");
    let dialect = records.dialect().expect("a known dialect");
    assert_eq!(dialect.name(), "chat");
    let mut validator = Validator::new(dialect.rules());
    let mut messages = 0;
    while let Some(record) = records.next().expect("from memory") {
        let outline = record
            .outline(Some(dialect))
            .unwrap_or_else(|| panic!("line {} is no message", record.line));
        validator.push(record.line, &outline);
        messages += 1;
    }
    (messages, validator.finish())
}

#[test]
fn the_session_is_long_and_legal() {
    let session = fs::read(examples().join("session.jsonl")).expect("the session");
    let (messages, problems) = inspect(&session);
    assert!(messages >= 120, "{messages} messages");
    assert_eq!(problems, []);
}

#[test]
fn the_script_shortens_the_session_and_brings_it_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let bin = tool_path("ctx-count");
    let output = Command::new(examples().join("compact.sh"))
        .current_dir(folder.path())
        .env("CTX_BIN", bin.parent().expect("a folder of binaries"))
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .expect("bash runs the script");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("gives back the exact bytes"), "{stdout}");

    let work = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.join("new.jsonl").exists())
        .expect("the script's folder");
    let read = |name: &str| fs::read(work.join(name)).expect("a file of the script");
    let session = fs::read(examples().join("session.jsonl")).expect("the session");
    assert!(read("restored.jsonl") == session, "not the same bytes");
    let (before, _) = inspect(&session);
    let (after, problems) = inspect(&read("new.jsonl"));
    assert!(after < before, "{before} messages, then {after}");
    assert_eq!(problems, []);
}

#[test]
fn the_script_fails_when_the_session_is_missing() {
    let script = examples().join("compact.sh");
    let output =
        Command::new(script).arg("no-such-file.jsonl").output().expect("bash runs the script");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "compact.sh: cannot read no-such-file.jsonl\n"
    );
}
