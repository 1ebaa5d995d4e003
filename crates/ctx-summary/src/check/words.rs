//! Hashes the words in text, so that even long text takes up little memory.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_text::{WordSet, hash_lowercase, is_han};
use regex::Regex;

use super::LISTS;

/// A set of hashes with a maximum size. Once the set is full, any hash counts as a member.
#[derive(Debug, Default)]
pub(super) struct HashedSet {
    pub(super) hashes: HashSet<u64>,
    full: bool,
}

/// The maximum number of hashes in a set. A full set takes about 40 MB.
pub(super) const MOST: usize = 2_000_000;

/// The length, in bytes, of the longest parts of names that are stored. What is longer is no name,
/// but data, all of whose parts together would be quadratic in its length.
pub(super) const LONGEST_NAME: usize = 128;

impl HashedSet {
    pub(super) fn insert(&mut self, hash: u64) {
        if self.hashes.len() < MOST {
            self.hashes.insert(hash);
        } else {
            self.full = true;
        }
    }

    /// Returns true if `hash` was added, or may have been dropped because the set was full.
    pub(super) fn extend(&mut self, hashes: impl IntoIterator<Item = u64>) {
        hashes.into_iter().for_each(|hash| self.insert(hash));
    }

    pub(super) fn has(&self, hash: u64) -> bool {
        self.full || self.hashes.contains(&hash)
    }
}

/// Words that carry no meaning on their own.
static EMPTY: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("empty"));
const EMPTY_CHINESE: &str =
    "的了着过请你您我他她它们在把被将和与及就都也要须必应该需得地是有并再先后";

/// Returns true if text contains Chinese characters.
pub(super) fn has_chinese(text: &str) -> bool {
    text.chars().any(is_han)
}

/// Lowercases text and replaces curly apostrophes with straight ones, for pattern matching.
pub(super) fn lower(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Splits `text` after each match of `end`.
pub(super) fn pieces<'t>(text: &'t str, end: &Regex) -> impl Iterator<Item = &'t str> {
    let mut start = 0;
    let ends = end.find_iter(text).map(|found| found.end());
    ends.chain([text.len()]).map(move |end| {
        let piece = &text[start..end];
        start = end;
        piece
    })
}

/// Returns the hashes of the words that carry meaning, in order. Each Chinese character is a word.
pub(super) fn words(text: &str) -> Vec<u64> {
    let mut words = Vec::new();
    let mut lower = String::new();
    for word in texts_of(text) {
        lower.clear();
        lower.extend(word.chars().flat_map(char::to_lowercase));
        let is_han = word.starts_with(is_han);
        let is_empty = if is_han { EMPTY_CHINESE.contains(word) } else { EMPTY.contains(&lower) };
        if !is_empty {
            words.push(hash_lowercase(stem(&lower)));
        }
    }
    words
}

/// Returns the stem of a word, such as `delet` for `deleted`, `deletes` and `deleting`.
fn stem(word: &str) -> &str {
    let one = word.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(word);
    if !one.is_ascii() || one.len() < 5 {
        return one;
    }
    let mut stems = ["ing", "ed", "e"].iter().filter_map(|end| one.strip_suffix(end));
    stems.find(|rest| rest.len() > 2).unwrap_or(one)
}

/// Returns the words of `text`. Each Chinese character is a word.
pub(super) fn texts_of(text: &str) -> impl Iterator<Item = &str> {
    ctx_text::words(text, is_han).map(|word| &text[word])
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
