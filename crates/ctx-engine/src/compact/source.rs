//! The session that a compaction works on, whatever its file is: lines of messages, a document,
//! or an agent's log.

use super::content::Content;
use super::log;
use super::options::{Environment, Options, Plan};
use super::pruning::Rules;
use super::report::Report;
use crate::{Notes, PassError};

/// An opened session with its limits.
pub struct Source<'a> {
    pub(super) plan: Plan<'a>,
    /// The content to compact.
    pub(super) content: Content,
    /// The log that `content` was lowered from.
    log: Option<Content>,
    /// What is pruned before everything else.
    pub(super) prune_first: Rules,
}

/// The new state of the session's file.
pub enum NewFile {
    /// These lines are appended to it.
    Appended(Vec<u8>),
    /// It gets other content.
    Whole(Content),
}

impl<'a> Source<'a> {
    /// Opens a session for a compaction. The context of a log is written to a temporary file.
    pub fn open(
        options: &'a Options,
        environment: &'a Environment,
        content: Content,
        notes: &mut Notes,
    ) -> Result<Self, PassError> {
        let mut plan = Plan::new(options, environment);
        let (content, log) = if content.dialect.is_linked() {
            let counter = plan.limits.want_usage(options).then_some(environment.counter);
            let lowered = log::lower(&content, &environment.temp, counter)?;
            if let Some(calibration) = &lowered.calibration {
                plan.limits = plan.limits.calibrated(calibration, options, notes);
            }
            (lowered.content, Some(content))
        } else {
            (content, None)
        };
        let prune_first = Rules::first(&plan, &content);
        Ok(Self { plan, content, log, prune_first })
    }

    /// The session as messages.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// The target of the compaction, in our tokens.
    pub fn target(&self) -> Option<u64> {
        self.plan.limits.target
    }

    /// The new file if a compaction leaves `new`.
    pub fn new_file(
        &self,
        new: Content,
        report: &Report,
        notes: &mut Notes,
    ) -> Result<NewFile, PassError> {
        match &self.log {
            Some(log) => log::write((log, &self.content), &new, &self.plan, report, notes),
            None => Ok(NewFile::Whole(new)),
        }
    }

    /// The new content as a document, where the session is one.
    pub fn as_document(&self, new: &Content) -> Result<Option<Content>, PassError> {
        let original = self.log.as_ref().unwrap_or(&self.content);
        if !original.is_document {
            return Ok(None);
        }
        original.document_with(new).map(Some)
    }

    /// Whether the session is an agent's log, or items of a reply.
    pub(super) fn is_log(&self) -> bool {
        self.log.is_some()
    }

    /// The unchanged session.
    pub(super) fn into_original(self) -> Content {
        self.log.unwrap_or(self.content)
    }

    /// The new file as content of its own.
    pub(super) fn new_content(&self, new: NewFile) -> Result<Content, PassError> {
        match (new, &self.log) {
            (NewFile::Appended(lines), Some(log)) => log::with_lines(log, &lines),
            (NewFile::Appended(lines), None) => log::with_lines(&self.content, &lines),
            (NewFile::Whole(content), _) => Ok(content),
        }
    }
}
