//! The pieces of what a tool printed: lines, as they are or cut; but a comment is one piece,
//! and prose is cut at the ends of its sentences.

use std::borrow::Cow;
use std::ops::Range;

use crate::kind::Kind;
use crate::outcome::{gives_reason, is_frame, is_outcome, names_something, without_place};
use crate::prose::is_prose;
use crate::record::{Piece, records};
use crate::segment::{numbered, segments};
use crate::sentence::ends;

/// A comment of more bytes is several pieces, and so is a longer sentence.
const LONGEST: usize = 480;
/// A shorter line is a piece, whatever it says.
const SHORT: usize = 120;

/// The pieces of a text, in order, each with what it is.
pub(crate) fn pieces(text: &str) -> Vec<(Kind, Cow<'_, str>)> {
    if let Some(found) = records(text) {
        return found.into_iter().flat_map(of_record).collect();
    }
    let mut cutter = Cutter::default();
    for line in text.lines() {
        if let Some(found) = records(line) {
            cutter.end_comment();
            cutter.found.extend(found.into_iter().flat_map(of_record));
        } else {
            cutter.line(line);
        }
    }
    cutter.end_comment();
    cutter.found
}

fn of_record<'t>(piece: Piece) -> Vec<(Kind, Cow<'t, str>)> {
    match piece {
        Piece::Members(line, true) => vec![(Kind::Record, line.into())],
        Piece::Members(line, false) => vec![(Kind::Line, line.into())],
        Piece::Text(text) => {
            let pieces = pieces(&text).into_iter();
            let owned = pieces.map(|(kind, piece)| (kind, piece.into_owned().into()));
            owned.collect()
        }
    }
}

#[derive(Default)]
struct Cutter<'t> {
    found: Vec<(Kind, Cow<'t, str>)>,
    /// Lines of a comment.
    comment: Cow<'t, str>,
    /// The piece that has the last place in a traceback: where it went wrong.
    frame: Option<usize>,
}

impl<'t> Cutter<'t> {
    fn line(&mut self, line: &'t str) {
        let (number, code) = numbered(line.trim());
        if is_tag(code) {
            self.end_comment();
            return;
        }
        if is_comment(code) {
            self.add_comment(code);
            return;
        }
        if defines(without_place(code)) {
            self.end_comment();
            self.definition(number, code);
            return;
        }
        self.end_comment();
        if is_frame(code) {
            self.frame = Some(self.found.len());
            self.cut(code, Kind::Line);
        } else if is_outcome(code) {
            if let Some(frame) = self.frame.take() {
                self.found[frame].0 = Kind::Outcome;
            }
            self.cut(code, Kind::Outcome);
        } else if code.len() > SHORT && is_prose(code) {
            for sentence in ends(code) {
                self.sentence(code, sentence);
            }
        } else {
            self.cut(code, Kind::Line);
        }
    }

    fn add_comment(&mut self, line: &'t str) {
        if self.comment.len() + line.len() > LONGEST {
            self.end_comment();
        }
        if line.len() > LONGEST {
            self.cut(line, Kind::Line);
        } else if self.comment.is_empty() {
            self.comment = line.into();
        } else {
            let comment = self.comment.to_mut();
            comment.push('\n');
            comment.push_str(line);
        }
    }

    fn end_comment(&mut self) {
        let comment = std::mem::take(&mut self.comment);
        if !comment.is_empty() {
            self.found.push((kind_of(&comment), comment));
        }
    }

    /// Where it stands says where to look.
    fn definition(&mut self, number: &str, code: &'t str) {
        if code.len() > LONGEST {
            self.cut(code, Kind::Line);
        } else if number.is_empty() {
            self.found.push((Kind::Name, code.into()));
        } else {
            self.found
                .push((Kind::Name, format!("{number}→{code}").into()));
        }
    }

    fn sentence(&mut self, text: &'t str, sentence: Range<usize>) {
        let sentence = text[sentence].trim();
        if sentence.len() > LONGEST {
            self.cut(sentence, Kind::Line);
        } else if sentence.contains(char::is_alphanumeric) {
            self.found.push((kind_of(sentence), sentence.into()));
        }
    }

    fn cut(&mut self, line: &'t str, kind: Kind) {
        for piece in segments(line) {
            self.found.push((kind, line[piece].into()));
        }
    }
}

/// What a comment or a sentence is.
fn kind_of(text: &str) -> Kind {
    let is_text = is_prose(text) || text.contains(|c| c >= '\u{2e80}');
    if is_text && gives_reason(text) {
        Kind::Reason
    } else {
        Kind::Line
    }
}

/// Whether a line is a bare tag, `</task_list>`: it says nothing by itself.
fn is_tag(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.is_some_and(|name| name.strip_prefix('/').unwrap_or(name).bytes().all(is_name))
}

