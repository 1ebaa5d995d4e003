//! Compacts a batch, which has one conversation per line. Each conversation is compacted
//! separately. A line that cannot be compacted is copied unchanged, so it does not keep the other
//! conversations from being compacted.

use std::io::Write;
use std::num::NonZeroUsize;

use ctx_format::{Dialect, Frame, Origin, Record, Tag, Watch};

use super::compact_stream;
use super::content::{Content, temporary};
use super::options::{Environment, Options};
use super::report::{Attention, Report};
use crate::count::warn_no_conversation;
use crate::error::rewritable;
use crate::parallel::in_order;
use crate::{ErrorKind, Invalid, Notes, PassError, Result, Session};

/// A function that takes the next line of the new batch and any notes about the line.
pub type TakeLine<'t> = dyn FnMut(BatchLine, Notes) -> Result<()> + 't;

/// The options for compacting a batch.
pub struct BatchPass<'p> {
    /// The options for compacting each conversation.
    pub options: &'p Options,
    /// The environment for compacting each conversation.
    pub environment: &'p Environment,
    /// The dialect of all conversations, if the user named it.
    pub dialect: Option<&'static dyn Dialect>,
    /// The file as the user named it, or `None` for stdin.
    pub name: Option<String>,
    /// The maximum number of conversations to compact at the same time.
    pub jobs: NonZeroUsize,
    /// Whether conversations that could not be compacted get a tag that gives the reason.
    pub tag_failed: bool,
}

/// A line in the new batch.
pub struct BatchLine {
    /// The bytes of the line.
    pub bytes: Vec<u8>,
    /// The report on the conversation's compaction, or the reason why it failed. `None` if the line
    /// is not a conversation.
    pub ended: Option<Result<Report>>,
}

/// The result of processing one line on a worker thread.
struct Done {
    line: BatchLine,
    notes: Notes,
    /// Whether the line is a JSON object that is not a conversation.
    is_other: bool,
}

/// The report on a conversation and, if its messages changed, the new line.
type Compacted = (Report, Option<Vec<u8>>);

impl BatchPass<'_> {
    /// Compacts each conversation in a batch. The batch must have been opened in `raw` mode.
    pub fn compact(
        &self,
        batch: &mut Session,
        take: &mut TakeLine<'_>,
        notes: &mut Notes,
    ) -> Result<()> {
        let mut no_conversation = 0;
        in_order(
            self.jobs,
            |push| {
                batch.each(|record| {
                    let line = (record.origin.clone(), record.untagged().into_owned());
                    push(line, record.bytes.len())
                })
            },
            |(origin, bytes)| self.line(&origin, bytes),
            |done| {
                let Done { line, notes, is_other } = done?;
                no_conversation += u64::from(is_other);
                take(line, notes)
            },
        )?;
        batch.bad.report(notes);
        warn_no_conversation(no_conversation, notes);
        Ok(())
    }

    /// Compacts the conversation in a line. `bytes` is the line without its tag. Lines that are bad
    /// or too long are not changed.
    fn line(&self, origin: &Origin, bytes: Vec<u8>) -> Result<Done> {
        let record = origin.clone().record(&bytes);
        let mut notes = Notes::default();
        let tag = |why: &str| if self.tag_failed { tagged(&record, why) } else { None };
        let frame = Frame::of_record(&record);
        let done = frame.map(|frame| self.conversation(record.line, &frame, &mut notes));
        let (new, ended) = match done {
            None => (None, None),
            Some(Ok((report, None))) if report.attention != Attention::None => {
                (tag(report.outcome.into()), Some(Ok(report)))
            }
            Some(Ok((report, new))) => (new, Some(Ok(report))),
            // If the disk is full, all later conversations would also fail.
            Some(Err(error)) if matches!(error.kind, ErrorKind::Temporary(_)) => return Err(error),
            Some(Err(error)) => (tag(&error.kind.to_string()), Some(Err(error.at(record.line)))),
        };
        let is_other = record.whole_object().is_some() && ended.is_none();
        Ok(Done { line: BatchLine { bytes: new.unwrap_or(bytes), ended }, notes, is_other })
    }

    /// Compacts the conversation in the given line.
    fn conversation(&self, line: u64, frame: &Frame, notes: &mut Notes) -> Result<Compacted> {
        let mut inner = Notes::default();
        let compacted = self.messages(frame, &mut inner);
        notes.extend_within(line, inner);
        let (mut report, new) = compacted?;
        if let Some(error) = report.no_summary.take() {
            return Err(error);
        }
        report.name.clone_from(&self.name);
        report.line = Some(line);
        Ok((report, new))
    }

    fn messages(&self, frame: &Frame, notes: &mut Notes) -> Result<Compacted> {
        let lines = frame.lines();
        let file = temporary(|output| output.write_all(&lines).map_err(PassError::temporary))?;
        let content = Content::open(file, self.dialect, Invalid::Fail, Watch::default())?;
        // The records in an agent's log depend on each other's lines, which a list of messages does
        // not have.
        rewritable(Some(content.dialect), "compacted in a batch")?;
        let (report, content) = compact_stream(self.options, self.environment, content, notes)?;
        let new = content.bytes()?;
        Ok((report, (new != lines).then(|| frame.with(&new))))
    }
}

/// Returns the line with a tag that gives the reason why it was not compacted.
fn tagged(record: &Record<'_>, why: &str) -> Option<Vec<u8>> {
    let why = serde_json::Value::from(why);
    let tag = Tag { others: vec![format!("\"failed\":{why}")], ..Tag::default() };
    let mut line = Vec::new();
    let written = record.splice()?.write(record.bytes, &tag, &mut line);
    written.ok().map(|()| line)
}
