//! Bytes that the newest snapshot of a session has already are not stored again.
//!
//! A request for a snapshot returns the id of that one. A replacement needs a commit record of its
//! own, so that it can be undone; its bytes then get a second name.

use std::fs;
use std::path::PathBuf;

use crate::audit::Facts;
use crate::error::StoreError;
use crate::fs::sync_name;
use crate::id::{SessionId, SnapshotId};
use crate::snapshot::Entry;
use crate::snapshot::bytes::SnapshotBytes;
use crate::snapshot::draft::{Draft, Snapshot};
use crate::snapshot::meta::{Meta, Packed, SnapshotKind};
use crate::store::Store;

/// What happened to the bytes to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// They are a new snapshot.
    New(Snapshot),
    /// The newest snapshot has them.
    Again(Snapshot),
}

impl Saved {
    /// The snapshot that has them.
    pub fn snapshot(&self) -> &Snapshot {
        let (Self::New(snapshot) | Self::Again(snapshot)) = self;
        snapshot
    }
}

/// A file of an earlier snapshot with the same bytes.
pub(crate) struct EqualBytes {
    path: PathBuf,
    /// How they are packed in it, if they are.
    pub(crate) packed: Option<Packed>,
}

impl Store {
    /// The newest snapshot of a session, if it was taken on request and has these bytes of this
    /// file.
    pub(crate) fn known(
        &self,
        session: &SessionId,
        source: Option<&str>,
        sha256: &str,
    ) -> Option<SnapshotId> {
        let is_same = |meta: &Meta| {
            let is_asked_for = meta.kind == SnapshotKind::Snapshot;
            is_asked_for && meta.source.as_deref() == source && meta.sha256 == sha256
        };
        self.newest_if(session, is_same).map(|(id, ..)| id)
    }

    /// The newest snapshot of a session, if `is_it` accepts it and it is undamaged.
    fn newest_if(
        &self,
        session: &SessionId,
        is_it: impl Fn(&Meta) -> bool,
    ) -> Option<(SnapshotId, SnapshotBytes, Meta)> {
        let entry = self.newest(session)?;
        if !entry.meta.as_ref().is_ok_and(is_it) {
            return None;
        }
        let (bytes, meta) = self.open_verified(&entry).ok()?;
        Some((entry.id, bytes, meta))
    }
}

impl Draft<'_> {
    /// Makes it a snapshot, unless the newest one of the session was asked for, too, and has
    /// the same bytes of the same file. That one is as good as new then: retention counts it from
    /// now, and it gets the number of tokens.
    pub fn save(self, session: &SessionId) -> Result<Saved, StoreError> {
        let source = self.source.as_deref();
        if let Some(known) = self.store.known(session, source, &self.sha256)
            && let Some(snapshot) = self.save_again(known)?
        {
            return Ok(Saved::Again(snapshot));
        }
        self.commit(session, SnapshotKind::Snapshot).map(Saved::New)
    }

    /// `None` if the snapshot has been removed.
    fn save_again(&self, id: SnapshotId) -> Result<Option<Snapshot>, StoreError> {
        let mut locked = self.store.lock()?;
        let Ok(mut meta) = self.store.read_meta(&id) else {
            return Ok(None);
        };
        let facts = Facts::of_snapshot(&id, &meta);
        let operation = locked.begin("save-again", &facts)?;
        meta.saved_again = Some(self.store.now());
        if self.tokens.is_some() {
            meta.tokens.clone_from(&self.tokens);
        }
        locked.write_meta(&id, &meta)?;
        locked.done(&operation, &facts)?;
        Ok(Some(Snapshot { id, meta, fingerprint: self.fingerprint() }))
    }

    /// The file of the newest snapshot, if it has these bytes.
    pub(crate) fn find_equal(&self, session: &SessionId) -> Option<EqualBytes> {
        let is_same = |meta: &Meta| meta.sha256 == self.sha256;
        let (id, bytes, meta) = self.store.newest_if(session, is_same)?;
        Some(if bytes.is_packed() {
            EqualBytes::packed(self.store, &id, meta.packed?)
        } else {
            EqualBytes { path: self.store.data_path(&id), packed: None }
        })
    }
}

