//! Restores a snapshot: finds it, checks it, and writes its bytes to the session file. A file's
//! snapshots are found regardless of the session ids that they were saved under.
//!
//! An undo looks for the last successful replacement of the file. Before a replacement, a snapshot
//! is taken whose commit record describes the new content. If the file still begins with the new
//! content, the replacement succeeded, because agents only append. Therefore, if a run was killed
//! between taking the snapshot and replacing the file, its snapshot is not mistaken for a
//! replacement.
//!
//! This module also finds the lines that a rollback would remove from the file: lines that agents
//! have appended since a tool last changed or saved the file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use ctx_format::counted;
use ctx_format::dialect::by_name;
use ring::digest::{Context, SHA256};
use serde::Serialize;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{hash_into, hex, is_there};
use crate::{
    Catalog, Entry, Event, Figures, FileHash, Meta, MinIdle, NewContent, ReplaceOutcome,
    SessionFile, SessionId, SnapshotBytes, SnapshotKind, Store, real_path, refuse_replacement,
};

/// Which snapshot to restore.
#[derive(Clone, Copy, Debug)]
pub enum SnapshotChoice<'a> {
    /// The snapshot with this name. For the possible names, see [`crate::Catalog::find`].
    Named(&'a str),
    /// The newest snapshot that was taken before this time.
    Before(DateTime<Utc>),
    /// The snapshot of the content that the file had before it was last replaced.
    Undo(Option<&'a Path>),
}

/// A snapshot that is ready to be restored. The snapshot's bytes have been checked against their
/// hash.
pub struct Restore<'s> {
    store: &'s Store,
    /// The session id under which the replaced content will be saved.
    pub session: SessionId,
    /// A reader positioned at the first byte of the snapshot.
    pub content: SnapshotBytes,
    /// The commit record of the snapshot.
    pub meta: Meta,
    /// Each entry describes content that the session file may begin with: its length and hash, and
    /// the id of the snapshot whose commit record contains them. The first entry is the content
    /// that replaced this snapshot; the snapshot's own bytes and the results of other replacements
    /// follow.
    known: Vec<(String, FileHash)>,
    /// Hashes of the start of the session file, if the file was read to find the snapshot.
    pub(crate) file: PrefixHashes,
}

