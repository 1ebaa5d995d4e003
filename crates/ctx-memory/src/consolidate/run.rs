//! Consolidates a store's memory while holding a lock, and records the run in the audit log.
//! People's edits are never overwritten.
//!
//! Writes the memory files first, then the master, the daily log, and the state for the next run.
//! Nothing is lost if a run is killed: a copy of each file is saved before the file is replaced
//! ([`Store::keep_version`]), and the next run continues with the files that it finds.

use std::path::PathBuf;

use ctx_format::counted;
use ctx_store::{Facts, Operation, Severity, SharedFolder, StagedFile, Store, StoreError};

use super::{
    Extractions, FILES, KINDS, MASTER, MemoryFiles, NewMemory, Report, Rules, State, consolidate,
    extracted_path, hash, master,
};
use crate::files::{DailyEntry, logs, read_file, tidy_logs, tried_again};
use crate::folder::MergeError;
use crate::memory_file::file_name;

/// A consolidation of a store's memory.
pub struct Consolidation<'a> {
    store: &'a Store,
    rules: Rules<'a>,
}

/// A file that a consolidation changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path of the file within the store.
    pub name: String,
    /// The old content; empty if the file does not exist yet.
    pub old: Vec<u8>,
    /// The new content.
    pub new: Vec<u8>,
}

/// The result of a run or of a preview.
#[derive(Clone, Debug, Default)]
pub struct Consolidated {
    /// The files that the run changes.
    pub changes: Vec<Change>,
    /// Statistics about the run.
    pub report: Report,
    /// The files in which killed runs set aside people's edits; see
    /// [`ctx_store::SharedFile::edits`].
    pub edits: Vec<PathBuf>,
}

impl<'a> Consolidation<'a> {
    /// Creates a consolidation for a store. The master gets at most `max_tokens` tokens, counted by
    /// `count`.
    pub fn new(store: &'a Store, max_tokens: u64, count: &'a dyn Fn(&str) -> u64) -> Self {
        Self { store, rules: Rules { max_tokens, count } }
    }

    /// Computes the result of a run without writing anything.
    pub fn plan(&self) -> Result<Consolidated, StoreError> {
        let (old, new) = self.preview()?;
        Ok(Consolidated { changes: changes(&old, &new), report: new.report, edits: Vec::new() })
    }

    /// Runs the consolidation. If nothing changes, writes nothing, not even a record in the audit
    /// log.
    pub fn run(&self) -> Result<Consolidated, MergeError> {
        let mut run = Run {
            consolidation: self,
            operation: None,
            done: Consolidated::default(),
            was_written: false,
            uncertain: None,
        };
        match run.run().and(run.uncertain.take().map_or(Ok(()), Err)) {
            Ok(()) => Ok(run.done),
            Err(source) => Err(MergeError {
                is_partial: run.was_written && source.severity() != Severity::Uncertain,
                source,
            }),
        }
    }

    fn preview(&self) -> Result<(Files, NewMemory), StoreError> {
        let mut files = Files::default();
        for (file, path) in files.iter_mut().zip(paths()) {
            *file = read_file(&self.store.root.join(path))?.unwrap_or_default();
        }
        let new = self.consolidated(&files)?;
        Ok((files, new))
    }

    /// Consolidates `files`, together with the store's daily logs, audit log and state.
    fn consolidated(&self, files: &Files) -> Result<NewMemory, StoreError> {
        let mut extractions = Extractions::new();
        self.store.each_event(|event| {
            if event.op == "extract" {
                extractions.insert((event.session, event.time.date_naive()));
            }
        })?;
        let (daily, state) = (logs(self.store)?, self.stored_state()?);
        let old = MemoryFiles { files: files.clone(), daily, extractions, state };
        Ok(consolidate(&old, &self.rules))
    }

    fn state_path(&self) -> PathBuf {
        self.store.memory().join("consolidated.json")
    }

    /// Reads the state left by the last run. Returns an empty state if the state file is missing or
    /// damaged.
    fn stored_state(&self) -> Result<State, StoreError> {
        let json = read_file(&self.state_path())?.unwrap_or_default();
        Ok(serde_json::from_slice(&json).unwrap_or_default())
    }

    fn store_state(&self, state: &State) -> Result<(), StoreError> {
        if self.stored_state()? == *state {
            return Ok(());
        }
        self.store.write_file(&self.state_path(), state.to_json().as_bytes())
    }
}

/// The paths of the [`Files`] within the store.
fn paths() -> impl Iterator<Item = String> {
    KINDS.into_iter().map(extracted_path).chain([master::PATH.to_owned()])
}

/// The files whose content changes.
fn changes(old: &Files, new: &NewMemory) -> Vec<Change> {
    let pairs = paths().zip(old).zip(&new.files).filter(|((_, old), new)| old != new);
    pairs.map(|((name, old), new)| Change { name, old: old.clone(), new: new.clone() }).collect()
}

/// The memory files, in the order of [`KINDS`], and the master.
type Files = [Vec<u8>; FILES];

