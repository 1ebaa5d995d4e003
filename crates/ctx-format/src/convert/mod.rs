//! Converts sessions between dialects: the active context, message by message.
//!
//! It reads what the agent would send, in that order: fragments of a message become one message,
//! results directly follow the reply with their calls, and a record with a call and its result
//! gives both. Texts never change. What the target has no place for is counted in the [`Report`],
//! with its line.
//!
//! A session can also be *lowered* ([`Converter::whole_records`]): then each record, and each
//! message of a list in a record, is in exactly one exchange of the new session, so a decision
//! about exchanges is a decision about records.

use crate::Dialect;
use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};
use std::fmt;
use std::io;
use thiserror::Error;

mod lowered;
pub(crate) mod media;
mod pairing;
pub(crate) mod reading;
mod reply;
mod report;
pub(crate) mod target;
pub(crate) mod turn;
mod writing;

pub(crate) use crate::record::json;
pub(crate) use reading as session;
pub(crate) use turn as said;

pub use lowered::Lowered;
pub use reading::Reading;
pub use report::{Kind, Loss, Report, Source};

/// How a session is converted.
#[derive(Clone, Copy)]
pub struct Converter<'c> {
    /// The dialect of the new session.
    pub to: &'static dyn Dialect,
    /// A member of each record written that says which records of the source it was made of:
    /// their numbers, from 0 ([`SourceId`]).
    pub mark: Option<&'c str>,
    /// No record of the source, and no message of a list in one, is in two exchanges of the new
    /// session, and each message is in one: what no exchange can be made of is one message.
    /// Only what is no message is left out. For a dialect of messages.
    pub whole_records: bool,
    /// The id of the new session, of an agent; else one is made of what it says.
    pub session: Option<&'c str>,
    /// The folder that an agent works in; else the one that the source names.
    pub cwd: Option<&'c str>,
    /// The time of what has none.
    pub now: DateTime<Utc>,
}

impl Converter<'_> {
    /// Into the dialect `to`.
    pub fn new(to: &'static dyn Dialect) -> Self {
        Self {
            to,
            mark: None,
            whole_records: false,
            session: None,
            cwd: None,
            now: DateTime::UNIX_EPOCH,
        }
    }
}

/// Why a conversion fails.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The records could not wait in their file.
    #[error("cannot write a temporary file: {0}")]
    Temporary(#[source] io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Output(#[source] io::Error),
}

/// A record of a session, or one message of a record that holds a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    /// The number of the record, from 0, over all records of the session.
    pub record: u64,
    /// The number of the message in it, from 0; `None` where the record is one message.
    pub message: Option<usize>,
}

impl SourceId {
    /// A whole record.
    pub(crate) fn of_record(record: u64) -> Self {
        Self { record, message: None }
    }

    /// One of the messages of a record.
    pub(crate) fn of_message(record: u64, message: usize) -> Self {
        Self { record, message: Some(message) }
    }

    /// Reads what a mark has: JSON, as [`fmt::Display`] writes it.
    pub fn parse(json: &str) -> Option<Self> {
        let inner = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let Some(inner) = inner else {
            return json.parse().ok().map(Self::of_record);
        };
        let (record, message) = inner.split_once('.')?;
        Some(Self::of_message(record.parse().ok()?, message.parse().ok()?))
    }
}

/// As JSON: `12` for a record, `"12.3"` for a message of one.
impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            None => write!(f, "{}", self.record),
            Some(message) => write!(f, "\"{}.{message}\"", self.record),
        }
    }
}

impl Serialize for SourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.message {
            None => serializer.serialize_u64(self.record),
            Some(message) => serializer.collect_str(&format_args!("{}.{message}", self.record)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SourceId;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        for (origin, json) in
            [(SourceId::of_record(12), "12"), (SourceId::of_message(12, 3), "\"12.3\"")]
        {
            assert_eq!(origin.to_string(), json);
            assert_eq!(SourceId::parse(json), Some(origin));
            assert_eq!(serde_json::to_string(&origin).expect("JSON"), json);
        }
        for odd in ["x", "\"12\"", "\"1.x\"", "-1"] {
            assert_eq!(SourceId::parse(odd), None, "{odd}");
        }
    }
}