impl Store {
    /// Finds a snapshot of a session and checks its bytes.
    pub fn find_restore(
        &self,
        session: &SessionId,
        wanted: SnapshotChoice<'_>,
    ) -> Result<Restore<'_>> {
        let session = self.require_session(session, false)?;
        let catalog = self.catalog(Some(&session))?;
        let path = if let SnapshotChoice::Undo(path) = wanted { path } else { None };
        let found = self.find_in(catalog, path, wanted)?;
        Ok(Restore { session, ..found })
    }

    /// Uses [`Store::catalog_of_file`] to find the snapshot to restore when the user named only a
    /// file.
    ///
    /// Copies of a session in different places have the same session id. If this file has
    /// snapshots, those of other copies are ignored, unless the user names one of them.
    pub fn find_restore_of_file(
        &self,
        path: &Path,
        wanted: SnapshotChoice<'_>,
    ) -> Result<Restore<'_>> {
        let of_file = match self.catalog_of_file(path) {
            Err(StoreError::NoSnapshotOf(_)) if matches!(wanted, SnapshotChoice::Undo(_)) => {
                return Err(StoreError::NothingToUndo);
            }
            other => other?,
        };
        let is_named = matches!(wanted, SnapshotChoice::Named(name) if name != "latest");
        let found = self.find_in(of_file.catalog, (!is_named).then_some(path), wanted)?;
        // Save the replaced content under the session id in the file or, if there is none, under
        // the snapshot's session.
        let session = SessionId::recorded_in(path).unwrap_or_else(|| found.session.clone());
        Ok(Restore { session, ..found })
    }

    /// Finds and opens a snapshot. If the file at `path` has snapshots, those of other files are
    /// ignored.
    fn find_in(
        &self,
        mut catalog: Catalog,
        path: Option<&Path>,
        wanted: SnapshotChoice<'_>,
    ) -> Result<Restore<'_>> {
        path.map_or(Ok(()), |path| catalog.prefer(path))?;
        let mut file = PrefixHashes::default();
        let entry = match wanted {
            SnapshotChoice::Named(wanted) => catalog.find(wanted),
            SnapshotChoice::Before(time) => catalog.find_before(time),
            SnapshotChoice::Undo(path) => self.last_replaced(&catalog, path).map(|(entry, now)| {
                file = now;
                entry
            }),
        };
        let entry = entry.map_err(|error| self.explained(error))?;
        let opened = self.open_verified(entry);
        let (content, meta) = match wanted {
            SnapshotChoice::Undo(_) => opened.map_err(StoreError::in_undo)?,
            _ => opened?,
        };
        let result = |meta: &Meta| Some((meta.id.clone(), meta.replaced_by.clone()?));
        let mut results: Vec<_> = catalog.trusted().filter_map(|(_, meta)| result(meta)).collect();
        results.sort_by_key(|(_, result)| Reverse(result.bytes));
        let own = FileHash { bytes: meta.bytes, sha256: meta.sha256.clone() };
        let known = result(&meta).into_iter().chain([(meta.id.clone(), own)]).chain(results);
        Ok(Restore {
            store: self,
            session: entry.id.session.clone(),
            known: known.collect(),
            content,
            meta,
            file,
        })
    }

    /// Returns a file's snapshots. A snapshot belongs to the file if it has the session id that the
    /// agent wrote into the file, or if it was taken at the file's path. If there is no such
    /// snapshot, the file was moved or copied. For a moved or copied file, returns the snapshots of
    /// the session whose content matches the file or its beginning.
    pub fn catalog_of_file(&self, path: &Path) -> Result<OfFile> {
        let real = real_path(path).or_cannot("read", path)?;
        // Older versions of the tools named every session after its path.
        let own = [SessionId::of_file(path)?, SessionId::of_path(path)?];
        let mut catalog = self.catalog(None)?;
        let is_own = |entry: &Entry| {
            let meta = entry.meta.as_ref();
            own.contains(&entry.id.session) || meta.is_ok_and(|meta| meta.is_of(&real))
        };
        if catalog.entries.iter().any(is_own) {
            catalog.entries.retain(is_own);
            catalog.uncommitted.retain(|id| own.contains(&id.session));
            return Ok(OfFile { catalog, by_content: None });
        }
        let fitting = fitting_sessions(&catalog, path)?;
        let session = match &fitting[..] {
            [] => return Err(StoreError::NoSnapshotOf(path.to_owned())),
            [session] => session,
            several => {
                return Err(StoreError::SeveralSessions {
                    path: path.to_owned(),
                    sessions: several.iter().map(ToString::to_string).collect(),
                });
            }
        };
        catalog.entries.retain(|entry| entry.id.session == *session);
        catalog.uncommitted.retain(|id| id.session == *session);
        let source = catalog.trusted().rev().find_map(|(_, meta)| meta.source.clone());
        Ok(OfFile { by_content: Some(source.unwrap_or_else(|| "stdin".to_owned())), catalog })
    }

    /// Finds the snapshot of the content that a file had before it was last replaced. Skips
    /// snapshots whose bytes are exactly the current bytes. If the file does not begin with content
    /// that a tool wrote, another program has rewritten the file, so the result is the snapshot
    /// from the newest replacement. Fails if a damaged snapshot might be the one to restore.
    ///
    /// Also returns hashes of the start of the file. Thanks to these hashes, a rollback reads the
    /// file only twice: here, and again under the lock, because an agent may append lines in
    /// between.
    pub(crate) fn last_replaced<'c>(
        &self,
        catalog: &'c Catalog,
        path: Option<&Path>,
    ) -> Result<(&'c Entry, PrefixHashes)> {
        if catalog.entries.is_empty() {
            return Err(StoreError::NothingToUndo);
        }
        let mut entries: Vec<&Entry> = catalog.entries.iter().collect();
        entries.sort_by_key(|entry| Reverse(entry.id.stamp.sequence));
        let lengths = catalog.trusted().flat_map(|(_, meta)| meta.lengths());
        let now = path
            .map_or_else(|| Ok(PrefixHashes::default()), |path| PrefixHashes::of(path, lengths))?;
        let mut newest = None;
        for entry in entries {
            let Ok(meta) = &entry.meta else {
                // Skip a damaged snapshot if its commit record is valid and shows that it was not
                // taken before a replacement.
                if self.read_sealed(&entry.id).is_ok_and(|meta| !meta.kind.is_of_replacement()) {
                    continue;
                }
                return Err(entry.trusted_meta().expect_err("it is damaged").in_undo());
            };
            if !meta.kind.is_of_replacement() || now.is(meta) {
                continue;
            }
            match &meta.replaced_by {
                Some(new) if !now.begin_with(new) => {
                    newest.get_or_insert(entry);
                }
                // If the new content is not recorded, the snapshot is from an older version of the
                // tools.
                _ => return Ok((entry, now)),
            }
        }
        Ok((newest.ok_or(StoreError::NothingToUndo)?, now))
    }
}

