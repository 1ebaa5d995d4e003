//! Reading a context, and writing it in the other dialect.

use std::io::Write;

use ctx_transcript::{Dialect, Record, Spool};

use crate::index::Entry;
use crate::said::Family;
use crate::writing::{Context, Writing};
use crate::{ConvertError, Converter, Kind, Report, SourceId, json, pairing};

/// A session while it is read. Its context waits in a spool, since the order of its messages
/// may be another than that of the file.
pub struct Reading<'c> {
    converter: Converter<'c>,
    from: &'static dyn Dialect,
    spool: Spool,
    waiting: usize,
    entries: Vec<Entry>,
    /// How many records there were.
    records: u64,
    report: Report,
}

impl<'c> Reading<'c> {
    /// Begins with a session of the dialect `from`, whose context waits in `spool`.
    pub fn new(converter: Converter<'c>, from: &'static dyn Dialect, spool: Spool) -> Self {
        Self {
            converter,
            from,
            spool,
            waiting: 0,
            entries: Vec::new(),
            records: 0,
            report: Report::default(),
        }
    }

    /// The next record of the session: all of them have to come, since they are counted.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), ConvertError> {
        if !record.piece.begins() {
            return Ok(());
        }
        let number = self.records;
        self.records += 1;
        let Some(object) = record.whole_object().filter(|_| !record.is_outside()) else {
            return Ok(());
        };
        let held = self.from.held(object);
        if held.is_empty() {
            let kind = json::kind(object.text());
            self.report.count(Kind::Record, &kind, record.line);
            return Ok(());
        }
        if let [held] = held.as_slice() {
            let entry = Entry::of(record, SourceId::of_record(number), held);
            return self.wait(entry, object.text().trim());
        }
        for (place, held) in held.iter().enumerate() {
            let mut entry = Entry::of(record, SourceId::of_message(number, place), held);
            // Alone it does not show that it is one.
            entry.summary = held.summary.as_deref().map(Into::into);
            self.wait(entry, held.raw)?;
        }
        Ok(())
    }

    fn wait(&mut self, entry: Entry, text: &str) -> Result<(), ConvertError> {
        let pushed = self.spool.push(text.as_bytes());
        pushed.map_err(ConvertError::Temporary)?;
        self.entries.push(Entry {
            start: self.waiting,
            length: text.len(),
            ..entry
        });
        self.waiting += text.len();
        Ok(())
    }

    /// Nothing more comes: writes all of it.
    pub fn write(mut self, out: &mut dyn Write) -> Result<Report, ConvertError> {
        self.entries.sort_by_key(|entry| entry.message);
        let joins_replies = Family::of(self.from) == Family::Items;
        let whole_records = self.converter.whole_records;
        let units = pairing::units(&self.entries, joins_replies, whole_records);
        let context = Context {
            entries: &self.entries,
            from: self.from,
            spool: self.spool,
        };
        let mut writing = Writing::new(self.converter, context, self.report);
        for unit in &units {
            writing.unit(unit, out)?;
        }
        Ok(writing.report())
    }
}
