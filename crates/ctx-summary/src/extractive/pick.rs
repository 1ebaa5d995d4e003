//! Chooses segments greedily: each time the one that, for its length, adds the most that is likely
//! to be needed and not said yet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ctx_tokens::TokenCounter;

use super::Candidate;
use super::page::{chain_of_heads, tokens_with_heads};
use super::terms::Terms;
use super::worth::{has_files, later_words, prose_worths, worths};
use crate::ledger::{Index, Origin, SegmentKind};

/// The part of an identifier's worth that counts: if the text does not have it, has it without
/// context, with one of the words around it, and with enough of them.
const OF_COVERAGE: [f64; 4] = [0.0, 0.35, 0.5, 1.0];
/// Identifiers less likely than this are not worth a line.
const LEAST_CHANCE: f64 = 0.0005;

/// A shorter summary, in tokens, has no space for the heads of most values, or for lines that say
/// nothing without their heads.
const LITTLE: u64 = 400;
/// A shorter summary has no space for single lines of a program that can be read again.
const SHORT: u64 = 1_300;

/// Judges segments by their new identifiers.
pub(super) struct Picker<'i> {
    index: &'i Index,
    chances: Vec<f64>,
    coverage: Vec<f64>,
    reads: Vec<f64>,
    has_heads: bool,
}

impl<'i> Picker<'i> {
    /// Starts a choice for a summary of `limit` tokens. `written` is its text so far, which
    /// contains the `chosen` segments, and `known` has the tokens of segments that were counted.
    pub(super) fn greedy(
        index: &'i Index,
        written: &str,
        chosen: &[bool],
        known: &[u64],
        limit: u64,
        counter: &dyn TokenCounter,
    ) -> Greedy<Self> {
        let has_code = limit >= SHORT || limit >= LITTLE && !has_files(index.segments());
        let mut coverage = index.coverage().to_vec();
        index.add_coverage(written, &mut coverage);
        let mut picker = Self {
            index,
            chances: index.chances(),
            coverage: coverage
                .iter()
                .map(|words| OF_COVERAGE[usize::from(*words).min(3)])
                .collect(),
            reads: Vec::new(),
            has_heads: limit >= LITTLE,
        };
        let mut tells: Vec<bool> =
            (0..chosen.len()).map(|number| !chosen[number] && picker.worth(number) > 0.0).collect();
        picker.reads = prose_worths(index, &tells);
        if !has_code {
            tells.iter_mut().zip(&picker.reads).for_each(|(tells, reads)| *tells &= *reads >= 1.0);
        }
        let tokens = tokens_with_heads(index, &tells, known.to_vec(), counter);
        Greedy::new(picker, tokens, chosen.to_vec(), &tells)
    }

    /// The worth that a segment adds.
    fn worth(&self, number: usize) -> f64 {
        let marks = self.index.marks(&self.index.segments()[number]).iter();
        marks
            .map(|mark| {
                let id = mark.id as usize;
                let chance = self.chances[id];
                let more = OF_COVERAGE[usize::from(mark.words) + 1] - self.coverage[id];
                if chance > LEAST_CHANCE && more > 0.0 { chance * more } else { 0.0 }
            })
            .sum()
    }
}

impl Judge for Picker<'_> {
    fn chain(&self, number: usize, chosen: &[bool]) -> Vec<usize> {
        let segment = &self.index.segments()[number];
        // A list item or a bare figure says nothing without the segment above it.
        let needs_head = segment.kind == SegmentKind::Item
            || !self.index.text(segment).contains(char::is_alphabetic);
        let most = if self.has_heads || needs_head { usize::MAX } else { 1 };
        let chain = chain_of_heads(self.index.segments(), number).take(most);
        chain.take_while(|number| !chosen[*number]).collect()
    }

    fn candidate(&self, chain: &[usize], tokens: &[u64]) -> Option<Candidate> {
        let number = *chain.first()?;
        let tokens = chain.iter().map(|at| tokens[*at]).sum();
        let worth = self.worth(number) * self.reads[number];
        (worth > 0.0).then(|| Candidate::for_length(worth, number, tokens))
    }

    fn take(&mut self, chain: &[usize], _tokens: &[u64]) {
        for number in chain {
            for mark in self.index.marks(&self.index.segments()[*number]) {
                let coverage = &mut self.coverage[mark.id as usize];
                *coverage = coverage.max(OF_COVERAGE[usize::from(mark.words) + 1]);
            }
        }
    }
}

