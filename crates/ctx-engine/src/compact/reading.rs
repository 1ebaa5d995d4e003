//! Reads the records of a surveyed session again, after pruning and with offloaded results restored.

use std::borrow::Cow;

use chrono::NaiveDate;
use ctx_format::{Dialect, Message, Record, Zone};
use ctx_summary::Recognizer;

use super::Originals;
use super::content::Content;
use super::options::Plan;
use super::survey::{Survey, Zones};
use crate::prune::record_edits;
use crate::summarize::ChangedRecord;
use crate::{Result, Time};

/// Reads messages for the caller, such as for a memory.
pub trait MessageReader {
    /// Reads the next message, in the order of the session.
    fn read(&mut self, message: Message<'_>, line: u64, date: Option<NaiveDate>);
}

/// A surveyed session.
pub(super) struct Reading<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) content: &'a Content,
    pub(super) survey: &'a Survey<'a>,
    /// The offloaded results, if they are summarized.
    pub(super) originals: Option<&'a dyn Originals>,
}

impl Reading<'_> {
    /// Passes each record to `handle` with its zone (`None` if pruning drops it) and its content
    /// after pruning. Offloaded results of old records are restored.
    pub(super) fn each(
        &self,
        zones: &Zones,
        mut handle: impl FnMut(Option<Zone>, &Record<'_>, Option<ChangedRecord<'_>>) -> Result<()>,
    ) -> Result<()> {
        let verdicts = self.survey.pruned.as_ref();
        if let Some(originals) = self.originals {
            originals.begin();
        }
        let mut number = 0;
        self.content.each_again(|record| {
            let (at, zone) = (number, zones.of[number]);
            number += 1;
            if self.survey.is_dropped(at) {
                return handle(None, record, None);
            }
            let originals = self.originals.filter(|_| zone == Zone::Old);
            let restored = originals.map(|originals| originals.of(record)).transpose()?;
            if let Some(bytes) = restored.flatten() {
                return handle(Some(zone), &record.origin().record(&bytes), None);
            }
            let changed = verdicts
                .and_then(|verdicts| record_edits(verdicts, at, record, self.content.dialect));
            let changed = changed
                .map(|(edits, message)| ChangedRecord { bytes: record.edited(&edits), message });
            handle(Some(zone), record, changed)
        })
    }

    /// Passes the messages of the old records to `reader`, after pruning.
    pub(super) fn read_old(&self, zones: &Zones, reader: &mut dyn MessageReader) -> Result<()> {
        let dialect = self.content.dialect;
        let recognizer = self.plan.recognizer();
        self.each(zones, |zone, record, changed| {
            if zone == Some(Zone::Old) {
                let message = changed.map(|new| new.message);
                let message = message.or_else(|| record.message(Some(dialect)));
                let dated = message.and_then(|it| dated(record, it, dialect, &recognizer));
                if let Some((message, line, date)) = dated {
                    reader.read(message, line, date);
                }
            }
            Ok(())
        })
    }
}

/// A message with its line and its date.
type Dated<'m> = (Message<'m>, u64, Option<NaiveDate>);

/// Returns a message for a reader, unless it is an earlier summary. Its items were read from the
/// original messages when they were summarized.
fn dated<'m>(
    record: &Record<'_>,
    message: Message<'m>,
    dialect: &dyn Dialect,
    recognizer: &Recognizer,
) -> Option<Dated<'m>> {
    let object = record.whole_object().filter(|it| dialect.summary_text(it).is_none())?;
    let changed = match recognizer.as_said(&message) {
        Cow::Owned(changed) => Some(changed),
        Cow::Borrowed(_) => None,
    };
    Some((changed.unwrap_or(message), record.line, Time::of(object).map(Time::date)))
}

/// Passes the messages of a session to a reader while the session is surveyed, so that another
/// thread can work on them. Only a session that is due is flushed, so messages wait until it is.
pub(super) struct Flush<'f> {
    reader: &'f mut dyn MessageReader,
    recognizer: Recognizer,
    is_due: bool,
    waiting: Vec<Dated<'static>>,
    /// The bytes of all records before the session was due.
    bytes: usize,
}

/// At most this many bytes of records wait. A session is usually due long before.
const MOST_WAITING: usize = 8 << 20;

impl<'f> Flush<'f> {
    pub(super) fn new(reader: &'f mut dyn MessageReader, plan: &Plan<'_>) -> Self {
        Self { reader, recognizer: plan.recognizer(), is_due: false, waiting: Vec::new(), bytes: 0 }
    }

    /// Adds the next message. `is_due` says whether the session is due with it.
    pub(super) fn push(
        &mut self,
        record: &Record<'_>,
        message: Message<'_>,
        dialect: &dyn Dialect,
        is_due: impl FnOnce() -> bool,
    ) {
        if self.has_missed() {
            return;
        }
        if !self.is_due {
            self.bytes += record.bytes.len();
            self.is_due = is_due();
        }
        if self.has_missed() {
            self.waiting = Vec::new();
            return;
        }
        if self.is_due {
            for (message, line, date) in std::mem::take(&mut self.waiting) {
                self.reader.read(message, line, date);
            }
        }
        if message.role.is_system() {
            return;
        }
        match dated(record, message, dialect, &self.recognizer) {
            Some((message, line, date)) if self.is_due => self.reader.read(message, line, date),
            Some((message, line, date)) => self.waiting.push((message.into_owned(), line, date)),
            None => {}
        }
    }

    /// Returns true if too many messages were waiting, so that the session must be read again.
    fn has_missed(&self) -> bool {
        !self.is_due && self.bytes > MOST_WAITING
    }

    /// Returns the reader if it still has to read the session.
    pub(super) fn missed(self) -> Option<&'f mut dyn MessageReader> {
        self.has_missed().then_some(self.reader)
    }
}
