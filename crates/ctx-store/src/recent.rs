//! What a run has to know of a session, found without a look at all snapshots of the store.
//!
//! It is derived: gc and everything that people ask for read the snapshots themselves. So
//! it is not flushed to the disk, and what cannot be written is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Naming, StoreError};
use crate::files::{names, open_plain};
use crate::lock::{StoreLock, read_json};
use crate::store::make_dirs;
use crate::{Entry, Meta, SessionId, SnapshotId, Store};

/// Content of `recent/{session}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recent {
    /// Id of the newest snapshot.
    pub(crate) newest: Option<String>,
    /// Ids of the snapshots of replaced files that may still have their second name.
    #[serde(default)]
    pub(crate) retained: Vec<String>,
}

/// How many of them are written down; gc finds the others.
const MOST: usize = 32;

impl Recent {
    /// Takes a snapshot into account that was just taken.
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
        self.root().join("recent")
    }

    /// What is known of a session; nothing where nothing was written down.
    pub(crate) fn recent(&self, session: &SessionId) -> Recent {
        let file = open_plain(&self.recent_dir().join(session.as_str()));
        let recent = file.ok().and_then(|mut file| read_json(&mut file));
        recent.unwrap_or_default()
    }

    /// The newest snapshot of a session, as far as it was taken by a run that noted it.
    pub(crate) fn newest(&self, session: &SessionId) -> Option<Entry> {
        let id = SnapshotId::parse(&self.recent(session).newest?)?;
        let is_there = id.session == *session && self.meta_path(&id).symlink_metadata().is_ok();
        let meta = is_there.then(|| self.read_meta(&id))?;
        Some(Entry { id, meta })
    }

    /// Writes down that the second names of these snapshots' replaced files are gone.
    pub(crate) fn forget_retained(&self, session: &SessionId, gone: &[SnapshotId]) {
        if gone.is_empty() {
            return;
        }
        // Where the store is busy, they are looked for once more by the next run.
        if let Ok(mut locked) = self.lock() {
            locked.change_recent(session, |recent| {
                let is_gone = |id: &String| gone.iter().any(|gone| gone.to_string() == *id);
                recent.retained.retain(|id| !is_gone(id));
            });
        }
    }

    /// Writes down anew what is known of a session: what a run wrote down before it was killed
    /// by a power cut may not have reached the disk.
    pub(crate) fn recall(&self, session: &SessionId) -> Result<(), StoreError> {
        let known = known(self.catalog(Some(session))?.entries).remove(session);
        let mut locked = self.lock()?;
        locked.change_recent(session, |recent| *recent = known.unwrap_or_default());
        Ok(())
    }

    /// Writes down anew what is known of all sessions; how many it was wrong for.
    pub(crate) fn rebuild_recent(&self) -> Result<usize, StoreError> {
        let all = known(self.catalog(None)?.entries);
        let mut wrong = 0;
        let mut locked = self.lock()?;
        for name in names(&self.recent_dir())? {
            let session = name.parse::<SessionId>().ok();
            if let Some(session) = session.filter(|session| !all.contains_key(session)) {
                self.remove_recent(&session);
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

    /// Removes what is written down of a session.
    pub(crate) fn remove_recent(&self, session: &SessionId) {
        // What stays names snapshots that are not there.
        let _ = fs::remove_file(self.recent_dir().join(session.as_str()));
    }

    fn write_recent(&self, session: &SessionId, recent: &Recent) -> Result<(), StoreError> {
        let dir = self.recent_dir();
        make_dirs(&dir)?;
        let path = dir.join(session.as_str());
        let mut temp = self.temp("recent", 0o600)?;
        let written = serde_json::to_writer(&mut temp, recent);
        written.naming("write", &path)?;
        fs::rename(temp.path(), &path).naming("write", &path)?;
        temp.keep();
        Ok(())
    }
}

/// What the snapshots themselves say.
fn known(mut entries: Vec<Entry>) -> BTreeMap<SessionId, Recent> {
    let mut all: BTreeMap<SessionId, Recent> = BTreeMap::new();
    entries.sort_by_key(|entry| entry.id.stamp.sequence);
    for Entry { id, meta } in entries {
        let recent = all.entry(id.session.clone()).or_default();
        if let Ok(meta) = &meta {
            recent.add(&id, meta);
            let link = meta.retained_paths().map(|(_, link)| link);
            if link.is_none_or(|link| link.symlink_metadata().is_err()) {
                recent.retained.retain(|known| *known != meta.id);
            }
        }
    }
    all
}

impl StoreLock<'_> {
    /// Changes what is written down of a session.
    pub(crate) fn change_recent(&mut self, session: &SessionId, change: impl FnOnce(&mut Recent)) {
        let mut recent = self.store.recent(session);
        change(&mut recent);
        if self.store.write_recent(session, &recent).is_err() {
            self.store.remove_recent(session);
        }
    }
}

impl StoreLock<'_> {
    /// Writes down that a snapshot is gone that was just taken.
    pub(crate) fn forget_withdrawn(&mut self, id: &SnapshotId) -> Result<(), StoreError> {
        let gone = id.to_string();
        let mut newest = self.store.recent(&id.session).newest;
        if newest.as_ref() == Some(&gone) {
            // A run has failed: that is rare enough for a look at all of them.
            let last = self.store.catalog(Some(&id.session))?.entries.pop();
            newest = last.map(|entry| entry.id.to_string());
        }
        self.change_recent(&id.session, |recent| {
            recent.newest = newest;
            recent.retained.retain(|id| *id != gone);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::testing::{Bench, id};

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
        assert!(bench.store.newest(&demo).is_none(), "of another session");
        fs::write(&path, "half").expect("written");
        assert!(bench.store.newest(&demo).is_none());
        let third = bench.take("demo", b"4\n");
        assert_eq!(bench.store.newest(&demo).expect("one").id, third);
        bench.store.forget(&demo).expect("forgotten");
        assert!(!path.exists());
    }
}
