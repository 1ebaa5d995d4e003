//! What goes to stdout: items, or the input as it came.

use ctx_cli::{ExitStatus, Failure};
use ctx_memory::Item;

use crate::output::Output;

/// Writes items, or passes records on. The last record is held back until
/// [`Pass::finish`]: without it a later tool sees that something failed here.
pub(super) struct Pass<'a> {
    output: Output<'a>,
    passing: bool,
    held: Vec<u8>,
    closed: bool,
}

impl<'a> Pass<'a> {
    pub(super) fn new(output: Output<'a>, passing: bool) -> Self {
        Self {
            output,
            passing,
            held: Vec::new(),
            closed: false,
        }
    }

    /// The next record of the input.
    pub(super) fn record(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.passing || self.closed {
            return Ok(());
        }
        self.write_held()?;
        self.held.clear();
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// One item, as a JSON line.
    pub(super) fn item(&mut self, item: &Item) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(item).map_err(Failure::new)?;
        line.push(b'\n');
        self.output.write(&line)
    }

    /// Hands on all but the last record: an output that fails is seen before
    /// anything is merged.
    pub(super) fn before_merge(&mut self) -> Result<(), Failure> {
        if !self.passing || self.closed {
            return Ok(());
        }
        let flushed = self.output.with(|out| out.flush());
        self.unless_closed(flushed)
    }

    /// All is done: the last record goes out.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if !self.passing {
            return self.output.finish();
        }
        if self.closed {
            return Ok(());
        }
        let done = self.write_held().and_then(|()| self.output.finish());
        match done {
            Err(failure) if !failure.is_silent() => Err(failure
                .status(ExitStatus::Uncertain)
                .hint("the items are merged")),
            _ => Ok(()),
        }
    }

    fn write_held(&mut self) -> Result<(), Failure> {
        let written = self.output.write(&self.held);
        self.unless_closed(written)
    }

    /// A reader that went away ends the output, not the merge.
    fn unless_closed(&mut self, written: Result<(), Failure>) -> Result<(), Failure> {
        match written {
            Err(failure) if failure.is_silent() => {
                self.closed = true;
                Ok(())
            }
            other => other,
        }
    }
}
