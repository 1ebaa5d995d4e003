//! The gate before a changed log is written: the agent reads from it what it read before, but for
//! what was decided.

use std::collections::BTreeMap;

use ctx_transcript::view::{Presence, ViewBuilder};
use ctx_transcript::{Dialect, Portion, Presences, Record, show_to_view};

use crate::{ErrorKind, PassError};

/// Looks at the lines that would be written.
pub(super) struct Gate {
    view: Box<dyn ViewBuilder>,
    /// The records that were shown: their numbers and lines.
    shown: Vec<(usize, u64)>,
}

impl Gate {
    /// Nothing seen yet; `None` where the format has no view.
    pub(super) fn new(dialect: &dyn Dialect) -> Option<Self> {
        Some(Self {
            view: dialect.view()?,
            shown: Vec::new(),
        })
    }

    /// The next record that stays, with the bytes that it would have.
    pub(super) fn push(&mut self, number: usize, record: &Record<'_>) {
        // A line that is too long comes in pieces, and is one record.
        if record.piece.begins() {
            show_to_view(self.view.as_mut(), record);
            self.shown.push((number, record.line));
        }
    }

    /// Whether the messages of the context are those of before, without the records that are
    /// gone.
    pub(super) fn finish(
        self,
        before: &Presences,
        is_gone: impl Fn(usize) -> bool,
        count: usize,
    ) -> Result<(), PassError> {
        let stays = (0..count).filter(|at| !is_gone(*at));
        let expected = messages(stays, |at| (before.of(at), before.portion(at)));
        let view = self.view.finish();
        let places: BTreeMap<usize, usize> = (0..)
            .zip(&self.shown)
            .map(|(place, (number, _))| (*number, place))
            .collect();
        let found = messages(places.keys().copied(), |at| {
            let place = places[&at];
            (Some(view.of(place)), view.portion(place))
        });
        if expected == found {
            return Ok(());
        }
        let differ = expected
            .iter()
            .zip(&found)
            .position(|(one, other)| one != other);
        let differ = differ.unwrap_or(expected.len().min(found.len()));
        let record = expected.get(differ).or(found.get(differ));
        let record = record.and_then(|records| records.first());
        let line = record.and_then(|(record, _)| places.get(record));
        let line = line.map(|place| self.shown[*place].1);
        let mut error = PassError::from(ErrorKind::ChangedContext);
        error.lines.extend(line);
        Err(error)
    }
}

/// The records of each message of the context, in its order, and how many messages of each are
/// not in it: others of a list may leave, so that their numbers are not the same.
fn messages(
    records: impl Iterator<Item = usize>,
    presence: impl Fn(usize) -> (Option<Presence>, Option<Portion>),
) -> Vec<Vec<(usize, usize)>> {
    let mut messages: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for record in records {
        if let (Some(Presence::Inside(fragment)), portion) = presence(record) {
            let outside = portion.map_or(0, |portion| portion.outside().len());
            let message = messages.entry(fragment.message).or_default();
            message.push((record, outside));
        }
    }
    messages.into_values().collect()
}
