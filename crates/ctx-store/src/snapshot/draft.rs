//! Takes snapshots. The bytes of a session are copied, flushed to disk, and then committed. In the
//! meantime, the lines and messages in the session are counted.
//!
//! Bytes that are already in a session's newest snapshot are not stored again. If nothing has
//! changed, a request for a snapshot returns the newest one. A replacement always needs its own
//! commit record, so that it can be undone. If a replaced file's bytes are already in a snapshot,
//! the new snapshot's file is a hard link to the earlier one.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;

use ctx_format::{FixedFile, Options, Records, Tally};
use ring::digest::{Context, SHA256};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{
    TempFile, each_block, file_id, fingerprint, fingerprint_of, hard_link, hex, open_plain,
    persist, sync_name,
};
use crate::snapshot::meta::{FileHash, META_FORMAT, Meta, SnapshotKind, Tokens, retained_name};
use crate::store::{Store, StoreLock};
use crate::{Entry, Facts, SessionId, SnapshotBytes, SnapshotId, Stamp};

const OTHER_BYTES: &str = "the bytes that were read back differ from those that were written";

/// Bytes that will become a snapshot. If a draft is dropped without [`Draft::commit`], no files are
/// left behind.
pub struct Draft<'a> {
    pub(crate) store: &'a Store,
    /// The temporary file that holds the bytes.
    pub(crate) temp: TempFile,
    /// A copy of the bytes in memory, unless the session is larger than `IN_MEMORY`.
    memory: Option<Arc<Vec<u8>>>,
    pub(crate) measured: Measured,
    /// Receives the line and message counts from a counting thread or from the caller.
    tally: Option<Receiver<io::Result<Tally>>>,
    /// The sha256 of the bytes.
    pub(crate) sha256: String,
    /// The real path of the session file, or `None` for stdin.
    pub(crate) source: Option<String>,
    /// If the session file is about to be replaced, the length and hash of its new content.
    pub(crate) replaced_by: Option<FileHash>,
    /// Whether lines will only be appended to the session file. In that case, the file stays in
    /// place, and no old file needs a second name.
    pub(crate) stays_in_place: bool,
    /// The number of tokens in the session, if the user asked for it.
    pub tokens: Option<Tokens>,
}

/// A committed snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The commit record of the snapshot.
    pub meta: Meta,
    /// The fingerprint of the snapshot's bytes.
    pub(crate) fingerprint: u128,
}

impl Snapshot {
    /// Returns the facts to record in the audit log about the change that follows this snapshot.
    pub(crate) fn facts_of_change(&self) -> Facts {
        Facts {
            snapshots: vec![self.id.to_string()],
            sha256_before: Some(self.meta.sha256.clone()),
            sha256: self.meta.replaced_by.as_ref().map(|new| new.sha256.clone()),
            ..Facts::of(&self.id.session)
        }
    }
}

/// The results of measurements made while a snapshot's bytes are copied.
pub(crate) struct Measured {
    /// The unfinished sha256 of all bytes so far. The hash can be continued with bytes that are
    /// appended to the session later.
    pub(crate) hasher: Context,
    fingerprint: Xxh3,
    pub(crate) bytes: u64,
    newlines: u64,
    /// The length in bytes of the last line if that line is unfinished, or else 0.
    pub(crate) tail: u64,
}

impl Measured {
    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.fingerprint.update(bytes);
        self.bytes += bytes.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        match memchr::memrchr(b'\n', bytes) {
            Some(at) => self.tail = (bytes.len() - at - 1) as u64,
            None => self.tail += bytes.len() as u64,
        }
    }
}

/// Sessions up to this size, in bytes, are kept in memory while a snapshot is taken.
const IN_MEMORY: u64 = 32 << 20;

