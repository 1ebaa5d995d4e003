//! The words of statements: what one says that no other has said yet.

use std::collections::HashMap;

use ctx_ledger::prose::JOINING;
use ctx_ledger::{Index, Origin};

/// How much a word is worth that was told so many times.
const AGAIN: [f64; 3] = [1.0, 0.25, 0.08];
/// A word that somebody says counts more than one in a result.
const SAID: f64 = 1.6;

/// The words of each segment that may be told, and what they are worth.
pub(super) struct Terms {
    of: Vec<Vec<u32>>,
    weights: Vec<f64>,
    told: Vec<u8>,
}

impl Terms {
    /// `candidates`: which segments are of interest.
    pub(super) fn of(index: &Index, candidates: &[bool]) -> Self {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let (mut counts, mut said) = (Vec::<u32>::new(), Vec::<bool>::new());
        let mut of = vec![Vec::new(); candidates.len()];
        let mut all = 0_u32;
        for (at, segment) in index
            .segments()
            .iter()
            .enumerate()
            .filter(|(at, _)| candidates[*at])
        {
            all += 1;
            let mut own = Vec::new();
            words(index.text(segment), |word| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                let number = *numbers.entry(word).or_insert(next);
                own.push(number);
            });
            own.sort_unstable();
            own.dedup();
            counts.resize(numbers.len(), 0);
            said.resize(numbers.len(), false);
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
        Self {
            weights: weights.collect(),
            told: vec![0; counts.len()],
            of,
        }
    }

    /// What the segment says anew.
    pub(super) fn news(&self, number: usize) -> f64 {
        let word = |word: &u32| {
            let at = *word as usize;
            self.weights[at] * AGAIN[usize::from(self.told[at])]
        };
        self.of[number].iter().map(word).sum()
    }

    /// The segment is told.
    pub(super) fn tell(&mut self, number: usize) {
        for word in &self.of[number] {
            let told = &mut self.told[*word as usize];
            *told = (*told + 1).min(2);
        }
    }
}

/// Calls `found` for each word; a Chinese character is one.
fn words(text: &str, mut found: impl FnMut(String)) {
    let mut start = None;
    let mut push = |word: &str| {
        let word = word.to_lowercase();
        if word.len() > 2 && !JOINING.contains(&word.as_str()) {
            found(word);
        }
    };
    for (at, c) in text.char_indices() {
        let is_letter = (c.is_alphanumeric() || c == '_') && c < '\u{2e80}';
        match start {
            None if is_letter => start = Some(at),
            Some(from) if !is_letter => {
                push(&text[from..at]);
                start = None;
            }
            _ => {}
        }
        if c >= '\u{2e80}' && c.is_alphanumeric() {
            push(&text[at..at + c.len_utf8()]);
        }
    }
    if let Some(from) = start {
        push(&text[from..]);
    }
}
