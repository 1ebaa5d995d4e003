//! Removals: under the store's lock, told to the audit log, and as far as they go.

use std::fmt;

use crate::lock::Locked;
use crate::{Facts, Offloaded, Operation, SessionId, SnapshotId, Store, StoreError};

/// A thing that a store keeps and that can be removed from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A snapshot, or what is left of one.
    Snapshot(SnapshotId),
    /// An offloaded file.
    Offloaded(Offloaded),
}

impl Item {
    /// Whose.
    pub fn session(&self) -> &SessionId {
        match self {
            Self::Snapshot(id) => &id.session,
            Self::Offloaded(file) => &file.session,
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => id.fmt(f),
            Self::Offloaded(file) => file.fmt(f),
        }
    }
}

/// How a removal ended.
#[derive(Debug, Default)]
pub struct Removed {
    /// What is gone.
    pub items: Vec<Item>,
    /// What could not be removed.
    pub failed: Vec<StoreError>,
    /// The audit log could not be written because the disk is full; a full disk
    /// must not keep us from making room.
    pub unaudited: bool,
}

/// A removal under the store's lock, with its records in the audit log.
pub(crate) struct Removal<'a> {
    locked: Locked<'a>,
    /// When all of one session is removed.
    session: Option<&'a SessionId>,
    /// `None` when the disk is full.
    operation: Option<Operation>,
    removed: Removed,
}

impl<'a> Removal<'a> {
    pub(crate) fn begin(
        store: &'a Store,
        op: &'static str,
        session: Option<&'a SessionId>,
        items: &[Item],
    ) -> Result<Self, StoreError> {
        let mut locked = store.lock()?;
        let operation = match locked.begin(op, &facts(session, items)) {
            Err(error) if error.is_disk_full() => None,
            other => Some(other?),
        };
        Ok(Self {
            locked,
            session,
            operation,
            removed: Removed::default(),
        })
    }

    /// What became of one thing; one failure does not stop the others.
    pub(crate) fn note(&mut self, item: Item, removed: Result<(), StoreError>) {
        match removed {
            Ok(()) => self.removed.items.push(item),
            Err(error) => self.fail(error),
        }
    }

    pub(crate) fn fail(&mut self, error: StoreError) {
        self.removed.failed.push(error);
    }

    pub(crate) fn done(mut self) -> Result<Removed, StoreError> {
        let facts = facts(self.session, &self.removed.items);
        self.removed.unaudited = match &self.operation {
            None => true,
            Some(operation) => match self.locked.done(operation, &facts) {
                Err(error) if error.is_disk_full() => true,
                other => {
                    other?;
                    false
                }
            },
        };
        Ok(self.removed)
    }
}

fn facts(session: Option<&SessionId>, items: &[Item]) -> Facts {
    let snapshots = items.iter().filter_map(|item| match item {
        Item::Snapshot(id) => Some(id.to_string()),
        Item::Offloaded(_) => None,
    });
    Facts {
        session: session.map(ToString::to_string),
        snapshots: snapshots.collect(),
        count: Some(items.len() as u64),
        ..Facts::default()
    }
}
