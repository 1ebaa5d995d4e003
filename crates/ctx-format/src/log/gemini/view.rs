//! Which records of a session are in the context, and which of them are one message.

use std::collections::{HashMap, HashSet};

use super::flaws;
use super::log::{Entry, Log, Place};
use super::turn::Turn;
use crate::Object;
use crate::log::tree::LineId;
use crate::log::view::{ContextMessage, View, ViewBuilder};

/// Sees each record of a session once.
#[derive(Default)]
pub(super) struct Builder(Log);

impl ViewBuilder for Builder {
    fn push(&mut self, object: Option<&Object<'_>>) {
        self.0.push(object);
    }

    fn begin_document(&mut self) {
        // The other members of the document are the header.
        self.0.has_header = true;
    }

    fn push_replaced(&mut self, object: &Object<'_>) {
        self.push(Some(object));
    }

    fn view(&self) -> View {
        let log = &self.0;
        let turns = without_void(&log.entries);
        let mut messages = Messages::default();
        for (place, turn) in &turns {
            messages.push(*place, turn);
        }
        let mut view = View::outside(log.reasons.iter().copied());
        view.flaws = flaws::unanswered(&turns);
        view.flaws.extend(log.rewound.iter().cloned());
        if !log.has_header {
            view.flaws.extend(log.headless.clone());
        }
        view.add_messages(&messages.all, &log.lists);
        view
    }
}

/// The turns that are sent. If one of several replies in a row, with no results between them, is
/// void, the client leaves out all of them.
fn without_void(entries: &[Entry]) -> Vec<(Place, &Turn)> {
    let mut sent: Vec<(Place, &Turn)> = Vec::new();
    let (mut begin, mut has_void, mut goes_on) = (0, false, false);
    for entry in entries {
        let Some(turn) = &entry.turn else {
            continue;
        };
        let Turn::Reply { has_results, is_void, .. } = turn else {
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

/// The records of each message: a reply with its results, which newer clients write a second time
/// after it, and send a second time. That way the results never part from their calls.
#[derive(Default)]
struct Messages<'t> {
    all: Vec<ContextMessage>,
    /// The last record of each group.
    ends: Vec<usize>,
    /// The group of each record: a list of messages has one.
    groups: HashMap<usize, usize>,
    /// The calls of the last reply, and its group.
    calls: Option<&'t HashSet<LineId>>,
    last: usize,
}

impl<'t> Messages<'t> {
    fn push(&mut self, Place { record, number }: Place, turn: &'t Turn) {
        let continues = matches!(turn, Turn::Results(ids) if self.is_answered_by(record, ids));
        let known = self.groups.get(&record).copied();
        let group = known.unwrap_or_else(|| {
            if continues {
                self.ends[self.last] = record;
                self.last
            } else {
                self.ends.push(record);
                self.ends.len() - 1
            }
        });
        self.groups.insert(record, group);
        self.all.push(ContextMessage { record, number, group });
        match turn {
            Turn::Reply { calls, .. } => (self.calls, self.last) = (Some(calls), group),
            Turn::Results(_) if continues => {}
            Turn::User | Turn::Results(_) => self.calls = None,
        }
    }

    /// Whether a record of these results continues the last reply. The records of a message are in
    /// the order of the file, but a reply may be written again after its results.
    fn is_answered_by(&self, record: usize, ids: &[LineId]) -> bool {
        let Some(calls) = self.calls else {
            return false;
        };
        self.ends[self.last] < record && ids.iter().all(|id| calls.contains(id))
    }
}