struct Run<'a, 'c> {
    consolidation: &'c Consolidation<'a>,
    operation: Option<(Operation, Facts)>,
    done: Consolidated,
    was_written: bool,
    /// The first error that did not stop the run: a completed step may not be durable, or may be
    /// missing from a log.
    uncertain: Option<StoreError>,
}

fn lock(store: &Store, folder: &str) -> Result<SharedFolder, StoreError> {
    let folder = store.memory().join(folder);
    store.refuse_links(&folder)?;
    SharedFolder::lock(&folder)
}

impl Run<'_, '_> {
    fn run(&mut self) -> Result<(), StoreError> {
        let consolidation = self.consolidation;
        let store = consolidation.store;
        let (old, new) = consolidation.preview()?;
        if old == new.files && consolidation.stored_state()? == new.state {
            self.done.report = new.report;
            return self.tidy();
        }
        store.prepare()?;
        tidy_logs(store)?;
        let folders = [lock(store, "extracted")?, lock(store, "summary")?];
        let new = tried_again(|| self.commit(&folders))?;
        self.record(&new.files[MASTER]);
        let stored = consolidation.store_state(&new.state);
        self.defer_uncertain(stored.map_err(|error| error.after("the consolidation")))
    }

    /// Removes unfinished files left by killed runs.
    fn tidy(&mut self) -> Result<(), StoreError> {
        let memory = self.consolidation.store.memory();
        let files = KINDS.map(|kind| ("extracted", file_name(kind)));
        for (folder, name) in files.into_iter().chain([("summary", master::NAME.to_owned())]) {
            if memory.join(folder).is_dir() {
                let file = lock(self.consolidation.store, folder)?.read(&name)?;
                self.done.edits.extend_from_slice(&file.edits);
            }
        }
        tidy_logs(self.consolidation.store)
    }

    /// If a step was completed but may not be durable, its error is kept until the end of the run.
    fn defer_uncertain(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        match result {
            Err(error) if error.severity() == Severity::Uncertain => {
                self.uncertain.get_or_insert(error);
                Ok(())
            }
            other => other,
        }
    }

    /// Replaces the files that change. All new versions are written before the first is put in
    /// place, so that a full disk stops the run before anything changes.
    fn commit(&mut self, folders: &[SharedFolder; 2]) -> Result<NewMemory, StoreError> {
        let [extracted, summary] = folders;
        let files = KINDS.into_iter().map(|kind| extracted.read(&file_name(kind)));
        let files = files.chain([summary.read(master::NAME)]).collect::<Result<Vec<_>, _>>()?;
        let old: Files = std::array::from_fn(|at| files[at].old.clone());
        let new = self.consolidation.consolidated(&old)?;
        self.done.edits = files.iter().flat_map(|file| &file.edits).cloned().collect();
        let changes = changes(&old, &new);
        if changes.is_empty() {
            self.done.report = new.report.clone();
            return Ok(new);
        }
        let store = self.consolidation.store;
        if self.operation.is_none() {
            let facts = Facts {
                sha256_before: Some(hash(&old[MASTER])),
                sha256: Some(hash(&new.files[MASTER])),
                ..Facts::default()
            };
            self.operation = Some((store.begin("consolidate", &facts)?, facts));
        }
        let mut staged: Vec<StagedFile> = Vec::new();
        for (file, bytes) in files.into_iter().zip(&new.files) {
            if &file.old == bytes {
                continue;
            }
            // If text is only appended to a file, no copy of the old version is needed.
            if !bytes.starts_with(&file.old) {
                store.keep_version(&file.name(), &file.old)?;
            }
            staged.push(file.stage_whole(bytes.clone())?);
        }
        for staged in staged {
            self.defer_uncertain(staged.commit())?;
            self.was_written = true;
        }
        // The statistics of earlier attempts stay in the report, because those attempts may have
        // written some of the files.
        let earlier = std::mem::replace(&mut self.done.report, new.report.clone());
        self.done.report.imported += earlier.imported;
        self.done.report.taken_back += earlier.taken_back;
        self.done.changes.retain(|old| changes.iter().all(|new| new.name != old.name));
        self.done.changes.extend(changes);
        Ok(new)
    }

    /// Records the run in the audit log and in the daily log.
    fn record(&mut self, master: &[u8]) {
        let Some((operation, facts)) = self.operation.take() else { return };
        let store = self.consolidation.store;
        let report = &self.done.report;
        let facts = Facts {
            sha256: Some(hash(master)),
            bytes: Some(master.len() as u64),
            count: Some((report.imported + report.taken_back) as u64),
            ..facts
        };
        let entry = DailyEntry { session: None, what: summary(report), items: Vec::new() };
        for result in [store.done(&operation, &facts), entry.log(store)] {
            self.uncertain = self.uncertain.take().or(result.err());
        }
    }
}

