//! Stores the words of a record and their order, so that quotes can be looked up.
//!
//! Line ends, escapes, quotation marks, Markdown and comment markers between words are ignored.
//! Each Chinese character is a word.

use std::collections::HashMap;

use ctx_text::{hash_lowercase, hash_pair};

use super::words::{HashedSet, LONGEST_NAME, MOST, texts_of};

/// All words in a record, and all pairs and triples of consecutive words.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    words: Places,
    /// Pairs of adjacent words.
    pairs: HashedSet,
    /// Triples of adjacent words.
    threes: HashedSet,
    /// Parts of names, such as `NodeType` and `TypeSession` of `NodeTypeSession`.
    parts: HashedSet,
}

impl Phrases {
    /// Stores the words in text from the record. The last word of one text and the first word of
    /// the next do not count as consecutive.
    pub(super) fn gather(&mut self, text: &str) {
        let mut words = Vec::new();
        for line in text.lines() {
            for text in texts_of(without_line_number(line)) {
                let word = hash_lowercase(text);
                words.push(word);
                self.words.insert(word);
                self.parts.extend(parts(text).into_iter().map(hash_lowercase));
            }
        }
        self.words.end_text();
        self.pairs.extend(words.windows(2).map(|two| hash_pair(two[0], two[1])));
        self.threes.extend(words.windows(3).map(hash_of_three));
    }

    /// Returns true if `name` is a part of a longer name in the record.
    pub(super) fn has_part(&self, name: &str) -> bool {
        self.parts.has(hash_lowercase(name.trim_matches('_')))
    }

    /// Returns true if the record contains the word.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.has(hash_lowercase(word))
    }

    /// Returns the percentage of the words in `text` that occur anywhere in the record.
    pub(super) fn share(&self, text: &str) -> usize {
        let words: Vec<u64> = words_of(text).collect();
        let known = words.iter().filter(|word| self.words.has(**word)).count();
        known * 100 / words.len().max(1)
    }

    /// Returns true if all of `texts` occur near one another in the record. The words of each text
    /// must be adjacent.
    pub(super) fn has_near<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        let rows: Vec<Vec<u64>> = texts.map(|text| words_of(text).collect()).collect();
        self.words.are_near(&rows)
    }

    /// Returns true if the words of `text` occur in the record in the same order, with no other
    /// words between them. Longer texts are looked up as overlapping triples of words.
    pub(super) fn has(&self, text: &str) -> bool {
        let words: Vec<u64> = words_of(text).collect();
        match words[..] {
            [] => true,
            [word] => self.words.has(word),
            [first, second] => self.pairs.has(hash_pair(first, second)),
            _ => words.windows(3).all(|three| self.threes.has(hash_of_three(three))),
        }
    }
}

fn hash_of_three(words: &[u64]) -> u64 {
    hash_pair(words[0], hash_pair(words[1], words[2]))
}

/// Returns the parts of a name by which a summary may call it: for `TestX_BlocksFirstPrompt`, each
/// part between two `_`, and the beginnings and ends of the name and of these parts that consist of
/// at least two words, such as `BlocksFirst` and `FirstPrompt`.
fn parts(name: &str) -> Vec<&str> {
    let between = || name.split('_').filter(|part| part.len() < name.len());
    let of_parts = between().flat_map(begins_and_ends);
    let long = between().filter(|part| part.len() >= LEAST_PART);
    begins_and_ends(name).into_iter().chain(of_parts).chain(long).collect()
}

/// The minimum length of a part between two `_` that says which name it is part of, in bytes.
const LEAST_PART: usize = 5;

fn begins_and_ends(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let is_hump = |at: usize| bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase();
    let begins = |at: &usize| bytes[*at - 1] == b'_' && bytes[*at] != b'_' || is_hump(*at);
    let places: Vec<usize> = (1..bytes.len().min(LONGEST_NAME)).filter(begins).collect();
    let [first, .., last] = places.as_slice() else { return Vec::new() };
    let heads = places.iter().filter(|at| *at > first).map(|at| name[..*at].trim_end_matches('_'));
    // Otherwise, the time would be quadratic in the length of data.
    let is_name = bytes.len() <= LONGEST_NAME;
    let tails = places.iter().filter(|at| is_name && *at < last).map(|at| &name[*at..]);
    heads.chain(tails).collect()
}

/// Returns the hashes of all words, converted to lower case.
fn words_of(text: &str) -> impl Iterator<Item = u64> {
    texts_of(text).map(hash_lowercase)
}

/// Removes the line number from a listing line, such as `12→text`, so that sentences continue
/// across lines.
fn without_line_number(line: &str) -> &str {
    let rest = line.trim_start();
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = behind.strip_prefix(['→', '\t']).filter(|_| behind.len() < rest.len());
    text.unwrap_or(line)
}

/// The positions of every word in a record.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The last position of each word.
    last: HashMap<u64, u32>,
    /// For each position, the previous position of the same word.
    before: Vec<u32>,
    is_full: bool,
}

