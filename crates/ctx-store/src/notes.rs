//! Changes of commit records: a snapshot is held, so that retention leaves it alone, or a
//! tool makes a note of a session in the meta.json of its newest snapshot.

use serde_json::{Map, Value};

use crate::{Facts, Replacement, SessionId, SnapshotId, SnapshotKind, Store, StoreError};

/// Notes of a session, not of its bytes: they go on to its next snapshot. A change by our own
/// tools begins anew.
pub const COMPACTION_STRIKES: &str = "compaction_strikes";

impl Store {
    /// What is noted of a session and goes into its next snapshot.
    pub(crate) fn notes_for(&self, session: &SessionId, kind: SnapshotKind) -> Map<String, Value> {
        let key = COMPACTION_STRIKES;
        let goes_on = kind == SnapshotKind::Snapshot;
        let value = goes_on.then(|| self.note(session, key)).flatten();
        value
            .map(|value| (key.to_owned(), value))
            .into_iter()
            .collect()
    }

    /// Holds a snapshot, or releases it; does nothing when it is held, or released, already.
    pub fn hold(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
        held: bool,
    ) -> Result<SnapshotId, StoreError> {
        let mut locked = self.lock()?;
        let entry = self.find_snapshot(session, wanted)?;
        let mut meta = entry.trusted_meta()?;
        if meta.held != held {
            meta.held = held;
            let facts = Facts {
                snapshots: vec![meta.id.clone()],
                ..Facts::of(&entry.id.session)
            };
            let operation = locked.begin(if held { "hold" } else { "release" }, &facts)?;
            locked.write_meta(&entry.id, &meta)?;
            locked.done(&operation, &facts)?;
        }
        Ok(entry.id.clone())
    }

    /// The member `key` of the session's newest meta.json, if it has one.
    pub fn note(&self, session: &SessionId, key: &str) -> Option<Value> {
        let meta = self.newest(session).and_then(|entry| entry.meta.ok());
        meta.and_then(|mut meta| meta.others.remove(key))
    }
}

impl Replacement<'_> {
    /// Gives up the replacement and notes why: `change` makes the new member `key` from the
    /// one that the session's newest meta.json has, and it goes there. A snapshot is taken
    /// only where there is none yet: a file that grows, and is never replaced, must not leave
    /// a copy at each try.
    pub fn remember(
        self,
        key: &str,
        change: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<(), StoreError> {
        let (store, session) = (self.store, &self.session);
        let newest = store.newest(session);
        let newest = newest.and_then(|entry| Some((entry.id, entry.meta.ok()?)));
        let old = newest.as_ref().and_then(|(_, meta)| meta.others.get(key));
        let value = change(old);
        let (id, mut meta) = if let Some(newest) = newest {
            newest
        } else {
            let taken = self.draft.commit(session, SnapshotKind::Snapshot)?;
            (taken.id, taken.meta)
        };
        meta.others.insert(key.to_owned(), value);
        store.lock()?.write_meta(&id, &meta)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::{TimeZone, Utc};
    use serde_json::{Value, json};

    use super::COMPACTION_STRIKES;
    use crate::{Actor, MinIdle, SessionId, SnapshotKind, Store};

    #[test]
    fn notes_are_kept_with_the_newest_snapshot() {
        let dir = tempfile::tempdir().expect("a folder");
        let actor = Actor {
            tool: "ctx-test".to_owned(),
            flags: Vec::new(),
        };
        let clock = || {
            Utc.with_ymd_and_hms(2026, 1, 2, 3, 4, 5)
                .single()
                .expect("a time")
        };
        let store = Store::open(&dir.path().join("s"), actor, Box::new(clock)).expect("a store");
        let session: SessionId = "demo".parse().expect("an id");
        let file = dir.path().join("demo.jsonl");
        fs::write(&file, "{}\n").expect("writes");
        let add = |old: Option<&Value>| json!(old.and_then(Value::as_u64).unwrap_or(0) + 1);
        for (count, snapshots) in [(1, 1), (2, 1)] {
            let replacement = store
                .begin_replacement(&file, &session, MinIdle::default())
                .expect("claimed");
            replacement.remember("n", add).expect("remembered");
            assert_eq!(store.note(&session, "n"), Some(json!(count)));
            let catalog = store.catalog(Some(&session)).expect("lists");
            assert_eq!(catalog.entries.len(), snapshots);
            store.open_verified(&catalog.entries[0]).expect("whole");
        }
        fs::write(&file, "{}\n{}\n").expect("writes");
        let replacement = store
            .begin_replacement(&file, &session, MinIdle::default())
            .expect("claimed");
        replacement.remember("n", add).expect("remembered");
        assert_eq!(store.note(&session, "n"), Some(json!(3)));
        let catalog = store.catalog(Some(&session)).expect("lists");
        assert_eq!(catalog.entries.len(), 1, "no copy for a note");
        assert_eq!(store.note(&session, "m"), None);
        // A note of the session goes on to the next snapshot, but not behind a change.
        let replacement = store
            .begin_replacement(&file, &session, MinIdle::default())
            .expect("claimed");
        let remembered = replacement.remember(COMPACTION_STRIKES, add);
        remembered.expect("remembered");
        for (kind, noted) in [
            (SnapshotKind::Snapshot, Some(json!(1))),
            (SnapshotKind::PreCompact, None),
        ] {
            let taken = store.draft_of(&file).expect("reads").commit(&session, kind);
            taken.expect("taken");
            assert_eq!(store.note(&session, COMPACTION_STRIKES), noted);
            assert_eq!(store.note(&session, "n"), None);
        }
        assert_eq!(fs::read(&file).expect("reads"), b"{}\n{}\n");
    }
}