impl Restore<'_> {
    /// Sets the session id under which the replaced content will be saved.
    #[cfg(test)]
    pub(crate) fn of_session(self, session: SessionId) -> Self {
        Self { session, ..self }
    }

    /// Fails if the snapshot was taken from another file, so that a mistyped name does not
    /// overwrite another session's file.
    pub fn refuse_other_file(&self, path: &Path) -> Result<()> {
        let real = real_path(path).or_cannot("read", path)?;
        match &self.meta.source {
            Some(source) if !self.meta.is_of(&real) => Err(StoreError::OtherFile {
                path: path.to_owned(),
                id: self.meta.id.clone(),
                taken_of: source.clone(),
                is_gone: !is_there(Path::new(source))?,
            }),
            _ => Ok(()),
        }
    }

    /// For a dry run, checks whether [`Restore::restore`] would refuse the file.
    pub fn refuse(&self, path: &Path, min_idle: MinIdle) -> Result<()> {
        refuse_replacement(path)?;
        if !is_there(path)? {
            return Ok(());
        }
        SessionFile::open_replaceable(path)?.refuse_unless_idle(self.store, &self.session, min_idle)
    }

    /// Replaces the file's content with the snapshot's bytes, or creates the file. Refuses a file
    /// that was changed less than `min_idle` ago.
    pub fn restore(&mut self, path: &Path, min_idle: MinIdle) -> Result<ReplaceOutcome> {
        let mut new = NewContent {
            reader: &mut self.content,
            sha256: &self.meta.sha256,
            operation: "rollback",
            kind: SnapshotKind::PreRollback,
            figures: Figures::from_iter([("restored".to_owned(), (*self.meta.id).into())]),
        };
        let dialect = self.meta.tally.dialect.as_deref().and_then(by_name);
        if dialect.is_some_and(|it| it.format().is_document) && is_there(path)? {
            Store::refuse_inside(path)?;
            let replacement = self.store.begin_replacement(path, &self.session, min_idle)?;
            // Nothing may follow a document.
            return replacement.unless_it_grows().commit(&mut new);
        }
        self.store.replace(path, &self.session, min_idle, &mut new)
    }

    /// Returns true if the file already has the snapshot's content.
    pub fn is_in(&self, path: &Path) -> Result<bool> {
        Ok(PrefixHashes::of(path, std::iter::empty())?.is(&self.meta))
    }

    /// Returns true if another program has rewritten the file since a tool last changed or saved
    /// it, so that it is unknown which lines are new.
    pub fn is_rewritten(&self, path: &Path) -> Result<bool> {
        Ok(self.beginning(path)?.is_none() && !self.is_in(path)?)
    }

    /// Returns the known content with which the file begins, and the snapshot that it belongs to.
    fn beginning(&self, path: &Path) -> Result<Option<&(String, FileHash)>> {
        let read;
        let now = if self.file.path == path {
            &self.file
        } else {
            read = PrefixHashes::of(path, self.known.iter().map(|(_, known)| known.bytes))?;
            &read
        };
        Ok(self.known.iter().find(|(_, known)| now.begin_with(known)))
    }

    /// Returns the lines that a rollback would remove because other programs have appended them to
    /// the file. Appended lines follow the content that replaced the snapshot, the snapshot's own
    /// bytes, or the result of another replacement. Returns `None` if there are no such lines.
    pub fn appended(&self, path: &Path) -> Result<Option<Appended>> {
        let Some((since, known)) = self.beginning(path)? else { return Ok(None) };
        let mut file = SessionFile::open(path)?.file;
        file.seek(SeekFrom::Start(known.bytes)).or_cannot("read", path)?;
        let mut file = BufReader::new(file);
        let mut appended = Appended { since: since.clone(), lines: 0, bytes: 0 };
        while let read @ 1.. = file.skip_until(b'\n').or_cannot("read", path)? {
            appended.lines += 1;
            appended.bytes += read as u64;
        }
        Ok((appended.bytes > 0).then_some(appended))
    }
}

