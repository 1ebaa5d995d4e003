//! Decides which records stay when the whole context must fit into a token budget. The budget is
//! shared by the system messages, the summary and the latest messages.
//!
//! The decision uses only facts about the records. The latest messages stay as long as they fit
//! into their share of the tokens left by the system messages. Long tool results are counted at
//! their shortened length. The last exchange stays whenever possible, even if its tool results have
//! to be shortened. The summary gets the remaining tokens.

mod tail;
#[cfg(test)]
mod tests;

use ctx_policy::Keep;
use ctx_policy::share::Share;

use crate::message_counter::saturating_u32;
use crate::zones::{Joined, KnownFacts, KnownZones, MessageFacts, Reason};

/// The facts about a record on which the allocation depends, in compact form.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// The record's token count including overhead; 0 for a line without a message.
    pub(crate) tokens: u32,
    /// The token count of all call arguments in the record.
    pub(crate) arguments: u32,
    /// The exchange that contains the record, identified by the 1-based number of its first record,
    /// or 0 if the record is not in an exchange.
    pub(crate) exchange: u32,
    /// The index in `Entries::results` just past the record's last tool result.
    pub(crate) results_end: u32,
    /// The kind of record.
    pub(crate) kind: RecordKind,
    /// Whether the record must stay because of a selector or the amount to keep.
    pub(crate) pinned: bool,
    /// Whether the record must stay because of a selector.
    pub(crate) selected: bool,
    /// Whether the record begins a message; false for a later fragment of the message.
    pub(crate) begins_message: bool,
}

/// The kinds of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// An instruction from the operator, never changed or moved.
    System,
    /// A user message that begins a turn.
    User,
    /// An earlier summary, summarized again whenever any other message is summarized.
    Summary,
    /// A message that consists of results without a call, which no API accepts.
    Orphan,
    /// A message that is neither a system message nor a summary and does not begin a turn.
    Other,
    /// A line without a message, treated like the record before it.
    #[default]
    Line,
    /// An incomplete last line, which always stays.
    Tail,
}

/// The limits for an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// The maximum number of tokens in the whole context.
    pub(crate) tokens: u64,
    /// The tokens charged per conversation on top of its messages.
    pub(crate) frame: u64,
    /// The latest messages' share of the tokens left by the system messages.
    pub(crate) tail: Share,
    /// The number of tokens that the latest messages may take in addition to their share, `tail`.
    pub(crate) spare: u64,
    /// Whether the tail may begin with one extra exchange that is shortened more than the others.
    pub(crate) cuts_oldest: bool,
}

/// The decision about one record. The type is small because every record has a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The record stays unchanged.
    Keep,
    /// The record stays, but each of its tool results is shortened to `tokens` tokens. If
    /// `arguments` is set, long strings in the record's call arguments are shortened as well.
    Shorten {
        /// The maximum number of tokens per tool result.
        tokens: u16,
        /// Whether long strings in call arguments are also shortened.
        arguments: bool,
    },
    /// The record is removed from the session and summarized.
    Old,
}

/// The verdicts on all records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The verdicts on the records, in order.
    pub(crate) verdicts: Vec<Verdict>,
    /// Whether the latest user message was too long to keep.
    pub(crate) latest_request_is_old: bool,
}

/// The records that must stay exceed the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{needed} tokens must stay, which leaves too little of the budget of {budget}")]
pub struct TooSmall {
    /// The minimum number of tokens that the context needs.
    pub needed: u64,
    /// The requested budget.
    pub budget: u64,
}

/// The minimum length of a useful summary, in tokens.
pub(crate) const LEAST_SUMMARY: u64 = 24;

impl Budget {
    /// Returns true if all records fit into the budget without changes.
    pub(crate) fn holds(&self, entries: &Entries) -> bool {
        let all: u64 = entries.list.iter().map(Entry::tokens).sum();
        // If there are no messages, there is nothing to summarize.
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

/// The entries for all records in a session, in order.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    list: Vec<Entry>,
    /// The token count of every tool result in the session, in order.
    results: Vec<u32>,
}

impl Entries {
    /// Appends the token count of a tool result in the next record.
    pub(crate) fn push_result(&mut self, tokens: u64) {
        self.results.push(saturating_u32(tokens));
    }

    /// Appends the entry for the next record.
    pub(crate) fn push(&mut self, entry: Entry) {
        let results_end = saturating_u32(self.results.len() as u64);
        self.list.push(Entry { results_end, pinned: entry.selected, ..entry });
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the kind of the record at index `record`.
    pub(crate) fn kind(&self, record: usize) -> RecordKind {
        self.list[record].kind
    }

    /// Returns the token count of a record.
    pub(crate) fn tokens(&self, record: usize) -> u64 {
        self.list[record].tokens.into()
    }

    /// Returns the token count of each tool result in a record.
    pub(crate) fn results(&self, record: usize) -> impl Iterator<Item = u64> {
        let end = |record: usize| self.list[record].results_end as usize;
        let results = &self.results[record.checked_sub(1).map_or(0, end)..end(record)];
        results.iter().map(|tokens| u64::from(*tokens))
    }

    /// Returns the total token count for one kind of record.
    pub(crate) fn tokens_of(&self, kind: RecordKind) -> u64 {
        let of_kind = self.list.iter().filter(|entry| entry.kind == kind);
        of_kind.map(|entry| u64::from(entry.tokens)).sum()
    }

    /// Updates the exchange numbers of records after exchanges have been joined.
    pub(crate) fn join(&mut self, joined: &Joined) {
        for entry in &mut self.list {
            entry.exchange = saturating_u32(joined.first_of(entry.exchange.into()));
        }
    }

    /// Pins the records selected by `keep`, in addition to those pinned by selectors.
    pub(crate) fn pin(&mut self, keep: Keep) {
        let mut zones = KnownZones::of(keep, |take| {
            (1..).zip(&self.list).for_each(|(number, entry)| take(number, &entry.facts()));
        });
        for (number, entry) in (1..).zip(&mut self.list) {
            let verdict = zones.next(number, &entry.facts());
            // The latest user message is not pinned, because it may be too long to keep.
            let stays = [Reason::Window, Reason::Pinned, Reason::Exchange];
            entry.pinned = stays.contains(&verdict.reason);
        }
    }
}

impl Entry {
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
            of_message => KnownFacts::Message(MessageFacts {
                is_system: of_message == RecordKind::System,
                begins_message: self.begins_message,
                begins_turn: of_message == RecordKind::User,
                tokens: self.tokens.into(),
                pinned: self.selected,
                exchange: self.exchange(),
                is_orphan: of_message == RecordKind::Orphan,
            }),
        }
    }
}
