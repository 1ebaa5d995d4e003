//! Why a pass gives up.

use std::io;

use crate::allocate::TooSmall;
use ctx_format::compaction::CompactionError;
use ctx_format::convert::ConvertError;
use ctx_format::{Dialect, EarlyEnd, Foreign, Problem, Unread};
use ctx_llm::TapeError;

use crate::score::ExamError;

/// The result of most functions here.
pub type Result<T, E = PassError> = std::result::Result<T, E>;

/// Why a pass gives up, and where.
#[derive(Debug, thiserror::Error)]
#[error("{}{kind}", within(lines))]
pub struct PassError {
    /// The lines it is about, from the outside in: a record's, and of a batch record
    /// the message's; none when it is about the whole session.
    pub lines: Vec<u64>,
    /// The kind of error.
    #[source]
    pub kind: ErrorKind,
}

/// The kinds of errors.
#[derive(Debug, thiserror::Error)]
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
    /// A line is bad, and such lines are refused.
    #[error("{0}")]
    BadLine(String),
    /// A line of a batch is no conversation.
    #[error("{0}: it is no conversation")]
    NoConversation(String),
    /// One of two batches that are compared has fewer lines.
    #[error("there is no line {0}")]
    NoSuchLine(u64),
    /// The session is of no known dialect, so this cannot be done with it.
    #[error("the format is not known, so nothing can be {0}")]
    UnknownFormat(&'static str),
    /// The session is of a format that is known by name and not read.
    #[error("{foreign}, of which nothing can be {done}")]
    Foreign {
        /// Its format.
        foreign: Foreign,
        /// The operation that is not possible.
        done: &'static str,
    },
    /// A message of the session is not understood.
    #[error("{unread}, so nothing can be {done}{}", seems(*foreign))]
    Unread {
        /// The unread part.
        unread: Unread,
        /// The probable format.
        foreign: Option<Foreign>,
        /// The operation that is not possible.
        done: &'static str,
    },
    /// There is no message of the dialect that was named.
    #[error("no message of {0}")]
    NoMessageOf(&'static str),
    /// Its lines belong to each other, as in an agent's own file.
    #[error("a session of {dialect}, whose lines belong together: it cannot be {done}")]
    Linked {
        /// Its dialect.
        dialect: &'static str,
        /// The operation that is not possible.
        done: &'static str,
    },
    /// One JSON document that is an agent's whole session.
    #[error(
        "a session of {dialect} in one JSON document, which would come out as lines that its agent does not read: it cannot be {done}"
    )]
    LogDocument {
        /// Its dialect.
        dialect: &'static str,
        /// The operation that is not possible.
        done: &'static str,
    },
    /// The agent would read something else than was decided.
    #[error(
        "without the lines that would go, the agent would not read the same context from here on; nothing was written"
    )]
    ChangedContext,
    /// A record has an exchange of another dialect than the session's.
    #[error("an exchange of the format {found} in a session of the format {known}")]
    TwoFormats {
        /// The session's dialect.
        known: &'static str,
        /// The exchange's.
        found: &'static str,
    },
    /// A record that says of which dialect the session is comes too late.
    #[error("the first exchange, of the format {found}, is too late to know the format by")]
    LateFormat {
        /// The exchange's dialect.
        found: &'static str,
    },
    /// The session is of no known dialect: a record is neither a message nor a conversation.
    #[error("no message of a known format")]
    NoMessage {
        /// Whether it could be read as a batch.
        batch: bool,
    },
    /// The records have tags, which would no longer be true.
    #[error("the records are tagged")]
    Tagged,
    /// Sessions of this dialect cannot be repaired here.
    #[error("sessions of {0} cannot be repaired")]
    NoRepair(&'static str),
    /// The session cannot be repaired: its API or its agent would still refuse the copy.
    #[error("cannot be repaired: {0}")]
    Unloadable(String),
    /// The output would have a problem that the input does not have.
    #[error("the output would break a rule that the input keeps: {}", .0.why())]
    NewProblem(Problem),
    /// A changed record would no longer be the same message.
    #[error("the change would break the record; nothing was written")]
    OtherRecord,
    /// The input has a problem, and such input is refused.
    #[error("{}", .0.why())]
    OldProblem(Problem),
    /// Zones are needed, and no record has one.
    #[error("no record has a zone")]
    NoZones,
    /// The tag of a batch record does not fit its messages.
    #[error("the zones of the tag are not those of the messages")]
    OtherZones,
    /// The stream ended before its announced end.
    #[error(transparent)]
    EarlyEnd(#[from] EarlyEnd),
    /// What must stay exceeds the budget.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// A recorded answer cannot be used.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The model gave no usable answer, and no other summary may be taken.
    #[error("{0}")]
    NoAnswer(String),
    /// The model's summary failed its check, and no other summary may be taken.
    #[error("{0}")]
    FailedCheck(String),
    /// The caller failed in something that it does for the pass.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
    /// The session is of no known dialect, so it cannot be scored.
    #[error("the format is not known")]
    NoFormat,
    /// The whole session does not begin with the old one.
    #[error("the session does not begin with the messages of BEFORE")]
    OtherBeginning,
    /// The questions that a score is to answer cannot be used.
    #[error(transparent)]
    Exam(#[from] ExamError),
    /// Something of a session has no place in another dialect, and such sessions are refused.
    #[error("not all of it can be carried")]
    NotCarried,
    /// An agent's own file cannot be compacted in the agent's own words.
    #[error(transparent)]
    Words(#[from] CompactionError),
    /// The agent would not read the new lines as intended.
    #[error("its agent would not read the compaction as it is meant; nothing was written")]
    OtherContext,
}

/// The dialect of a session of which records will be changed, left out or put in; `line` is
/// that of the first record that shows no format.
pub(crate) fn rewritable(
    dialect: Option<&'static dyn Dialect>,
    done: &'static str,
    line: Option<u64>,
) -> Result<&'static dyn Dialect> {
    let Some(dialect) = dialect else {
        let lines = line.into_iter().collect();
        return Err(PassError { lines, kind: ErrorKind::UnknownFormat(done) });
    };
    if dialect.is_linked() {
        let dialect = dialect.name();
        return Err(ErrorKind::Linked { dialect, done }.into());
    }
    Ok(dialect)
}

/// Conversions are written to temporary files.
impl From<ConvertError> for ErrorKind {
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::Temporary(error) | ConvertError::Output(error) => Self::Temporary(error),
        }
    }
}

