//! Holds records until their zones are known, and writes them with their tags.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;

use crate::zones::{Reason, Verdict};
use ctx_format::{Splice, Spool, Tag, Zone};

use crate::{PassError, TaggedWriter};

/// A record in waiting: its bytes are in the spool.
pub(super) struct Item {
    pub(super) length: usize,
    pub(super) splice: Option<Splice>,
    pub(super) tag: Tag,
}

/// Takes records and verdicts in order; writes tagged records.
pub(super) struct Sink<W> {
    writer: TaggedWriter<W>,
    only: Option<Zone>,
    waiting: VecDeque<Item>,
    spool: Spool,
    counts: ZoneCounts,
}

/// How many records were written, by zone.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZoneCounts {
    /// System messages.
    pub system: u64,
    /// Records to summarize.
    pub old: u64,
    /// Records to keep.
    pub keep: u64,
    /// Number of the first record that is kept, from 0.
    pub first_keep: Option<u64>,
}

/// Bytes of a long line that are in memory at once.
const CHUNK: usize = 1 << 20;

impl<W: Write> Sink<W> {
    pub(super) fn new(output: W, only: Option<Zone>, temp: &Path) -> Self {
        Self {
            writer: TaggedWriter::new(output, temp),
            only,
            waiting: VecDeque::new(),
            spool: Spool::new(temp),
            counts: ZoneCounts::default(),
        }
    }

    /// Bytes of the next record.
    pub(super) fn spool(&mut self, bytes: &[u8]) -> Result<(), PassError> {
        self.spool.push(bytes).map_err(PassError::temporary)
    }

    /// All bytes of a record are in the spool.
    pub(super) fn expect(&mut self, item: Item) {
        self.waiting.push_back(item);
    }

    /// The verdict on the record that waits longest.
    pub(super) fn decided(&mut self, verdict: &Verdict) -> Result<(), PassError> {
        let Some(mut item) = self.waiting.pop_front() else {
            return Ok(());
        };
        if self.only.is_some_and(|only| only != verdict.zone) {
            let skipped = self.spool.pop_to(item.length, &mut io::sink());
            return skipped.map_err(PassError::temporary);
        }
        self.counts.add(verdict.zone);
        item.tag.zone = Some(verdict.zone);
        item.tag.group = verdict.exchange;
        if verdict.reason == Reason::LatestUser {
            item.tag.pin = Some("latest-user".to_owned());
        }
        self.write(item)
    }

    /// A record that is tagged unchanged: a batch record.
    pub(super) fn tagged(
        &mut self,
        bytes: &[u8],
        splice: Option<Splice>,
        tag: Tag,
    ) -> Result<(), PassError> {
        self.counts.keep += 1;
        self.spool(bytes)?;
        self.write(Item { length: bytes.len(), splice, tag })
    }

    fn write(&mut self, item: Item) -> Result<(), PassError> {
        if let Some(splice) = item.splice {
            let bytes = self.pop(item.length)?;
            return self.writer.write(bytes, Some((splice, item.tag)));
        }
        // A line that is too long to be parsed is too long to be held in memory.
        let mut left = item.length;
        while left > 0 {
            let bytes = self.pop(left.min(CHUNK))?;
            left -= bytes.len();
            self.writer.write(bytes, None)?;
        }
        Ok(())
    }

    fn pop(&mut self, length: usize) -> Result<Vec<u8>, PassError> {
        self.spool.pop(length).map_err(PassError::temporary)
    }

    /// Marks the end, writes the rest, and gives the output back.
    pub(super) fn finish(self) -> Result<(W, ZoneCounts), PassError> {
        let output = self.writer.finish(Some(self.counts.all()))?;
        Ok((output, self.counts))
    }
}

impl ZoneCounts {
    pub(crate) fn add(&mut self, zone: Zone) {
        match zone {
            Zone::System => self.system += 1,
            Zone::Old => self.old += 1,
            Zone::Keep => {
                self.first_keep.get_or_insert(self.system + self.old);
                self.keep += 1;
            }
        }
    }

    fn all(self) -> u64 {
        self.system + self.old + self.keep
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::zones::{Reason, Verdict};
    use ctx_format::{Tag, Zone};

    use super::{CHUNK, Item, Sink, ZoneCounts};

    fn verdict(zone: Zone) -> Verdict {
        Verdict { zone, reason: Reason::Window, exchange: None }
    }

    #[test]
    fn a_line_longer_than_memory_passes_in_pieces() {
        let mut sink = Sink::new(Vec::new(), None, Path::new("/tmp"));
        let length = 2 * CHUNK + 7;
        sink.spool(&vec![b'x'; length]).expect("spooled");
        sink.expect(Item { length, splice: None, tag: Tag::default() });
        sink.decided(&verdict(Zone::Old)).expect("to memory");
        // Nobody waits any more.
        sink.decided(&verdict(Zone::Keep)).expect("to memory");
        let (written, counts) = sink.finish().expect("to memory");
        assert_eq!(written, vec![b'x'; length]);
        assert_eq!((counts.old, counts.keep), (1, 0));
    }

    #[test]
    fn the_first_that_is_kept_has_the_number_of_those_before_it() {
        let mut counts = ZoneCounts::default();
        for zone in [Zone::System, Zone::Old, Zone::Keep, Zone::Old, Zone::Keep] {
            counts.add(zone);
        }
        assert_eq!(counts.first_keep, Some(2));
        assert_eq!(counts.all(), 5);
    }
}
