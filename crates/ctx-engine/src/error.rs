//! The errors that a pass can return.

use std::io;

use ctx_format::compaction::CompactionError;
use ctx_format::{Dialect, EarlyEnd, Foreign, Problem, Unread};
use ctx_llm::TapeError;

use crate::allocate::TooSmall;

/// The result of most functions in this crate.
pub type Result<T, E = PassError> = std::result::Result<T, E>;

/// The error that a pass returned, and the lines that it is about.
#[derive(Debug, thiserror::Error)]
#[error("{}{kind}", within(lines))]
pub struct PassError {
    /// Where the error occurred: the record's line and, in a batch, the message's line inside the
    /// record. The list is empty if the error is about the whole session.
    pub lines: Vec<u64>,
    /// The kind of error.
    #[source]
    pub kind: ErrorKind,
}

/// The kinds of errors. The tools find the hint for a kind by the name of its variant.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
pub enum ErrorKind {
    /// The session cannot be read.
    #[error("cannot read: {0}")]
    Read(io::Error),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(io::Error),
    /// A temporary file cannot be used.
    #[error("cannot use a temporary file: {0}")]
    Temporary(io::Error),
    /// A line is bad, and the caller does not accept bad lines.
    #[error("{0}")]
    BadLine(String),
    /// A line is bad and would be lost, although a message could be recovered from it.
    #[error("{0}, so a message would be lost")]
    LostLine(String),
    /// A line in a batch is not a conversation.
    #[error("not a conversation ({0})")]
    NoConversation(String),
    /// One of the two batches to compare has fewer lines than the other.
    #[error("there is no line {0}")]
    NoSuchLine(u64),
    /// The dialect of the session is unknown.
    #[error("the format is not known, so it cannot be read")]
    UnknownFormat,
    /// The session is in a known format that we cannot read.
    #[error("{0}, so it cannot be read")]
    Foreign(Foreign),
    /// A message in the session is not understood.
    #[error("{unread}, so nothing can be {done}{}", seems(*foreign))]
    Unread {
        /// The part that is not understood.
        unread: Unread,
        /// The format that the part is probably in.
        foreign: Option<Foreign>,
        /// The operation that is not possible.
        done: &'static str,
    },
    /// A readable summary by the vendor's server is in the part of the session that is kept.
    #[error("the vendor's own compaction replaces all earlier messages here, so it cannot be kept")]
    KeptSummary,
    /// The session has no message in the dialect that the user named.
    #[error("no message of {0}")]
    NoMessageOf(&'static str),
    /// The lines of the session depend on each other, as they do in an agent's own file.
    #[error("a session of {dialect} cannot be {done}, because its lines depend on each other")]
    Linked {
        /// The dialect of the session.
        dialect: &'static str,
        /// The operation that is not possible.
        done: &'static str,
    },
    /// The session is one JSON document, but the operation would write lines for its agent or into
    /// its own file.
    #[error(
        "a session of {dialect} in one JSON document cannot be {done}: lines would replace the document"
    )]
    Document {
        /// The dialect of the session.
        dialect: &'static str,
        /// The operation that is not possible.
        done: &'static str,
    },
    /// The agent would not read the intended context from the result.
    #[error(
        "without the removed lines, the agent would read a different context from here on; nothing was written"
    )]
    ChangedContext,
    /// A record contains an exchange in a dialect other than the session's.
    #[error("the exchange is in the format {found}, but the session is in the format {known}")]
    TwoFormats {
        /// The dialect of the session.
        known: &'static str,
        /// The dialect of the exchange.
        found: &'static str,
    },
    /// The record that determines the session's dialect comes after records that have already been
    /// processed.
    #[error("the first exchange, in the format {found}, comes too late to determine the format")]
    LateFormat {
        /// The dialect of the exchange.
        found: &'static str,
    },
    /// The records have tags, which would be wrong after the operation.
    #[error("the records are tagged")]
    Tagged,
    /// The session cannot be repaired, because its API or agent would also reject the repaired
    /// copy.
    #[error("cannot be repaired: {0}")]
    Unloadable(String),
    /// No message of the session is written.
    #[error("cannot be converted: no message of this file would be sent")]
    NothingToConvert,
    /// The converted session would have this problem.
    #[error("cannot be converted: {0}")]
    IllegalConversion(String),
    /// The output would have a problem that is not in the input.
    #[error("the output would break a rule that the input obeys: {}", .0.why())]
    NewProblem(Problem),
    /// A changed record would no longer be the same message.
    #[error("the change would break the record; nothing was written")]
    OtherRecord,
    /// The input already has a problem, and the caller does not accept such input.
    #[error("{}", .0.why())]
    OldProblem(Problem),
    /// Zones are required, but no record has a tag with a zone.
    #[error("no record is marked as old or kept")]
    NoZones,
    /// The zones in a batch record's tag do not match the record's messages.
    #[error("the zones in the tag do not match the messages")]
    OtherZones,
    /// The stream ended before its announced end.
    #[error(transparent)]
    EarlyEnd(#[from] EarlyEnd),
    /// The records that must stay exceed the budget.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// A model's recorded answer cannot be used.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The model gave no usable answer, and no other summary is allowed.
    #[error("{0}")]
    NoAnswer(String),
    /// The model's summary failed its check, and no other summary is allowed.
    #[error("{0}")]
    FailedCheck(String),
    /// A step performed by the caller of the pass has failed.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
    /// The full session does not begin with the messages of the old session.
    #[error("the session does not begin with the messages of BEFORE")]
    OtherBeginning,
    /// The file of questions for a score cannot be used.
    #[error(transparent)]
    Exam(#[from] ExamError),
    /// Part of a session cannot be expressed in another dialect, and the caller does not accept
    /// such losses.
    #[error("part of the session cannot be expressed in the other format")]
    NotCarried,
    /// The compaction of an agent's own file cannot be expressed in the agent's format.
    #[error(transparent)]
    Words(#[from] CompactionError),
    /// The reply that is not finished has signed reasoning, which the change would make invalid and
    /// which must not be removed before the reply is finished.
    #[error(
        "the change would invalidate the signed reasoning of an open tool loop, which may have to stay until the reply is finished; nothing was written"
    )]
    OpenLoop,
    /// The agent would not read the new lines as intended.
    #[error("the agent would not read the compaction as intended; nothing was written")]
    OtherContext,
}

