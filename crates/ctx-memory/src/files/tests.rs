//! Tests that write a store's memory and read it back.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use chrono::{TimeZone, Utc};
use ctx_store::{Actor, Figures, SessionId, Severity, Store};

use super::{DailyEntry, append_summary, summary_path, tidy_logs};

fn store(root: &Path) -> Store {
    let actor = Actor { tool: "ctx-test".to_owned(), flags: Vec::new() };
    let clock = || Utc.with_ymd_and_hms(2026, 1, 2, 3, 4, 5).single().expect("a time");
    Store::open(root, actor, Box::new(clock)).expect("a store")
}

fn entry(what: &str, items: &[&str]) -> DailyEntry {
    DailyEntry {
        session: Some("demo".to_owned()),
        what: what.to_owned(),
        items: items.iter().map(|it| (*it).to_owned()).collect(),
    }
}

/// The day is in UTC, and each operation has its own section.
#[test]
fn a_day_has_a_file_and_an_operation_a_section() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |time: &str| time.parse().expect("a time");
    let first = entry("compacted", &["decision: a (user, demo:1)"]);
    first.append(dir.path(), at("2026-11-24T01:02:03+03:00")).expect("written");
    entry("restored\n## x\u{1b}[31m", &[])
        .append(dir.path(), at("2026-11-23T23:59:59Z"))
        .expect("written");
    let path = dir.path().join("2026-11-23.md");
    assert_eq!(
        fs::read_to_string(&path).expect("one file"),
        "# 2026-11-23 (UTC)\n\n## 22:02:03 demo: compacted\n\n- decision: a (user, demo:1)\n\n\
         ## 23:59:59 demo: restored ## x [31m\n"
    );
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_people_write_into_a_log_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("2026-11-23.md");
    fs::write(&path, "mine, without an end").expect("written");
    entry("compacted", &[])
        .append(dir.path(), "2026-11-23T01:00:00Z".parse().expect("a time"))
        .expect("written");
    assert_eq!(
        fs::read_to_string(&path).expect("reads"),
        "mine, without an end\n\n## 01:00:00 demo: compacted\n"
    );
}

/// An unfinished log left by a killed run on another day is removed, but people's text is not.
#[test]
fn what_killed_runs_left_of_logs_is_removed() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir.path().join("s"));
    entry("compacted", &[]).log(&store).expect("written");
    let daily = store.memory().join("daily");
    let entry = fs::read_dir(&daily).expect("there").next();
    let log = entry.expect("one").expect("a log").path();
    let name = log.file_name().expect("a name").to_string_lossy().into_owned();
    for (end, text) in [("a", "# "), ("b", "theirs")] {
        let aside = store.root.join("tmp").join(format!(".{name}.ctx-old-{end}-1"));
        fs::write(aside, text).expect("written");
    }
    tidy_logs(&store).expect("tidied");
    let left = fs::read_dir(store.root.join("tmp")).expect("there");
    let left: Vec<_> =
        left.map(|entry| fs::read(entry.expect("one").path()).expect("read")).collect();
    assert_eq!(left, [b"theirs".to_vec()]);
}

/// If a log cannot be written, the operation itself is still completed.
#[test]
fn a_log_that_cannot_be_written_is_an_uncertain_end() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir.path().join("s"));
    store.prepare().expect("made");
    fs::create_dir_all(store.memory()).expect("made");
    fs::write(store.memory().join("daily"), "a file").expect("written");
    let error = entry("compacted", &[]).log(&store);
    let error = error.expect_err("no folder");
    assert_eq!(error.severity(), Severity::Uncertain, "{error}");
}

#[test]
fn summaries_follow_each_other_and_are_not_repeated() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir.path().join("s"));
    let session: SessionId = "demo".parse().expect("an id");
    let append = |messages, text| {
        let figures = Figures::from_iter([("method".to_owned(), "none".into())]);
        let appended = append_summary(&store, &session, messages, text, figures);
        appended.expect("written")
    };
    assert!(append(7, "alpha\n"));
    assert!(!append(7, "alpha"));
    assert!(append(9, "two"));
    let path = summary_path(&store, &session);
    assert_eq!(
        fs::read_to_string(&path).expect("reads"),
        "# demo\n\n# 2026-01-02T03:04:05.000000Z: 7 messages\n\nalpha\n\n\
         # 2026-01-02T03:04:05.000000Z: 9 messages\n\ntwo\n"
    );
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let audit = fs::read_to_string(store.audit_log()).expect("reads");
    assert_eq!(audit.matches("\"op\":\"summary\"").count(), 4, "{audit}");
    assert_eq!(audit.matches("\"method\":\"none\"").count(), 2, "{audit}");
    assert!(!audit.contains("alpha"), "{audit}");
}

/// A file name in a summary cannot control the reader's terminal.
#[test]
fn control_characters_do_not_get_into_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir.path().join("s"));
    let session: SessionId = "demo".parse().expect("an id");
    let text = "files: a\u{1b}[31m\u{9b}1mb\r\tc\nnext";
    for is_new in [true, false] {
        let appended =
            append_summary(&store, &session, 1, text, Figures::default()).expect("written");
        assert_eq!(appended, is_new);
    }
    let path = summary_path(&store, &session);
    let found = fs::read_to_string(&path).expect("reads");
    assert!(found.ends_with("files: a [31m 1mb  c\nnext\n"), "{found:?}");
}

#[test]
fn what_people_wrote_into_a_summary_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir.path().join("s"));
    let session: SessionId = "demo".parse().expect("an id");
    let append = |text| {
        let appended = append_summary(&store, &session, 1, text, Figures::default());
        appended.expect("written");
    };
    append("one");
    let path = summary_path(&store, &session);
    fs::write(&path, b"my notes \xff").expect("writes");
    append("one");
    let bytes = fs::read(&path).expect("reads");
    assert!(bytes.starts_with(b"my notes \xff\n# 2026"), "{bytes:?}");
}
