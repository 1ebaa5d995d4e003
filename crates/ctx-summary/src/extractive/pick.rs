//! Which segments are worth their tokens: a greedy choice of the one that tells
//! most, for its length, of what is likely to be needed and not told yet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ctx_tokens::TokenCounter;

use super::candidate::Candidate;
use super::prose;
use ctx_ledger::Index;

/// How much of an identifier's worth is told: nothing, or the identifier alone, with one of
/// the words beside it, or with enough of them.
const TOLD: [f64; 4] = [0.0, 0.35, 0.5, 1.0];
/// Identifiers less likely than this are not worth a line.
const LEAST_CHANCE: f64 = 0.0005;
/// Longer segments are somewhat better than many short ones: they read better.
const LENGTH_POWER: f64 = 0.8;
/// Tokens of a line beside its text.
const PER_LINE: u64 = 1;

/// A summary of fewer tokens has no room for what its values stand under, nor for lines
/// that tell nothing without it.
const LITTLE: u64 = 400;

/// Chooses segments, the best first, as long as there is room.
pub(super) struct Picker<'i> {
    chooser: Chooser<'i>,
    heap: BinaryHeap<Candidate>,
    /// Segments and about their tokens, the best first.
    picked: Vec<(usize, u64)>,
    /// What stands there already, or is chosen.
    chosen: Vec<bool>,
    /// The tokens of each segment that tells something, and of what it stands under.
    tokens: Vec<u64>,
    has_heads: bool,
}

impl<'i> Picker<'i> {
    /// `written`: what a summary of `limit` tokens says already, `chosen` of it these
    /// segments.
    pub(super) fn new(
        index: &'i Index,
        written: &str,
        chosen: &[bool],
        limit: u64,
        counter: &dyn TokenCounter,
    ) -> Self {
        let has_heads = limit >= LITTLE;
        let mut picker = Self {
            chooser: Chooser::new(index, written, has_heads),
            heap: BinaryHeap::new(),
            picked: Vec::new(),
            chosen: chosen.to_vec(),
            tokens: vec![0; chosen.len()],
            has_heads,
        };
        let tells: Vec<bool> = (0..chosen.len())
            .map(|number| !chosen[number] && picker.chooser.worth(number) > 0.0)
            .collect();
        let mut needed = tells.clone();
        for number in (0..needed.len()).rev() {
            if let (true, Some(head)) = (needed[number], picker.head(number)) {
                needed[head] = true;
            }
        }
        for (number, segment) in index.segments().iter().enumerate() {
            if needed[number] {
                picker.tokens[number] = counter.count(index.text(segment)) + PER_LINE;
            }
            if tells[number] {
                let candidate = picker.candidate(number);
                picker.heap.extend(candidate);
            }
        }
        picker
    }

    /// What a segment stands under, where there is room for that.
    fn head(&self, number: usize) -> Option<usize> {
        self.chooser.index.segments()[number]
            .head
            .filter(|_| self.has_heads)
    }

    /// With what it stands under, as far as that is not there yet.
    fn candidate(&self, number: usize) -> Option<Candidate> {
        let mut tokens = self.tokens[number];
        let mut head = self.head(number);
        while let Some(above) = head.filter(|above| !self.chosen[*above]) {
            tokens += self.tokens[above];
            head = self.head(above);
        }
        self.chooser.candidate(number, tokens)
    }

    /// What stands there, and what was chosen.
    pub(super) fn chosen(&self) -> &[bool] {
        &self.chosen
    }

    /// Gives the last ones back, of at least about so many tokens; whether there were any.
    pub(super) fn drop_last(&mut self, mut tokens: u64) -> bool {
        let before = self.picked.len();
        while tokens > 0 {
            let Some((last, of_last)) = self.picked.pop() else {
                break;
            };
            self.chosen[last] = false;
            tokens = tokens.saturating_sub(of_last);
        }
        self.picked.len() < before
    }

    /// Chooses segments of about `room` tokens more; whether there were any.
    pub(super) fn pick(&mut self, mut room: u64) -> bool {
        let before = self.picked.len();
        let mut too_long = Vec::new();
        while let Some(best) = self.heap.pop() {
            let Reverse(number) = best.number;
            if self.chosen[number] {
                continue;
            }
            let Some(again) = self.candidate(number) else {
                continue;
            };
            if again.tokens > room {
                too_long.push(again);
                continue;
            }
            // Others may have told a part of it meanwhile.
            if self.heap.peek().is_some_and(|next| again < *next) {
                self.heap.push(again);
                continue;
            }
            room -= again.tokens;
            self.take(number);
            if room <= PER_LINE {
                break;
            }
        }
        self.heap.extend(too_long);
        self.picked.len() > before
    }

    /// Chooses a segment with what it stands under.
    fn take(&mut self, number: usize) {
        let mut chain = Vec::new();
        let mut at = Some(number);
        while let Some(number) = at.filter(|number| !self.chosen[*number]) {
            self.chosen[number] = true;
            self.chooser.take(number);
            chain.push((number, self.tokens[number]));
            at = self.head(number);
        }
        self.picked.extend(chain.into_iter().rev());
    }
}

/// Knows what of the identifiers is told.
struct Chooser<'i> {
    index: &'i Index,
    chances: Vec<f64>,
    told: Vec<f64>,
    reads: Vec<f64>,
}

