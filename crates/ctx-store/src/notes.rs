//! What a tool remembers of a session, in the meta.json of its newest snapshot.

use serde_json::Value;

use crate::{Entry, Replacement, SessionId, SnapshotKind, Store, StoreError};

impl Store {
    /// The member `key` of the session's newest meta.json, if it has one.
    pub fn note(&self, session: &SessionId, key: &str) -> Result<Option<Value>, StoreError> {
        let catalog = self.catalog(Some(session))?;
        let newest = catalog.entries.last();
        Ok(newest.and_then(|entry| entry.meta.as_ref().ok()?.others.get(key).cloned()))
    }

    /// Writes the member `key` of an entry's meta.json anew.
    fn annotate(&self, entry: &Entry, key: &str, value: Value) -> Result<(), StoreError> {
        let mut locked = self.lock()?;
        let mut meta = entry.trusted_meta()?;
        meta.others.insert(key.to_owned(), value);
        locked.write_meta(&entry.id, &meta)
    }
}

impl Replacement<'_> {
    /// Gives up the replacement and remembers why: `change` makes of the session's
    /// member `key` the new one. It is kept with a snapshot of the file as it is,
    /// which is taken unless the newest one has these bytes.
    pub fn remember(
        self,
        key: &str,
        change: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<(), StoreError> {
        let (store, session) = (self.store, self.session.clone());
        let old = store.note(&session, key)?;
        let value = change(old.as_ref());
        let sha256 = self.sha256();
        let is_this = |entry: &Entry| matches!(&entry.meta, Ok(meta) if meta.sha256 == sha256);
        let catalog = store.catalog(Some(&session))?;
        if let Some(entry) = catalog.entries.last().filter(|entry| is_this(entry)) {
            return store.annotate(entry, key, value);
        }
        let taken = self.draft.commit(&session, SnapshotKind::Snapshot)?;
        let entry = Entry {
            id: taken.id,
            meta: Ok(taken.meta),
        };
        store.annotate(&entry, key, value)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::{TimeZone, Utc};
    use serde_json::{Value, json};

    use crate::{Actor, SessionId, Store};

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
            let replacement = store.begin_replacement(&file, &session).expect("claimed");
            replacement.remember("n", add).expect("remembered");
            assert_eq!(
                store.note(&session, "n").expect("reads"),
                Some(json!(count))
            );
            let catalog = store.catalog(Some(&session)).expect("lists");
            assert_eq!(catalog.entries.len(), snapshots);
            store.open_verified(&catalog.entries[0]).expect("whole");
        }
        fs::write(&file, "{}\n{}\n").expect("writes");
        let replacement = store.begin_replacement(&file, &session).expect("claimed");
        replacement.remember("n", add).expect("remembered");
        assert_eq!(store.note(&session, "n").expect("reads"), Some(json!(3)));
        assert_eq!(store.note(&session, "m").expect("reads"), None);
        assert_eq!(fs::read(&file).expect("reads"), b"{}\n{}\n");
    }
}