impl ErrorKind {
    /// The error in this line.
    #[must_use]
    pub fn at(self, line: u64) -> PassError {
        PassError::from(self).at(line)
    }

    /// Whether a model did not give what was asked of it.
    pub(crate) fn is_of_the_model(&self) -> bool {
        matches!(self, Self::NoAnswer(_) | Self::FailedCheck(_))
    }
}

fn seems(foreign: Option<Foreign>) -> String {
    foreign.map_or_else(String::new, |foreign| format!(": {foreign}"))
}

impl PassError {
    /// About the record in this line.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.lines.insert(0, line);
        self
    }

    /// The same error with the format of a session in no known dialect.
    #[must_use]
    pub fn named(self, foreign: Option<Foreign>) -> Self {
        let done = match &self.kind {
            ErrorKind::UnknownFormat(done) => *done,
            ErrorKind::NoFormat => "scored",
            ErrorKind::NoMessage { .. } => "read",
            _ => return self,
        };
        match foreign {
            Some(foreign) => Self { kind: ErrorKind::Foreign { foreign, done }, ..self },
            None => self,
        }
    }

    /// A temporary file failed.
    pub fn temporary(error: io::Error) -> Self {
        ErrorKind::Temporary(error).into()
    }

    /// The caller failed.
    pub fn caller(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ErrorKind::Caller(error.into()).into()
    }

    /// The output failed.
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
        let error = ErrorKind::NoFormat.at(2).at(7);
        assert_eq!(error.lines, [7, 2]);
        assert_eq!(error.to_string(), "7: 2: the format is not known");
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
