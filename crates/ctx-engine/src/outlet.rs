//! Writes records, and keeps their tags correct. The last tag in a stream contains an end marker
//! with the number of records, so the record with that tag is written only at the end.

use std::io::Write;
use std::path::Path;

use ctx_format::{Piece, Record, Splice, Spool, Tag};

use crate::{PassError, Result};

/// Writes the records that stay, changed or unchanged.
pub(crate) struct Outlet<W> {
    writer: TaggedWriter<W>,
    announced: Announced,
    came: u64,
    written: u64,
}

/// The number of records that a stream should have, according to its tags.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Announced {
    /// Whether the stream has any tags.
    pub(crate) is_tagged: bool,
    records: Option<u64>,
}

impl Announced {
    /// Reads the tag of the next record, if it has one.
    pub(crate) fn read(&mut self, tag: Option<&Tag>) {
        self.is_tagged |= tag.is_some();
        self.records = tag.and_then(|tag| tag.end).or(self.records);
    }
}

impl<W: Write> Outlet<W> {
    /// Creates an outlet that writes to `output`, with temporary files in the folder `temp`.
    /// `announced` holds the announcements in the tags read so far.
    pub(crate) fn new(output: W, announced: Announced, temp: &Path) -> Self {
        Self { writer: TaggedWriter::new(output, temp), announced, came: 0, written: 0 }
    }

    /// Counts a record that is left out of the output.
    pub(crate) fn skip(&mut self, piece: Piece) {
        self.came += u64::from(piece.begins());
    }

    /// Writes a record. `new` contains the record's new bytes, without a tag, if the record has
    /// changed. A record of which nothing is left is skipped.
    pub(crate) fn write(&mut self, record: &Record<'_>, new: Option<Vec<u8>>) -> Result<()> {
        let length = new.as_ref().map(Vec::len);
        if length == Some(0) {
            self.skip(record.piece);
            return Ok(());
        }
        let bytes = new.unwrap_or_else(|| record.untagged().into_owned());
        self.write_with(record, bytes, |tag| {
            let mut tag = tag?;
            if let Some(length) = length {
                // The size in the tag is that of the old bytes.
                tag.bytes = Some((length - record.line_end().len()) as u64);
                (tag.tokens, tag.encoding) = (None, None);
            }
            Some(tag)
        })
    }

    /// Writes a record with the bytes `untagged` and the tag that `retag` makes from the old tag.
    pub(crate) fn write_with(
        &mut self,
        record: &Record<'_>,
        untagged: Vec<u8>,
        retag: impl FnOnce(Option<Tag>) -> Option<Tag>,
    ) -> Result<()> {
        let begins = u64::from(record.piece.begins());
        self.came += begins;
        self.written += begins;
        let tag = record.tag();
        self.announced.read(tag.as_ref());
        self.writer.write(untagged, record.splice().zip(retag(tag)))
    }

    /// Writes lines that are not records of the input. The stream must not have tags.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<()> {
        self.writer.write(lines.to_owned(), None)
    }

    /// Writes the records that are still held, and returns the output. `left_out` is the number of
    /// input records that were not passed to the outlet. A tagged stream gets an end marker only if
    /// the input had a correct end marker. If the end marker is missing, the next tool in the
    /// pipeline can tell that an earlier tool has died.
    pub(crate) fn finish(self, left_out: u64) -> Result<W> {
        let Announced { is_tagged, records } = self.announced;
        let is_whole = !is_tagged || records == Some(self.came + left_out);
        self.writer.finish(is_whole.then_some(self.written))
    }
}

/// Writes records with their tags. The latest record that can carry a tag is held back, together
/// with the records after it, until the next such record or the end of the stream.
pub struct TaggedWriter<W> {
    output: W,
    held: Option<HeldRecord>,
    /// Records after `held` that cannot carry a tag.
    behind: Spool,
    behind_length: usize,
}

struct HeldRecord {
    bytes: Vec<u8>,
    splice: Splice,
    tag: Tag,
}

impl<W: Write> TaggedWriter<W> {
    /// Creates a writer that writes to `output`, with temporary files in the folder `temp`.
    pub fn new(output: W, temp: &Path) -> Self {
        Self { output, held: None, behind: Spool::new(temp), behind_length: 0 }
    }