/// The reason why a file of questions cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExamError {
    /// The file is not structured like a file of questions.
    #[error("not a file of questions: {0}")]
    Shape(serde_json::Error),
    /// The file has no questions.
    #[error("no questions")]
    Empty,
    /// A question has no evidence, or it has an empty group of evidence.
    #[error("question {0}: no evidence, or an empty group of evidence")]
    NoEvidence(String),
    /// A quote contains no words, so it would match any text.
    #[error("question {id}: no words in the quote {quote:?}")]
    NoWord {
        /// The id of the question.
        id: String,
        /// The quote as it appears in the file.
        quote: String,
    },
}

/// Returns the dialect, or an error if records may not be changed, removed or added in its
/// sessions.
pub(crate) fn rewritable(
    dialect: Option<&'static dyn Dialect>,
    done: &'static str,
) -> Result<&'static dyn Dialect> {
    let dialect = dialect.ok_or(ErrorKind::UnknownFormat)?;
    if dialect.is_linked() {
        let dialect = dialect.name();
        return Err(ErrorKind::Linked { dialect, done }.into());
    }
    Ok(dialect)
}

impl ErrorKind {
    /// Adds the line where the error occurred.
    #[must_use]
    pub fn at(self, line: u64) -> PassError {
        PassError::from(self).at(line)
    }

    /// The session contains a summary by the vendor's server, which prevents `done`.
    pub(crate) fn vendor_summary(done: &'static str) -> Self {
        Self::Unread { unread: Unread::vendor_summary(), foreign: None, done }
    }

    /// Returns true if the error is that a model returned no usable answer.
    pub(crate) fn is_of_the_model(&self) -> bool {
        matches!(self, Self::NoAnswer(_) | Self::FailedCheck(_))
    }
}

fn seems(foreign: Option<Foreign>) -> String {
    foreign.map_or_else(String::new, |foreign| format!(": {foreign}"))
}

impl PassError {
    /// Adds the line of the record where the error occurred.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.lines.insert(0, line);
        self
    }

    /// Creates an error about a temporary file.
    pub fn temporary(error: io::Error) -> Self {
        ErrorKind::Temporary(error).into()
    }

    /// Creates an error from the failure of a step performed by the caller.
    pub fn caller(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ErrorKind::Caller(error.into()).into()
    }

    /// Creates an error about the output.
    pub fn output(error: io::Error) -> Self {
        ErrorKind::Output(error).into()
    }
}

impl<E: Into<ErrorKind>> From<E> for PassError {
    fn from(error: E) -> Self {
        Self { lines: Vec::new(), kind: error.into() }
    }
}

fn within(lines: &[u64]) -> String {
    lines.iter().fold(String::new(), |text, line| format!("{text}{line}: "))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{ErrorKind, PassError};

    #[test]
    fn lines_are_told_from_the_outside_in() {
        let error = ErrorKind::NoZones.at(2).at(7);
        assert_eq!(error.lines, [7, 2]);
        assert_eq!(error.to_string(), "7: 2: no record is marked as old or kept");
    }

    #[test]
    fn what_comes_from_elsewhere_says_what_it_said_there() {
        let full = || io::Error::other("no room");
        for (error, text) in [
            (PassError::temporary(full()), "cannot use a temporary file: no room"),
            (PassError::output(full()), "cannot write: no room"),
            (PassError::caller("the caller failed"), "the caller failed"),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }
}
