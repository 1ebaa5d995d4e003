//! Measures how much of a statement is new, based on the words that do not occur in any chosen
//! statement.

use std::collections::HashMap;
use std::ops::Range;

use ctx_text::{hash, is_joining, words_and_pairs};
use foldhash::fast::RandomState;

use crate::ledger::identifier::{WORD, run};
use crate::ledger::{Index, Origin, Segment};

/// The factors for a word that occurs in no line of the story, in one, or in several. The people in
/// a dialogue come back to the same things, and say something else about them.
const AGAIN: [[f64; 3]; 2] = [[1.0, 0.25, 0.08], [1.0, 0.4, 0.2]];
/// The factor for a word that occurs in a statement, not only in tool output.
const SAID: f64 = 1.6;

/// The words of all statements, and the worth of each word.
pub(super) struct Words {
    lists: WordLists,
    worths: Vec<f64>,
    /// The factors for a word that occurs in no chosen statement, in one, or in several.
    again: [f64; 3],
    uses: Vec<u8>,
}

impl Words {
    /// Collects the words in the `candidates`.
    pub(super) fn of(index: &Index, is_talk: bool, candidates: &[bool]) -> Self {
        let segments = &index.segments;
        let [mut lists, others] = index.in_halves(|half| {
            let (mut lists, mut lower) = (WordLists::default(), String::new());
            for number in half {
                let text = if candidates[number] { index.text(&segments[number]) } else { "" };
                lists.add(|found| words(text, is_talk, &mut lower, found));
            }
            lists
        });
        lists.append(&others);
        let is_said = |segment: &Segment| matches!(segment.origin, Origin::User | Origin::Said);
        let counts = lists.counts(|_| true);
        let said = lists.counts(|number| is_said(&segments[number]));
        let all: u32 = candidates.iter().map(|is_candidate| u32::from(*is_candidate)).sum();
        let rare =
            |count: u32| (1.0 + f64::from(all) / f64::from(count)).ln() / f64::from(all + 1).ln();
        let uses = vec![0; counts.len()];
        let counts = counts.iter().zip(&said);
        let worths = counts.map(|(count, said)| rare(*count) * if *said > 0 { SAID } else { 1.0 });
        Self { lists, worths: worths.collect(), again: AGAIN[usize::from(is_talk)], uses }
    }

    /// Returns the total worth of a statement's words, which are worth less if they already occur
    /// in chosen statements.
    pub(super) fn news(&self, statement: usize) -> f64 {
        let words = self.lists.of(statement).iter().map(|word| *word as usize);
        words.map(|word| self.worths[word] * self.again[usize::from(self.uses[word])]).sum()
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
struct WordLists {
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

/// Calls `found` with each word, in lower case. Each Chinese character counts as a word, or in a
/// dialogue, each pair of Chinese characters. `lower` is a buffer that is reused for each text.
fn words(text: &str, is_talk: bool, lower: &mut String, found: &mut dyn FnMut(&str)) {
    let mut tell = |word: &str| {
        if says_something(word) {
            found(word);
        }
    };
    if !text.is_ascii() {
        let tell = |word: Range<usize>| tell(&text[word].to_lowercase());
        return if is_talk {
            words_and_pairs(text, is_wide).for_each(tell);
        } else {
            ctx_text::words(text, is_wide).for_each(tell);
        };
    }
    lower.clear();
    lower.push_str(text);
    lower.make_ascii_lowercase();
    let mut at = 0;
    while at < lower.len() {
        let end = at + run(lower.as_bytes(), at, WORD);
        tell(&lower[at..end]);
        at = end + 1;
    }
}

/// Returns true if a lower-case word has a meaning of its own, unlike words such as "the".
fn says_something(word: &str) -> bool {
    word.len() > 2 && !is_joining(word)
}

/// Returns true for letters and digits from U+2E80 on, most of which are Chinese, Japanese or
/// Korean.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{2e80}' && c.is_alphanumeric()
}
