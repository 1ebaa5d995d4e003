//! Finds exchanges as records arrive. An exchange consists of replies with calls and the results
//! that answer them. A result answers the nearest earlier call with the same id. The ids of calls
//! may repeat, and a result may be far from its call. Some APIs treat adjacent replies as one
//! message. Therefore, a reply, or a result that answers no call, joins the exchange of the reply
//! directly before it if that reply has unanswered calls. All records of a message are in the same
//! exchange, together with everything between them.

use std::collections::HashMap;

use ctx_format::view::Fragment;
use ctx_format::{Outline, Role};

/// An exchange, identified by the number of its first record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchange {
    /// The number of the first record in the exchange.
    pub(super) first: u64,
    /// The number of the last record in the exchange so far.
    pub(super) last: u64,
    /// The number of the last user message that begins a turn within the exchange, if any.
    pub(super) last_user: Option<u64>,
    /// Whether any record in the exchange is pinned.
    pub(super) pinned: bool,
    /// The number of calls that may still be answered, plus the number of incomplete messages.
    open: u64,
    /// The number of records in the exchange that have no verdict yet.
    undecided: u64,
}

impl Exchange {
    /// Returns true if a record may still join the exchange.
    pub(super) fn is_open(&self) -> bool {
        self.open > 0
    }
}

/// The exchanges that may still be needed by records without a verdict or by later records.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    by_id: HashMap<u64, Exchange>,
    /// Maps the former id of each exchange that was merged into an earlier exchange to the earlier
    /// exchange's id.
    joined: HashMap<u64, u64>,
    /// The calls without a result. Maps a call id to the latest exchange in which calls with this
    /// id have no result, and to the number of these calls.
    calls: HashMap<String, (u64, u64)>,
    /// Maps each message whose last record has not arrived yet to its exchange.
    messages: HashMap<u64, u64>,
    /// The exchange that the next reply or result joins if it answers no call. While the latest
    /// reply waits for results, this field is the reply's exchange; otherwise, it is the exchange
    /// of the preceding message.
    before: Option<u64>,
    /// Whether to drop entries in `joined` that no record needs anymore.
    forgets: bool,
}

impl Exchanges {
    /// Creates an empty list that does not grow with the stream. [`Self::into_joined`] needs what
    /// this list forgets.
    pub(super) fn forgetful() -> Self {
        Self { forgets: true, ..Self::default() }
    }

    /// Returns a map from each exchange that was joined with an earlier exchange to the earlier
    /// exchange.
    pub(super) fn into_joined(self) -> HashMap<u64, u64> {
        let mut joined = self.joined;
        let mut gone: Vec<u64> = joined.keys().copied().collect();
        gone.sort_unstable();
        // Exchanges are updated in ascending order, so each exchange's target is final before a
        // later exchange refers to it.
        for id in gone {
            if let Some(last) = joined.get(&joined[&id]).copied() {
                joined.insert(id, last);
            }
        }
        joined
    }

    /// Processes the next message. Returns the id of the message's exchange, if any.
    pub(super) fn push(&mut self, number: u64, outline: &Outline<'_>, pinned: bool) -> Option<u64> {
        // The exchange that the message may join even if it answers no call.
        let joins = outline.role == Role::Assistant || !outline.results.is_empty();
        let before = self.before.map(|id| self.resolve(id));
        let before = before.filter(|id| joins && self.is_open(*id));
        let Some(id) = self.find(number, outline, before) else {
            self.before = None;
            return None;
        };
        let exchange =
            self.by_id.entry(id).or_insert(Exchange { first: id, ..Exchange::default() });
        exchange.last = number;
        exchange.pinned |= pinned;
        exchange.undecided += 1;
        exchange.open += outline.awaited().count() as u64;
        if outline.begins_turn {
            exchange.last_user = Some(number);
        }
        for call in outline.awaited() {
            self.await_result(call, id);
        }
        if let Some(fragment) = outline.fragment {
            self.await_rest(fragment, id);
        }
        // Even if the result after the latest reply answers an earlier reply, later messages can
        // still join the latest reply's exchange.
        self.before = before.filter(|id| self.is_open(*id)).or(Some(id));
        Some(id)
    }

