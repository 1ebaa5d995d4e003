//! Removals: done under the store's lock and recorded in the audit log; when one thing
//! cannot be removed, the others still are.

use std::fmt;

use crate::lock::StoreLock;
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

/// A removal under the store's lock, with its records in the audit log.
pub(crate) struct Removal<'a> {
    locked: StoreLock<'a>,
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
        let mut locked = store.lock()?;
        let operation = unless_full(locked.begin(op, &facts(session, items)))?;
        Ok(Self {
            locked,
            session,
            operation,
            removed: RemovalReport::default(),
        })
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

    pub(crate) fn done(mut self) -> Result<RemovalReport, StoreError> {
        let facts = facts(self.session, &self.removed.items);
        let done = match &self.operation {
            Some(operation) => unless_full(self.locked.done(operation, &facts))?,
            None => None,
        };
        self.removed.unaudited = done.is_none();
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
