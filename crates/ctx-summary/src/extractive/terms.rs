//! Measures how much of a statement is new, based on the words that do not occur in any chosen
//! statement.

use std::collections::{HashMap, HashSet};

use ctx_text::{hash, is_joining};
use foldhash::fast::RandomState;

/// The words of all statements, and the worth of each word.
pub(super) struct Words {
    lists: WordLists,
    worths: Vec<f64>,
    /// The factors for a word that occurs in no chosen statement, in one, or in several.
    again: [f64; 3],
    uses: Vec<u8>,
}

impl Words {
    pub(super) fn new(lists: WordLists, worths: Vec<f64>, again: [f64; 3]) -> Self {
        let uses = vec![0; worths.len()];
        Self { lists, worths, again, uses }
    }

    fn worth(&self, word: u32) -> f64 {
        let at = word as usize;
        self.worths[at] * self.again[usize::from(self.uses[at])]
    }

    /// Returns the number of different words in a statement.
    pub(super) fn count(&self, statement: usize) -> usize {
        self.lists.of(statement).len()
    }

    /// Returns the total worth of a statement's words, which are worth less if they already occur
    /// in chosen statements.
    pub(super) fn news(&self, statement: usize) -> f64 {
        let words = self.lists.of(statement).iter();
        words.map(|word| self.worth(*word)).sum()
    }

    /// Does the same as [`Self::news`] for the words that are not in `others`, and adds them to
    /// `others`.
    pub(super) fn news_beside(&self, statement: usize, others: &mut HashSet<u32>) -> f64 {
        let words = self.lists.of(statement).iter().filter(|word| others.insert(**word));
        words.map(|word| self.worth(*word)).sum()
    }

    /// Returns how many words in a statement also occur in any of the statements in `others`.
    pub(super) fn shared(&self, statement: usize, others: &[usize]) -> usize {
        let others: HashSet<u32> =
            others.iter().flat_map(|of| self.lists.of(*of).iter().copied()).collect();
        let words = self.lists.of(statement).iter();
        words.filter(|word| others.contains(word)).count()
    }

    /// Records that a statement was chosen.
    pub(super) fn tell(&mut self, statement: usize) {
        for word in self.lists.of(statement) {
            let uses = &mut self.uses[*word as usize];
            *uses = (*uses + 1).min(2);
        }
    }
}

/// For each statement, the ids of its words, each once and in ascending order. All lists share one
/// vector, because separate lists for many statements would take too much memory.
#[derive(Default)]
pub(super) struct WordLists {
    numbers: Vec<u32>,
    /// Where each statement's list of word ids ends in `numbers`.
    ends: Vec<usize>,
    /// The id of each word, by its hash.
    known: HashMap<u64, u32, RandomState>,
    /// The hash of each word, by its id.
    hashes: Vec<u64>,
    /// The word ids of the statement that is being added.
    own: Vec<u32>,
}

impl WordLists {
    /// Adds a statement. `each_word` must call its argument once for each word in the statement.
    pub(super) fn add(&mut self, each_word: impl FnOnce(&mut dyn FnMut(&str))) {
        each_word(&mut |word| self.push(hash(word)));
        self.end();
    }

    /// Appends all statements from `next`.
    pub(super) fn append(&mut self, next: &Self) {
        for statement in 0..next.ends.len() {
            next.of(statement).iter().for_each(|word| self.push(next.hashes[*word as usize]));
            self.end();
        }
    }

    /// Adds a word to the statement that is being added.
    fn push(&mut self, hash: u64) {
        let number = self.known.entry(hash).or_insert_with(|| {
            self.hashes.push(hash);
            u32::try_from(self.hashes.len() - 1).unwrap_or(u32::MAX)
        });
        self.own.push(*number);
    }

    /// Ends the statement that is being added.
    fn end(&mut self) {
        self.own.sort_unstable();
        self.own.dedup();
        self.numbers.append(&mut self.own);
        self.ends.push(self.numbers.len());
    }

    /// Returns the ids of the words in a statement.
    fn of(&self, statement: usize) -> &[u32] {
        let start = statement.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.numbers[start..self.ends[statement]]
    }

    /// Returns, for each word, how many of the statements selected by `counts` contain it.
    pub(super) fn counts(&self, counts: impl Fn(usize) -> bool) -> Vec<u32> {
        let mut of_words = vec![0; self.hashes.len()];
        for statement in (0..self.ends.len()).filter(|statement| counts(*statement)) {
            self.of(statement).iter().for_each(|word| of_words[*word as usize] += 1);
        }
        of_words
    }
}

/// Returns true if a lower-case word has a meaning of its own, unlike words such as "the".
pub(super) fn says_something(word: &str) -> bool {
    word.len() > 2 && !is_joining(word)
}

/// Returns true for letters and digits from U+2E80 on, most of which are Chinese, Japanese or
/// Korean.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{2e80}' && c.is_alphanumeric()
}
