//! A consolidation of the memory of a store: the files are read, what is to be is made of them, and
//! it is written, never over somebody's edit.
//!
//! The memory files come first, then the master, then the log of the day, then what the next run
//! has to know. A run that is killed in between loses nothing: what it replaces is kept before
//! ([`Store::keep_version`]), and the next one goes on from what it finds.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chrono::{Days, NaiveDate};
use ctx_store::{
    Digest, Facts, Operation, Severity, SharedFile, SharedFolder, StagedFile, Store, StoreError,
    open_plain,
};
use ctx_transcript::counted;

use crate::consolidate::{
    After, Answer, Asked, Before, Daily, KINDS, Report, Rules, State, consolidate,
};
use crate::hash::hash;
use crate::{MergeError, file_name};

/// The consolidation of a store.
pub struct Consolidation<'a> {
    store: &'a Store,
    max_tokens: u64,
    count: &'a dyn Fn(&str) -> u64,
    /// Which sessions were extracted on which days; read when it is asked for.
    extracted: OnceCell<HashSet<(Option<String>, NaiveDate)>>,
    /// Why that could not be read.
    unread: Cell<Option<StoreError>>,
    /// What a model made of the topics.
    answer: RefCell<Option<Answer>>,
}

/// A file that is to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name below the store.
    pub name: String,
    /// What it holds; nothing where there is none.
    pub old: Vec<u8>,
    /// What it is to hold.
    pub new: Vec<u8>,
}

/// What is to be done, or was.
#[derive(Clone, Debug, Default)]
pub struct Consolidated {
    /// The files that change.
    pub changes: Vec<Change>,
    /// What was counted.
    pub report: Report,
    /// Files that hold what people wrote and killed runs took out: [`SharedFile::edits`].
    pub edits: Vec<PathBuf>,
}

/// What the master is called.
const MASTER: &str = "master.md";

impl<'a> Consolidation<'a> {
    /// Of this store; the master has at most so many tokens.
    pub fn new(store: &'a Store, max_tokens: u64, count: &'a dyn Fn(&str) -> u64) -> Self {
        Self {
            store,
            max_tokens,
            count,
            extracted: OnceCell::new(),
            unread: Cell::new(None),
            answer: RefCell::new(None),
        }
    }

    /// What is to be done. Nothing is written.
    pub fn plan(&self) -> Result<Consolidated, StoreError> {
        let (before, after) = self.look()?;
        Ok(Consolidated {
            changes: changes(&before, &after),
            report: after.report,
            edits: Vec::new(),
        })
    }

    fn look(&self) -> Result<(Before, After), StoreError> {
        let read = |name: &str| read(&self.store.memory().join(name));
        let [one, two, three] = KINDS.map(|kind| read(&format!("extracted/{}", file_name(kind))));
        let before = self.before([one?, two?, three?], read("summary/master.md")?)?;
        let after = self.after(&before)?;
        Ok((before, after))
    }

    /// Does it. Where nothing is to be done, nothing is written, not even a record. `model` is asked
    /// where there are topics that no model has been asked about; `None` where it gives no answer.
    pub fn run(
        &self,
        model: &mut dyn FnMut(&Asked) -> Option<Answer>,
    ) -> Result<Consolidated, MergeError> {
        let mut run = Run {
            of: self,
            operation: None,
            done: Consolidated::default(),
            was_written: false,
            uncertain: None,
        };
        match run.all(model).and(run.uncertain.take().map_or(Ok(()), Err)) {
            Ok(()) => Ok(run.done),
            Err(source) => Err(MergeError {
                is_partial: run.was_written && source.severity() != Severity::Uncertain,
                source,
            }),
        }
    }

    fn before(&self, files: [Vec<u8>; 3], master: Vec<u8>) -> Result<Before, StoreError> {
        Ok(Before {
            files,
            daily: self.logs()?,
            master,
            state: self.state()?,
        })
    }

