//! Words of a text as hashes, so that a long source needs little memory.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_text::{hash_lowercase, hash_pair, is_han};
use regex::Regex;

use super::LISTS;
use super::names::Places;

/// Hashes, up to a number: what is not in a full set is not known, rather than absent.
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

    /// Whether it was there, or may have been.
    pub(super) fn has(&self, hash: u64) -> bool {
        self.full || self.hashes.contains(&hash)
    }
}

/// Words that say nothing alone.
static EMPTY: LazyLock<HashSet<String>> = LazyLock::new(|| LISTS.words("empty"));
const EMPTY_CHINESE: &str =
    "的了着过请你您我他她它们在把被将和与及就都也要须必应该需得地是有并再先后";

/// Whether a text has Chinese in it.
pub(super) fn has_chinese(text: &str) -> bool {
    text.chars().any(is_han)
}

/// A text as patterns read it: in lower case, with one kind of apostrophe.
pub(super) fn lower(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// The pieces of a text, each with what ends it.
pub(super) fn pieces<'t>(text: &'t str, end: &Regex) -> impl Iterator<Item = &'t str> {
    let mut start = 0;
    let ends = end.find_iter(text).map(|found| found.end());
    ends.chain([text.len()]).map(move |end| {
        let piece = &text[start..end];
        start = end;
        piece
    })
}

/// The words that carry meaning, in order; each Chinese character is one.
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

/// `deleted`, `deletes` and `deleting` are `delet`.
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

// Sequences of words in a record, for looking up quotes.
//
// Only words count, so line ends, escapes, quotation marks, markdown and comment signs between
// them make no difference. Each Chinese character is a word.

/// Every word of a record, and which follow each other.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    words: Places,
    /// Two in a row.
    pairs: HashedSet,
    /// Three in a row.
    threes: HashedSet,
    /// How names with humps begin: `NodeType` of `NodeTypeSession`.
    beginnings: HashedSet,
}

impl Phrases {
    /// One more text of the record; its words follow no words of another one.
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

    /// Whether names of the record begin with all humps of this one.
    pub(super) fn has_beginning(&self, name: &str) -> bool {
        self.beginnings.has(hash_lowercase(name))
    }

    /// Whether a text is a word of the record.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.has(hash_lowercase(word))
    }

    /// How many of 100 words of a text the record has, somewhere.
    pub(super) fn share(&self, text: &str) -> usize {
        let words: Vec<u64> = words_of(text).collect();
        let known = words.iter().filter(|word| self.words.has(**word)).count();
        known * 100 / words.len().max(1)
    }

    /// Whether the record has these texts near one another, each as a sequence of words.
    pub(super) fn has_near<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        let rows: Vec<Vec<u64>> = texts.map(|text| words_of(text).collect()).collect();
        self.words.are_near(&rows)
    }

    /// Whether the record has the words of a text in this order, without others between.
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

/// The humps of a name, from the second on, without what follows them: of `parseLineEnd`
/// `parseLine`.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let begins =
        |at: &usize| bytes[*at].is_ascii_uppercase() && bytes[*at - 1].is_ascii_lowercase();
    let ends = (1..bytes.len()).filter(begins).skip(1);
    ends.map(|end| &name[..end])
}

/// Whole words, in lower case; none is left out.
fn words_of(text: &str) -> impl Iterator<Item = u64> {
    texts_of(text).map(hash_lowercase)
}

fn texts_of(text: &str) -> impl Iterator<Item = &str> {
    ctx_text::words(text, is_han).map(|word| &text[word])
}

/// A line of a listing without its number: `  12→text`, so that sentences go on across lines.
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