    /// Returns the exchange that the message joins or begins, if any.
    fn find(&mut self, number: u64, outline: &Outline<'_>, before: Option<u64>) -> Option<u64> {
        let message = outline.fragment.map(|fragment| fragment.message);
        let begun = message.and_then(|message| self.messages.get(&message));
        let mut id = begun.map(|id| self.resolve(*id));
        for result in outline.answered() {
            let is_by_id = !result.is_empty() || self.calls.contains_key(result);
            let in_order = outline.answers_in_order && !is_by_id;
            let next = if in_order { self.next_call(before) } else { None };
            if let Some(answered) = self.answer(next.as_deref().unwrap_or(result)) {
                id = Some(id.map_or(answered, |id| self.join(id, answered)));
            }
        }
        let goes_on = outline.fragment.is_some_and(|fragment| !fragment.ends);
        let own = (outline.awaited().next().is_some() || goes_on).then_some(number);
        id.or(before).or(own)
    }

    /// Returns the id of a call that waits in the given exchange.
    fn next_call(&self, exchange: Option<u64>) -> Option<String> {
        let is_in = |(_, (id, _)): &(_, &(u64, u64))| Some(self.resolve(*id)) == exchange;
        self.calls.iter().filter(is_in).map(|(call, _)| call).min().cloned()
    }

    fn is_open(&self, id: u64) -> bool {
        self.by_id.get(&id).is_some_and(Exchange::is_open)
    }

    /// Returns the exchange with this id or, if it was joined with another exchange, that exchange.
    pub(super) fn get(&self, id: u64) -> &Exchange {
        &self.by_id[&self.resolve(id)]
    }

    /// Notes that one more record in the exchange has received its verdict.
    pub(super) fn decided(&mut self, id: u64) {
        let id = self.resolve(id);
        if let Some(exchange) = self.by_id.get_mut(&id) {
            exchange.undecided -= 1;
        }
        self.forget_if_done(id);
    }

    fn await_result(&mut self, call: &str, exchange: u64) {
        let before = self.calls.get(call).map(|(other, waiting)| (self.resolve(*other), *waiting));
        let waiting = match before {
            Some((other, waiting)) if other == exchange => waiting + 1,
            // Calls with the same id in an earlier exchange can no longer be answered.
            Some((other, waiting)) => {
                self.close(other, waiting);
                1
            }
            None => 1,
        };
        self.calls.insert(call.to_owned(), (exchange, waiting));
    }

    /// Keeps the exchange open from the first to the last record of a message.
    fn await_rest(&mut self, fragment: Fragment, exchange: u64) {
        let waited = self.messages.remove(&fragment.message).is_some();
        if !fragment.ends {
            self.messages.insert(fragment.message, exchange);
        }
        if let Some(exchange) = self.by_id.get_mut(&exchange) {
            exchange.open -= u64::from(waited);
            exchange.open += u64::from(!fragment.ends);
        }
    }

    /// Records a result with the id `id` and returns the exchange that contains the answered call.
    fn answer(&mut self, id: &str) -> Option<u64> {
        let (exchange, waiting) = self.calls.get_mut(id)?;
        let exchange = *exchange;
        *waiting -= 1;
        if *waiting == 0 {
            self.calls.remove(id);
        }
        let exchange = self.resolve(exchange);
        self.by_id.get_mut(&exchange)?.open -= 1;
        Some(exchange)
    }

    fn close(&mut self, id: u64, calls: u64) {
        if let Some(exchange) = self.by_id.get_mut(&id) {
            exchange.open -= calls;
        }
        self.forget_if_done(id);
    }

