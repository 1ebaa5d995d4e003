//! Words as numbers, and the worth of each, which falls with every use.

use ctx_text::is_joining;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The numbers of words.
#[derive(Default)]
pub(super) struct Numbers {
    of: HashMap<String, u32, RandomState>,
}

impl Numbers {
    /// The numbers of the words of a text, each once, in order. `each_word` calls its argument for
    /// each word.
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

    /// How many words have a number.
    pub(super) fn count(&self) -> usize {
        self.of.len()
    }
}

/// The worth of words, by their numbers.
pub(super) struct Weights {
    of: Vec<f64>,
    /// The worth of a word by how often it was said before.
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

    /// The words are used.
    pub(super) fn tell(&mut self, words: &[u32]) {
        for word in words {
            let told = &mut self.told[*word as usize];
            *told = (*told + 1).min(2);
        }
    }
}

/// Whether a lower-case word means something on its own.
pub(super) fn says_something(word: &str) -> bool {
    word.len() > 2 && !is_joining(word)
}

/// Whether a character is one of a language that puts no blanks between words.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{2e80}' && c.is_alphanumeric()
}
