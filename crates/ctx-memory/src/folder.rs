//! Adds items to the memory files in a folder while holding a lock, and records the merge in the
//! audit log. People's edits are never overwritten.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use ctx_format::counted;
use ctx_store::{Facts, Severity, SharedFolder, StagedFile, Store, StoreError};
use ctx_summary::ledger::patterns::MemoryKind;

use crate::entry::MemoryItem;
use crate::files::{DailyEntry, tried_again};
use crate::memory_file::{appended, file_name, new_entries};

/// A folder of memory files.
pub struct MemoryFolder<'a> {
    /// The path of the folder.
    pub dir: PathBuf,
    /// The store that contains the folder. Changes to the folder are recorded in the store's audit
    /// log.
    store: Option<&'a Store>,
}

/// The result of merging items into memory files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// The number of files that were replaced.
    pub files: usize,
    /// The number of new items.
    pub added: usize,
    /// The number of items that were not added, because they were repeated or already in a file.
    pub known: usize,
    /// The files in which killed runs set aside people's edits; see
    /// [`ctx_store::SharedFile::edits`].
    pub edits: Vec<PathBuf>,
    /// The new items as the daily log lists them: `decision: TEXT (ROLE, SESSION:LINE)`.
    pub entries: Vec<String>,
    /// The session of the items, if they are all from the same session.
    pub session: Option<String>,
}

/// The error returned if a merge fails.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct MergeError {
    /// The cause of the failure.
    pub source: StoreError,
    /// True if other files were merged before the failure.
    pub is_partial: bool,
}

impl<'a> MemoryFolder<'a> {
    /// The folder `memory/extracted` in a store.
    pub fn of_store(store: &'a Store) -> Self {
        Self { dir: store.memory().join("extracted"), store: Some(store) }
    }

    /// The folder `dir/extracted`; `store` is the store that contains the folder, or `None`.
    pub fn within(dir: &Path, store: Option<&'a Store>) -> Self {
        Self { dir: dir.join("extracted"), store }
    }

    /// Adds a section about a merge to the daily log next to the folder, unless the merge added
    /// nothing.
    pub fn log(&self, merged: &MergeCounts, now: DateTime<Utc>) -> Result<(), StoreError> {
        let daily = self.dir.with_file_name("daily");
        if merged.added == 0 {
            if self.store.is_none() {
                SharedFolder::remove_unfinished(&daily);
            }
            return Ok(());
        }
        // The log does not list tool runs, so add only their number.
        let runs = match merged.added - merged.entries.len() {
            0 => String::new(),
            runs => format!(" ({})", counted(runs, "tool run")),
        };
        let (added, known) = (counted(merged.added, "new item"), merged.known);
        let entry = DailyEntry {
            session: merged.session.clone(),
            what: format!("extracted {added}{runs}, {known} known"),
            items: merged.entries.clone(),
        };
        self.store.map_or_else(|| entry.append(&daily, now), |store| entry.log(store))
    }

    /// Adds each item to the memory file for its kind.
    pub fn merge(&self, items: &[MemoryItem]) -> Result<MergeCounts, MergeError> {
        let mut sessions = items.iter().map(|item| &item.session);
        let first = sessions.next();
        let session = first.filter(|first| sessions.all(|other| other == *first)).cloned();
        let mut counts = MergeCounts { session, ..MergeCounts::default() };
        if let Err(source) = self.write(items, &mut counts) {
            let is_partial = counts.files > 0 && source.severity() == Severity::Failed;
            return Err(MergeError { source, is_partial });
        }
        counts.known = items.len() - counts.added;
        Ok(counts)
    }

    fn write(&self, items: &[MemoryItem], counts: &mut MergeCounts) -> Result<(), StoreError> {
        if items.is_empty() {
            return Ok(());
        }
        if let Some(store) = self.store {
            store.prepare()?;
            store.refuse_links(&self.dir)?;
        }
        let folder = SharedFolder::lock(&self.dir)?;
        let intent = Facts { session: counts.session.clone(), ..Facts::default() };
        let mut operation = None;
        let mut bytes = 0;
        // If a file is edited in the meantime, the next attempt merges the edited version.
        tried_again(|| {
            // Write all new versions before putting the first one in place, so that a refused file
            // or a full disk stops the merge before anything changes.
            counts.edits.clear();
            let staged = stage(&folder, items, &mut counts.edits)?;
            if let (Some(store), None, false) = (self.store, &operation, staged.is_empty()) {
                operation = Some((store, store.begin("extract", &intent)?));
            }
            for Staged { kind, entries, file, added_bytes } in staged {
                file.commit()?;
                counts.files += 1;
                counts.added += entries.len();
                bytes += added_bytes as u64;
                // The daily log does not list tool runs, because there are too many of them.
                if kind != MemoryKind::Runtime {
                    let logged = |entry| format!("{}: {entry}", <&str>::from(kind));
                    counts.entries.extend(entries.into_iter().map(logged));
                }
            }
            Ok(())
        })?;
        if let Some((store, operation)) = operation {
            let facts = Facts { count: Some(counts.added as u64), bytes: Some(bytes), ..intent };
            store.done(&operation, &facts)?;
        }
        Ok(())
    }
}

/// The new version of a memory file, and the entries that it adds.
struct Staged {
    kind: MemoryKind,
    entries: Vec<String>,
    file: StagedFile,
    added_bytes: usize,
}

