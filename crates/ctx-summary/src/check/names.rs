//! Names of functions, types and variables, of people and products, which a model can invent
//! although they have no digit.

use std::collections::HashMap;
use std::ops::Range;

use super::spans::{Spans, around};
use super::words::{MOST, Phrases};

/// Returns the names of a line that are neither words of the record nor of the summary's headings,
/// with their positions.
pub(super) fn invented(
    line: &str,
    spans: &Spans,
    phrases: &Phrases,
    headings: &[String],
) -> Vec<Range<usize>> {
    // If the line is not in the record's language, any word may be capitalized.
    let has_proper = phrases.share(line) >= SAME_LANGUAGE;
    let mut found: Vec<Range<usize>> = ctx_text::words(line, |_| false).collect();
    found.retain(|range| {
        let word = &line[range.clone()];
        let is_call = line[range.end..].starts_with('(');
        let in_code = around(&spans.code, range.start).is_some();
        let is_proper = || has_proper && !in_code && is_proper(word, &line[..range.start]);
        (is_name(word, is_call, in_code) || is_proper())
            && !phrases.has_word(word)
            && !phrases.has_word(word.trim_end_matches('s'))
            && !phrases.has_beginning(word)
            && !headings.iter().any(|heading| heading.contains(word))
    });
    found
}

/// The percentage of a line's words that the record must have if both are in one language.
const SAME_LANGUAGE: usize = 60;

/// Returns true if a capital shows that a word is a name: it is within a sentence, not at its
/// beginning.
fn is_proper(word: &str, before: &str) -> bool {
    let has_capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    let rest = word.bytes().skip(1);
    let is_plain = has_capital && word.len() > 2 && rest.clone().all(|b| b.is_ascii_lowercase());
    let text = before.strip_suffix(' ').unwrap_or_default();
    let is_within = text.ends_with(|c: char| c.is_ascii_lowercase() || c == ',');
    is_plain && is_within && !CALENDAR.split(' ').any(|name| name == word || name[..3] == *word)
}

/// Days and months, because a date may be written in other words.
const CALENDAR: &str = "\
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May \
    June July August September October November December";

/// Returns true if a word is written as only programs write it: `parseLine`, `parse_line`,
/// `parse(`. `ParseLine` counts only in code or with three parts, since `GitHub` and `macOS` are
/// other names.
fn is_name(word: &str, is_call: bool, in_code: bool) -> bool {
    if !word.is_ascii() || word.len() < 4 || word.bytes().any(|b| b.is_ascii_digit()) && !in_code {
        return false;
    }
    let inner = word.trim_matches('_');
    let is_snake = inner.contains('_');
    let humps = humps(word);
    let is_camel = word.starts_with(|c: char| c.is_ascii_lowercase()) && humps > 0;
    if in_code {
        return is_snake || humps > 1 || is_camel || is_call;
    }
    // `iPhone`, `macOS`
    is_snake || humps > 2 || is_camel && (is_call || ends_with_word(word))
}

/// Counts the capitals that begin a part of a word: `ParseLine` has two.
fn humps(word: &str) -> usize {
    let bytes = word.as_bytes();
    let begins = |at: usize| {
        bytes[at].is_ascii_uppercase()
            && (at == 0 || !bytes[at - 1].is_ascii_uppercase())
            && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase)
    };
    (0..bytes.len()).filter(|at| begins(*at)).count()
}

/// Returns true for `parseLine`, but not for `macOS` or `iPhone`.
fn ends_with_word(word: &str) -> bool {
    let head = word.bytes().take_while(u8::is_ascii_lowercase).count();
    head > 2 && word.ends_with(|c: char| c.is_ascii_lowercase())
}

/// Every word of a record, with its positions.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The last position of each word.
    last: HashMap<u64, u32>,
    /// For each position, the previous position of the same word.
    before: Vec<u32>,
    is_full: bool,
}

/// Marks the end of a word's positions, and the gap between texts.
const NONE: u32 = u32::MAX;
/// About 16 MB.
const MOST_PLACES: usize = 4_000_000;
/// The greatest distance between words of one statement, or of one object of a list.
const WINDOW: usize = 16;

impl Places {
    /// Adds the next word of a text.
    pub(super) fn insert(&mut self, word: u64) {
        if self.last.len() >= MOST && !self.last.contains_key(&word) {
            self.is_full = true;
            return;
        }
        let place = match u32::try_from(self.before.len()) {
            Ok(place) if self.before.len() < MOST_PLACES => place,
            _ => NONE,
        };
        let before = self.last.insert(word, place).unwrap_or(NONE);
        if place != NONE {
            self.before.push(before);
        }
    }

