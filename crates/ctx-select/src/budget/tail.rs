//! The tail that stays: what has to, and what there is room for.

use std::collections::{HashMap, HashSet};

use super::{Budget, Decision, Entry, Kind, LEAST_SUMMARY, TooSmall, Verdict};
use crate::share::Share;

/// A result in the tail may take this share of the room, ...
const RESULT_SHARE: Share = Share::of_percent(12);
/// ... but not less and not more than so many tokens; twice that in the last two
/// exchanges.
const RESULT_TOKENS: (u64, u64) = (60, 800);
/// The shortest a result can be made.
const LEAST_RESULT: u64 = 36;
/// What has to stay may take this share of the room, else it goes into the summary.
const MUST_SHARE: Share = Share::of_percent(75);
/// A user message that takes more than this share of the room cannot stay whole.
const REQUEST_SHARE: Share = Share::of_percent(50);
/// Arguments that are shortened take about so many tokens in each call.
pub(super) const SHORT_ARGUMENTS: u64 = 70;

/// Where the tail begins, and how it is shortened.
pub(super) struct Choice<'e> {
    entries: &'e [Entry],
    budget: &'e Budget,
    /// Tokens for all but the system messages.
    room: u64,
    /// Places where the tail may begin without cutting an exchange, the last first; none
    /// where not even the last exchange stays.
    begins: Vec<usize>,
    must: Vec<bool>,
    /// The latest user message, when it is too long to stay.
    too_long: Option<usize>,
}

impl<'e> Choice<'e> {
    pub(super) fn new(entries: &'e [Entry], budget: &'e Budget) -> Result<Self, TooSmall> {
        let system = entries.iter().filter(|entry| entry.kind == Kind::System);
        let system = budget.frame + system.map(|entry| entry.tokens).sum::<u64>();
        let room = budget.tokens.saturating_sub(system);
        if room < LEAST_SUMMARY {
            return Err(TooSmall {
                needed: system + LEAST_SUMMARY,
                budget: budget.tokens,
            });
        }
        let mut choice = Self {
            entries,
            budget,
            room,
            begins: begins(entries),
            must: entries.iter().map(|entry| entry.pinned).collect(),
            too_long: None,
        };
        choice.require();
        Ok(choice)
    }

    /// Marks what has to stay: pins with their exchanges, the last exchange, and
    /// the latest user message if it can.
    fn require(&mut self) {
        if let Some(last) = self.begins.first() {
            self.must[*last..].fill(true);
        }
        let is_request = |entry: &Entry| entry.kind == Kind::User;
        let latest = self.entries.iter().rposition(is_request);
        if let Some(latest) = latest {
            let fits = self.entries[latest].tokens <= REQUEST_SHARE.of(self.room);
            if !self.entries[latest].pinned {
                self.must[latest] = fits;
                self.too_long = (!fits).then_some(latest);
            }
        }
        let kept = self.entries.iter().zip(&self.must);
        let kept: HashSet<u64> = kept
            .filter(|(_, must)| **must)
            .filter_map(|(e, _)| e.exchange)
            .collect();
        for (entry, must) in self.entries.iter().zip(&mut self.must) {
            *must |= entry
                .exchange
                .is_some_and(|exchange| kept.contains(&exchange));
            *must &= !matches!(entry.kind, Kind::System | Kind::Line | Kind::Tail);
        }
    }

    pub(super) fn decide(mut self) -> Result<Decision, TooSmall> {
        let whole = RESULT_SHARE
            .of(self.room)
            .clamp(RESULT_TOKENS.0, RESULT_TOKENS.1);
        let recent = self.begins.get(1).copied().unwrap_or(0);
        let (limit, arguments) = loop {
            match self.limits(whole) {
                Ok(limits) => break limits,
                Err(error) if !self.give_up_one() => return Err(error),
                Err(_) => {}
            }
        };
        let shorten = |at: usize| Verdict::Shorten {
            tokens: if at >= recent && limit == whole {
                2 * limit
            } else {
                limit
            },
            arguments,
        };
        let cost = |at: usize| self.cost(at, shorten(at));
        let mut used: u64 = self.musts().map(cost).sum();
        let share = self.budget.tail.of(self.room);
        let mut begin = self.begins.first().copied().unwrap_or(self.entries.len());
        for older in self.begins.iter().skip(1) {
            let more: u64 = (*older..begin).filter(|at| !self.must[*at]).map(cost).sum();
            let mut entries = self.entries[*older..begin].iter();
            if used + more > share || entries.any(|entry| entry.kind == Kind::Summary) {
                break;
            }
            used += more;
            begin = *older;
        }
        Ok(Decision {
            verdicts: self.verdicts(begin, shorten),
            latest_request_is_old: self.too_long.is_some(),
        })
    }

