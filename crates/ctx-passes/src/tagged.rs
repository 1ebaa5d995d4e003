//! Writing of a tagged stream: the last record that can carry a tag says how many
//! records there are.

use std::io::Write;
use std::path::Path;

use ctx_transcript::{Splice, Spool, Tag};

use crate::PassError;

/// Writes records with their tags. The latest record that can carry a tag is held,
/// with what follows it, until another such record comes or the stream ends.
pub struct TaggedWriter<W> {
    output: W,
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

impl<W: Write> TaggedWriter<W> {
    /// A writer to `output`; what has to wait lies in `temp`.
    pub fn new(output: W, temp: &Path) -> Self {
        Self {
            output,
            held: None,
            behind: Spool::new(temp),
            behind_length: 0,
        }
    }

    /// The bytes of the next record without any tag, and its tag and the place for
    /// it; `None` for a record that can carry none.
    pub fn write(&mut self, bytes: Vec<u8>, tag: Option<(Splice, Tag)>) -> Result<(), PassError> {
        if let Some((splice, tag)) = tag {
            self.release(None)?;
            self.held = Some(Held { bytes, splice, tag });
            return Ok(());
        }
        if self.held.is_none() {
            return self.output.write_all(&bytes).map_err(PassError::output);
        }
        self.behind_length += bytes.len();
        self.behind.push(&bytes).map_err(PassError::temporary)
    }

    /// Writes the rest, and that the stream ends after `end` records; the output comes
    /// back.
    pub fn finish(mut self, end: Option<u64>) -> Result<W, PassError> {
        self.release(end)?;
        Ok(self.output)
    }

    /// Writes what is held; only the last record of a stream has an end.
    fn release(&mut self, end: Option<u64>) -> Result<(), PassError> {
        let Some(mut held) = self.held.take() else {
            return Ok(());
        };
        held.tag.end = end;
        let length = std::mem::take(&mut self.behind_length);
        let Self { behind, output, .. } = self;
        held.splice
            .write(&held.bytes, &held.tag, output)
            .and_then(|()| behind.pop_to(length, output))
            .map_err(PassError::output)
    }
}
