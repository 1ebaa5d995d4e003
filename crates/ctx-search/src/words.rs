//! Splits text into the words by which a search can find it.
//!
//! Sessions contain code and prose, in Chinese and in English. A name can be found in full or by
//! its parts. The words of `src/tools/check.rs` are the whole path, `check.rs`, `src`, `tools`,
//! `check` and `rs`. The words of `parseHttpHeader` are the whole name, `parse`, `http` and
//! `header`. The usual abbreviations of a long hash also count as words. Chinese, Japanese and
//! Korean text can be found by single characters and by pairs of adjacent characters. Traditional
//! and simplified characters count as equal.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::LazyLock;

/// The maximum length of a word in the index, in bytes. Longer runs are encoded data, not words.
const LONGEST: usize = 128;

/// A word that consists of at least this many hexadecimal digits counts as a hash.
const HASH: usize = 16;

/// The lengths to which people usually abbreviate a hash.
const QUOTED: [usize; 3] = [7, 8, 12];

/// Calls `take` with each word in `text` and its position. Words are converted to lower case and to
/// simplified script.
pub fn each_word(text: &str, mut take: impl FnMut(Range<usize>, &str)) {
    let mut lower = String::new();
    let mut take = |range: Range<usize>| {
        let word = &text[range.clone()];
        if word.is_empty() || word.len() > LONGEST {
            return;
        }
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            word.chars().for_each(|c| fold(c, &mut lower));
        }
        take(range, &lower);
    };
    let mut at = 0;
    loop {
        let start = after(text, at, |class| matches!(class, Class::Other | Class::Joint));
        let Some((class, _)) = class_at(text, start) else { return };
        if class == Class::Unspaced {
            at = after(text, start, |class| class == Class::Unspaced);
            unspaced(text, start..at, &mut take);
            continue;
        }
        let is_joined;
        (at, is_joined) = name_end(text, start);
        if is_joined {
            name(text, start..at, &mut take);
        } else {
            parts(text, start..at, &mut take);
        }
    }
}

/// Returns the end of the name that starts at `start`, and whether the name contains joints. A
/// joint is a single character between two letters; two joints in a row end the name.
fn name_end(text: &str, start: usize) -> (usize, bool) {
    let mut end = after(text, start, |class| class == Class::Letter);
    let mut is_joined = false;
    while let Some((Class::Joint, length)) = class_at(text, end) {
        let next = after(text, end + length, |class| class == Class::Letter);
        if next == end + length {
            break;
        }
        (end, is_joined) = (next, true);
    }
    (end, is_joined)
}

/// Returns the words in the text with their positions, each name before its parts.
pub(crate) fn names_first(text: &str) -> Vec<(Range<usize>, String)> {
    let mut all = Vec::new();
    each_word(text, |range, word| all.push((range, word.to_owned())));
    all.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
    all
}

/// Returns the end of the run that starts at `at` and consists of characters whose class satisfies
/// `is_one`.
#[inline]
fn after(text: &str, mut at: usize, is_one: impl Fn(Class) -> bool) -> usize {
    while let Some((_, length)) = class_at(text, at).filter(|(class, _)| is_one(*class)) {
        at += length;
    }
    at
}

/// Returns the class of the character at an offset and its length in bytes, or `None` at the end of
/// the text.
#[inline]
fn class_at(text: &str, at: usize) -> Option<(Class, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte.is_ascii() {
        return Some((OF_ASCII[usize::from(byte)], 1));
    }
    let c = text[at..].chars().next()?;
    Some((Class::of(c), c.len_utf8()))
}

/// The classes of the ASCII characters, which make up most text.
const OF_ASCII: [Class; 128] = {
    let mut classes = [Class::Other; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            classes[byte as usize] = Class::Letter;
        } else if is_splitter(byte) || is_tie(byte) {
            classes[byte as usize] = Class::Joint;
        }
        byte += 1;
    }
    classes
};

/// Whether a byte separates the parts of a path or an address.
const fn is_splitter(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\' | b'@' | b'~' | b'+')
}

/// Whether a byte joins the parts of a name.
const fn is_tie(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.')
}

/// The role of a character in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The character is part of a word.
    Letter,
    /// The character joins two parts of a name.
    Joint,
    /// The character is Han, kana or hangul, and need not be separated from other words by spaces.
    Unspaced,
    /// The character separates words.
    Other,
}

impl Class {
    /// The class of a character outside ASCII.
    fn of(c: char) -> Self {
        // Do not look up arrows, box-drawing characters and blocks in the Unicode tables: lookups
        // are slow, and these characters are common in tool output.
        match c {
            '\u{2190}'..='\u{245f}' | '\u{2500}'..='\u{25ff}' => Self::Other,
            _ if is_unspaced(c) => Self::Unspaced,
            _ if c.is_alphanumeric() => Self::Letter,
            _ => Self::Other,
        }
    }
}

/// Appends a character in the form used for comparison: normalized by [`plain`] and in lower case.
pub(crate) fn fold(c: char, text: &mut String) {
    if c.is_ascii() {
        text.push(c.to_ascii_lowercase());
    } else {
        text.extend(plain(c).to_lowercase());
    }
}

/// Converts the character to ordinary width and simplified script.
pub(crate) fn plain(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => {
            char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c)
        }
        _ => simplified(c),
    }
}

/// Whether a character is Han, kana or hangul.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Calls `take` with each character and each pair of adjacent characters.
fn unspaced(text: &str, run: Range<usize>, take: &mut impl FnMut(Range<usize>)) {
    let mut before = None;
    for (at, c) in text[run.clone()].char_indices() {
        let (start, end) = (run.start + at, run.start + at + c.len_utf8());
        if let Some(before) = before {
            take(before..end);
        }
        take(start..end);
        before = Some(start);
    }
}

