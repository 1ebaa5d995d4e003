//! Finds the identifiers in a segment, and also names and figures if the segment is prose. For each
//! identifier, counts the nearby words that describe it.

use std::ops::Range;

use ctx_text::{SLOTS, has_word, word_list};

use crate::ledger::Shape;
use crate::ledger::identifier::{self, LETTER, LOWER, UNDERSCORE, WORD, class, classes, run};
use crate::ledger::term::{self, HAN_BYTES, is_han};

/// An identifier in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) place: Range<usize>,
    pub(crate) shape: Shape,
    /// The number of nearby words that describe the identifier, up to [`ENOUGH`].
    pub(crate) words: u8,
}

/// Scans segments, reusing its buffers.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    found: Vec<Match>,
    words: Words,
}

/// The words in a segment that may describe nearby identifiers. The segment is read only as far as
/// needed, which is rarely to its end.
#[derive(Debug, Default)]
struct Words {
    known: Vec<Range<usize>>,
    /// The position up to which the segment has been read.
    read: usize,
}

impl Scan {
    /// Returns the identifiers in a segment, followed by its names and figures if `prose` is set.
    /// The nearby words are counted only if `with_words` is set.
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
            self.words.known.clear();
            self.words.read = 0;
            for found in found.iter_mut() {
                found.words = self.words.around(text, &found.place);
            }
        }
        found
    }
}

/// The number of bytes, on each side of an identifier, that are searched for words. This is the
/// length of about a dozen words.
const SPAN: usize = 70;
/// The number of words that are enough to describe an identifier.
pub(crate) const ENOUGH: u8 = 2;
/// The minimum length of a word. Shorter words are articles and prepositions.
const SHORTEST_WORD: usize = 4;
const SHORTEST_KEY: usize = 3;

/// Words that are too common to describe anything.
#[rustfmt::skip]
static STOP: [u64; SLOTS] = word_list([
    "about", "after", "also", "been", "before", "being", "both", "could", "does", "down", "during", "each", "from", "have",
    "here", "into", "just", "like", "made", "make", "more", "most", "much", "once", "only", "other", "over", "same", "some",
    "such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "time", "very", "want",
    "were", "what", "when", "where", "which", "while", "will", "with", "would", "your",
]);

impl Words {
    /// Returns the number of different words around `place` in `text`, up to [`ENOUGH`].
    fn around(&mut self, text: &str, place: &Range<usize>) -> u8 {
        let from = place.start.saturating_sub(SPAN);
        let (mut inside, mut one) = (0, None);
        let mut number = self.known.partition_point(|word| word.end <= from);
        while let Some(word) = self.get(text, number) {
            number += 1;
            if word.end > place.start && word.start < place.end {
                // A Chinese name is part of a longer run of characters. The rest of the run
                // describes the name.
                let before = place.start.saturating_sub(word.start);
                let after = word.end.saturating_sub(place.end);
                let sides = [before, after].into_iter();
                inside += sides.filter(|side| *side >= 2 * HAN_BYTES).count();
            } else if word.end > place.end + SPAN {
                break;
            } else if word.start >= from {
                let word = &text[word];
                if *one.get_or_insert(word) != word {
                    return ENOUGH;
                }
            }
        }
        let all = inside + usize::from(one.is_some());
        u8::try_from(all).unwrap_or(ENOUGH).min(ENOUGH)
    }

    /// Returns the word with the given index, reading the text up to it if necessary.
    fn get(&mut self, text: &str, number: usize) -> Option<Range<usize>> {
        while self.known.len() <= number {
            let word = next_word(text, &mut self.read)?;
            self.known.push(word);
        }
        self.known.get(number).cloned()
    }
}

/// Returns the next plain word, JSON key or run of Chinese characters, and moves `at` to its end.
fn next_word(text: &str, at: &mut usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    loop {
        let start = *at;
        let byte = *bytes.get(start)?;
        if class(byte) & WORD != 0 {
            *at += run(bytes, start, WORD);
            if is_context(bytes, start..*at) {
                return Some(start..*at);
            }
        } else if byte.is_ascii() {
            *at += 1;
        } else {
            *at = han_end(text, start);
            // A single Chinese character is a particle or a part of a word.
            if *at - start >= 2 * HAN_BYTES {
                return Some(start..*at);
            }
        }
    }
}

/// Returns the end of the run of Chinese characters at `at`, or of a single other character.
fn han_end(text: &str, at: usize) -> usize {
    let chars = || text[at..].chars();
    match chars().take_while(|c| is_han(*c)).count() {
        0 => at + chars().next().map_or(1, char::len_utf8),
        han => at + HAN_BYTES * han,
    }
}

/// Returns true if an ASCII word can describe an identifier near it. Parts of paths, numbers and
/// names in code do not describe anything.
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
    use super::{Scan, Words};

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
        Words::default().around(text, &(at..at + identifier.len()))
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
