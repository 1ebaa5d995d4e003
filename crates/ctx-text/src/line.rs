//! Functions that put text on one line, shorten it, and compute the key that identifies equal
//! entries.

use std::borrow::Cow;

/// Returns the text without leading and trailing white space. Does the same as [`str::trim`], but
/// avoids decoding characters if the text begins and ends with ASCII.
pub fn trim(text: &str) -> &str {
    let bare = text.trim_ascii();
    let is_plain = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_graphic);
    let bytes = bare.as_bytes();
    if is_plain(bytes.first()) && is_plain(bytes.last()) { bare } else { bare.trim() }
}

/// Replaces each run of white space with a single space. Control characters are kept, so that the
/// line can be found in text whose white space was replaced in the same way.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Makes a line that can be shown to people: each run of white space, control characters and
/// invisible characters becomes a single space.
pub fn plain_line(text: &str) -> String {
    let text = trim(text);
    if is_plain_line(text) {
        return text.to_owned();
    }
    let words = text.split(|c: char| c.is_whitespace() || c.is_control() || is_invisible(c));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Returns true for characters that show nothing themselves, but reverse, hide or break the text
/// around them: marks of direction, characters without width, line separators and tags. The joiners
/// U+200C and U+200D do not count, because Persian words and many emoji contain them.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{feff}')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true if the trimmed text is already a line of printable ASCII with single spaces. Most
/// texts pass this check. The check does not branch on each byte, so the compiler can compare
/// several bytes at once.
fn is_plain_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_shown = bytes.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    is_shown && pairs.fold(0, |any, pair| any | u8::from(pair == (&b' ', &b' '))) == 0
}

/// Applies `edit` to the text. If `edit` leaves a borrowed text unchanged, the text is not copied.
pub fn edited<'t>(
    text: Cow<'t, str>,
    edit: impl for<'e> FnOnce(&'e str) -> Cow<'e, str>,
) -> Cow<'t, str> {
    match text {
        Cow::Borrowed(text) => edit(text),
        Cow::Owned(text) => edit(&text).into_owned().into(),
    }
}

/// Returns the first `count` characters.
pub fn first_chars(text: &str, count: usize) -> &str {
    // Counting is rarely necessary: a character has at least one byte, and an ASCII character has
    // exactly one.
    if text.len() <= count {
        return text;
    }
    if let Some(start) = text.get(..count).filter(|start| start.is_ascii()) {
        return start;
    }
    let end = text.char_indices().nth(count);
    end.map_or(text, |(end, _)| &text[..end])
}

/// Returns the first `most` bytes, without a character that would be cut in two.
pub fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Returns the last `count` characters.
pub fn last_chars(text: &str, count: usize) -> &str {
    let Some(nth) = count.checked_sub(1) else { return "" };
    let start = text.char_indices().nth_back(nth);
    start.map_or(text, |(start, _)| &text[start..])
}

/// Cuts the text to `most` characters, the last of which is `…` if the text was longer.
pub fn shorten(mut text: String, most: usize) -> String {
    if first_chars(&text, most).len() < text.len() {
        text.truncate(first_chars(&text, most.saturating_sub(1)).len());
        text.push('…');
    }
    text
}

/// Cuts the text like [`shorten`], but at the end of a word, so that no name is cut.
pub fn shorten_words(text: &str, most: usize) -> String {
    if first_chars(text, most).len() == text.len() {
        return text.to_owned();
    }
    let head = first_chars(text, most.saturating_sub(2));
    let end = head.rfind(char::is_whitespace).unwrap_or(0);
    format!("{} …", head[..end].trim_end())
}

