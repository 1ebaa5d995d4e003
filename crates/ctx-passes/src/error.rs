//! Why a pass gives up.

use std::fmt;
use std::io;

use ctx_llm::TapeError;
use ctx_memory::MergeError;
use ctx_select::budget::TooSmall;
use ctx_store::StoreError;
use ctx_transcript::{EarlyEnd, Offence};

use crate::extract::ExtractError;

/// Why a pass gives up, and where.
#[derive(Debug)]
pub struct PassError {
    /// The lines it is about, from the outside in: a record's, and of a batch record
    /// the message's; none when it is about the whole session.
    pub lines: Vec<u64>,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// The session cannot be read.
    #[error("cannot read: {0}")]
    Read(io::Error),
    /// Where the output goes to does not take it.
    #[error("cannot write: {0}")]
    Output(io::Error),
    /// A temporary file cannot be used.
    #[error("cannot use a temporary file: {0}")]
    Temporary(io::Error),
    /// A line is bad, and such lines are not wanted.
    #[error("{0}")]
    BadLine(String),
    /// Nobody knows which records are messages.
    #[error("the format is not known, so nothing can be {0}")]
    UnknownFormat(&'static str),
    /// A record is no message, or in a batch no conversation, of a known format.
    #[error("no message of a known format")]
    NoMessage {
        /// Whether it may be one of a batch.
        batch: bool,
    },
    /// The records have tags, and those would become wrong.
    #[error("the records are tagged")]
    Tagged,
    /// Nobody but the agents that write sessions of this dialect mends them.
    #[error("sessions of {0} cannot be mended")]
    NoMend(&'static str),
    /// A session cannot be mended: this would still be wrong with it.
    #[error("cannot be mended: in the copy, line {}, {}", .0.line, .0.why())]
    Unmendable(Offence),
    /// The output would be less legal than the input.
    #[error("the output would break a rule that the input keeps: {}", .0.why())]
    NewOffence(Offence),
    /// A changed record would not be the message that it was.
    #[error("the change would break the record; nothing was written")]
    OtherRecord,
    /// The input is not legal, and that is not wanted.
    #[error("{}", .0.why())]
    OldOffence(Offence),
    /// Zones are needed, and nothing was split.
    #[error("no record has a zone")]
    NoZones,
    /// The tag of a batch record does not fit its messages.
    #[error("the zones of the tag are not those of the messages")]
    OtherZones,
    /// The stream is not all that its writer had to say.
    #[error(transparent)]
    EarlyEnd(#[from] EarlyEnd),
    /// What has to stay is more than the budget.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// A recorded answer cannot be used.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// No usable answer came, and nothing else may take its place.
    #[error("{0}")]
    NoAnswer(String),
    /// What a model wrote failed its check, and nothing else may take its place.
    #[error("{0}")]
    FailedCheck(String),
    /// Whoever runs the pass has failed in what it does for it.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
    /// Items for memory cannot be found.
    #[error(transparent)]
    Extract(#[from] ExtractError),
    /// Nobody knows which records are messages, and so what of them survived.
    #[error("the format is not known")]
    NoFormat,
    /// The whole session is not the one that the old one begins.
    #[error("the session does not begin with the messages of BEFORE")]
    OtherBeginning,
    /// One JSON document, where a session file is to be compacted in place.
    #[error("one JSON document, not lines: an agent could not read it any more")]
    Document,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Items cannot be merged into the memory.
    #[error(transparent)]
    Memory(#[from] MergeError),
    /// The store or its memory failed, and the session file is as it was.
    #[error(transparent)]
    Unchanged(Box<ErrorKind>),
}

impl ErrorKind {
    /// In this line.
    #[must_use]
    pub fn at(self, line: u64) -> PassError {
        PassError::from(self).at(line)
    }
}

impl PassError {
    /// About the record in this line.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.lines.insert(0, line);
        self
    }

    /// A temporary file failed.
    pub fn temporary(error: io::Error) -> Self {
        ErrorKind::Temporary(error).into()
    }

    /// Whoever runs the pass has failed.
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
        Self {
            lines: Vec::new(),
            kind: error.into(),
        }
    }
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            write!(f, "{line}: ")?;
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for PassError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.kind)
    }
}
