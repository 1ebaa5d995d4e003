//! Writing of a tagged stream: the last record that can carry a tag says how many
//! records there are.

use std::io::Write;
use std::path::Path;

use ctx_format::{Splice, Spool, Tag};

use crate::PassError;

/// Writes records with their tags. The latest record that can carry a tag is held,
/// with what follows it, until another such record comes or the stream ends.
pub struct TaggedWriter<W> {
    output: W,
    held: Option<Held>,
    /// Records after `held` that can carry no tag.
    behind: Spool,
    behind_length: usize,
}

struct Held {
    bytes: Vec<u8>,
    splice: Splice,
    tag: Tag,
}

impl<W: Write> TaggedWriter<W> {
    /// Writes to `output` and keeps waiting records in `temp`.
    pub fn new(output: W, temp: &Path) -> Self {
        Self { output, held: None, behind: Spool::new(temp), behind_length: 0 }
    }

    /// Writes the next record: its bytes without a tag, and its tag with its position, unless it
    /// can carry none.
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

    /// Writes the rest, marks that the stream ends after `end` records, and gives the output
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ctx_format::{Options, Records, Tag};

    use super::TaggedWriter;

    fn write(input: &str, end: Option<u64>) -> String {
        let options = Options { raw: true, ..Options::default() };
        let mut records = Records::open(input.as_bytes(), &options).expect("from memory");
        let mut writer = TaggedWriter::new(Vec::new(), Path::new("/tmp"));
        while let Some(record) = records.next().expect("from memory") {
            // An end from before must not stay.
            let tag = Tag { line: Some(record.line), end: Some(99), ..Tag::default() };
            let tagged = record.splice().map(|splice| (splice, tag));
            writer.write(record.untagged().into_owned(), tagged).expect("to memory");
        }
        let written = writer.finish(end).expect("to memory");
        String::from_utf8(written).expect("text")
    }

    #[test]
    fn the_last_record_that_can_carry_a_tag_says_the_end() {
        let input = "broken\n{\"a\":1}\n\n{\"a\":2}\n[1]\n\n";
        assert_eq!(
            write(input, Some(6)),
            "broken\n{\"_ctx\":{\"line\":2},\"a\":1}\n\n{\"_ctx\":{\"line\":4,\"end\":6},\"a\":2}\n[1]\n\n"
        );
        assert!(!write(input, None).contains("end"));
    }

    #[test]
    fn a_stream_that_can_carry_no_tag_passes() {
        assert_eq!(write("broken\n\n", Some(2)), "broken\n\n");
        assert_eq!(write("", Some(0)), "");
    }
}
