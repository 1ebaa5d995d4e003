//! Text on one line, its limit, and when two texts are the same.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder, bytes};

/// A pattern of this program's own.
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// The same, with the classes of ASCII, for what every session needs: one class with other
/// characters takes a third of a megabyte to compile, and a tenth of the whole start.
pub(crate) fn ascii_regex(pattern: &str) -> Regex {
    let regex = RegexBuilder::new(pattern).unicode(false).build();
    regex.expect("a constant pattern")
}

/// The same for bytes: any of them is one that is not in a class.
pub(crate) fn bytes_regex(pattern: &str) -> bytes::Regex {
    let regex = bytes::RegexBuilder::new(pattern).unicode(false).build();
    regex.expect("a constant pattern")
}

/// One line: runs of white space become one blank.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `count` characters.
pub fn first_chars(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count);
    end.map_or(text, |(end, _)| &text[..end])
}

/// The last `count` characters.
pub fn last_chars(text: &str, count: usize) -> &str {
    let Some(nth) = count.checked_sub(1) else {
        return "";
    };
    let start = text.char_indices().nth_back(nth);
    start.map_or(text, |(start, _)| &text[start..])
}

/// Longest quote, in characters. A sentence is judged and quoted up to here;
/// what is cut off is marked by `…`.
pub const QUOTE_MAX: usize = 300;

/// Characters of the longest text that is read whole. Longer ones fit no window: they are pasted
/// files, and an item for each of their lines would take a hundred times their memory.
const MOST_READ: usize = 1 << 19;

/// A text, or the first and the last lines of one that is too long to be read whole.
pub fn ends(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= MOST_READ {
        return text;
    }
    let first = first_chars(&text, MOST_READ / 2);
    let last = last_chars(&text[first.len()..], MOST_READ / 2);
    // Half a line may say the opposite of the whole.
    let first = first.rfind('\n').map_or(first, |end| &first[..=end]);
    let last = last.find('\n').map_or(last, |start| &last[start + 1..]);
    Cow::Owned([first, last].concat())
}

/// As [`one_line`], and control characters are white space, too.
pub fn plain_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// At most `most` characters; the last one is `…` where something was cut off.
pub fn cut(mut text: String, most: usize) -> String {
    if text.char_indices().nth(most).is_some() {
        text.truncate(first_chars(&text, most.saturating_sub(1)).len());
        text.push('…');
    }
    text
}

/// What two texts must share to be the same entry: words, not their case, the
/// blanks between them, emphasis around them or the stop at the end.
pub fn key(text: &str) -> String {
    const FRAME: [char; 4] = ['*', '_', '~', ' '];
    const STOPS: [char; 14] = [
        '.', '。', '!', '！', ';', '；', ',', '，', ':', '：', '…', '?', '？', ' ',
    ];
    let line = plain_line(text).to_ascii_lowercase();
    let mut rest = line.as_str();
    loop {
        let shorter = rest.trim_matches(FRAME).trim_end_matches(STOPS);
        if shorter.len() == rest.len() {
            return rest.to_owned();
        }
        rest = shorter;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MOST_READ, cut, ends, first_chars, key, last_chars, one_line, plain_line};

    #[test]
    fn a_text_that_is_too_long_keeps_its_first_and_its_last_lines() {
        let whole = "甲".repeat(MOST_READ / 3);
        assert_eq!(ends(whole.as_str().into()), whole);
        let long = format!("first\n{}last", "middle of it\n".repeat(MOST_READ / 12));
        let read = ends(long.as_str().into());
        assert!(read.len() < MOST_READ && read.len() > MOST_READ - 40);
        assert!(read.starts_with("first\nmiddle") && read.ends_with("of it\nlast"));
        let lines = ["first", "middle of it", "last"];
        assert!(read.lines().all(|line| lines.contains(&line)));
        let line = "甲".repeat(MOST_READ);
        assert_eq!(ends(line.as_str().into()).len(), 3 * MOST_READ);
        let longer = "甲".repeat(MOST_READ + 9);
        assert_eq!(ends(longer.as_str().into()).len(), 3 * MOST_READ);
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(first_chars("决定了", 2), "决定");
        assert_eq!(first_chars("决定", 5), "决定");
        assert_eq!(last_chars("决定了", 2), "定了");
        assert_eq!(last_chars("决定", 5), "决定");
        assert_eq!(last_chars("决定", 0), "");
    }

    #[test]
    fn white_space_becomes_one_blank() {
        assert_eq!(one_line(" a\n\n b\t\u{3000}c "), "a b c");
    }

    #[test]
    fn plain_line_has_single_blanks_and_no_controls() {
        assert_eq!(plain_line(" a\r\n\tb \u{1b}[1m c "), "a b [1m c");
        assert_eq!(plain_line(" \n"), "");
    }

    #[test]
    fn a_cut_falls_between_characters() {
        assert_eq!(cut("决定用它".to_owned(), 4), "决定用它");
        assert_eq!(cut("决定用它".to_owned(), 3), "决定…");
        assert_eq!(cut("ab".to_owned(), 1), "…");
        assert_eq!(cut(String::new(), 1), "");
    }

    #[test]
    fn the_key_forgets_case_blanks_emphasis_and_stops() {
        for other in [
            "use  SQLite.",
            "**Use SQLite**",
            "~~use sqlite~~",
            "USE SQLITE !",
            "Use\nSQLite…",
        ] {
            assert_eq!(key(other), key("Use SQLite"), "{other}");
        }
        assert_ne!(key("Use SQLite 3"), key("Use SQLite"));
        assert_ne!(key("不决定"), key("决定"));
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key(text in "\\PC{0,40}") {
            prop_assert_eq!(key(&key(&text)), key(&text));
        }

        #[test]
        fn a_cut_keeps_the_limit(text in "\\PC{0,40}", most in 1_usize..20) {
            prop_assert!(cut(text.clone(), most).chars().count() <= most);
        }
    }
}
