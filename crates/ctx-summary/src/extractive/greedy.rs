//! The greedy choice for a summary: always the segment that says most for its length, as long as
//! there is room.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ctx_tokens::TokenCounter;

use super::Candidate;

/// Tokens of a line in addition to its text.
pub(super) const PER_LINE: u64 = 1;
/// How often what room is left is filled: the tokens of a text are only known once it is
/// written.
const ROUNDS: usize = 4;

/// Knows the worth of each segment, given those that are chosen.
pub(super) trait Judge {
    /// With so few tokens left nothing more is looked for.
    const SPARE: u64 = PER_LINE;

    /// Starts with nothing chosen and this much room in tokens.
    fn begin(&mut self, _room: u64) {}

    /// The segments chosen together: the segment first, then what it needs and is not chosen yet.
    fn chain(&self, number: usize, chosen: &[bool]) -> Vec<usize>;

    /// The worth of such a chain, given the tokens of each segment; `None` if it says nothing new.
    fn candidate(&self, chain: &[usize], tokens: &[u64]) -> Option<Candidate>;

    /// A chain is chosen.
    fn take(&mut self, chain: &[usize], tokens: &[u64]);

    /// A segment is chosen no more.
    fn give_back(&mut self, _number: usize) {}
}

/// The choice so far, and the remaining candidates.
pub(super) struct Greedy<J> {
    judge: J,
    tokens: Vec<u64>,
    chosen: Vec<bool>,
    /// In the order of the choice.
    order: Vec<usize>,
    heap: BinaryHeap<Candidate>,
}

impl<J: Judge> Greedy<J> {
    /// `tokens`: those of each segment that may be chosen; `chosen`: segments that are in the text
    /// already; `candidates`: segments that may be chosen for their own sake.
    pub(super) fn new(judge: J, tokens: Vec<u64>, chosen: Vec<bool>, candidates: &[bool]) -> Self {
        let numbers = (0..candidates.len()).filter(|number| candidates[*number]);
        let candidate = |number| judge.candidate(&judge.chain(number, &chosen), &tokens);
        let heap = numbers.filter_map(candidate).collect();
        Self { judge, tokens, chosen, order: Vec::new(), heap }
    }

    /// The segments in the text, original and chosen.
    pub(super) fn chosen(&self) -> &[bool] {
        &self.chosen
    }

    /// Others chose more.
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

    /// Chooses segments of about `room` tokens more; whether there were any.
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
            // Other segments may have said a part of it since.
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

    /// Gives the last ones back, of at least about so many tokens; whether there were any.
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
        // A needed segment is removed after the one that needs it.
        self.order.extend(chain.iter().rev());
    }

    /// In the order of the choice.
    #[cfg(test)]
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Greedy, Judge};

    /// Each number needs the one before it, and the last ones are worth most.
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
