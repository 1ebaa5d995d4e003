//! Holds records back until it has been decided which of them stay. The records' bytes are in a
//! spool, so only the positions need to be in memory.

use std::path::Path;
use std::sync::Arc;

use ctx_format::{Origin, Piece, Presences, Record, Spool};

use crate::message_counter::saturating_u32;
use crate::{PassError, Result};

/// A list of records with 0-based indexes.
pub(crate) struct WaitingRecords {
    records: Vec<WaitingRecord>,
    pub(crate) presences: Presences,
    /// The model that will continue the session, if the caller or the document names one.
    model: Option<Arc<str>>,
    spool: Spool,
}

/// The position of a record, or of a piece of a line that is too long.
struct WaitingRecord {
    /// Where the record's bytes end in the spool.
    end: u64,
    line: u32,
    piece: Piece,
}

impl WaitingRecords {
    /// Creates an empty list. If the bytes do not fit into memory, they are stored in a file in the
    /// folder `temp`.
    pub(crate) fn new(temp: &Path) -> Self {
        Self {
            records: Vec::new(),
            presences: Presences::default(),
            model: None,
            spool: Spool::new(temp),
        }
    }

    /// Appends the next record to the list. `bytes` holds the bytes to store, and may be empty if
    /// they will not be read.
    pub(crate) fn push(&mut self, record: &Record<'_>, bytes: &[u8]) -> Result<()> {
        self.records.push(WaitingRecord {
            end: self.start(self.len()) + bytes.len() as u64,
            line: saturating_u32(record.line),
            piece: record.piece,
        });
        self.presences.push(record);
        self.model.clone_from(&record.model);
        self.spool.push(bytes).map_err(PassError::temporary)
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn line(&self, index: usize) -> u64 {
        self.records[index].line.into()
    }

    pub(crate) fn piece(&self, index: usize) -> Piece {
        self.records[index].piece
    }

    /// Returns the stored bytes of a record.
    pub(crate) fn bytes(&mut self, index: usize) -> Result<Vec<u8>> {
        let (start, end) = (self.start(index), self.records[index].end);
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(place(end - start));
        let copied = self.spool.copy_to(place(start), place(end - start), &mut bytes);
        copied.map_err(PassError::temporary)?;
        Ok(bytes)
    }

    /// Returns a record with the given bytes, which may differ from the stored bytes.
    pub(crate) fn record<'b>(&self, index: usize, bytes: &'b [u8]) -> Record<'b> {
        let origin = Origin {
            line: self.line(index),
            offset: self.start(index),
            piece: self.piece(index),
            presence: self.presences.of(index),
            portion: self.presences.portion(index),
            model: self.model.clone(),
        };
        origin.record(bytes)
    }

    fn start(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(0, |before| self.records[before].end)
    }
}