/// Whether a line is a comment that people read.
fn is_comment(line: &str) -> bool {
    let begins = ["// ", "/// ", "//! ", "# ", "* ", "-- "];
    let words = begins.iter().find_map(|begin| line.strip_prefix(begin));
    words.is_some_and(|words| {
        words
            .split(' ')
            .filter(|word| is_word(word))
            .take(2)
            .count()
            == 2
    })
}

fn is_word(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
        || text.contains(|c| c >= '\u{2e80}')
}

/// Whether a line of a file defines something; what begins with `#` may be a comment.
fn defines(line: &str) -> bool {
    !line.starts_with('#') && names_something(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::pieces;
    use crate::kind::Kind;

    fn found(text: &str) -> Vec<(Kind, String)> {
        let found = pieces(text).into_iter();
        found
            .map(|(kind, text)| (kind, text.into_owned()))
            .collect()
    }

    fn of(kind: Kind, text: &str) -> (Kind, String) {
        (kind, text.to_owned())
    }

    #[test]
    fn a_comment_is_one_piece_and_a_definition_says_where_it_stands() {
        let listing = "  11→// Saves the index in a\n  12→// file of its own.\n  13→fn save() {\n  14→\n  15→    let a = b(c);\n";
        assert_eq!(
            found(listing),
            [
                of(Kind::Line, "// Saves the index in a\n// file of its own."),
                of(Kind::Name, "13→fn save() {"),
                of(Kind::Line, "let a = b(c);"),
            ]
        );
        assert_eq!(
            found("# reads the whole file\nopen(path)"),
            [
                of(Kind::Line, "# reads the whole file"),
                of(Kind::Line, "open(path)")
            ]
        );
        // For programs.
        assert_eq!(
            found("//go:build unix"),
            [of(Kind::Line, "//go:build unix")]
        );
    }

    #[test]
    fn a_search_shows_where_things_are_defined() {
        assert_eq!(
            found("src/a.rs:12:fn a() {"),
            [of(Kind::Name, "src/a.rs:12:fn a() {")]
        );
        assert_eq!(
            found("src/a.rs:12:    a();"),
            [of(Kind::Line, "src/a.rs:12:    a();")]
        );
    }

    #[test]
    fn prose_is_cut_where_sentences_end() {
        let text = "The delay lets the agent settle before the difference is computed, since it may write more. Then it is read by another one.";
        assert_eq!(
            found(text),
            [
                of(
                    Kind::Reason,
                    "The delay lets the agent settle before the difference is computed, since it may write more."
                ),
                of(Kind::Line, "Then it is read by another one."),
            ]
        );
        let rows = "{\"id\":1,\"name\":\"one\"}, ".repeat(10);
        assert!(found(&rows).len() > 1);
    }

    #[test]
    fn of_a_traceback_the_last_place_is_an_outcome() {
        let text = "Traceback (most recent call last):\n  File \"/a/b.py\", line 7, in run\n    go()\n  File \"/a/c.py\", line 9, in go\n    x()\nKeyError: 'k'";
        let outcomes = found(text).into_iter();
        let outcomes = outcomes.filter(|(kind, _)| *kind == Kind::Outcome);
        assert_eq!(
            outcomes.map(|(_, text)| text).collect::<Vec<_>>(),
            [
                "Traceback (most recent call last):",
                "File \"/a/c.py\", line 9, in go",
                "KeyError: 'k'"
            ]
        );
    }

    #[test]
    fn json_is_told_by_its_members() {
        assert_eq!(
            found("2 rows\n{\"order\": \"W8123\", \"note\": \"one\\nthree\"}"),
            [
                of(Kind::Line, "2 rows"),
                of(Kind::Record, "order W8123"),
                of(Kind::Line, "W8123 note: one"),
                of(Kind::Line, "three"),
            ]
        );
    }

    #[test]
    fn a_bare_tag_is_nothing_and_one_with_words_is() {
        assert_eq!(
            found("<task_list>\n<b>one_two</b>\n</task_list>"),
            [of(Kind::Line, "<b>one_two</b>")]
        );
    }

    #[test]
    fn outcomes_are_known() {
        assert_eq!(
            found("3 passed in 2 s"),
            [of(Kind::Outcome, "3 passed in 2 s")]
        );
    }

    proptest! {
        #[test]
        fn nothing_is_invented_and_nothing_is_long(text in "(// |\\PC|\\n|fn |12→|\\. |word ){0,200}") {
            for (_, piece) in pieces(&text) {
                prop_assert!(piece.len() <= super::LONGEST + 16);
                prop_assert!(piece.split(['\n', ' ', '→']).all(|word| text.contains(word)));
            }
        }
    }
}
