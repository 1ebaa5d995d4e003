//! Where secrets of a session may be stored: only where its exact bytes are kept.

use std::fs;
use std::path::Path;

use crate::bench::{bash, files, good};
use crate::secrets::{assert_clean, session};

/// P5: after everything that reads a session has run, planted secrets are only in the session
/// itself and in its snapshots, which have its exact bytes. No message contains them, not even an
/// error about a broken line.
#[test]
fn only_the_exact_bytes_have_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let whole = session(false);
    // A line that was cut in the middle of the secrets.
    let broken = whole.trim_end().replace("\"go on\"}", &whole[1..2_000]);
    for text in [whole.clone(), format!("{broken}\n{whole}")] {
        fs::write(dir.join("s.jsonl"), text).expect("writes");
        for line in [
            "ctx-snapshot -s demo s.jsonl",
            "ctx-split -v --invalid fail s.jsonl > s.jsonl.tagged",
            "ctx-count -v s.jsonl",
            "ctx-check -v s.jsonl",
            "ctx-extract -v -s demo s.jsonl",
            "ctx-extract -s demo --into .local/state/ctx/memory s.jsonl > /dev/null",
            "ctx-compact -v -s demo --keep-messages 4 -n s.jsonl",
            "ctx-compact -v -s demo --keep-messages 4 s.jsonl",
            "ctx-snapshot --list --json",
            "ctx-gc -v -n --json",
        ] {
            let done = bash(dir, line);
            assert!((0..3).contains(&done.code), "{line}: {}", done.stderr);
            assert_clean(line, &done.stdout);
            assert_clean(line, &done.stderr);
        }
    }
    let is_exact = |path: &String| {
        let ending = Path::new(path).extension();
        let is_snapshot = path.contains("/session-summaries/");
        path.contains("/s.jsonl") || is_snapshot && ending.is_some_and(|ending| ending == "jsonl")
    };
    let (exact, others): (Vec<_>, Vec<_>) = files(dir).into_iter().partition(is_exact);
    assert!(exact.len() > 3 && others.len() > 6, "{others:?}");
    for path in others {
        let bytes = fs::read(&path).expect("reads");
        assert_clean(&path, &String::from_utf8_lossy(&bytes));
    }
    good(dir, "grep -q REDACTED .local/state/ctx/memory/session-summaries/demo.md");
}
