//! Finds the zones of a session that has been read before. The session's exchanges are already
//! known, so no verdict depends on later records. Only the beginning of the tail and the few
//! exchanges that are partly in it are stored.

use std::collections::{HashMap, HashSet};

use ctx_format::{Outline, Zone};
use ctx_policy::Keep;

use super::exchanges::Exchanges;
use super::window::{MessageFacts, Window};
use super::{KnownFacts, Reason, Verdict};

/// Finds the exchanges in a session while it is first read, before any zones are decided.
#[derive(Debug, Default)]
pub struct ExchangeFinder {
    exchanges: Exchanges,
}

/// The exchanges that turned out to be part of an earlier exchange.
#[derive(Debug, Default)]
pub struct Joined(HashMap<u64, u64>);

/// Determines which records stay, and then returns the zone of each record, in order.
#[derive(Debug, Default)]
pub struct KnownZones {
    /// The number of the first record in the tail.
    first: u64,
    latest_user: Option<u64>,
    /// The exchange of the latest user message.
    exchange_of_user: Option<u64>,
    /// The exchanges with at least one pinned record.
    pinned: HashSet<u64>,
    /// The exchanges that begin before the tail and end in the tail.
    reaching: HashSet<u64>,
    previous: Zone,
}

impl ExchangeFinder {
    /// Processes a message and returns its exchange, if any. `number` is the 1-based number of the
    /// record. The exchange may later turn out to be [`Joined`] with an earlier exchange.
    pub fn push(&mut self, number: u64, outline: &Outline<'_>) -> Option<u64> {
        if outline.role.is_system() && !outline.is_summary {
            return None;
        }
        let exchange = self.exchanges.push(number, outline, false)?;
        self.exchanges.decided(exchange);
        Some(exchange)
    }

    /// Returns which exchanges turned out to be part of an earlier exchange.
    pub fn finish(self) -> Joined {
        Joined(self.exchanges.into_joined())
    }
}

impl Joined {
    /// Returns the number of an exchange's first record after exchanges have been joined.
    pub fn first_of(&self, exchange: u64) -> u64 {
        self.0.get(&exchange).copied().unwrap_or(exchange)
    }
}

impl KnownZones {
    /// Determines which records stay. `each` must pass on every record that is not dropped, with
    /// its 1-based number in the session. The function is called twice: first to find the beginning
    /// of the tail, and then to find the exchanges that are only partly in the tail.
    pub fn of(keep: Keep, mut each: impl FnMut(&mut dyn FnMut(u64, &KnownFacts))) -> Self {
        let mut window = Window::new(keep);
        let (mut latest_user, mut next) = (None, 1);
        each(&mut |number, facts| {
            next = number + 1;
            if let KnownFacts::Message(known) = facts
                && !known.is_system
            {
                window.push(number, known);
                if known.begins_turn {
                    latest_user = Some(number);
                }
            }
        });
        let mut zones = Self { first: window.first_kept(next), latest_user, ..Self::default() };
        each(&mut |number, facts| {
            if let KnownFacts::Message(known) = facts
                && let Some(exchange) = known.exchange.filter(|_| !known.is_system)
            {
                zones.keep_exchange(number, known, exchange);
            }
        });
        zones
    }

    /// Stores a message's exchange if the message is a reason to keep the exchange.
    fn keep_exchange(&mut self, number: u64, known: &MessageFacts, exchange: u64) {
        if known.pinned {
            self.pinned.insert(exchange);
        }
        if self.latest_user == Some(number) {
            self.exchange_of_user = Some(exchange);
        }
        // An exchange that begins in the tail is entirely in the tail.
        if exchange < self.first && number >= self.first {
            self.reaching.insert(exchange);
        }
    }

    fn reason(&self, number: u64, known: &MessageFacts) -> Reason {
        let is_in = |exchanges: &HashSet<u64>| {
            let exchange = known.exchange;
            exchange.is_some_and(|exchange| exchanges.contains(&exchange))
        };
        let is_with_user = known.exchange.is_some() && known.exchange == self.exchange_of_user;
        if known.is_system {
            Reason::System
        } else if known.is_orphan {
            Reason::Old
        } else if known.pinned || is_in(&self.pinned) {
            Reason::Pinned
        } else if number >= self.first {
            Reason::Window
        } else if self.latest_user == Some(number) || is_with_user {
            Reason::LatestUser
        } else if is_in(&self.reaching) {
            Reason::Exchange
        } else {
            Reason::Old
        }
    }

    /// Returns the verdict on the next record.
    pub fn next(&mut self, number: u64, facts: &KnownFacts) -> Verdict {
        let (zone, reason, exchange) = match facts {
            KnownFacts::Tail => (Zone::Keep, Reason::Tail, None),
            KnownFacts::Line => (self.previous, Reason::Follows, None),
            KnownFacts::Message(known) => {
                let reason = self.reason(number, known);
                self.previous = match reason {
                    Reason::System => Zone::System,
                    Reason::Old => Zone::Old,
                    _ => Zone::Keep,
                };
                (self.previous, reason, known.exchange)
            }
        };
        Verdict { zone, reason, exchange }
    }
}