impl EqualBytes {
    /// Gives the file a second name, durably; `false` where that cannot be done: on a file system
    /// without such names, or because the file was packed or removed meanwhile.
    pub(crate) fn link(&self, store: &Store, id: &SnapshotId) -> Result<bool, StoreError> {
        let name = match self.packed {
            Some(_) => store.packed_path(id),
            None => store.data_path(id),
        };
        match fs::hard_link(&self.path, &name) {
            Ok(()) => sync_name(&name).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// The packed file of a snapshot.
    pub(crate) fn packed(store: &Store, id: &SnapshotId, packed: Packed) -> Self {
        Self { path: store.packed_path(id), packed: Some(packed) }
    }
}

impl Entry {
    /// When its bytes were saved last.
    pub(crate) fn last_saved(&self) -> chrono::DateTime<chrono::Utc> {
        let taken = self.id.stamp.time;
        let again = self.meta.as_ref().ok().and_then(|meta| meta.saved_again);
        again.map_or(taken, |again| again.max(taken))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::Saved;
    use crate::retention::Policy;
    use crate::tests::{Bench, id};
    use crate::{SnapshotId, SnapshotKind, StoreError, Tokens};

    fn save(bench: &Bench, path: &Path, count: Option<u64>) -> Result<Saved, StoreError> {
        let mut draft = bench.store.draft_of(path)?;
        draft.tokens = count.map(|count| Tokens { count, encoding: "o200k_base".to_owned() });
        draft.save(&id("demo"))
    }

    fn is_again(saved: &Saved) -> bool {
        matches!(saved, Saved::Again(_))
    }

    /// 15 C5
    #[test]
    fn what_the_newest_snapshot_has_is_not_saved_twice() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "1\n");
        let first = save(&bench, &path, None).expect("saved");
        assert!(!is_again(&first));
        bench.wait_days(3);
        for count in [None, Some(7), None] {
            let again = save(&bench, &path, count).expect("saved");
            assert!(is_again(&again));
            assert_eq!(again.snapshot().id, first.snapshot().id);
        }
        let entries = bench.store.catalog(None).expect("lists").entries;
        let [entry] = &entries[..] else {
            panic!("one: {entries:?}");
        };
        let meta = entry.meta.as_ref().expect("whole");
        assert_eq!(meta.tokens.as_ref().map(|tokens| tokens.count), Some(7));
        assert_eq!(meta.saved_again, Some(bench.store.now()));
        assert!(bench.store.check_audit_log().expect("a log").is_empty());
        // Packed ones count as well.
        assert_eq!(bench.store.pack(&entries).packed.len(), 1);
        assert!(is_again(&save(&bench, &path, None).expect("saved")));
    }

    /// 15 C5
    #[test]
    fn what_is_not_surely_the_same_is_saved() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "1\n");
        let is_new = |path: &Path| !is_again(&save(&bench, path, None).expect("saved"));
        assert!(is_new(&path));
        let other = bench.file("other.jsonl", "1\n");
        assert!(is_new(&other), "another file");
        assert!(is_new(&path), "the newest one is of another file");
        // A damaged one.
        let taken = save(&bench, &path, None).expect("saved").snapshot().id.clone();
        let data = bench.store.data_path(&taken);
        fs::remove_file(&data).expect("removed");
        fs::write(&data, "2\n").expect("written");
        assert!(is_new(&path), "the newest one is damaged");
        // A snapshot that was not requested is removed when the next run has taken one.
        let draft = bench.store.draft_of(&path).expect("reads");
        let taken = draft.commit(&id("demo"), SnapshotKind::PreCompact);
        taken.expect("commits");
        assert!(is_new(&path), "of a replacement");
        bench.take("demo", b"1\n");
        assert!(is_new(&path), "of stdin");
        fs::write(&path, "1\n2\n").expect("written");
        assert!(is_new(&path), "it has grown");
    }

    /// 15 C5: who saves today what was saved long ago can rely on it as on a new one.
    #[test]
    fn what_was_saved_once_more_is_kept_from_then_on() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "1\n");
        let saved = save(&bench, &path, None).expect("saved").snapshot().id.clone();
        bench.wait_days(20);
        let listed = bench.store.now();
        bench.wait_days(1);
        save(&bench, &path, None).expect("saved");
        // gc had listed it before.
        let ids = [saved.clone()];
        let removed = bench.store.discard(&ids, &[], listed);
        assert!(removed.expect("looked").items.is_empty());
        bench.wait_days(2);
        let entries = bench.store.catalog(None).expect("lists").entries;
        assert_eq!(entries[0].last_saved() + chrono::TimeDelta::days(2), bench.store.now());
        let policy = Policy { days: Some(3), ..Policy::default() };
        let candidate = crate::collect::candidate(&entries[0], &std::collections::BTreeSet::new());
        let verdicts = crate::retention::decide(&[candidate], &policy, bench.store.now());
        let reasons = &verdicts.expect("decided")[0];
        assert!(reasons.contains(&crate::retention::Reason::Days), "{reasons:?}");
    }

    /// 15 C5: before a replacement a snapshot of its own is taken, in no more room.
    #[test]
    fn a_replacement_takes_no_second_copy() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "1\n");
        let commit = |kind| {
            let draft = bench.store.draft_of(&path).expect("reads");
            draft.commit(&id("demo"), kind).expect("commits").id
        };
        let inode = |path: &Path| fs::metadata(path).expect("there").ino();
        let (data, packed) = (
            |id: &SnapshotId| inode(&bench.store.data_path(id)),
            |id: &SnapshotId| inode(&bench.store.packed_path(id)),
        );
        let text = |at: usize| {
            let entries = bench.store.catalog(None).expect("lists").entries;
            let bytes = bench.store.open_verified(&entries[at]).expect("whole").0;
            std::io::read_to_string(bytes).expect("text")
        };
        let asked = commit(SnapshotKind::Snapshot);
        let before = commit(SnapshotKind::PreCompact);
        assert_eq!(data(&asked), data(&before));
        let entries = bench.store.catalog(None).expect("lists").entries;
        assert_eq!(bench.store.pack(&entries).packed.len(), 2);
        assert_eq!(packed(&asked), packed(&before), "packed once");
        let later = commit(SnapshotKind::PreRollback);
        assert_eq!(packed(&asked), packed(&later), "packed from the beginning");
        assert_eq!([text(0), text(1), text(2)], ["1\n"; 3]);
        // Each is removed for itself.
        bench.store.discard(&[asked, later], &[], bench.store.now()).expect("removed");
        bench.store.purge(None).expect("purged");
        assert_eq!(text(0), "1\n");
    }
}
