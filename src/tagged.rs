//! Writing of a tagged stream: the last record that can carry a tag says how many
//! records there are.

use ctx_cli::Failure;
use ctx_transcript::{EarlyEnd, Splice, Spool, Tag};

use crate::output::Output;
pub use crate::output::cannot_spool;

/// Writes records with their tags. The latest record that can carry a tag is held,
/// with what follows it, until another such record comes or the stream ends.
pub struct TaggedWriter<'a> {
    output: Output<'a>,
    held: Option<Held>,
    /// What follows `held` and can carry no tag.
    behind: Spool,
    behind_length: usize,
}

struct Held {
    bytes: Vec<u8>,
    splice: Splice,
    tag: Tag,
}

impl<'a> TaggedWriter<'a> {
    /// A writer to `output`.
    pub fn new(output: Output<'a>) -> Self {
        Self {
            output,
            held: None,
            behind: Spool::new(std::env::temp_dir()),
            behind_length: 0,
        }
    }

    /// The bytes of the next record without any tag, and its tag and the place for
    /// it; `None` for a record that can carry none.
    pub fn write(&mut self, bytes: Vec<u8>, tag: Option<(Splice, Tag)>) -> Result<(), Failure> {
        if let Some((splice, tag)) = tag {
            self.release(None)?;
            self.held = Some(Held { bytes, splice, tag });
            return Ok(());
        }
        if self.held.is_none() {
            return self.output.write(&bytes);
        }
        self.behind_length += bytes.len();
        self.behind
            .push(&bytes)
            .map_err(|error| cannot_spool(&error))
    }

    /// Writes the rest, and that the stream ends after `end` records.
    pub fn finish(mut self, end: Option<u64>) -> Result<(), Failure> {
        self.release(end)?;
        self.output.finish()
    }

    /// Writes what is held; only the last record of a stream has an end.
    fn release(&mut self, end: Option<u64>) -> Result<(), Failure> {
        let Some(mut held) = self.held.take() else {
            return Ok(());
        };
        held.tag.end = end;
        let length = std::mem::take(&mut self.behind_length);
        let Self { behind, output, .. } = self;
        output.with(|out| {
            held.splice.write(&held.bytes, &held.tag, out)?;
            behind.pop_to(length, out)
        })
    }
}

/// A stream that ended before its announced end.
pub fn ended_early(error: EarlyEnd, name: &str) -> Failure {
    Failure::new(error)
        .at(name, None)
        .hint("is the stage before this one all right? --partial takes what came")
}
