//! Chooses segments greedily: each time the segment that, for its length, adds most of what is
//! likely to be needed and is not in the summary yet. A [`Judge`] computes how much a segment adds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use ctx_tokens::TokenCounter;

use super::page::PER_LINE;

/// An exponent below 1, which favours longer segments a little, because they read better than many
/// short ones.
const LENGTH_POWER: f64 = 0.8;

/// The powers of short lengths, which are computed once because each segment is judged several
/// times.
static POWERS: LazyLock<Vec<f64>> = LazyLock::new(|| (0..256).map(power).collect());

#[allow(clippy::cast_precision_loss)] // A segment has few tokens.
fn power(tokens: u64) -> f64 {
    (tokens as f64).powf(LENGTH_POWER)
}

/// A segment and its worth for its length. If two segments have equal worth, the earlier segment is
/// greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// The bits of a non-negative number, which sort like the number itself.
    gain: u64,
    // Every segment of a long session can be a candidate, so these numbers have only 32 bits.
    number: Reverse<u32>,
    tokens: u32,
}

impl Candidate {
    pub(super) fn new(gain: f64, number: usize, tokens: u64) -> Self {
        let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            gain: gain.max(0.0).to_bits(),
            number: Reverse(short(number as u64)),
            tokens: short(tokens),
        }
    }

    /// Creates a candidate from its total worth, which is divided by a power of its length.
    pub(super) fn for_length(worth: f64, number: usize, tokens: u64) -> Self {
        let known = usize::try_from(tokens).ok().and_then(|tokens| POWERS.get(tokens));
        let power = known.copied().unwrap_or_else(|| power(tokens));
        Self::new(worth / power, number, tokens)
    }
}

/// The maximum number of rounds in which the remaining space is filled. One round is not enough,
/// because the tokens of a text are only known after it is written.
const ROUNDS: usize = 4;

/// Computes the worth of each segment, given the segments that are already chosen.
pub(super) trait Judge {
    /// The choice ends if no more than this many tokens are left.
    const SPARE: u64 = PER_LINE;

    /// Begins with nothing chosen and `room` tokens to fill.
    fn begin(&mut self, _room: u64) {}

    /// Sets `chain` to the segments that must be chosen together: this segment first, then the
    /// segments that it needs and that are not chosen yet.
    fn chain(&self, number: usize, chosen: &[bool], chain: &mut Vec<usize>);

    /// Returns the worth of a chain, given the tokens of each segment; `None` if the chain says
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
    /// The number of tokens in each segment that may be chosen.
    pub(super) tokens: Vec<u64>,
    /// The segments in the text, whether they were there at the start or were chosen since.
    pub(super) chosen: Vec<bool>,
    /// The chosen segments, in the order in which they were chosen.
    pub(super) order: Vec<usize>,
    heap: BinaryHeap<Candidate>,
}

impl<J: Judge> Greedy<J> {
    /// Starts a choice. `tokens` has the number of tokens in each segment that may be chosen.
    /// `chosen` marks the segments that are already in the text, and `candidates` marks the
    /// segments that may be chosen for their own worth.
    pub(super) fn new(judge: J, tokens: Vec<u64>, chosen: Vec<bool>, candidates: &[bool]) -> Self {
        let numbers = (0..candidates.len()).filter(|number| candidates[*number]);
        let mut chain = Vec::new();
        let candidate = |number| {
            judge.chain(number, &chosen, &mut chain);
            judge.candidate(&chain, &tokens)
        };
        let heap = numbers.filter_map(candidate).collect();
        Self { judge, tokens, chosen, order: Vec::new(), heap }
    }

    /// Fills a text up to `limit` tokens; `write` renders it with the current choice.
    pub(super) fn fill(
        &mut self,
        text: &mut String,
        limit: u64,
        counter: &dyn TokenCounter,
        write: impl Fn(&[bool]) -> String,
    ) {
        let mut tokens = counter.count(text);
        for _ in 0..ROUNDS {
            if tokens >= limit || !self.more(limit - tokens) {
                break;
            }
            loop {
                *text = write(&self.chosen);
                tokens = counter.count(text);
                if tokens <= limit || !self.drop_last(tokens - limit) {
                    break;
                }
            }
        }
    }

    /// Chooses segments of about `room` more tokens. Returns true if a segment was chosen.
    pub(super) fn more(&mut self, mut room: u64) -> bool {
        let before = self.order.len();
        if self.order.is_empty() {
            self.judge.begin(room);
        }
        let (mut too_long, mut chain) = (Vec::new(), Vec::new());
        while let Some(best) = self.heap.pop() {
            let number = best.number.0 as usize;
            if self.chosen[number] {
                continue;
            }
            self.judge.chain(number, &self.chosen, &mut chain);
            let Some(again) = self.judge.candidate(&chain, &self.tokens) else { continue };
            if u64::from(again.tokens) > room {
                too_long.push(again);
                continue;
            }
            // Segments that were chosen meanwhile may have said a part of this candidate.
            if self.heap.peek().is_some_and(|next| again < *next) {
                self.heap.push(again);
                continue;
            }
            room -= u64::from(again.tokens);
            self.take(&chain);
            if room <= J::SPARE {
                break;
            }
        }
        self.heap.extend(too_long);
        self.order.len() > before
    }

    /// Removes the segments that were chosen last, with at least about `tokens` tokens in all.
    /// Returns true if a segment was removed.
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
        // Add a needed segment before the segment that needs it, so that it is removed later.
        self.order.extend(chain.iter().rev());
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Greedy, Judge};

    /// Each segment needs the segment before it, and later segments are worth more.
    struct Stairs;

    impl Judge for Stairs {
        fn chain(&self, number: usize, chosen: &[bool], chain: &mut Vec<usize>) {
            let down = (0..=number).rev();
            *chain = down.take_while(|number| !chosen[*number]).collect();
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
        assert_eq!(greedy.order, [0, 1, 2, 3]);
        assert!(greedy.drop_last(11));
        assert_eq!(greedy.chosen, [true, true, false, false]);
    }

    #[test]
    fn what_has_no_room_waits_for_more() {
        let mut greedy = stairs();
        assert!(!greedy.more(19));
        assert!(greedy.more(20));
        assert_eq!(greedy.chosen, [true, true, false, false]);
        assert!(greedy.more(20) && !greedy.more(100));
    }

    #[test]
    fn what_others_chose_is_not_chosen_again() {
        let mut greedy = stairs();
        greedy.chosen = vec![true; 4];
        assert!(!greedy.more(100) && !greedy.drop_last(100));
    }

    #[test]
    fn of_equals_the_earlier_one_is_greater() {
        let candidate = |gain, number| Candidate::new(gain, number, 1);
        assert!(candidate(0.2, 5) > candidate(0.1, 1));
        assert!(candidate(0.1, 1) > candidate(0.1, 2));
        assert!(candidate(0.1, 1) == candidate(0.1, 1));
    }
}
