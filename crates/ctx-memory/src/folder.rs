//! Items into the memory files of a folder: locked, recorded, and never over somebody's
//! edit.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use ctx_ledger::rules::MemoryKind;
use ctx_store::{Digest, Facts, Severity, SharedFile, SharedFolder, StagedFile, Store, StoreError};
use ctx_transcript::counted;

use crate::{Item, Merged, file_name, merge};

/// A folder of memory files.
pub struct MemoryFolder<'a> {
    dir: PathBuf,
    /// The store that it lies in: what is written there is recorded there.
    store: Option<&'a Store>,
}

/// What was merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// How many files were replaced.
    pub files: usize,
    /// How many items are new.
    pub added: usize,
    /// How many stood there already, or came twice.
    pub known: usize,
    /// Files that hold what people wrote and killed runs took out: [`SharedFile::edits`].
    pub edits: Vec<PathBuf>,
    /// The new items, as the log of the day has them: `decision: TEXT (ROLE, SESSION:LINE)`.
    pub entries: Vec<String>,
    /// The session that all items are of.
    pub session: Option<String>,
}

/// A merge that failed.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct MergeError {
    /// Why.
    pub source: StoreError,
    /// Whether other files were merged before.
    pub is_partial: bool,
}

impl<'a> MemoryFolder<'a> {
    /// The folder of a store.
    pub fn of_store(store: &'a Store) -> Self {
        Self {
            dir: store.memory().join("extracted"),
            store: Some(store),
        }
    }