    /// Writes the next record. `bytes` does not include the record's tag. `tag` is the tag and its
    /// position, or `None` if the record cannot carry a tag.
    pub fn write(&mut self, bytes: Vec<u8>, tag: Option<(Splice, Tag)>) -> Result<()> {
        if let Some((splice, tag)) = tag {
            self.release(None)?;
            self.held = Some(HeldRecord { bytes, splice, tag });
            return Ok(());
        }
        if self.held.is_none() {
            return self.output.write_all(&bytes).map_err(PassError::output);
        }
        self.behind_length += bytes.len();
        self.behind.push(&bytes).map_err(PassError::temporary)
    }

    /// Writes the records that are still held, with the end marker `end`, and returns the output.
    pub fn finish(mut self, end: Option<u64>) -> Result<W> {
        self.release(end)?;
        Ok(self.output)
    }

    /// Writes the held records. `end` is the end marker, which only the last tag in a stream has.
    fn release(&mut self, end: Option<u64>) -> Result<()> {
        let Some(mut held) = self.held.take() else { return Ok(()) };
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

    use ctx_format::{Options, Piece, Records};

    use super::{Announced, Outlet};

    /// Runs a pass over `input` that removes the records containing `drop` and changes those
    /// containing `old`, and returns the output.
    fn pass(input: &str, left_out: u64) -> String {
        let options = Options { raw: true, ..Options::default() };
        let mut records = Records::open(input.as_bytes(), &options).expect("from memory");
        let mut outlet = Outlet::new(Vec::new(), Announced::default(), Path::new("/tmp"));
        while let Some(record) = records.next().expect("from memory") {
            let text = String::from_utf8_lossy(&record.untagged()).into_owned();
            if text.contains("drop") {
                outlet.announced.read(record.tag().as_ref());
                outlet.skip(record.piece);
                continue;
            }
            let new = text.contains("old").then(|| text.replace("old", "newer"));
            let written = outlet.write(&record, new.map(String::into_bytes));
            written.expect("to memory");
        }
        let written = outlet.finish(left_out).expect("to memory");
        String::from_utf8(written).expect("text")
    }

    #[test]
    fn a_stream_without_tags_gets_none() {
        let input = "{\"a\":1}\nbroken\n\n{\"a\":\"drop\"}\n{\"a\":\"old\"}\n{\"half";
        let expected = "{\"a\":1}\nbroken\n\n{\"a\":\"newer\"}\n{\"half";
        assert_eq!(pass(input, 0), expected);
    }

    #[test]
    fn a_changed_record_has_another_size() {
        let input =
            "{\"_ctx\":{\"line\":7,\"bytes\":1,\"tokens\":5,\"encoding\":\"x\"},\"a\":\"old\"}\r\n";
        let expected = "{\"_ctx\":{\"line\":7,\"bytes\":13},\"a\":\"newer\"}\r\n";
        assert_eq!(pass(input, 0), expected);
        let unchanged = input.replace("old", "new");
        assert_eq!(pass(&unchanged, 0), unchanged);
    }

    #[test]
    fn the_end_counts_what_goes_on() {
        let end = |end: &str| format!("{{\"_ctx\":{{\"zone\":\"keep\"{end}}},\"a\":1}}\n");
        let before = "{\"_ctx\":{\"zone\":\"keep\"},\"drop\":1}\nbroken\n";
        let of = |announced: &str, left_out| pass(&(before.to_owned() + &end(announced)), left_out);
        assert_eq!(of(",\"end\":3", 0), "broken\n".to_owned() + &end(",\"end\":2"));
        assert_eq!(of(",\"end\":4", 1), "broken\n".to_owned() + &end(",\"end\":2"));
        // An incomplete stream stays incomplete.
        assert_eq!(of(",\"end\":4", 0), "broken\n".to_owned() + &end(""));
        assert_eq!(of("", 0), "broken\n".to_owned() + &end(""));
    }

    #[test]
    fn a_long_line_counts_once() {
        let mut outlet = Outlet::new(Vec::new(), Announced::default(), Path::new("/tmp"));
        for piece in [Piece::First, Piece::Middle, Piece::Last, Piece::Whole] {
            outlet.skip(piece);
        }
        assert_eq!(outlet.came, 2);
    }
}

#[cfg(test)]
mod tagged_tests {
    use std::path::Path;

    use ctx_format::{Options, Records, Tag};

    use super::TaggedWriter;

    fn write(input: &str, end: Option<u64>) -> String {
        let options = Options { raw: true, ..Options::default() };
        let mut records = Records::open(input.as_bytes(), &options).expect("from memory");
        let mut writer = TaggedWriter::new(Vec::new(), Path::new("/tmp"));
        while let Some(record) = records.next().expect("from memory") {
            // The end marker from the input must not be copied.
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
