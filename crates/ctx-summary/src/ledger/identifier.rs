//! Finds the identifiers in text: paths, URLs, ids, hashes, versions, dates, numbers, and names in
//! code. A later tool call needs identifiers verbatim, but a paraphrase does not preserve them.
//!
//! The scanner is handwritten and works on bytes for speed, because it reads all the text in a
//! session.

use std::ops::Range;
use std::sync::LazyLock;

use ctx_text::WordSet;

use crate::ledger::LISTS;

pub(crate) const LOWER: u8 = 1;
pub(crate) const UPPER: u8 = 1 << 1;
pub(crate) const DIGIT: u8 = 1 << 2;
pub(crate) const UNDERSCORE: u8 = 1 << 3;
/// The class of `/` and `~`, which occur in paths.
pub(crate) const SLASH: u8 = 1 << 4;
/// The class of `.`, `@` and `+`. Words joined by these characters count as individual identifiers,
/// except in a file name.
pub(crate) const DOT: u8 = 1 << 5;
pub(crate) const DASH: u8 = 1 << 6;

pub(crate) const LETTER: u8 = LOWER | UPPER;
pub(crate) const WORD: u8 = LETTER | DIGIT | UNDERSCORE;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte: u8 = 0;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'/' | b'~' => SLASH,
            b'.' | b'@' | b'+' => DOT,
            b'-' => DASH,
            _ => 0,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

/// Returns the class of a byte, or 0 if no identifier contains it. The classes are stored in a
/// table, because each byte is looked up several times.
pub(crate) fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

/// Returns the class of the byte at `at`, or 0 past the end of `bytes`.
pub(crate) fn class_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |byte| class(*byte))
}

/// Returns the union of the classes of all bytes.
pub(crate) fn classes(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |all, byte| all | class(*byte))
}

/// Returns the length of the run that starts at `at` and has only bytes in the `wanted` classes.
pub(crate) fn run(bytes: &[u8], at: usize, wanted: u8) -> usize {
    let rest = &bytes[at..];
    let length = rest.iter().position(|byte| class(*byte) & wanted == 0);
    length.unwrap_or(rest.len())
}

/// The form of an identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `https://…`
    Url,
    /// A path, which contains a slash.
    Path,
    /// A file name with a known extension.
    File,
    /// `2026-11-22`, perhaps with a time.
    Date,
    /// Capital letters and digits, such as `ZFA04Y` and `HAT-030`.
    Code,
    /// A name with a number, such as `user_123` and `gift_card_7091239`.
    Keyed,
    /// Any other mixture of letters and digits, such as `gpt-4o` and `250ms`.
    Mixed,
    /// Hexadecimal digits only, as in a hash or a UUID.
    Hash,
    /// A name in code, such as `snake_case` or `camelCase`.
    Name,
    /// Digits with punctuation, such as `1,204.50`, `10.0.0.1` and `08:30`.
    Number,
    /// A name or a figure in prose.
    Term,
    /// A short tool call argument, taken as a whole, whatever its form.
    #[default]
    Argument,
}

/// The minimum length of an identifier, in bytes. Shorter names are too common to be informative.
pub(crate) const SHORTEST: usize = 4;
/// The minimum length of a hash. Git never abbreviates hashes to fewer digits.
const SHORTEST_HASH: usize = 7;
/// The maximum length of a code. Codes are short, so that people can read them aloud.
const LONGEST_CODE: usize = 12;
/// The maximum length of an identifier. Longer runs of characters are data such as base64.
const LONGEST: usize = 300;

/// Calls `found` for each identifier in `text`, in order. A path is followed by its last part. A
/// dotted name is split unless it is a file name.
pub(crate) fn scan(text: &str, mut found: impl FnMut(Range<usize>, Shape)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let first = class(bytes[at]);
        if first & LETTER != 0
            && let Some(length) = plain_word(&bytes[at..])
        {
            at += length;
            continue;
        }
        // Blanks and most punctuation marks have no class.
        if first == 0 && bytes[at] != b'$' || !begins(bytes, at) {
            at += 1;
            continue;
        }
        let url = url(bytes, at);
        let end = url.unwrap_or_else(|| run_end(bytes, at));
        if end - at <= LONGEST {
            if url.is_some() {
                report(at..end, Shape::Url, &mut found);
            } else {
                classify(bytes, at..end, &mut found);
            }
        }
        at = end.max(at + 1);
    }
}

