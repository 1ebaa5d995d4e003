//! The identifiers of a segment, and in prose also names and figures. Each has the number of words
//! around it that describe it.

use std::ops::Range;

use ctx_text::{PLACES, has_word, word_list};

use crate::ledger::identifier::{
    self, LETTER, LOWER, Shape, UNDERSCORE, WORD, class, classes, run,
};
use crate::ledger::term::{self, HAN_BYTES, is_han};

/// An identifier in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) place: Range<usize>,
    pub(crate) shape: Shape,
    /// The number of words around it that describe it, up to [`ENOUGH`].
    pub(crate) words: u8,
}

/// Scans segments and reuses its buffers.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    found: Vec<Match>,
    /// The words of the segment that describe what they surround.
    words: Vec<Range<usize>>,
}

impl Scan {
    /// Returns the identifiers of a segment; in `prose`, terms follow them. Counts the words around
    /// them only if `with_words` is set.
    pub(crate) fn read(&mut self, text: &str, prose: bool, with_words: bool) -> &[Match] {
        self.found.clear();
        let found = &mut self.found;
        let words = 0;
        identifier::scan(text, |place, shape| {
            found.push(Match { place, shape, words });
        });
        if prose {
            let identifiers = found.len();
            term::scan(text, |place| {
                let known = found[..identifiers].iter();
                if !known.map(|known| &known.place).any(|known| *known == place) {
                    let shape = Shape::Term;
                    found.push(Match { place, shape, words });
                }
            });
        }
        if with_words && !found.is_empty() {
            read_words(text, &mut self.words);
            for found in found.iter_mut() {
                found.words = words_around(&self.words, text, &found.place);
            }
        }
        found
    }
}

/// The number of bytes on each side that count as context: about a dozen words.
const SPAN: usize = 70;
/// The number of words that are enough to describe an identifier.
pub(crate) const ENOUGH: u8 = 2;
/// Shorter words are articles and prepositions.
const SHORTEST_WORD: usize = 4;
const SHORTEST_KEY: usize = 3;

/// Words that are too common to describe anything.
#[rustfmt::skip]
static STOP: [u64; PLACES] = word_list([
    "about", "after", "also", "been", "before", "being", "both", "could", "does", "down", "during", "each", "from", "have",
    "here", "into", "just", "like", "made", "make", "more", "most", "much", "once", "only", "other", "over", "same", "some",
    "such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "time", "very", "want",
    "were", "what", "when", "where", "which", "while", "will", "with", "would", "your",
]);

/// Reads plain words, keys of JSON members, and runs of Chinese.
fn read_words(text: &str, words: &mut Vec<Range<usize>>) {
    words.clear();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        let class = class(*byte);
        if class & WORD != 0 {
            at += run(bytes, at, WORD);
            if is_context(bytes, start..at) {
                words.push(start..at);
            }
        } else if byte.is_ascii() {
            at += 1;
        } else {
            at = han_end(text, at);
            // A single character is a particle or a piece of a word.
            if at - start >= 2 * HAN_BYTES {
                words.push(start..at);
            }
        }
    }
}

/// The number of different words around `place` in a text, up to [`ENOUGH`].
fn words_around(words: &[Range<usize>], text: &str, place: &Range<usize>) -> u8 {
    let first_inside = words.partition_point(|word| word.end <= place.start);
    // A Chinese name is part of a run of characters, and the rest of the run describes it.
    let outside = |word: &Range<usize>| {
        let sides = [place.start.saturating_sub(word.start), word.end.saturating_sub(place.end)];
        sides.iter().filter(|side| **side >= 2 * HAN_BYTES).count()
    };
    let inside = words[first_inside..].iter();
    let inside = inside.take_while(|word| word.start < place.end);
    let inside: usize = inside.map(outside).sum();
    let inside = u8::try_from(inside).unwrap_or(ENOUGH).min(ENOUGH);
    let from = place.start.saturating_sub(SPAN);
    let first = words.partition_point(|word| word.start < from);
    let within = |word: &&Range<usize>| word.end <= place.end + SPAN;
    let mut others = words[first..]
        .iter()
        .take_while(within)
        .filter(|word| word.end <= place.start || word.start >= place.end)
        .map(|word| &text[word.clone()]);
    let Some(one) = others.next() else { return inside };
    if inside + 1 >= ENOUGH || others.any(|word| word != one) {
        return ENOUGH;
    }
    inside + 1
}

