//! A message that waits to be written.

use std::sync::Arc;

use crate::convert::report::SourceId;
use crate::convert::turn::Key;
use crate::view::Presence;
use crate::{Denial, HeldMessage, Object, Record, Role};

/// A message, or the fragment of one that a record holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The record, or the message in a record, that the entry came from.
    pub(crate) origin: SourceId,
    /// The line of its record, from 1.
    pub(crate) line: u64,
    /// The number of the message in the context, which gives the order of messages.
    pub(crate) message: u64,
    /// Its position in the spool.
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) role: Role,
    /// Whether the user starts a turn with it.
    pub(crate) begins_turn: bool,
    /// The time in the record.
    pub(crate) time: Option<Box<str>>,
    /// The model at that time, if the session names it.
    pub(crate) model: Option<Arc<str>>,
    /// The text of a summary that waits without the record that marks it as one.
    pub(crate) summary: Option<Box<str>>,
    /// Whether it is a summary.
    pub(crate) is_summary: bool,
    /// Whether it can only be read as part of its list.
    pub(crate) is_opaque: bool,
    pub(crate) calls: Vec<Key>,
    pub(crate) results: Vec<Key>,
    /// The ids of the calls that the user denied, and whether each denial is marked.
    pub(crate) denials: Vec<(Box<str>, bool)>,
}

impl Entry {
    /// Creates an entry for `held`, a message of `record`. Its position in the spool is set later.
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

/// A message in a list has a time of its own.
fn time(record: &Record<'_>, held: &HeldMessage<'_>) -> Option<Box<str>> {
    let own = Object::parse(&held.raw).ok();
    let own = own.and_then(|object| object.text_of("timestamp"));
    let time = own.or_else(|| record.object()?.text_of("timestamp"));
    time.map(|time| time.as_ref().into())
}
