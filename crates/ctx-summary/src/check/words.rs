//! Words of a text as hashes, so that a long source needs little memory.

use std::collections::HashSet;

use regex::Regex;

/// Hashes, up to a number: what is not in a full set is not known, rather than absent.
#[derive(Debug, Default)]
pub(super) struct Seen {
    hashes: HashSet<u64>,
    full: bool,
}

/// About 40 MB.
pub(super) const MOST: usize = 2_000_000;

impl Seen {
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

/// FNV-1a over the text in lower case: the same on every machine.
pub(super) fn hash(text: &str) -> u64 {
    text.chars()
        .flat_map(char::to_lowercase)
        .fold(0xcbf2_9ce4_8422_2325, |hash, c| mix(hash, u64::from(c)))
}

/// One hash of two, in their order.
pub(super) fn pair(first: u64, second: u64) -> u64 {
    mix(mix(0x9e37_79b9_7f4a_7c15, first), second)
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
}

/// Words that say nothing alone.
const EMPTY: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "do", "does",
    "for", "from", "has", "have", "he", "i", "if", "in", "is", "it", "its", "let", "me", "must",
    "my", "need", "next", "not", "now", "of", "on", "once", "or", "our", "out", "please", "shall",
    "she", "should", "so", "step", "that", "the", "them", "then", "there", "these", "they", "this",
    "those", "to", "up", "us", "was", "we", "were", "will", "with", "would", "you", "your",
];
const EMPTY_CHINESE: &str =
    "的了着过请你您我他她它们在把被将和与及就都也要须必应该需得地是有并再先后";

pub(super) fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a text has Chinese in it.
pub(super) fn has_chinese(text: &str) -> bool {
    text.chars().any(is_chinese)
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
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() && !is_chinese(c) || c == '_' {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            if !EMPTY.contains(&word.as_str()) {
                words.push(hash(stem(&word)));
            }
            word.clear();
        }
        if is_chinese(c) && !EMPTY_CHINESE.contains(c) {
            words.push(hash(c.encode_utf8(&mut [0; 4])));
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

#[cfg(test)]
mod tests {
    use super::{Seen, hash, pair, words};

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
        assert_ne!(pair(hash("a"), hash("b")), pair(hash("b"), hash("a")));
        let mut seen = Seen::default();
        seen.insert(pair(1, 2));
        assert!(seen.has(pair(1, 2)) && !seen.has(pair(2, 1)));
    }
}
