//! The words of a text: runs of letters, digits and underscores. Scripts without blanks have no
//! such runs; there each character is a word, or each two that stand side by side.

use std::ops::Range;

/// The words of a text in order. Each character for which `is_alone` holds is a word of its own.
pub fn words(text: &str, is_alone: impl Fn(char) -> bool) -> impl Iterator<Item = Range<usize>> {
    pieces(text, is_alone).map(|(word, _)| word)
}

/// The words of a text in order. Characters for which `is_alone` holds form words in pairs; a
/// single one is not a word.
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

/// The words of a text; whether each is a character for which `is_alone` holds.
fn pieces(
    text: &str,
    is_alone: impl Fn(char) -> bool,
) -> impl Iterator<Item = (Range<usize>, bool)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut chars = text[at..].char_indices();
        let (offset, first) = chars.find(|(_, c)| is_alone(*c) || is_letter(*c))?;
        let start = at + offset;
        let is_single = is_alone(first);
        at = match chars.find(|(_, c)| is_single || is_alone(*c) || !is_letter(*c)) {
            Some((next, _)) => start - offset + next,
            None => text.len(),
        };
        Some((start..at, is_single))
    })
}
