//! A session whose lines belong to each other: an agent's own file, which is compacted in the
//! agent's own words, or items of a reply.
//!
//! What is sent of it is lowered: written as the messages of a plain session, each of
//! which says what records of the log it is made of. That session is compacted as any other.
//! What stays of it says which records of the log stay, and its summary is what the agent is
//! told instead of the others. The log itself only grows.

mod anew;
mod kept;
mod marked;
mod meant;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use ctx_convert::{Converter, Lowered, Reading, SourceId};
use ctx_select::count::MessageCounter;
use ctx_store::hash_bytes;
use ctx_transcript::compaction::{Compaction, Kept};
use ctx_transcript::dialect::Anthropic;
use ctx_transcript::{Object, Spool};

use self::kept::{Origins, Stay};
use self::marked::{MARK, Marked};
use super::content::{Content, temporary};
use super::outcome::Report;
use super::plan::Plan;
use crate::bound::BoundReasoning;
use crate::count::{Calibration, CalibrationPass};
use crate::unread::FirstUnread;
use crate::{ErrorKind, Notes, PassError, Session};

/// A session whose lines belong to each other, and what is sent of it as a plain session.
pub(super) struct Linked<'c> {
    pub(super) log: &'c Content,
    /// The context, one message a record.
    pub(super) lowered: Content,
    /// What the usage tells that is recorded in the log, where that was asked for.
    calibration: Option<Calibration>,
    /// Whether there is any message in it, sent or not.
    has_message: bool,
}

/// What a session is to become.
pub(super) enum Written {
    /// Itself, with these lines behind it.
    Behind(Vec<u8>),
    /// Another one.
    Anew(Content),
}

/// Which records of a session stay, and what stands for the others.
struct Decided {
    stay: Stay,
    /// Of what stays, in that order: the text, and whether it has changed.
    texts: Vec<Option<(String, bool)>>,
    summary: Option<String>,
    /// All that was sent.
    context: Vec<SourceId>,
    origins: Origins,
}

/// What is told of a compaction beside what it did.
pub(super) struct Circumstances {
    /// Tokens before and after.
    pub(super) tokens: (u64, u64),
    /// Whether nobody asked for it.
    pub(super) is_automatic: bool,
    /// When.
    pub(super) now: DateTime<Utc>,
    /// Where temporary files lie.
    pub(super) temp: PathBuf,
}

impl Circumstances {
    /// Of a compaction by that plan, with that report.
    pub(super) fn of(plan: &Plan, report: &Report) -> Self {
        Self {
            tokens: (report.tokens_before, report.tokens_after),
            is_automatic: plan.only_if_due,
            now: (plan.now)(),
            temp: plan.temp.clone(),
        }
    }
}

/// A document that is an agent's whole session can get no line behind it.
pub(super) fn refuse_document(log: &Content) -> Result<(), PassError> {
    if log.is_document && log.dialect.compaction_writer().is_some() {
        let (dialect, done) = (log.dialect.name(), "compacted");
        return Err(ErrorKind::LogDocument { dialect, done }.into());
    }
    Ok(())
}

/// What the agent is told where nothing was summed up.
const NOTHING_LEFT: &str =
    "No message was summed up: only results of tools, or reasoning, were shortened or left out.";

impl<'c> Linked<'c> {
    /// Of a session whose lines belong to each other; `None` of any other.
    pub(super) fn of(log: &'c Content, plan: &Plan) -> Result<Option<Self>, PassError> {
        let counter = plan.wants_calibration().then_some(plan.counter);
        if !log.dialect.is_linked() {
            return Ok(None);
        }
        refuse_document(log)?;
        let bound = &mut BoundReasoning::default();
        let read = Self::read(log, log.session()?, &plan.temp, counter, bound)?;
        if !log.is_detected && !read.has_message && log.length()? > 0 {
            return Err(ErrorKind::NoMessageOf(log.dialect.name()).into());
        }
        Ok(Some(read))
    }

    /// What the agent would send of that session: the log, or what it is to become.
    fn read(
        log: &'c Content,
        mut session: Session,
        temp: &Path,
        counter: Option<MessageCounter>,
        bound: &mut BoundReasoning,
    ) -> Result<Self, PassError> {
        let mut converter = Converter::new(&Anthropic);
        converter.mark = Some(MARK);
        converter.whole_records = true;
        let mut reading = Reading::new(converter, log.dialect, Spool::new(temp));
        let mut learning = counter.map(|it| CalibrationPass::new(it, Some(log.dialect)));
        let (mut unread, mut has_message) = (FirstUnread::default(), false);
        session.each(|record| {
            unread.look_at(record, Some(log.dialect));
            let is_message = |object: &Object<'_>| log.dialect.outline(object).is_some();
            has_message = has_message || record.whole_object().is_some_and(is_message);
            bound.keep(record, log.dialect);
            if let Some(learning) = &mut learning {
                learning.push(record, None);
            }
            Ok(reading.push(record)?)
        })?;
        drop(session);
        let mut lines = Vec::new();
        let file = temporary(|output| {
            let report = reading.write(output)?;
            lines = report.sources.iter().map(|it| it.first_line).collect();
            Ok(())
        })?;
        Ok(Self {
            log,
            lowered: log.lowered(&Lowered, file, Arc::from(lines), unread),
            calibration: learning.map(CalibrationPass::finish),
            has_message,
        })
    }

