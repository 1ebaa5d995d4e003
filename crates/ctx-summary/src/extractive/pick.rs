//! Which segments are worth their tokens: a greedy choice of the one that tells
//! most, for its length, of what is likely to be needed and not told yet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ctx_tokens::TokenCounter;

use ctx_ledger::{Index, Segment};

/// How much of an identifier's worth is told: nothing, or the identifier alone, with one of
/// the words beside it, or with enough of them.
const TOLD: [f64; 4] = [0.0, 0.35, 0.5, 1.0];
/// Identifiers less likely than this are not worth a line.
const LEAST_CHANCE: f64 = 0.0005;
/// Longer segments are somewhat better than many short ones: they read better.
const LENGTH_POWER: f64 = 0.8;
/// Tokens of a line beside its text.
const PER_LINE: u64 = 1;

/// Chooses segments, the best first, as long as there is room.
pub(super) struct Picker<'i> {
    chooser: Chooser<'i>,
    heap: BinaryHeap<Candidate>,
    /// Segments and about their tokens, the best first.
    picked: Vec<(usize, u64)>,
}

impl<'i> Picker<'i> {
    /// `written`: what the summary says already.
    pub(super) fn new(index: &'i Index, written: &str, counter: &dyn TokenCounter) -> Self {
        let mut told = index.told().to_vec();
        index.tell_in(written, &mut told);
        let told = told.iter();
        let chooser = Chooser {
            index,
            chances: index.chances(),
            told: told.map(|words| TOLD[usize::from(*words).min(3)]).collect(),
        };
        let mut heap = BinaryHeap::new();
        for (number, segment) in index.segments().iter().enumerate() {
            if chooser.worth(segment) > 0.0 {
                let tokens = counter.count(index.text(segment)) + PER_LINE;
                heap.extend(chooser.candidate(number, tokens));
            }
        }
        Self {
            chooser,
            heap,
            picked: Vec::new(),
        }
    }

    /// The segments that were chosen.
    pub(super) fn picked(&self) -> impl Iterator<Item = usize> {
        self.picked.iter().map(|(number, _)| *number)
    }

    /// Gives the last ones back, of at least about so many tokens; whether there were any.
    pub(super) fn drop_last(&mut self, mut tokens: u64) -> bool {
        let before = self.picked.len();
        while tokens > 0 {
            let Some((_, of_last)) = self.picked.pop() else {
                break;
            };
            tokens = tokens.saturating_sub(of_last);
        }
        self.picked.len() < before
    }

    /// Chooses segments of about `room` tokens more; whether there were any.
    pub(super) fn pick(&mut self, mut room: u64) -> bool {
        let before = self.picked.len();
        let mut too_long = Vec::new();
        while let Some(best) = self.heap.pop() {
            if best.tokens > room {
                too_long.push(best);
                continue;
            }
            let Reverse(number) = best.number;
            let Some(again) = self.chooser.candidate(number, best.tokens) else {
                continue;
            };
            // Others may have told a part of it meanwhile.
            if self.heap.peek().is_some_and(|next| again < *next) {
                self.heap.push(again);
                continue;
            }
            room -= best.tokens;
            self.picked.push((number, best.tokens));
            self.chooser.take(number);
            if room <= PER_LINE {
                break;
            }
        }
        self.heap.extend(too_long);
        self.picked.len() > before
    }
}

struct Chooser<'i> {
    index: &'i Index,
    chances: Vec<f64>,
    told: Vec<f64>,
}

impl Chooser<'_> {
    /// What a segment tells that is not told yet.
    fn worth(&self, segment: &Segment) -> f64 {
        let marks = self.index.marks(segment).iter();
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
        let worth = self.worth(&self.index.segments()[number]);
        #[allow(clippy::cast_precision_loss)] // A segment has few tokens.
        let gain = worth / (tokens as f64).powf(LENGTH_POWER);
        (gain > 0.0).then_some(Candidate {
            gain: gain.to_bits(),
            number: Reverse(number),
            tokens,
        })
    }

    fn take(&mut self, number: usize) {
        for mark in self.index.marks(&self.index.segments()[number]) {
            let told = &mut self.told[mark.id as usize];
            *told = told.max(TOLD[usize::from(mark.words) + 1]);
        }
    }
}

/// A segment and its worth for its length; of equals the earlier one is greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of a positive number: their order is the number's.
    gain: u64,
    number: Reverse<usize>,
    tokens: u64,
}

#[cfg(test)]
mod tests {
    use ctx_ledger::Ledger;
    use ctx_tokens::{Encoding, TokenCounter};
    use ctx_transcript::{Message, Part, Role, Zone};

    use super::{Candidate, PER_LINE, Picker, Reverse};

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
        Picker::new(ledger.index(), written, counter())
    }

    fn picked(picker: &Picker<'_>) -> Vec<usize> {
        picker.picked().collect()
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
        let candidate = |gain: f64, number| Candidate {
            gain: gain.to_bits(),
            number: Reverse(number),
            tokens: 1,
        };
        assert!(candidate(0.2, 5) > candidate(0.1, 1));
        assert!(candidate(0.1, 1) > candidate(0.1, 2));
        assert!(candidate(0.1, 1) == candidate(0.1, 1));
    }
}
