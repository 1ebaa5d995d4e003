//! The audit log consists of complete lines, two per operation, and contains no text that people
//! wrote.

use std::fs;

use crate::{Bench, open};
use ctx_store::Facts;
use serde_json::Value;

fn events(bench: &Bench) -> Vec<Value> {
    let text = fs::read_to_string(bench.store.audit_log()).expect("reads");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or(Value::Null)).collect()
}

#[test]
fn an_operation_is_told_before_and_after_and_no_text_is() {
    let bench = Bench::new();
    bench.take(b"{\"role\":\"user\",\"content\":\"sk-secret\"}\n");
    let events = events(&bench);
    assert_eq!(events.len(), 2);
    for (event, phase) in events.iter().zip(["intent", "done"]) {
        assert_eq!(event["phase"], phase);
        assert_eq!(event["op"], "snapshot");
        assert_eq!(event["tool"], "test");
        assert_eq!(event["flags"], serde_json::json!(["session"]));
        assert_eq!(event["session"], "demo");
    }
    assert_eq!(events[0]["operation"], events[1]["operation"]);
    let text = fs::read_to_string(bench.store.audit_log()).expect("reads");
    assert!(!text.contains("secret"));
}

/// L10: several processes write to the audit log at the same time.
#[test]
fn parallel_appends_are_never_torn() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let store = open(&bench.store.root, &bench.micros);
            scope.spawn(move || {
                let facts = Facts { snapshots: vec!["x".repeat(5_000)], ..Facts::default() };
                for _ in 0..20 {
                    let operation = store.begin("test", &facts).expect("begins");
                    store.done(&operation, &facts).expect("ends");
                }
            });
        }
    });
    let events = events(&bench);
    assert_eq!(events.len(), 160);
    assert!(events.iter().all(Value::is_object));
}

#[test]
fn a_torn_record_spoils_no_other() {
    let bench = Bench::new();
    bench.store.begin("one", &Facts::default()).expect("begins");
    let mut text = fs::read_to_string(bench.store.audit_log()).expect("reads");
    text.push_str("{\"time\":\"2026-11");
    fs::write(bench.store.audit_log(), text).expect("writes");
    bench.store.begin("two", &Facts::default()).expect("begins");
    let events = events(&bench);
    assert_eq!(events.len(), 3);
    assert!(events[1].is_null());
    assert_eq!(events[2]["op"], "two");
}

/// Changes lines in the log.
fn edit(bench: &Bench, change: impl FnOnce(&mut Vec<String>)) {
    let path = bench.store.audit_log();
    let text = fs::read_to_string(&path).expect("reads");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(path, lines.join("\n") + "\n").expect("writes");
}

/// The expected result if the chain is intact.
const NONE: [u64; 0] = [];

fn broken_lines(bench: &Bench) -> Vec<u64> {
    let broken = bench.store.check_audit_log().expect("reads");
    broken.into_iter().map(|link| link.line).collect()
}

/// Creates a store whose audit log has six records.
fn logged() -> Bench {
    let bench = Bench::new();
    for bytes in [b"1\n", b"2\n", b"3\n"] {
        bench.take(bytes);
    }
    bench
}

#[test]
fn a_record_has_the_hash_of_the_one_before() {
    let bench = logged();
    assert_eq!(broken_lines(&bench), NONE);
    let text = fs::read_to_string(bench.store.audit_log()).expect("reads");
    let lines: Vec<&str> = text.lines().collect();
    let events = events(&bench);
    assert_eq!(events[0]["prev"], "0".repeat(64));
    for (line, next) in lines.iter().zip(&events[1..]) {
        let hash = ctx_store::hash(&mut line.as_bytes()).expect("hashes");
        assert_eq!(next["prev"], hash);
    }
}

/// A function that edits the lines in a log.
type Edit = fn(&mut Vec<String>);

#[test]
fn what_was_done_to_the_log_shows_where_it_was_done() {
    let edits: [(&str, Edit, &[u64]); 7] = [
        ("changed", |log| log[2] = log[2].replace("demo", "dema"), &[4]),
        ("taken out", |log| drop(log.remove(2)), &[3]),
        ("doubled", |log| log.insert(2, log[2].clone()), &[4]),
        ("exchanged", |log| log.swap(2, 3), &[3, 4, 5]),
        ("put in", |log| log.insert(2, "{\"op\":\"gc\"}".into()), &[3, 4]),
        ("added", |log| log.push("{\"op\":\"gc\"}".into()), &[7]),
        ("cut at the beginning", |log| drop(log.drain(..2)), &[1]),
    ];
    for (what, change, expected) in edits {
        let bench = logged();
        edit(&bench, change);
        assert_eq!(broken_lines(&bench), expected, "{what}");
        // The next records continue the chain.
        bench.take(b"4\n");
        assert_eq!(broken_lines(&bench), expected, "{what}");
    }
}

#[test]
fn logs_of_older_tools_and_torn_records_break_no_chain() {
    let bench = Bench::new();
    bench.take(b"1\n");
    // A log written by an older version of the tools, with records that contain no hash.
    edit(&bench, |log| {
        for line in log {
            *line = format!("{{{}", &line["{'prev':'',".len() + 64..]);
        }
    });
    assert!(events(&bench).iter().all(|event| event["prev"].is_null()));
    assert_eq!(broken_lines(&bench), NONE);
    bench.take(b"2\n");
    assert_eq!(broken_lines(&bench), NONE);
    let path = bench.store.audit_log();
    for torn in ["{\"prev\":\"00", "{\"pr", "\0\0\0", "   \n"] {
        let mut text = fs::read(&path).expect("reads");
        text.extend_from_slice(torn.as_bytes());
        fs::write(&path, text).expect("writes");
        assert_eq!(broken_lines(&bench), NONE, "{torn}");
        bench.take(b"3\n");
        assert_eq!(broken_lines(&bench), NONE, "{torn}");
    }
    let whole = events(&bench).iter().filter(|event| event.is_object()).count();
    assert_eq!(whole, 12);
    edit(&bench, |log| log[1].push(' '));
    assert_eq!(
        broken_lines(&bench),
        [3],
        "the first record of the chain covers the last before it"
    );
}

#[test]
fn parallel_records_make_one_chain() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let store = open(&bench.store.root, &bench.micros);
            scope.spawn(move || {
                for n in 0..10 {
                    let facts = Facts {
                        // Make some records longer than the blocks in which the log is read.
                        snapshots: vec!["x".repeat(n * 10_000)],
                        ..Facts::default()
                    };
                    let operation = store.begin("test", &facts).expect("begins");
                    store.done(&operation, &facts).expect("ends");
                }
            });
        }
    });
    assert_eq!(events(&bench).len(), 80);
    assert_eq!(broken_lines(&bench), NONE);
}
