//! Chooses which records stay: the required records, and as many of the latest records as fit.

use std::collections::HashSet;
use std::ops::Range;

use super::{Budget, Decision, Entries, Entry, LEAST_SUMMARY, RecordKind, TooSmall, Verdict};
use crate::message_counter::saturating_u32;
use ctx_policy::share::Share;

/// The largest share of the available tokens for one tool result in the tail.
const RESULT_SHARE: Share = Share::of_percent(12);
/// The smallest and largest limit for one tool result in the tail, in tokens. In the last two
/// exchanges, the limit is doubled if there is room.
const RESULT_TOKENS: (u16, u16) = (60, 800);
/// The smallest limit for tool results in records that must stay, in tokens.
const LEAST_RESULT: u16 = 36;
/// The largest share of the available tokens for messages that must stay. If the messages that must
/// stay need more than this share, some of them are summarized after all, or the allocation fails.
const MUST_SHARE: Share = Share::of_percent(75);
/// The latest user message is summarized if it takes more than this share of the available tokens.
const REQUEST_SHARE: Share = Share::of_percent(45);
/// The approximate number of tokens in call arguments that have been shortened.
pub(super) const SHORT_ARGUMENTS: u64 = 70;

/// Chooses where the tail begins and how much its records are shortened.
pub(super) struct Choice<'e> {
    entries: &'e Entries,
    budget: &'e Budget,
    /// The number of tokens left by the system messages.
    room: u64,
    /// The indices at which the tail can begin without splitting an exchange, from last to first.
    /// The list is empty if not even the last exchange can be kept.
    begins: Vec<u32>,
    must: Vec<bool>,
    /// The index of the latest user message, if that message is too long to keep.
    too_long: Option<usize>,
}

impl<'e> Choice<'e> {
    pub(super) fn new(entries: &'e Entries, budget: &'e Budget) -> Result<Self, TooSmall> {
        let system = budget.frame + entries.tokens_of(RecordKind::System);
        let room = budget.tokens.saturating_sub(system);
        if room < LEAST_SUMMARY {
            return Err(TooSmall { needed: system + LEAST_SUMMARY, budget: budget.tokens });
        }
        let mut choice = Self {
            entries,
            budget,
            room,
            begins: begins(&entries.list),
            must: entries.list.iter().map(|entry| entry.pinned).collect(),
            too_long: None,
        };
        choice.require();
        Ok(choice)
    }

    /// Marks the records that must stay: pinned records with their exchanges, the last exchange,
    /// and the latest user message if it fits.
    fn require(&mut self) {
        if let Some(last) = self.begin(0) {
            self.must[last..].fill(true);
        }
        let list = &self.entries.list;
        if let Some(latest) = self.latest_request() {
            let fits = list[latest].tokens() <= REQUEST_SHARE.of(self.room);
            if !list[latest].pinned {
                self.must[latest] = fits;
                let is_alone = list[latest].exchange().is_none();
                self.too_long = (!fits && is_alone).then_some(latest);
            }
        }
        let kept = list.iter().zip(&self.must);
        let kept: HashSet<u64> =
            kept.filter(|(_, must)| **must).filter_map(|(e, _)| e.exchange()).collect();
        for (entry, must) in list.iter().zip(&mut self.must) {
            *must |= entry.exchange().is_some_and(|exchange| kept.contains(&exchange));
            *must &=
                !matches!(entry.kind, RecordKind::System | RecordKind::Line | RecordKind::Tail);
        }
    }

    /// Returns an index at which the tail can begin: the last such index for number 0, the one
    /// before it for number 1, and so on.
    fn begin(&self, number: usize) -> Option<usize> {
        self.begins.get(number).map(|begin| *begin as usize)
    }

    fn latest_request(&self) -> Option<usize> {
        let is_request = |entry: &Entry| entry.kind == RecordKind::User;
        self.entries.list.iter().rposition(is_request)
    }

    pub(super) fn decide(mut self) -> Result<Decision, TooSmall> {
        let share = u16::try_from(RESULT_SHARE.of(self.room)).unwrap_or(u16::MAX);
        let whole = share.clamp(RESULT_TOKENS.0, RESULT_TOKENS.1);
        let recent = self.begin(1).unwrap_or(0);
        let (limit, arguments) = loop {
            match self.limits(whole) {
                Ok(limits) => break limits,
                Err(error) if !self.give_up_one() => return Err(error),
                Err(_) => {}
            }
        };
        let shorten = |at: usize| Verdict::Shorten {
            tokens: if at >= recent && limit == whole { 2 * limit } else { limit },
            arguments,
        };
        let cost = |at: usize| self.cost(at, shorten(at));
        let mut used: u64 = self.musts().map(cost).sum();
        let share = self.budget.tail.of(self.room) + self.budget.spare;
        let share = share.min(self.room - LEAST_SUMMARY);
        let mut begin = self.begin(0).unwrap_or(self.entries.len());
        let mut cut = None;
        for older in self.begins.iter().skip(1) {
            let older = *older as usize;
            let more: u64 = (older..begin).filter(|at| !self.must[*at]).map(cost).sum();
            let mut entries = self.entries.list[older..begin].iter();
            if entries.any(|entry| entry.kind == RecordKind::Summary) {
                break;
            }
            if used + more > share {
                cut = self.cut(older..begin, share.saturating_sub(used), shorten(older));
                break;
            }
            used += more;
            begin = older;
        }
        let shorten = |at: usize| match &cut {
            Some((range, verdict)) if range.contains(&at) && !self.must[at] => *verdict,
            _ => shorten(at),
        };
        let begin = cut.as_ref().map_or(begin, |(range, _)| range.start);
        let verdicts = self.verdicts(begin, shorten);
        let latest = self.latest_request();
        let latest_request_is_old = latest.is_some_and(|at| verdicts[at] == Verdict::Old);
        Ok(Decision { verdicts, latest_request_is_old })
    }