impl Store {
    /// Begins a snapshot of all bytes of `input`. If the input cannot be read, the error contains
    /// `name`.
    pub fn draft(&self, mut input: impl Read, name: &Path) -> Result<Draft<'_>> {
        self.prepare()?;
        let (hasher, fingerprint) = (Context::new(&SHA256), fingerprint());
        let mut measured = Measured { hasher, fingerprint, bytes: 0, newlines: 0, tail: 0 };
        let mut temp = self.temp("snapshot", 0o600)?;
        let mut memory = Vec::new();
        let cannot_read = |read: io::Result<_>| read.or_cannot("read", name);
        each_block(&mut input, cannot_read, |block| {
            measured.add(block);
            if measured.bytes <= IN_MEMORY {
                memory.extend_from_slice(block);
            } else {
                memory = Vec::new();
            }
            temp.file.write_all(block).or_cannot("write", temp.path())
        })?;
        Ok(Draft {
            store: self,
            temp,
            tally: None,
            memory: (measured.bytes <= IN_MEMORY).then(|| Arc::new(memory)),
            sha256: hex(measured.hasher.clone().finish()),
            measured,
            source: None,
            replaced_by: None,
            stays_in_place: false,
            tokens: None,
        })
    }

    /// Returns a session's newest snapshot, if it was taken on request and holds the same bytes
    /// from the same file.
    pub(crate) fn known(
        &self,
        session: &SessionId,
        source: Option<&str>,
        sha256: &str,
    ) -> Option<SnapshotId> {
        let (entry, _, meta) = self.newest_with(session, sha256)?;
        let is_asked_for = meta.kind == SnapshotKind::Snapshot;
        (is_asked_for && meta.source.as_deref() == source).then_some(entry.id)
    }

    /// Returns a session's newest snapshot, if its bytes have this hash and it is undamaged.
    fn newest_with(
        &self,
        session: &SessionId,
        sha256: &str,
    ) -> Option<(Entry, SnapshotBytes, Meta)> {
        let entry = self.newest(session)?;
        if entry.meta.as_ref().ok()?.sha256 != sha256 {
            return None;
        }
        let (bytes, meta) = self.open_verified(&entry).ok()?;
        Some((entry, bytes, meta))
    }
}

