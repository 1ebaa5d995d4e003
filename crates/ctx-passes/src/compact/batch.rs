//! Batch records: one conversation a line, each compacted by itself. What cannot be compacted
//! goes through as it came, so that one bad record does not stop a million others.

use std::io::Write;

use ctx_transcript::{Conversation, Dialect, Frame, Object, Record};

use super::content::{Content, temporary};
use super::outcome::Report;
use super::plan::Plan;
use super::stream::compact_stream;
use crate::count::warn_no_conversation;
use crate::error::rewritable;
use crate::{Invalid, Notes, PassError, Session};

/// Where the lines of a batch go, one by one, with what there is to be said of each.
pub type TakeLine<'t> = dyn FnMut(BatchLine, Notes) -> Result<(), PassError> + 't;

/// Compacts each conversation of a batch. It is read as lines: `raw`, without a dialect.
pub fn compact_batch(
    mut pass: BatchPass<'_>,
    batch: &mut Session,
    take: &mut TakeLine<'_>,
    notes: &mut Notes,
) -> Result<(), PassError> {
    batch.each(|record| {
        let mut said = Notes::new();
        let line = pass.push(record, &mut said);
        take(line, said)
    })?;
    batch.bad().report(notes);
    warn_no_conversation(pass.no_conversation, notes);
    Ok(())
}

/// Compacts the conversations of a batch, line by line.
pub struct BatchPass<'p> {
    plan: &'p Plan,
    /// The dialect of all, where somebody named it; else each is looked at.
    dialect: Option<&'static dyn Dialect>,
    name: Option<String>,
    no_conversation: u64,
}

/// What became of a line.
pub struct BatchLine {
    /// What is to be written in its place.
    pub bytes: Vec<u8>,
    /// How the conversation ended, or why it could not be compacted; `None` where the line holds
    /// none.
    pub ended: Option<Result<Report, PassError>>,
}

impl<'p> BatchPass<'p> {
    /// `name` is what the user calls the file; none of stdin.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, name: Option<&str>) -> Self {
        Self {
            plan,
            dialect,
            name: name.map(str::to_owned),
            no_conversation: 0,
        }
    }

    /// The next record. A conversation in a line that is too long to be looked at, or in a bad
    /// one, stays.
    fn push(&mut self, record: &Record<'_>, notes: &mut Notes) -> BatchLine {
        let untagged = record.untagged();
        let as_it_came = |ended| BatchLine {
            bytes: untagged.to_vec(),
            ended,
        };
        // It is read again without its tag, so that the places in it are those that are written.
        let plain = record.origin().record(&untagged);
        let Some(object) = plain.whole_object() else {
            return as_it_came(None);
        };
        let Some(conversation) = Conversation::of(object) else {
            self.no_conversation += 1;
            return as_it_came(None);
        };
        let mut inner = Notes::new();
        let compacted = self.compact(object, &conversation, &mut inner);
        notes.extend_within(record.line, inner);
        let (mut report, list) = match compacted {
            Ok(compacted) => compacted,
            Err(error) => return as_it_came(Some(Err(error.at(record.line)))),
        };
        if let Some(error) = report.no_summary.take() {
            return as_it_came(Some(Err(error.at(record.line))));
        }
        report.name.clone_from(&self.name);
        report.line = Some(record.line);
        let Some(list) = list else {
            return as_it_came(Some(Ok(report)));
        };
        let mut bytes = untagged[..untagged.len() - object.text().len()].to_vec();
        bytes.extend_from_slice(&list);
        BatchLine {
            bytes,
            ended: Some(Ok(report)),
        }
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
