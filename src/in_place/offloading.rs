//! Moves large tool results into files in the store before a session is compacted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use ctx_cli::Result;
use ctx_engine::compact::{Content, Offloaded, Originals};
use ctx_engine::offload::{Reading, Template};
use ctx_engine::{Notes, PassError};
use ctx_format::Record;
use ctx_store::{RemovalReport, StoreError, StoreItem, real_path};

use super::{FileReport, SessionFile};
use crate::offload::{Offloader, Plan, Restorer};
use crate::store::{failure, unchanged};

/// A session whose large results have been moved into files. The files become durable just before
/// the session file is replaced.
pub(super) struct Offloading<'a> {
    left: Option<(Content, bool)>,
    originals: Option<StoredOriginals<'a>>,
    paths: Vec<String>,
    offloader: RefCell<Offloader<'a>>,
}

/// Replaces references to offloaded files with the results stored there.
struct StoredOriginals<'a> {
    reading: Reading,
    restorer: RefCell<Restorer<'a>>,
}

impl Originals for StoredOriginals<'_> {
    fn begin(&self) {
        self.restorer.borrow_mut().begin();
    }

    fn of(&self, record: &Record<'_>) -> Result<Option<Vec<u8>>, PassError> {
        self.reading.changed(record, &mut *self.restorer.borrow_mut())
    }

    fn unreadable(&self) -> BTreeMap<(u64, String), String> {
        let restorer = self.restorer.borrow();
        let missing = restorer.missing.iter();
        missing.map(|(at, why)| ((at.line, at.path.clone()), why.to_string())).collect()
    }
}

impl<'a> Offloading<'a> {
    /// Moves large results into files. Returns `None` if the policy requires no offloading.
    pub(super) fn of(
        file: &SessionFile<'a>,
        content: &Content,
        notes: &mut Notes,
    ) -> Result<Option<Self>, PassError> {
        let policy = &file.options.policy.offload;
        let Some(min_tokens) = policy.min_tokens else { return Ok(None) };
        let template: Template = policy.reference.parse().map_err(PassError::caller)?;
        let reading = Reading { dialect: Some(content.dialect), ..Reading::default() };
        let plan = Plan {
            min_tokens,
            enough_tokens: None,
            template: template.clone(),
            counter: file.environment.counter,
            dry_run: file.options.dry_run,
        };
        let of_store = |error| PassError::caller(failure(error));
        let mut offloader = Offloader::new(file.store, file.session, plan).map_err(of_store)?;
        let action = file.options.signed_reasoning;
        let change = |record: &Record<'_>| reading.changed(record, &mut offloader);
        let left = content.changed(action, notes, change)?;
        let is_enough = policy.enough_tokens.is_some_and(|enough| offloader.freed >= enough);
        let is_changed = !offloader.results.is_empty();
        let mut originals = None;
        if policy.restore_before_summary {
            let mut restorer =
                Restorer::new(file.store, file.session, template).map_err(of_store)?;
            // The results that were just moved are not yet recorded in the store.
            restorer.preview(&offloader.results);
            restorer.unavailable = Some(policy.unavailable.clone());
            originals = Some(StoredOriginals { reading, restorer: RefCell::new(restorer) });
        }
        Ok(Some(Self {
            left: is_changed.then_some((left, is_enough)),
            originals,
            paths: offloader.results.iter().map(|result| result.path.clone()).collect(),
            offloader: RefCell::new(offloader),
        }))
    }

    /// Returns what the compaction needs to know about the moved results.
    pub(super) fn offloaded(&self) -> Offloaded<'_> {
        Offloaded {
            left: self.left.as_ref().map(|(left, is_enough)| (left, *is_enough)),
            originals: self.originals.as_ref().map(|it| it as &dyn Originals),
            paths: &self.paths,
        }
    }

    /// Makes the files durable, and records which results they replace. Must be called before a
    /// session that refers to the files is written to `path`.
    pub(super) fn finish(&self, path: &Path) -> Result<()> {
        // `ctx-gc` will look for the session at its real path.
        let live = real_path(path).ok();
        self.offloader.borrow_mut().finish(&[live]).map_err(unchanged)
    }
}

impl SessionFile<'_> {
    /// Moves offloaded files into the trash if none of the session's transcripts refers to them.
    /// The summary covers the content of these files, and the snapshot contains the results
    /// themselves.
    pub(super) fn delete_unreferenced(
        &self,
        offloaded: Option<Offloaded<'_>>,
        done: &mut FileReport,
    ) {
        let paths = offloaded.map_or(&[][..], |it| it.paths);
        let is_read = |path: &&String| !done.report.unreadable.contains(path);
        let summarized: Vec<&String> = paths.iter().filter(is_read).collect();
        let deleted = self.discard(&summarized).unwrap_or_else(|error| RemovalReport {
            failed: vec![error],
            ..RemovalReport::default()
        });
        let names = deleted.items.into_iter().filter_map(|item| match item {
            StoreItem::Offloaded(file) => Some(file.name.to_string()),
            StoreItem::Snapshot(_) => None,
        });
        done.report.deleted_files = Some(names.collect());
        done.not_deleted = deleted.failed;
    }

    fn discard(&self, summarized: &[&String]) -> Result<RemovalReport, StoreError> {
        if summarized.is_empty() {
            return Ok(RemovalReport::default());
        }
        let now = self.store.now();
        let mut files = match self.store.unreferenced(self.session, now) {
            Err(StoreError::Unsearchable(_)) => return Ok(RemovalReport::default()),
            files => files?,
        };
        let folder = self.store.offload_folder(self.session)?;
        files.retain(|file| summarized.contains(&&folder.path_of(&file.name)));
        self.store.discard_offloaded(&files, now)
    }
}