    /// A damaged one is as good as none.
    fn state(&self) -> Result<State, StoreError> {
        let text = self.store.read_consolidated()?;
        let mut state = text
            .and_then(|text| State::parse(&text))
            .unwrap_or_default();
        if let Some(answer) = &*self.answer.borrow() {
            state.take_answer(answer);
        }
        Ok(state)
    }

    fn after(&self, before: &Before) -> Result<After, StoreError> {
        let rules = Rules {
            max_tokens: self.max_tokens,
            count: self.count,
            extracted: &|session, day| self.was_extracted(session, day),
        };
        let after = consolidate(before, &rules);
        self.unread.take().map_or(Ok(after), Err)
    }

    fn logs(&self) -> Result<Vec<Daily>, StoreError> {
        let logs = self.store.logs()?.into_iter();
        Ok(logs.map(|(name, bytes)| Daily { name, bytes }).collect())
    }

    /// Whether items of a session were merged on a day; of a merge at midnight the day before.
    fn was_extracted(&self, session: &str, day: NaiveDate) -> bool {
        let all = self.extracted.get_or_init(|| {
            let mut all = HashSet::new();
            let read = self.store.each_event(|event| {
                if event.op == "extract" {
                    all.insert((event.session, event.time.date_naive()));
                }
            });
            self.unread.set(read.err());
            all
        });
        let days = [Some(day), day.checked_sub_days(Days::new(1))];
        days.into_iter()
            .flatten()
            .any(|day| all.contains(&(Some(session.to_owned()), day)) || all.contains(&(None, day)))
    }
}

/// The files that differ.
fn changes(before: &Before, after: &After) -> Vec<Change> {
    let names = KINDS.map(|kind| format!("memory/extracted/{}", file_name(kind)));
    let files = names.into_iter().zip(before.files.iter().zip(&after.files));
    let master = (
        format!("memory/summary/{MASTER}"),
        (&before.master, &after.master),
    );
    let all = files.chain([master]);
    let changed = all.filter(|(_, (old, new))| old != new);
    changed
        .map(|(name, (old, new))| Change {
            name,
            old: old.clone(),
            new: new.clone(),
        })
        .collect()
}

/// The bytes of a file of the store; none where there is no file.
fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    match open_plain(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(cannot_read(path, error)),
    }
}

fn cannot_read(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    }
}

struct Run<'a, 'c> {
    of: &'c Consolidation<'a>,
    operation: Option<(Operation, Facts)>,
    done: Consolidated,
    was_written: bool,
    /// What is done, and may not last or not be told.
    uncertain: Option<StoreError>,
}

impl Run<'_, '_> {
    fn all(&mut self, model: &mut dyn FnMut(&Asked) -> Option<Answer>) -> Result<(), StoreError> {
        let store = self.of.store;
        let (mut before, mut after) = self.of.look()?;
        // No lock is held meanwhile.
        if after.is_new_to_a_model()
            && let Some(answer) = model(&after.asked)
        {
            self.of.answer.replace(Some(answer));
            (before, after) = self.of.look()?;
        }
        if changes(&before, &after).is_empty() && self.is_known(&after.state)? {
            self.done.report = after.report;
            return self.tidy();
        }
        store.prepare()?;
        store.tidy_logs()?;
        let memory = store.memory();
        let extracted = SharedFolder::lock(&memory.join("extracted"))?;
        let summary = SharedFolder::lock(&memory.join("summary"))?;
        let mut tried = self.commit(&extracted, &summary);
        for _ in 1..SharedFolder::TRIES {
            if !matches!(tried, Err(StoreError::Changed(_))) {
                break;
            }
            // Somebody saved one of the files meanwhile: once more, from their version.
            tried = self.commit(&extracted, &summary);
        }
        let (before, mut after) = tried?;
        self.finish(&before, &mut after);
        let noted = match self.is_known(&after.state) {
            Ok(true) => Ok(()),
            Ok(false) => store.replace_consolidated(&after.state.to_json()),
            Err(error) => Err(error.after("the consolidation")),
        };
        self.or_later(noted)
    }

