//! Which records of a session are in the context, and which of them are one message.

use std::collections::{HashMap, HashSet};

use super::flaws;
use super::log::{Entry, Log};
use super::turn::{Place, Turn};
use crate::Object;
use crate::dialect::key::Key;
use crate::view::{Said, View, ViewBuilder};

/// Sees each record of a session once.
#[derive(Default)]
pub(super) struct Builder(Log);

impl ViewBuilder for Builder {
    fn push(&mut self, object: Option<&Object<'_>>) {
        self.0.push(object);
    }

    fn begin_document(&mut self) {
        // What stands beside the messages is the header.
        self.0.has_header = true;
    }

    fn push_replaced(&mut self, object: &Object<'_>) {
        self.push(Some(object));
    }

    fn finish(self: Box<Self>) -> View {
        let mut messages = Messages::default();
        let turns = without_void(&self.0.entries);
        let mut flaws = flaws::unanswered(&turns);
        for (place, turn) in turns {
            messages.push(place, turn);
        }
        flaws.extend(self.0.rewound);
        flaws.extend(self.0.headless.filter(|_| !self.0.has_header));
        let mut view = View::outside(self.0.reasons);
        view.flaws = flaws;
        view.add(&messages.said, &self.0.lists);
        view
    }
}

/// The turns that are sent. Of replies in a row, with no results between them, all are left
/// out where one is void.
fn without_void(entries: &[Entry]) -> Vec<(Place, &Turn)> {
    let mut sent: Vec<(Place, &Turn)> = Vec::new();
    let (mut begin, mut has_void, mut goes_on) = (0, false, false);
    for entry in entries {
        let Some(turn) = &entry.turn else {
            continue;
        };
        let Turn::Reply {
            has_results,
            is_void,
            ..
        } = turn
        else {
            goes_on = false;
            sent.push((entry.place, turn));
            continue;
        };
        if !goes_on {
            (begin, has_void) = (sent.len(), false);
        }
        has_void |= is_void;
        sent.push((entry.place, turn));
        if has_void {
            sent.truncate(begin);
        }
        goes_on = !has_results;
    }
    sent
}

/// Records of one message: a reply with its results, which a client of the new form writes a
/// second time behind it, and sends a second time. The results are so never parted from
/// their calls.
#[derive(Default)]
struct Messages<'t> {
    /// The messages of the context, as they were written.
    said: Vec<Said>,
    /// The last record of each message that is handed out.
    ends: Vec<usize>,
    /// Which of these a record is in: a list of messages is in one.
    groups: HashMap<usize, usize>,
    /// The calls of the last reply, and which message that is.
    calls: Option<&'t HashSet<Key>>,
    last: usize,
}

impl<'t> Messages<'t> {
    fn push(&mut self, place: Place, turn: &'t Turn) {
        let Place { record, number } = place;
        let answers = matches!(turn, Turn::Results(ids) if self.answered_by(record, ids));
        let known = self.groups.get(&record).copied();
        let group = known.unwrap_or_else(|| {
            if answers {
                self.ends[self.last] = record;
                self.last
            } else {
                self.ends.push(record);
                self.ends.len() - 1
            }
        });
        self.groups.insert(record, group);
        self.said.push(Said {
            record,
            number,
            group,
        });
        match turn {
            Turn::Reply { calls, .. } => (self.calls, self.last) = (Some(calls), group),
            Turn::Results(_) if answers => {}
            Turn::User | Turn::Results(_) => self.calls = None,
        }
    }

    /// Whether a record of these results continues the last reply: records of a message are in
    /// the order of the file, and a reply may be written again behind its results.
    fn answered_by(&self, record: usize, ids: &[Key]) -> bool {
        let Some(calls) = self.calls else {
            return false;
        };
        self.ends[self.last] < record && ids.iter().all(|id| calls.contains(id))
    }
}
