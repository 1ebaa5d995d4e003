//! Which segments are worth their tokens: a greedy choice of the one that tells
//! most, for its length, of what is likely to be needed and not told yet.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use ctx_tokens::TokenCounter;

use crate::ledger::index::{Index, Segment};

/// What an identifier is worth by the words beside it: alone, with one, with enough.
const TOLD: [f64; 4] = [0.0, 0.35, 0.5, 1.0];
/// Identifiers less likely than this are not worth a line.
const LEAST_CHANCE: f64 = 0.004;
/// Longer segments are somewhat better than many short ones: they read better.
const LENGTH_POWER: f64 = 0.8;
/// Tokens of a line beside its text.
const PER_LINE: u64 = 2;

/// Chosen segments, the best first.
pub(super) struct Picked {
    pub(super) segments: Vec<usize>,
}

/// Chooses segments of at most `limit` tokens.
pub(super) fn pick(index: &Index, limit: u64, counter: &dyn TokenCounter) -> Picked {
    let chances = index.chances();
    let told = index
        .told()
        .iter()
        .map(|words| TOLD[usize::from(*words).min(3)])
        .collect();
    let mut chooser = Chooser {
        index,
        chances,
        told,
    };
    let mut heap: BinaryHeap<Candidate> = BinaryHeap::new();
    for (number, segment) in index.segments().iter().enumerate() {
        if chooser.worth(segment) > 0.0 {
            let tokens = counter.count(index.text(segment)) + PER_LINE;
            heap.extend(chooser.candidate(number, tokens));
        }
    }
    let mut left = limit;
    let mut picked = Vec::new();
    while let Some(best) = heap.pop() {
        if best.tokens > left {
            continue;
        }
        let Some(again) = chooser.candidate(best.number, best.tokens) else {
            continue;
        };
        // Others may have told a part of it meanwhile.
        if heap.peek().is_some_and(|next| again < *next) {
            heap.push(again);
            continue;
        }
        left -= best.tokens;
        picked.push(best.number);
        chooser.take(best.number);
    }
    Picked { segments: picked }
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
            gain,
            number,
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
struct Candidate {
    gain: f64,
    number: usize,
    tokens: u64,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gain = self.gain.total_cmp(&other.gain);
        by_gain.then_with(|| other.number.cmp(&self.number))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