/// The snapshots that belong to a file.
pub struct OfFile {
    /// The file's snapshots. Snapshots are found by the session id in the file and by the file's
    /// path or, failing that, by the file's content.
    pub catalog: Catalog,
    /// The path where the snapshots were taken, if only their content shows that they belong to
    /// this file.
    pub by_content: Option<String>,
}

/// Returns the sessions whose content matches the most bytes at the start of the file.
fn fitting_sessions(catalog: &Catalog, path: &Path) -> Result<Vec<SessionId>> {
    let file = PrefixHashes::of(path, catalog.trusted().flat_map(|(_, meta)| meta.lengths()))?;
    let mut by_length: BTreeMap<u64, BTreeSet<&SessionId>> = BTreeMap::new();
    for (id, meta) in catalog.trusted() {
        // Every file begins with empty content, so a match of zero bytes does not count.
        if let Some(length) = file.fit(meta).filter(|length| *length > 0) {
            by_length.entry(length).or_default().insert(&id.session);
        }
    }
    Ok(by_length.pop_last().map(|(_, sessions)| sessions).into_iter().flatten().cloned().collect())
}

impl Catalog {
    /// Drops the events of other files, if there is at least one snapshot of this file.
    pub fn prefer_events(&self, path: &Path, events: &mut Vec<Event>) -> Result<()> {
        let real = real_path(path).or_cannot("read", path)?;
        let (own, others): (Vec<_>, Vec<_>) = self
            .trusted()
            .filter(|(_, meta)| meta.source.is_some())
            .partition(|it| it.1.is_of(&real));
        let is_other = |id: &String| others.iter().any(|(_, meta)| *meta.id == **id);
        events.retain(|event| own.is_empty() || !event.snapshots.iter().any(is_other));
        Ok(())
    }

    /// Drops other files' snapshots, if there is at least one snapshot of this file.
    pub fn prefer(&mut self, path: &Path) -> Result<()> {
        let real = real_path(path).or_cannot("read", path)?;
        // The file is unknown if the snapshot is damaged or was read from stdin.
        let of_file = |entry: &Entry| {
            let meta = entry.meta.as_ref().ok()?;
            meta.source.as_ref().map(|_| meta.is_of(&real))
        };
        if self.entries.iter().any(|entry| of_file(entry) == Some(true)) {
            self.entries.retain(|entry| of_file(entry) != Some(false));
        }
        Ok(())
    }
}

impl Meta {
    /// Returns the lengths of the snapshot's bytes and of the content that replaced them.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        self.replaced_by.as_ref().map(|new| new.bytes).into_iter().chain([self.bytes])
    }
}

/// Hashes of a file's prefixes of several lengths.
#[derive(Default)]
pub(crate) struct PrefixHashes {
    /// The path of the file.
    path: PathBuf,
    /// The hash of the whole file, or `None` if the file does not exist.
    whole: Option<String>,
    hashes: BTreeMap<u64, String>,
}

impl PrefixHashes {
    /// Computes the requested hashes in one pass over the file.
    pub(crate) fn of(path: &Path, asked: impl Iterator<Item = u64>) -> Result<Self> {
        let mut prefixes = Self { path: path.to_owned(), ..Self::default() };
        if is_there(path)? {
            let live = SessionFile::open(path)?;
            let length = live.meta.len();
            let mut lengths: BTreeSet<u64> = asked.filter(|bytes| *bytes <= length).collect();
            lengths.insert(length);
            prefixes.hashes = hashes(&live.file, lengths).or_cannot("read", path)?;
            prefixes.whole = prefixes.hashes.get(&length).cloned();
        }
        Ok(prefixes)
    }

