//! The words of a text: runs of letters, digits and underscores. Scripts without spaces have no
//! such runs; there, each character or each pair of adjacent characters is a word. This module also
//! identifies the script of a character, as far as words depend on it.

use std::ops::Range;

/// Returns the words of a text in order. Each character for which `is_alone` returns true is a word
/// of its own.
pub fn words(text: &str, is_alone: impl Fn(char) -> bool) -> impl Iterator<Item = Range<usize>> {
    pieces(text, is_alone).map(|(word, _)| word)
}

/// Returns the words of a text in order. Adjacent characters for which `is_alone` returns true form
/// words in pairs; a single one is not a word.
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
        match before.replace(word.clone()) {
            Some(before) if before.end == word.start => Some(before.start..word.end),
            _ => None,
        }
    })
}

/// Returns the words of a text, and whether each is a character for which `is_alone` returns true.
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

/// Returns the character that begins at `at`. Most are ASCII and need no decoding.
#[inline]
fn char_at(text: &str, at: usize) -> Option<char> {
    match text.as_bytes().get(at) {
        Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
        Some(_) => text[at..].chars().next(),
        None => None,
    }
}

/// Returns true if a character is Chinese, even if Japanese uses it too.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns true if a character is Chinese or Japanese, which have no spaces between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
        || is_han(c)
}

#[cfg(test)]
mod tests {
    use super::{is_han, is_unspaced};

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
}
