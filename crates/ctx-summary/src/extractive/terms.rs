//! The words of statements, to measure what a statement says that no other has said yet.

use ctx_text::is_joining;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::ledger::{Index, Origin};

/// The worth of a word by how often it was said before.
const AGAIN: [f64; 3] = [1.0, 0.25, 0.08];
/// The extra worth of a word in a statement, compared with one in a result.
const SAID: f64 = 1.6;

/// The words of each segment that may be chosen, and their worth.
pub(super) struct Terms {
    of: Vec<Vec<u32>>,
    weights: Weights,
}

impl Terms {
    /// Collects the words of the `candidates`.
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

    /// Records that the segment was chosen.
    pub(super) fn tell(&mut self, number: usize) {
        self.weights.tell(&self.of[number]);
    }
}

/// Calls `found` for each word; each Chinese character is a word.
fn words(text: &str, found: &mut dyn FnMut(&str)) {
    let mut lower = String::new();
    for word in ctx_text::words(text, is_wide) {
        let word = &text[word];
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
    }
}

/// The numbers of words.
#[derive(Default)]
pub(super) struct Numbers {
    of: HashMap<String, u32, RandomState>,
}

impl Numbers {
    /// Returns the numbers of the words of a text, each once, in order. `each_word` calls its
    /// argument for each word.
    pub(super) fn of_text(&mut self, each_word: impl FnOnce(&mut dyn FnMut(&str))) -> Vec<u32> {
        let mut own = Vec::new();
        each_word(&mut |word| {
            let next = u32::try_from(self.of.len()).unwrap_or(u32::MAX);
            own.push(*self.of.entry_ref(word).or_insert(next));
        });
        own.sort_unstable();
        own.dedup();
        own
    }

    /// The number of known words.
    pub(super) fn count(&self) -> usize {
        self.of.len()
    }
}

/// The worth of words, by their numbers.
pub(super) struct Weights {
    of: Vec<f64>,
    /// The worth of a word by how often it was said before.
    again: [f64; 3],
    uses: Vec<u8>,
}

impl Weights {
    pub(super) fn new(of: Vec<f64>, again: [f64; 3]) -> Self {
        let uses = vec![0; of.len()];
        Self { of, again, uses }
    }

    pub(super) fn worth(&self, word: u32) -> f64 {
        let at = word as usize;
        self.of[at] * self.again[usize::from(self.uses[at])]
    }

    /// Records that the words were used.
    pub(super) fn tell(&mut self, words: &[u32]) {
        for word in words {
            let uses = &mut self.uses[*word as usize];
            *uses = (*uses + 1).min(2);
        }
    }
}

/// Returns true if a lower-case word means something on its own.
pub(super) fn says_something(word: &str) -> bool {
    word.len() > 2 && !is_joining(word)
}

/// Returns true if a character belongs to a language without spaces between words.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{2e80}' && c.is_alphanumeric()
}