    pub(crate) fn begin_with(&self, new: &FileHash) -> bool {
        self.hashes.get(&new.bytes) == Some(&new.sha256)
    }

    /// Returns how many bytes at the start of the file match the snapshot or the content that
    /// replaced it, whichever match is longer.
    pub(crate) fn fit(&self, meta: &Meta) -> Option<u64> {
        let own = (self.hashes.get(&meta.bytes) == Some(&meta.sha256)).then_some(meta.bytes);
        let new = meta.replaced_by.as_ref();
        own.max(new.filter(|new| self.begin_with(new)).map(|new| new.bytes))
    }

    fn is(&self, meta: &Meta) -> bool {
        self.whole.as_ref() == Some(&meta.sha256)
    }
}

fn hashes(mut input: impl Read, lengths: BTreeSet<u64>) -> io::Result<BTreeMap<u64, String>> {
    let (mut hasher, mut done) = (Context::new(&SHA256), 0);
    let mut found = BTreeMap::new();
    for length in lengths {
        done += hash_into(&mut hasher, &mut input.by_ref().take(length - done))?;
        if done < length {
            // The file has just been truncated.
            break;
        }
        found.insert(length, hex(hasher.clone().finish()));
    }
    Ok(found)
}

/// Lines that other programs have appended to a session file. They are shown as
/// `2 lines (24 bytes) appended since ID`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, derive_more::Display)]
#[display("{} ({}) appended since {since}", counted(*lines, "line"), counted(*bytes, "byte"))]
pub struct Appended {
    /// The id of the snapshot that was taken before the lines were appended.
    pub since: String,
    /// The number of lines, including an unfinished last one.
    pub lines: u64,
    /// The number of bytes in these lines.
    pub bytes: u64,
}