/// Uses bisection to find how much of something fits within a limit. Returns two adjacent numbers
/// between 0 and `all`: the first is within the limit, and the second is above it. `all` must be
/// above the limit, and 0 must be within it.
pub fn bisected(all: usize, mut is_above: impl FnMut(usize) -> bool) -> (usize, usize) {
    let (mut below, mut above) = (0, all);
    while above - below > 1 {
        let middle = usize::midpoint(below, above);
        if is_above(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
    (below, above)
}

/// The maximum length in bytes of text that is read whole. Longer texts are usually pasted files.
/// Items for every line in a pasted file would take up a hundred times as much memory as the file.
const READ_WHOLE: usize = 1 << 19;

/// Returns the text, or its first and last lines if it is too long to be read whole.
pub fn head_and_tail(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= READ_WHOLE {
        return text;
    }
    let head = first_chars(&text, READ_WHOLE / 2);
    let tail = last_chars(&text[head.len()..], READ_WHOLE / 2);
    // Cut at line ends, because half a line may say the opposite of the whole line.
    let head = head.rfind('\n').map_or(head, |end| &head[..=end]);
    let tail = tail.find('\n').map_or(tail, |start| &tail[start + 1..]);
    Cow::Owned([head, tail].concat())
}

/// Returns the key by which texts are recognized as the same entry: the text in lower case, with
/// single spaces, and without emphasis around it or punctuation at its end.
pub fn comparison_key(text: &str) -> String {
    const EMPHASIS: [char; 4] = ['*', '_', '~', ' '];
    const STOPS: [char; 14] =
        ['.', '。', '!', '！', ';', '；', ',', '，', ':', '：', '…', '?', '？', ' '];
    let line = plain_line(text).to_ascii_lowercase();
    let mut rest = line.as_str();
    loop {
        let shorter = rest.trim_matches(EMPHASIS).trim_end_matches(STOPS);
        if shorter.len() == rest.len() {
            return rest.to_owned();
        }
        rest = shorter;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        READ_WHOLE, comparison_key, first_chars, head_and_tail, last_chars, one_line, plain_line,
        shorten, trim,
    };

    #[test]
    fn a_text_that_is_too_long_keeps_its_first_and_its_last_lines() {
        let whole = "甲".repeat(READ_WHOLE / 3);
        assert_eq!(head_and_tail(whole.as_str().into()), whole);
        let long = format!("first\n{}last", "middle of it\n".repeat(READ_WHOLE / 12));
        let read = head_and_tail(long.as_str().into());
        assert!(read.len() < READ_WHOLE && read.len() > READ_WHOLE - 40);
        assert!(read.starts_with("first\nmiddle") && read.ends_with("of it\nlast"));
        let lines = ["first", "middle of it", "last"];
        assert!(read.lines().all(|line| lines.contains(&line)));
        for count in [READ_WHOLE, READ_WHOLE + 9] {
            let line = "甲".repeat(count);
            assert_eq!(head_and_tail(line.as_str().into()).len(), 3 * READ_WHOLE);
        }
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
    fn lines_have_single_blanks() {
        assert_eq!(one_line(" a\n\n b\t\u{3000}c "), "a b c");
        assert_eq!(one_line("a\u{1b}[1m"), "a\u{1b}[1m");
        assert_eq!(plain_line(" a\r\n\tb \u{1b}[1m c "), "a b [1m c");
        assert_eq!(plain_line("a\u{202e}b \u{200b}\u{e0041}c می‌خواهم"), "a b c می‌خواهم");
        assert_eq!(plain_line(" \n"), "");
        for text in ["", " ", " a ", "\u{3000}a \t", "\u{b} a\u{85}", "\u{1c}a", "é\n", "\u{a0}"] {
            assert_eq!(trim(text), text.trim());
        }
        for (text, line) in [("a b", "a b"), (" a", "a"), ("a ", "a"), ("a  b", "a b"), ("", "")] {
            assert_eq!(plain_line(text), line);
        }
    }

    #[test]
    fn a_cut_falls_between_characters() {
        for (text, most, short) in
            [("决定用它", 4, "决定用它"), ("决定用它", 3, "决定…"), ("ab", 1, "…"), ("", 1, "")]
        {
            assert_eq!(shorten(text.to_owned(), most), short);
        }
    }

    #[test]
    fn the_key_ignores_case_blanks_emphasis_and_stops() {
        for other in
            ["use  SQLite.", "**Use SQLite**", "~~use sqlite~~", "USE SQLITE !", "Use\nSQLite…"]
        {
            assert_eq!(comparison_key(other), comparison_key("Use SQLite"), "{other}");
        }
        assert_ne!(comparison_key("Use SQLite 3"), comparison_key("Use SQLite"));
        assert_ne!(comparison_key("不决定"), comparison_key("决定"));
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key(text in "\\PC{0,40}") {
            let key = comparison_key(&text);
            prop_assert_eq!(comparison_key(&key), key);
        }

        #[test]
        fn a_cut_keeps_the_limit(text in "\\PC{0,40}", most in 1_usize..20) {
            prop_assert!(shorten(text.clone(), most).chars().count() <= most);
        }
    }
}
