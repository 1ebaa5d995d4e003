//! Reads the records of a surveyed session again, after pruning and with offloaded results restored.

use std::cell::Cell;

use chrono::NaiveDate;
use ctx_format::{Message, Record, Zone};
use ctx_summary::Recognizer;

use super::Originals;
use super::content::Content;
use super::options::Plan;
use super::survey::{Survey, Zones};
use crate::prune::record_edits;
use crate::summarize::ReadRecord;
use crate::{Result, Time};

/// Reads messages for the caller, such as for a memory.
pub trait MessageReader {
    /// Reads the next message, in the order of the session.
    fn read(&mut self, message: &Message<'_>, line: u64, date: Option<NaiveDate>);
}

/// A reader of all messages, until the first reading of the session takes it.
pub(super) type Flush<'f> = Cell<Option<&'f mut dyn MessageReader>>;

/// A surveyed session.
pub(super) struct Reading<'a, 'f> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) content: &'a Content,
    pub(super) survey: &'a Survey<'a>,
    /// The offloaded results, if they are summarized.
    pub(super) originals: Option<&'a dyn Originals>,
    pub(super) flush: &'a Flush<'f>,
}

impl Reading<'_, '_> {
    /// Passes each record to `handle` with its zone (`None` if pruning drops it) and its content
    /// after pruning. Offloaded results of old records are restored.
    pub(super) fn each(
        &self,
        zones: &Zones,
        mut handle: impl FnMut(Option<Zone>, &Record<'_>, Option<ReadRecord<'_>>) -> Result<()>,
    ) -> Result<()> {
        let verdicts = self.survey.pruned.as_ref();
        if let Some(originals) = self.originals {
            originals.begin();
        }
        let mut number = 0;
        let mut flush = self.flush.take();
        let recognizer = self.plan.recognizer();
        self.content.each_again(|record| {
            let (at, zone) = (number, zones.of[number]);
            number += 1;
            let mut message = None;
            if let Some(reader) = &mut flush {
                message = record.message(Some(self.content.dialect));
                let said = message.as_ref().filter(|message| !message.role.is_system());
                self.hand_on(record, said, &recognizer, *reader);
            }
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
            let read = match changed {
                Some((edits, message)) => {
                    Some(ReadRecord { bytes: Some(record.edited(&edits)), message })
                }
                None => message.map(|message| ReadRecord { bytes: None, message }),
            };
            handle(Some(zone), record, read)
        })
    }

    /// Passes the messages of the old records to `reader`, after pruning.
    pub(super) fn read_old(&self, zones: &Zones, reader: &mut dyn MessageReader) -> Result<()> {
        let dialect = self.content.dialect;
        let recognizer = self.plan.recognizer();
        self.each(zones, |zone, record, known| {
            if zone == Some(Zone::Old) {
                let message = known.map(|known| known.message);
                let message = message.or_else(|| record.message(Some(dialect)));
                self.hand_on(record, message.as_ref(), &recognizer, reader);
            }
            Ok(())
        })
    }

    /// Passes a message to `reader`, unless it is an earlier summary. Its items were read from the
    /// original messages when they were summarized.
    fn hand_on(
        &self,
        record: &Record<'_>,
        message: Option<&Message<'_>>,
        recognizer: &Recognizer,
        reader: &mut dyn MessageReader,
    ) {
        let (Some(object), Some(message)) = (record.whole_object(), message) else { return };
        if self.content.dialect.summary_text(object).is_none() {
            let message = recognizer.as_said(message);
            reader.read(&message, record.line, Time::of(object).map(Time::date));
        }
    }
}
