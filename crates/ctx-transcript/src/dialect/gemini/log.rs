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
use super::turn::{Place, Turn};
use crate::dialect::key::Key;
use crate::view::{Lists, Outside};
use crate::{Flaw, Object};

/// The messages that a loader would have now.
#[derive(Default)]
pub(super) struct Log {
    /// In their order.
    pub(super) entries: Vec<Entry>,
    places: HashMap<Key, usize>,
    /// Why each record is not in the context, if it is not.
    pub(super) reasons: Vec<Outside>,
    /// Of records that hold several messages that may be sent, why each is not in the context,
    /// if it is not.
    pub(super) lists: Lists,
    /// Where messages stand that a list of others has displaced.
    displaced: HashMap<Key, Place>,
    /// Rewinds to messages that are not there.
    pub(super) rewound: Vec<Flaw>,
    /// Said when there is no header.
    pub(super) headless: Option<Flaw>,
    pub(super) has_header: bool,
}

/// A message.
pub(super) struct Entry {
    id: Key,
    pub(super) place: Place,
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
                self.displaced.extend(sent.map(|it| (it.id, it.place)));
            }
            Line::Message | Line::Header(_) | Line::Other => {}
        }
        let messages = line.into_messages(object);
        let mut number = 0;
        for message in &messages {
            number += usize::from(self.put(message, number));
        }
        if number > 1 {
            let record = self.reasons.len() - 1;
            self.lists.insert(record, vec![Outside::NeverSent; number]);
        }
    }

    /// Takes back the messages from `place` on.
    fn take_back(&mut self, place: usize, why: Outside) -> Vec<Entry> {
        let gone = self.entries.split_off(place);
        for entry in &gone {
            self.places.remove(&entry.id);
            if entry.turn.is_some() {
                self.leave(entry.place, why);
            }
        }
        gone
    }

    /// A message leaves the context.
    fn leave(&mut self, place: Place, why: Outside) {
        self.reasons[place.record] = why;
        if let Some(reasons) = self.lists.get_mut(&place.record) {
            reasons[place.number] = why;
        }
    }

    /// The next message of the last record, which is the `number`th of it if it may be sent;
    /// whether it may.
    fn put(&mut self, message: &Object<'_>, number: usize) -> bool {
        let id = Key::of(&message.text_of("id").unwrap_or_default());
        let record = self.reasons.len() - 1;
        let turn = Turn::of(message);
        let is_sent = turn.is_some();
        let entry = Entry {
            id,
            place: Place { record, number },
            turn,
        };
        let mut superseded = self.displaced.remove(&id);
        if let Some(place) = self.places.get(&id) {
            let before = std::mem::replace(&mut self.entries[*place], entry);
            if before.turn.is_none() {
                self.reasons[before.place.record] = Outside::Superseded;
            }
            superseded = superseded.or(before.turn.map(|_| before.place));
        } else {
            self.places.insert(id, self.entries.len());
            self.entries.push(entry);
        }
        if let Some(place) = superseded {
            self.leave(place, Outside::Superseded);
        }
        is_sent
    }
}

/// Whether a list of messages begins with a summary of what was before.
pub(super) fn is_compaction(messages: &[Object<'_>]) -> bool {
    let first = messages.iter().find_map(Said::of);
    first.is_some_and(|said| said.snapshot().is_some())
}
