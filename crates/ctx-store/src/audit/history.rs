//! A session's history: the operations that the audit log records for it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::error::Result;
use crate::{SessionId, SnapshotId, Store};

/// An operation on a session, as recorded in the audit log. A field is empty if the audit record
/// lacks it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The end time of the operation, or its start time if it did not finish.
    pub time: DateTime<Utc>,
    /// The name of the tool, such as `ctx-compact`.
    pub tool: String,
    /// The kind of operation: `snapshot`, `compact`, `rollback`, `gc`, …
    pub op: String,
    /// How the operation ended: `done`, `failed` (nothing was changed), or `intent` (the run was
    /// killed or failed midway, or is still running).
    pub phase: String,
    /// The id of the operation.
    pub operation: String,
    /// The names of the command-line flags that the run was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The id of the session, or `None` if the operation may affect several sessions.
    pub session: Option<String>,
    /// The ids of the snapshots that the operation took or removed. For a replacement, this is the
    /// snapshot of the old content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<String>,
    /// The id of the snapshot that a rollback restored.
    pub restored: Option<String>,
    /// The sha256 of the session's new content, or of the snapshot.
    pub sha256: Option<String>,
    /// The number of bytes written.
    pub bytes: Option<u64>,
    /// The number of items written or removed.
    pub count: Option<u64>,
    /// The number of tokens in the context before a compaction.
    pub tokens_before: Option<u64>,
    /// The number of tokens in the context after a compaction.
    pub tokens_after: Option<u64>,
    /// The number of messages before a compaction.
    pub messages_before: Option<u64>,
    /// The number of messages after a compaction.
    pub messages_after: Option<u64>,
    /// How a compaction ended, as one of the fixed words in `docs/json.md`.
    pub outcome: Option<String>,
    /// All members of the JSON record that have no field in this struct.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Event {
    /// Parses a line of the audit log. Returns `None` if the line is not a complete record.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut event: Self = serde_json::from_slice(line).ok()?;
        // Drop the hash of the previous line, which is meaningless outside the log.
        event.others.remove("prev");
        event.others.remove("pid");
        Some(event)
    }

    /// Removes other sessions' snapshots from the event. Returns `None` if the event concerns none
    /// of the given sessions.
    fn of(mut self, sessions: &BTreeSet<SessionId>) -> Option<Self> {
        let is_of =
            |id: &String| SnapshotId::parse(id).is_some_and(|id| sessions.contains(&id.session));
        self.snapshots.retain(is_of);
        let is_named = sessions.iter().any(|id| self.session.as_deref() == Some(id.as_str()));
        (is_named || !self.snapshots.is_empty()).then_some(self)
    }
}

impl Store {
    /// Returns the operations on the given sessions, newest first. A snapshot taken for a
    /// replacement is listed as part of that replacement. If the replacement failed and its
    /// snapshot was deleted, the snapshot is not listed at all.
    pub fn history(&self, sessions: &BTreeSet<SessionId>) -> Result<Vec<Event>> {
        let mut events: BTreeMap<String, Event> = BTreeMap::new();
        self.each_log_line(|line| {
            let is_named =
                |session: &SessionId| memmem::find(line, session.as_str().as_bytes()).is_some();
            if sessions.iter().any(is_named)
                && let Some(event) = Event::parse(line).and_then(|event| event.of(sessions))
            {
                // An operation's end record overwrites its start record.
                events.insert(event.operation.clone(), event);
            }
        })?;
        let mut events = without_covered(events.into_values().collect());
        events.sort_by(|a, b| (b.time, &b.operation).cmp(&(a.time, &a.operation)));
        Ok(events)
    }

    /// Calls `see` with each record in the audit log, oldest first. Returns the number of lines
    /// that could not be parsed, for example because they are incomplete or were written by another
    /// program.
    pub fn each_event(&self, mut see: impl FnMut(Event)) -> Result<u64> {
        let mut unread = 0;
        self.each_log_line(|line| match Event::parse(line) {
            Some(event) => see(event),
            None if line.trim_ascii().is_empty() => {}
            None => unread += 1,
        })?;
        Ok(unread)
    }
}

/// Drops events that are part of another event in the list. For example, a rollback includes the
/// snapshot taken before it.
fn without_covered(mut events: Vec<Event>) -> Vec<Event> {
    let has_part = |event: &&Event| {
        matches!(event.op.as_str(), "compact" | "rollback" | "output" | "withdraw")
    };
    let parts = events.iter().filter(has_part).flat_map(|event| event.snapshots.clone());
    let parts: BTreeSet<String> = parts.collect();
    events.retain(|event| match event.op.as_str() {
        "snapshot" => !event.snapshots.iter().any(|id| parts.contains(id)),
        // Skip ctx-compact's `summary` record, because its `compact` record covers the summary as
        // well.
        "summary" => event.tool != "ctx-compact",
        "withdraw" => false,
        _ => true,
    });
    events
}

