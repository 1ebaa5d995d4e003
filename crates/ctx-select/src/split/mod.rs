//! Splitting: which records are `system`, `old` or `keep`.
//!
//! A pure decision over facts, made as records come: [`Splitter::push`] takes
//! the facts of the next record, [`Splitter::next`] gives the verdicts that
//! cannot change any more, in order. What waits is the kept tail, an exchange
//! that is not complete, and what follows the latest user message.

mod exchanges;
mod window;

use std::collections::VecDeque;

use ctx_transcript::{Outline, Zone};

use exchanges::{Exchange, Exchanges};
pub use window::Keep;
use window::Window;

/// What a record is, as far as splitting is concerned.
#[derive(Clone, Copy, Debug)]
pub enum Facts<'a> {
    /// A message.
    Message {
        /// Its skeleton.
        outline: &'a Outline<'a>,
        /// Its tokens; only asked for when [`Keep::tokens`] is set.
        tokens: u64,
        /// Whether a selector pins it.
        pinned: bool,
    },
    /// A message of which only this is known any more: all that decides, once a splitter
    /// has found its exchange.
    Known(Known),
    /// A line that is no message: goes with the record before it.
    Line,
    /// A last line in the writing: always kept.
    Tail,
}

/// What decides about a message whose exchange is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Known {
    /// Instructions of the operator.
    pub is_system: bool,
    /// Whether a message begins here, and not only a further fragment of one.
    pub begins_message: bool,
    /// Whether a turn begins here.
    pub begins_turn: bool,
    /// Its tokens; only asked for when [`Keep::tokens`] is set.
    pub tokens: u64,
    /// Whether a selector pins it.
    pub pinned: bool,
    /// Its exchange, as the [`Verdict`] of an earlier splitter had it.
    pub exchange: Option<u64>,
}

/// Why a record is in its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Instructions of the operator.
    System,
    /// Within what is to be kept.
    Window,
    /// A selector pins it, or another record of its exchange.
    Pinned,
    /// The latest user message, or its exchange.
    LatestUser,
    /// Its exchange reaches into what is to be kept.
    Exchange,
    /// None of these.
    Old,
    /// No message: as the record before it.
    Follows,
    /// A last line in the writing.
    Tail,
}

/// What was decided about one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The zone.
    pub zone: Zone,
    /// Why.
    pub reason: Reason,
    /// Its exchange: the number (from 1) of the exchange's first record.
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
    number: u64,
    kind: Kind,
    exchange: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    System,
    Message { pinned: bool },
    Line,
    Tail,
}

impl Splitter {
    /// Nothing seen yet.
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
        let (kind, exchange) = match facts {
            Facts::Line => (Kind::Line, None),
            Facts::Tail => (Kind::Tail, None),
            Facts::Known(known) if known.is_system => (Kind::System, None),
            Facts::Known(known) => {
                self.window.push(number, &known);
                if known.begins_turn {
                    self.latest_user = Some(number);
                }
                self.exchanges.push_known(number, &known);
                let pinned = known.pinned;
                (Kind::Message { pinned }, known.exchange)
            }
            Facts::Message { outline, .. } if outline.role.is_system() && !outline.is_summary => {
                (Kind::System, None)
            }
            Facts::Message {
                outline,
                tokens,
                pinned,
            } => {
                let known = Known {
                    begins_message: outline.begins_message(),
                    begins_turn: outline.begins_turn,
                    tokens,
                    ..Known::default()
                };
                self.window.push(number, &known);
                if outline.begins_turn {
                    self.latest_user = Some(number);
                }
                let exchange = self.exchanges.push(number, outline, pinned);
                (Kind::Message { pinned }, exchange)
            }
        };
        self.waiting.push_back(Waiting {
            number,
            kind,
            exchange,
        });
    }

    /// No more records come: everything can be decided.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The verdict on the first record that has none yet; `None` when it cannot
    /// be given yet, or there is no such record.
    #[allow(clippy::should_implement_trait)] // More may come after `None`.
    pub fn next(&mut self) -> Option<Verdict> {
        let verdict = self.decide(self.waiting.front()?)?;
        if let Some(Waiting {
            exchange: Some(exchange),
            ..
        }) = self.waiting.pop_front()
        {
            self.exchanges.decided(exchange);
        }
        self.previous = if verdict.reason == Reason::Tail {
            self.previous
        } else {
            verdict.zone
        };
        Some(verdict)
    }

    fn decide(&self, record: &Waiting) -> Option<Verdict> {
        let exchange = record.exchange.map(|id| self.exchanges.get(id));
        let verdict = |zone, reason| {
            Some(Verdict {
                zone,
                reason,
                exchange: exchange.map(|exchange| exchange.first),
            })
        };
        match record.kind {
            Kind::System => return verdict(Zone::System, Reason::System),
            Kind::Line => return verdict(self.previous, Reason::Follows),
            Kind::Tail => return verdict(Zone::Keep, Reason::Tail),
            Kind::Message { pinned: true } => return verdict(Zone::Keep, Reason::Pinned),
            Kind::Message { pinned: false } => {}
        }
        if exchange.is_some_and(|exchange| exchange.pinned) {
            return verdict(Zone::Keep, Reason::Pinned);
        }
        let may_be_old = self.reason_to_wait(record, exchange);
        match may_be_old {
            None => verdict(Zone::Old, Reason::Old),
            Some(reason) if self.finished && reason != Reason::Old => verdict(Zone::Keep, reason),
            Some(_) if self.finished => verdict(Zone::Old, Reason::Old),
            Some(_) => None,
        }
    }

    /// Why the record cannot be called old before more is known; at the end of
    /// the input, why it is kept. [`Reason::Old`]: only because its exchange is
    /// not complete.
    fn reason_to_wait(&self, record: &Waiting, exchange: Option<&Exchange>) -> Option<Reason> {
        let first_kept = self.window.first_kept(self.next);
        let in_exchange = |number: Option<u64>| match (exchange, number) {
            (Some(exchange), Some(number)) => exchange.last_user == Some(number),
            _ => false,
        };
        if record.number >= first_kept {
            Some(Reason::Window)
        } else if self.latest_user == Some(record.number) || in_exchange(self.latest_user) {
            Some(Reason::LatestUser)
        } else if exchange.is_some_and(|exchange| exchange.last >= first_kept) {
            Some(Reason::Exchange)
        } else if exchange.is_some_and(Exchange::is_open) {
            Some(Reason::Old)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