    /// Joins two exchanges into one, under the id of the earlier exchange.
    fn join(&mut self, one: u64, other: u64) -> u64 {
        let (one, other) = (self.resolve(one), self.resolve(other));
        let (id, gone) = (one.min(other), one.max(other));
        if id == gone {
            return id;
        }
        if let Some(later) = self.by_id.remove(&gone) {
            self.joined.insert(gone, id);
            if let Some(exchange) = self.by_id.get_mut(&id) {
                exchange.last = exchange.last.max(later.last);
                exchange.last_user = exchange.last_user.max(later.last_user);
                exchange.pinned |= later.pinned;
                exchange.open += later.open;
                exchange.undecided += later.undecided;
            }
        }
        id
    }

    fn resolve(&self, mut id: u64) -> u64 {
        while let Some(other) = self.joined.get(&id) {
            id = *other;
        }
        id
    }

    fn forget_if_done(&mut self, id: u64) {
        let is_done = |exchange: &Exchange| exchange.open == 0 && exchange.undecided == 0;
        if self.by_id.get(&id).is_some_and(is_done) {
            self.by_id.remove(&id);
            if self.forgets {
                self.joined.retain(|_, to| *to != id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::view::Fragment;
    use ctx_format::{Outline, Role};

    use super::Exchanges;

    fn reply(calls: &[&'static str]) -> Outline<'static> {
        Outline {
            role: Role::Assistant,
            calls: calls.iter().map(|id| (*id).into()).collect(),
            ..Outline::of_line()
        }
    }

    fn result(id: &'static str) -> Outline<'static> {
        Outline { role: Role::Tool, results: vec![id.into()], ..Outline::of_line() }
    }

    fn push(exchanges: &mut Exchanges, number: u64, outline: &Outline<'_>) -> Option<u64> {
        exchanges.push(number, outline, false)
    }

    #[test]
    fn an_exchange_is_open_until_all_its_calls_are_answered() {
        let mut exchanges = Exchanges::forgetful();
        assert_eq!(push(&mut exchanges, 1, &reply(&["a", "b"])), Some(1));
        assert_eq!(push(&mut exchanges, 2, &result("b")), Some(1));
        assert!(exchanges.get(1).is_open());
        assert_eq!(push(&mut exchanges, 3, &result("a")), Some(1));
        assert!(!exchanges.get(1).is_open());
        assert_eq!(exchanges.get(1).last, 3);
        assert_eq!(push(&mut exchanges, 4, &result("a")), None);
    }

    #[test]
    fn a_record_that_answers_two_exchanges_makes_them_one() {
        let mut exchanges = Exchanges::forgetful();
        push(&mut exchanges, 1, &reply(&["a"]));
        let user = Outline { role: Role::User, ..Outline::of_line() };
        assert_eq!(push(&mut exchanges, 2, &user), None);
        push(&mut exchanges, 3, &reply(&["b"]));
        let both = Outline { results: vec!["b".into(), "a".into()], ..result("a") };
        assert_eq!(push(&mut exchanges, 4, &both), Some(1));
        assert_eq!((exchanges.get(3).first, exchanges.get(3).last), (1, 4));
    }

    #[test]
    fn what_is_decided_and_closed_is_forgotten() {
        let mut exchanges = Exchanges::forgetful();
        push(&mut exchanges, 1, &reply(&["a"]));
        exchanges.decided(1);
        assert_eq!(exchanges.by_id.len(), 1);
        push(&mut exchanges, 2, &result("a"));
        exchanges.decided(1);
        assert!(exchanges.by_id.is_empty() && exchanges.calls.is_empty());
    }

    #[test]
    fn the_lines_of_a_message_are_one_exchange() {
        let line = |begins, ends| Outline {
            fragment: Some(Fragment { message: 7, begins, ends }),
            ..reply(&[])
        };
        let mut exchanges = Exchanges::forgetful();
        assert_eq!(push(&mut exchanges, 1, &line(true, false)), Some(1));
        assert_eq!(push(&mut exchanges, 2, &line(false, false)), Some(1));
        assert!(exchanges.get(1).is_open());
        assert_eq!(push(&mut exchanges, 3, &line(false, true)), Some(1));
        assert!(!exchanges.get(1).is_open());
    }
}