/// Returns the length of the plain word at the beginning of `rest`, if any. A plain word is a run
/// of letters in which only the first may be a capital. Most text consists of such words.
fn plain_word(rest: &[u8]) -> Option<usize> {
    let length = 1 + run(rest, 1, LOWER);
    let end = match rest.get(length) {
        // A colon may be part of a URL, and a full stop may end a sentence.
        Some(b':') => return None,
        Some(b'.') => length + 1,
        _ => length,
    };
    (class_at(rest, end) == 0).then_some(length)
}

fn report(range: Range<usize>, shape: Shape, found: &mut impl FnMut(Range<usize>, Shape)) {
    if range.len() >= SHORTEST {
        found(range, shape);
    }
}

/// Returns true if a run may begin at `at`. The scanner never calls this function in the middle of
/// a run, because it skips to the end of each run.
fn begins(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'/' | b'~' | b'.' | b'@' => {
            class_at(bytes, at + 1) & WORD != 0
                || matches!(bytes.get(at + 1), Some(b'/' | b'.' | b'@'))
        }
        b'$' => class_at(bytes, at + 1) == DIGIT,
        byte => class(byte) & WORD != 0,
    }
}

/// Returns the end of the URL that begins at `at`, or `None` if no URL begins there.
fn url(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest[0] != b'h' || !(rest.starts_with(b"http://") || rest.starts_with(b"https://")) {
        return None;
    }
    let ends = |b: &u8| b.is_ascii_whitespace() || b"'\"<>)]},`\\|".contains(b) || *b >= 0x80;
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    Some(at + trimmed(&rest[..end]))
}

/// Returns the end of the run of letters, digits and joining characters that begins at `at`. A run
/// may contain colons and commas only between digits, and a percent sign only at the end of a
/// number.
fn run_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    loop {
        end += run(bytes, end, WORD | SLASH | DOT | DASH);
        let after_digit = class(bytes[end - 1]) == DIGIT;
        match bytes.get(end) {
            Some(b':' | b',') if after_digit && class_at(bytes, end + 1) == DIGIT => end += 1,
            Some(b'%') if after_digit => return end + 1,
            _ => break,
        }
    }
    at + trimmed(&bytes[at..end]).max(1)
}

/// Returns the length of `run` without trailing punctuation.
fn trimmed(run: &[u8]) -> usize {
    let joins = |b: &u8| matches!(b, b'.' | b',' | b';' | b':' | b'-' | b'+' | b'@' | b'~');
    let ends = run.iter().rposition(|b| !joins(b));
    ends.map_or(0, |last| last + 1)
}

fn classify(bytes: &[u8], range: Range<usize>, found: &mut impl FnMut(Range<usize>, Shape)) {
    let run = &bytes[range.clone()];
    let of_run = classes(run);
    if of_run & DIGIT != 0 && is_number(run) {
        let shape = if is_date(run) { Shape::Date } else { Shape::Number };
        report(range, shape, found);
    } else if of_run & SLASH == 0 {
        simple(bytes, range, of_run, found);
    } else if is_path(run, of_run) {
        report(range.clone(), Shape::Path, found);
        let name = run.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
        if name > 0 && name < run.len() {
            simple(bytes, range.start + name..range.end, classes(&run[name..]), found);
        }
    } else {
        // `yes/no` is prose, so the words on both sides of the slash count individually.
        for part in parts(run, range.start, SLASH) {
            simple(bytes, part.clone(), classes(&bytes[part]), found);
        }
    }
}

