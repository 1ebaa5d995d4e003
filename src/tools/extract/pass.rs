//! What goes to stdout: items, or the input as it came.

use ctx_cli::Failure;
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

    /// All is done: the last record goes out.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.passing && !self.closed {
            self.write_held()?;
        }
        match self.output.finish() {
            Err(failure) if self.passing && failure.is_silent() => Ok(()),
            other => other,
        }
    }

    /// A reader that went away ends the output, not the merge.
    fn write_held(&mut self) -> Result<(), Failure> {
        match self.output.write(&self.held) {
            Err(failure) if failure.is_silent() => {
                self.closed = true;
                Ok(())
            }
            other => other,
        }
    }
}
