//! A message that has been read and is waiting to be written.

use std::sync::Arc;

use crate::convert::report::SourceId;
use crate::convert::turn::Key;
use crate::view::Presence;
use crate::{Denial, HeldMessage, Object, Record, Role};

/// A whole message, or the fragment of a message that one record holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The source record of the message. If that record holds several messages, the number of the
    /// message is included.
    pub(crate) origin: SourceId,
    /// The line number of the source record, starting at 1.
    pub(crate) line: u64,
    /// The position of the message in the context. Messages are written in the order of their
    /// positions.
    pub(crate) message: u64,
    /// The byte offset of the message's text in the spool.
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) role: Role,
    /// Whether the message begins a user turn.
    pub(crate) begins_turn: bool,
    /// The time of the message, exactly as the record states it.
    pub(crate) time: Option<Box<str>>,
    /// The model that was in use when the message was written, or `None` if the session does not
    /// name a model.
    pub(crate) model: Option<Arc<str>>,
    /// The text of the message, if it is a summary extracted from a record with several messages.
    /// The text is stored here because only that record marks the message as a summary, and the
    /// record is not in the spool.
    pub(crate) summary: Option<Box<str>>,
    /// Whether the message is a summary.
    pub(crate) is_summary: bool,
    /// Whether the message can be read only as part of the list that contains it.
    pub(crate) is_opaque: bool,
    pub(crate) calls: Vec<Key>,
    pub(crate) results: Vec<Key>,
    /// The ids of the calls that the user denied. The flag with each id tells whether a field of
    /// the record marks the denial.
    pub(crate) denials: Vec<(Box<str>, bool)>,
}

impl Entry {
    /// Creates an entry for `held`, a message in `record`. The entry's position in the spool is set
    /// later.
    pub(crate) fn of(record: &Record<'_>, origin: SourceId, held: &HeldMessage<'_>) -> Self {
        let denied = held.message.results().filter(|result| result.denial != Denial::None);
        let denials =
            denied.filter_map(|it| Some((it.id.as_deref()?.into(), it.denial == Denial::Marked)));
        let message = match record.presence {
            Some(Presence::Inside(fragment)) => fragment.message,
            _ => origin.record,
        };
        Self {
            origin,
            line: record.line,
            message,
            role: held.message.role,
            begins_turn: held.begins_turn,
            time: time(record, held),
            is_summary: held.summary.is_some(),
            calls: held.message.calls().map(Key::of_call).collect(),
            results: held.message.results().map(Key::of_result).collect(),
            denials: denials.collect(),
            ..Self::default()
        }
    }
}

/// The time of a message: its own time if it has one, otherwise the time of the record.
fn time(record: &Record<'_>, held: &HeldMessage<'_>) -> Option<Box<str>> {
    let own = Object::parse(&held.raw).ok();
    let own = own.and_then(|object| object.text_of("timestamp"));
    let time = own.or_else(|| record.object()?.text_of("timestamp"));
    time.map(|time| time.as_ref().into())
}