impl Draft<'_> {
    /// Returns a handle for reading the bytes from the start.
    pub fn reader(&self) -> Result<File> {
        let path = self.temp.path();
        let mut file = self.temp.file.try_clone().or_cannot("read", path)?;
        file.rewind().or_cannot("read", path)?;
        Ok(file)
    }

    /// Returns the bytes as a file that will not change.
    pub(crate) fn copy(&self) -> Result<FixedFile> {
        Ok(FixedFile::new(self.reader()?, self.memory.clone()))
    }

    /// Returns the bytes' fingerprint, which lets this run recognize them.
    pub(crate) fn fingerprint(&self) -> u128 {
        self.measured.fingerprint.digest128()
    }

    /// Turns the draft into a snapshot. The bytes are put in place before meta.json, because
    /// meta.json makes the snapshot valid and must never exist without the bytes.
    pub fn commit(self, session: &SessionId, kind: SnapshotKind) -> Result<Snapshot> {
        let (snapshot, failed) = self.take(session, kind)?;
        match failed {
            Some(error) => Err(error.after(format!("snapshot {}", snapshot.id))),
            None => Ok(snapshot),
        }
    }

    /// Like [`Draft::commit`], but if a step after the commit fails, returns both the snapshot and
    /// the error.
    pub(crate) fn take(
        mut self,
        session: &SessionId,
        kind: SnapshotKind,
    ) -> Result<(Snapshot, Option<StoreError>)> {
        self.count_meanwhile();
        let store = self.store;
        // Sync before locking the store, so that other runs do not wait for a slow disk.
        self.temp.seal()?;
        // Unlike `save`, a replacement needs its own snapshot even if the bytes are the same as
        // before.
        let equal = kind.is_of_replacement().then(|| self.find_equal(session)).flatten();
        if equal.is_none() {
            self.read_back()?;
        }

        let tally = self.tally()?;
        let mut locked = store.lock()?;
        let id =
            SnapshotId { session: session.clone(), stamp: self.free_stamp(&mut locked, kind)? };
        let fingerprint = self.fingerprint();
        let mut meta = self.describe(&id, kind, tally);
        meta.others = store.notes_for(session, kind);
        let facts = Facts::of_snapshot(&id, &meta);
        let operation = locked.begin("snapshot", &facts)?;
        let committed = self.put(&id, equal, &mut meta);
        if let Err(error) = committed.and_then(|()| locked.write_meta(&id, &meta)) {
            let is_there = store.meta_path(&id).try_exists();
            if let Ok(true) = is_there {
                return Ok((Snapshot { id, meta, fingerprint }, Some(error)));
            }
            // Remove the bytes, because they are not a snapshot without a meta.json. If it is
            // unclear whether meta.json exists, keep the bytes, because the snapshot would be
            // damaged without them. If meta.json does not exist, ctx-gc removes the bytes later.
            if let Ok(false) = is_there {
                let _ = store.remove_snapshot(&id);
            }
            return Err(error.before());
        }
        locked.change_recent(session, |recent| recent.add(&id, &meta));
        Ok((Snapshot { id, meta, fingerprint }, locked.done(&operation, &facts).err()))
    }

    /// Puts the bytes in place, by renaming the temporary file or by creating a hard link to an
    /// earlier snapshot with the same bytes.
    fn put(self, id: &SnapshotId, equal: Option<EqualBytes>, meta: &mut Meta) -> Result<()> {
        if let Some(equal) = equal {
            if equal.link(self.store, id)? {
                equal.packed.into_iter().for_each(|packed| meta.pack(packed));
                return Ok(());
            }
            self.read_back()?;
        }
        persist(self.temp, &self.store.data_path(id))
    }

    /// Before the commit, checks that the file really contains the bytes that were written to it.
    fn read_back(&self) -> Result<()> {
        let path = self.temp.path();
        let mut file = open_plain(path).or_cannot("read", path)?;
        if fingerprint_of(&mut file).or_cannot("read", path)? == self.fingerprint() {
            return Ok(());
        }
        Err(std::io::Error::other(OTHER_BYTES)).or_not_written(path)
    }

    /// Returns the next stamp for which the replaced file's second name is free. The name may be
    /// taken by a killed run that used another store.
    fn free_stamp(&self, locked: &mut StoreLock<'_>, kind: SnapshotKind) -> Result<Stamp> {
        loop {
            let stamp = locked.next_stamp()?;
            let beside = self.retained(kind, stamp.sequence).zip(self.source.as_deref());
            let taken = beside.is_some_and(|(name, source)| {
                file_id(&Path::new(source).with_file_name(name)).is_ok()
            });
            if !taken {
                return Ok(stamp);
            }
        }
    }

    fn retained(&self, kind: SnapshotKind, sequence: u64) -> Option<String> {
        let gets_name = kind.is_of_replacement() && !self.stays_in_place;
        let replaced = self.source.as_deref().filter(|_| gets_name);
        replaced.and_then(|source| retained_name(source, sequence))
    }

    /// Accepts the line and message counts from a caller that has already counted them.
    pub(crate) fn counted(&mut self, tally: Tally) {
        let (sender, receiver) = channel();
        self.tally = sender.send(Ok(tally)).is_ok().then_some(receiver);
    }

    /// Starts a thread that counts the lines and messages, unless they have already been counted.
    pub(crate) fn count_meanwhile(&mut self) {
        if let (None, Ok(copy)) = (&self.tally, self.copy()) {
            let (counted, tally) = channel();
            // If no thread can be started, `tally` will count the lines and messages.
            let _ = Builder::new().spawn(move || counted.send(tally_of(&copy)));
            self.tally = Some(tally);
        }
    }

    /// Waits for the line and message counts. If no thread is counting, this call counts them
    /// itself.
    pub(crate) fn tally(&self) -> Result<Tally> {
        let counted = match self.tally.as_ref().map(Receiver::recv) {
            Some(Ok(counted)) => counted,
            _ => tally_of(&self.copy()?),
        };
        counted.or_cannot("read", self.temp.path())
    }

    pub(crate) fn describe(&self, id: &SnapshotId, kind: SnapshotKind, tally: Tally) -> Meta {
        Meta {
            format: META_FORMAT,
            id: id.to_string(),
            session: id.session.to_string(),
            sequence: id.stamp.sequence,
            created: id.stamp.time,
            kind,
            retained: self.retained(kind, id.stamp.sequence),
            replaced_by: self.replaced_by.clone(),
            source: self.source.clone(),
            bytes: self.measured.bytes,
            lines: self.measured.newlines + u64::from(self.measured.tail > 0),
            tail_bytes: self.measured.tail,
            tally,
            tokens: self.tokens.clone(),
            sha256: self.sha256.clone(),
            saved_again: None,
            packed: None,
            held: false,
            others: serde_json::Map::new(),
        }
    }

    /// Turns the draft into a snapshot, unless the session's newest snapshot was also taken on
    /// request and holds the same bytes from the same file. If the newest snapshot is reused,
    /// retention counts its age from now, and any token count is added to its commit record.
    pub fn save(self, session: &SessionId) -> Result<Saved> {
        if let Some(known) = self.store.known(session, self.source.as_deref(), &self.sha256)
            && let Some(snapshot) = self.save_again(known)?
        {
            return Ok(Saved::Again(snapshot));
        }
        self.commit(session, SnapshotKind::Snapshot).map(Saved::New)
    }

    /// Records that a snapshot's bytes were saved again. Returns `None` if the snapshot has been
    /// removed.
    fn save_again(&self, id: SnapshotId) -> Result<Option<Snapshot>> {
        let mut locked = self.store.lock()?;
        let Ok(mut meta) = self.store.read_meta(&id) else { return Ok(None) };
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

    /// Returns the file of the session's newest snapshot, if that snapshot holds the same bytes.
    pub(crate) fn find_equal(&self, session: &SessionId) -> Option<EqualBytes> {
        let (Entry { id, .. }, bytes, meta) = self.store.newest_with(session, &self.sha256)?;
        let packed = if bytes.is_packed() { Some(meta.packed?) } else { None };
        Some(EqualBytes { id, packed })
    }
}

