//! Removals: done under the store's lock and recorded in the audit log; when one thing
//! cannot be removed, the others still are.

use std::fmt;

use crate::files::let_others_in;
use crate::{Facts, OffloadedFile, Operation, SessionId, SnapshotId, Store, StoreError};

/// A thing that a store keeps and that can be removed from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreItem {
    /// A snapshot, or what is left of one.
    Snapshot(SnapshotId),
    /// An offloaded file.
    Offloaded(OffloadedFile),
}

impl StoreItem {
    /// The session that it belongs to.
    pub fn session(&self) -> &SessionId {
        match self {
            Self::Snapshot(id) => &id.session,
            Self::Offloaded(file) => &file.session,
        }
    }
}

impl fmt::Display for StoreItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => id.fmt(f),
            Self::Offloaded(file) => file.fmt(f),
        }
    }
}

/// How a removal ended.
#[derive(Debug, Default)]
pub struct RemovalReport {
    /// What is gone.
    pub items: Vec<StoreItem>,
    /// What could not be removed.
    pub failed: Vec<StoreError>,
    /// The audit log could not be written because the disk is full. Things are removed all
    /// the same: that makes room.
    pub unaudited: bool,
}

/// How many things are removed while the store is locked once.
const AT_A_TIME: usize = 500;

/// A removal, with its records in the audit log.
pub(crate) struct Removal<'a> {
    store: &'a Store,
    /// Set when everything of one session is removed.
    session: Option<&'a SessionId>,
    /// `None` when the disk is full.
    operation: Option<Operation>,
    removed: RemovalReport,
}

impl<'a> Removal<'a> {
    pub(crate) fn begin(
        store: &'a Store,
        op: &'static str,
        session: Option<&'a SessionId>,
        items: &[StoreItem],
    ) -> Result<Self, StoreError> {
        let operation = unless_full(store.begin(op, &facts(session, items)))?;
        Ok(Self {
            store,
            session,
            operation,
            removed: RemovalReport::default(),
        })
    }

    /// Removes one thing after the other; `remove` says what became of it, or nothing when it
    /// is spared. Other runs get the store in between: it is locked for some of them at a time.
    pub(crate) fn each<T>(
        &mut self,
        things: impl IntoIterator<Item = T>,
        mut remove: impl FnMut(T) -> Option<(StoreItem, Result<(), StoreError>)>,
    ) {
        let mut things = things.into_iter().peekable();
        while things.peek().is_some() {
            let locked = match self.store.lock() {
                Ok(locked) => locked,
                Err(error) => return self.fail(error),
            };
            for thing in things.by_ref().take(AT_A_TIME) {
                if let Some((item, removed)) = remove(thing) {
                    self.note(item, removed);
                }
            }
            drop(locked);
            if things.peek().is_some() {
                let_others_in();
            }
        }
    }

    /// Notes what became of one thing.
    pub(crate) fn note(&mut self, item: StoreItem, removed: Result<(), StoreError>) {
        match removed {
            Ok(()) => self.removed.items.push(item),
            Err(error) => self.fail(error),
        }
    }

    pub(crate) fn fail(&mut self, error: StoreError) {
        self.removed.failed.push(error);
    }

    /// What fails once all is removed is the removal's own failure. When something is not
    /// removed, to say that all is, but for this, would hide that.
    pub(crate) fn uncertain<T>(
        &mut self,
        result: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match result {
            Err(error) if !self.removed.failed.is_empty() => {
                // It is not done: something is still there.
                self.fail(match error {
                    StoreError::Uncertain { source, .. } => *source,
                    other => other,
                });
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    pub(crate) fn done(mut self) -> Result<RemovalReport, StoreError> {
        let facts = facts(self.session, &self.removed.items);
        let done = match &self.operation {
            Some(operation) => unless_full(self.store.done(operation, &facts)),
            None => Ok(None),
        };
        let done = self.uncertain(done)?;
        self.removed.unaudited = done.is_some_and(|done| done.is_none());
        Ok(self.removed)
    }
}

/// `None` when the disk is full.
fn unless_full<T>(written: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match written {
        Err(error) if error.is_disk_full() => Ok(None),
        other => other.map(Some),
    }
}

fn facts(session: Option<&SessionId>, items: &[StoreItem]) -> Facts {
    let snapshots = items.iter().filter_map(|item| match item {
        StoreItem::Snapshot(id) => Some(id.to_string()),
        StoreItem::Offloaded(_) => None,
    });
    Facts {
        session: session.map(ToString::to_string),
        snapshots: snapshots.collect(),
        count: Some(items.len() as u64),
        ..Facts::default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::Removal;
    use crate::StoreError;
    use crate::testing::Bench;

    /// C3: where something stays and the audit log fails as well, the removal is not said to be
    /// done.
    #[test]
    fn what_is_not_removed_is_told_although_the_audit_log_fails() {
        for stays in [true, false] {
            let bench = Bench::new();
            let mut removal = Removal::begin(&bench.store, "forget", None, &[]).expect("begins");
            if stays {
                removal.fail(StoreError::Busy("the store is locked".to_owned()));
            }
            let log = bench.store.audit_log();
            fs::remove_file(&log).expect("removed");
            fs::create_dir(Path::new(&log)).expect("made");
            match removal.done() {
                Ok(report) => assert_eq!((stays, report.failed.len()), (true, 2)),
                Err(error) => assert!(!stays, "{error}"),
            }
        }
    }
}