#[cfg(test)]
mod restore_tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::SnapshotChoice;
    use crate::tests::{Bench, id};
    use crate::{MinIdle, ReplaceOutcome, SessionId, SnapshotKind, StoreError};

    /// Creates a file for the session `demo`, and takes a snapshot of it.
    fn saved(bench: &Bench, content: &str) -> PathBuf {
        let path = bench.file("s.jsonl", content);
        let draft = bench.store.draft_of(&path).expect("reads");
        let saved = draft.commit(&id("demo"), SnapshotKind::Snapshot);
        saved.expect("commits");
        path
    }

    #[test]
    fn a_file_goes_back_and_forth() {
        let bench = Bench::new();
        let path = saved(&bench, "old\n");
        fs::write(&path, "new\n").expect("written");
        for (wanted, expected) in [
            (SnapshotChoice::Named("latest"), "old\n"),
            (SnapshotChoice::Undo(Some(&path)), "new\n"),
            (SnapshotChoice::Undo(Some(&path)), "old\n"),
        ] {
            let restore = bench.store.find_restore(&id("demo"), wanted);
            let mut restore = restore.expect("found");
            restore.refuse_other_file(&path).expect("the same file");
            let replaced = restore.restore(&path, MinIdle::default()).expect("restored");
            assert!(matches!(replaced, ReplaceOutcome::New { .. }));
            assert_eq!(fs::read_to_string(&path).expect("reads"), expected);
        }
    }

    #[test]
    fn another_file_is_refused_unless_the_snapshot_is_of_none() {
        let bench = Bench::new();
        saved(&bench, "old\n");
        bench.take("stdin", b"piped\n");
        let other = bench.file("other.jsonl", "other\n");
        let find = |session: &str| {
            let wanted = SnapshotChoice::Named("latest");
            let found = bench.store.find_restore(&id(session), wanted);
            found.expect("found")
        };
        let refused = find("demo").refuse_other_file(&other);
        let error = refused.expect_err("another file").to_string();
        assert!(error.contains(" is a snapshot of "), "{error}");
        find("stdin").refuse_other_file(&other).expect("any file");
        let none = bench.store.find_restore(&id("demo"), SnapshotChoice::Undo(None));
        assert!(matches!(none, Err(StoreError::NothingToUndo)));
    }

    /// A session file written by the agent pi, which contains the session's id.
    const TOLD: &str = "{\"type\":\"session\",\"id\":\"p-1\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n";

    fn snapshot(bench: &Bench, path: &Path, session: &SessionId) -> String {
        let draft = bench.store.draft_of(path).expect("reads");
        let saved = draft.commit(session, SnapshotKind::Snapshot);
        saved.expect("commits").id.to_string()
    }

    fn copies(bench: &Bench) -> [PathBuf; 2] {
        ["a", "b"].map(|folder| {
            let folder = bench.dir.path().join(folder);
            fs::create_dir(&folder).expect("made");
            let path = folder.join("s.jsonl");
            fs::write(&path, format!("{TOLD}{{\"{}\":1}}\n", folder.display())).expect("written");
            path
        })
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).expect("reads")
    }

    fn restore(bench: &Bench, path: &Path, wanted: SnapshotChoice<'_>) -> Result<(), StoreError> {
        let mut found = bench.store.find_restore_of_file(path, wanted)?;
        found.refuse_other_file(path)?;
        found.restore(path, MinIdle(Some(Duration::ZERO))).map(drop)
    }

    /// If two copies of a session have the same id, neither is overwritten with the other's bytes
    /// unless the user asks for it.
    #[test]
    fn a_copy_of_a_session_is_another_file() {
        let bench = Bench::new();
        let [one, other] = copies(&bench);
        let session = SessionId::of_file(&one).expect("an id");
        assert_eq!(SessionId::of_file(&other).expect("an id"), session);
        let (first, second) = (text(&one), text(&other));
        snapshot(&bench, &one, &session);
        let of_other = snapshot(&bench, &other, &session);
        for path in [&one, &other] {
            fs::write(path, TOLD).expect("written");
        }
        restore(&bench, &one, SnapshotChoice::Named("latest")).expect("its own");
        restore(&bench, &other, SnapshotChoice::Named("latest")).expect("its own");
        assert_eq!((text(&one), text(&other)), (first.clone(), second));
        // The other copy was replaced later than this one, but only this copy's replacement is
        // undone.
        restore(&bench, &one, SnapshotChoice::Undo(Some(&one))).expect("its own");
        assert_eq!(text(&one), TOLD);
        restore(&bench, &one, SnapshotChoice::Undo(Some(&one))).expect("its own");
        assert_eq!(text(&one), first);
        let asked = restore(&bench, &one, SnapshotChoice::Named(&of_other));
        assert!(matches!(asked, Err(StoreError::OtherFile { .. })));
        // A third copy has no snapshot of its own.
        let third = bench.file("c.jsonl", TOLD);
        for wanted in [SnapshotChoice::Named("latest"), SnapshotChoice::Undo(Some(&third))] {
            let none = restore(&bench, &third, wanted);
            assert!(matches!(none, Err(StoreError::OtherFile { .. })));
        }
        assert_eq!(text(&third), TOLD);
    }

    /// Older versions of the tools named every session after its path.
    #[test]
    fn snapshots_of_older_tools_are_found() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", TOLD);
        let by_path = SessionId::of_path(&path).expect("an id");
        let old = snapshot(&bench, &path, &by_path);
        let grown = format!("{TOLD}{{}}\n");
        fs::write(&path, &grown).expect("written");
        let find = |wanted| bench.store.find_restore_of_file(&path, wanted);
        assert_eq!(find(SnapshotChoice::Named("latest")).expect("found").meta.id, old);
        restore(&bench, &path, SnapshotChoice::Named("1")).expect("restored");
        assert_eq!(text(&path), TOLD);
        // New snapshots are saved under the session id in the file.
        let undone = find(SnapshotChoice::Undo(Some(&path))).expect("found");
        assert_eq!(undone.meta.session, "p-1");
        restore(&bench, &path, SnapshotChoice::Undo(Some(&path))).expect("undone");
        assert_eq!(text(&path), grown);
        let none = find(SnapshotChoice::Named("99")).map(|found| found.meta.id);
        assert!(matches!(none, Err(StoreError::NoSnapshot(_))), "{none:?}");
    }

    #[test]
    fn a_file_that_is_gone_is_found_by_its_path() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", TOLD);
        let session = SessionId::of_file(&path).expect("an id");
        snapshot(&bench, &path, &session);
        fs::remove_file(&path).expect("removed");
        restore(&bench, &path, SnapshotChoice::Named("latest")).expect("created");
        assert_eq!(text(&path), TOLD);
    }
}

