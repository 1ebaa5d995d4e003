//! A session whose lines belong together: an agent's own log, or the items of a reply.
//!
//! The context of the log is lowered to a plain session, in which each message names the records
//! of the log that it comes from. That session is compacted like any other. The messages that
//! stay tell which records of the log stay, and the summary replaces the others. A log of an
//! agent with a compaction record of its own only grows; any other is written again.

mod kept;
mod marked;
mod rewrite;
mod verify;

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::counter::MessageCounter;
use ctx_format::compaction::{Compaction, CompactionWriter, Kept};
use ctx_format::convert::{Converter, Lowered, Reading, SourceId};
use ctx_format::dialect::Anthropic;
use ctx_format::{Object, Record, Spool};
use sha2::{Digest, Sha256};

use self::kept::{KeptRecords, LogRecords};
use self::marked::{MARK, Marked};
use super::content::{Content, temporary};
use super::options::Plan;
use super::report::Report;
use super::source::NewFile;
use crate::bound::BoundReasoning;
use crate::estimate::{Calibration, CalibrationPass};
use crate::unread::FirstUnread;
use crate::{ErrorKind, Notes, PassError, Session};

/// The context of a log, one message a record.
pub(super) struct LoweredLog {
    pub(super) content: Content,
    /// The recorded usage, if it was requested.
    pub(super) calibration: Option<Calibration>,
}

/// Which records of a log stay, and what replaces the others.
struct Decision {
    kept: KeptRecords,
    /// The text of each kept group, and whether it has changed; `None` if nothing is left.
    texts: Vec<Option<(String, bool)>>,
    summary: Option<String>,
    /// All records of the old context.
    context: Vec<SourceId>,
    records: LogRecords,
}

/// The summary that the agent gets where no message was summarized.
const NOTHING_LEFT: &str =
    "No message was summed up: only results of tools, or reasoning, were shortened or left out.";

/// Refuses a document that is an agent's whole session, because no line can be appended to it.
fn refuse_document(log: &Content) -> Result<(), PassError> {
    if log.is_document && log.dialect.is_log() {
        let (dialect, done) = (log.dialect.name(), "compacted");
        return Err(ErrorKind::LogDocument { dialect, done }.into());
    }
    Ok(())
}

/// What the agent would send of a log. `counter` learns from the recorded usage.
pub(super) fn lower(
    log: &Content,
    temp: &Path,
    counter: Option<MessageCounter>,
) -> Result<LoweredLog, PassError> {
    refuse_document(log)?;
    let mut calibration = counter.map(|it| CalibrationPass::new(it, Some(log.dialect)));
    let mut has_message = false;
    let content = lower_session(log, log.session()?, temp, |record| {
        let is_message = |object: &Object<'_>| log.dialect.outline(object).is_some();
        has_message = has_message || record.whole_object().is_some_and(is_message);
        if let Some(calibration) = &mut calibration {
            calibration.push(record, None);
        }
    })?;
    if !log.is_detected && !has_message && log.length()? > 0 {
        return Err(ErrorKind::NoMessageOf(log.dialect.name()).into());
    }
    Ok(LoweredLog { content, calibration: calibration.map(CalibrationPass::finish) })
}