    /// Removes what killed runs left, which had done all else.
    fn tidy(&mut self) -> Result<(), StoreError> {
        let memory = self.of.store.memory();
        let extracted = KINDS.map(file_name);
        let files: [(&str, &[String]); 2] =
            [("extracted", &extracted), ("summary", &[MASTER.to_owned()])];
        for (folder, names) in files {
            let folder = memory.join(folder);
            if folder.is_dir() {
                let folder = SharedFolder::lock(&folder)?;
                for name in names {
                    self.done
                        .edits
                        .extend_from_slice(folder.read(name)?.edits());
                }
            }
        }
        self.of.store.tidy_logs()
    }

    /// What is done is done: a failure that only makes it uncertain is told at the end.
    fn or_later(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        match result {
            Err(error) if error.severity() == Severity::Uncertain => {
                self.uncertain.get_or_insert(error);
                Ok(())
            }
            other => other,
        }
    }

    /// Whether nothing new is to be noted for the next run.
    fn is_known(&self, state: &State) -> Result<bool, StoreError> {
        let stored = self.of.store.read_consolidated()?;
        Ok(stored.map_or_else(|| *state == State::default(), |it| it == state.to_json()))
    }

    /// Writes what changes. All new versions are written before the first one takes its place.
    fn commit(
        &mut self,
        extracted: &SharedFolder,
        summary: &SharedFolder,
    ) -> Result<(Before, After), StoreError> {
        let [one, two, three] = KINDS.map(|kind| extracted.read(&file_name(kind)));
        let files = [one?, two?, three?, summary.read(MASTER)?];
        let [one, two, three, master] = files.each_ref().map(|file| file.bytes().to_vec());
        let before = self.of.before([one, two, three], master)?;
        let after = self.of.after(&before)?;
        self.done.edits = files.iter().flat_map(SharedFile::edits).cloned().collect();
        let changes = changes(&before, &after);
        if changes.is_empty() {
            self.done.report = after.report.clone();
            return Ok((before, after));
        }
        self.begin(&before, &after)?;
        let mut staged: Vec<StagedFile> = Vec::new();
        let new = after.files.iter().chain([&after.master]);
        for (file, new) in files.into_iter().zip(new) {
            if file.bytes() != new {
                staged.push(self.stage(file, new)?);
            }
        }
        for staged in staged {
            self.or_later(staged.commit())?;
            self.was_written = true;
        }
        self.note(changes, &after.report);
        Ok((before, after))
    }

    /// What a longer version has as well needs no copy.
    fn stage(&self, file: SharedFile, new: &[u8]) -> Result<StagedFile, StoreError> {
        if !new.starts_with(file.bytes()) {
            self.of.store.keep_version(&file.name(), file.bytes())?;
        }
        file.stage_whole(new.to_vec())
    }

    fn begin(&mut self, before: &Before, after: &After) -> Result<(), StoreError> {
        if self.operation.is_none() {
            let facts = Facts {
                sha256_before: Some(hash(&before.master)),
                sha256: Some(hash(&after.master)),
                ..Facts::default()
            };
            let operation = self.of.store.begin("consolidate", &facts)?;
            self.operation = Some((operation, facts));
        }
        Ok(())
    }

    /// Of several tries all that was written.
    fn note(&mut self, changes: Vec<Change>, report: &Report) {
        let (imported, taken_back) = (self.done.report.imported, self.done.report.taken_back);
        self.done.report = report.clone();
        self.done.report.imported += imported;
        self.done.report.taken_back += taken_back;
        self.done
            .changes
            .retain(|old| changes.iter().all(|new| new.name != old.name));
        self.done.changes.extend(changes);
    }

