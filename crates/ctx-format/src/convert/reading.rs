//! Reads a session's context before it is written in another dialect.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use ring::digest::{Context, SHA256};

use crate::compaction::Ids;
use crate::convert::entry::Entry;
use crate::convert::report::{Loss, LossKind, Report, SourceId};
use crate::convert::target::Session;
use crate::convert::turn::Family;
use crate::convert::writing::Writing;
use crate::convert::{ConvertError, Converter};
use crate::convert::{pairing, reply};
use crate::dialect::Format;
use crate::dialect::content::kind_of;
use crate::view::{Outside, Presence};
use crate::{Class, Dialect, HeldMessage, Object, Portion, Record, Spool};

/// Reads a source session. The messages of the context wait in a spool, because their order in the
/// file may differ from their order in the context.
pub struct Reading<'c> {
    converter: Converter<'c>,
    from: &'static dyn Dialect,
    spool: Spool,
    waiting: usize,
    entries: Vec<Entry>,
    /// The hash of all messages read so far. The ids in the new session are derived from this hash.
    hash: Context,
    /// The working folder of the source session, if it is known.
    cwd: Option<String>,
    /// The model in use at this point in the session, if known.
    model: Option<Arc<str>>,
    /// Whether the records are the elements of a list of messages, rather than an agent's records.
    pub is_list: bool,
    /// The number of records read so far.
    records: u64,
    report: Report,
}

impl<'c> Reading<'c> {
    /// Creates a reader for a session in the dialect `from`. Messages wait in `spool` until the
    /// session is written.
    pub fn new(converter: Converter<'c>, from: &'static dyn Dialect, spool: Spool) -> Self {
        Self {
            converter,
            from,
            spool,
            waiting: 0,
            entries: Vec::new(),
            hash: Context::new(&SHA256),
            cwd: None,
            model: None,
            is_list: !from.is_log(),
            records: 0,
            report: Report::default(),
        }
    }

