//! Finds invented names of functions, types, variables, people and products. Most names contain no
//! digit, so the check for invented identifiers does not find them.

use std::ops::Range;

use super::phrases::Phrases;
use super::spans::{Spans, around};

/// Returns the positions of names in `line` that occur neither in the record nor in the summary's
/// headings.
pub(super) fn invented(
    line: &str,
    spans: &Spans,
    phrases: &Phrases,
    headings: &[String],
) -> Vec<Range<usize>> {
    // If the line is not in the record's language, a capital letter does not mean that the word is
    // a name.
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
            && !phrases.has_part(word)
            && !headings.iter().any(|heading| heading.contains(word))
    });
    found
}

/// A line is assumed to be in the record's language if at least this percentage of its words occurs
/// in the record.
const SAME_LANGUAGE: usize = 60;

/// Returns true if a word is a proper name: it is capitalized and does not begin a sentence.
fn is_proper(word: &str, before: &str) -> bool {
    let has_capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    let rest = word.bytes().skip(1);
    let is_plain = has_capital && word.len() > 2 && rest.clone().all(|b| b.is_ascii_lowercase());
    let text = before.strip_suffix(' ').unwrap_or_default();
    let is_within = text.ends_with(|c: char| c.is_ascii_lowercase() || c == ',');
    is_plain && is_within && !CALENDAR.split(' ').any(|name| name == word || name[..3] == *word)
}

/// The names of days and months. These words are not checked as names, because a summary may write
/// a date differently.
const CALENDAR: &str = "\
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May \
    June July August September October November December";

/// Returns true if a word has a form that occurs only in code, such as `parseLine`, `parse_line` or
/// `parse(`. A word such as `ParseLine` counts only if it is in backticks or has at least three
/// parts, because product names such as `GitHub` have the same form.
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
    // `iPhone` and `macOS` are not names from code.
    is_snake || humps > 2 || is_camel && (is_call || ends_with_word(word))
}

/// Counts the capitalized parts of a word, such as the two in `ParseLine`.
fn humps(word: &str) -> usize {
    let bytes = word.as_bytes();
    let begins = |at: usize| {
        bytes[at].is_ascii_uppercase()
            && (at == 0 || !bytes[at - 1].is_ascii_uppercase())
            && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase)
    };
    (0..bytes.len()).filter(|at| begins(*at)).count()
}

/// Returns true if a camel-case name looks like a name in code, such as `parseLine`, rather than a
/// product name, such as `macOS` or `iPhone`.
fn ends_with_word(word: &str) -> bool {
    let head = word.bytes().take_while(u8::is_ascii_lowercase).count();
    head > 2 && word.ends_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{Phrases, Spans, invented};

    fn of(line: &str) -> Vec<&str> {
        let mut phrases = Phrases::default();
        phrases.gather("func parseLine(x) { return max_size } // ParseError, ErrorKindOf, TestReset_KeepsFirstRow, the Sub by and of: parse max shadow");
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
            "`_KeepsFirstRow`, `TestReset_*`, `KeepsFirst`, `FirstRow` and `TestReset_KeepsFirst`",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}