    /// Finds a verdict that shortens the records in `range` to at most `left` tokens in total, if
    /// the budget permits such a cut. No tool result stays longer than `usual` allows.
    fn cut(
        &self,
        range: Range<usize>,
        left: u64,
        usual: Verdict,
    ) -> Option<(Range<usize>, Verdict)> {
        let Verdict::Shorten { tokens, arguments } = usual else { return None };
        let fits = |verdict: &Verdict| {
            let records = range.clone().filter(|at| !self.must[*at]);
            records.map(|at| self.cost(at, *verdict)).sum::<u64>() <= left
        };
        let limits = |arguments| {
            let limits = (RESULT_TOKENS.0..=tokens).rev();
            limits.map(move |tokens| Verdict::Shorten { tokens, arguments })
        };
        let mut verdicts = limits(arguments).chain(limits(true));
        let verdict = self.budget.cuts_oldest.then(|| verdicts.find(fits))??;
        Some((range, verdict))
    }

    /// Called if the records that must stay do not fit. Gives up the latest user message or,
    /// failing that, the last exchange. Returns false if neither can be given up, for example
    /// because they are pinned.
    fn give_up_one(&mut self) -> bool {
        let all = &self.entries.list;
        let latest = self.latest_request();
        let last = self.begin(0).unwrap_or(0);
        let may_go = |at: &usize| self.must[*at] && !all[*at].pinned;
        if let Some(at) = latest.filter(|at| may_go(at) && *at < last) {
            self.must[at] = all[at].exchange().is_some();
            self.too_long = Some(at);
            return !self.must[at];
        }
        if !(last..all.len()).any(|at| may_go(&at)) || all[last..].iter().any(|entry| entry.pinned)
        {
            return false;
        }
        self.must[last..].fill(false);
        self.begins.clear();
        true
    }

    /// Returns a limit per tool result at which the required records fit, and whether call
    /// arguments must be shortened as well.
    fn limits(&self, whole: u16) -> Result<(u16, bool), TooSmall> {
        let room = self.room - LEAST_SUMMARY;
        let needed = |tokens, arguments| -> u64 {
            let verdict = Verdict::Shorten { tokens, arguments };
            self.musts().map(|at| self.cost(at, verdict)).sum()
        };
        // If space is tight, results are shortened until half of the space is left for the summary,
        // because the summary has to cover all other records.
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
        Err(TooSmall { needed: others + needed(LEAST_RESULT, true), budget: self.budget.tokens })
    }

    fn musts(&self) -> impl Iterator<Item = usize> {
        (0..self.entries.len()).filter(|at| self.must[*at])
    }

    /// Returns the approximate token count of a record after `verdict` has been applied to it.
    fn cost(&self, at: usize, verdict: Verdict) -> u64 {
        let entry = &self.entries.list[at];
        let Verdict::Shorten { tokens, arguments } = verdict else { return entry.tokens() };
        let over = |whole: u64, limit: u64| whole.saturating_sub(limit);
        let results = self.entries.results(at);
        let results: u64 = results.map(|result| over(result, tokens.into())).sum();
        let arguments = if arguments { over(entry.arguments.into(), SHORT_ARGUMENTS) } else { 0 };
        entry.tokens().saturating_sub(results + arguments)
    }

    fn verdicts(&self, begin: usize, shorten: impl Fn(usize) -> Verdict) -> Vec<Verdict> {
        let mut before = Verdict::Keep;
        let mut verdicts = Vec::with_capacity(self.entries.len());
        for (at, entry) in self.entries.list.iter().enumerate() {
            let verdict = match entry.kind {
                RecordKind::System | RecordKind::Tail => Verdict::Keep,
                RecordKind::Line => before,
                RecordKind::Orphan => Verdict::Old,
                _ if self.too_long == Some(at) => Verdict::Old,
                _ if at >= begin || self.must[at] => shorten(at),
                _ => Verdict::Old,
            };
            if entry.kind != RecordKind::Tail {
                before = verdict;
            }
            verdicts.push(verdict);
        }
        verdicts
    }
}

/// Returns the indices at which a tail can begin, from last to first. A tail can begin with any
/// message that does not split an exchange.
fn begins(entries: &[Entry]) -> Vec<u32> {
    let mut begins = Vec::new();
    // The 1-based number of the earliest record in any exchange that includes this record or a
    // later one.
    let mut first = u64::MAX;
    for (at, entry) in entries.iter().enumerate().rev() {
        first = entry.exchange().unwrap_or(first).min(first);
        let is_message =
            !matches!(entry.kind, RecordKind::Line | RecordKind::Tail | RecordKind::System);
        if is_message && first > at as u64 {
            begins.push(saturating_u32(at as u64));
        }
    }
    begins
}