impl StoreLock<'_> {
    /// Writes or replaces a snapshot's meta.json.
    pub(crate) fn write_meta(&mut self, id: &SnapshotId, meta: &Meta) -> Result<()> {
        let path = self.store.meta_path(id);
        let mut temp = self.store.temp("meta", 0o400)?;
        temp.write_all(&meta.to_bytes()).or_cannot("write", &path)?;
        persist(temp, &path)
    }
}

fn tally_of(bytes: &FixedFile) -> io::Result<Tally> {
    tally(bytes.reader()?, bytes.reader()?)
}

/// Counts the lines and messages in a session. `again` must return the same bytes as `reader`.
pub(crate) fn tally(reader: impl Read, again: impl Read + Send + 'static) -> io::Result<Tally> {
    let mut records = Records::open_twice(reader, Some(Box::new(again)), &Options::default())?;
    let dialect = records.dialect();
    let mut tally = Tally::of(dialect);
    while let Some(record) = records.next()? {
        tally.add(&record, dialect);
    }
    Ok(tally)
}

/// The result of saving a session on request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// A new snapshot was taken.
    New(Snapshot),
    /// No new snapshot was taken, because the newest one already has the same bytes.
    Again(Snapshot),
}

impl Saved {
    /// Returns the snapshot that holds the saved bytes.
    pub fn snapshot(&self) -> &Snapshot {
        let (Self::New(snapshot) | Self::Again(snapshot)) = self;
        snapshot
    }
}

/// The file of an earlier snapshot with the same bytes.
pub(crate) struct EqualBytes {
    /// The id of the earlier snapshot.
    pub(crate) id: SnapshotId,
    /// The length and hash of the packed file, or `None` if the bytes are plain.
    pub(crate) packed: Option<FileHash>,
}

impl EqualBytes {
    /// Creates a hard link to the file and flushes it to disk. Returns `false` if the link cannot
    /// be created, because the file system does not support hard links, or because the file has
    /// just been packed or removed.
    pub(crate) fn link(&self, store: &Store, id: &SnapshotId) -> Result<bool> {
        let [file, name] = [&self.id, id].map(|id| match self.packed {
            Some(_) => store.packed_path(id),
            None => store.data_path(id),
        });
        hard_link(file, &name).map_or(Ok(false), |()| sync_name(&name).map(|()| true))
    }
}

