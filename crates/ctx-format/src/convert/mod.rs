//! Converts sessions between dialects: the active context, message by message.
//!
//! It reads what the agent would send, in that order: fragments of a message become one message,
//! results directly follow the reply with their calls, and a record with a call and its result
//! gives both. Texts never change. The [`Report`] counts the content that the target cannot
//! represent, with its line.
//!
//! A session can also be *lowered* ([`Converter::whole_records`]): then each record, and each
//! message of a list in a record, is in exactly one exchange of the new session, so a decision
//! about exchanges is a decision about records.

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

/// The options of a conversion.
#[derive(Clone, Copy)]
pub struct Converter<'c> {
    /// The dialect of the new session.
    pub to: &'static dyn Dialect,
    /// The member in which each written record names the records of the source that it was made of,
    /// by their numbers from 0 ([`SourceId`]).
    pub mark: Option<&'c str>,
    /// Each message is in one exchange of the new session, and no record of the source, or message
    /// of a list in a record, is in two. Messages that cannot form an exchange become one message.
    /// Only records without a message are left out. Only dialects of messages support this.
    pub whole_records: bool,
    /// The id of the new session, if the target is an agent's format. By default it is a hash of
    /// the session's content.
    pub session: Option<&'c str>,
    /// The agent's working folder. The default is the folder that the source names.
    pub cwd: Option<&'c str>,
    /// The time of messages without a time.
    pub now: DateTime<Utc>,
}

impl Converter<'_> {
    /// Creates a converter to the dialect `to`, with defaults.
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
    /// The temporary file for waiting records could not be written or read.
    #[error("cannot write a temporary file: {0}")]
    Temporary(#[source] io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Output(#[source] io::Error),
}
