//! Writing of a tagged stream to where the flags say.

use ctx_cli::Failure;
use ctx_passes::PassError;
use ctx_transcript::{EarlyEnd, Splice, Tag};

use crate::output::Output;
pub use crate::output::cannot_spool;
use crate::passes;

/// A writer of tagged records.
pub struct TaggedWriter<'a>(ctx_passes::TaggedWriter<Output<'a>>);

impl<'a> TaggedWriter<'a> {
    /// A writer to `output`.
    pub fn new(output: Output<'a>) -> Self {
        Self(ctx_passes::TaggedWriter::new(output, &std::env::temp_dir()))
    }

    /// The next record; see [`ctx_passes::TaggedWriter::write`].
    pub fn write(&mut self, bytes: Vec<u8>, tag: Option<(Splice, Tag)>) -> Result<(), Failure> {
        self.0.write(bytes, tag).map_err(failure)
    }

    /// Writes the rest, and that the stream ends after `end` records.
    pub fn finish(self, end: Option<u64>) -> Result<(), Failure> {
        self.0.finish(end).map_err(failure)?.finish()
    }
}

fn failure(error: PassError) -> Failure {
    passes::failure(error, "")
}

/// A stream that ended before its announced end.
pub fn ended_early(error: EarlyEnd, name: &str) -> Failure {
    passes::failure(ctx_passes::ErrorKind::EarlyEnd(error).into(), name)
}