impl Entry {
    /// Returns when the snapshot was taken or, if later, when it was last saved again.
    pub(crate) fn last_saved(&self) -> chrono::DateTime<chrono::Utc> {
        let taken = self.id.stamp.time;
        let again = self.meta.as_ref().ok().and_then(|meta| meta.saved_again);
        again.map_or(taken, |again| again.max(taken))
    }
}

#[cfg(test)]
mod count_tests {
    use std::io;

    use super::tally;

    #[test]
    fn messages_and_bad_lines_are_told_apart() {
        let input = b"{\"role\":\"user\",\"content\":\"a\"}\nbroken\n\n{\"role\":\"assistant\",\"content\":\"b\"}\n\0\0\n{\"role\":\"us";
        let tally = tally(&input[..], &input[..]).expect("from memory");
        assert_eq!(tally.dialect.as_deref(), Some("chat"));
        assert_eq!((tally.messages, tally.bad_lines), (2, 2));
        let classes: Vec<_> =
            tally.bad.iter().map(|bad| (bad.line, bad.offset, bad.class.as_str())).collect();
        assert_eq!(classes, [(2, 30, "broken"), (5, 73, "nul")]);
    }

    #[test]
    fn only_so_many_bad_lines_are_named() {
        let input = "x\n".repeat(1000);
        let tally = tally(input.as_bytes(), io::empty()).expect("from memory");
        assert_eq!((tally.bad_lines, tally.bad.len()), (1000, 100));
        assert_eq!((tally.dialect, tally.messages), (None, 0));
    }
}

#[cfg(test)]
mod reuse_tests {
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

    /// The same bytes from the same file are saved only once.
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
        // Bytes that have been packed are recognized as well.
        assert_eq!(bench.store.pack(&entries).packed.len(), 1);
        assert!(is_again(&save(&bench, &path, None).expect("saved")));
    }

    /// A new snapshot is taken if the bytes or the file differ, or if the newest snapshot is
    /// damaged.
    #[test]
    fn what_is_not_surely_the_same_is_saved() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "1\n");
        let is_new = |path: &Path| !is_again(&save(&bench, path, None).expect("saved"));
        assert!(is_new(&path));
        let other = bench.file("other.jsonl", "1\n");
        assert!(is_new(&other), "another file");
        assert!(is_new(&path), "the newest snapshot is of another file");
        // Damage the newest snapshot.
        let taken = save(&bench, &path, None).expect("saved").snapshot().id.clone();
        let data = bench.store.data_path(&taken);
        fs::remove_file(&data).expect("removed");
        fs::write(&data, "2\n").expect("written");
        assert!(is_new(&path), "the newest snapshot is damaged");
        // A snapshot that was not taken on request does not count, because it may be removed when
        // the next snapshot is taken.
        let draft = bench.store.draft_of(&path).expect("reads");
        let taken = draft.commit(&id("demo"), SnapshotKind::PreCompact);
        taken.expect("commits");
        assert!(is_new(&path), "of a replacement");
        bench.take("demo", b"1\n");
        assert!(is_new(&path), "of stdin");
        fs::write(&path, "1\n2\n").expect("written");
        assert!(is_new(&path), "it has grown");
    }

    /// If bytes from an old snapshot are saved again, they are kept as long as a new snapshot would
    /// be.
    #[test]
    fn what_was_saved_once_more_is_kept_from_then_on() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "1\n");
        let saved = save(&bench, &path, None).expect("saved").snapshot().id.clone();
        bench.wait_days(20);
        let listed = bench.store.now();
        bench.wait_days(1);
        save(&bench, &path, None).expect("saved");
        // Pretend that ctx-gc listed the snapshot before it was saved again.
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

    /// A replacement takes its own snapshot without using more space.
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
        assert_eq!(packed(&asked), packed(&later), "the new snapshot is packed at once");
        assert_eq!([text(0), text(1), text(2)], ["1\n"; 3]);
        // If snapshots share a file, each can be removed without affecting the others.
        bench.store.discard(&[asked, later], &[], bench.store.now()).expect("removed");
        bench.store.purge(None).expect("purged");
        assert_eq!(text(0), "1\n");
    }
}
