//! The records of a session on their way through: the last ones wait while it is
//! not known whether they are protected, the others are changed and go out.

use std::collections::VecDeque;

use ctx_cli::Failure;
use ctx_transcript::{Line, Piece, Record};

use super::Done;
use super::change::{Change, Reading};
use crate::tagged::TaggedWriter;

pub(super) struct Stream<'c, 'a> {
    reading: Reading,
    change: &'c mut dyn Change,
    /// `None` in a dry run.
    writer: Option<TaggedWriter<'a>>,
    waiting: VecDeque<Waiting>,
    /// How many of `waiting` --protect-last counts.
    counted: u64,
    written: u64,
    /// Whether a tag came in, and the last `end` that did.
    tagged: bool,
    announced: Option<u64>,
}

struct Waiting {
    bytes: Vec<u8>,
    line: u64,
    offset: u64,
    piece: Piece,
    counts: bool,
}

impl<'c, 'a> Stream<'c, 'a> {
    pub(super) fn new(
        reading: Reading,
        change: &'c mut dyn Change,
        writer: Option<TaggedWriter<'a>>,
    ) -> Self {
        Self {
            reading,
            change,
            writer,
            waiting: VecDeque::new(),
            counted: 0,
            written: 0,
            tagged: false,
            announced: None,
        }
    }

    /// The next record.
    pub(super) fn take(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        if self.reading.batch || self.reading.protect_last == 0 {
            return self.give(record, true);
        }
        let counts = self.reading.counts(record);
        self.counted += u64::from(counts);
        self.waiting.push_back(Waiting {
            bytes: record.bytes.to_vec(),
            line: record.line,
            offset: record.offset,
            piece: record.piece,
            counts,
        });
        while self.counted > self.reading.protect_last {
            self.release(true)?;
        }
        Ok(())
    }

    /// The last records go out as they came. Returns the writer, which has not
    /// finished yet, and what it is to be told: how many records there are.
    pub(super) fn finish(mut self, dropped: u64) -> Result<Done<'a>, Failure> {
        while !self.waiting.is_empty() {
            self.release(false)?;
        }
        // A stream that came with tags keeps its end, or the lack of it: if the
        // tool before died, the one after must see that.
        let whole = self.tagged && self.announced == Some(self.written + dropped);
        let end = whole.then_some(self.written);
        Ok(self.writer.map(|writer| (writer, end)))
    }

    fn release(&mut self, change: bool) -> Result<(), Failure> {
        let Some(first) = self.waiting.pop_front() else {
            return Ok(());
        };
        self.counted -= u64::from(first.counts);
        let line = Line {
            bytes: &first.bytes,
            number: first.line,
            offset: first.offset,
            piece: first.piece,
        };
        self.give(&Record::classify(line), change)
    }

    fn give(&mut self, record: &Record<'_>, change: bool) -> Result<(), Failure> {
        let changed = if change {
            self.reading.changed(record, self.change)?
        } else {
            None
        };
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        self.written += u64::from(matches!(record.piece, Piece::Whole | Piece::First));
        let Some((splice, mut tag)) = record.splice().zip(record.tag()) else {
            return writer.write(changed.unwrap_or_else(|| record.bytes.to_vec()), None);
        };
        self.tagged = true;
        self.announced = tag.end.or(self.announced);
        let is_changed = changed.is_some();
        let bytes = changed.unwrap_or_else(|| record.untagged().into_owned());
        if is_changed {
            let length = (bytes.len() - record.line_end().len()) as u64;
            tag.bytes = tag.bytes.map(|_| length);
            tag.tokens = None;
            tag.encoding = None;
        }
        writer.write(bytes, Some((splice, tag)))
    }
}
