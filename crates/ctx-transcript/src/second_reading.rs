//! A session that was read once already, to know which of its records are in the context.

use std::collections::VecDeque;
use std::io;

use crate::view::ViewBuilder;
use crate::{Origin, Record, Spool};

/// Records that wait in a spool, with their presence in the context.
pub(crate) struct SecondReading {
    spool: Spool,
    /// Each record with its length.
    waiting: VecDeque<(Origin, usize)>,
    /// The bytes of the record that was handed out last.
    bytes: Vec<u8>,
}

impl SecondReading {
    /// Nothing read yet; the records will wait in `spool`.
    pub(crate) fn new(spool: Spool) -> Self {
        Self {
            spool,
            waiting: VecDeque::new(),
            bytes: Vec::new(),
        }
    }

    /// The next record of the first reading.
    pub(crate) fn push(
        &mut self,
        record: &Record<'_>,
        view: &mut dyn ViewBuilder,
    ) -> io::Result<()> {
        self.spool.push(record.bytes)?;
        // A line that is too long comes in pieces, and is one record.
        if record.piece.begins() {
            view.push(record.whole_object());
        }
        let length = record.bytes.len();
        self.waiting.push_back((record.origin(), length));
        Ok(())
    }

    /// Nothing more comes: the view says which records are in the context.
    pub(crate) fn finish(mut self, view: Box<dyn ViewBuilder>) -> Self {
        let view = view.finish();
        let mut records = 0;
        for (origin, _) in &mut self.waiting {
            records += usize::from(origin.piece.begins());
            origin.presence = Some(view.of(records - 1));
        }
        self
    }

    /// The next record of the second reading.
    pub(crate) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        let Some((origin, length)) = self.waiting.pop_front() else {
            return Ok(None);
        };
        self.bytes.clear();
        self.spool.pop_to(length, &mut self.bytes)?;
        Ok(Some(origin.record(&self.bytes)))
    }
}
