//! A pass that changes results. The last records wait, since they may be protected; the others
//! are changed and go on.

use std::collections::VecDeque;
use std::path::Path;

use ctx_format::{Origin, Record, Spool};

use super::change::{Change, Reading};
use crate::bound::BoundReasoning;
use crate::outlet::{Announced, Outlet};
use crate::{ErrorKind, Notes, PassError};

/// Changes the results of a session. The new session waits in a spool, so that nothing of it
/// leaves before the files that it names are durable.
pub struct ChangePass<C> {
    reading: Reading,
    change: C,
    bound: BoundReasoning,
    /// `None` when nothing will be written.
    outlet: Option<Outlet<Spool>>,
    waiting: VecDeque<Waiting>,
    /// How many of `waiting` are replies, which `protect_last` counts.
    replies: u64,
}

struct Waiting {
    bytes: Vec<u8>,
    origin: Origin,
    is_reply: bool,
}

impl<C: Change> ChangePass<C> {
    /// A pass whose output waits in the folder `temp`; without a folder there is no output.
    pub fn new(reading: Reading, change: C, temp: Option<&Path>) -> Self {
        Self {
            reading,
            change,
            bound: BoundReasoning::default(),
            outlet: temp.map(|temp| Outlet::new(Spool::new(temp), Announced::default(), temp)),
            waiting: VecDeque::new(),
            replies: 0,
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        if self.reading.dialect.is_none() && record.whole_object().is_some() {
            return Err(ErrorKind::UnknownFormat("changed").at(record.line));
        }
        if self.reading.batch || self.reading.protect_last == 0 {
            return self.give(record, true);
        }
        let is_reply = self.reading.is_reply(record);
        self.replies += u64::from(is_reply);
        self.waiting.push_back(Waiting {
            bytes: record.bytes.to_vec(),
            origin: record.origin(),
            is_reply,
        });
        while self.is_first_free() {
            self.release(true)?;
        }
        Ok(())
    }

    /// Passes the last records on unchanged, and returns the change and the new session. `left_out`
    /// is the number of input records that were not pushed.
    pub fn finish(
        mut self,
        left_out: u64,
        notes: &mut Notes,
    ) -> Result<(C, Option<Spool>), PassError> {
        while !self.waiting.is_empty() {
            self.release(false)?;
        }
        self.bound.warn(notes);
        let spool = self.outlet.map(|outlet| outlet.finish(left_out));
        Ok((self.change, spool.transpose().map_err(cannot_wait)?))
    }

    /// Whether the first record that waits comes before the protected replies.
    fn is_first_free(&self) -> bool {
        let first = self.waiting.front();
        let is_between = first.is_some_and(|first| !first.is_reply);
        let protected = self.reading.protect_last;
        self.replies > protected || (self.replies == protected && is_between)
    }

    fn release(&mut self, may_change: bool) -> Result<(), PassError> {
        let Some(first) = self.waiting.pop_front() else {
            return Ok(());
        };
        self.replies -= u64::from(first.is_reply);
        self.give(&first.origin.record(&first.bytes), may_change)
    }

    fn give(&mut self, record: &Record<'_>, may_change: bool) -> Result<(), PassError> {
        let new = if may_change { self.reading.changed(record, &mut self.change)? } else { None };
        if let Some(dialect) = self.reading.dialect {
            self.bound.write(record, new.as_deref(), dialect, new.is_some());
        }
        match &mut self.outlet {
            Some(outlet) => outlet.write(record, new).map_err(cannot_wait),
            None => Ok(()),
        }
    }
}

/// The output is a temporary file here.
fn cannot_wait(error: PassError) -> PassError {
    match error.kind {
        ErrorKind::Output(error) => PassError::temporary(error),
        _ => error,
    }
}
