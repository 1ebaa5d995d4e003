//! The words beside an identifier: without them nobody knows what it is.

use std::ops::Range;

use crate::bytes::{LETTER, LOWER, UNDERSCORE, WORD, class, classes, run};

/// So many bytes to each side are looked at: about a dozen words.
const SPAN: usize = 70;
/// So many words say what it is.
pub(crate) const ENOUGH: u8 = 2;
/// Bytes of a Chinese character.
const HAN_BYTES: usize = 3;
/// Shorter words are articles and prepositions.
const SHORTEST_WORD: usize = 4;
const SHORTEST_KEY: usize = 3;

/// Words that stand beside everything.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "about", "after", "also", "been", "before", "being", "both", "could", "does", "down", "during", "each", "from", "have",
    "here", "into", "just", "like", "made", "make", "more", "most", "much", "once", "only", "other", "over", "same", "some",
    "such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "time", "very", "want",
    "were", "what", "when", "where", "which", "while", "will", "with", "would", "your",
];

const LONGEST_STOP: usize = 6;

/// The words of a text that say something about what stands beside them, as places.
#[derive(Debug, Default)]
pub(crate) struct Words {
    places: Vec<Range<usize>>,
}

impl Words {
    /// Plain words, keys of JSON members, and runs of Chinese.
    pub(crate) fn read(&mut self, text: &str) {
        self.places.clear();
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let start = at;
            let class = class(*byte);
            if class & WORD != 0 {
                at += run(bytes, at, WORD);
                if is_context(bytes, start..at) {
                    self.places.push(start..at);
                }
            } else if byte.is_ascii() {
                at += 1;
            } else {
                at = han_end(text, at);
                // One character is a particle or a piece of a word.
                if at - start >= 2 * HAN_BYTES {
                    self.places.push(start..at);
                }
            }
        }
    }

    /// How many different words stand beside `place` in the text that was read, up to
    /// [`ENOUGH`].
    pub(crate) fn beside(&self, text: &str, place: &Range<usize>) -> u8 {
        let first_inside = self.places.partition_point(|word| word.end <= place.start);
        // A Chinese name stands inside its sentence: what is around it there says
        // what it is.
        let around = |word: &Range<usize>| {
            let sides = [
                place.start.saturating_sub(word.start),
                word.end.saturating_sub(place.end),
            ];
            sides.iter().filter(|side| **side >= 2 * HAN_BYTES).count()
        };
        let inside = self.places[first_inside..].iter();
        let inside = inside.take_while(|word| word.start < place.end);
        let inside: usize = inside.map(around).sum();
        let inside = u8::try_from(inside).unwrap_or(ENOUGH).min(ENOUGH);
        let from = place.start.saturating_sub(SPAN);
        let near = self.places.partition_point(|word| word.start < from);
        let within = |word: &&Range<usize>| word.end <= place.end + SPAN;
        let mut others = self.places[near..]
            .iter()
            .take_while(within)
            .filter(|word| word.end <= place.start || word.start >= place.end)
            .map(|word| &text[word.clone()]);
        let Some(first) = others.next() else {
            return inside;
        };
        if inside + 1 >= ENOUGH || others.any(|word| word != first) {
            return ENOUGH;
        }
        inside + 1
    }
}

/// The end of the run of Chinese at `at`, or of the one character that is none.
fn han_end(text: &str, at: usize) -> usize {
    let chars = || text[at..].chars();
    match chars().take_while(|c| is_han(*c)).count() {
        0 => at + chars().next().map_or(1, char::len_utf8),
        han => at + HAN_BYTES * han,
    }
}

fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// Whether a word of ASCII says something about what stands beside it: no part of a
/// path, of a name out of code, of a number.
fn is_context(bytes: &[u8], range: Range<usize>) -> bool {
    let word = &bytes[range.clone()];
    if word.len() < SHORTEST_KEY {
        return false;
    }
    let before = range.start.checked_sub(1).map(|at| bytes[at]);
    let after = bytes.get(range.end).copied();
    if before == Some(b'"') && after == Some(b'"') {
        let behind = bytes[range.end + 1..].trim_ascii_start();
        if behind.first() == Some(&b':') {
            return classes(word) & !(LOWER | UNDERSCORE) == 0;
        }
    }
    if word.len() < SHORTEST_WORD || classes(word) & !LETTER != 0 {
        return false;
    }
    let joined = |byte: Option<u8>| byte.is_some_and(|b| matches!(b, b'/' | b'-'));
    let dotted = after == Some(b'.')
        && bytes
            .get(range.end + 1)
            .is_some_and(u8::is_ascii_alphanumeric);
    let glued = joined(before) || before == Some(b'.') || joined(after) || dotted;
    !glued && !is_stop(word)
}

fn is_stop(word: &[u8]) -> bool {
    let mut lower = [0; LONGEST_STOP];
    let Some(lower) = lower.get_mut(..word.len()) else {
        return false;
    };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    STOP.binary_search_by(|stop| stop.as_bytes().cmp(lower))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_STOP, STOP, Words};

    fn beside(text: &str, identifier: &str) -> u8 {
        let at = text.find(identifier).expect("it is there");
        let mut words = Words::default();
        words.read("an earlier text, which is forgotten");
        words.read(text);
        words.beside(text, &(at..at + identifier.len()))
    }

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP.is_sorted());
        assert_eq!(STOP.iter().map(|word| word.len()).max(), Some(LONGEST_STOP));
    }

    #[test]
    fn words_and_keys_count_once() {
        assert_eq!(beside("the order W123 was shipped", "W123"), 2);
        assert_eq!(beside("order W123, order", "W123"), 1);
        assert_eq!(beside("W123", "W123"), 0);
        assert_eq!(beside(r#"{"item_id": "W123", "qty": 2}"#, "W123"), 2);
        assert_eq!(beside("订单 W123 已经发货", "W123"), 2);
    }

    #[test]
    fn parts_of_names_and_words_of_no_meaning_do_not() {
        assert_eq!(beside("src/main.rs W123 order_id this", "W123"), 0);
        assert_eq!(beside("some-thing W123 from", "W123"), 0);
    }

    #[test]
    fn what_is_far_does_not() {
        let text = format!("order{}W123{}shipped", " ".repeat(70), " ".repeat(70));
        assert_eq!(beside(&text, "W123"), 0);
    }
}
