//! Keeps a small record for each session, `recent/{session}`, so that a run need not read all
//! snapshots in the store.
//!
//! The record can be recomputed, and ctx-gc and all user queries read the snapshots themselves. The
//! record is therefore not flushed to disk, and a failure to write it is ignored.
//!
//! This module also changes commit records: it puts snapshots on hold, and keeps notes about a
//! session in its newest snapshot's meta.json.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::fs::remove_file;
use crate::store::{Store, StoreLock, read_derived};
use crate::{Entry, Facts, Meta, Replacement, SessionId, SnapshotId, SnapshotKind, file_names};

/// The content of `recent/{session}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecentSnapshots {
    /// The id of the newest snapshot.
    pub(crate) newest: Option<String>,
    /// The ids of snapshots whose replaced files may still exist under their second names.
    #[serde(default)]
    pub(crate) retained: Vec<String>,
}

/// The maximum number of ids in `retained`. ctx-gc finds older replaced files by listing all
/// snapshots.
const MOST: usize = 32;

impl RecentSnapshots {
    /// Adds a snapshot that was just taken.
    pub(crate) fn add(&mut self, id: &SnapshotId, meta: &Meta) {
        self.newest = Some(id.to_string());
        if meta.retained.is_some() {
            let surplus = (self.retained.len() + 1).saturating_sub(MOST);
            self.retained.drain(..surplus);
            self.retained.push(id.to_string());
        }
    }
}

impl Store {
    pub(crate) fn recent_dir(&self) -> PathBuf {
        self.root.join("recent")
    }

    fn recent_path(&self, session: &SessionId) -> PathBuf {
        self.recent_dir().join(session.as_str())
    }

    /// Returns a session's record, or an empty record if there is none.
    pub(crate) fn recent(&self, session: &SessionId) -> RecentSnapshots {
        read_derived(&self.recent_path(session))
    }

    /// Returns a session's newest snapshot, according to the session's record.
    pub(crate) fn newest(&self, session: &SessionId) -> Option<Entry> {
        let id = SnapshotId::parse(&self.recent(session).newest?)?;
        let is_there = id.session == *session && self.meta_path(&id).symlink_metadata().is_ok();
        let meta = is_there.then(|| self.read_meta(&id))?;
        Some(Entry { id, meta })
    }

    /// Records that these snapshots' replaced files no longer exist under their second names.
    pub(crate) fn forget_retained(&self, session: &SessionId, gone: &[SnapshotId]) {
        if gone.is_empty() {
            return;
        }
        // If the store cannot be locked, leave the ids in the record. The next run will look for
        // the files again.
        if let Ok(mut locked) = self.lock() {
            locked.change_recent(session, |recent| {
                let is_gone = |id: &String| gone.iter().any(|gone| gone.to_string() == *id);
                recent.retained.retain(|id| !is_gone(id));
            });
        }
    }

    /// Recomputes one session's record, or all sessions' records if `session` is `None`. A record
    /// may be wrong because the power failed before the record reached the disk. Returns the number
    /// of wrong records.
    pub(crate) fn rebuild_recent(&self, session: Option<&SessionId>) -> Result<usize> {
        let all = known(self.catalog(session)?.entries);
        let mut recorded = file_names(&self.recent_dir())?;
        recorded.retain(|name| session.is_none_or(|session| session.as_str() == name));
        let mut wrong = 0;
        let mut locked = self.lock()?;
        for gone in recorded.iter().filter_map(|name| name.parse().ok()) {
            if !all.contains_key(&gone) {
                self.remove_recent(&gone);
                wrong += 1;
            }
        }
        for (session, known) in all {
            if self.recent(&session) != known {
                locked.change_recent(&session, |recent| *recent = known);
                wrong += 1;
            }
        }
        Ok(wrong)
    }

    /// Removes a session's record.
    pub(crate) fn remove_recent(&self, session: &SessionId) {
        // Ignore a failure. The remaining record lists snapshots that do not exist, which does no
        // harm.
        let _ = remove_file(self.recent_path(session));
    }

    /// Returns those notes about a session that its next snapshot inherits.
    pub(crate) fn notes_for(&self, session: &SessionId, kind: SnapshotKind) -> Map<String, Value> {
        let key = COMPACTION_STRIKES;
        let goes_on = kind == SnapshotKind::Snapshot;
        let value = goes_on.then(|| self.note(session, key)).flatten();
        value.map(|value| (key.to_owned(), value)).into_iter().collect()
    }

    /// Puts a snapshot on hold, or releases it, unless it is already in the requested state.
    pub fn hold(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
        held: bool,
    ) -> Result<SnapshotId> {
        let mut locked = self.lock()?;
        let entry = self.find_snapshot(session, wanted)?;
        let mut meta = entry.trusted_meta()?;
        if meta.held != held {
            meta.held = held;
            let facts = Facts { snapshots: vec![meta.id.clone()], ..Facts::of(&entry.id.session) };
            let operation = locked.begin(if held { "hold" } else { "release" }, &facts)?;
            locked.write_meta(&entry.id, &meta)?;
            locked.done(&operation, &facts)?;
        }
        Ok(entry.id.clone())
    }

    /// Returns the member `key` from the meta.json of the session's newest snapshot, if that member
    /// exists.
    pub fn note(&self, session: &SessionId, key: &str) -> Option<Value> {
        let meta = self.newest(session).and_then(|entry| entry.meta.ok());
        meta.and_then(|mut meta| meta.others.remove(key))
    }
}