    /// Ends a text, so that its words are not near those of the next one.
    pub(super) fn end_text(&mut self) {
        let with_gap = self.before.len() + WINDOW;
        self.before.resize(with_gap.min(MOST_PLACES), NONE);
    }

    /// Returns true if the record has a word, or may have it.
    pub(super) fn has(&self, word: u64) -> bool {
        self.is_full || self.last.contains_key(&word)
    }

    /// Returns true if sequences of words are near one another, each without other words in it.
    pub(super) fn are_near(&self, rows: &[Vec<u64>]) -> bool {
        if self.is_full || self.before.len() >= MOST_PLACES {
            return true;
        }
        let mut places = rows.iter().map(|row| self.of_row(row));
        let Some(first) = places.next() else {
            return false;
        };
        let others: Vec<Vec<usize>> = places.collect();
        let is_near = |places: &[usize], at: usize| {
            let below = places.partition_point(|place| *place > at + WINDOW);
            places.get(below).is_some_and(|place| place + WINDOW >= at)
        };
        first.iter().any(|at| others.iter().all(|places| is_near(places, *at)))
    }

    /// The positions of a sequence, last first.
    fn of_row(&self, row: &[u64]) -> Vec<usize> {
        let Some((first, others)) = row.split_first() else {
            return Vec::new();
        };
        let mut begins: Vec<usize> = self.of(*first).collect();
        for (behind, word) in (1..).zip(others) {
            let places: Vec<usize> = self.of(*word).collect();
            let follows = |begin: &usize| {
                let at = places.binary_search_by(|place| (begin + behind).cmp(place));
                at.is_ok()
            };
            begins.retain(follows);
        }
        begins
    }

    /// The positions of a word, the last one first.
    fn of(&self, word: u64) -> impl Iterator<Item = usize> {
        let place = |place: u32| (place != NONE).then_some(place as usize);
        let last = self.last.get(&word).copied().and_then(place);
        std::iter::successors(last, move |at| place(self.before[*at]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::spans::Spans;
    use super::super::words::Phrases;
    use super::invented;

    fn of(line: &str) -> Vec<&str> {
        let mut phrases = Phrases::default();
        phrases.gather("func parseLine(x) { return max_size } // ParseError, ErrorKindOf, the Sub by and of: parse max shadow");
        let headings = ["Goal".to_owned(), "Next Step".to_owned()];
        let names = invented(line, &Spans::of(line), &phrases, &headings);
        names.into_iter().map(|range| &line[range]).collect()
    }

    #[test]
    fn invented_names_are_found() {
        assert_eq!(of("by `resolveBase()` and `x.fold_all`"), ["resolveBase", "fold_all"]);
        assert_eq!(of("parseShadow takes MAX_LINE"), ["parseShadow", "MAX_LINE"]);
        assert_eq!(of("`ParseShadow` 见函数flush()"), ["ParseShadow"]);
        assert_eq!(of("`flush()` of TestParse_All"), ["flush", "TestParse_All"]);
    }

    #[test]
    fn invented_people_are_found() {
        assert_eq!(of("the sub parse by Martin Keller, return of max"), ["Martin", "Keller"]);
    }

    #[test]
    fn words_and_names_of_the_record_are_none() {
        for line in [
            "`parseLine()`, `parseline`, MAX_SIZE and `ParseError`",
            "GitHub, JavaScript, macOS, iPhone, OAuth, TODOs",
            "a plain word (with more), `plain`",
            "the Sub and max, Shadow by return of func on Monday. Then by return: Keller",
            "weil der Parser in einer Schleife hängt",
            "the parser of max and shadow, see Goal",
            "each `ErrorKind` by `errorKind`",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}

#[cfg(test)]
mod places_tests {
    use super::{Places, WINDOW};

    fn of(texts: &[&[u64]]) -> Places {
        let mut places = Places::default();
        for text in texts {
            text.iter().for_each(|word| places.insert(*word));
            places.end_text();
        }
        places
    }

    #[test]
    fn near_are_words_of_one_text_with_few_others_between() {
        let far = [vec![1, 2], vec![0; WINDOW - 1], vec![3, 4]].concat();
        let places = of(&[&far, &[5, 6, 1]]);
        for there in [
            vec![vec![1]],
            vec![vec![1], vec![2]],
            vec![vec![3], vec![2], vec![3, 4]],
            vec![vec![1], vec![6], vec![5]],
        ] {
            assert!(places.are_near(&there), "{there:?}");
        }
        for missing in [
            vec![],
            vec![vec![7]],
            vec![vec![2, 1]],
            vec![vec![1], vec![4]],
            vec![vec![5], vec![4]],
        ] {
            assert!(!places.are_near(&missing), "{missing:?}");
        }
        assert!(places.has(5) && !places.has(7));
    }
}