/// Returns the end of the run of Chinese characters at `at`, or of a single other character.
fn han_end(text: &str, at: usize) -> usize {
    let chars = || text[at..].chars();
    match chars().take_while(|c| is_han(*c)).count() {
        0 => at + chars().next().map_or(1, char::len_utf8),
        han => at + HAN_BYTES * han,
    }
}

/// Returns true if an ASCII word describes its surroundings: it is not part of a path, of a name in
/// code, or of a number.
fn is_context(bytes: &[u8], range: Range<usize>) -> bool {
    let word = &bytes[range.clone()];
    if word.len() < SHORTEST_KEY {
        return false;
    }
    let before = range.start.checked_sub(1).map(|at| bytes[at]);
    let after = bytes.get(range.end).copied();
    if before == Some(b'"') && after == Some(b'"') {
        let after = bytes[range.end + 1..].trim_ascii_start();
        if after.first() == Some(&b':') {
            return classes(word) & !(LOWER | UNDERSCORE) == 0;
        }
    }
    if word.len() < SHORTEST_WORD || classes(word) & !LETTER != 0 {
        return false;
    }
    let joined = |byte: Option<u8>| byte.is_some_and(|b| matches!(b, b'/' | b'-'));
    let dotted =
        after == Some(b'.') && bytes.get(range.end + 1).is_some_and(u8::is_ascii_alphanumeric);
    let glued = joined(before) || before == Some(b'.') || joined(after) || dotted;
    !glued && !has_word(&STOP, word)
}

#[cfg(test)]
mod tests {
    use super::{Scan, read_words, words_around};

    fn found(text: &str, prose: bool) -> Vec<(&str, u8)> {
        let mut scan = Scan::default();
        scan.read("an earlier_segment that is forgotten", true, true);
        let found = scan.read(text, prose, true).iter();
        found.map(|found| (&text[found.place.clone()], found.words)).collect()
    }

    #[test]
    fn terms_come_behind_identifiers_and_only_in_prose() {
        let text = "met John Smith about order_17 for 3 nights";
        assert_eq!(found(text, false), [("order_17", 2)]);
        assert_eq!(found(text, true), [("order_17", 2), ("John Smith", 1), ("3 nights", 2)]);
    }

    #[test]
    fn what_is_an_identifier_is_no_term_as_well() {
        assert_eq!(found("it rose 1250% in price", true), [("1250%", 2)]);
    }

    #[test]
    fn words_are_counted_when_asked_for() {
        let mut scan = Scan::default();
        assert_eq!(scan.read("the order W123 was shipped", true, false)[0].words, 0);
        assert_eq!(scan.read("the order W123 was shipped", true, true)[0].words, 2);
        assert_eq!(scan.read("", true, true), []);
    }

    fn around(text: &str, identifier: &str) -> u8 {
        let at = text.find(identifier).expect("it is there");
        let mut words = Vec::new();
        read_words("an earlier text, which is forgotten", &mut words);
        read_words(text, &mut words);
        words_around(&words, text, &(at..at + identifier.len()))
    }

    #[test]
    fn words_and_keys_count_once() {
        assert_eq!(around("the order W123 was shipped", "W123"), 2);
        assert_eq!(around("order W123, order", "W123"), 1);
        assert_eq!(around("W123", "W123"), 0);
        assert_eq!(around(r#"{"item_id": "W123", "qty": 2}"#, "W123"), 2);
        assert_eq!(around("订单 W123 已经发货", "W123"), 2);
    }

    #[test]
    fn parts_of_names_and_words_of_no_meaning_do_not() {
        assert_eq!(around("src/main.rs W123 order_id this", "W123"), 0);
        assert_eq!(around("some-thing W123 from", "W123"), 0);
    }

    #[test]
    fn what_is_far_does_not() {
        let text = format!("order{}W123{}shipped", " ".repeat(70), " ".repeat(70));
        assert_eq!(around(&text, "W123"), 0);
    }
}
