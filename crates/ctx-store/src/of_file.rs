//! The snapshots of a session file, whatever name they were saved under.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Naming, StoreError};
use crate::files::is_there;
use crate::session::real_path;
use crate::undo::Beginnings;
use crate::{Catalog, Entry, Meta, SessionId, Store};

/// The snapshots that belong to a file.
pub struct OfFile {
    /// Those of the session that the file tells, those that were taken of its path; where there
    /// are none, those of the session whose content it has.
    pub catalog: Catalog,
    /// The path that they were taken of, where only the content tells that they are its own.
    pub by_content: Option<String>,
}

impl Store {
    /// The snapshots of a file: of the session that its agent has written into it; of its path,
    /// whatever name they were saved under; else, for a file that was moved or copied, of the
    /// session that has a snapshot, or wrote a file, of the same bytes or of its beginning.
    pub fn catalog_of_file(&self, path: &Path) -> Result<OfFile, StoreError> {
        let real = real_path(path).naming("read", path)?;
        // Older versions of the tools named all sessions by their path.
        let own = [SessionId::of_file(path)?, SessionId::of_path(path)?];
        let mut catalog = self.catalog(None)?;
        let is_own = |entry: &Entry| {
            let meta = entry.meta.as_ref();
            own.contains(&entry.id.session) || meta.is_ok_and(|meta| meta.is_of(&real))
        };
        if catalog.entries.iter().any(is_own) {
            catalog.entries.retain(is_own);
            catalog.uncommitted.retain(|id| own.contains(&id.session));
            return Ok(OfFile {
                catalog,
                by_content: None,
            });
        }
        let fitting = fitting_sessions(&catalog, path)?;
        let mut sessions = fitting.iter();
        let (Some(session), None) = (sessions.next(), sessions.next()) else {
            if fitting.is_empty() {
                return Err(StoreError::NoSnapshotOf(path.to_owned()));
            }
            return Err(StoreError::SeveralSessions {
                path: path.to_owned(),
                sessions: fitting.iter().map(ToString::to_string).collect(),
            });
        };
        catalog.retain_session(session);
        let metas = catalog.entries.iter().rev();
        let mut metas = metas.filter_map(|entry| entry.meta.as_ref().ok());
        let source = metas.find_map(|meta| meta.source.clone());
        Ok(OfFile {
            by_content: Some(source.unwrap_or_else(|| "stdin".to_owned())),
            catalog,
        })
    }
}

/// The sessions of whose bytes the longest beginning of the file is.
fn fitting_sessions(catalog: &Catalog, path: &Path) -> Result<BTreeSet<SessionId>, StoreError> {
    if !is_there(path)? {
        return Ok(BTreeSet::new());
    }
    let metas = || {
        let entries = catalog.entries.iter();
        entries.filter_map(|entry| Some((&entry.id.session, entry.meta.as_ref().ok()?)))
    };
    let file = Beginnings::of(Some(path), metas().flat_map(|(_, meta)| meta.lengths()))?;
    // Of nothing, every file has the beginning.
    let fit = |meta: &Meta| file.fit(meta).filter(|bytes| *bytes > 0);
    let longest = metas().filter_map(|(_, meta)| fit(meta)).max();
    let fits = |meta: &Meta| longest.is_some() && fit(meta) == longest;
    let fitting = metas().filter(|(_, meta)| fits(meta));
    Ok(fitting.map(|(session, _)| session.clone()).collect())
}

impl Catalog {
    /// Leaves out the snapshots of other sessions.
    pub(crate) fn retain_session(&mut self, session: &SessionId) {
        self.entries.retain(|entry| entry.id.session == *session);
        self.uncommitted.retain(|id| id.session == *session);
    }

    /// Leaves out the snapshots of other files, where there is one of this file.
    pub(crate) fn prefer(&mut self, path: &Path) -> Result<(), StoreError> {
        let real = real_path(path).naming("read", path)?;
        // Of a damaged one, and of stdin, it is not known.
        let of_file = |entry: &Entry| {
            let meta = entry.meta.as_ref().ok()?;
            meta.source.as_ref().map(|_| meta.is_of(&real))
        };
        let is_one = |entry: &Entry| of_file(entry) == Some(true);
        if self.entries.iter().any(is_one) {
            self.entries.retain(|entry| of_file(entry) != Some(false));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::restore::Wanted;
    use crate::testing::{Bench, id};
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

    /// 15 C2: a path finds its snapshots, whatever names they were saved under, and what a
    /// rollback replaces belongs to that name.
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
        let restored = bench.store.find_restore_of_file(&path, Wanted::Named("1"));
        let mut restored = restored.expect("found");
        restored.refuse_other_file(&path).expect("its own");
        restored
            .restore(&path, MinIdle::default())
            .expect("restored");
        assert_eq!(fs::read_to_string(&path).expect("read"), OLD);
        let undo = bench
            .store
            .find_restore_of_file(&path, Wanted::Undo(Some(&path)));
        assert_eq!(undo.expect("found").meta.session, "demo");
        let elsewhere = bench.store.find_restore_of_file(&path, Wanted::Named("2"));
        assert!(matches!(elsewhere, Err(StoreError::NoSnapshot(_))));
    }

    /// 15 C2: the last change of a file is undone, under whatever name each one was made.
    #[test]
    fn an_undo_looks_at_all_names_of_a_path() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", OLD);
        save(&bench, &path, "demo");
        for (session, text) in [("first", MORE), ("second", "{}\n")] {
            fs::write(&path, text).expect("written");
            let found = bench.store.find_restore(&id("demo"), Wanted::Named("1"));
            let mut found = found.expect("found").of_session(id(session));
            found.restore(&path, MinIdle::default()).expect("restored");
        }
        let undo = bench
            .store
            .find_restore_of_file(&path, Wanted::Undo(Some(&path)));
        assert_eq!(undo.expect("found").meta.session, "second");
    }

    /// 15 C2: after a move, a file is known by its content, also when it grew since.
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
        let found = bench
            .store
            .find_restore_of_file(&moved, Wanted::Named("latest"));
        let refused = found.expect("found").refuse_other_file(&moved);
        let is_gone = matches!(refused, Err(StoreError::OtherFile { is_gone: true, .. }));
        assert!(is_gone, "{refused:?}");
        let other = bench.file("other.jsonl", MORE);
        let none = bench.store.catalog_of_file(&other).err();
        assert!(matches!(none, Some(StoreError::NoSnapshotOf(_))));
    }

    /// 15 C2: the longest beginning tells the session; where it is that of several, none is taken.
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