/// Lowers a session of `log`'s dialect; `look` sees each of its records.
fn lower_session(
    log: &Content,
    mut session: Session,
    temp: &Path,
    mut look: impl FnMut(&Record<'_>),
) -> Result<Content, PassError> {
    let mut converter = Converter::new(&Anthropic);
    converter.mark = Some(MARK);
    converter.whole_records = true;
    let mut reading = Reading::new(converter, log.dialect, Spool::new(temp));
    let mut unread = FirstUnread::default();
    session.each(|record| {
        unread.look_at(record, Some(log.dialect));
        look(record);
        Ok(reading.push(record)?)
    })?;
    drop(session);
    let mut lines = Vec::new();
    let file = temporary(|output| {
        let report = reading.write(output)?;
        lines = report.sources.iter().map(|it| it.first_line).collect();
        Ok(())
    })?;
    Ok(log.lowered(&Lowered, file, Arc::from(lines), unread))
}

/// The log after a compaction that leaves `new` of `lowered`. Before anything is written, what the
/// agent would read is compared with `new`.
pub(super) fn write(
    (log, lowered): (&Content, &Content),
    new: &Content,
    plan: &Plan<'_>,
    report: &Report,
    notes: &mut Notes,
) -> Result<NewFile, PassError> {
    let marked = Marked::all(new, |_| true)?;
    let mut decision = decide(log, lowered, &marked)?;
    let mut bound = BoundReasoning::default();
    bound.change();
    let temp = &plan.environment.temp;
    let look = |record: &Record<'_>| bound.keep(record, log.dialect);
    let (file, read) = if let Some(writer) = decision.records.writer.take() {
        let lines = decision.compaction_lines(writer, plan, report)?;
        let session = log.session_with(&behind(log, &lines)?)?;
        let read = lower_session(log, session, temp, look)?;
        (NewFile::Appended(lines), read)
    } else {
        let session = rewrite::write(log, &decision)?;
        let read = lower_session(log, session.session()?, temp, look)?;
        (NewFile::Whole(session), read)
    };
    verify::same_context(new, &read)?;
    bound.warn(notes);
    Ok(file)
}

/// The log followed by these lines.
pub(super) fn with_lines(log: &Content, lines: &[u8]) -> Result<Content, PassError> {
    let mut old = log.file()?;
    let behind = behind(log, lines)?;
    let file = temporary(|output| {
        std::io::copy(&mut old, output).map_err(PassError::temporary)?;
        output.write_all(&behind).map_err(PassError::temporary)
    })?;
    Ok(log.with(file))
}

/// The bytes after the log that make `lines` start on a new line.
fn behind(log: &Content, lines: &[u8]) -> Result<Vec<u8>, PassError> {
    let newline: &[u8] = if log.ends_line()? { b"" } else { b"\n" };
    Ok([newline, lines].concat())
}

/// Which records of the log stay when `new` is left of its context.
fn decide(log: &Content, lowered: &Content, new: &[Marked]) -> Result<Decision, PassError> {
    let wanted: HashSet<SourceId> = new.iter().flat_map(|it| it.sources.clone()).collect();
    let before =
        Marked::all(lowered, |it| it.sources.iter().any(|source| wanted.contains(source)))?;
    let context: Vec<SourceId> = before.iter().flat_map(|it| it.sources.clone()).collect();
    let kept = KeptRecords::of(new);
    let records = LogRecords::read(log, &kept, &context)?;
    let (was, is) = (Marked::by_record(&before), Marked::by_record(new));
    let texts = kept.groups.iter().map(|group| records.text_of((log, lowered), group, &was, &is));
    Ok(Decision {
        texts: texts.collect(),
        summary: new.iter().find_map(|it| it.summary.clone()),
        context,
        kept,
        records,
    })
}

impl Decision {
    /// The lines that the agent itself would write for this compaction.
    fn compaction_lines(
        &self,
        writer: Box<dyn CompactionWriter>,
        plan: &Plan<'_>,
        report: &Report,
    ) -> Result<Vec<u8>, PassError> {
        let kept = self.texts.iter().zip(&self.kept.groups).filter_map(|(text, group)| {
            let (text, is_changed) = text.as_ref()?;
            Some(Kept { text, messages: group.messages(), is_changed: *is_changed })
        });
        let last = self.records.last();
        let summary = self.summary.as_deref().unwrap_or(NOTHING_LEFT);
        let compaction = Compaction {
            summary,
            kept: kept.collect(),
            kept_before: self.kept.before_summary,
            is_end: self.context.ends_with(&self.kept.sources()),
            last,
            tokens: (report.tokens_before, report.tokens_after),
            is_automatic: plan.options.only_if_due,
            now: (plan.environment.now)(),
            seed: seed(self.records.count, last, summary),
        };
        let lines = writer.finish(&compaction)?;
        Ok((lines.join("\n") + "\n").into_bytes())
    }
}

/// The seed of ids: a log that has grown, or another summary, gets other ids.
fn seed(records: u64, last: &str, summary: &str) -> [u8; 32] {
    Sha256::digest(format!("{records}\n{last}\n{summary}")).into()
}
