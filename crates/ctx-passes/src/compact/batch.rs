//! Batch records: one conversation a line, each compacted by itself. What cannot be compacted
//! goes through as it came, so that one bad record does not stop a million others.

use std::io::Write;
use std::num::NonZeroUsize;

use ctx_transcript::{Conversation, Dialect, Frame, Object, Origin, Record, Tag};

use super::content::{Content, temporary};
use super::outcome::{Attention, Report};
use super::plan::Plan;
use super::stream::compact_stream;
use crate::count::warn_no_conversation;
use crate::error::rewritable;
use crate::in_order::in_order;
use crate::{ErrorKind, Invalid, Notes, PassError, Session};

/// Where the lines of a batch go, one by one, with what there is to be said of each.
pub type TakeLine<'t> = dyn FnMut(BatchLine, Notes) -> Result<(), PassError> + 't;

/// Compacts each conversation of a batch, several at a time. It is read as lines: `raw`, without a
/// dialect.
pub fn compact_batch(
    pass: &BatchPass<'_>,
    batch: &mut Session,
    take: &mut TakeLine<'_>,
    notes: &mut Notes,
) -> Result<(), PassError> {
    let mut no_conversation = 0;
    in_order(
        pass.jobs,
        |push| {
            batch.each(|record| {
                let line = (record.origin(), record.untagged().into_owned());
                push(line, record.bytes.len())
            })
        },
        |(origin, bytes)| pass.line(&origin, bytes),
        |done| {
            let Done { line, notes, other } = done?;
            no_conversation += u64::from(other);
            take(line, notes)
        },
    )?;
    batch.bad().report(notes);
    warn_no_conversation(no_conversation, notes);
    Ok(())
}

/// How the conversations of a batch are compacted.
pub struct BatchPass<'p> {
    /// What is done with each.
    pub plan: &'p Plan,
    /// The dialect of all, where somebody named it; else each is looked at.
    pub dialect: Option<&'static dyn Dialect>,
    /// What the user calls the file; none of stdin.
    pub name: Option<String>,
    /// How many are compacted at a time.
    pub jobs: NonZeroUsize,
    /// Whether one that stays as it is, and should not, says so in a tag.
    pub tag_failed: bool,
}

/// What became of a line.
pub struct BatchLine {
    /// What is to be written in its place.
    pub bytes: Vec<u8>,
    /// How the conversation ended, or why it could not be compacted; `None` where the line holds
    /// none.
    pub ended: Option<Result<Report, PassError>>,
}

/// What a thread has made of a line.
struct Done {
    line: BatchLine,
    notes: Notes,
    /// Whether it is an object that holds no conversation.
    other: bool,
}

impl BatchPass<'_> {
    /// Compacts the conversation of a line, whose bytes are without a tag, so that the places in it
    /// are those that are written. One in a line that is too long to be looked at, or in a bad one,
    /// stays.
    fn line(&self, origin: &Origin, bytes: Vec<u8>) -> Result<Done, PassError> {
        let record = origin.clone().record(&bytes);
        let mut notes = Notes::new();
        let conversation = |object| Some((object, Conversation::of(object)?));
        let tag = |record: &Record<'_>, why: &str| {
            let tagged = self.tag_failed.then(|| tagged(record, why));
            tagged.flatten()
        };
        let object = record.whole_object();
        let (new, ended) = match object.and_then(conversation) {
            None => (None, None),
            Some((object, conversation)) => {
                match self.conversation(&record, object, &conversation, &mut notes) {
                    Ok((report, None)) if report.attention != Attention::None => {
                        (tag(&record, report.outcome.as_str()), Some(Ok(report)))
                    }
                    Ok((report, new)) => (new, Some(Ok(report))),
                    // A full disk is no fault of the conversation, and the next would fail as well.
                    Err(error) if matches!(error.kind, ErrorKind::Temporary(_)) => {
                        return Err(error);
                    }
                    Err(error) => {
                        let tagged = tag(&record, &error.kind.to_string());
                        (tagged, Some(Err(error.at(record.line))))
                    }
                }
            }
        };
        let other = object.is_some() && ended.is_none();
        Ok(Done {
            line: BatchLine {
                bytes: new.unwrap_or(bytes),
                ended,
            },
            notes,
            other,
        })
    }

    /// The report on the conversation of a line, and the new line, if there is one.
    fn conversation(
        &self,
        record: &Record<'_>,
        object: &Object<'_>,
        conversation: &Conversation<'_>,
        notes: &mut Notes,
    ) -> Result<(Report, Option<Vec<u8>>), PassError> {
        let mut inner = Notes::new();
        let compacted = self.compact(object, conversation, &mut inner);
        notes.extend_within(record.line, inner);
        let (mut report, list) = compacted?;
        if let Some(error) = report.no_summary.take() {
            return Err(error);
        }
        report.name.clone_from(&self.name);
        report.line = Some(record.line);
        let before = record.bytes.len() - object.text().len();
        let new = list.map(|list| [&record.bytes[..before], &list].concat());
        Ok((report, new))
    }

    /// The report on a conversation, and the rest of the line from its object on with the new
    /// messages, if there are any.
    fn compact(
        &self,
        object: &Object<'_>,
        conversation: &Conversation<'_>,
        notes: &mut Notes,
    ) -> Result<(Report, Option<Vec<u8>>), PassError> {
        let frame = Frame::of_conversation(object, conversation);
        let lines = frame.lines();
        let file = temporary(|output| {
            let written = output.write_all(&lines);
            written.map_err(PassError::temporary)
        })?;
        let content = Content::open(file, self.dialect, Invalid::Fail)?;
        // The messages of an agent's own log hang on one another: it is no conversation.
        rewritable(Some(content.dialect), "compacted in a batch", None)?;
        let (report, content) = compact_stream(self.plan, content, notes)?;
        let new = content.bytes()?;
        Ok((report, (new != lines).then(|| frame.with(&new))))
    }
}

/// The line with a tag that says why it stays as it is, for who gathers lines of many runs.
fn tagged(record: &Record<'_>, why: &str) -> Option<Vec<u8>> {
    let why = serde_json::Value::from(why);
    let tag = Tag {
        others: vec![format!("\"failed\":{why}")],
        ..Tag::default()
    };
    let mut line = Vec::new();
    let written = record.splice()?.write(record.bytes, &tag, &mut line);
    written.ok().map(|()| line)
}
