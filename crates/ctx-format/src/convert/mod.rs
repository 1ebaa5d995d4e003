//! Converts a session to another dialect. The messages in the session's context are written one by
//! one.
//!
//! Messages are written in the order in which the agent would send them. Fragments of a message are
//! joined, and call results are placed directly after the reply that contains the calls. A record
//! that contains both a call and its result is split into a call and a result. Message texts never
//! change. The [`Report`] counts each kind of content that the target format cannot represent, and
//! gives the line number of its first occurrence.
//!
//! A session can also be *lowered* ([`Converter::mark`]). Each source record of a lowered
//! session (or each message, if a record holds a list of them) belongs to exactly one exchange, so
//! a decision about an exchange is also a decision about its records.

mod fields;
mod lowered;
pub(crate) mod media;
mod pairing;
mod reading;
mod reply;
pub(crate) mod report;
pub(crate) mod target;
pub(crate) mod turn;
mod writing;

use chrono::{DateTime, Utc};

use crate::{Dialect, HeldMessage, Object};

pub use lowered::Lowered;
pub use reading::Reading;
pub use report::{Loss, LossKind, Report, Source, SourceId};

/// How to convert a session.
#[derive(Clone, Copy)]
pub struct Converter<'c> {
    /// The target dialect.
    pub to: &'static dyn Dialect,
    /// If this is set, the session is lowered: each source record (or each message in a record that
    /// holds a list) is written in exactly one exchange. Messages that must stay together but do not
    /// form an exchange are combined into one message. The only records left out of a lowered
    /// session are those without a message. The value is the name of a member to add to each written
    /// record. The member lists the source records that the record was made from ([`SourceId`]). The
    /// target dialect must be a list of messages, not a log.
    pub mark: Option<&'c str>,
    /// Whether to keep the time of each message in a member `timestamp`, which APIs reject.
    pub times: bool,
    /// The id of the new session if the target is an agent's format. If this is `None`, the id is
    /// derived from a hash of the session's content.
    pub session: Option<&'c str>,
    /// The agent's working folder. If this is `None`, the working folder of the source session is
    /// used.
    pub cwd: Option<&'c str>,
    /// The time to write if none of the messages has a time.
    pub now: DateTime<Utc>,
}

impl Converter<'_> {
    /// Creates a converter to the dialect `to`, with default values for all other settings.
    pub fn new(to: &'static dyn Dialect) -> Self {
        Self { to, mark: None, times: false, session: None, cwd: None, now: DateTime::UNIX_EPOCH }
    }

    /// Returns the messages in a record of the dialect `from`. A conversion to the same list format
    /// does not divide records.
    fn held<'a>(&self, from: &dyn Dialect, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        if from.is_log() || from.name() != self.to.name() {
            return from.held(object);
        }
        HeldMessage::alone(from, object, object.text().trim().into())
    }
}
