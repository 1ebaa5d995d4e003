//! Converts a session between dialects: the messages of its context are written one by one.
//!
//! The messages that the agent would send are read in the order in which they are sent. The
//! fragments of a message become one message, results directly follow the reply with their calls,
//! and a record that has a call and its result yields both. The texts of messages never change. The
//! [`Report`] counts the content that the target format cannot represent, and names the first line
//! with such content.
//!
//! A session can also be *lowered* ([`Converter::whole_records`]). Each record of a lowered
//! session, or each message in a record with a list, is in exactly one exchange of the new session,
//! so a decision about exchanges is also a decision about records.

mod entry;
mod lowered;
pub(crate) mod media;
mod pairing;
mod reading;
mod reply;
pub(crate) mod report;
pub(crate) mod target;
pub(crate) mod turn;
mod writing;

use std::io;

use chrono::{DateTime, Utc};
use thiserror::Error;

use crate::Dialect;

pub use lowered::Lowered;
pub use reading::Reading;
pub use report::{Loss, LossKind, Report, Source, SourceId};

/// How to convert a session.
#[derive(Clone, Copy)]
pub struct Converter<'c> {
    /// The dialect to write.
    pub to: &'static dyn Dialect,
    /// The member in which each written record lists the source records that it was made from,
    /// numbered from 0 ([`SourceId`]). `None` if no such member is wanted.
    pub mark: Option<&'c str>,
    /// Whether to lower the session: each source record, or each message in a record with a list,
    /// is written in exactly one exchange. Messages that cannot form an exchange become one
    /// message. Only records without a message are left out of a lowered session. The target must
    /// be a dialect of messages.
    pub whole_records: bool,
    /// The id of the new session if the target is an agent's format; by default, a hash of the
    /// content of the session.
    pub session: Option<&'c str>,
    /// The working folder of the agent; by default, the folder that the source session names.
    pub cwd: Option<&'c str>,
    /// The time to write for messages that have no time.
    pub now: DateTime<Utc>,
}

impl Converter<'_> {
    /// Creates a converter to the dialect `to`, with defaults for all other settings.
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

/// Why a conversion failed.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The temporary file for waiting messages could not be written or read.
    #[error("cannot write a temporary file: {0}")]
    Temporary(#[source] io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Output(#[source] io::Error),
}