/// Reports a run without a slash, either as a file name or word by word. `of_run` is the union of
/// the classes of the run's bytes.
fn simple(
    bytes: &[u8],
    range: Range<usize>,
    of_run: u8,
    found: &mut impl FnMut(Range<usize>, Shape),
) {
    let run = &bytes[range.clone()];
    // Most runs of characters are single words.
    if of_run & (DOT | DASH) == 0 {
        if let Some(shape) = word_shape(run, of_run) {
            report(range, shape, found);
        }
        return;
    }
    if of_run & DOT != 0 && is_file(run) {
        report(range, Shape::File, found);
        return;
    }
    for part in parts(run, range.start, DOT) {
        let word = &bytes[part.clone()];
        let of_word = classes(word);
        if let Some(shape) = word_shape(word, of_word) {
            report(part, shape, found);
            continue;
        }
        // A word without a dash has no parts to report.
        let rest = if of_word & DASH == 0 { &[] } else { word };
        for part in parts(rest, part.start, DASH) {
            let word = &bytes[part.clone()];
            if let Some(shape) = word_shape(word, classes(word)) {
                report(part, shape, found);
            }
        }
    }
}

/// Returns the shape of a word made of letters, digits, underscores and dashes. `classes` is the
/// union of the classes of the word's bytes.
fn word_shape(word: &[u8], classes: u8) -> Option<Shape> {
    if classes & DIGIT != 0 && classes & LETTER != 0 {
        return Some(mixed_shape(word, classes));
    }
    if classes & DIGIT != 0 {
        return is_number(word).then_some(Shape::Number);
    }
    if classes & DASH != 0 {
        return None;
    }
    let inner = word.strip_prefix(b"_").unwrap_or(word);
    let is_snake =
        classes & UNDERSCORE != 0 && inner[..inner.len().saturating_sub(1)].contains(&b'_');
    let is_camel = || word.windows(2).any(|two| [class(two[0]), class(two[1])] == [LOWER, UPPER]);
    // Capital letters before a capitalized word, as in `HTTPServer`.
    let capitals = [UPPER, UPPER, LOWER];
    let has_capitals = || word.windows(3).any(|three| three.iter().map(|b| class(*b)).eq(capitals));
    let is_named = is_snake || classes & UPPER != 0 && (is_camel() || has_capitals());
    is_named.then_some(Shape::Name)
}

/// Returns the shape of a word that contains both letters and digits.
fn mixed_shape(word: &[u8], classes: u8) -> Shape {
    let hex = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-');
    let lower = classes & LOWER != 0;
    if word.len() >= SHORTEST_HASH && word.iter().all(hex) {
        Shape::Hash
    } else if !lower && word.len() <= LONGEST_CODE {
        Shape::Code
    } else if lower && word[1..].contains(&b'_') {
        Shape::Keyed
    } else {
        Shape::Mixed
    }
}

fn is_number(run: &[u8]) -> bool {
    let run = run.strip_prefix(b"$").unwrap_or(run);
    let digits = run.strip_suffix(b"%").unwrap_or(run);
    digits.first().is_some_and(u8::is_ascii_digit)
        && digits.iter().all(|b| b.is_ascii_digit() || b".,:/-".contains(b))
}

/// Returns true if `run` begins with a date. A time may follow the date.
fn is_date(run: &[u8]) -> bool {
    let form = b"dddd-dd-dd";
    run.len() >= form.len()
        && run.iter().zip(form).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            form => byte == form,
        })
}

/// Returns true if a run with these `classes` is a path. Because `and/or` is prose, a path must
/// begin with a slash or a tilde, or contain a second slash, a dot, a digit or an underscore.
fn is_path(run: &[u8], classes: u8) -> bool {
    let mut slashes = run.iter().filter(|b| **b == b'/');
    let (is_joined, has_more) = (slashes.next().is_some(), slashes.next().is_some());
    let is_marked = || classes & (UNDERSCORE | DIGIT) != 0 || run.contains(&b'.');
    let is_rooted = matches!(run[0], b'/' | b'~');
    classes & WORD != 0 && is_joined && (has_more || is_rooted || is_marked())
}

/// Returns true if `run` consists of a name, a dot and a known file extension.
fn is_file(run: &[u8]) -> bool {
    let Some(dot) = run.iter().rposition(|b| *b == b'.') else { return false };
    dot > 0 && str::from_utf8(&run[dot + 1..]).is_ok_and(|end| EXTENSIONS.contains(end))
}

static EXTENSIONS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("known extensions"));

