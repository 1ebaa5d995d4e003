//! Restoring: a snapshot is found and checked, then its bytes are put into the session file.

use std::fs::File;
use std::path::Path;

use crate::error::{Naming, StoreError};
use crate::session::real_path;
use crate::{Meta, NewContent, ReplaceOutcome, SessionId, SnapshotKind, Store, Survived};

/// Which snapshot is to be restored.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The one with this name: see [`crate::Catalog::find`].
    Named(&'a str),
    /// What the last replacement of this file replaced.
    Undo(Option<&'a Path>),
}

/// A snapshot whose bytes were checked against their hash.
pub struct Restore<'s> {
    store: &'s Store,
    session: SessionId,
    /// The bytes, to be read from their start.
    pub content: File,
    /// The commit record.
    pub meta: Meta,
}

impl Store {
    /// Finds a snapshot of a session and checks its bytes.
    pub fn find_restore(
        &self,
        session: &SessionId,
        wanted: Wanted<'_>,
    ) -> Result<Restore<'_>, StoreError> {
        let catalog = self.catalog(Some(session))?;
        let (content, meta) = match wanted {
            Wanted::Named(wanted) => self.open_verified(catalog.find(wanted)?)?,
            Wanted::Undo(path) => {
                let entry = self.last_replaced(&catalog, path)?;
                self.open_verified(entry).map_err(StoreError::in_undo)?
            }
        };
        Ok(Restore {
            store: self,
            session: session.clone(),
            content,
            meta,
        })
    }
}

impl Restore<'_> {
    /// Refuses a file that the snapshot was not taken of: a mistyped name must not overwrite
    /// another session's file.
    pub fn refuse_other_file(&self, path: &Path) -> Result<(), StoreError> {
        let real = real_path(path).naming("read", path)?;
        match &self.meta.source {
            Some(source) if *source != real.to_string_lossy() => Err(StoreError::OtherFile {
                path: path.to_owned(),
                id: self.meta.id.clone(),
                taken_of: source.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Puts the bytes into a file, or creates it.
    pub fn restore(&mut self, path: &Path) -> Result<ReplaceOutcome, StoreError> {
        let mut new = NewContent {
            reader: &mut self.content,
            sha256: &self.meta.sha256,
            operation: "rollback",
            kind: SnapshotKind::PreRollback,
            survived: Survived::new(),
        };
        self.store.replace(path, &self.session, &mut new)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::Wanted;
    use crate::testing::{Bench, id};
    use crate::{ReplaceOutcome, SnapshotKind, StoreError};

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
            let replaced = restore.restore(&path).expect("restored");
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
}
