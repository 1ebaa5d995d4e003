//! Splitting: which records are `system`, `old` or `keep`.
//!
//! A pure decision over facts, made as records come: [`Splitter::push`] takes
//! the facts of the next record; the splitter is an iterator of the verdicts that cannot
//! change any more, in order. What waits is the kept tail, an exchange
//! that is not complete, and what follows the latest user message.

mod exchanges;
mod facts;
mod known;
mod window;

use std::collections::VecDeque;
use std::num::NonZeroU64;

use ctx_format::{Outline, Zone};
use ctx_policy::keep::Keep;

use exchanges::{Exchange, Exchanges};
pub use facts::{Known, KnownFacts};
pub use known::{ExchangeFinder, Joined, Kept, KnownZones, TailFinder};
use window::Window;

/// A record, as far as splitting is concerned.
#[derive(Clone, Copy, Debug)]
pub enum Facts<'a> {
    /// A message.
    Message {
        /// Its skeleton.
        outline: &'a Outline<'a>,
        /// Its tokens, if [`Keep::tokens`] is set.
        tokens: u64,
        /// Whether a selector pins it.
        pinned: bool,
    },
    /// A line without a message: shares the fate of the record before it.
    Line,
    /// A last line in the writing: always kept.
    Tail,
}

/// Why a record is in its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Instructions of the operator.
    System,
    /// Within the kept part.
    Window,
    /// A selector pins it, or another record of its exchange.
    Pinned,
    /// The latest user message, or its exchange.
    LatestUser,
    /// Its exchange reaches into the kept part.
    Exchange,
    /// None of these.
    Old,
    /// No message: as the record before it.
    Follows,
    /// A last line in the writing.
    Tail,
}

/// The verdict on one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The zone.
    pub zone: Zone,
    /// Why.
    pub reason: Reason,
    /// Its exchange, as the number (from 1) of the exchange's first record.
    pub exchange: Option<u64>,
}

/// Decides zones as records come.
#[derive(Debug)]
pub struct Splitter {
    waiting: VecDeque<Waiting>,
    /// Number of the next record, from 1.
    next: u64,
    window: Window,
    exchanges: Exchanges,
    latest_user: Option<u64>,
    previous: Zone,
    finished: bool,
}

#[derive(Debug)]
struct Waiting {
    /// A reason that does not depend on later records.
    reason: Option<Reason>,
    /// There may be as many of these as records, and numbers begin at 1.
    exchange: Option<NonZeroU64>,
}

impl Splitter {
    /// A new splitter.
    pub fn new(keep: Keep) -> Self {
        Self {
            waiting: VecDeque::new(),
            next: 1,
            window: Window::new(keep),
            exchanges: Exchanges::default(),
            latest_user: None,
            previous: Zone::System,
            finished: false,
        }
    }

    /// The next record.
    pub fn push(&mut self, facts: Facts<'_>) {
        let number = self.next;
        self.next += 1;
        let (reason, exchange) = match facts {
            Facts::Line => (Some(Reason::Follows), None),
            Facts::Tail => (Some(Reason::Tail), None),
            Facts::Message { outline, tokens, pinned } => {
                let known = Known {
                    is_system: outline.role.is_system() && !outline.is_summary,
                    begins_message: outline.begins_message(),
                    begins_turn: outline.begins_turn,
                    tokens,
                    pinned,
                    exchange: None,
                };
                self.message(number, &known, outline)
            }
        };
        self.waiting.push_back(Waiting { reason, exchange: exchange.and_then(NonZeroU64::new) });
    }

    /// The verdict on a message, and its exchange.
    fn message(
        &mut self,
        number: u64,
        known: &Known,
        outline: &Outline<'_>,
    ) -> (Option<Reason>, Option<u64>) {
        if known.is_system {
            return (Some(Reason::System), None);
        }
        self.window.push(number, known);
        if known.begins_turn {
            self.latest_user = Some(number);
        }
        let exchange = self.exchanges.push(number, outline, known);
        (known.pinned.then_some(Reason::Pinned), exchange)
    }

    /// No more records come: everything can be decided.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The number of the first that waits.
    fn first_waiting(&self) -> u64 {
        self.next - self.waiting.len() as u64
    }

    /// The verdict on the first that waits.
    fn decide(&self, record: &Waiting) -> Option<Verdict> {
        let exchange = record.exchange.map(|id| self.exchanges.get(id.get()));
        let (zone, reason) = match record.reason {
            Some(Reason::System) => (Zone::System, Reason::System),
            Some(Reason::Follows) => (self.previous, Reason::Follows),
            Some(reason) => (Zone::Keep, reason),
            None => self.decide_message(exchange)?,
        };
        Some(Verdict { zone, reason, exchange: exchange.map(|exchange| exchange.first) })
    }

    fn decide_message(&self, exchange: Option<&Exchange>) -> Option<(Zone, Reason)> {
        if exchange.is_some_and(|exchange| exchange.pinned) {
            return Some((Zone::Keep, Reason::Pinned));
        }
        // More records may move the window on, and join the exchange.
        match self.reason_to_keep(self.first_waiting(), exchange) {
            Some(reason) => self.finished.then_some((Zone::Keep, reason)),
            None if !self.finished && exchange.is_some_and(Exchange::is_open) => None,
            None => Some((Zone::Old, Reason::Old)),
        }
    }

    /// Why the record is kept if no more records come.
    fn reason_to_keep(&self, number: u64, exchange: Option<&Exchange>) -> Option<Reason> {
        let first_kept = self.window.first_kept(self.next);
        let in_exchange = |user: Option<u64>| match (exchange, user) {
            (Some(exchange), Some(user)) => exchange.last_user == Some(user),
            _ => false,
        };
        if number >= first_kept {
            Some(Reason::Window)
        } else if self.latest_user == Some(number) || in_exchange(self.latest_user) {
            Some(Reason::LatestUser)
        } else if exchange.is_some_and(|exchange| exchange.last >= first_kept) {
            Some(Reason::Exchange)
        } else {
            None
        }
    }
}

/// The verdicts on the records that have none yet, in order. `None` when the next one
/// cannot be given yet: more may come after it.
impl Iterator for Splitter {
    type Item = Verdict;

    fn next(&mut self) -> Option<Verdict> {
        let verdict = self.decide(self.waiting.front()?)?;
        let decided = self.waiting.pop_front();
        if let Some(exchange) = decided.and_then(|record| record.exchange) {
            self.exchanges.decided(exchange.get());
        }
        if verdict.reason != Reason::Tail {
            self.previous = verdict.zone;
        }
        Some(verdict)
    }
}

#[cfg(test)]
mod tests;
