//! Removals: under the store's lock, told to the audit log, and as far as they go.

use crate::lock::Locked;
use crate::{Facts, Offloaded, Operation, SessionId, SnapshotId, Store, StoreError};

/// How a removal ended.
#[derive(Debug, Default)]
pub struct Removed {
    /// What is gone.
    pub snapshots: Vec<SnapshotId>,
    /// Offloaded files that are gone.
    pub offloaded: Vec<Offloaded>,
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
    session: Option<String>,
    /// `None` when the disk is full.
    operation: Option<Operation>,
    removed: Removed,
}

impl<'a> Removal<'a> {
    pub(crate) fn begin(
        store: &'a Store,
        op: &'static str,
        session: Option<&SessionId>,
        ids: &[SnapshotId],
        offloaded: usize,
    ) -> Result<Self, StoreError> {
        let mut locked = store.lock()?;
        let session = session.map(ToString::to_string);
        let operation = match locked.begin(op, &facts(session.clone(), ids, offloaded)) {
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

    /// One failure does not stop the others.
    pub(crate) fn note(&mut self, id: SnapshotId, removed: Result<(), StoreError>) {
        match removed {
            Ok(()) => self.removed.snapshots.push(id),
            Err(error) => self.fail(error),
        }
    }

    pub(crate) fn note_offloaded(&mut self, file: Offloaded, removed: Result<(), StoreError>) {
        match removed {
            Ok(()) => self.removed.offloaded.push(file),
            Err(error) => self.fail(error),
        }
    }

    pub(crate) fn fail(&mut self, error: StoreError) {
        self.removed.failed.push(error);
    }

    pub(crate) fn done(mut self) -> Result<Removed, StoreError> {
        let Removed {
            snapshots,
            offloaded,
            ..
        } = &self.removed;
        let facts = facts(self.session.take(), snapshots, offloaded.len());
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

fn facts(session: Option<String>, ids: &[SnapshotId], offloaded: usize) -> Facts {
    Facts {
        session,
        snapshots: ids.iter().map(ToString::to_string).collect(),
        count: Some((ids.len() + offloaded) as u64),
        ..Facts::default()
    }
}