/// The worth of a segment in addition to its new words.
const ALONE: f64 = 0.1;
/// A request is shown whole if it fits.
const ALONE_ASKED: f64 = 0.6;
/// If the user's words take more than this percentage of the story, other segments come first. A
/// long request mostly names things that have been done since.
const ASKED_SHARE: u64 = 35;
const CROWDED: f64 = 0.5;

/// Judges the story by its new words.
pub(super) struct Teller<'i> {
    index: &'i Index,
    worths: Vec<f64>,
    terms: Terms,
    /// The tokens of the user's words that are used and allowed.
    asked: u64,
    most_asked: u64,
    later: Vec<bool>,
}

impl<'i> Teller<'i> {
    pub(super) fn greedy(index: &'i Index, counter: &dyn TokenCounter) -> Greedy<Self> {
        let worths = worths(index);
        let candidates: Vec<bool> = worths.iter().map(|worth| *worth > 0.0).collect();
        let tokens = tokens_with_heads(index, &candidates, Vec::new(), counter);
        let teller = Self {
            index,
            terms: Terms::of(index, &candidates),
            asked: 0,
            most_asked: 0,
            later: later_words(index),
            worths,
        };
        Greedy::new(teller, tokens, vec![false; candidates.len()], &candidates)
    }

    fn is_asked(&self, number: usize) -> bool {
        self.index.segments()[number].origin == Origin::User
    }
}

impl Judge for Teller<'_> {
    fn begin(&mut self, room: u64) {
        self.most_asked = room * ASKED_SHARE / 100;
    }

    fn chain(&self, number: usize, chosen: &[bool]) -> Vec<usize> {
        let chain = chain_of_heads(self.index.segments(), number);
        chain.take_while(|number| !chosen[*number]).collect()
    }

    fn candidate(&self, chain: &[usize], tokens: &[u64]) -> Option<Candidate> {
        let number = *chain.first()?;
        let tokens = chain.iter().map(|at| tokens[*at]).sum();
        let alone = if self.is_asked(number) { ALONE_ASKED } else { ALONE };
        let mut worth = self.worths[number] * (alone + self.terms.news(number));
        if self.asked > self.most_asked && self.later[number] {
            worth *= CROWDED;
        }
        Some(Candidate::for_length(worth, number, tokens))
    }

    fn take(&mut self, chain: &[usize], tokens: &[u64]) {
        self.terms.tell(chain[0]);
        let asked = chain.iter().filter(|number| self.is_asked(**number));
        self.asked += asked.map(|number| tokens[*number]).sum::<u64>();
    }
}

/// Tokens of a line in addition to its text.
pub(super) const PER_LINE: u64 = 1;
/// The number of rounds in which the remaining space is filled. The tokens of a text are only known
/// after it is written.
const ROUNDS: usize = 4;

/// Computes the worth of each segment, given the segments that are chosen.
pub(super) trait Judge {
    /// With this few tokens left, the choice ends.
    const SPARE: u64 = PER_LINE;

    /// Begins with nothing chosen and `room` tokens to fill.
    fn begin(&mut self, _room: u64) {}

    /// Returns the segments to choose together: this segment first, then those that it needs and
    /// that are not chosen yet.
    fn chain(&self, number: usize, chosen: &[bool]) -> Vec<usize>;

    /// Returns the worth of such a chain, given the tokens of each segment; `None` if it says
    /// nothing new.
    fn candidate(&self, chain: &[usize], tokens: &[u64]) -> Option<Candidate>;

    /// Records that a chain was chosen.
    fn take(&mut self, chain: &[usize], tokens: &[u64]);

    /// Records that a segment is no longer chosen.
    fn give_back(&mut self, _number: usize) {}
}

/// The choice so far, and the remaining candidates.
pub(super) struct Greedy<J> {
    judge: J,
    tokens: Vec<u64>,
    chosen: Vec<bool>,
    /// Segments in the order in which they were chosen.
    order: Vec<usize>,
    heap: BinaryHeap<Candidate>,
}

