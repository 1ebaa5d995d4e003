//! Restoring: a snapshot is found and checked, then its bytes are put into the session file.

use std::path::Path;

use chrono::{DateTime, Utc};

use crate::error::{Naming, StoreError};
use crate::files::is_there;
use crate::session::real_path;
use crate::undo::Beginnings;
use crate::{
    Catalog, Digest, Figures, Look, Meta, MinIdle, NewContent, ReplaceOutcome, SessionId,
    SnapshotBytes, SnapshotKind, Store, Successor, refuse_replacement,
};

/// Which snapshot is to be restored.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The one with this name: see [`crate::Catalog::find`].
    Named(&'a str),
    /// The newest one that was taken before that time.
    Before(DateTime<Utc>),
    /// What the last replacement of this file replaced.
    Undo(Option<&'a Path>),
}

impl Wanted<'_> {
    /// Whether one snapshot is named, be it of this file or of another one.
    fn is_name(&self) -> bool {
        matches!(self, Self::Named(name) if *name != "latest")
    }
}

/// A snapshot whose bytes were checked against their hash.
pub struct Restore<'s> {
    store: &'s Store,
    session: SessionId,
    /// The bytes, to be read from their start.
    pub content: SnapshotBytes,
    /// The commit record.
    pub meta: Meta,
    /// What replacements made of files of the session, by the ids of the snapshots before them.
    pub(crate) made: Vec<(String, Successor)>,
    /// How the file begins that was looked at to find it.
    pub(crate) file: Beginnings,
}

impl Store {
    /// Finds a snapshot of a session and checks its bytes.
    pub fn find_restore(
        &self,
        session: &SessionId,
        wanted: Wanted<'_>,
    ) -> Result<Restore<'_>, StoreError> {
        self.require_session(session)?;
        let mut catalog = self.catalog(Some(session))?;
        if let Wanted::Undo(Some(path)) = wanted {
            catalog.prefer(path)?;
        }
        let found = self.find_in(&catalog, wanted);
        let found = found.map_err(|error| self.explained(error))?;
        Ok(Restore {
            session: session.clone(),
            ..found
        })
    }

    /// Finds a snapshot of a session that only its file names: see [`Store::catalog_of_file`].
    ///
    /// Copies of one session in several places have one id: unless it is named, no snapshot of
    /// another copy is taken while there is one of this file.
    pub fn find_restore_of_file(
        &self,
        path: &Path,
        wanted: Wanted<'_>,
    ) -> Result<Restore<'_>, StoreError> {
        let mut of_file = match self.catalog_of_file(path) {
            Err(StoreError::NoSnapshotOf(_)) if matches!(wanted, Wanted::Undo(_)) => {
                return Err(StoreError::NothingToUndo);
            }
            other => other?,
        };
        if !wanted.is_name() {
            of_file.catalog.prefer(path)?;
        }
        let found = self.find_in(&of_file.catalog, wanted);
        let found = found.map_err(|error| self.explained(error))?;
        // What is replaced belongs to the session that the file tells, else to the one that it
        // was saved under.
        let session = SessionId::told_by(path).unwrap_or_else(|| found.session.clone());
        Ok(Restore { session, ..found })
    }

    fn find_in(&self, catalog: &Catalog, wanted: Wanted<'_>) -> Result<Restore<'_>, StoreError> {
        let mut file = Beginnings::default();
        let entry = match wanted {
            Wanted::Named(wanted) => catalog.find(wanted)?,
            Wanted::Before(time) => catalog.find_before(time)?,
            Wanted::Undo(path) => {
                let entry;
                (entry, file) = self.last_replaced(catalog, path)?;
                entry
            }
        };
        let opened = self.open_verified(entry);
        let (content, meta) = match wanted {
            Wanted::Undo(_) => opened.map_err(StoreError::in_undo)?,
            _ => opened?,
        };
        let metas = catalog.entries.iter();
        let metas = metas.filter_map(|entry| entry.meta.as_ref().ok());
        let made = metas.filter_map(|meta| Some((meta.id.clone(), meta.replaced_by.clone()?)));
        Ok(Restore {
            store: self,
            session: entry.id.session.clone(),
            content,
            meta,
            made: made.collect(),
            file,
        })
    }
}

