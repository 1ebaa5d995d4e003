//! Segments: the pieces of a text that a summary can quote, whole lines where they
//! are short, else cut where a sentence, a JSON member or a word ends.

use std::ops::Range;

/// No segment is wider, in columns, but for a longer name; a Chinese character takes two.
const WIDEST: usize = 120;
/// Less tells nothing.
const SHORTEST: usize = 4;

/// The segments of a text, in order; ranges without blanks around them.
pub(crate) fn segments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut range = trim(text, start..start + line.len());
        range.start = range.end - numbered(&text[range.clone()]).1.len();
        cut(text, range, &mut found);
        start += line.len();
    }
    found
}

fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + (inside.len() - inside.trim_start().len());
    start..start.max(range.start + inside.trim_end().len())
}

/// Tools that show files number the lines (`12→code`): the number, which is the listing's and
/// mostly costs more than it says, and the line.
pub(crate) fn numbered(line: &str) -> (&str, &str) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line[digits..].strip_prefix('→') {
        Some(code) if digits > 0 => (&line[..digits], code.trim_start()),
        _ => ("", line),
    }
}

fn cut(text: &str, mut range: Range<usize>, found: &mut Vec<Range<usize>>) {
    while range.len() >= SHORTEST {
        let end = range.start + end_of_first(&text[range.clone()]);
        let piece = trim(text, range.start..end);
        if piece.len() >= SHORTEST {
            found.push(piece);
        }
        range = trim(text, end..range.end);
    }
}

/// How good a place is to cut behind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    Anywhere,
    /// Not inside a name, a number or a word.
    Word,
    /// At a blank.
    Blank,
    /// Behind a comma, a bracket: a JSON member, a part of a sentence.
    Member,
    /// Behind the end of a sentence.
    Sentence,
}

/// Where the first segment of a line ends: at the last of the best places in the
/// second half of what may be in one.
fn end_of_first(line: &str) -> usize {
    // No character has more columns than bytes.
    if line.len() <= WIDEST {
        return line.len();
    }
    let mut width = 0;
    let mut best: Option<(Cut, usize)> = None;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        width += if c.is_ascii() { 1 } else { 2 };
        let kind = cut_kind(c, chars.peek().map(|(_, c)| *c));
        if width > WIDEST {
            // A path is whole.
            let inside_name = matches!(best, None | Some((Cut::Anywhere, _)));
            if !inside_name || width > WIDEST * 3 {
                return best.map_or(at.max(1), |(_, end)| end);
            }
        }
        if width < WIDEST / 3 {
            continue;
        }
        if best.is_none_or(|(known, _)| kind >= known) {
            best = Some((kind, at + c.len_utf8()));
        }
    }
    line.len()
}

fn cut_kind(c: char, next: Option<char>) -> Cut {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | '@');
    match (c, next) {
        ('。' | '！' | '？' | '；', _) | ('.' | '!' | '?', Some(' ')) => Cut::Sentence,
        (',' | ';' | '}' | ']' | ')', Some(' ' | '"' | '{' | '[' | '\'')) | ('，', _) => {
            Cut::Member
        }
        (' ' | '\t', _) | (_, Some(' ' | '\t')) => Cut::Blank,
        (c, Some(next)) if word(c) && word(next) => Cut::Anywhere,
        _ => Cut::Word,
    }
}

#[cfg(test)]
mod tests {
    use super::{WIDEST, segments};
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<&str> {
        segments(text)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn short_lines_are_whole() {
        assert_eq!(
            texts("  one line\r\n\n}\n12→\tlet x = 1;\n7 apples"),
            ["one line", "let x = 1;", "7 apples"]
        );
    }

    #[test]
    fn long_lines_are_cut_at_sentences_and_members() {
        let prose = format!(
            "{}. {}",
            "word ".repeat(15).trim(),
            "more ".repeat(15).trim()
        );
        assert_eq!(texts(&prose).len(), 2);
        assert!(texts(&prose)[0].ends_with("word."));
        let json = format!("{{{}}}", r#""item_id": "12345678", "#.repeat(12));
        for piece in texts(&json) {
            assert!(piece.starts_with(['"', '{', '}']), "{piece}");
        }
        assert_eq!(texts(&"决".repeat(150)).len(), 3);
    }

    #[test]
    fn a_path_is_whole_but_for_a_very_long_one() {
        let path = format!("/{}a.rs", "work/".repeat(WIDEST / 5));
        assert_eq!(texts(&format!("{path} and words")), [&*path, "and words"]);
        let long = "/work".repeat(WIDEST);
        assert_eq!(texts(&long)[0].len(), WIDEST * 3);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_wide(text in "[a-z0-9_\",.: {}决。\n]{0,400}") {
            let found = texts(&text);
            for piece in &found {
                let width: usize = piece.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
                prop_assert!(width <= WIDEST);
            }
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            let joined: String = found.iter().map(|piece| bare(piece)).collect();
            // Only shreds of fewer than four bytes are left out, one to a line or a cut.
            let pieces = found.len() + text.lines().count();
            prop_assert!(bare(&text).len() - joined.len() <= 3 * pieces);
        }
    }
}
