//! One number for the whole context: which records stay when system messages,
//! summary and kept tail together may have so many tokens.
//!
//! A pure decision. The latest messages stay as long as they take no more than
//! their share of what the system messages leave; long tool results among them
//! count as shortened. The last exchange stays whatever it takes, its results
//! shortened as far as it needs. What is left is the summary's.

use ctx_policy::share::Share;

mod entries;
mod tail;

pub use entries::Entries;

/// A record as the allocation sees it.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Tokens with the frame; 0 for a line without a message.
    pub tokens: u64,
    /// Tokens of each of its tool results.
    pub results: Vec<u64>,
    /// Tokens of the arguments of its calls.
    pub arguments: u64,
    /// The exchange of the record, as the number of its first record, from 1.
    pub exchange: Option<u64>,
    /// The kind of record.
    pub kind: Kind,
    /// A selector or a floor keeps it.
    pub pinned: bool,
    /// Whether a message begins here, and not only a further fragment of one.
    pub begins_message: bool,
}

/// The kinds of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Instructions of the operator: stay in place, whole.
    System,
    /// A user message that begins a turn.
    User,
    /// An earlier summary: old as soon as anything is.
    Summary,
    /// Any other message.
    Other,
    /// Not a message: shares the fate of the record before it.
    #[default]
    Line,
    /// A last line in the writing: always kept.
    Tail,
}

/// The request to an allocation.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Tokens of the whole context.
    pub tokens: u64,
    /// Tokens of the conversation's frame.
    pub frame: u64,
    /// The share of what the system messages leave that the latest messages may take.
    pub tail: Share,
    /// Tokens beyond that share which nothing else takes.
    pub spare: u64,
    /// Whether the oldest of the latest messages may be shortened further, if they would not stay
    /// otherwise.
    pub cuts_oldest: bool,
}

/// The verdict on one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays unchanged.
    Keep,
    /// It stays with its tool results shortened to this many tokens, and with `arguments` also the
    /// long strings in its calls.
    Shorten {
        /// Per result.
        tokens: u32,
        /// Whether long arguments are shortened.
        arguments: bool,
    },
    /// It goes into the summary.
    Old,
}

/// Verdicts for all records, and what is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// One for each record.
    pub verdicts: Vec<Verdict>,
    /// The latest user message was too long to stay.
    pub latest_request_is_old: bool,
}

/// What must stay does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{needed} tokens have to stay, and the budget is {budget}")]
pub struct TooSmall {
    /// The least that has to stay.
    pub needed: u64,
    /// The requested budget.
    pub budget: u64,
}

/// A summary with less says nothing.
pub const LEAST_SUMMARY: u64 = 24;

impl Budget {
    /// Whether everything may stay unchanged.
    pub fn holds(&self, entries: &Entries) -> bool {
        let all = entries.all_tokens();
        // Without a message there is nothing to sum up.
        all == 0 || self.frame + all <= self.tokens
    }
}

/// Decides what stays.
pub fn decide(entries: &Entries, budget: &Budget) -> Result<Decision, TooSmall> {
    if budget.holds(entries) {
        return Ok(Decision {
            verdicts: vec![Verdict::Keep; entries.len()],
            latest_request_is_old: false,
        });
    }
    tail::Choice::new(entries, budget)?.decide()
}

#[cfg(test)]
mod tests;
