//! What is converted into what.

use chrono::{DateTime, Utc};
use ctx_transcript::Dialect;

/// How a session is converted.
#[derive(Clone, Copy)]
pub struct Converter<'c> {
    /// The dialect of the new session.
    pub to: &'static dyn Dialect,
    /// A member of each record written that says which records of the source it was made of:
    /// their numbers, from 0 ([`SourceId`](crate::SourceId)).
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
