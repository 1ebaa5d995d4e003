//! Divides one budget for the whole context: which records stay if the system messages, the summary
//! and the latest messages together may have this many tokens.
//!
//! This decides from facts alone. The latest messages stay as long as they take no more than their
//! share of what the system messages leave; long tool results among them count as shortened. The
//! last exchange always stays, with its results shortened as far as needed. The rest is for the
//! summary.

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
    /// The tokens including overhead; 0 for a line without a message.
    pub(crate) tokens: u64,
    /// The tokens of each of its tool results.
    pub(crate) results: Vec<u64>,
    /// The tokens of the arguments of its calls.
    pub(crate) arguments: u64,
    /// The exchange of the record, identified by its first record, from 1.
    pub(crate) exchange: Option<u64>,
    /// The kind of record.
    pub(crate) kind: RecordKind,
    /// Whether a selector or a minimum keeps it.
    pub(crate) pinned: bool,
    /// Whether a message begins here, not just another fragment of one.
    pub(crate) begins_message: bool,
}

/// The kinds of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// Instructions of the operator, which stay in place unchanged.
    System,
    /// A user message that begins a turn.
    User,
    /// An earlier summary, which becomes old as soon as anything does.
    Summary,
    /// Any other message.
    Other,
    /// A line without a message, which is treated like the record before it.
    #[default]
    Line,
    /// An incomplete last line, which always stays.
    Tail,
}

/// The request to an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// The tokens of the whole context.
    pub(crate) tokens: u64,
    /// The tokens of the conversation's overhead.
    pub(crate) frame: u64,
    /// The share of what the system messages leave that the latest messages may take.
    pub(crate) tail: Share,
    /// Additional tokens beyond that share that nothing else uses.
    pub(crate) spare: u64,
    /// Whether the oldest of the latest messages may be shortened further if they would not stay
    /// otherwise.
    pub(crate) cuts_oldest: bool,
}

/// The verdict on one record. A compact type, because there are as many of these as records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It stays unchanged.
    Keep,
    /// It stays with its tool results shortened to this many tokens. With `arguments`, long strings
    /// in its calls are shortened as well.
    Shorten {
        /// The maximum tokens of each result.
        tokens: u16,
        /// Whether long arguments are shortened.
        arguments: bool,
    },
    /// It goes into the summary.
    Old,
}

/// The verdicts on all records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// One for each record.
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

/// A summary with fewer tokens is of no use.
pub(crate) const LEAST_SUMMARY: u64 = 24;

impl Budget {
    /// Returns true if everything may stay unchanged.
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

/// The entries of a session, in order.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    list: Vec<Packed>,
    /// The tokens of the results of all records, in order.
    results: Vec<u32>,
}

/// An entry in compact form.
#[derive(Clone, Copy, Debug)]
struct Packed {
    tokens: u32,
    arguments: u32,
    /// The number of its exchange; 0 outside exchanges.
    exchange: u32,
    /// The index after its last result.
    results_end: u32,
    kind: RecordKind,
    /// Whether a selector or a minimum keeps it.
    pinned: bool,
    /// Whether a selector keeps it.
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

    /// Returns the tokens of each of its results.
    pub(crate) fn results(&self, record: usize) -> impl Iterator<Item = u64> {
        let end = |record: usize| self.list[record].results_end as usize;
        let results = &self.results[record.checked_sub(1).map_or(0, end)..end(record)];
        results.iter().map(|tokens| u64::from(*tokens))
    }

    /// Returns the tokens of all records of a kind.
    pub(crate) fn tokens_of(&self, kind: RecordKind) -> u64 {
        let of_kind = self.list.iter().filter(|entry| entry.kind == kind);
        of_kind.map(|entry| u64::from(entry.tokens)).sum()
    }

    /// Joins exchanges that turned out to be one.
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
