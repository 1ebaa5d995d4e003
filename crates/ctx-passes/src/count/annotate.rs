//! The records pass, each with its bytes and tokens in its tag.

use std::io::Write;
use std::path::Path;

use ctx_transcript::{Dialect, Piece, Record};

use super::{CountPass, Counts, Plan};
use crate::{BadLines, PassError, TaggedWriter};

/// Writes each record with its size in its tag.
pub struct AnnotatePass<W> {
    count: CountPass,
    writer: TaggedWriter<W>,
    encoding: &'static str,
    written: u64,
    /// Whether a tag came in, and the last `end` that did.
    tagged: bool,
    announced: Option<u64>,
}

impl<W: Write> AnnotatePass<W> {
    /// A pass that writes to `output`; what has to wait lies in `temp`.
    pub fn new(plan: &Plan, dialect: Option<&'static dyn Dialect>, output: W, temp: &Path) -> Self {
        Self {
            count: CountPass::new(
                &Plan {
                    threads: 1,
                    ..*plan
                },
                dialect,
            ),
            writer: TaggedWriter::new(output, temp),
            encoding: plan.counter.encoding().name(),
            written: 0,
            tagged: false,
            announced: None,
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let tokens = self.count.count(record);
        self.written += u64::from(matches!(record.piece, Piece::Whole | Piece::First));
        let untagged = record.untagged().into_owned();
        let Some(splice) = record.splice() else {
            return self.writer.write(untagged, None);
        };
        let came = record.tag();
        self.tagged |= came.is_some();
        let mut tag = came.unwrap_or_default();
        self.announced = tag.end.or(self.announced);
        tag.line = tag.line.or(Some(record.line));
        tag.bytes = Some((untagged.len() - record.line_end().len()) as u64);
        tag.tokens = Some(tokens);
        tag.encoding = Some(self.encoding.to_owned());
        self.writer.write(untagged, Some((splice, tag)))
    }

    /// Writes the rest; the output comes back. A stream that came with tags keeps its
    /// end, or the lack of it: if the tool before died, the one after must see that.
    pub fn finish(self, bad: &BadLines) -> Result<(W, Counts), PassError> {
        let whole = !self.tagged || self.announced == Some(self.written + bad.left_out());
        let output = self.writer.finish(whole.then_some(self.written))?;
        Ok((output, self.count.finish(bad)))
    }
}
