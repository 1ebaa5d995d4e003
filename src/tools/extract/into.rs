//! Items into memory files: locked, recorded, and never over somebody's edit.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Io};
use ctx_ledger::rules::MemoryKind;
use ctx_memory::{Item, Merged, file_name, merge};
use ctx_store::{Facts, Severity, SharedFile, SharedFolder, StagedFile, Store, StoreError};

use super::TOOL;
use super::read::plural;
use crate::store::{StoreArgs, failure};

/// Where items are merged.
pub(super) struct Target {
    dir: PathBuf,
    /// The store that the directory lies in: what is written there is recorded there.
    store: Option<Store>,
}

/// What was merged.
pub(super) struct Done {
    /// How many files were replaced.
    files: usize,
    added: usize,
    known: usize,
    dir: PathBuf,
}

/// How often a file that somebody edits is read again.
const TRIES: usize = 3;

impl Target {
    /// The memory of `store`.
    pub(super) fn store(store: Store) -> Self {
        Self {
            dir: store.memory().join("extracted"),
            store: Some(store),
        }
    }

    /// `dir/extracted`.
    pub(super) fn dir(dir: &Path, matches: &ArgMatches) -> Result<Self, Failure> {
        let args = store_around(dir).map(|root| StoreArgs { store: Some(root) });
        let store = args.map(|args| args.open(&TOOL, matches)).transpose()?;
        Ok(Self {
            dir: dir.join("extracted"),
            store,
        })
    }

    /// Merges all items, each into the file of its kind.
    pub(super) fn merge(&self, items: &[Item]) -> Result<Done, Failure> {
        let mut done = Done {
            files: 0,
            added: 0,
            known: 0,
            dir: self.dir.clone(),
        };
        if items.is_empty() {
            return Ok(done);
        }
        match self.write(items, &mut done) {
            Ok(()) => Ok(done),
            Err(error) if done.files > 0 && error.severity() == Severity::Failed => {
                Err(failure(error)
                    .status(ExitStatus::Partial)
                    .hint("other memory files are merged; run it again"))
            }
            Err(error) => Err(failure(error)),
        }
    }

    fn write(&self, items: &[Item], done: &mut Done) -> Result<(), StoreError> {
        if let Some(store) = &self.store {
            store.prepare()?;
        }
        let folder = SharedFolder::lock(&self.dir)?;
        // All files are read, and their new versions written, before the first
        // one is replaced: what must be refused or finds no space stops the
        // merge while nothing is changed.
        let mut plans = Vec::new();
        for kind in MemoryKind::ALL {
            let (file, merged) = plan(&folder, kind, items)?;
            done.known += merged.known;
            if merged.added > 0 {
                plans.push((kind, file.stage(&merged.appended)?, merged));
            }
        }
        if plans.is_empty() {
            return Ok(());
        }
        let intent = Facts {
            session: only_session(items),
            ..Facts::default()
        };
        let store = self.store.as_ref();
        let operation = store
            .map(|store| store.begin("extract", &intent))
            .transpose()?;
        let mut bytes = 0;
        for (kind, staged, merged) in plans {
            let merged = commit(&folder, kind, items, staged, merged)?;
            done.files += 1;
            done.added += merged.added;
            bytes += merged.appended.len() as u64;
        }
        if let (Some(store), Some(operation)) = (store, operation) {
            let facts = Facts {
                count: Some(done.added as u64),
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
    let file = folder.read(file_name(kind))?;
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
    for _ in 1..TRIES {
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

/// The store that `dir`, which need not exist, lies in.
fn store_around(dir: &Path) -> Option<PathBuf> {
    let real = dir.ancestors().find_map(|above| {
        let above = if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        };
        above.canonicalize().ok()
    })?;
    let is_store = |dir: &&Path| dir.join("FORMAT").is_file() && dir.join("context").is_dir();
    real.ancestors().find(is_store).map(Path::to_owned)
}

impl Done {
    pub(super) fn report(&self, io: &mut Io) {
        let (added, known) = (self.added, self.known);
        let (items, dir) = (plural(added, "item"), self.dir.display());
        io.note(format_args!("{added} new {items} in {dir}, {known} known"));
    }
}
