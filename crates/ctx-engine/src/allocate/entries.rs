//! What a budget needs to know about the records of a session, of which there may be millions.

use super::{Entry, Kind};
use crate::zones::{Joined, Known, KnownFacts, Reason, TailFinder};
use ctx_policy::keep::Keep;

/// The entries of a session, in their order.
#[derive(Debug, Default)]
pub struct Entries {
    list: Vec<Packed>,
    /// Tokens of the results of all records, in order.
    results: Vec<u32>,
}

/// An entry, in as few bytes as it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    tokens: u32,
    arguments: u32,
    /// 0 if it is in none.
    exchange: u32,
    /// One past the index of its last result.
    results_end: u32,
    pub(super) kind: Kind,
    /// Whether a selector or a floor keeps it.
    pub(super) pinned: bool,
    /// Whether a selector keeps it.
    selected: bool,
    begins_message: bool,
}

impl Entries {
    /// The entry of the next record.
    pub fn push(&mut self, entry: &Entry) {
        let results = entry.results.iter();
        self.results.extend(results.map(|tokens| compact(*tokens)));
        self.list.push(Packed {
            tokens: compact(entry.tokens),
            arguments: compact(entry.arguments),
            exchange: compact(entry.exchange.unwrap_or(0)),
            results_end: compact(self.results.len() as u64),
            kind: entry.kind,
            pinned: entry.pinned,
            selected: entry.pinned,
            begins_message: entry.begins_message,
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The kind of record number `record`, from 0.
    pub fn kind(&self, record: usize) -> Kind {
        self.list[record].kind
    }

    /// The tokens of a record.
    pub fn tokens(&self, record: usize) -> u64 {
        self.list[record].tokens.into()
    }

    /// Tokens of each of its results.
    pub fn results(&self, record: usize) -> impl Iterator<Item = u64> {
        let end = |record: usize| self.list[record].results_end as usize;
        let start = record.checked_sub(1).map_or(0, end);
        let results = &self.results[start..end(record)];
        results.iter().map(|tokens| u64::from(*tokens))
    }

    /// All tokens of the records of a kind.
    pub fn tokens_of(&self, kind: Kind) -> u64 {
        let of_kind = self.list.iter().filter(|entry| entry.kind == kind);
        of_kind.map(|entry| u64::from(entry.tokens)).sum()
    }

    /// All tokens.
    pub(super) fn all_tokens(&self) -> u64 {
        self.list.iter().map(|entry| u64::from(entry.tokens)).sum()
    }

    pub(super) fn list(&self) -> &[Packed] {
        &self.list
    }

    /// Joins exchanges that turned out to be one.
    pub fn join(&mut self, joined: &Joined) {
        for entry in &mut self.list {
            entry.exchange = compact(joined.first_of(entry.exchange.into()));
        }
    }

    /// Pins the records that `keep` selects, in addition to those that pins select.
    pub fn pin(&mut self, keep: Keep) {
        let numbered = || (1..).zip(&self.list);
        let mut tail = TailFinder::new(keep);
        numbered().for_each(|(number, entry)| tail.push(number, &entry.facts()));
        let mut kept = tail.finish();
        numbered().for_each(|(number, entry)| kept.push(number, &entry.facts()));
        let mut zones = kept.zones();
        for (number, entry) in (1..).zip(&mut self.list) {
            let verdict = zones.next(number, &entry.facts());
            // The latest user message is not pinned: it may be too long to stay.
            let stays = [Reason::Window, Reason::Pinned, Reason::Exchange];
            entry.pinned = stays.contains(&verdict.reason);
        }
    }
}

impl FromIterator<Entry> for Entries {
    fn from_iter<I: IntoIterator<Item = Entry>>(all: I) -> Self {
        let mut entries = Self::default();
        all.into_iter().for_each(|entry| entries.push(&entry));
        entries
    }
}

impl Packed {
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.into()
    }

    pub(super) fn arguments(&self) -> u64 {
        self.arguments.into()
    }

    pub(super) fn exchange(&self) -> Option<u64> {
        (self.exchange > 0).then_some(self.exchange.into())
    }

    fn facts(&self) -> KnownFacts {
        match self.kind {
            Kind::Tail => KnownFacts::Tail,
            Kind::Line => KnownFacts::Line,
            Kind::System | Kind::User | Kind::Summary | Kind::Other => KnownFacts::Message(Known {
                is_system: self.kind == Kind::System,
                begins_message: self.begins_message,
                begins_turn: self.kind == Kind::User,
                tokens: self.tokens.into(),
                pinned: self.selected,
                exchange: self.exchange(),
            }),
        }
    }
}

/// No session has four billion records, and no record so many tokens.
fn compact(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
