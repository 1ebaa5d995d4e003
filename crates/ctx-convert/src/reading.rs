//! Reading a context, and writing it in the other dialect.

use std::io::Write;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use ctx_transcript::compaction::Ids;
use ctx_transcript::view::{Outside, Presence};
use ctx_transcript::{Dialect, Object, Portion, Record, Spool};
use sha2::{Digest, Sha256};

use crate::index::Entry;
use crate::pairing::{self, Unit};
use crate::said::Family;
use crate::session::Session;
use crate::writing::{Context, Writing};
use crate::{ConvertError, Converter, Kind, Report, SourceId, json};

/// A session while it is read. Its context waits in a spool, since the order of its messages
/// may be another than that of the file.
pub struct Reading<'c> {
    converter: Converter<'c>,
    from: &'static dyn Dialect,
    spool: Spool,
    waiting: usize,
    entries: Vec<Entry>,
    /// Of all that waits: new ids are made of it.
    hash: Sha256,
    /// The folder that the source names.
    cwd: Option<String>,
    /// The model that is at work, where the session says which.
    model: Option<Arc<str>>,
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
            hash: Sha256::new(),
            cwd: None,
            model: None,
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
        let Some(object) = record.whole_object() else {
            return Ok(());
        };
        if self.cwd.is_none() {
            self.cwd = self.from.about(object).folder.map(Into::into);
        }
        self.model(record, object);
        if record.is_outside() {
            return Ok(());
        }
        let held = self.from.held(object);
        if held.is_empty() {
            let kind = json::kind(object.text());
            self.report.count(Kind::Record, &kind, record.line);
            return Ok(());
        }
        let portion = record.portion.as_ref().map(Portion::inside);
        if let ([held], None) = (held.as_slice(), portion) {
            let entry = Entry::of(record, SourceId::of_record(number), held);
            return self.wait(entry, object.text().trim());
        }
        for (at, held) in held.iter().enumerate() {
            let alone = Object::parse(&held.raw).map(|object| self.from.held(&object).len());
            let place = portion.and_then(|portion| portion.get(at));
            let own = place.map_or(at, |(own, _)| *own);
            let mut entry = Entry::of(record, SourceId::of_message(number, own), held);
            entry.message = place.map_or(entry.message, |(_, message)| *message);
            entry.is_opaque = !matches!(alone, Ok(1));
            // Alone it does not show that it is one.
            entry.summary = held.summary.as_deref().map(Into::into);
            self.wait(entry, &held.raw)?;
        }
        Ok(())
    }

    /// What a branch that was left has been written by tells nothing of the others.
    fn model(&mut self, record: &Record<'_>, object: &Object<'_>) {
        use Outside::{BeforeCompaction, NeverSent};
        if let Some(Presence::Outside(outside)) = record.presence
            && !matches!(outside, BeforeCompaction | NeverSent)
        {
            return;
        }
        let model = self.from.model(object);
        if let Some(model) = model.filter(|it| Some(it.as_ref()) != self.model.as_deref()) {
            self.model = Some(model.into());
        }
    }

    fn wait(&mut self, entry: Entry, text: &str) -> Result<(), ConvertError> {
        let pushed = self.spool.push(text.as_bytes());
        pushed.map_err(ConvertError::Temporary)?;
        self.entries.push(Entry {
            start: self.waiting,
            length: text.len(),
            model: self.model.clone(),
            ..entry
        });
        self.hash.update(text);
        self.waiting += text.len();
        Ok(())
    }

    /// Nothing more comes: writes all of it.
    pub fn write(mut self, out: &mut dyn Write) -> Result<Report, ConvertError> {
        self.entries.sort_by_key(|entry| entry.message);
        let joins_replies = Family::of(self.from) == Family::Items;
        let whole_records = self.converter.whole_records;
        let units = pairing::units(&self.entries, joins_replies, whole_records);
        let last_summary = units.iter().rposition(|unit| self.is_summary(unit));
        let session = self.session();
        let context = Context {
            entries: &self.entries,
            from: self.from,
            spool: self.spool,
        };
        let mut writing = Writing::new(self.converter, context, session, self.report);
        writing.begin(out)?;
        for (number, unit) in units.iter().enumerate() {
            let summary_comes = last_summary.is_some_and(|last| number < last);
            writing.unit(unit, summary_comes, out)?;
        }
        writing.finish(out)
    }

    fn is_summary(&self, unit: &Unit) -> bool {
        let mut entries = unit.entries().into_iter();
        entries.any(|number| self.entries[number].is_summary)
    }

    /// What an agent's file says of the session.
    fn session(&self) -> Session {
        let mut hash = self.hash.clone();
        hash.update(self.converter.to.name());
        let mut ids = Ids::new(&hash.finalize().into());
        let id = self.converter.session.map(str::to_owned);
        let cwd = self.converter.cwd.map(str::to_owned);
        let times = self.entries.iter().filter_map(|entry| {
            let time = DateTime::parse_from_rfc3339(entry.time.as_deref()?);
            time.ok().map(DateTime::<Utc>::from)
        });
        Session {
            id: id.unwrap_or_else(|| ids.uuid()),
            cwd: cwd
                .or_else(|| self.cwd.clone())
                .unwrap_or_else(|| "/".into()),
            time: times.take(1).next().unwrap_or(self.converter.now),
            ids,
        }
    }
}
