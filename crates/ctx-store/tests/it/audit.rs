//! The audit log: whole lines, two an operation, and nothing of what people wrote.

use std::fs;

use crate::{Bench, open};
use ctx_store::Facts;
use serde_json::Value;

fn events(bench: &Bench) -> Vec<Value> {
    let text = fs::read_to_string(bench.store.audit_log()).expect("reads");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or(Value::Null))
        .collect()
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

/// L10: several processes write to the audit log.
#[test]
fn parallel_appends_are_never_torn() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let store = open(bench.store.root(), &bench.micros);
            scope.spawn(move || {
                let facts = Facts {
                    snapshots: vec!["x".repeat(5_000)],
                    ..Facts::default()
                };
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