impl<J: Judge> Greedy<J> {
    /// Starts a choice. `tokens` are those of each segment that may be chosen, `chosen` the
    /// segments that are already in the text, and `candidates` the segments that may be chosen for
    /// their own worth.
    pub(super) fn new(judge: J, tokens: Vec<u64>, chosen: Vec<bool>, candidates: &[bool]) -> Self {
        let numbers = (0..candidates.len()).filter(|number| candidates[*number]);
        let candidate = |number| judge.candidate(&judge.chain(number, &chosen), &tokens);
        let heap = numbers.filter_map(candidate).collect();
        Self { judge, tokens, chosen, order: Vec::new(), heap }
    }

    /// The segments in the text, both the first ones and those chosen since.
    pub(super) fn chosen(&self) -> &[bool] {
        &self.chosen
    }

    /// The tokens of each segment that may be chosen.
    pub(super) fn tokens(&self) -> &[u64] {
        &self.tokens
    }

    /// Takes over the choice of another judge.
    pub(super) fn adopt(&mut self, chosen: &[bool]) {
        self.chosen.copy_from_slice(chosen);
    }

    /// Fills a text up to `limit` tokens; `write` renders it with the current choice.
    pub(super) fn fill(
        &mut self,
        text: &mut String,
        limit: u64,
        counter: &dyn TokenCounter,
        write: impl Fn(&[bool]) -> String,
    ) {
        for _ in 0..ROUNDS {
            let left = limit.saturating_sub(counter.count(text));
            if left == 0 || !self.more(left) {
                break;
            }
            *text = write(&self.chosen);
            loop {
                let over = counter.count(text).saturating_sub(limit);
                if over == 0 || !self.drop_last(over) {
                    break;
                }
                *text = write(&self.chosen);
            }
        }
    }

    /// Chooses segments of about `room` more tokens. Returns true if it chose any.
    pub(super) fn more(&mut self, mut room: u64) -> bool {
        let before = self.order.len();
        if self.order.is_empty() {
            self.judge.begin(room);
        }
        let mut too_long = Vec::new();
        while let Some(best) = self.heap.pop() {
            let Reverse(number) = best.number;
            if self.chosen[number] {
                continue;
            }
            let chain = self.judge.chain(number, &self.chosen);
            let Some(again) = self.judge.candidate(&chain, &self.tokens) else {
                continue;
            };
            if again.tokens > room {
                too_long.push(again);
                continue;
            }
            // Segments chosen since may say a part of this one.
            if self.heap.peek().is_some_and(|next| again < *next) {
                self.heap.push(again);
                continue;
            }
            room -= again.tokens;
            self.take(&chain);
            if room <= J::SPARE {
                break;
            }
        }
        self.heap.extend(too_long);
        self.order.len() > before
    }

    /// Removes the last chosen segments, of at least about `tokens` tokens. Returns true if it
    /// removed any.
    pub(super) fn drop_last(&mut self, mut tokens: u64) -> bool {
        let before = self.order.len();
        while tokens > 0 {
            let Some(last) = self.order.pop() else { break };
            tokens = tokens.saturating_sub(self.tokens[last]);
            self.chosen[last] = false;
            self.judge.give_back(last);
        }
        self.order.len() < before
    }

    fn take(&mut self, chain: &[usize]) {
        self.judge.take(chain, &self.tokens);
        for number in chain {
            self.chosen[*number] = true;
        }
        // A segment is added before the one that needs it, so that it is removed after it.
        self.order.extend(chain.iter().rev());
    }

