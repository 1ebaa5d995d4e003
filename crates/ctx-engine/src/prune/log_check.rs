//! The check before a pruned log is written: the agent must read the same context from it, except
//! for what was decided.

use std::collections::BTreeMap;

use ctx_format::view::{Presence, ViewBuilder};
use ctx_format::{Dialect, Portion, Presences, Record, show_to_view};

use crate::{ErrorKind, PassError};

/// Reads the lines that would be written, as the agent would.
pub(super) struct LogCheck {
    view: Box<dyn ViewBuilder>,
    /// The index and the line of each record that was read.
    records: Vec<(usize, u64)>,
}

impl LogCheck {
    /// `None` if the format has no view.
    pub(super) fn new(dialect: &dyn Dialect) -> Option<Self> {
        Some(Self { view: dialect.log()?.view_builder(), records: Vec::new() })
    }

    /// The next record that remains, with its new bytes.
    pub(super) fn push(&mut self, index: usize, record: &Record<'_>) {
        // A line that is too long comes in pieces, but is one record.
        if record.piece.begins() {
            show_to_view(self.view.as_mut(), record);
            self.records.push((index, record.line));
        }
    }

    /// Compares the context with that of the `count` records `before`, without those that left.
    pub(super) fn finish(
        self,
        before: &Presences,
        has_left: impl Fn(usize) -> bool,
        count: usize,
    ) -> Result<(), PassError> {
        let remaining = (0..count).filter(|at| !has_left(*at));
        let expected = messages(remaining, |at| (before.of(at), before.portion(at)));
        let view = self.view.view();
        let positions: BTreeMap<usize, usize> =
            (0..).zip(&self.records).map(|(position, (index, _))| (*index, position)).collect();
        let actual = messages(positions.keys().copied(), |at| {
            let position = positions[&at];
            (Some(view.of(position)), view.portion(position))
        });
        if expected == actual {
            return Ok(());
        }
        let first = expected.iter().zip(&actual).position(|(one, other)| one != other);
        let first = first.unwrap_or(expected.len().min(actual.len()));
        let message = expected.get(first).or(actual.get(first));
        let record = message.and_then(|records| records.first());
        let position = record.and_then(|(record, _)| positions.get(record));
        let mut error = PassError::from(ErrorKind::ChangedContext);
        error.lines.extend(position.map(|position| self.records[*position].1));
        Err(error)
    }
}

/// The messages of the context, each as the indexes of its records and how many messages of each
/// record are outside: numbers of messages change when others leave the same list.
fn messages(
    records: impl Iterator<Item = usize>,
    presence: impl Fn(usize) -> (Option<Presence>, Option<Portion>),
) -> Vec<Vec<(usize, usize)>> {
    let mut messages: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for record in records {
        if let (Some(Presence::Inside(fragment)), portion) = presence(record) {
            let outside = portion.map_or(0, |portion| portion.outside().len());
            messages.entry(fragment.message).or_default().push((record, outside));
        }
    }
    messages.into_values().collect()
}
