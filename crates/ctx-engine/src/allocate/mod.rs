//! Divides one token budget for the whole context between the system messages, the summary and the
//! latest messages, and so decides which records stay.
//!
//! The decision uses only facts about the records. The latest messages stay as long as they take no
//! more than their share of the tokens that the system messages leave; long tool results count with
//! their shortened length. The last exchange stays if at all possible, with its results shortened
//! as far as needed. The remaining tokens are for the summary.

mod tail;
#[cfg(test)]
mod tests;

use ctx_policy::Keep;
use ctx_policy::share::Share;

use crate::message_counter::saturating_u32;
use crate::zones::{Joined, KnownFacts, KnownZones, MessageFacts, Reason};

/// The facts about a record that the allocation needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The tokens of the record including overhead; 0 for a line without a message.
    pub(crate) tokens: u64,
    /// The tokens of each tool result in the record.
    pub(crate) results: Vec<u64>,
    /// The tokens of the arguments of all calls in the record.
    pub(crate) arguments: u64,
    /// The exchange of the record, identified by the number of its first record, from 1.
    pub(crate) exchange: Option<u64>,
    /// The kind of record.
    pub(crate) kind: RecordKind,
    /// Whether a selector or a minimum requires the record to stay.
    pub(crate) pinned: bool,
    /// Whether the record begins a message; false for a later fragment of one.
    pub(crate) begins_message: bool,
}

/// The kinds of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// An instruction from the operator, which stays unchanged in its place.
    System,
    /// A user message that begins a turn.
    User,
    /// An earlier summary, which becomes old as soon as any other message does.
    Summary,
    /// A message that is not a system message, a summary or the beginning of a turn.
    Other,
    /// A line without a message, which is treated like the record before it.
    #[default]
    Line,
    /// An incomplete last line, which always stays.
    Tail,
}

/// The limits for an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// The tokens that the whole context may have.
    pub(crate) tokens: u64,
    /// The tokens that a conversation costs in addition to its messages.
    pub(crate) frame: u64,
    /// The share that the latest messages may take of the tokens that the system messages leave.
    pub(crate) tail: Share,
    /// Tokens that the latest messages may take in addition to `tail`, because nothing else uses
    /// them.
    pub(crate) spare: u64,
    /// Whether the oldest of the latest messages may be shortened further if they would not fit
    /// otherwise.
    pub(crate) cuts_oldest: bool,
}

/// The verdict on one record. The type is compact because there is one verdict for each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The record stays unchanged.
    Keep,
    /// The record stays, with its tool results shortened to this many tokens each and, if
    /// `arguments` is set, long strings in its calls shortened as well.
    Shorten {
        /// The maximum tokens of each result.
        tokens: u16,
        /// Whether long strings in the arguments of calls are shortened, too.
        arguments: bool,
    },
    /// The record leaves the session and is summarized.
    Old,
}

/// The verdicts on all records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// One verdict for each record, in order.
    pub(crate) verdicts: Vec<Verdict>,
    /// Whether the latest user message was too long to stay.
    pub(crate) latest_request_is_old: bool,
}

/// The records that must stay exceed the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{needed} tokens must stay, but the budget is {budget}")]
pub struct TooSmall {
    /// The tokens that must stay.
    pub needed: u64,
    /// The requested budget.
    pub budget: u64,
}

/// The minimum length of a useful summary, in tokens.
pub(crate) const LEAST_SUMMARY: u64 = 24;

impl Budget {
    /// Returns true if all records fit into the budget unchanged.
    pub(crate) fn holds(&self, entries: &Entries) -> bool {
        let all: u64 = entries.list.iter().map(Packed::tokens).sum();
        // Without a message, there is nothing to summarize.
        all == 0 || self.frame + all <= self.tokens
    }
}

/// Decides which records stay.
pub(crate) fn decide(entries: &Entries, budget: &Budget) -> Result<Decision, TooSmall> {
    if budget.holds(entries) {
        return Ok(Decision {
            verdicts: vec![Verdict::Keep; entries.len()],
            latest_request_is_old: false,
        });
    }
    tail::Choice::new(entries, budget)?.decide()
}

