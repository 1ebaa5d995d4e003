//! Splits text into words: runs of letters, digits and underscores. In scripts without spaces, each
//! character or each pair of adjacent characters is a word instead. This module also hashes words,
//! and identifies a character's script where word boundaries depend on it.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::LazyLock;

use foldhash::quality::RandomState;

/// Returns the words in the text, in order. Each character for which `is_alone` returns true is a
/// word of its own.
pub fn words(text: &str, is_alone: impl Fn(char) -> bool) -> impl Iterator<Item = Range<usize>> {
    pieces(text, is_alone).map(|(word, _)| word)
}

/// Returns the words in the text, in order. Each pair of adjacent characters for which `is_alone`
/// returns true is a word; a single such character is not a word.
pub fn words_and_pairs(
    text: &str,
    is_alone: impl Fn(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut before: Option<Range<usize>> = None;
    pieces(text, is_alone).filter_map(move |(word, is_alone)| {
        if !is_alone {
            before = None;
            return Some(word);
        }
        let before = before.replace(word.clone()).filter(|before| before.end == word.start)?;
        Some(before.start..word.end)
    })
}

/// Returns the words in the text, and for each word, whether it is a character for which `is_alone`
/// returns true.
fn pieces(
    text: &str,
    is_alone: impl Fn(char) -> bool,
) -> impl Iterator<Item = (Range<usize>, bool)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut first = char_at(text, at)?;
        while !is_alone(first) && !is_letter(first) {
            at += first.len_utf8();
            first = char_at(text, at)?;
        }
        let start = at;
        let is_single = is_alone(first);
        at += first.len_utf8();
        let letters = |c: &char| !is_single && is_letter(*c) && !is_alone(*c);
        while let Some(c) = char_at(text, at).filter(letters) {
            at += c.len_utf8();
        }
        Some((start..at, is_single))
    })
}

/// Returns the character that begins at `at`. Most characters are ASCII and need no decoding.
#[inline]
pub(crate) fn char_at(text: &str, at: usize) -> Option<char> {
    match text.as_bytes().get(at) {
        Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
        Some(_) => text[at..].chars().next(),
        None => None,
    }
}

/// Returns true if the character is Chinese, even if it is also used in Japanese.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns true if the character is Chinese or Japanese. Both languages are written without spaces
/// between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
        || is_han(c)
}

/// All threads share one hasher state, so the same text has the same hash in every thread. The
/// state differs from run to run, so that an attacker cannot craft a session with colliding hashes.
/// The order of results must therefore never depend on these hashes.
static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Returns a 64-bit hash that is the same in all threads but differs from run to run.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    STATE.hash_one(value)
}

/// Returns a hash that ignores case, without making a lower-case copy of the text.
pub fn hash_lowercase(text: &str) -> u64 {
    let mut hasher = STATE.build_hasher();
    for c in text.chars().flat_map(char::to_lowercase) {
        hasher.write_u32(u32::from(c));
    }
    // Mark the end of the text, because the hasher pads its input with zeros, and the text may
    // itself end with zeros.
    hasher.write_u32(u32::MAX);
    hasher.finish()
}

/// Combines two hashes into one that depends on their order.
pub fn hash_pair(first: u64, second: u64) -> u64 {
    STATE.hash_one((first, second))
}

#[cfg(test)]
mod tests {
    use super::{hash, hash_lowercase, hash_pair};
    use super::{is_han, is_unspaced};
    use std::collections::HashSet;

    #[test]
    fn scripts_are_told_apart() {
        let sets = |c: char| (is_han(c), is_unspaced(c));
        for c in "决㐀豈𠀀".chars() {
            assert_eq!(sets(c), (true, true), "{c}");
        }
        for c in "かナー".chars() {
            assert_eq!(sets(c), (false, true), "{c}");
        }
        for c in "aß1_，。　・Ａｶ🚀한".chars() {
            assert_eq!(sets(c), (false, false), "{c}");
        }
    }

    #[test]
    fn a_text_has_one_hash_in_every_thread() {
        let elsewhere = std::thread::spawn(|| hash("src/main.rs")).join();
        assert_eq!(elsewhere.ok(), Some(hash("src/main.rs")));
    }

    #[test]
    fn different_texts_have_different_hashes() {
        let texts = ["", "a", "b", "ab", "ba", "a\0", "决", "决定"];
        assert_eq!(texts.into_iter().map(hash).collect::<HashSet<_>>().len(), texts.len());
        let texts = texts.into_iter().map(hash_lowercase);
        assert_eq!(texts.collect::<HashSet<_>>().len(), 8);
        assert_eq!(hash_lowercase("StraßE 决"), hash_lowercase("sTRAße 决"));
        assert_ne!(hash_pair(1, 2), hash_pair(2, 1));
    }
}