impl Restore<'_> {
    /// The same, for a file of another session.
    #[cfg(test)]
    pub(crate) fn of_session(self, session: SessionId) -> Self {
        Self { session, ..self }
    }

    /// Refuses a file that the snapshot was not taken of: a mistyped name must not overwrite
    /// another session's file.
    pub fn refuse_other_file(&self, path: &Path) -> Result<(), StoreError> {
        let real = real_path(path).naming("read", path)?;
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

    /// Whether [`Restore::restore`] would be refused now: the question of a dry run.
    pub fn refuse(&self, path: &Path, min_idle: MinIdle) -> Result<(), StoreError> {
        refuse_replacement(path)?;
        if !is_there(path)? {
            return Ok(());
        }
        Look::at(path)?.refuse_unless_idle(self.store, &self.session, min_idle)
    }

    /// Puts the bytes into a file, or creates it. A file that changed less than `min_idle` ago
    /// is refused.
    pub fn restore(
        &mut self,
        path: &Path,
        min_idle: MinIdle,
    ) -> Result<ReplaceOutcome, StoreError> {
        let mut new = NewContent {
            reader: &mut self.content,
            sha256: &self.meta.sha256,
            operation: "rollback",
            kind: SnapshotKind::PreRollback,
            figures: Figures {
                restored: Some(self.meta.id.clone()),
                ..Figures::default()
            },
        };
        let replaced = self
            .store
            .replace(path, &self.session, min_idle, &mut new)?;
        if !matches!(replaced, ReplaceOutcome::Same) {
            self.store.log_digest(&self.digest(&replaced))?;
        }
        Ok(replaced)
    }

    /// `rolled back to …-0001; what was there is …-0002`.
    fn digest(&self, replaced: &ReplaceOutcome) -> Digest {
        let before = match replaced {
            ReplaceOutcome::New { before, .. } => format!("; what was there is {}", before.id),
            ReplaceOutcome::Same | ReplaceOutcome::Created => String::new(),
        };
        Digest {
            session: Some(self.session.to_string()),
            what: format!("rolled back to {}{before}", self.meta.id),
            ..Digest::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::Wanted;
    use crate::testing::{Bench, id};
    use crate::{MinIdle, ReplaceOutcome, SessionId, SnapshotKind, StoreError};

    /// A file of the session `demo`, with a snapshot of it.
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
            (Wanted::Named("latest"), "old\n"),
            (Wanted::Undo(Some(&path)), "new\n"),
            (Wanted::Undo(Some(&path)), "old\n"),
        ] {
            let restore = bench.store.find_restore(&id("demo"), wanted);
            let mut restore = restore.expect("found");
            restore.refuse_other_file(&path).expect("the same file");
            let replaced = restore
                .restore(&path, MinIdle::default())
                .expect("restored");
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
            let wanted = Wanted::Named("latest");
            let found = bench.store.find_restore(&id(session), wanted);
            found.expect("found")
        };
        let refused = find("demo").refuse_other_file(&other);
        let error = refused.expect_err("another file").to_string();
        assert!(error.contains(" was taken of "), "{error}");
        find("stdin").refuse_other_file(&other).expect("any file");
        let none = bench.store.find_restore(&id("demo"), Wanted::Undo(None));
        assert!(matches!(none, Err(StoreError::NothingToUndo)));
    }

    /// A file of pi, which tells the id of its session.
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

    fn restore(bench: &Bench, path: &Path, wanted: Wanted<'_>) -> Result<(), StoreError> {
        let mut found = bench.store.find_restore_of_file(path, wanted)?;
        found.refuse_other_file(path)?;
        found.restore(path, MinIdle(Some(Duration::ZERO))).map(drop)
    }

    /// Two copies of one session have one id, and none gets the bytes of the other unasked.
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
        restore(&bench, &one, Wanted::Named("latest")).expect("its own");
        restore(&bench, &other, Wanted::Named("latest")).expect("its own");
        assert_eq!((text(&one), text(&other)), (first.clone(), second));
        // The other one was replaced later.
        restore(&bench, &one, Wanted::Undo(Some(&one))).expect("its own");
        assert_eq!(text(&one), TOLD);
        restore(&bench, &one, Wanted::Undo(Some(&one))).expect("its own");
        assert_eq!(text(&one), first);
        let asked = restore(&bench, &one, Wanted::Named(&of_other));
        assert!(matches!(asked, Err(StoreError::OtherFile { .. })));
        // One of which there is no snapshot.
        let third = bench.file("c.jsonl", TOLD);
        for wanted in [Wanted::Named("latest"), Wanted::Undo(Some(&third))] {
            let none = restore(&bench, &third, wanted);
            assert!(matches!(none, Err(StoreError::OtherFile { .. })));
        }
        assert_eq!(text(&third), TOLD);
    }

    /// Older versions of the tools named every session by its path.
    #[test]
    fn snapshots_of_older_tools_are_found() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", TOLD);
        let by_path = SessionId::of_path(&path).expect("an id");
        let old = snapshot(&bench, &path, &by_path);
        let grown = format!("{TOLD}{{}}\n");
        fs::write(&path, &grown).expect("written");
        let find = |wanted| bench.store.find_restore_of_file(&path, wanted);
        assert_eq!(find(Wanted::Named("latest")).expect("found").meta.id, old);
        restore(&bench, &path, Wanted::Named("1")).expect("restored");
        assert_eq!(text(&path), TOLD);
        // What is new belongs to the session that the file tells.
        let undone = find(Wanted::Undo(Some(&path))).expect("found");
        assert_eq!(undone.meta.session, "p-1");
        restore(&bench, &path, Wanted::Undo(Some(&path))).expect("undone");
        assert_eq!(text(&path), grown);
        let none = find(Wanted::Named("99")).map(|found| found.meta.id);
        assert!(matches!(none, Err(StoreError::NoSnapshot(_))), "{none:?}");
    }

    #[test]
    fn a_file_that_is_gone_is_found_by_its_path() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", TOLD);
        let session = SessionId::of_file(&path).expect("an id");
        snapshot(&bench, &path, &session);
        fs::remove_file(&path).expect("removed");
        restore(&bench, &path, Wanted::Named("latest")).expect("created");
        assert_eq!(text(&path), TOLD);
    }
}