/// Splits a run at the bytes of class `separator`. Empty parts of the run are omitted.
fn parts(run: &[u8], start: usize, separator: u8) -> impl Iterator<Item = Range<usize>> {
    let mut begin = start;
    let parts = run.split(move |b| class(*b) & separator != 0);
    parts.filter_map(move |part| {
        let range = begin..begin + part.len();
        begin = range.end + 1;
        (!part.is_empty()).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DASH, DIGIT, LETTER, LOWER, Shape, WORD, class, class_at, classes, run, scan};

    #[test]
    fn letters_and_digits_are_those_of_ascii() {
        for byte in 0..=u8::MAX {
            assert_eq!(class(byte) & LETTER != 0, byte.is_ascii_alphabetic());
            assert_eq!(class(byte) & DIGIT != 0, byte.is_ascii_digit());
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
            assert_eq!(class(byte) & WORD != 0, is_word);
            assert!(class(byte).count_ones() <= 1);
        }
    }

    #[test]
    fn runs_end_with_another_class_or_with_the_text() {
        assert_eq!(run(b"ab-Cd", 0, LOWER), 2);
        assert_eq!(run(b"ab-Cd", 2, LOWER), 0);
        assert_eq!(run(b"ab-Cd", 3, LETTER), 2);
        assert_eq!(run(b"ab", 2, LOWER), 0);
        assert_eq!(classes(b"a-1"), LOWER | DASH | DIGIT);
        assert_eq!((classes(b""), class_at(b"a", 1)), (0, 0));
    }

    fn found(text: &str) -> Vec<(&str, Shape)> {
        let mut found = Vec::new();
        scan(text, |range, shape| found.push((&text[range], shape)));
        found
    }

    #[test]
    fn each_shape_is_found() {
        assert_eq!(
            found("see https://x.org/a?b=1, then (/etc/nginx/site.conf)."),
            [
                ("https://x.org/a?b=1", Shape::Url),
                ("/etc/nginx/site.conf", Shape::Path),
                ("site.conf", Shape::File),
            ]
        );
        assert_eq!(
            found("edit main.rs: parse_args, newParser or HTTPServer; not plain words"),
            [
                ("main.rs", Shape::File),
                ("parse_args", Shape::Name),
                ("newParser", Shape::Name),
                ("HTTPServer", Shape::Name),
            ]
        );
        assert_eq!(
            found("ZFA04Y on 2026-11-22, $1,204.50 at 08:30; commit 9f3c2e1a, 250ms, 12.5%"),
            [
                ("ZFA04Y", Shape::Code),
                ("2026-11-22", Shape::Date),
                ("$1,204.50", Shape::Number),
                ("08:30", Shape::Number),
                ("9f3c2e1a", Shape::Hash),
                ("250ms", Shape::Mixed),
                ("12.5%", Shape::Number),
            ]
        );
    }

    #[test]
    fn parts_of_dotted_and_dashed_names_count_alone() {
        assert_eq!(
            found("self.max_tokens() in gpt-4o-mini by jane_doe@mail.example"),
            [("max_tokens", Shape::Name), ("gpt-4o-mini", Shape::Mixed), ("jane_doe", Shape::Name),]
        );
        assert_eq!(found("re-use_it"), [("use_it", Shape::Name)]);
    }

    #[test]
    fn prose_has_none() {
        for text in [
            "",
            "and/or, yes/no",
            "A plain sentence - nothing in it.",
            "12 a1 3.5",
            "…",
            "决定用它",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn chinese_around_it_does_no_harm() {
        assert_eq!(
            found("请看src/main.rs，预算是12000元，编号A1B2C3。"),
            [
                ("src/main.rs", Shape::Path),
                ("main.rs", Shape::File),
                ("12000", Shape::Number),
                ("A1B2C3", Shape::Code),
            ]
        );
    }

    #[test]
    fn data_is_no_identifier() {
        assert_eq!(found(&"QUJD0".repeat(200)), []);
    }

    proptest! {
        #[test]
        fn ranges_are_whole_words_of_the_text(text in "[ -~é决\n]{0,80}") {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            scan(&text, |range, _| {
                let inside = &text[range.clone()];
                assert!(inside.len() >= super::SHORTEST);
                let before = text[..range.start].chars().next_back();
                let after = text[range.end..].chars().next();
                assert!(!(before.is_some_and(word) && inside.starts_with(word)), "{text}");
                assert!(!(after.is_some_and(word) && inside.ends_with(word)), "{text}");
            });
        }
    }
}