    /// Where not all that has to stay does, the latest user message goes into the
    /// summary, and then the last exchange: nothing else has asked for them.
    fn give_up_one(&mut self) -> bool {
        let is_request = |entry: &Entry| entry.kind == Kind::User;
        let latest = self.entries.iter().rposition(is_request);
        let last = self.begins.first().copied().unwrap_or(0);
        let may_go = |at: &usize| self.must[*at] && !self.entries[*at].pinned;
        if let Some(at) = latest.filter(|at| may_go(at) && *at < last) {
            self.must[at] = self.entries[at].exchange.is_some();
            self.too_long = Some(at);
            return !self.must[at];
        }
        if !(last..self.entries.len()).any(|at| may_go(&at))
            || self.entries[last..].iter().any(|entry| entry.pinned)
        {
            return false;
        }
        self.must[last..].fill(false);
        if latest.is_some_and(|at| at >= last) {
            self.too_long = latest;
        }
        self.begins.clear();
        true
    }

    /// How short results must be for what has to stay to fit: the limit for each,
    /// and whether arguments have to be shortened as well.
    fn limits(&self, whole: u64) -> Result<(u64, bool), TooSmall> {
        let room = self.room - LEAST_SUMMARY;
        let needed = |tokens, arguments| -> u64 {
            let verdict = Verdict::Shorten { tokens, arguments };
            self.musts().map(|at| self.cost(at, verdict)).sum()
        };
        // Where it is close, the summary comes first: it has to tell all the rest.
        if needed(2 * whole, false) <= room / 2 {
            return Ok((whole, false));
        }
        let mut limit = whole;
        while limit > LEAST_RESULT && needed(limit, false) > room / 2 {
            limit = (limit * 3 / 4).max(LEAST_RESULT);
        }
        let arguments = needed(limit, false) > room / 2;
        if needed(limit, arguments) <= MUST_SHARE.of(room) {
            return Ok((limit, arguments));
        }
        let others = self.budget.tokens - self.room + LEAST_SUMMARY;
        Err(TooSmall {
            needed: others + needed(LEAST_RESULT, true),
            budget: self.budget.tokens,
        })
    }

    fn musts(&self) -> impl Iterator<Item = usize> {
        (0..self.entries.len()).filter(|at| self.must[*at])
    }

    /// About what a record takes.
    fn cost(&self, at: usize, verdict: Verdict) -> u64 {
        let entry = &self.entries[at];
        let Verdict::Shorten { tokens, arguments } = verdict else {
            return entry.tokens;
        };
        let over = |whole: u64, limit: u64| whole.saturating_sub(limit);
        let results: u64 = entry
            .results
            .iter()
            .map(|result| over(*result, tokens))
            .sum();
        let arguments = if arguments {
            over(entry.arguments, SHORT_ARGUMENTS)
        } else {
            0
        };
        entry.tokens.saturating_sub(results + arguments)
    }

    fn verdicts(&self, begin: usize, shorten: impl Fn(usize) -> Verdict) -> Vec<Verdict> {
        let mut before = Verdict::Keep;
        let mut verdicts = Vec::with_capacity(self.entries.len());
        for (at, entry) in self.entries.iter().enumerate() {
            let verdict = match entry.kind {
                Kind::System | Kind::Tail => Verdict::Keep,
                Kind::Line => before,
                _ if self.too_long == Some(at) => Verdict::Old,
                _ if at >= begin || self.must[at] => shorten(at),
                _ => Verdict::Old,
            };
            if entry.kind != Kind::Tail {
                before = verdict;
            }
            verdicts.push(verdict);
        }
        verdicts
    }
}

/// Where a tail may begin: at a message, and not inside an exchange; the last first.
fn begins(entries: &[Entry]) -> Vec<usize> {
    let mut last_of = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(exchange) = entry.exchange {
            last_of.insert(exchange, at);
        }
    }
    let mut begins = Vec::new();
    let mut open_until = None;
    for (at, entry) in entries.iter().enumerate() {
        if matches!(entry.kind, Kind::Line | Kind::Tail | Kind::System) {
            continue;
        }
        if open_until.is_none_or(|until| at > until) {
            begins.push(at);
        }
        let until = entry.exchange.map(|exchange| last_of[&exchange]);
        open_until = open_until.max(until);
    }
    begins.reverse();
    begins
}