impl<'i> Chooser<'i> {
    fn new(index: &'i Index, written: &str, has_heads: bool) -> Self {
        let mut told = index.told().to_vec();
        index.tell_in(written, &mut told);
        let mut reads = prose::all(index);
        if !has_heads {
            reads
                .iter_mut()
                .filter(|reads| **reads < 1.0)
                .for_each(|reads| *reads = 0.0);
        }
        Self {
            index,
            chances: index.chances(),
            told: told
                .iter()
                .map(|words| TOLD[usize::from(*words).min(3)])
                .collect(),
            reads,
        }
    }

    /// What a segment tells that is not told yet.
    fn worth(&self, number: usize) -> f64 {
        let marks = self.index.marks(&self.index.segments()[number]).iter();
        marks
            .map(|mark| {
                let id = mark.id as usize;
                let chance = self.chances[id];
                let more = TOLD[usize::from(mark.words) + 1] - self.told[id];
                if chance > LEAST_CHANCE && more > 0.0 {
                    chance * more
                } else {
                    0.0
                }
            })
            .sum()
    }

    fn candidate(&self, number: usize, tokens: u64) -> Option<Candidate> {
        let worth = self.worth(number) * self.reads[number];
        #[allow(clippy::cast_precision_loss)] // A segment has few tokens.
        let gain = worth / (tokens as f64).powf(LENGTH_POWER);
        (gain > 0.0).then(|| Candidate::new(gain, number, tokens))
    }

    fn take(&mut self, number: usize) {
        for mark in self.index.marks(&self.index.segments()[number]) {
            let told = &mut self.told[mark.id as usize];
            *told = told.max(TOLD[usize::from(mark.words) + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_ledger::Ledger;
    use ctx_tokens::{Encoding, TokenCounter};
    use ctx_transcript::{Message, Part, Role, Zone};

    use super::{Candidate, PER_LINE, Picker};

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    /// A session in which the user says one segment a message.
    fn ledger(segments: &[&str]) -> Ledger {
        let mut ledger = Ledger::new();
        for (line, text) in (1..).zip(segments) {
            let message = Message::new(Role::User, vec![Part::Text((*text).into())]);
            ledger.push(line, &message, Zone::Old);
        }
        ledger
    }

    fn picker<'l>(ledger: &'l Ledger, written: &str) -> Picker<'l> {
        let chosen = vec![false; ledger.index().segments().len()];
        Picker::new(ledger.index(), written, &chosen, 1_000, counter())
    }

    fn picked(picker: &Picker<'_>) -> Vec<usize> {
        picker.picked.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn from_nothing_nothing_is_picked() {
        let ledger = ledger(&["", "no names in here"]);
        let mut picker = picker(&ledger, "");
        assert!(!picker.pick(1_000) && !picker.drop_last(1_000));
        assert_eq!(picked(&picker), [0; 0]);
    }

    #[test]
    fn every_segment_is_picked_once_where_there_is_room() {
        let ledger = ledger(&[
            "the order W8123",
            "订单 W9999 已发货",
            "see src/main.rs for it",
        ]);
        let mut picker = picker(&ledger, "");
        assert!(picker.pick(1_000));
        let mut all = picked(&picker);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert!(!picker.pick(1_000));
    }

    #[test]
    fn what_is_written_already_is_not_picked() {
        let ledger = ledger(&["the order W8123 was shipped", "see src/main.rs for it"]);
        let mut picker = picker(&ledger, "the order W8123 was shipped");
        picker.pick(1_000);
        assert_eq!(picked(&picker), [1]);
    }

    #[test]
    fn of_two_that_tell_the_same_one_is_enough() {
        let ledger = ledger(&[
            "the order W8123 was shipped",
            "so the order W8123 was shipped",
        ]);
        let mut picker = picker(&ledger, "");
        picker.pick(1_000);
        assert_eq!(picked(&picker).len(), 1);
    }

    #[test]
    fn what_is_too_long_waits_for_more_room() {
        let long = format!("order W8123 {}", "and words ".repeat(20));
        let ledger = ledger(&[&long, "see user_4711 there"]);
        let mut picker = picker(&ledger, "");
        let room = counter().count("see user_4711 there") + PER_LINE;
        assert!(!picker.pick(room - 1));
        assert!(picker.pick(room));
        assert_eq!(picked(&picker), [1]);
        assert!(picker.pick(1_000));
        assert_eq!(picked(&picker), [1, 0]);
    }

    #[test]
    fn the_last_ones_are_given_back_first() {
        let ledger = ledger(&["the order W8123", "the order W8124", "the order W8125"]);
        let mut picker = picker(&ledger, "");
        picker.pick(1_000);
        let all = picked(&picker);
        assert!(!picker.drop_last(0));
        assert!(picker.drop_last(1));
        assert_eq!(picked(&picker), all[..2]);
        assert!(picker.drop_last(u64::MAX));
        assert_eq!(picked(&picker), [0; 0]);
        assert!(!picker.drop_last(1));
    }

    #[test]
    fn of_equals_the_earlier_one_is_greater() {
        let candidate = |gain, number| Candidate::new(gain, number, 1);
        assert!(candidate(0.2, 5) > candidate(0.1, 1));
        assert!(candidate(0.1, 1) > candidate(0.1, 2));
        assert!(candidate(0.1, 1) == candidate(0.1, 1));
    }
}