    /// The plan with what is known of the log's tokens.
    pub(super) fn plan(&self, plan: &Plan, notes: &mut Notes) -> Plan {
        match &self.calibration {
            Some(calibration) => plan.by(calibration, notes),
            None => plan.clone(),
        }
    }

    /// What the session is to become, so that what is sent of it is `new`, which a compaction
    /// made of [`Self::lowered`].
    pub(super) fn written(
        &self,
        new: &Content,
        circumstances: &Circumstances,
        notes: &mut Notes,
    ) -> Result<Written, PassError> {
        let marked = Marked::all(new, |_| true)?;
        let decided = self.decided(&marked)?;
        let temp = &circumstances.temp;
        let (written, read);
        let mut bound = BoundReasoning::default();
        bound.change();
        if decided.origins.writer.is_some() {
            let lines = decided.lines(circumstances)?;
            let session = self.log.session_with(&self.behind(&lines)?)?;
            read = Linked::read(self.log, session, temp, None, &mut bound)?.lowered;
            written = Written::Behind(lines);
        } else {
            let session = anew::write(self.log, &decided)?;
            read = Linked::read(&session, session.session()?, temp, None, &mut bound)?.lowered;
            written = Written::Anew(session);
        }
        meant::compare(new, &read)?;
        bound.warn(notes);
        Ok(written)
    }

    /// Which records stay when `new` is left.
    fn decided(&self, new: &[Marked]) -> Result<Decided, PassError> {
        let wanted: HashSet<SourceId> = new.iter().flat_map(|it| it.origins.clone()).collect();
        let before = Marked::all(&self.lowered, |it| {
            it.origins.iter().any(|origin| wanted.contains(origin))
        })?;
        let context: Vec<SourceId> = before.iter().flat_map(|it| it.origins.clone()).collect();
        let stay = Stay::of(new);
        let origins = Origins::read(self.log, &stay, &context)?;
        let sessions = (self.log, &self.lowered);
        let (was, is) = (Marked::by_record(&before), Marked::by_record(new));
        let texts = stay.groups.iter();
        let texts = texts.map(|group| origins.text_of(sessions, group, &was, &is));
        Ok(Decided {
            texts: texts.collect(),
            summary: new.iter().find_map(|it| it.summary.clone()),
            context,
            stay,
            origins,
        })
    }

    /// The session as it is to become.
    pub(super) fn with(&self, written: Written) -> Result<Content, PassError> {
        let lines = match written {
            Written::Behind(lines) => lines,
            Written::Anew(session) => return Ok(session),
        };
        let mut log = self.log.file()?;
        let behind = self.behind(&lines)?;
        let file = temporary(|output| {
            std::io::copy(&mut log, output).map_err(PassError::temporary)?;
            output.write_all(&behind).map_err(PassError::temporary)
        })?;
        Ok(self.log.with(file))
    }

    /// What comes behind the log with these lines.
    fn behind(&self, lines: &[u8]) -> Result<Vec<u8>, PassError> {
        let newline: &[u8] = if self.log.ends_line()? { b"" } else { b"\n" };
        Ok([newline, lines].concat())
    }
}

impl Decided {
    /// The lines to append to the log, so that its agent goes on from what stays.
    fn lines(self, circumstances: &Circumstances) -> Result<Vec<u8>, PassError> {
        let kept = self.texts.iter().zip(&self.stay.groups);
        let kept = kept.filter_map(|(text, group)| {
            let (text, is_changed) = text.as_ref()?;
            Some(Kept {
                text,
                messages: group.messages(),
                is_changed: *is_changed,
            })
        });
        let last = self.origins.last().to_owned();
        let summary = self.summary.as_deref().unwrap_or(NOTHING_LEFT);
        let compaction = Compaction {
            summary,
            kept: kept.collect(),
            kept_before: self.stay.before,
            is_end: self.context.ends_with(&self.stay.origins()),
            last: &last,
            tokens: circumstances.tokens,
            is_automatic: circumstances.is_automatic,
            now: circumstances.now,
            seed: seed(self.origins.records, &last, summary)?,
        };
        let writer = self.origins.writer.expect("asked before");
        let lines = writer.finish(&compaction)?;
        Ok((lines.join("\n") + "\n").into_bytes())
    }
}

/// What ids are made of: a log that has grown, or another summary, gets others.
fn seed(records: u64, last: &str, summary: &str) -> Result<[u8; 32], PassError> {
    let text = format!("{records}\n{last}\n{summary}");
    Ok(hash_bytes(&mut text.as_bytes()).map_err(ErrorKind::Read)?)
}
