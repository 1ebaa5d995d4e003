//! Splits messages into segments: pieces that a summary can quote. Text is split into lines, and a
//! long line is split at the end of a sentence, a JSON member or a word.

use std::ops::Range;

use ctx_text::trim;

use crate::ledger::RuleKind;

/// The kind of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// A heading.
    Heading,
    /// A sentence that ends with a colon and introduces the text after it.
    Lead,
    /// A sentence.
    Sentence,
    /// A list item or a table row.
    Item,
    /// Text that its writer quotes, such as code or a log.
    Quoted,
    /// A tool call that changes a file.
    Change,
    /// A tool call that runs a command.
    Command,
    /// Any other tool call.
    Call,
    /// A line of a long argument that names a function, a type, a heading or the like.
    Name,
    /// A line that says how something ended, such as passed tests, an error or a commit.
    Outcome,
    /// A comment or a sentence in a result that gives a reason.
    Reason,
    /// A demand in a file with rules for a project, such as `AGENTS.md`, or in the template of a
    /// command.
    ProjectRule,
    /// Members of a JSON object in a result, with the name of the object.
    Record,
    /// Any other line in an argument or a result.
    Line,
}

impl SegmentKind {
    /// Returns true if the segment is a whole statement, which can be a rule.
    pub fn is_statement(self) -> bool {
        matches!(self, Self::Sentence | Self::Item)
    }

    /// Returns true if the segment is prose by a person or the model.
    pub fn is_said(self) -> bool {
        matches!(self, Self::Heading | Self::Lead | Self::Sentence | Self::Item)
    }
}

/// Where text comes from, and who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user.
    User,
    /// Another writer, whose text the user pasted.
    Pasted,
    /// The model, in its replies.
    Said,
    /// The model, in an argument of a tool call.
    Call,
    /// A tool, in a result.
    Result,
    /// The model, in a summary of earlier messages.
    Earlier,
}

/// A set of origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins(u8);

impl Origins {
    pub(crate) fn add(&mut self, origin: Origin) {
        self.0 |= 1 << origin as u8;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn has(self, origin: Origin) -> bool {
        self.0 & 1 << origin as u8 != 0
    }
}

/// A piece of a message.
#[derive(Debug)]
pub struct Segment {
    /// The line number of the segment's message in the session.
    pub line: u64,
    /// The author of the segment.
    pub origin: Origin,
    /// The kind of the segment.
    pub kind: SegmentKind,
    /// The index of the segment to which this segment belongs: its heading, its introduction or,
    /// for a result, its call.
    pub head: Option<usize>,
    /// For a call, what came of it.
    pub outcome: Option<Box<str>>,
    /// True if a summary need not quote the segment, because its content is in a kept message or in
    /// the items.
    pub is_covered: bool,
    /// True if the segment was quoted by an earlier summary.
    pub is_earlier: bool,
    /// The number of requests that the user has made up to this segment.
    pub turn: u32,
    /// What kind of rule the segment is, if the user means it to hold.
    pub rule: Option<RuleKind>,
    pub(crate) text: Range<usize>,
    pub(crate) marks: Range<usize>,
}

/// The maximum width of a segment, in columns. A Chinese character is two columns wide. Only a name
/// may be wider than the maximum.
const WIDEST: usize = 120;
/// The minimum length of a segment, in bytes. Shorter pieces contain no information.
const SHORTEST: usize = 4;

/// Calls `found` for each segment of `text` in order. Surrounding blanks are removed.
pub(crate) fn segments<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    for line in text.split('\n') {
        segments_of_line(line, &mut found);
    }
}

/// Calls `found` for each segment of a single line.
pub(crate) fn segments_of_line<'t>(line: &'t str, mut found: impl FnMut(&'t str)) {
    let (_, mut rest) = numbered(trim(line));
    while rest.len() >= SHORTEST {
        let (first, after) = rest.split_at(end_of_first(rest));
        let piece = trim(first);
        if piece.len() >= SHORTEST {
            found(piece);
        }
        rest = trim(after);
    }
}

/// Returns true for a line of a drawing, such as `│ • second`. Rows of tables and of trees of files
/// are not drawings.
pub(crate) fn is_drawing(line: &str) -> bool {
    let is_drawn = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    line.starts_with(is_drawn) && !line.ends_with(is_drawn) && !line.contains("──")
}

/// Splits a listing line, such as `12→code`, into its number and the code. Line numbers are usually
/// not worth their tokens.
pub(crate) fn numbered(line: &str) -> (&str, &str) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    // Most lines are not part of a listing.
    let after = if digits > 0 { line[digits..].strip_prefix('→') } else { None };
    after.map_or(("", line), |code| (&line[..digits], code.trim_start()))
}

/// The kinds of positions at which a line can be split, from worst to best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    Anywhere,
    /// The position is not inside a name, a number or a word.
    Word,
    /// The position is at a space.
    Blank,
    /// The position is after a comma or a bracket, which ends a JSON member or a clause.
    Member,
    /// The position is after the end of a sentence.
    Sentence,
}

/// Returns the end of the first segment of a line. The line is split at the best position beyond a
/// third of the maximum width. If several positions are equally good, the last one is used.
fn end_of_first(line: &str) -> usize {
    // No character takes up more columns than bytes.
    if line.len() <= WIDEST {
        return line.len();
    }
    let mut width = 0;
    let mut best: Option<(Cut, usize)> = None;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        width += if c.is_ascii() { 1 } else { 2 };
        if width > WIDEST {
            // Split a path only if it exceeds three times the maximum width.
            let inside_name = matches!(best, None | Some((Cut::Anywhere, _)));
            if !inside_name || width > WIDEST * 3 {
                return best.map_or(at.max(1), |(_, end)| end);
            }
        }
        if width < WIDEST / 3 {
            continue;
        }
        let kind = cut_kind(c, chars.peek().map(|(_, c)| *c));
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
    use proptest::prelude::*;

    use super::{WIDEST, is_drawing, segments};

    fn texts(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        segments(text, |segment| found.push(segment));
        found
    }

    #[test]
    fn a_row_of_a_table_or_a_tree_is_no_drawing() {
        assert!(is_drawing("│  │ • second") && is_drawing("╭ - first"));
        for line in ["│ id │ name │", "├── src", "│   ├── main.rs", "a │ b", "┌───┐"]
        {
            assert!(!is_drawing(line), "{line}");
        }
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
        let prose = format!("{}. {}", "word ".repeat(15).trim(), "more ".repeat(15).trim());
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
            // Only pieces of fewer than four bytes are left out, at most one for each line or
            // split.
            let pieces = found.len() + text.lines().count();
            prop_assert!(bare(&text).len() - joined.len() <= 3 * pieces);
        }
    }
}
