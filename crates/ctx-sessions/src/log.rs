//! A log, of which it is known at its end which records are in the context: until then they
//! wait. Only those of which something is wanted are parsed again.

use std::io::{self, Read};
use std::path::Path;

use ctx_transcript::view::ViewBuilder;
use ctx_transcript::{Dialect, Origin, Record, Records, Spool, show_to_view};

use crate::facts::{FactReader, Facts, Readable};
use crate::sum::{Stand, Sum};

/// The records of a log so far.
pub(crate) struct Log {
    view: Box<dyn ViewBuilder>,
    spool: Spool,
    waiting: Vec<Waiting>,
    records: usize,
}

struct Waiting {
    facts: Facts,
    /// The number of its record, of which one that is too long has several pieces.
    number: usize,
    line: u64,
    /// Its bytes in the spool.
    length: usize,
}

impl Log {
    /// `None` where the dialect is linear. What cannot wait in memory waits in `temp`.
    pub(crate) fn of<R: Read>(
        dialect: &dyn Dialect,
        records: &Records<R>,
        temp: &Path,
    ) -> Option<Self> {
        let mut view = dialect.view()?;
        if records.is_document() {
            view.begin_document();
        }
        Some(Self {
            view,
            spool: Spool::new(temp),
            waiting: Vec::new(),
            records: 0,
        })
    }

    /// The next record.
    pub(crate) fn push(&mut self, record: &Record<'_>, facts: Facts) -> io::Result<()> {
        if record.piece.begins() {
            show_to_view(self.view.as_mut(), record);
            self.records += 1;
        }
        let may_be_read = matches!(facts.class, Readable::Yes | Readable::First);
        let bytes = if may_be_read { record.bytes } else { &[] };
        self.spool.push(bytes)?;
        self.waiting.push(Waiting {
            facts,
            number: self.records - 1,
            line: record.line,
            length: bytes.len(),
        });
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn add_to(mut self, sum: &mut Sum, reader: &mut FactReader) -> io::Result<()> {
        let view = self.view.finish();
        let mut bytes = Vec::new();
        for waiting in self.waiting {
            let stand = Stand::of(Some(view.of(waiting.number)));
            let portion = view.portion(waiting.number);
            if portion.is_none() && !sum.wants(&waiting.facts, stand) {
                self.spool.pop_to(waiting.length, &mut io::sink())?;
                sum.add(waiting.facts, stand, None);
                continue;
            }
            bytes.clear();
            self.spool.pop_to(waiting.length, &mut bytes)?;
            let is_part = portion.is_some();
            let origin = Origin {
                line: waiting.line,
                portion,
                ..Origin::ALONE
            };
            let record = origin.record(&bytes);
            let facts = if is_part {
                // What the others of its messages say does not count.
                reader.read(&record)
            } else {
                waiting.facts
            };
            sum.add(facts, stand, record.object());
        }
        Ok(())
    }
}