/// The line that describes the run in the daily log.
fn summary(report: &Report) -> String {
    let topics = counted(report.shown, "topic");
    let tokens = counted(report.tokens, "token");
    format!(
        "consolidated: {} new in the memory files, {} taken back; the master has {topics}, {tokens}",
        report.imported, report.taken_back
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use ctx_store::{Actor, Store};

    use super::{Consolidated, Consolidation};

    struct Field {
        dir: tempfile::TempDir,
        store: Store,
    }

    impl Field {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a folder");
            let actor = Actor { tool: "test".into(), flags: Vec::new() };
            let root = dir.path().join("store");
            let store = Store::open(&root, actor, Box::new(chrono::Utc::now)).expect("a store");
            Self { dir, store }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.store.memory().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            self.store.prepare().expect("made");
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.path(name)).unwrap_or_default()
        }

        fn log(&self) -> String {
            fs::read_to_string(self.store.audit_log()).unwrap_or_default()
        }

        fn run(&self) -> Consolidated {
            let count = |text: &str| text.split_whitespace().count() as u64;
            let consolidation = Consolidation::new(&self.store, 1000, &count);
            let plan = consolidation.plan().expect("read");
            let done = consolidation.run().expect("done");
            assert_eq!((plan.changes, plan.report), (done.changes.clone(), done.report.clone()));
            done
        }
    }

    /// All files in a folder, with their contents.
    fn all(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                found.extend(all(&path));
            } else {
                found.push((path.clone(), fs::read(&path).expect("read")));
            }
        }
        found.sort();
        found
    }

    const OLD: &str = "- We decided to use SQLite for the cache. (user, a:1, 2026-11-01)\n";
    const NEW: &str = "- Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n";

    #[test]
    fn a_run_without_memory_creates_no_store() {
        let field = Field::new();
        assert!(field.run().changes.is_empty());
        assert!(!field.store.root.exists());
    }

    #[test]
    fn a_second_run_changes_nothing() {
        let field = Field::new();
        let decisions = format!("# Decisions\n\n{OLD}{NEW}");
        field.write("extracted/decisions.md", &decisions);
        field.write("daily/2026-11-03.md", "- preference: Tabs\n- note\n");
        let done = field.run();
        let names: Vec<&str> = done.changes.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "memory/extracted/preferences.md",
                "memory/extracted/decisions.md",
                "memory/summary/master.md"
            ]
        );
        assert!(
            field.read("summary/master.md").contains("- Tabs (user, memory/daily/2026-11-03.md:1")
        );
        let kept = all(&field.path("history"));
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].1, decisions.as_bytes());
        let log = field.log();
        assert_eq!(log.matches(r#""op":"consolidate""#).count(), 2, "{log}");
        assert!(log.contains(r#""phase":"done""#) && log.contains(r#""count":2"#), "{log}");
        let state = fs::metadata(field.path("consolidated.json")).expect("there");
        assert_eq!(state.permissions().mode() & 0o777, 0o600);
        let before = all(&field.store.root);
        for _ in 0..2 {
            assert!(field.run().changes.is_empty());
            assert_eq!(all(&field.store.root), before);
        }
        // New lines in a log change nothing unless they are entries.
        let daily = field.read("daily/2026-11-03.md");
        field.write("daily/2026-11-03.md", &format!("{daily}mine\n"));
        assert!(field.run().changes.is_empty());
        assert_eq!(field.log(), log);
        // A symbolic link in place of the state file is not followed.
        let state = field.path("consolidated.json");
        fs::remove_file(&state).expect("removed");
        symlink("/etc/hostname", &state).expect("a link");
        let consolidation = Consolidation::new(&field.store, 9, &|_| 0);
        assert!(consolidation.plan().is_err());
    }

    #[test]
    fn the_replaced_master_is_kept() {
        let field = Field::new();
        field.write("extracted/decisions.md", OLD);
        field.run();
        let master = field.read("summary/master.md");
        field.write("extracted/decisions.md", &format!("{OLD}- b (user, c:1)\n"));
        field.run();
        let kept = all(&field.path("history"));
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].1, master.as_bytes());
    }

    #[test]
    fn a_deletion_before_the_first_run_is_known_from_the_audit_log() {
        let field = Field::new();
        field.write("extracted/decisions.md", NEW);
        let today = field.store.now().format("%F").to_string();
        field.write(&format!("daily/{today}.md"), "- decision: Tabs. (user, a:1)\n");
        let facts =
            ctx_store::Facts { session: Some("a".to_owned()), ..ctx_store::Facts::default() };
        field.store.begin("extract", &facts).expect("written");
        assert_eq!(field.run().report.imported, 0);
    }

    #[test]
    fn links_are_not_followed() {
        for name in
            ["summary/master.md", "extracted/facts.md", "daily/2026-11-03.md", "daily", "summary"]
        {
            let field = Field::new();
            field.write("extracted/decisions.md", OLD);
            let outside = field.dir.path().join("outside");
            fs::create_dir(&outside).expect("made");
            let link = field.path(name);
            fs::create_dir_all(link.parent().expect("a folder")).expect("made");
            symlink(&outside, &link).expect("a link");
            let before = all(&field.store.root);
            let count = |_: &str| 0;
            let consolidation = Consolidation::new(&field.store, 9, &count);
            assert!(consolidation.plan().is_err() || name == "summary", "{name}");
            assert!(consolidation.run().is_err(), "{name}");
            assert_eq!(all(&field.store.root), before, "{name}");
        }
    }
}
