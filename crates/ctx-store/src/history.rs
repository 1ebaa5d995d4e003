//! The history of sessions, as the audit log and the snapshots tell it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::StoreError;
use crate::{SessionId, SnapshotId, Store};

/// Something that was done to a session: a record of the audit log. What older or newer tools did
/// not write is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it was done; begun, where it was not finished.
    pub time: DateTime<Utc>,
    /// `ctx-compact`.
    pub tool: String,
    /// `snapshot`, `compact`, `rollback`, `gc`, …
    pub op: String,
    /// `done`; `failed`, where it was tried and changed nothing; `intent`, where the run was killed or failed.
    pub phase: String,
    /// The id of the operation.
    pub operation: String,
    /// Names of the flags that were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The session; none where several may be concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The snapshots of these sessions that it made or removed; of a replacement, what was there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<String>,
    /// The snapshot whose bytes were put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
    /// The hash of what is there since, or of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// How many bytes were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many things were written or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Tokens before a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Tokens after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// Messages before a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_before: Option<u64>,
    /// Messages after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_after: Option<u64>,
    /// How a compaction ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Event {
    /// Of a line of the log; a torn one is none.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut event: Self = serde_json::from_slice(line).ok()?;
        // They say nothing without the rest of the log.
        event.others.remove("prev");
        event.others.remove("pid");
        Some(event)
    }

    fn is(&self, op: &str) -> bool {
        self.op == op
    }

    /// The same, with the snapshots of these sessions alone, where it is of one of them.
    fn of(mut self, sessions: &BTreeSet<SessionId>) -> Option<Self> {
        let is_of =
            |id: &String| SnapshotId::parse(id).is_some_and(|id| sessions.contains(&id.session));
        self.snapshots.retain(is_of);
        let named = self.session.as_ref().and_then(|id| id.parse().ok());
        let is_named = named.is_some_and(|id: SessionId| sessions.contains(&id));
        (is_named || !self.snapshots.is_empty()).then_some(self)
    }
}

impl Store {
    /// What was done to sessions, the newest first. A snapshot that was taken before a file was
    /// replaced is told with the replacement; one that was taken back again, because nothing was
    /// replaced, is not told.
    pub fn history(&self, sessions: &BTreeSet<SessionId>) -> Result<Vec<Event>, StoreError> {
        let mut events: BTreeMap<String, Event> = BTreeMap::new();
        self.each_log_line(|line| {
            let named = |session: &SessionId| memmem::find(line, session.as_str().as_bytes());
            let event = sessions
                .iter()
                .any(|session| named(session).is_some())
                .then(|| Event::parse(line));
            let event = event.flatten().and_then(|event| event.of(sessions));
            if let Some(event) = event {
                // What was done takes the place of what was meant.
                events.insert(event.operation.clone(), event);
            }
        })?;
        let mut events = told(events.into_values().collect());
        events.sort_by(|one, other| {
            let by_time = other.time.cmp(&one.time);
            by_time.then_with(|| other.operation.cmp(&one.operation))
        });
        Ok(events)
    }
}

/// Without what another event tells.
fn told(mut events: Vec<Event>) -> Vec<Event> {
    let ids_of = |is_it: &dyn Fn(&Event) -> bool| -> BTreeSet<String> {
        let events = events.iter().filter(|event| is_it(event));
        events.flat_map(|event| event.snapshots.clone()).collect()
    };
    let is_replacement =
        |event: &Event| ["compact", "rollback", "output"].contains(&event.op.as_str());
    let replaced = ids_of(&is_replacement);
    let withdrawn = ids_of(&|event| event.is("withdraw"));
    let is_among = |event: &Event, ids: &BTreeSet<String>| {
        event.is("snapshot") && event.snapshots.iter().any(|id| ids.contains(id))
    };
    events.retain(|event| {
        // A compaction writes its summary down as well.
        let is_of_compaction = event.is("summary") && event.tool == "ctx-compact";
        let is_part = is_among(event, &replaced) || is_among(event, &withdrawn);
        !(event.is("withdraw") || is_of_compaction || is_part)
    });
    events
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use crate::MinIdle;
    use crate::SnapshotKind;
    use crate::restore::Wanted;
    use crate::testing::{Bench, id};

    fn history(bench: &Bench, session: &str) -> Vec<(String, String, usize)> {
        let events = bench.store.history(&[id(session)].into()).expect("read");
        let events = events.into_iter();
        let told = events.map(|event| (event.op, event.phase, event.snapshots.len()));
        told.collect()
    }

    fn told(op: &str, snapshots: usize) -> (String, String, usize) {
        (op.to_owned(), "done".to_owned(), snapshots)
    }

    /// 15 C3: each thing that was done is told once, the newest first, and of other sessions
    /// nothing.
    #[test]
    fn each_thing_is_told_once() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "old\n");
        let draft = bench.store.draft_of(&path).expect("reads");
        let first = draft
            .commit(&id("demo"), SnapshotKind::Snapshot)
            .expect("saved")
            .id;
        let other = bench.take("other", b"x\n");
        fs::write(&path, "new\n").expect("written");
        let restore = bench.store.find_restore(&id("demo"), Wanted::Named("1"));
        restore
            .expect("found")
            .restore(&path, MinIdle::default())
            .expect("restored");
        bench.store.discard(&[first, other], &[]).expect("removed");
        assert_eq!(
            history(&bench, "demo"),
            [told("gc", 1), told("rollback", 1), told("snapshot", 1)]
        );
        assert_eq!(
            history(&bench, "other"),
            [told("gc", 1), told("snapshot", 1)]
        );
        assert!(history(&bench, "dem").is_empty());
    }

    /// 15 C3: a run that was killed is told as begun; torn lines, and members of other tools,
    /// are no hindrance.
    #[test]
    fn what_was_not_finished_is_told_as_begun() {
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