/// Calls `take` with a name, with its pieces between the separators of a path or address, and with
/// the parts of these pieces.
fn name(text: &str, run: Range<usize>, take: &mut impl FnMut(Range<usize>)) {
    let mut pieces = 0;
    each_part(text, run.clone(), is_splitter, |piece| {
        pieces += 1;
        let mut atoms = 0;
        each_part(text, piece.clone(), is_tie, |atom| {
            atoms += 1;
            parts(text, atom, take);
        });
        if atoms > 1 {
            take(piece);
        }
    });
    if pieces > 1 {
        take(run);
    }
}

/// Calls `take` with a word that has no joints, and with its camel-case parts or, if it is a hash,
/// with its usual abbreviations.
fn parts(text: &str, atom: Range<usize>, take: &mut impl FnMut(Range<usize>)) {
    let word = &text[atom.clone()];
    take(atom.clone());
    if word.len() >= HASH && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        for length in QUOTED {
            take(atom.start..atom.start + length);
        }
        return;
    }
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if word.as_bytes()[1..].iter().all(is_plain) {
        return;
    }
    let mut start = 0;
    let mut before = None::<char>;
    let mut chars = word.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_is_small = chars.peek().is_some_and(|(_, c)| c.is_lowercase());
        let begins = before.is_some_and(|before| !before.is_uppercase() || next_is_small);
        if c.is_uppercase() && begins {
            take(atom.start + start..atom.start + at);
            start = at;
        }
        before = Some(c);
    }
    if start > 0 {
        take(atom.start + start..atom.end);
    }
}

/// Calls `take` with each part of the text between bytes that satisfy `is_joint`.
fn each_part(
    text: &str,
    range: Range<usize>,
    is_joint: impl Fn(u8) -> bool,
    mut take: impl FnMut(Range<usize>),
) {
    let mut start = range.start;
    for part in text.as_bytes()[range].split(|byte| is_joint(*byte)) {
        if !part.is_empty() {
            take(start..start + part.len());
        }
        start += part.len() + 1;
    }
}

/// The range of Chinese characters that may differ between the traditional and the simplified
/// script.
const HAN: std::ops::RangeInclusive<char> = '\u{3400}'..='\u{9fff}';

/// Converts the character to simplified script. Words that differ in more than their script (滑鼠,
/// 鼠标) remain different.
pub(crate) fn simplified(c: char) -> char {
    static TABLE: LazyLock<Vec<char>> = LazyLock::new(|| {
        // fast2s converts adjacent characters as a unit, so separate the characters with spaces.
        let apart: String = HAN.flat_map(|c| [c, ' ']).collect();
        let simple = fast2s::convert(&apart);
        simple.chars().step_by(2).collect()
    });
    if !HAN.contains(&c) {
        return c;
    }
    let place = u32::from(c) - u32::from(*HAN.start());
    TABLE.get(place as usize).copied().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::each_word;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |_, word| words.push(word.to_owned()));
        words
    }

    /// Identifiers and paths can be found in full or by their parts.
    #[test]
    fn names_are_whole_and_in_parts() {
        assert_eq!(
            words("src/tools/check.rs:12"),
            ["src", "tools", "check", "rs", "check.rs", "src/tools/check.rs", "12"]
        );
        assert_eq!(words("parseHTTPHeader"), ["parsehttpheader", "parse", "http", "header"]);
        assert_eq!(words("MAX_LINE_2."), ["max", "line", "2", "max_line_2"]);
        assert_eq!(words("a--b"), ["a", "b"]);
        assert_eq!(words("It's 3.14, ok"), ["it", "s", "3", "14", "3.14", "ok"]);
    }

    /// Hashes can be found in full or by their usual abbreviations.
    #[test]
    fn a_hash_is_found_by_its_beginning() {
        assert_eq!(
            words("0a1b2c3d4e5f60718293"),
            ["0a1b2c3d4e5f60718293", "0a1b2c3", "0a1b2c3d", "0a1b2c3d4e5f"]
        );
    }

    /// Chinese text is found by pairs of characters, and English words next to it are found as
    /// words.
    #[test]
    fn chinese_is_found_by_pairs() {
        assert_eq!(
            words("数据库用SQLite。"),
            ["数", "数据", "据", "据库", "库", "库用", "用", "sqlite", "sq", "lite"]
        );
        assert_eq!(words("ＡＢ１"), ["ab1"]);
        assert_eq!(words("數據庫"), words("数据库"));
    }

    #[test]
    fn packed_data_is_no_word() {
        assert!(words(&"x".repeat(129)).is_empty());
        assert_eq!(words(&"x".repeat(128)).len(), 1);
    }

    proptest! {
        /// For any text, the position of each word is within the text.
        #[test]
        fn places_are_within_the_text(text in "\\PC{0,40}") {
            each_word(&text, |range, word| {
                assert!(text.get(range).is_some(), "{word}");
                assert!(!word.is_empty());
            });
        }
    }
}

#[cfg(test)]
mod script_tests {
    use super::{HAN, simplified};

    /// Traditional and simplified characters are treated as equal.
    #[test]
    fn traditional_characters_become_simplified_ones() {
        let text = "我們決定選擇資料庫 Rust カ";
        let text: String = text.chars().map(simplified).collect();
        assert_eq!(text, "我们决定选择资料库 Rust カ");
    }

    #[test]
    fn a_simplified_form_is_a_character_and_stays() {
        for c in HAN {
            let simple = simplified(c);
            assert!(HAN.contains(&simple), "{c}: {simple}");
        }
        for c in "的一是我们决定选择资料库简体".chars() {
            assert_eq!(simplified(c), c);
        }
    }
}
