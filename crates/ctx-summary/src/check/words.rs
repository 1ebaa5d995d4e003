//! Words of a text as hashes, so that a long source needs little memory.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_text::{WordSet, hash_lowercase, hash_pair, is_han};
use regex::Regex;

use super::LISTS;
use super::names::Places;

/// A set of hashes with a limit. If the set is full, a missing hash counts as unknown and not as
/// absent.
#[derive(Debug, Default)]
pub(super) struct HashedSet {
    hashes: HashSet<u64>,
    full: bool,
}

/// About 40 MB.
pub(super) const MOST: usize = 2_000_000;

impl HashedSet {
    pub(super) fn insert(&mut self, hash: u64) {
        if self.hashes.len() < MOST {
            self.hashes.insert(hash);
        } else {
            self.full = true;
        }
    }

    /// Returns true if the hash was added, or may have been.
    pub(super) fn has(&self, hash: u64) -> bool {
        self.full || self.hashes.contains(&hash)
    }
}

/// Words that carry no meaning on their own.
static EMPTY: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("empty"));
const EMPTY_CHINESE: &str =
    "的了着过请你您我他她它们在把被将和与及就都也要须必应该需得地是有并再先后";

/// Returns true if a text has Chinese in it.
pub(super) fn has_chinese(text: &str) -> bool {
    text.chars().any(is_han)
}

/// Prepares a text for patterns: in lower case, with one kind of apostrophe.
pub(super) fn lower(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Splits a text into pieces, each with the match that ends it.
pub(super) fn pieces<'t>(text: &'t str, end: &Regex) -> impl Iterator<Item = &'t str> {
    let mut start = 0;
    let ends = end.find_iter(text).map(|found| found.end());
    ends.chain([text.len()]).map(move |end| {
        let piece = &text[start..end];
        start = end;
        piece
    })
}

/// Returns the words that carry meaning, in order; each Chinese character is a word.
pub(super) fn words(text: &str) -> Vec<u64> {
    let mut words = Vec::new();
    let mut lower = String::new();
    for word in texts_of(text) {
        lower.clear();
        lower.extend(word.chars().flat_map(char::to_lowercase));
        let is_empty = if word.starts_with(is_han) {
            EMPTY_CHINESE.contains(word)
        } else {
            EMPTY.contains(&lower)
        };
        if !is_empty {
            words.push(hash_lowercase(stem(&lower)));
        }
    }
    words
}

/// Returns the stem of a word: `delet` for `deleted`, `deletes` and `deleting`.
fn stem(word: &str) -> &str {
    let one = word.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(word);
    if !one.is_ascii() || one.len() < 5 {
        return one;
    }
    ["ing", "ed", "e"]
        .iter()
        .find_map(|end| one.strip_suffix(end).filter(|rest| rest.len() > 2))
        .unwrap_or(one)
}

// The order of words in a record, for looking up quotes.
//
// Only words count, so line ends, escapes, quotation marks, Markdown and comment signs between them
// make no difference. Each Chinese character is a word.

/// Every word of a record, and the words that follow each other.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    words: Places,
    /// Pairs of adjacent words.
    pairs: HashedSet,
    /// Triples of adjacent words.
    threes: HashedSet,
    /// The beginnings of names in camel case: `NodeType` for `NodeTypeSession`.
    beginnings: HashedSet,
}

impl Phrases {
    /// Adds a text of the record. Its words do not follow those of the previous text.
    pub(super) fn gather(&mut self, text: &str) {
        let mut words = Vec::new();
        for line in text.lines() {
            for text in texts_of(without_line_number(line)) {
                let word = hash_lowercase(text);
                words.push(word);
                self.words.insert(word);
                for beginning in beginnings(text) {
                    self.beginnings.insert(hash_lowercase(beginning));
                }
            }
        }
        self.words.end_text();
        words.windows(2).for_each(|two| self.pairs.insert(hash_pair(two[0], two[1])));
        words.windows(3).for_each(|three| self.threes.insert(hash_of_three(three)));
    }

    /// Returns true if a longer name of the record begins with this one.
    pub(super) fn has_beginning(&self, name: &str) -> bool {
        self.beginnings.has(hash_lowercase(name))
    }

    /// Returns true if the record has a word.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.has(hash_lowercase(word))
    }

    /// The percentage of a text's words that the record has anywhere.
    pub(super) fn share(&self, text: &str) -> usize {
        let words: Vec<u64> = words_of(text).collect();
        let known = words.iter().filter(|word| self.words.has(**word)).count();
        known * 100 / words.len().max(1)
    }

    /// Returns true if the record has these texts near one another, each as a sequence of words.
    pub(super) fn has_near<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        let rows: Vec<Vec<u64>> = texts.map(|text| words_of(text).collect()).collect();
        self.words.are_near(&rows)
    }

    /// Returns true if the record has the words of a text in this order, without others between
    /// them.
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

/// Returns the beginnings of a name in camel case, from two parts on: `parseLine` for
/// `parseLineEnd`.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let begins =
        |at: &usize| bytes[*at].is_ascii_uppercase() && bytes[*at - 1].is_ascii_lowercase();
    let ends = (1..bytes.len()).filter(begins).skip(1);
    ends.map(|end| &name[..end])
}

/// Returns the hashes of all words in lower case.
fn words_of(text: &str) -> impl Iterator<Item = u64> {
    texts_of(text).map(hash_lowercase)
}

fn texts_of(text: &str) -> impl Iterator<Item = &str> {
    ctx_text::words(text, is_han).map(|word| &text[word])
}

/// Returns a line of a listing without its number, `  12→text`, so that sentences continue across
/// lines.
fn without_line_number(line: &str) -> &str {
    let rest = line.trim_start();
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    match behind.strip_prefix(['→', '\t']) {
        Some(text) if behind.len() < rest.len() => text,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use ctx_text::{hash_lowercase, hash_pair};

    use super::{HashedSet, words};

    #[test]
    fn forms_of_a_word_are_one() {
        assert_eq!(words("deleting the Files"), words("Deleted file"));
        assert_ne!(words("delete file"), words("delete line"));
    }

    #[test]
    fn chinese_characters_are_words() {
        assert_eq!(words("请删除文件").len(), 4);
        assert_eq!(words("删除文件"), words("请把它删除了：文件"));
    }

    #[test]
    fn order_matters_in_a_pair() {
        assert_ne!(
            hash_pair(hash_lowercase("a"), hash_lowercase("b")),
            hash_pair(hash_lowercase("b"), hash_lowercase("a"))
        );
        let mut seen = HashedSet::default();
        seen.insert(hash_pair(1, 2));
        assert!(seen.has(hash_pair(1, 2)) && !seen.has(hash_pair(2, 1)));
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

    #[test]
    fn texts_do_not_run_together() {
        let mut phrases = of("one two");
        phrases.gather("three");
        assert!(!phrases.has("two three") && phrases.has_word("three"));
        assert_eq!((phrases.share("Two, three; four"), phrases.share("")), (66, 0));
    }
}
