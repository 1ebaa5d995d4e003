//! Which messages wait in the spool, and what is known of each without reading it again.

use std::sync::Arc;

use ctx_transcript::{Denial, Held, Object, Part, Record, Role, view::Presence};

use crate::SourceId;
use crate::said::Key;

/// A message, or the fragment of one that a record holds.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Which record it is of, or which message of one.
    pub(crate) origin: SourceId,
    /// The line of its record, from 1.
    pub(crate) line: u64,
    /// The number of the message in the context, by which messages are in order.
    pub(crate) message: u64,
    /// Where it waits in the spool.
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) role: Role,
    /// Whether the user himself asks for something.
    pub(crate) begins_turn: bool,
    /// When it was said, as its record says.
    pub(crate) time: Option<Box<str>>,
    /// The model that was at work then, where the session says which.
    pub(crate) model: Option<Arc<str>>,
    /// The text of it when it is a summary and waits without what says so.
    pub(crate) summary: Option<Box<str>>,
    /// Whether it is a summary.
    pub(crate) is_summary: bool,
    /// Whether only the list that it stands in says what it is.
    pub(crate) is_opaque: bool,
    pub(crate) calls: Vec<Key>,
    pub(crate) results: Vec<Key>,
    /// The ids of the calls that the user denied, and whether a denial is marked.
    pub(crate) denials: Vec<(Box<str>, bool)>,
}

impl Entry {
    /// Of `held`, a message of `record`. Its place in the spool comes later.
    pub(crate) fn of(record: &Record<'_>, origin: SourceId, held: &Held<'_>) -> Self {
        let parts = &held.message.parts;
        let calls = parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(Key::of_call(call)),
            _ => None,
        });
        let results = parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(Key::of_result(result)),
            _ => None,
        });
        let denials = held.message.results().filter_map(|result| {
            let is_marked = match result.denial {
                Denial::None => return None,
                Denial::Reported => false,
                Denial::Marked => true,
            };
            Some((result.id.as_deref()?.into(), is_marked))
        });
        let message = match record.presence {
            Some(Presence::Inside(fragment)) => fragment.message,
            _ => origin.record,
        };
        Self {
            origin,
            line: record.line,
            message,
            start: 0,
            length: 0,
            role: held.message.role,
            begins_turn: held.begins_turn,
            time: time(record, held),
            model: None,
            summary: None,
            is_summary: held.summary.is_some(),
            is_opaque: false,
            calls: calls.collect(),
            results: results.collect(),
            denials: denials.collect(),
        }
    }
}

/// The time of a message in a list is its own.
fn time(record: &Record<'_>, held: &Held<'_>) -> Option<Box<str>> {
    let own = Object::parse(&held.raw).ok();
    let own = own.and_then(|object| object.text_of("timestamp"));
    let time = own.or_else(|| record.object()?.text_of("timestamp"));
    time.map(|time| time.as_ref().into())
}
