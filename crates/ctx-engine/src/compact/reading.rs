//! Reads a surveyed session again, applying the pruning verdicts and restoring offloaded results.

use ctx_format::{Record, Zone};

use super::Originals;
use super::content::Content;
use super::options::Plan;
use super::survey::{MessageReader, Survey, Zones, dated};
use crate::Result;
use crate::prune::record_edits;
use crate::summarize::ChangedRecord;

/// A surveyed session that can be read again.
pub(super) struct Reading<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) content: &'a Content,
    pub(super) survey: &'a Survey<'a>,
    /// Restores offloaded results, if they are to be summarized.
    pub(super) originals: Option<&'a dyn Originals>,
}

impl Reading<'_> {
    /// Passes each record to `handle`, with its zone (`None` if pruning drops the record) and, if
    /// pruning changes it, its new content. Offloaded results are restored in old records.
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
        let mut session = self.content.session()?;
        // The survey has looked for exchanges in another dialect.
        session.refuses_strangers = false;
        session.each(|record| {
            let (at, zone) = (number, zones.of[number]);
            number += 1;
            if self.survey.is_dropped(at) {
                return handle(None, record, None);
            }
            let originals = self.originals.filter(|_| zone == Zone::Old);
            let restored = originals.map(|originals| originals.of(record)).transpose()?;
            if let Some(bytes) = restored.flatten() {
                return handle(Some(zone), &record.origin.clone().record(&bytes), None);
            }
            let changed = verdicts
                .and_then(|verdicts| record_edits(verdicts, at, record, self.content.dialect));
            let changed = changed
                .map(|(edits, message)| ChangedRecord { bytes: record.edited(&edits), message });
            handle(Some(zone), record, changed)
        })
    }

    /// Passes the old records' messages to `reader`, in their pruned form.
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
