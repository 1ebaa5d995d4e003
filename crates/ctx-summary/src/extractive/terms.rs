//! The words of statements: what one says that no other has said yet.

use crate::ledger::{Index, Origin};

use super::vocabulary::{Numbers, Weights, is_wide, says_something};

/// The worth of a word by how often it was said before.
const AGAIN: [f64; 3] = [1.0, 0.25, 0.08];
/// A word in a statement counts more than one in a result.
const SAID: f64 = 1.6;

/// The words of each segment that may be chosen, and their worth.
pub(super) struct Terms {
    of: Vec<Vec<u32>>,
    weights: Weights,
}

impl Terms {
    /// `candidates`: which segments are of interest.
    pub(super) fn of(index: &Index, candidates: &[bool]) -> Self {
        let mut numbers = Numbers::default();
        let (mut counts, mut said) = (Vec::<u32>::new(), Vec::<bool>::new());
        let mut of = vec![Vec::new(); candidates.len()];
        let mut all = 0_u32;
        let segments = index.segments().iter().enumerate();
        for (at, segment) in segments.filter(|(at, _)| candidates[*at]) {
            all += 1;
            let own = numbers.of_text(|found| words(index.text(segment), found));
            counts.resize(numbers.count(), 0);
            said.resize(numbers.count(), false);
            for number in &own {
                counts[*number as usize] += 1;
                said[*number as usize] |= matches!(segment.origin, Origin::User | Origin::Said);
            }
            of[at] = own;
        }
        let rare =
            |count: u32| (1.0 + f64::from(all) / f64::from(count)).ln() / f64::from(all + 1).ln();
        let weights = counts.iter().zip(&said);
        let weights = weights.map(|(count, said)| rare(*count) * if *said { SAID } else { 1.0 });
        Self { weights: Weights::new(weights.collect(), AGAIN), of }
    }

    /// The worth of the segment's new words.
    pub(super) fn news(&self, number: usize) -> f64 {
        let words = self.of[number].iter();
        words.map(|word| self.weights.worth(*word)).sum()
    }

    /// The segment is chosen.
    pub(super) fn tell(&mut self, number: usize) {
        self.weights.tell(&self.of[number]);
    }
}

/// Calls `found` for each word; a Chinese character is one.
fn words(text: &str, found: &mut dyn FnMut(&str)) {
    let mut start = None;
    let mut lower = String::new();
    let mut push = |word: &str| {
        if word.is_ascii() {
            lower.clear();
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            lower = word.to_lowercase();
        }
        if says_something(&lower) {
            found(&lower);
        }
    };
    for (at, c) in text.char_indices() {
        let is_letter = (c.is_alphanumeric() || c == '_') && !is_wide(c);
        match start {
            None if is_letter => start = Some(at),
            Some(from) if !is_letter => {
                push(&text[from..at]);
                start = None;
            }
            _ => {}
        }
        if is_wide(c) {
            push(&text[at..at + c.len_utf8()]);
        }
    }
    if let Some(from) = start {
        push(&text[from..]);
    }
}
