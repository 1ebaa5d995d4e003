//! A text in which many others are looked for.

use std::collections::HashMap;
use std::ops::Range;

use crate::ledger::identifier::{WORD, class, class_at, run};

/// A text with the places of its words, so that looking for one of many thousand
/// texts does not read all of it.
pub(super) struct Hay<'t> {
    text: &'t str,
    places: HashMap<&'t str, Vec<usize>>,
}

impl<'t> Hay<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for word in words(text) {
            let known = places.entry(&text[word.clone()]).or_default();
            known.push(word.start);
        }
        Self { text, places }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// Whether it contains `needle`, not as a part of longer words.
    pub(super) fn has(&self, needle: &str) -> bool {
        self.has_within(needle, self.text.len())
    }

    /// The same, in the first `length` bytes.
    pub(super) fn has_within(&self, needle: &str, length: usize) -> bool {
        !needle.is_empty() && self.find(needle, length, true)
    }

    /// Whether it contains `beginning`, perhaps ending within a word.
    pub(super) fn has_beginning(&self, beginning: &str) -> bool {
        !beginning.is_empty() && self.find(beginning, self.text.len(), false)
    }

    fn find(&self, needle: &str, length: usize, whole_end: bool) -> bool {
        let is_here = |at: usize| {
            let end = at + needle.len();
            end <= length
                && self.text.as_bytes()[at..].starts_with(needle.as_bytes())
                && self.is_bordered(at..end, whole_end)
        };
        let whole = |word: &Range<usize>| whole_end || word.end < needle.len();
        let mut rarest: Option<(usize, &[usize])> = None;
        for word in words(needle).filter(whole) {
            let Some(places) = self.places.get(&needle[word.clone()]) else {
                return false;
            };
            if rarest.is_none_or(|(_, least)| places.len() < least.len()) {
                rarest = Some((word.start, places));
            }
        }
        match rarest {
            Some((offset, places)) => {
                places.iter().filter_map(|place| place.checked_sub(offset)).any(is_here)
            }
            None => self.text.match_indices(needle).any(|(at, _)| is_here(at)),
        }
    }

    fn is_bordered(&self, range: Range<usize>, whole_end: bool) -> bool {
        let bytes = self.text.as_bytes();
        let is_word = |at: usize| class_at(bytes, at) & WORD != 0;
        let inside = |right: usize| right > 0 && is_word(right - 1) && is_word(right);
        !(inside(range.start) || whole_end && inside(range.end))
    }
}

/// The words of a text. Other scripts have no borders to look at.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_word = |byte: &u8| class(*byte) & WORD != 0;
        let start = at + bytes[at..].iter().position(is_word)?;
        at = start + run(bytes, start, WORD);
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Hay;

    #[test]
    fn whole_words_only() {
        let hay = Hay::of("open src/main.rs, user_12 and 文件user_3被");
        for found in ["src/main.rs", "main.rs", "user_12", "user_3", "件", ", user_12 and", "open"]
        {
            assert!(hay.has(found), "{found}");
        }
        for missing in ["rc/main.rs", "user_1", "main.r", "12", "ope", "", "user_12and"] {
            assert!(!hay.has(missing), "{missing}");
        }
    }

    #[test]
    fn a_cut_text_may_end_in_a_word() {
        let hay = Hay::of("do not touch the tests");
        assert!(hay.has_beginning("do not touch the te"));
        assert!(hay.has_beginning("d"));
        assert!(!hay.has_beginning("o not"));
        assert!(!hay.has_beginning(""));
    }

    #[test]
    fn only_what_ends_in_the_beginning_counts() {
        let hay = Hay::of("first 4711 second 4712");
        assert!(hay.has_within("4711", 10));
        assert!(!hay.has_within("4711", 9));
        assert!(!hay.has_within("4712", 17));
    }

    proptest! {
        #[test]
        fn it_finds_what_a_plain_search_finds(text in "[ab_ ./文]{0,30}", needle in "[ab_ ./文]{1,4}") {
            let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            // A slow search over every place, overlapping ones too.
            let expected = text.char_indices().any(|(at, _)| {
                let Some(rest) = text[at..].strip_prefix(needle.as_str()) else { return false };
                let before = word(text[..at].chars().next_back()) && word(needle.chars().next());
                let behind = word(rest.chars().next()) && word(needle.chars().next_back());
                !before && !behind
            });
            prop_assert_eq!(Hay::of(&text).has(&needle), expected);
        }
    }
}