    /// Segments in the order in which they were chosen.
    #[cfg(test)]
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Message, Part, Role, Zone};
    use ctx_tokens::{Encoding, TokenCounter};

    use super::super::pick::{Greedy, PER_LINE};
    use super::Picker;

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    /// A session in which each message of the user has one segment.
    fn ledger(segments: &[&str]) -> Ledger {
        let mut ledger = Ledger::new();
        for (line, text) in (1..).zip(segments) {
            let message = Message::new(Role::User, vec![Part::Text((*text).into())]);
            ledger.push(line, &message, Zone::Old);
        }
        ledger
    }

    fn picker<'l>(ledger: &'l Ledger, written: &str) -> Greedy<Picker<'l>> {
        let chosen = vec![false; ledger.index().segments().len()];
        Picker::greedy(ledger.index(), written, &chosen, &[], 1_000, counter())
    }

    fn picked(picker: &Greedy<Picker<'_>>) -> Vec<usize> {
        picker.order().to_vec()
    }

    #[test]
    fn from_nothing_nothing_is_picked() {
        let ledger = ledger(&["", "no names in here"]);
        let mut picker = picker(&ledger, "");
        assert!(!picker.more(1_000) && !picker.drop_last(1_000));
        assert_eq!(picked(&picker), [0; 0]);
    }

    #[test]
    fn every_segment_is_picked_once_where_there_is_room() {
        let ledger = ledger(&["the order W8123", "订单 W9999 已发货", "see src/main.rs for it"]);
        let mut picker = picker(&ledger, "");
        assert!(picker.more(1_000));
        let mut all = picked(&picker);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert!(!picker.more(1_000));
    }

    #[test]
    fn what_is_written_already_is_not_picked() {
        let ledger = ledger(&["the order W8123 was shipped", "see src/main.rs for it"]);
        let mut picker = picker(&ledger, "the order W8123 was shipped");
        picker.more(1_000);
        assert_eq!(picked(&picker), [1]);
    }

    #[test]
    fn of_two_that_tell_the_same_one_is_enough() {
        let ledger = ledger(&["the order W8123 was shipped", "so the order W8123 was shipped"]);
        let mut picker = picker(&ledger, "");
        picker.more(1_000);
        assert_eq!(picked(&picker).len(), 1);
    }

    #[test]
    fn what_is_too_long_waits_for_more_room() {
        let long = format!("order W8123 {}", "and words ".repeat(20));
        let ledger = ledger(&[&long, "see user_4711 there"]);
        let mut picker = picker(&ledger, "");
        let room = counter().count("see user_4711 there") + PER_LINE;
        assert!(!picker.more(room - 1));
        assert!(picker.more(room));
        assert_eq!(picked(&picker), [1]);
        assert!(picker.more(1_000));
        assert_eq!(picked(&picker), [1, 0]);
    }

    #[test]
    fn the_last_ones_are_given_back_first() {
        let ledger = ledger(&["the order W8123", "the order W8124", "the order W8125"]);
        let mut picker = picker(&ledger, "");
        picker.more(1_000);
        let all = picked(&picker);
        assert!(!picker.drop_last(0));
        assert!(picker.drop_last(1));
        assert_eq!(picked(&picker), all[..2]);
        assert!(picker.drop_last(u64::MAX));
        assert_eq!(picked(&picker), [0; 0]);
        assert!(!picker.drop_last(1));
    }
}

#[cfg(test)]
mod greedy_tests {
    use super::{Candidate, Greedy, Judge};

    /// Each segment needs the one before it, and later ones are worth more.
    struct Stairs;

    impl Judge for Stairs {
        fn chain(&self, number: usize, chosen: &[bool]) -> Vec<usize> {
            let down = (0..=number).rev();
            down.take_while(|number| !chosen[*number]).collect()
        }

        fn candidate(&self, chain: &[usize], tokens: &[u64]) -> Option<Candidate> {
            let tokens = chain.iter().map(|at| tokens[*at]).sum();
            let number = u32::try_from(chain[0]).expect("a small number");
            Some(Candidate::new(f64::from(number), chain[0], tokens))
        }

        fn take(&mut self, _chain: &[usize], _tokens: &[u64]) {}
    }

    fn stairs() -> Greedy<Stairs> {
        Greedy::new(Stairs, vec![10; 4], vec![false; 4], &[false, true, false, true])
    }

    #[test]
    fn what_is_needed_comes_along_and_leaves_last() {
        let mut greedy = stairs();
        assert!(greedy.more(100));
        assert_eq!(greedy.order(), &[0, 1, 2, 3]);
        assert!(greedy.drop_last(11));
        assert_eq!(greedy.chosen(), [true, true, false, false]);
    }

    #[test]
    fn what_has_no_room_waits_for_more() {
        let mut greedy = stairs();
        assert!(!greedy.more(19));
        assert!(greedy.more(20));
        assert_eq!(greedy.chosen(), [true, true, false, false]);
        assert!(greedy.more(20) && !greedy.more(100));
    }

    #[test]
    fn what_others_chose_is_not_chosen_again() {
        let mut greedy = stairs();
        greedy.adopt(&[true; 4]);
        assert!(!greedy.more(100) && !greedy.drop_last(100));
    }
}