/// Marks the end of a word's list of positions, and fills the gaps between texts.
const NONE: u32 = u32::MAX;
/// The maximum number of stored positions. Together, they take about 16 MB.
const MOST_PLACES: usize = 4_000_000;
/// The maximum distance at which words count as near each other. It is about the length of a
/// statement, or of an object in a list.
const WINDOW: usize = 16;

impl Places {
    /// Adds the next word from a text.
    pub(super) fn insert(&mut self, word: u64) {
        if self.last.len() >= MOST && !self.last.contains_key(&word) {
            self.is_full = true;
            return;
        }
        let place = u32::try_from(self.before.len()).ok();
        let place = place.filter(|_| self.before.len() < MOST_PLACES).unwrap_or(NONE);
        let before = self.last.insert(word, place).unwrap_or(NONE);
        if place != NONE {
            self.before.push(before);
        }
    }

    /// Ends a text, so that its words do not count as near the words of the next text.
    pub(super) fn end_text(&mut self) {
        let with_gap = self.before.len() + WINDOW;
        self.before.resize(with_gap.min(MOST_PLACES), NONE);
    }

    /// Returns true if the record contains `word`, or may contain it because the table is full.
    pub(super) fn has(&self, word: u64) -> bool {
        self.is_full || self.last.contains_key(&word)
    }

    /// Returns true if the word sequences in `rows` occur near one another in the record.
    pub(super) fn are_near(&self, rows: &[Vec<u64>]) -> bool {
        if self.is_full || self.before.len() >= MOST_PLACES {
            return true;
        }
        let mut places = rows.iter().map(|row| self.of_row(row));
        let Some(first) = places.next() else { return false };
        let others: Vec<Vec<usize>> = places.collect();
        let is_near = |places: &[usize], at: usize| {
            let below = places.partition_point(|place| *place > at + WINDOW);
            places.get(below).is_some_and(|place| place + WINDOW >= at)
        };
        first.iter().any(|at| others.iter().all(|places| is_near(places, *at)))
    }

    /// Returns the positions at which a word sequence begins, from last to first.
    fn of_row(&self, row: &[u64]) -> Vec<usize> {
        let Some((first, others)) = row.split_first() else { return Vec::new() };
        let mut begins: Vec<usize> = self.of(*first).collect();
        for (behind, word) in (1..).zip(others) {
            let places: Vec<usize> = self.of(*word).collect();
            let at = |begin: usize| places.binary_search_by(|place| begin.cmp(place));
            begins.retain(|begin| at(begin + behind).is_ok());
        }
        begins
    }

    /// Returns the positions of a word, from last to first.
    fn of(&self, word: u64) -> impl Iterator<Item = usize> {
        let place = |place: u32| (place != NONE).then_some(place as usize);
        let last = self.last.get(&word).copied().and_then(place);
        std::iter::successors(last, move |at| place(self.before[*at]))
    }
}

#[cfg(test)]
mod phrases_tests {
    use super::Phrases;

    fn of(text: &str) -> Phrases {
        let mut phrases = Phrases::default();
        phrases.gather(text);
        phrases
    }

    #[test]
    fn words_in_a_row_are_found_whatever_stands_between() {
        let phrases = of("  11→// Close the *parent's*\n  12→// copy. 请把端口改成 9000");
        for there in ["close the parent’s copy", "Parent", "端口改成 9000", "", "`the` parent"]
        {
            assert!(phrases.has(there), "{there}");
        }
        for missing in ["close parent's copy", "copy the parent", "端口改为", "child"] {
            assert!(!phrases.has(missing), "{missing}");
        }
    }

    /// Otherwise, the time would be quadratic in the length of data.
    #[test]
    fn long_data_has_few_parts() {
        let phrases = of(&"dataOf".repeat(100_000));
        assert!(phrases.has_part("dataOfdata") && phrases.parts.hashes.len() < 150);
    }

    #[test]
    fn texts_do_not_run_together() {
        let mut phrases = of("one two");
        phrases.gather("three");
        assert!(!phrases.has("two three") && phrases.has_word("three"));
        assert_eq!((phrases.share("Two, three; four"), phrases.share("")), (66, 0));
    }
}

#[cfg(test)]
mod places_tests {
    use super::{Places, WINDOW};

    fn of(texts: &[&[u64]]) -> Places {
        let mut places = Places::default();
        for text in texts {
            text.iter().for_each(|word| places.insert(*word));
            places.end_text();
        }
        places
    }

    #[test]
    fn near_are_words_of_one_text_with_few_others_between() {
        let far = [vec![1, 2], vec![0; WINDOW - 1], vec![3, 4]].concat();
        let places = of(&[&far, &[5, 6, 1]]);
        for there in [
            vec![vec![1]],
            vec![vec![1], vec![2]],
            vec![vec![3], vec![2], vec![3, 4]],
            vec![vec![1], vec![6], vec![5]],
        ] {
            assert!(places.are_near(&there), "{there:?}");
        }
        for missing in [
            vec![],
            vec![vec![7]],
            vec![vec![2, 1]],
            vec![vec![1], vec![4]],
            vec![vec![5], vec![4]],
        ] {
            assert!(!places.are_near(&missing), "{missing:?}");
        }
        assert!(places.has(5) && !places.has(7));
    }
}
