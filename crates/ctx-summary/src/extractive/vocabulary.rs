//! Words by numbers, and how much each is worth: the less, the more often it was told.

use std::collections::HashMap;

use ctx_ledger::prose::JOINING;

/// The numbers of words.
#[derive(Default)]
pub(super) struct Numbers {
    of: HashMap<String, u32>,
}

impl Numbers {
    /// Those of the words of a text, each once, in order. `each_word` calls what it is given
    /// for each word.
    pub(super) fn of_text(&mut self, each_word: impl FnOnce(&mut dyn FnMut(String))) -> Vec<u32> {
        let mut own = Vec::new();
        each_word(&mut |word| {
            let next = u32::try_from(self.of.len()).unwrap_or(u32::MAX);
            own.push(*self.of.entry(word).or_insert(next));
        });
        own.sort_unstable();
        own.dedup();
        own
    }

    /// How many words have a number.
    pub(super) fn count(&self) -> usize {
        self.of.len()
    }
}

/// What words are worth, by their numbers.
pub(super) struct Weights {
    of: Vec<f64>,
    /// How much a word is worth that was told so many times.
    again: [f64; 3],
    told: Vec<u8>,
}

impl Weights {
    pub(super) fn new(of: Vec<f64>, again: [f64; 3]) -> Self {
        let told = vec![0; of.len()];
        Self { of, again, told }
    }

    pub(super) fn worth(&self, word: u32) -> f64 {
        let at = word as usize;
        self.of[at] * self.again[usize::from(self.told[at])]
    }

    /// The words are told.
    pub(super) fn tell(&mut self, words: &[u32]) {
        for word in words {
            let told = &mut self.told[*word as usize];
            *told = (*told + 1).min(2);
        }
    }
}

/// Whether a word in small letters says something by itself.
pub(super) fn says_something(word: &str) -> bool {
    word.len() > 2 && !JOINING.contains(&word)
}

/// Whether a character is one of a language that puts no blanks between words.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{2e80}' && c.is_alphanumeric()
}