/// Computes each session's record from the snapshots themselves.
fn known(mut entries: Vec<Entry>) -> BTreeMap<SessionId, RecentSnapshots> {
    let mut all: BTreeMap<SessionId, RecentSnapshots> = BTreeMap::new();
    entries.sort_by_key(|entry| entry.id.stamp.sequence);
    for Entry { id, meta } in entries {
        let recent = all.entry(id.session.clone()).or_default();
        if let Ok(meta) = &meta {
            recent.add(&id, meta);
            if !meta.has_retained() {
                recent.retained.retain(|known| *known != meta.id);
            }
        }
    }
    all
}

impl StoreLock<'_> {
    /// Changes a session's record.
    pub(crate) fn change_recent(
        &mut self,
        session: &SessionId,
        change: impl FnOnce(&mut RecentSnapshots),
    ) {
        let mut recent = self.store.recent(session);
        change(&mut recent);
        let json = serde_json::to_vec(&recent).unwrap_or_default();
        if self.store.write_derived(&self.store.recent_path(session), &json).is_err() {
            self.store.remove_recent(session);
        }
    }
}

/// The key of a note about the session as a whole, rather than about the bytes of one snapshot. The
/// next snapshot inherits the note, unless our own tools are about to change the session.
pub const COMPACTION_STRIKES: &str = "compaction_strikes";

impl Replacement<'_> {
    /// Abandons the replacement and changes a note about the session: `change` computes the member
    /// `key` of the newest snapshot's meta.json from its old value. Takes a snapshot only if there
    /// is none yet, because a growing file that is never replaced would otherwise leave a copy at
    /// each attempt.
    pub fn remember(self, key: &str, change: impl FnOnce(Option<&Value>) -> Value) -> Result<()> {
        let (store, session) = (self.store, &self.session);
        let newest = store.newest(session);
        let newest = newest.and_then(|entry| Some((entry.id, entry.meta.ok()?)));
        let value = change(newest.as_ref().and_then(|(_, meta)| meta.others.get(key)));
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
mod recent_tests {
    use std::fs;

    use crate::tests::{Bench, id};

    #[test]
    fn the_newest_snapshot_is_known_without_a_look_at_the_others() {
        let bench = Bench::new();
        let demo = id("demo");
        assert!(bench.store.newest(&demo).is_none());
        bench.take("demo", b"1\n");
        let second = bench.take("demo", b"2\n");
        bench.take("other", b"3\n");
        assert_eq!(bench.store.newest(&demo).expect("one").id, second);
        let path = bench.store.recent_dir().join("demo");
        fs::write(&path, "{\"newest\":\"other-20261121T234307.123456Z-0007\"}").expect("written");
        assert!(bench.store.newest(&demo).is_none(), "belongs to another session");
        fs::write(&path, "half").expect("written");
        assert!(bench.store.newest(&demo).is_none());
        let third = bench.take("demo", b"4\n");
        assert_eq!(bench.store.newest(&demo).expect("one").id, third);
        bench.store.forget(&demo).expect("forgotten");
        assert!(!path.exists());
    }
}

#[cfg(test)]
mod notes_tests {
    use std::fs;

    use chrono::{TimeZone, Utc};
    use serde_json::{Value, json};

    use super::COMPACTION_STRIKES;
    use crate::{Actor, MinIdle, SessionId, SnapshotKind, Store};

    #[test]
    fn notes_are_kept_with_the_newest_snapshot() {
        let dir = tempfile::tempdir().expect("a folder");
        let actor = Actor { tool: "ctx-test".to_owned(), flags: Vec::new() };
        let clock = || Utc.with_ymd_and_hms(2026, 1, 2, 3, 4, 5).single().expect("a time");
        let store = Store::open(&dir.path().join("s"), actor, Box::new(clock)).expect("a store");
        let session: SessionId = "demo".parse().expect("an id");
        let file = dir.path().join("demo.jsonl");
        fs::write(&file, "{}\n").expect("writes");
        let add = |old: Option<&Value>| json!(old.and_then(Value::as_u64).unwrap_or(0) + 1);
        for (count, snapshots) in [(1, 1), (2, 1)] {
            let replacement =
                store.begin_replacement(&file, &session, MinIdle::default()).expect("claimed");
            replacement.remember("n", add).expect("remembered");
            assert_eq!(store.note(&session, "n"), Some(json!(count)));
            let catalog = store.catalog(Some(&session)).expect("lists");
            assert_eq!(catalog.entries.len(), snapshots);
            store.open_verified(&catalog.entries[0]).expect("whole");
        }
        fs::write(&file, "{}\n{}\n").expect("writes");
        let replacement =
            store.begin_replacement(&file, &session, MinIdle::default()).expect("claimed");
        replacement.remember("n", add).expect("remembered");
        assert_eq!(store.note(&session, "n"), Some(json!(3)));
        let catalog = store.catalog(Some(&session)).expect("lists");
        assert_eq!(catalog.entries.len(), 1, "no copy for a note");
        assert_eq!(store.note(&session, "m"), None);
        // The next snapshot of a session inherits a note, unless a tool is about to change the
        // session.
        let replacement =
            store.begin_replacement(&file, &session, MinIdle::default()).expect("claimed");
        let remembered = replacement.remember(COMPACTION_STRIKES, add);
        remembered.expect("remembered");
        for (kind, noted) in
            [(SnapshotKind::Snapshot, Some(json!(1))), (SnapshotKind::PreCompact, None)]
        {
            let taken = store.draft_of(&file).expect("reads").commit(&session, kind);
            taken.expect("taken");
            assert_eq!(store.note(&session, COMPACTION_STRIKES), noted);
            assert_eq!(store.note(&session, "n"), None);
        }
        assert_eq!(fs::read(&file).expect("reads"), b"{}\n{}\n");
    }
}