/// Writes a new version of each memory file that lacks any of the items.
fn stage(
    folder: &SharedFolder,
    items: &[MemoryItem],
    edits: &mut Vec<PathBuf>,
) -> Result<Vec<Staged>, StoreError> {
    let mut staged = Vec::new();
    for kind in MemoryKind::ALL {
        let file = folder.read(&file_name(kind))?;
        edits.extend_from_slice(&file.edits);
        let entries = new_entries(&file.old, kind, items);
        if !entries.is_empty() {
            let more = appended(&file.old, kind, &entries);
            staged.push(Staged {
                kind,
                entries,
                file: file.stage(&more)?,
                added_bytes: more.len(),
            });
        }
    }
    Ok(staged)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use ctx_store::{Actor, SharedFolder, Store, StoreError};
    use ctx_summary::ledger::patterns::MemoryKind;

    use super::{MemoryFolder, MergeCounts, stage};
    use crate::entry::MemoryItem;

    fn item(kind: MemoryKind, text: &str, session: &str) -> MemoryItem {
        MemoryItem { kind, session: session.to_owned(), ..MemoryItem::example(text, 1) }
    }

    fn items() -> Vec<MemoryItem> {
        vec![
            item(MemoryKind::Decision, "We keep SQLite.", "demo"),
            item(MemoryKind::Decision, "We keep it.", "demo"),
            item(MemoryKind::Runtime, "Bash: make", "demo"),
        ]
    }

    fn store(dir: &Path) -> Store {
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        Store::open(dir, actor, Box::new(chrono::Utc::now)).expect("a store")
    }

    #[test]
    fn each_item_goes_into_the_file_of_its_kind_and_only_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = MemoryFolder::within(dir.path(), None);
        assert_eq!(folder.merge(&[]).expect("nothing"), MergeCounts::default());
        assert!(!folder.dir.exists());
        let first = folder.merge(&items()).expect("merged");
        assert_eq!((first.files, first.added, first.known), (2, 3, 0));
        let again = folder.merge(&items()).expect("merged");
        assert_eq!((again.files, again.added, again.known), (0, 0, 3));
        let decisions = fs::read_to_string(folder.dir.join("decisions.md")).expect("a file");
        assert!(decisions.contains("- We keep SQLite. (user, demo:1)\n"), "{decisions}");
        assert_eq!(fs::read_dir(&folder.dir).expect("a folder").count(), 2);
    }

    #[test]
    fn the_daily_log_counts_tool_runs_without_listing_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = MemoryFolder::within(dir.path(), None);
        let merged = folder.merge(&items()).expect("merged");
        folder.log(&merged, chrono::DateTime::UNIX_EPOCH).expect("logged");
        let log = fs::read_to_string(dir.path().join("daily/1970-01-01.md")).expect("a file");
        assert!(log.contains("demo: extracted 3 new items (1 tool run), 0 known\n"), "{log}");
        assert!(!log.contains("make"), "{log}");
    }

    #[test]
    fn a_refused_file_stops_the_merge_before_anything_changes() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = MemoryFolder::within(dir.path(), None);
        fs::create_dir(&folder.dir).expect("a folder");
        symlink("/etc/hostname", folder.dir.join("runtime.md")).expect("a link");
        let error = folder.merge(&items()).expect_err("a link");
        assert!(error.to_string().ends_with("is a symbolic link"), "{error}");
        assert!(!error.is_partial);
        assert_eq!(fs::read_dir(&folder.dir).expect("a folder").count(), 1);
    }

    #[test]
    fn a_store_records_the_merge() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("store");
        let log = || fs::read_to_string(root.join("context/events.jsonl")).unwrap_or_default();
        let store = store(&root);
        let folder = MemoryFolder::of_store(&store);
        assert_eq!(folder.dir, root.join("memory/extracted"));
        folder.merge(&items()).expect("merged");
        let before = log();
        let done = before.lines().last().expect("two records");
        assert!(done.contains(r#""phase":"done""#) && done.contains(r#""count":3"#), "{before}");
        assert!(done.contains(r#""session":"demo""#) && !before.contains("SQLite"), "{before}");
        folder.merge(&items()).expect("merged");
        assert_eq!(log(), before);
        // The session is unknown if the items belong to two sessions.
        let more = ["a", "b"].map(|id| item(MemoryKind::Fact, &format!("{id}.rs is long."), id));
        folder.merge(&more).expect("merged");
        let done = log().lines().last().map(str::to_owned).expect("a record");
        assert!(!done.contains(r#""session""#), "{done}");
    }

    #[test]
    fn an_edit_between_reading_and_writing_is_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = MemoryFolder::within(dir.path(), None);
        let items = &items()[..2];
        for (mine, added) in [("- Mine.\n", 2), ("- We keep it.\n", 1)] {
            let path = folder.dir.join("decisions.md");
            let _ = fs::remove_file(&path);
            let shared = SharedFolder::lock(&folder.dir).expect("a lock");
            let staged = stage(&shared, items, &mut Vec::new()).expect("room");
            fs::write(&path, mine).expect("written");
            for staged in staged {
                let refused = staged.file.commit();
                assert!(matches!(refused, Err(StoreError::Changed(_))), "{refused:?}");
            }
            drop(shared);
            // The next attempt merges the edited version.
            let merged = folder.merge(items).expect("merged");
            assert_eq!(merged.added, added);
            let text = fs::read_to_string(&path).expect("a file");
            assert!(text.starts_with(mine) && text.contains("SQLite"), "{text}");
        }
    }
}