#[cfg(test)]
mod history_tests {
    use std::fs;
    use std::io::Write;

    use crate::MinIdle;
    use crate::SnapshotKind;
    use crate::replace::restore::SnapshotChoice;
    use crate::tests::{Bench, id};

    fn history(bench: &Bench, session: &str) -> Vec<(String, String, usize)> {
        let events = bench.store.history(&[id(session)].into()).expect("read");
        let events = events.into_iter();
        let told = events.map(|event| (event.op, event.phase, event.snapshots.len()));
        told.collect()
    }

    fn told(op: &str, snapshots: usize) -> (String, String, usize) {
        (op.to_owned(), "done".to_owned(), snapshots)
    }

    /// Each operation is listed once, newest first. Operations on other sessions are not listed.
    #[test]
    fn each_operation_is_listed_once() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "old\n");
        let draft = bench.store.draft_of(&path).expect("reads");
        let first = draft.commit(&id("demo"), SnapshotKind::Snapshot).expect("saved").id;
        let other = bench.take("other", b"x\n");
        fs::write(&path, "new\n").expect("written");
        // Advance the clock so that the events have different times. Events with the same time are
        // sorted by operation id, and ids from one process have no fixed order.
        bench.wait_days(1);
        let restore = bench.store.find_restore(&id("demo"), SnapshotChoice::Named("1"));
        restore.expect("found").restore(&path, MinIdle::default()).expect("restored");
        bench.wait_days(1);
        bench.store.discard(&[first, other], &[], bench.store.now()).expect("removed");
        assert_eq!(
            history(&bench, "demo"),
            [told("gc", 1), told("rollback", 1), told("snapshot", 1)]
        );
        assert_eq!(history(&bench, "other"), [told("gc", 1), told("snapshot", 1)]);
        assert!(history(&bench, "dem").is_empty());
    }

    /// A killed run is listed with the phase `intent`. Incomplete lines and unknown members in the
    /// log are not errors.
    #[test]
    fn an_unfinished_operation_is_listed_as_begun() {
        let bench = Bench::new();
        bench.take("demo", b"1\n");
        let log = bench.store.audit_log();
        let file = fs::OpenOptions::new().append(true).open(log);
        let mut file = file.expect("opens");
        let record = |op: &str, phase: &str, more: &str| {
            format!(
                "{{\"prev\":\"0\",\"time\":\"2030-01-01T00:00:00Z\",\"operation\":\"{op}{phase}\",\"op\":\"{op}\",\"phase\":\"{phase}\",\"tool\":\"ctx-new\",\"session\":\"demo\"{more}}}\n"
            )
        };
        for text in [
            record("compact", "failed", ",\"outcome\":\"no-gain\",\"news\":[1]"),
            record("rollback", "intent", ""),
            "{\"session\":\"demo\",\"op\n".to_owned(),
        ] {
            file.write_all(text.as_bytes()).expect("written");
        }
        let events = bench.store.history(&[id("demo")].into()).expect("read");
        let phases: Vec<&str> = events.iter().map(|event| event.phase.as_str()).collect();
        assert_eq!(phases, ["intent", "failed", "done"]);
        assert_eq!(events[1].outcome.as_deref(), Some("no-gain"));
        assert!(events[1].others.contains_key("news") && !events[1].others.contains_key("prev"));
    }
}

#[cfg(test)]
mod events_tests {
    use std::fs;

    use crate::tests::Bench;

    /// Log lines that are incomplete, very long, or written by another program are skipped and
    /// counted.
    #[test]
    fn what_is_no_record_is_counted_and_passed_over() {
        let bench = Bench::new();
        assert_eq!(bench.store.each_event(|_| panic!("nothing")).ok(), Some(0));
        bench.take("demo", b"1\n");
        let log = bench.store.audit_log();
        let records = fs::read_to_string(&log).expect("the log");
        let endless = "x".repeat(3 << 20);
        let torn = &records[..40];
        fs::write(&log, format!("[1]\n{endless}\n{records}\n{{\"op\":\"x\"}}\n{records}{torn}"))
            .expect("written");
        let mut seen = Vec::new();
        let unread = bench.store.each_event(|event| seen.push(event.phase));
        assert_eq!(unread.ok(), Some(4));
        assert_eq!(seen, ["intent", "done", "intent", "done"]);
    }
}
