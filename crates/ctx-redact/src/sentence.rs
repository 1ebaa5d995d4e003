//! The sentence before a value: whether it announces a password.

use super::is_word;

/// Words that stand before the password at most: `so the password of the test account is`.
const MOST_BEFORE: usize = 8;
/// How far back a sentence may begin, in bytes.
const SENTENCE_MAX: usize = 80;

/// Sentences with one of these ask, doubt or tell what would be.
pub(super) const DOUBTS: &str = "\
    assert because check checks ensure error expect fail failed fails if no not or since \
    sure test that until verify what when where whether which while why without your";

/// The words of the sentence before `at`, in small letters, and whether they are all of them.
pub(super) fn sentence(
    text: &str,
    from: usize,
    at: usize,
) -> (impl Iterator<Item = Vec<u8>>, bool) {
    let before = &text.as_bytes()[from..at];
    let part = &before[before.len().saturating_sub(SENTENCE_MAX)..];
    let sentence = part
        .rsplit(|b| b".!?;,:\n".contains(b))
        .next()
        .unwrap_or(part);
    let is_whole = sentence.len() < part.len() || part.len() == before.len();
    let words = sentence.split(|b| !is_word(*b) && *b < 0x80);
    let words = words.filter(|word| !word.is_empty());
    (words.map(<[u8]>::to_ascii_lowercase), is_whole)
}

/// Whether the sentence before `at` is short, and neither asks nor doubts.
pub(super) fn announces(text: &str, from: usize, at: usize) -> bool {
    let (mut words, is_whole) = sentence(text, from, at);
    let mut most = words.by_ref().take(MOST_BEFORE);
    let doubts = most.any(|word| has(DOUBTS, &word));
    is_whole && !doubts && words.next().is_none()
}

/// Whether a word is one of these.
pub(super) fn has(words: &str, word: &[u8]) -> bool {
    words.split(' ').any(|other| other.as_bytes() == word)
}

/// Whether a text ends so, whatever the case.
pub(super) fn ends_in(text: &[u8], end: &[u8]) -> bool {
    let start = text.len().checked_sub(end.len());
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(end))
}
