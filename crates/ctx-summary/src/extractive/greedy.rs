//! Chooses segments greedily. Each step takes the segment that adds the most useful new content per
//! token, as computed by a [`Judge`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use ctx_tokens::TokenCounter;

use super::page::PER_LINE;

/// A segment's rank is its worth divided by its length raised to this power. A power below 1
/// slightly favours longer segments, because they read better than many short ones.
const LENGTH_POWER: f64 = 0.8;

/// The powers of short lengths, computed only once because each segment is judged several times.
static POWERS: LazyLock<Vec<f64>> = LazyLock::new(|| (0..256).map(power).collect());

fn power(tokens: u64) -> f64 {
    (tokens as f64).powf(LENGTH_POWER)
}

/// A segment that may be chosen, ordered by its worth relative to its length. Of two segments with
/// equal worth, the earlier one is chosen first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// The bits of the rank, a non-negative floating-point number. Such bits sort in the same order
    /// as the numbers.
    gain: u64,
    // The fields have only 32 bits, because every segment in a long session may be a candidate.
    number: Reverse<u32>,
    tokens: u32,
}

impl Candidate {
    /// Creates a candidate whose rank is its total `worth`, divided by a power of its length.
    pub(super) fn new(worth: f64, number: usize, tokens: u64) -> Self {
        let known = usize::try_from(tokens).ok().and_then(|tokens| POWERS.get(tokens));
        let power = known.copied().unwrap_or_else(|| power(tokens));
        let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            gain: (worth / power).max(0.0).to_bits(),
            number: Reverse(short(number as u64)),
            tokens: short(tokens),
        }
    }
}

/// The maximum number of rounds in which text is filled. One round is not enough, because the
/// length of the text is known only after it is rendered.
const ROUNDS: usize = 4;

/// Computes the worth of each segment, given the segments that are already chosen.
pub(super) trait Judge {
    /// Called before the first choice, with `room` tokens to fill.
    fn begin(&mut self, _room: u64) {}

    /// Sets `chain` to segment `number`, followed by the unchosen segments that must be chosen with
    /// it.
    fn chain(&self, number: usize, chosen: &[bool], chain: &mut Vec<usize>);

    /// Returns the chain as a candidate, given its length in tokens, or `None` if the chain
    /// contains nothing new.
    fn candidate(&self, chain: &[usize], tokens: u64) -> Option<Candidate>;

    /// Records that a chain was chosen.
    fn take(&mut self, chain: &[usize], tokens: &[u64]);
}

/// The segments chosen so far, and the remaining candidates.
pub(super) struct Greedy<J> {
    judge: J,
    /// The number of tokens in each segment that may be chosen.
    pub(super) tokens: Vec<u64>,
    /// For each segment, whether it is in the text, either from the start or because it was chosen.
    pub(super) chosen: Vec<bool>,
    /// The chosen segments, in the order in which they were chosen.
    pub(super) order: Vec<usize>,
    heap: BinaryHeap<Candidate>,
}

impl<J: Judge> Greedy<J> {
    /// Prepares to choose segments. `tokens` holds the length of each segment that may be chosen.
    /// `chosen` marks the segments already in the text. `candidates` marks the segments that may be
    /// chosen for their own worth.
    pub(super) fn new(judge: J, tokens: Vec<u64>, chosen: Vec<bool>, candidates: &[bool]) -> Self {
        let numbers = (0..candidates.len()).filter(|number| candidates[*number]);
        let mut chain = Vec::new();
        let candidate = |number| {
            judge.chain(number, &chosen, &mut chain);
            judge.candidate(&chain, chain.iter().map(|at| tokens[*at]).sum())
        };
        let heap = numbers.filter_map(candidate).collect();
        Self { judge, tokens, chosen, order: Vec::new(), heap }
    }

    /// Fills `text` up to `limit` tokens. `write` renders the text with the chosen segments.
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

    /// Chooses more segments, with at most `room` tokens in total. Returns true if a segment was
    /// chosen.
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
            let tokens = chain.iter().map(|at| self.tokens[*at]).sum();
            let Some(again) = self.judge.candidate(&chain, tokens) else { continue };
            if u64::from(again.tokens) > room {
                too_long.push(again);
                continue;
            }
            // Segments that were chosen in the meantime may have lowered this candidate's rank.
            if self.heap.peek().is_some_and(|next| again < *next) {
                self.heap.push(again);
                continue;
            }
            room -= u64::from(again.tokens);
            self.judge.take(&chain, &self.tokens);
            for number in &chain {
                self.chosen[*number] = true;
            }
            // Add a segment before the segments that need it, because segments are removed from the
            // end.
            self.order.extend(chain.iter().rev());
            if room <= PER_LINE {
                break;
            }
        }
        self.heap.extend(too_long);
        self.order.len() > before
    }

    /// Removes the most recently chosen segments until about `tokens` tokens are freed. Returns
    /// true if a segment was removed.
    pub(super) fn drop_last(&mut self, mut tokens: u64) -> bool {
        let before = self.order.len();
        while tokens > 0 {
            let Some(last) = self.order.pop() else { break };
            tokens = tokens.saturating_sub(self.tokens[last]);
            self.chosen[last] = false;
        }
        self.order.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Greedy, Judge};

    /// A test judge: each segment needs the segment before it, and later segments are worth more.
    struct Stairs;

    impl Judge for Stairs {
        fn chain(&self, number: usize, chosen: &[bool], chain: &mut Vec<usize>) {
            let down = (0..=number).rev();
            *chain = down.take_while(|number| !chosen[*number]).collect();
        }

        fn candidate(&self, chain: &[usize], tokens: u64) -> Option<Candidate> {
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