    /// `dir/extracted`; `store` is the one that it lies in, if it lies in one.
    pub fn within(dir: &Path, store: Option<&'a Store>) -> Self {
        Self {
            dir: dir.join("extracted"),
            store,
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Tells in the log of the day, which lies beside the memory files, what a merge of items
    /// brought; nothing, where nothing was new.
    pub fn log(&self, merged: &MergeCounts, now: DateTime<Utc>) -> Result<(), StoreError> {
        let own = || self.dir.with_file_name("daily");
        if merged.added == 0 {
            if self.store.is_none() {
                Digest::clean_up(&own());
            }
            return Ok(());
        }
        // Tool runs have no entries there.
        let of_runs = match merged.added - merged.entries.len() {
            0 => String::new(),
            runs => format!(" ({})", counted(runs, "tool run")),
        };
        let (added, known) = (counted(merged.added, "new item"), merged.known);
        let digest = Digest {
            session: merged.session.clone(),
            what: format!("extracted {added}{of_runs}, {known} known"),
            entries: merged.entries.clone(),
        };
        match self.store {
            Some(store) => store.log_digest(&digest),
            None => digest.append(&own(), now),
        }
    }

    /// Merges all items, each into the file of its kind.
    pub fn merge(&self, items: &[Item]) -> Result<MergeCounts, MergeError> {
        let mut counts = MergeCounts {
            session: only_session(items),
            ..MergeCounts::default()
        };
        match self.write(items, &mut counts) {
            Ok(()) => Ok(counts),
            Err(source) => Err(MergeError {
                is_partial: counts.files > 0 && source.severity() == Severity::Failed,
                source,
            }),
        }
    }

    fn write(&self, items: &[Item], counts: &mut MergeCounts) -> Result<(), StoreError> {
        if items.is_empty() {
            return Ok(());
        }
        if let Some(store) = self.store {
            store.prepare()?;
        }
        let folder = SharedFolder::lock(&self.dir)?;
        // All files are read, and their new versions written, before the first
        // one is replaced: what must be refused or finds no space stops the
        // merge while nothing is changed.
        let mut plans = Vec::new();
        for kind in MemoryKind::ALL {
            let (file, merged) = plan(&folder, kind, items)?;
            counts.known += merged.known;
            counts.edits.extend_from_slice(file.edits());
            if merged.added > 0 {
                plans.push((kind, file.stage(&merged.appended)?, merged));
            }
        }
        if plans.is_empty() {
            return Ok(());
        }
        let intent = Facts {
            session: counts.session.clone(),
            ..Facts::default()
        };
        let operation = self
            .store
            .map(|store| store.begin("extract", &intent))
            .transpose()?;
        let mut bytes = 0;
        for (kind, staged, merged) in plans {
            let merged = commit(&folder, kind, items, staged, merged)?;
            counts.files += 1;
            counts.added += merged.added;
            counts.entries.extend(merged.entries);
            bytes += merged.appended.len() as u64;
        }
        if let (Some(store), Some(operation)) = (self.store, operation) {
            let facts = Facts {
                count: Some(counts.added as u64),
                bytes: Some(bytes),
                ..intent
            };
            store.done(&operation, &facts)?;
        }
        Ok(())
    }
}

fn plan(
    folder: &SharedFolder,
    kind: MemoryKind,
    items: &[Item],
) -> Result<(SharedFile, Merged), StoreError> {
    let file = folder.read(&file_name(kind))?;
    let merged = merge(file.bytes(), kind, items);
    Ok((file, merged))
}

/// Appends what is new; when somebody saved the file meanwhile, what is new to
/// their version.
fn commit(
    folder: &SharedFolder,
    kind: MemoryKind,
    items: &[Item],
    mut staged: StagedFile,
    mut merged: Merged,
) -> Result<Merged, StoreError> {
    for _ in 1..SharedFolder::TRIES {
        match staged.commit() {
            Err(StoreError::Changed(_)) => {}
            other => return other.map(|()| merged),
        }
        let file;
        (file, merged) = plan(folder, kind, items)?;
        if merged.added == 0 {
            return Ok(merged);
        }
        staged = file.stage(&merged.appended)?;
    }
    staged.commit().map(|()| merged)
}

fn only_session(items: &[Item]) -> Option<String> {
    let first = &items.first()?.session;
    items
        .iter()
        .all(|item| item.session == *first)
        .then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use ctx_ledger::rules::MemoryKind;
    use ctx_store::{Actor, SharedFolder, Store};
    use ctx_transcript::Role;

    use super::{MemoryFolder, MergeCounts, commit, plan};
    use crate::Item;

    fn item(kind: MemoryKind, text: &str, session: &str) -> Item {
        Item {
            kind,
            text: text.to_owned(),
            role: Role::User,
            line: 1,
            session: session.to_owned(),
            tool: None,
            why: None,
            scope: None,
            date: None,
            taken_back: None,
        }
    }

    fn items() -> Vec<Item> {
        vec![
            item(MemoryKind::Decision, "We keep SQLite.", "demo"),
            item(MemoryKind::Decision, "We keep it.", "demo"),
            item(MemoryKind::Runtime, "Bash: make", "demo"),
        ]
    }

    fn store(dir: &Path) -> Store {
        let actor = Actor {
            tool: "test".into(),
            flags: Vec::new(),
        };
        Store::open(dir, actor, Box::new(chrono::Utc::now)).expect("a store")
    }

    #[test]
    fn each_item_goes_into_the_file_of_its_kind_and_only_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = MemoryFolder::within(dir.path(), None);
        assert_eq!(folder.merge(&[]).expect("nothing"), MergeCounts::default());
        assert!(!folder.path().exists());
        let first = folder.merge(&items()).expect("merged");
        assert_eq!((first.files, first.added, first.known), (2, 3, 0));
        let again = folder.merge(&items()).expect("merged");
        assert_eq!((again.files, again.added, again.known), (0, 0, 3));
        let decisions = fs::read_to_string(folder.path().join("decisions.md")).expect("a file");
        assert!(
            decisions.contains("- We keep SQLite. (user, demo:1)\n"),
            "{decisions}"
        );
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    /// 16: the log of the day lists no tool runs, and says how many there were.
    #[test]
    fn the_log_says_what_it_does_not_list() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = MemoryFolder::within(dir.path(), None);
        let merged = folder.merge(&items()).expect("merged");
        folder
            .log(&merged, chrono::DateTime::UNIX_EPOCH)
            .expect("logged");
        let log = fs::read_to_string(dir.path().join("daily/1970-01-01.md")).expect("a file");
        assert!(
            log.contains("demo: extracted 3 new items (1 tool run), 0 known\n"),
            "{log}"
        );
        assert!(!log.contains("make"), "{log}");
    }

    #[test]
    fn what_is_refused_stops_the_merge_before_anything_is_changed() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = MemoryFolder::within(dir.path(), None);
        fs::create_dir(folder.path()).expect("a folder");
        symlink("/etc/hostname", folder.path().join("runtime.md")).expect("a link");
        let error = folder.merge(&items()).expect_err("a link");
        assert!(error.to_string().ends_with("is a symbolic link"), "{error}");
        assert!(!error.is_partial);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_store_records_what_is_merged_into_its_memory() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("store");
        let log = || fs::read_to_string(root.join("context/events.jsonl")).unwrap_or_default();
        let store = store(&root);
        let folder = MemoryFolder::of_store(&store);
        assert_eq!(folder.path(), root.join("memory/extracted"));
        folder.merge(&items()).expect("merged");
        let told = log();
        let done = told.lines().last().expect("two records");
        assert!(
            done.contains(r#""phase":"done""#) && done.contains(r#""count":3"#),
            "{told}"
        );
        assert!(
            done.contains(r#""session":"demo""#) && !told.contains("SQLite"),
            "{told}"
        );
        folder.merge(&items()).expect("merged");
        assert_eq!(log(), told);
        // Of two sessions none is named.
        let more = ["a", "b"].map(|id| item(MemoryKind::Fact, &format!("{id}.rs is long."), id));
        folder.merge(&more).expect("merged");
        let done = log().lines().last().map(str::to_owned).expect("a record");
        assert!(!done.contains(r#""session""#), "{done}");
    }

    #[test]
    fn an_edit_between_reading_and_writing_is_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let shared = SharedFolder::lock(dir.path()).expect("a lock");
        let (kind, items) = (MemoryKind::Decision, items());
        for (mine, added) in [("- Mine.\n", 2), ("- We keep it.\n", 1)] {
            let path = dir.path().join("decisions.md");
            let _ = fs::remove_file(&path);
            let (file, merged) = plan(&shared, kind, &items).expect("no file yet");
            let staged = file.stage(&merged.appended).expect("room");
            fs::write(&path, mine).expect("written");
            let merged = commit(&shared, kind, &items, staged, merged).expect("merged");
            assert_eq!(merged.added, added);
            let text = fs::read_to_string(&path).expect("a file");
            assert!(text.starts_with(mine) && text.contains("SQLite"), "{text}");
        }
    }
}
