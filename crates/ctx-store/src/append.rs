//! Lines behind those of a session file: the old ones stay where they are, byte for byte, and
//! agents that read the file by its name find it where it was.
//!
//! The steps: the file is claimed as for a replacement; its bytes become a snapshot, which says
//! what the file is to be; the lines are noted in the store; one write puts them behind a file
//! that is exactly as it was read. A write that did not get to its end is cut back, by this run
//! or the next one: see [`crate::unfinished`].

use std::convert::Infallible;

use sha2::Digest;

use crate::error::{Severity, StoreError};
use crate::live::Live;
use crate::replace::{not_saved, save};
use crate::tail::Tail;
use crate::{
    Facts, Figures, ReplaceOutcome, Replacement, Snapshot, SnapshotKind, Store, Successor, hex,
};

/// What is to stand behind the lines of a session file.
pub struct Addition<'a> {
    /// Whole lines.
    pub lines: &'a [u8],
    /// What the audit log calls the operation: `compact`.
    pub operation: &'static str,
    /// The kind of the snapshot that is taken of what was there.
    pub kind: SnapshotKind,
    /// What the audit log tells of the change.
    pub figures: Figures,
}

impl Replacement<'_> {
    /// Makes the bytes of the file a snapshot, then puts lines behind them, if the file is exactly
    /// as it was read. When that does not come about, no snapshot is left.
    pub fn append(self, addition: Addition<'_>) -> Result<ReplaceOutcome, StoreError> {
        let Ok(done) = self.append_after(addition, || Ok::<(), Infallible>(()))?;
        Ok(done)
    }

    /// The same, with the `first` of [`Replacement::commit_after`].
    pub fn append_after<E>(
        mut self,
        addition: Addition<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>, StoreError> {
        if addition.lines.is_empty() {
            return Ok(first().map(|()| ReplaceOutcome::Same));
        }
        let bytes = self.behind(addition.lines);
        let mut hasher = self.draft.hasher();
        hasher.update(&bytes);
        self.draft.replaced_by = Some(Successor {
            bytes: self.draft.bytes() + bytes.len() as u64,
            sha256: hex(&hasher.finalize()),
        });
        self.draft.stays_in_place = true;
        let Self {
            store,
            session,
            lock: _lock,
            live,
            draft,
            ..
        } = self;
        let saved = save(store, &session, draft, addition.kind);
        let before = saved.map_err(|error| not_saved(&live.path, error))?;
        if let Err(error) = first() {
            store.settle(&before);
            return Ok(Err(error));
        }
        let done = add(store, &before, live, &bytes, addition);
        store.end(before, done.map(|()| (0, None))).map(Ok)
    }

    /// The lines as they are written: each one ends, and a line that was not ended is no part of
    /// the first one.
    fn behind(&self, lines: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(lines.len() + 2);
        if self.draft.has_tail() {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lines);
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes
    }
}

/// Writes the lines, between two records of the audit log.
fn add(
    store: &Store,
    before: &Snapshot,
    live: Live,
    bytes: &[u8],
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    let new = before.meta.replaced_by.as_ref();
    let mut facts = Facts {
        snapshots: vec![before.id.to_string()],
        sha256_before: Some(before.meta.sha256.clone()),
        sha256: new.map(|new| new.sha256.clone()),
        bytes: new.map(|new| new.bytes),
        added_bytes: Some(bytes.len() as u64),
        ..Facts::of(&before.id.session)
    };
    let note = store.note_addition(before, &live, bytes)?;
    let written = || {
        let operation = store.begin(addition.operation, &facts)?;
        #[cfg(test)]
        crate::moments::moment();
        Tail::open(live)?.append(bytes)?;
        #[cfg(test)]
        crate::moments::moment();
        facts.figures = addition.figures;
        store.done(&operation, &facts)
    };
    let done = written();
    // Where it is not known what stands in the file, the next run looks.
    if !matches!(&done, Err(error) if error.severity() == Severity::Uncertain) {
        note.remove();
    }
    done
}
