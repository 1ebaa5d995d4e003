//! Splits a session: decides which records are `system`, `old` or `keep`.
//!
//! Zones are decided as records arrive, based only on facts about the records. [`Splitter::push`]
//! takes the facts about the next record. The splitter is an iterator over the final verdicts, in
//! order. A record waits as long as later records could still change its verdict or the verdict on
//! a record before it. The verdict on a record may change if the record is in the kept tail, if its
//! exchange is incomplete or ends in the tail, or if it is the latest user message.

mod exchanges;
mod known;
#[cfg(test)]
mod tests;
mod window;

use std::collections::VecDeque;
use std::num::NonZeroU64;

use ctx_format::{Outline, Zone};
use ctx_policy::Keep;
use exchanges::{Exchange, Exchanges};
use window::Window;

pub use known::{ExchangeFinder, Joined, KnownZones};
pub use window::MessageFacts;
pub(crate) use window::is_orphan;

/// The reason why a record is in its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The record is an instruction from the operator.
    System,
    /// The record is in the kept tail.
    Window,
    /// The record, or another record in its exchange, is pinned by a selector.
    Pinned,
    /// The record is the latest user message, or it is in the same exchange as that message.
    LatestUser,
    /// The record is before the kept tail, but its exchange ends in the tail.
    Exchange,
    /// There is no reason to keep the record.
    Old,
    /// The record is not a message, so it is in the same zone as the record before it.
    Follows,
    /// The record is an incomplete last line.
    Tail,
}

/// One record's zone, and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The zone of the record.
    pub zone: Zone,
    /// Why the record is in this zone.
    pub reason: Reason,
    /// The record's exchange, identified by the 1-based number of its first record.
    pub exchange: Option<u64>,
}

/// Decides the zones of records as they arrive.
#[derive(Debug, Default)]
pub struct Splitter {
    waiting: VecDeque<Waiting>,
    /// The 1-based number of the next record.
    next: u64,
    window: Window,
    exchanges: Exchanges,
    latest_user: Option<u64>,
    previous: Zone,
    finished: bool,
}

#[derive(Debug)]
struct Waiting {
    /// The reason, if it does not depend on later records.
    reason: Option<Reason>,
    /// The number of the record's exchange, at least 1. The type is small because every record in a
    /// session may be waiting for its verdict.
    exchange: Option<NonZeroU64>,
}

impl Splitter {
    /// Creates a splitter that keeps the latest messages as `keep` says.
    pub fn new(keep: Keep) -> Self {
        Self {
            next: 1,
            window: Window::new(keep),
            exchanges: Exchanges::forgetful(),
            ..Self::default()
        }
    }

    /// Processes a message. `tokens` is used only if [`Keep::tokens`] is set.
    pub fn push(&mut self, outline: &Outline<'_>, tokens: u64, pinned: bool) {
        if outline.role.is_system() && !outline.is_summary {
            return self.wait(Some(Reason::System), None);
        }
        let known = MessageFacts {
            begins_message: outline.begins_message(),
            begins_turn: outline.begins_turn,
            tokens,
            pinned,
            ..MessageFacts::default()
        };
        let number = self.next;
        self.window.push(number, &known);
        if known.begins_turn {
            self.latest_user = Some(number);
        }
        let exchange = self.exchanges.push(number, outline, pinned);
        let is_orphan = is_orphan(outline, exchange);
        let reason = if is_orphan { Some(Reason::Old) } else { pinned.then_some(Reason::Pinned) };
        self.wait(reason, exchange);
    }

    /// Processes a line without a message, which is treated like the record before it, or an
    /// incomplete last line (`is_tail`), which is always kept.
    pub fn push_line(&mut self, is_tail: bool) {
        self.wait(Some(if is_tail { Reason::Tail } else { Reason::Follows }), None);
    }

    fn wait(&mut self, reason: Option<Reason>, exchange: Option<u64>) {
        self.next += 1;
        self.waiting.push_back(Waiting { reason, exchange: exchange.and_then(NonZeroU64::new) });
    }

    /// Makes all remaining verdicts final at the end of the input.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Returns the verdict on the first waiting record, if the verdict is final.
    fn decide(&self, record: &Waiting) -> Option<Verdict> {
        let exchange = record.exchange.map(|id| self.exchanges.get(id.get()));
        let (zone, reason) = match record.reason {
            Some(Reason::System) => (Zone::System, Reason::System),
            Some(Reason::Follows) => (self.previous, Reason::Follows),
            Some(Reason::Old) => (Zone::Old, Reason::Old),
            Some(reason) => (Zone::Keep, reason),
            None => self.decide_message(exchange)?,
        };
        Some(Verdict { zone, reason, exchange: exchange.map(|exchange| exchange.first) })
    }

    fn decide_message(&self, exchange: Option<&Exchange>) -> Option<(Zone, Reason)> {
        if exchange.is_some_and(|exchange| exchange.pinned) {
            return Some((Zone::Keep, Reason::Pinned));
        }
        let number = self.next - self.waiting.len() as u64;
        // Later records may still move the beginning of the tail or join the exchange.
        match self.reason_to_keep(number, exchange) {
            Some(reason) => self.finished.then_some((Zone::Keep, reason)),
            None if !self.finished && exchange.is_some_and(Exchange::is_open) => None,
            None => Some((Zone::Old, Reason::Old)),
        }
    }

    /// Returns the reason that would apply to the record if the session ended here.
    fn reason_to_keep(&self, number: u64, exchange: Option<&Exchange>) -> Option<Reason> {
        let first_kept = self.window.first_kept(self.next);
        let in_exchange =
            |user: Option<u64>| user.is_some() && exchange.is_some_and(|it| it.last_user == user);
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

/// Iterates over the verdicts that have become final, in order. Returns `None` as long as the next
/// verdict depends on later records.
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

/// The facts about a record whose exchange is already known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownFacts {
    /// A record with a message.
    Message(MessageFacts),
    /// A line without a message, treated like the record before it.
    Line,
    /// An incomplete last line, which is always kept.
    Tail,
}