#[cfg(test)]
mod of_file_tests {
    use std::fs;
    use std::path::Path;

    use crate::replace::restore::SnapshotChoice;
    use crate::tests::{Bench, id};
    use crate::{MinIdle, SnapshotKind, StoreError};

    const OLD: &str = "{\"role\":\"user\",\"content\":\"old\"}\n";
    const MORE: &str = "{\"role\":\"user\",\"content\":\"more\"}\n";

    fn save(bench: &Bench, path: &Path, session: &str) {
        let draft = bench.store.draft_of(path).expect("reads");
        let saved = draft.commit(&id(session), SnapshotKind::Snapshot);
        saved.expect("commits");
    }

    fn numbers(bench: &Bench, path: &Path) -> (Vec<u64>, Option<String>) {
        let of_file = bench.store.catalog_of_file(path).expect("found");
        let entries = of_file.catalog.entries.iter();
        let mut numbers: Vec<u64> = entries.map(|entry| entry.id.stamp.sequence).collect();
        numbers.sort_unstable();
        (numbers, of_file.by_content)
    }

    /// A path's snapshots are found regardless of the session ids that they were saved under. The
    /// content that a rollback replaces is saved under the same session id.
    #[test]
    fn a_path_finds_what_was_saved_under_a_name() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", OLD);
        let other = bench.file("t.jsonl", MORE);
        save(&bench, &path, "demo");
        save(&bench, &other, "demo");
        save(&bench, &path, "second");
        assert_eq!(numbers(&bench, &path), (vec![1, 3], None));
        fs::write(&path, MORE).expect("written");
        let restored = bench.store.find_restore_of_file(&path, SnapshotChoice::Named("1"));
        let mut restored = restored.expect("found");
        restored.refuse_other_file(&path).expect("its own");
        restored.restore(&path, MinIdle::default()).expect("restored");
        assert_eq!(fs::read_to_string(&path).expect("read"), OLD);
        let undo = bench.store.find_restore_of_file(&path, SnapshotChoice::Undo(Some(&path)));
        assert_eq!(undo.expect("found").meta.session, "demo");
        let elsewhere = bench.store.find_restore_of_file(&path, SnapshotChoice::Named("2"));
        assert!(matches!(elsewhere, Err(StoreError::NoSnapshot(_))));
    }

    /// A file's last change is undone, regardless of the session id that the snapshot was saved
    /// under.
    #[test]
    fn an_undo_looks_at_all_names_of_a_path() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", OLD);
        save(&bench, &path, "demo");
        for (session, text) in [("first", MORE), ("second", "{}\n")] {
            fs::write(&path, text).expect("written");
            let found = bench.store.find_restore(&id("demo"), SnapshotChoice::Named("1"));
            let mut found = found.expect("found").of_session(id(session));
            found.restore(&path, MinIdle::default()).expect("restored");
        }
        let undo = bench.store.find_restore_of_file(&path, SnapshotChoice::Undo(Some(&path)));
        assert_eq!(undo.expect("found").meta.session, "second");
    }

    /// A moved file is recognized by its content, even if it has grown since the move.
    #[test]
    fn a_moved_file_is_known_by_its_content() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", OLD);
        save(&bench, &path, "demo");
        let empty = bench.file("e.jsonl", "");
        save(&bench, &empty, "empty");
        let moved = bench.dir.path().join("moved.jsonl");
        fs::rename(&path, &moved).expect("moved");
        fs::write(&moved, [OLD, MORE].concat()).expect("written");
        let (numbers, source) = numbers(&bench, &moved);
        assert_eq!(numbers, [1]);
        assert!(source.expect("by content").ends_with("/s.jsonl"));
        let found = bench.store.find_restore_of_file(&moved, SnapshotChoice::Named("latest"));
        let refused = found.expect("found").refuse_other_file(&moved);
        let is_gone = matches!(refused, Err(StoreError::OtherFile { is_gone: true, .. }));
        assert!(is_gone, "{refused:?}");
        let other = bench.file("other.jsonl", MORE);
        let none = bench.store.catalog_of_file(&other).err();
        assert!(matches!(none, Some(StoreError::NoSnapshotOf(_))));
    }

    /// A moved file belongs to the session with the longest match. If several sessions match
    /// equally well, none is chosen.
    #[test]
    fn several_sessions_with_one_content_are_told() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", OLD);
        save(&bench, &path, "demo");
        save(&bench, &path, "copy");
        let moved = bench.file("m.jsonl", &[OLD, MORE].concat());
        let Err(StoreError::SeveralSessions { sessions, .. }) = bench.store.catalog_of_file(&moved)
        else {
            panic!("two fit");
        };
        assert_eq!(sessions, ["copy", "demo"]);
        let longer = bench.file("l.jsonl", &[OLD, MORE].concat());
        save(&bench, &longer, "longer");
        let of_file = bench.store.catalog_of_file(&moved).expect("one is longer");
        assert_eq!(of_file.catalog.entries[0].id.session, id("longer"));
    }
}

