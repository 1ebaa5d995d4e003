//! The daily logs that operations write into the memory of the store.

use std::fs;
use std::path::Path;

use crate::bench::{bash, good};
use crate::compact::messages;

/// Today's log in a memory folder, without times, snapshot numbers and token numbers.
fn log(memory: &Path) -> String {
    let files = fs::read_dir(memory.join("daily")).expect("a folder");
    let texts = files.map(|file| fs::read_to_string(file.expect("one").path()).expect("text"));
    let text: String = texts.collect();
    let mut plain = String::new();
    for line in text.lines() {
        let is_section = line.starts_with("## ");
        let time = if is_section { "## 00:00:00 ".len() } else { 0 };
        let line = &line[time..];
        let words = line.split(' ').map(|word| match word.split_once("-20") {
            Some((session, id)) => {
                let end = if id.ends_with(';') { ";" } else { "" };
                format!("{session}-ID{end}")
            }
            None => word.to_owned(),
        });
        plain.push_str(&words.collect::<Vec<_>>().join(" "));
        plain.push('\n');
    }
    plain
}

fn session() -> String {
    let decided =
        "{\"role\":\"user\",\"content\":\"We decided to keep SQLite. My preference is tabs.\"}\n";
    format!("{decided}{}", messages(1, 90))
}

/// A compaction, its rollback and an extraction each add a section, dated in UTC.
#[test]
fn each_operation_leaves_its_digest() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    fs::write(dir.join("s.jsonl"), session()).expect("written");
    let today = || chrono::Utc::now().format("%F").to_string();
    let before = today();
    good(dir, "ctx-compact -q --store st --preset sanbot -s demo s.jsonl");
    good(dir, "ctx-rollback -q --store st -s demo --undo s.jsonl");
    let one = r#"{"role":"user","content":"We decided to use port 8080."}"#;
    let extract = format!("echo '{one}' | ctx-extract -q --store st --into-store -s other");
    good(dir, &extract);
    // If nothing is new, there is no entry.
    good(dir, &extract);
    let text = log(&dir.join("st/memory"));
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let day = lines[0].trim_start_matches("# ");
    assert!([before, today()].contains(&day.trim_end_matches(" (UTC)").to_owned()), "{day}");
    assert!(
        lines[1].starts_with("demo: compacted ")
            && lines[1].ends_with(
                "90 → 21 messages; summary: rule; the previous content is snapshot demo-ID"
            ),
        "{text}"
    );
    assert_eq!(
        lines[2..],
        [
            "- decision: We decided to keep SQLite. (user, demo:1)",
            "- preference: My preference is tabs. (user, demo:1)",
            "demo: rolled back to demo-ID; the previous content is snapshot demo-ID",
            "other: extracted 2 new items, 0 known",
            "- decision: We decided to use port 8080. (user, other:1)",
            "- fact: We decided to use port 8080. (user, other:1)",
        ]
    );
}

/// Memory files in another folder have their log next to them.
#[test]
fn a_folder_of_ones_own_has_its_log() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    fs::write(dir.join("s.jsonl"), session()).expect("written");
    good(dir, "ctx-extract -s demo --into memory s.jsonl > out.jsonl");
    let text = log(&dir.join("memory"));
    assert!(text.contains("\ndemo: extracted 2 new items, 0 known\n\n- decision: "), "{text}");
}

/// If a log cannot be written, nothing is reverted, and exit status 5 reports it.
#[test]
fn a_log_that_cannot_be_written_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let text = session();
    fs::write(dir.join("s.jsonl"), &text).expect("written");
    good(dir, "ctx-snapshot -q --store st -s first s.jsonl > id");
    fs::write(dir.join("st/memory/daily"), "a file").expect("written");
    let compact = bash(dir, "ctx-compact --store st --preset sanbot -s demo s.jsonl");
    assert_eq!(compact.code, 5, "{}", compact.stderr);
    assert!(compact.stderr.contains("the change is done, but "), "{}", compact.stderr);
    assert_ne!(fs::read_to_string(dir.join("s.jsonl")).expect("reads"), text);
    let undo = bash(dir, "ctx-rollback --store st -s demo --undo s.jsonl");
    assert_eq!(undo.code, 5, "{}", undo.stderr);
    assert_eq!(fs::read_to_string(dir.join("s.jsonl")).expect("reads"), text);
    let extract = bash(dir, "ctx-extract --store st --into-store -s other s.jsonl > /dev/null");
    // The compaction has already extracted everything.
    assert_eq!(extract.code, 0, "{}", extract.stderr);
}
