//! Reads a session's context before it is written in another dialect.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use ring::digest::{Context, SHA256};

use crate::compaction::Ids;
use crate::convert::report::{LossKind, Report, SourceId};
use crate::convert::target::Session;
use crate::convert::turn::{Family, Key};
use crate::convert::writing::Writing;
use crate::convert::{Converter, pairing, reply};
use crate::dialect::content::kind_of;
use crate::dialect::writer;
use crate::view::{Outside, Presence};
use crate::{Class, Denial, Dialect, HeldMessage, Object, Portion, Record, Role, Spool};

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
    /// The number of records read so far.
    records: u64,
    /// What was lost so far.
    pub report: Report,
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
            records: 0,
            report: Report { is_list: !from.is_log(), ..Report::default() },
        }
    }

    /// Reads the next record in the session. The caller must pass every record in the session,
    /// because this method also counts the records.
    pub fn push(&mut self, record: &Record<'_>) -> io::Result<()> {
        if !record.piece.begins() {
            return Ok(());
        }
        let number = self.records;
        self.records += 1;
        if (record.class.is_bad() || record.class == Class::Tail) && self.converter.mark.is_none() {
            self.lose(LossKind::Line, record.class.into(), record.line, number);
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
        let held = self.converter.held(self.from, object);
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

    /// Reports that a whole record is not converted.
    fn lose(&mut self, kind: LossKind, name: &str, line: u64, number: u64) {
        let path = SourceId { record: number, message: None }.path(self.report.is_list);
        self.report.count(kind, name, line).add_path(|| path);
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

    fn wait(&mut self, entry: Entry, text: &str) -> io::Result<()> {
        self.spool.push(text.as_bytes())?;
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
    pub fn write(mut self, out: &mut dyn Write) -> io::Result<Report> {
        self.entries.sort_by_key(|entry| entry.message);
        let is_whole = self.converter.mark.is_some();
        let joins: fn(&Entry) -> bool = match self.from.format().family {
            Family::Items => |_| true,
            // The API reads adjacent replies as one, whose results come after them.
            Family::Blocks if !is_whole && !self.from.is_log() => |reply| !reply.calls.is_empty(),
            _ => |_| false,
        };
        let units = pairing::units(&self.entries, joins, is_whole);
        let across = pairing::across_replies(&self.entries);
        let lost = self.report.losses.iter().filter(|loss| loss.kind != LossKind::Member);
        let writing = Writing {
            target: writer(self.converter.to),
            session: self.session(),
            has_begun: is_whole,
            converter: self.converter,
            from: self.from,
            entries: &self.entries,
            spool: self.spool,
            ids: reply::Ids::of(self.converter.to, is_whole, across),
            has_changed: false,
            first_lost: lost.map(|loss| loss.first_line).min().unwrap_or(u64::MAX),
            next: 0,
            report: self.report,
            carried: Vec::new(),
            is_document: false,
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
            timed: None,
            ids,
            cache_marks: 0,
            before: Vec::new(),
        }
    }
}

/// A whole message, or the fragment of a message that one record holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The source record of the message. If that record holds several messages, the number of the
    /// message is included.
    pub(crate) origin: SourceId,
    /// The line number of the source record, starting at 1.
    pub(crate) line: u64,
    /// The position of the message in the context. Messages are written in the order of their
    /// positions.
    pub(crate) message: u64,
    /// The byte offset of the message's text in the spool.
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) role: Role,
    /// Whether the message begins a user turn.
    pub(crate) begins_turn: bool,
    /// The time of the message, exactly as the record states it.
    pub(crate) time: Option<Box<str>>,
    /// The model that was in use when the message was written, or `None` if the session does not
    /// name a model.
    pub(crate) model: Option<Arc<str>>,
    /// The text of the message, if it is a summary extracted from a record with several messages.
    /// The text is stored here because only that record marks the message as a summary, and the
    /// record is not in the spool.
    pub(crate) summary: Option<Box<str>>,
    /// Whether the message is a summary.
    pub(crate) is_summary: bool,
    /// Whether the message can be read only as part of the list that contains it.
    pub(crate) is_opaque: bool,
    pub(crate) calls: Vec<Key>,
    pub(crate) results: Vec<Key>,
    /// See [`crate::Message::added`].
    pub(crate) added: Range<usize>,
    /// The ids of the calls that the user denied. The flag with each id tells whether a field of
    /// the record marks the denial.
    pub(crate) denials: Vec<(Box<str>, bool)>,
}

impl Entry {
    /// Creates an entry for `held`, a message in `record`. The entry's position in the spool is set
    /// later.
    pub(crate) fn of(record: &Record<'_>, origin: SourceId, held: &HeldMessage<'_>) -> Self {
        let denied = held.message.results().filter(|result| result.denial != Denial::None);
        let denials =
            denied.filter_map(|it| Some((it.id.as_deref()?.into(), it.denial == Denial::Marked)));
        let message = match record.presence {
            Some(Presence::Inside(fragment)) => fragment.message,
            _ => origin.record,
        };
        Self {
            origin,
            line: record.line,
            message,
            role: held.message.role,
            begins_turn: held.begins_turn,
            time: time(record, held),
            is_summary: held.summary.is_some(),
            calls: held.message.calls().map(Key::of_call).collect(),
            results: held.message.results().map(Key::of_result).collect(),
            added: held.message.added.clone(),
            denials: denials.collect(),
            ..Self::default()
        }
    }
}

/// The time of a message: its own time if it has one, otherwise the time of the record.
fn time(record: &Record<'_>, held: &HeldMessage<'_>) -> Option<Box<str>> {
    let own = Object::parse(&held.raw).ok();
    let own = own.and_then(|object| object.text_of("timestamp"));
    let time = own.or_else(|| {
        let object = record.object()?;
        let number = || Some(object.time()?.to_rfc3339_opts(SecondsFormat::Millis, true));
        object.text_of("timestamp").or_else(|| number().map(Cow::Owned))
    });
    time.map(|time| time.as_ref().into())
}
