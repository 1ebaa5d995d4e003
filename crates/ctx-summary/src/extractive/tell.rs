//! What of a session is told as a story: the statements, changes and outcomes that say most
//! for their length, each with what it stands under.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ctx_ledger::{Index, Origin};
use ctx_tokens::TokenCounter;

use super::candidate::Candidate;
use super::terms::Terms;
use super::worth::{later_words, worths};

/// What a segment is worth beside its new words.
const ALONE: f64 = 0.1;
/// A request is told whole where it fits.
const ALONE_ASKED: f64 = 0.6;
/// Longer segments are somewhat better than many short ones: they read better.
const LENGTH_POWER: f64 = 0.8;
/// When so much of the story, in percent, are the user's words, others come before them: a
/// long request holds much that was done since.
const ASKED_SHARE: u64 = 40;
const CROWDED: f64 = 0.5;
/// Tokens of a line beside its text.
const PER_LINE: u64 = 1;

/// Chooses what is told, the best first, as long as there is room.
pub(super) struct Teller<'i> {
    index: &'i Index,
    worths: Vec<f64>,
    terms: Terms,
    /// Of each segment that may be told, and of what it stands under.
    tokens: Vec<u64>,
    told: Vec<bool>,
    heap: BinaryHeap<Candidate>,
    /// In the order in which they were chosen.
    order: Vec<usize>,
    /// Tokens of what users say, told and at most.
    asked: u64,
    most_asked: u64,
    later: Vec<bool>,
}

impl<'i> Teller<'i> {
    pub(super) fn new(index: &'i Index, counter: &dyn TokenCounter) -> Self {
        let worths = worths(index);
        let candidates: Vec<bool> = worths.iter().map(|worth| *worth > 0.0).collect();
        let terms = Terms::of(index, &candidates);
        let mut needed = candidates.clone();
        for (number, segment) in index.segments().iter().enumerate().rev() {
            if let (true, Some(head)) = (needed[number], segment.head) {
                needed[head] = true;
            }
        }
        let segments = index.segments().iter().zip(&needed);
        let tokens = segments.map(|(segment, needed)| {
            if *needed {
                counter.count(index.text(segment)) + PER_LINE
            } else {
                0
            }
        });
        let mut teller = Self {
            index,
            terms,
            tokens: tokens.collect(),
            told: vec![false; worths.len()],
            heap: BinaryHeap::new(),
            order: Vec::new(),
            asked: 0,
            most_asked: 0,
            later: later_words(index),
            worths,
        };
        for number in (0..candidates.len()).filter(|number| candidates[*number]) {
            let candidate = teller.candidate(number);
            teller.heap.push(candidate);
        }
        teller
    }

    /// Others chose more.
    pub(super) fn adopt(&mut self, chosen: &[bool]) {
        self.told.copy_from_slice(chosen);
    }

    /// What was chosen.
    pub(super) fn told(&self) -> &[bool] {
        &self.told
    }

    /// Chooses segments of about `room` tokens more; whether there were any.
    pub(super) fn tell(&mut self, mut room: u64) -> bool {
        let before = self.order.len();
        if self.order.is_empty() {
            self.most_asked = room * ASKED_SHARE / 100;
        }
        let mut too_long = Vec::new();
        while let Some(best) = self.heap.pop() {
            let Reverse(number) = best.number;
            if self.told[number] {
                continue;
            }
            let again = self.candidate(number);
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
        self.order.len() > before
    }

    /// Gives the last ones back, of at least about so many tokens; whether there were any.
    pub(super) fn drop_last(&mut self, mut tokens: u64) -> bool {
        let before = self.order.len();
        while tokens > 0 {
            let Some(last) = self.order.pop() else { break };
            tokens = tokens.saturating_sub(self.tokens[last]);
            self.told[last] = false;
        }
        self.order.len() < before
    }

    fn take(&mut self, number: usize) {
        self.terms.tell(number);
        let mut at = Some(number);
        let mut chain = Vec::new();
        while let Some(number) = at.filter(|number| !self.told[*number]) {
            self.told[number] = true;
            if self.index.segments()[number].origin == Origin::User {
                self.asked += self.tokens[number];
            }
            chain.push(number);
            at = self.index.segments()[number].head;
        }
        // What it stands under leaves after it.
        self.order.extend(chain.into_iter().rev());
    }

    fn candidate(&self, number: usize) -> Candidate {
        let mut tokens = self.tokens[number];
        let mut head = self.index.segments()[number].head;
        while let Some(above) = head.filter(|above| !self.told[*above]) {
            tokens += self.tokens[above];
            head = self.index.segments()[above].head;
        }
        let is_asked = self.index.segments()[number].origin == Origin::User;
        let alone = if is_asked { ALONE_ASKED } else { ALONE };
        let mut worth = self.worths[number] * (alone + self.terms.news(number));
        if self.asked > self.most_asked && self.later[number] {
            worth *= CROWDED;
        }
        #[allow(clippy::cast_precision_loss)] // A segment has few tokens.
        let gain = worth / (tokens as f64).powf(LENGTH_POWER);
        Candidate::new(gain, number, tokens)
    }
}
