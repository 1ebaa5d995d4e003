//! The sliding window: which records are before it.

use ctx_transcript::{Outline, Role, Zone};

use super::session::Session;
use super::sparse::compact;
use crate::split::{Facts, Keep, Splitter, Verdict};

/// Decides about a window of the last messages as the exchanges of a split are decided.
#[derive(Debug)]
pub(super) struct Window {
    splitter: Splitter,
    records: Vec<InWindow>,
}

/// A record's place.
#[derive(Clone, Copy, Debug)]
pub(super) struct InWindow {
    before: bool,
    /// The first record of its exchange.
    exchange: Option<u32>,
}

impl Window {
    /// A window of so many messages.
    pub(super) fn new(messages: u64) -> Self {
        let splitter = Splitter::new(Keep {
            messages: Some(messages),
            ..Keep::default()
        });
        Self {
            splitter,
            records: Vec::new(),
        }
    }

    /// The next record is a message. An earlier summary stays: it is all that is left
    /// of what it stands for.
    pub(super) fn message(&mut self, outline: &Outline<'_>, fixed: bool) {
        self.push(Facts::Message {
            outline,
            tokens: 0,
            pinned: fixed || outline.is_summary,
        });
    }

    /// The next record is anything else.
    pub(super) fn push(&mut self, facts: Facts<'_>) {
        self.splitter.push(facts);
        self.collect();
    }

    /// The places of all records.
    pub(super) fn finish(mut self) -> Vec<InWindow> {
        self.splitter.finish();
        self.collect();
        self.records
    }

    fn collect(&mut self) {
        let place = |verdict: Verdict| InWindow {
            before: verdict.zone == Zone::Old,
            exchange: verdict.exchange.map(|number| compact(number - 1)),
        };
        let decided = std::iter::from_fn(|| self.splitter.next());
        self.records.extend(decided.map(place));
    }
}

/// Whether each record goes. Where the API wants the user's message first, more is kept
/// until it is.
pub(super) fn dropped(session: &Session, user_first: bool) -> Vec<bool> {
    if session.window.is_empty() {
        return vec![false; session.records.len()];
    }
    let mut dropped: Vec<bool> = session.window.iter().map(|place| place.before).collect();
    if user_first && let Some(from) = begin(&dropped, session) {
        dropped[from..].fill(false);
    }
    dropped
}

/// From where all is kept, so that the first message is the user's; `None` when it is.
fn begin(dropped: &[bool], session: &Session) -> Option<usize> {
    let records = &session.records;
    let is_said = |index: &usize| records[*index].role().is_some_and(|role| !role.is_system());
    let first = (0..records.len()).find(|index| !dropped[*index] && is_said(index))?;
    let mut from = first;
    loop {
        // No exchange may reach over the border.
        let whole = session.window[from..]
            .iter()
            .filter_map(|place| place.exchange)
            .min()
            .map_or(from, |begin| from.min(begin as usize));
        if whole == from && records[from].role() == Some(Role::User) && records[from].begins() {
            break;
        }
        if from == 0 {
            break;
        }
        from = if whole < from { whole } else { from - 1 };
    }
    let is_legal = from == first;
    (!is_legal).then_some(from)
}