/// The entries of a session in order, stored compactly.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    list: Vec<Packed>,
    /// The tokens of every tool result in the session, in order.
    results: Vec<u32>,
}

/// An entry in compact form.
#[derive(Clone, Copy, Debug)]
struct Packed {
    tokens: u32,
    arguments: u32,
    /// The number of the record's exchange, or 0 outside any exchange.
    exchange: u32,
    /// The index in `Entries::results` after the last result of the record.
    results_end: u32,
    kind: RecordKind,
    /// Whether a selector or a minimum requires the record to stay.
    pinned: bool,
    /// Whether a selector requires the record to stay.
    selected: bool,
    begins_message: bool,
}

impl Entries {
    /// Adds the entry of the next record.
    pub(crate) fn push(&mut self, entry: &Entry) {
        let results = entry.results.iter();
        self.results.extend(results.map(|tokens| saturating_u32(*tokens)));
        self.list.push(Packed {
            tokens: saturating_u32(entry.tokens),
            arguments: saturating_u32(entry.arguments),
            exchange: saturating_u32(entry.exchange.unwrap_or(0)),
            results_end: saturating_u32(self.results.len() as u64),
            kind: entry.kind,
            pinned: entry.pinned,
            selected: entry.pinned,
            begins_message: entry.begins_message,
        });
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the kind of record number `record`, from 0.
    pub(crate) fn kind(&self, record: usize) -> RecordKind {
        self.list[record].kind
    }

    /// Returns the tokens of a record.
    pub(crate) fn tokens(&self, record: usize) -> u64 {
        self.list[record].tokens.into()
    }

    /// Returns the tokens of each tool result in a record.
    pub(crate) fn results(&self, record: usize) -> impl Iterator<Item = u64> {
        let end = |record: usize| self.list[record].results_end as usize;
        let results = &self.results[record.checked_sub(1).map_or(0, end)..end(record)];
        results.iter().map(|tokens| u64::from(*tokens))
    }

    /// Returns the total tokens of all records of a kind.
    pub(crate) fn tokens_of(&self, kind: RecordKind) -> u64 {
        let of_kind = self.list.iter().filter(|entry| entry.kind == kind);
        of_kind.map(|entry| u64::from(entry.tokens)).sum()
    }

    /// Gives the same number to exchanges that turned out to be a single exchange.
    pub(crate) fn join(&mut self, joined: &Joined) {
        for entry in &mut self.list {
            entry.exchange = saturating_u32(joined.first_of(entry.exchange.into()));
        }
    }

    /// Pins the records that `keep` selects, in addition to those that selectors pin.
    pub(crate) fn pin(&mut self, keep: Keep) {
        let mut zones = KnownZones::of(keep, |take| {
            (1..).zip(&self.list).for_each(|(number, entry)| take(number, &entry.facts()));
        });
        for (number, entry) in (1..).zip(&mut self.list) {
            let verdict = zones.next(number, &entry.facts());
            // The latest user message is not pinned, because it may be too long to stay.
            let stays = [Reason::Window, Reason::Pinned, Reason::Exchange];
            entry.pinned = stays.contains(&verdict.reason);
        }
    }
}

impl Packed {
    fn tokens(&self) -> u64 {
        self.tokens.into()
    }

    fn exchange(&self) -> Option<u64> {
        (self.exchange > 0).then_some(self.exchange.into())
    }

    fn facts(&self) -> KnownFacts {
        match self.kind {
            RecordKind::Tail => KnownFacts::Tail,
            RecordKind::Line => KnownFacts::Line,
            RecordKind::System | RecordKind::User | RecordKind::Summary | RecordKind::Other => {
                KnownFacts::Message(MessageFacts {
                    is_system: self.kind == RecordKind::System,
                    begins_message: self.begins_message,
                    begins_turn: self.kind == RecordKind::User,
                    tokens: self.tokens.into(),
                    pinned: self.selected,
                    exchange: self.exchange(),
                })
            }
        }
    }
}
