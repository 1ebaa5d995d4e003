//! The log of a session, replayed as the loader does.
//!
//! The rules are those of `chatRecordingService` in version 0.61.0: messages stand in a map,
//! so that one that is written again stays at its place; a rewind takes back a message and all
//! behind it, and everything when it names one that is not there; a list of messages in a
//! `$set` takes the place of all before it. Such a list is written by a compaction, and also
//! each time a session is begun or resumed, and when a turn is broken off.

use std::collections::HashMap;

use super::flaws;
use super::line::Line;
use super::message::Said;
use super::turn::Turn;
use crate::dialect::key::Key;
use crate::view::Outside;
use crate::{Flaw, Object};

/// The messages that a loader would have now.
#[derive(Default)]
pub(super) struct Log {
    /// In their order.
    pub(super) entries: Vec<Entry>,
    places: HashMap<Key, usize>,
    /// Why each record is not in the context, if it is not.
    pub(super) reasons: Vec<Outside>,
    /// Records of messages that a list of others has displaced.
    displaced: HashMap<Key, usize>,
    /// Rewinds to messages that are not there.
    pub(super) rewound: Vec<Flaw>,
    /// Said when there is no header.
    pub(super) headless: Option<Flaw>,
    pub(super) has_header: bool,
}

/// A message.
pub(super) struct Entry {
    id: Key,
    /// The number of its record, from 0.
    pub(super) record: usize,
    /// `None` when the model is not sent it.
    pub(super) turn: Option<Turn>,
}

impl Log {
    /// The next record; `None` for one that is no object.
    pub(super) fn push(&mut self, object: Option<&Object<'_>>) {
        self.reasons.push(Outside::NeverSent);
        let Some(object) = object else {
            return;
        };
        let line = Line::of(object);
        self.has_header |= matches!(line, Line::Header(_));
        if self.headless.is_none() {
            self.headless = Some(flaws::headless(self.reasons.len() - 1, object));
        }
        match &line {
            Line::Rewind(id) => {
                let place = self.places.get(&Key::of(id)).copied();
                let gone = self.take_back(place.unwrap_or(0), Outside::DeadBranch);
                let sent = gone.iter().filter(|entry| entry.turn.is_some()).count();
                if place.is_none() && sent > 0 {
                    self.rewound
                        .push(flaws::rewound(self.reasons.len() - 1, sent));
                }
            }
            Line::Checkpoint(messages) => {
                let why = if is_compaction(messages) {
                    Outside::BeforeCompaction
                } else {
                    Outside::DeadBranch
                };
                self.rewound.clear();
                let before = self.take_back(0, why);
                let sent = before.into_iter().filter(|entry| entry.turn.is_some());
                self.displaced.extend(sent.map(|it| (it.id, it.record)));
            }
            Line::Message | Line::Header(_) | Line::Other => {}
        }
        for message in line.into_messages(object) {
            self.put(&message);
        }
    }

    /// Takes back the messages from `place` on.
    fn take_back(&mut self, place: usize, why: Outside) -> Vec<Entry> {
        let gone = self.entries.split_off(place);
        for entry in &gone {
            self.places.remove(&entry.id);
            if entry.turn.is_some() {
                self.reasons[entry.record] = why;
            }
        }
        gone
    }

    fn put(&mut self, message: &Object<'_>) {
        let id = Key::of(&message.text_of("id").unwrap_or_default());
        let entry = Entry {
            id,
            record: self.reasons.len() - 1,
            turn: Turn::of(message),
        };
        let mut superseded = self.displaced.remove(&id);
        if let Some(place) = self.places.get(&id) {
            let before = std::mem::replace(&mut self.entries[*place], entry);
            superseded = superseded.or(Some(before.record));
        } else {
            self.places.insert(id, self.entries.len());
            self.entries.push(entry);
        }
        if let Some(record) = superseded {
            self.reasons[record] = Outside::Superseded;
        }
    }
}

/// Whether a list of messages begins with a summary of what was before.
pub(super) fn is_compaction(messages: &[Object<'_>]) -> bool {
    let first = messages.iter().find_map(Said::of);
    first.is_some_and(|said| said.snapshot().is_some())
}