    /// Tells the audit log and the log of the day.
    fn finish(&mut self, before: &Before, after: &mut After) {
        let Some((operation, facts)) = &self.operation else {
            return;
        };
        let store = self.of.store;
        let report = &self.done.report;
        let facts = Facts {
            sha256: Some(hash(&after.master)),
            bytes: Some(after.master.len() as u64),
            count: Some((report.imported + report.taken_back) as u64),
            ..facts.clone()
        };
        let digest = Digest {
            session: None,
            what: told(report),
            entries: Vec::new(),
        };
        let done = store.done(operation, &facts);
        let logged = store.log_digest(&digest);
        let read = self.of.logs().map(|logs| {
            for log in logs {
                let old = before.daily.iter().find(|old| old.name == log.name);
                after
                    .state
                    .has_read(&log, old.map_or(&[], |old| &old.bytes));
            }
        });
        let read = read.map_err(|error| error.after("the consolidation"));
        for result in [done, logged, read] {
            self.uncertain = self.uncertain.take().or(result.err());
        }
    }
}

/// For the log of the day.
fn told(report: &Report) -> String {
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
            let actor = Actor {
                tool: "test".into(),
                flags: Vec::new(),
            };
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
            let done = consolidation.run(&mut |_| None).expect("done");
            assert_eq!(
                (plan.changes, plan.report),
                (done.changes.clone(), done.report.clone())
            );
            done
        }
    }

    /// All files of a folder with their bytes.
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

    /// 16: of nothing nothing is made, not even a store.
    #[test]
    fn without_a_memory_there_is_nothing_to_do() {
        let field = Field::new();
        assert!(field.run().changes.is_empty());
        assert!(!field.store.root().exists());
    }

    /// 16: what is replaced is kept, what is done is recorded, and a second run does nothing.
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
            field
                .read("summary/master.md")
                .contains("- Tabs (user, memory/daily/2026-11-03.md:1")
        );
        let kept = all(&field.path("history"));
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].1, decisions.as_bytes());
        let log = field.log();
        assert_eq!(log.matches(r#""op":"consolidate""#).count(), 2, "{log}");
        assert!(
            log.contains(r#""phase":"done""#) && log.contains(r#""count":2"#),
            "{log}"
        );
        let state = fs::metadata(field.path("consolidated.json")).expect("there");
        assert_eq!(state.permissions().mode() & 0o777, 0o600);
        let before = all(field.store.root());
        for _ in 0..2 {
            assert!(field.run().changes.is_empty());
            assert_eq!(all(field.store.root()), before);
        }
        // What is new in a log and has no entries is only noted.
        let daily = field.read("daily/2026-11-03.md");
        field.write("daily/2026-11-03.md", &format!("{daily}mine\n"));
        assert!(field.run().changes.is_empty());
        assert_eq!(field.log(), log);
    }

    /// 16: the master is kept as it was before it is replaced.
    #[test]
    fn the_old_master_is_kept() {
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

    /// 16: what was merged when it was logged, and deleted before the first run, stays away.
    #[test]
    fn what_somebody_deleted_is_known_by_the_audit_log() {
        let field = Field::new();
        field.write("extracted/decisions.md", NEW);
        let today = field.store.now().format("%F").to_string();
        field.write(
            &format!("daily/{today}.md"),
            "- decision: Tabs. (user, a:1)\n",
        );
        let facts = ctx_store::Facts {
            session: Some("a".to_owned()),
            ..ctx_store::Facts::default()
        };
        field.store.begin("extract", &facts).expect("written");
        assert_eq!(field.run().report.imported, 0);
    }

    /// 16: nothing outside of the store is read or written.
    #[test]
    fn links_are_not_followed() {
        for name in [
            "summary/master.md",
            "extracted/facts.md",
            "daily/2026-11-03.md",
            "daily",
        ] {
            let field = Field::new();
            field.write("extracted/decisions.md", OLD);
            let outside = field.dir.path().join("outside");
            fs::create_dir(&outside).expect("made");
            let link = field.path(name);
            fs::create_dir_all(link.parent().expect("a folder")).expect("made");
            symlink(&outside, &link).expect("a link");
            let before = all(field.store.root());
            let count = |_: &str| 0;
            let consolidation = Consolidation::new(&field.store, 9, &count);
            assert!(consolidation.plan().is_err(), "{name}");
            assert!(consolidation.run(&mut |_| None).is_err(), "{name}");
            assert_eq!(all(field.store.root()), before, "{name}");
        }
    }
}