#[cfg(test)]
mod appended_tests {
    use std::fs;

    use crate::replace::restore::SnapshotChoice;
    use crate::tests::{Bench, id};
    use crate::{Addition, Figures, MinIdle, SnapshotKind};

    #[test]
    fn what_was_appended_since_is_counted() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "old\n");
        let draft = bench.store.draft_of(&path).expect("reads");
        let saved = draft.commit(&id("demo"), SnapshotKind::Snapshot);
        saved.expect("commits");
        let text = || fs::read_to_string(&path).expect("reads");
        let appended = |wanted| {
            let found = bench.store.find_restore(&id("demo"), wanted);
            let appended = found.expect("found").appended(&path).expect("reads");
            appended.map(|it| (it.since.rsplit('-').next().map(str::to_owned), it.lines, it.bytes))
        };
        let since = |number: &str, lines, bytes| Some((Some(number.to_owned()), lines, bytes));
        assert_eq!(appended(SnapshotChoice::Named("1")), None);
        fs::write(&path, "old\n1\n2\nha").expect("written");
        assert_eq!(appended(SnapshotChoice::Named("1")), since("0001", 3, 6));
        let claimed = bench.store.begin_replacement(&path, &id("demo"), MinIdle::default());
        let added = claimed.expect("claimed").append(Addition {
            lines: b"ours\n",
            operation: "compact",
            kind: SnapshotKind::PreCompact,
            figures: Figures::default(),
        });
        added.expect("appended");
        // Lines that the tool itself appended are not reported as lost.
        assert_eq!(appended(SnapshotChoice::Undo(Some(&path))), None);
        let grown = text() + "3\n";
        fs::write(&path, grown).expect("written");
        assert_eq!(appended(SnapshotChoice::Undo(Some(&path))), since("0002", 1, 2));
        // The start of the file was already hashed during the search for the snapshot.
        let undo = bench.store.find_restore(&id("demo"), SnapshotChoice::Undo(Some(&path)));
        let undo = undo.expect("found");
        assert_eq!(undo.file.path, path);
        let told = undo.appended(&path).expect("reads").expect("a line");
        assert_eq!(told.to_string(), format!("1 line (2 bytes) appended since {}", undo.meta.id));
        // If a rollback has replaced the whole file, nothing has been appended.
        let mut found = bench.store.find_restore(&id("demo"), SnapshotChoice::Named("1"));
        let found = found.as_mut().expect("found");
        found.restore(&path, MinIdle::default()).expect("restored");
        fs::write(&path, "old\nmore\n").expect("written");
        assert_eq!(appended(SnapshotChoice::Named("2")), since("0003", 1, 5));
        let is_rewritten = || {
            let found = bench.store.find_restore(&id("demo"), SnapshotChoice::Named("2"));
            found.expect("found").is_rewritten(&path).expect("reads")
        };
        assert!(!is_rewritten());
        fs::write(&path, "anew\n").expect("written");
        assert_eq!(appended(SnapshotChoice::Named("2")), None);
        assert!(is_rewritten());
        fs::remove_file(&path).expect("removed");
        assert_eq!(appended(SnapshotChoice::Named("2")), None);
    }
}