    /// Reads the next record in the session. The caller must pass every record in the session,
    /// because this method also counts the records.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), ConvertError> {
        if !record.piece.begins() {
            return Ok(());
        }
        let number = self.records;
        self.records += 1;
        if (record.class.is_bad() || record.class == Class::Tail) && self.converter.mark.is_none() {
            self.lose(LossKind::Line, record.class.as_str(), record.line, number);
        }
        let Some(object) = record.whole_object() else { return Ok(()) };
        if self.cwd.is_none() {
            let about = self.from.log().map(|log| log.about(object));
            self.cwd = about.and_then(|about| about.folder).map(Into::into);
        }
        self.model(record, object);
        if record.is_outside() {
            return Ok(());
        }
        let held = held(self.from, self.converter.to, object);
        if held.is_empty() {
            self.lose(LossKind::Record, &kind_of(object), record.line, number);
            return Ok(());
        }
        let portion = record.portion.as_ref().map(Portion::inside);
        if let ([held], None) = (held.as_slice(), portion) {
            let origin = SourceId { record: number, message: None };
            let entry = Entry::of(record, origin, held);
            return self.wait(entry, object.text().trim());
        }
        for (at, held) in held.iter().enumerate() {
            let alone = Object::parse(&held.raw).map(|object| self.from.held(&object).len());
            let place = portion.and_then(|portion| portion.get(at));
            let own = place.map_or(at, |(own, _)| *own);
            let origin = SourceId { record: number, message: Some(own) };
            let mut entry = Entry::of(record, origin, held);
            entry.message = place.map_or(entry.message, |(_, message)| *message);
            entry.is_opaque = !matches!(alone, Ok(1));
            // Once the message is separated from its record, nothing else marks it as a summary.
            entry.summary = held.summary.as_deref().map(Into::into);
            self.wait(entry, &held.raw)?;
        }
        Ok(())
    }

    /// Reports a loss that came with the session.
    pub fn lost(&mut self, loss: Option<Loss>) {
        self.report.losses.extend(loss);
    }

    /// Reports that a whole record is not converted.
    fn lose(&mut self, kind: LossKind, name: &str, line: u64, number: u64) {
        let path = SourceId { record: number, message: None }.path(self.is_list);
        self.report.count(kind, name, line).add_path(path);
    }

    /// Stores the name of the model that is in use. A record on an abandoned branch does not change
    /// the model.
    fn model(&mut self, record: &Record<'_>, object: &Object<'_>) {
        use Outside::{BeforeCompaction, NeverSent};
        if let Some(Presence::Outside(outside)) = record.presence
            && !matches!(outside, BeforeCompaction | NeverSent)
        {
            return;
        }
        let model = self.from.model(object).or(record.model.as_deref().map(Cow::Borrowed));
        if let Some(model) = model.filter(|it| Some(it.as_ref()) != self.model.as_deref()) {
            self.model = Some(model.into());
        }
    }

    fn wait(&mut self, entry: Entry, text: &str) -> Result<(), ConvertError> {
        self.spool.push(text.as_bytes()).map_err(ConvertError::Temporary)?;
        self.entries.push(Entry {
            start: self.waiting,
            length: text.len(),
            model: self.model.clone(),
            ..entry
        });
        self.hash.update(text.as_bytes());
        self.waiting += text.len();
        Ok(())
    }

    /// Finishes reading and writes the new session to `out`.
    pub fn write(mut self, out: &mut dyn Write) -> Result<Report, ConvertError> {
        self.entries.sort_by_key(|entry| entry.message);
        let is_whole = self.converter.mark.is_some();
        let joins: fn(&Entry) -> bool = match Format::of(self.from).family {
            Family::Items => |_| true,
            // The API reads adjacent replies as one, whose results come after them.
            Family::Blocks if !is_whole && !self.from.is_log() => |reply| !reply.calls.is_empty(),
            _ => |_| false,
        };
        let units = pairing::units(&self.entries, joins, is_whole);
        let lost = self.report.losses.iter().filter(|loss| loss.kind != LossKind::Member);
        let writing = Writing {
            target: (Format::of(self.converter.to).writer)(),
            session: self.session(),
            has_begun: is_whole,
            converter: self.converter,
            from: self.from,
            is_list: self.is_list,
            entries: &self.entries,
            spool: self.spool,
            ids: reply::Ids::of(
                self.converter.to,
                is_whole,
                pairing::across_replies(&self.entries),
            ),
            has_changed: false,
            first_lost: lost.map(|loss| loss.first_line).min().unwrap_or(u64::MAX),
            next: 0,
            report: self.report,
            carried: Vec::new(),
            out,
        };
        writing.all(&units)
    }

    /// Returns what an agent's file states about the new session: its id, working folder and time.
    fn session(&self) -> Session {
        let mut hash = self.hash.clone();
        hash.update(self.converter.to.name().as_bytes());
        let mut ids = Ids::new(hash.finish().as_ref());
        let id = self.converter.session.map(str::to_owned);
        let cwd = self.converter.cwd.map(str::to_owned);
        let times = self.entries.iter().filter_map(|entry| {
            let time = DateTime::parse_from_rfc3339(entry.time.as_deref()?);
            time.ok().map(DateTime::<Utc>::from)
        });
        Session {
            id: id.unwrap_or_else(|| ids.uuid()),
            cwd: cwd.or_else(|| self.cwd.clone()).unwrap_or_else(|| "/".into()),
            time: times.take(1).next().unwrap_or(self.converter.now),
            ids,
            cache_marks: 0,
            before: Vec::new(),
        }
    }
}

/// Returns the messages in a record. A conversion to the same list format does not divide records.
pub(super) fn held<'a>(
    from: &dyn Dialect,
    to: &dyn Dialect,
    object: &Object<'a>,
) -> Vec<HeldMessage<'a>> {
    if from.is_log() || from.name() != to.name() {
        return from.held(object);
    }
    HeldMessage::alone(from, object, object.text().trim().into())
}
