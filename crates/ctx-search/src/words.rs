//! A text as the words it is found by.
//!
//! Code and prose stand side by side in a session, in Chinese and in English. So a name is
//! found whole and by its parts: `src/tools/check.rs` is that, `check.rs`, `src`, `tools`,
//! `check` and `rs`; `parseHttpHeader` is that, `parse`, `http` and `header`. Of a long hash
//! the beginnings that people quote are words, too. What is written without blanks (Chinese,
//! Japanese, Korean) is found by each two characters that stand side by side, and by each one.

use std::ops::Range;

/// What is longer is no word that anybody looks for, but packed data.
const LONGEST: usize = 128;

/// From how many hexadecimal digits on a word is a hash.
const HASH: usize = 16;

/// How many of its digits people quote.
const QUOTED: [usize; 3] = [7, 8, 12];

/// Hands each word of `text` to `take`, in small letters, with its place in the text.
pub fn each_word(text: &str, mut take: impl FnMut(Range<usize>, &str)) {
    let mut lower = String::new();
    let mut take = |range: Range<usize>| {
        if range.is_empty() || range.len() > LONGEST {
            return;
        }
        lower.clear();
        for c in text[range.clone()].chars() {
            lower.extend(narrow(c).to_lowercase());
        }
        take(range, &lower);
    };
    let mut chars = text.char_indices().peekable();
    while let Some(&(start, first)) = chars.peek() {
        let class = Class::of(first);
        let mut end = start;
        let mut previous = None;
        while let Some(&(at, c)) = chars.peek() {
            let is_on = match class {
                Class::Unspaced => Class::of(c) == Class::Unspaced,
                Class::Letter => match Class::of(c) {
                    Class::Letter => true,
                    // One joint between two letters; a second one ends the name.
                    Class::Joint => previous != Some(Class::Joint),
                    Class::Unspaced | Class::Other => false,
                },
                Class::Joint | Class::Other => at == start,
            };
            if !is_on {
                break;
            }
            previous = Some(Class::of(c));
            end = at + c.len_utf8();
            chars.next();
        }
        match class {
            Class::Unspaced => unspaced(text, start..end, &mut take),
            Class::Letter => name(text, start..end, &mut take),
            Class::Joint | Class::Other => {}
        }
    }
}

/// What a character does for a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It is part of one.
    Letter,
    /// It joins two parts of a name.
    Joint,
    /// It is of a script that has no blanks between words.
    Unspaced,
    /// It stands between words.
    Other,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            '_' | '-' | '.' | '/' | '\\' | '@' | '~' | '+' => Self::Joint,
            c if is_unspaced(c) => Self::Unspaced,
            c if c.is_alphanumeric() => Self::Letter,
            _ => Self::Other,
        }
    }
}

/// Han, kana, hangul.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A letter or digit of full width as the ordinary one.
fn narrow(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => {
            char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c)
        }
        _ => c,
    }
}

/// Each character, and each two side by side.
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

/// A name: whole, by what stands between slashes, and by its parts.
fn name(text: &str, run: Range<usize>, take: &mut impl FnMut(Range<usize>)) {
    let whole = text[run.clone()].trim_end_matches(|c| Class::of(c) == Class::Joint);
    let run = run.start..run.start + whole.len();
    let mut pieces = 0;
    for piece in split(text, run.clone(), |c| {
        matches!(c, '/' | '\\' | '@' | '~' | '+')
    }) {
        pieces += 1;
        let mut atoms = 0;
        for atom in split(text, piece.clone(), |c| matches!(c, '_' | '-' | '.')) {
            atoms += 1;
            parts(text, atom, take);
        }
        if atoms > 1 {
            take(piece);
        }
    }
    if pieces > 1 {
        take(run);
    }
}

/// A word without joints: whole, by the humps of its camel case, by its beginnings.
fn parts(text: &str, atom: Range<usize>, take: &mut impl FnMut(Range<usize>)) {
    let word = &text[atom.clone()];
    take(atom.clone());
    if word.len() >= HASH && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        for length in QUOTED {
            take(atom.start..atom.start + length);
        }
        return;
    }
    let mut start = 0;
    let mut humps = Vec::new();
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    for (index, &(at, c)) in chars.iter().enumerate().skip(1) {
        let before = chars[index - 1].1;
        let next_is_small = chars.get(index + 1).is_some_and(|(_, c)| c.is_lowercase());
        let begins = c.is_uppercase() && (!before.is_uppercase() || next_is_small);
        if begins {
            humps.push(start..at);
            start = at;
        }
    }
    if start > 0 {
        humps.push(start..word.len());
        for hump in humps {
            take(atom.start + hump.start..atom.start + hump.end);
        }
    }
}

/// What stands between the characters that `is_joint` knows.
fn split(
    text: &str,
    range: Range<usize>,
    is_joint: impl Fn(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let start = range.start;
    let mut from = 0;
    let text = &text[range];
    let mut ends = text
        .char_indices()
        .filter(move |(_, c)| is_joint(*c))
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect::<Vec<_>>()
        .into_iter();
    std::iter::from_fn(move || {
        loop {
            let end = ends.next()?;
            let piece = from..end;
            // Every joint is one byte long.
            from = end + 1;
            if !piece.is_empty() {
                return Some(start + piece.start..start + piece.end);
            }
        }
    })
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

    /// 16: identifiers and paths are found whole and by their parts.
    #[test]
    fn names_are_whole_and_in_parts() {
        assert_eq!(
            words("src/tools/check.rs:12"),
            [
                "src",
                "tools",
                "check",
                "rs",
                "check.rs",
                "src/tools/check.rs",
                "12"
            ]
        );
        assert_eq!(
            words("parseHTTPHeader"),
            ["parsehttpheader", "parse", "http", "header"]
        );
        assert_eq!(words("MAX_LINE_2."), ["max", "line", "2", "max_line_2"]);
        assert_eq!(words("a--b"), ["a", "b"]);
        assert_eq!(words("It's 3.14, ok"), ["it", "s", "3", "14", "3.14", "ok"]);
    }

    /// 16: hashes are found whole and by the digits that people quote.
    #[test]
    fn a_hash_is_found_by_its_beginning() {
        assert_eq!(
            words("0a1b2c3d4e5f60718293"),
            [
                "0a1b2c3d4e5f60718293",
                "0a1b2c3",
                "0a1b2c3d",
                "0a1b2c3d4e5f"
            ]
        );
    }

    /// 16: Chinese is found by each two characters, English beside it as words.
    #[test]
    fn chinese_is_found_by_pairs() {
        assert_eq!(
            words("数据库用SQLite。"),
            [
                "数", "数据", "据", "据库", "库", "库用", "用", "sqlite", "sq", "lite"
            ]
        );
        assert_eq!(words("ＡＢ１"), ["ab1"]);
    }

    #[test]
    fn packed_data_is_no_word() {
        assert!(words(&"x".repeat(129)).is_empty());
        assert_eq!(words(&"x".repeat(128)).len(), 1);
    }

    proptest! {
        /// Whatever the text: a word is what stands at its place.
        #[test]
        fn places_are_within_the_text(text in "\\PC{0,40}") {
            each_word(&text, |range, word| {
                assert!(text.get(range).is_some(), "{word}");
                assert!(!word.is_empty());
            });
        }
    }
}
