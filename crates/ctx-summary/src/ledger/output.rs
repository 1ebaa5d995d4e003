//! Splits tool output into pieces: lines, sentences and whole comments. The form of a piece shows
//! whether it is an outcome, a reason or a name. The rules cover the output of compilers, test
//! runners and git.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use ctx_text::{Matcher, Phrases, WordSet, is_prose, trim};

use crate::ledger::identifier::{DIGIT, LETTER, class_at, run};
use crate::ledger::json::{Piece, records};
use crate::ledger::segment::{numbered, segments_of_line};
use crate::ledger::{LISTS, SegmentKind, ends};

/// The maximum length of a comment or a sentence, in bytes. A longer comment or sentence is split
/// into pieces.
const LONGEST: usize = 480;
/// The maximum length, in bytes, of a line that is not split into sentences.
const SHORT: usize = 120;

/// The beginnings of lines that Codex and the Gemini CLI add to the output of a command, and that
/// say nothing about the work.
const ADDED: [&str; 3] = ["Chunk ID: ", "Original token count: ", "Process Group PGID: "];

/// Returns the pieces of a tool's output in order, with their kinds. Unless `with_kinds` is set,
/// most outcomes have the kind [`SegmentKind::Line`].
pub(crate) fn pieces(text: &str, with_kinds: bool) -> Vec<(SegmentKind, Cow<'_, str>)> {
    let of_record = |piece| of_record(piece, with_kinds);
    if let Some(found) = records(text) {
        return found.into_iter().flat_map(of_record).collect();
    }
    let mut cutter = Cutter { with_kinds, ..Cutter::default() };
    let mut start = 0;
    // Searching for line breaks in this way is faster than `str::lines`. Lines are trimmed, and
    // empty lines are ignored.
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        let line = &text[start..end];
        start = end + 1;
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

fn of_record<'t>(piece: Piece, with_kinds: bool) -> Vec<(SegmentKind, Cow<'t, str>)> {
    match piece {
        Piece::Members(line, true) => vec![(SegmentKind::Record, line.into())],
        Piece::Members(line, false) => vec![(SegmentKind::Line, line.into())],
        Piece::Text(text) => {
            let pieces = pieces(&text, with_kinds).into_iter();
            pieces.map(|(kind, piece)| (kind, piece.into_owned().into())).collect()
        }
    }
}

#[derive(Default)]
struct Cutter<'t> {
    with_kinds: bool,
    found: Vec<(SegmentKind, Cow<'t, str>)>,
    /// The lines of the current comment.
    comment: Cow<'t, str>,
    /// The index of the piece with the last traceback frame, which shows where the error was
    /// raised.
    frame: Option<usize>,
}

impl<'t> Cutter<'t> {
    fn line(&mut self, line: &'t str) {
        if ADDED.iter().any(|begin| line.starts_with(begin)) || is_noise(line) {
            return;
        }
        let (number, code) = numbered(trim(line));
        if is_comment(code) {
            self.add_comment(code);
            return;
        }
        self.end_comment();
        if is_tag(code) {
            return;
        }
        let line = without_place(code);
        // A line that begins with `#` counts as a comment.
        if !line.starts_with('#') && names_something(line) {
            self.definition(number, code);
        } else if is_frame(code) {
            self.frame = Some(self.found.len());
            self.cut(code, SegmentKind::Line);
        } else if (self.with_kinds || is_long_prose(code)) && is_outcome(code) {
            if let Some(frame) = self.frame.take() {
                self.found[frame].0 = SegmentKind::Outcome;
            }
            self.cut(code, SegmentKind::Outcome);
        } else if is_long_prose(code) {
            for sentence in ends(code) {
                self.sentence(code, sentence);
            }
        } else {
            self.cut(code, SegmentKind::Line);
        }
    }

    fn add_comment(&mut self, line: &'t str) {
        if self.comment.len() + line.len() > LONGEST {
            self.end_comment();
        }
        if line.len() > LONGEST {
            self.cut(line, SegmentKind::Line);
        } else if self.comment.is_empty() {
            self.comment = line.into();
        } else {
            self.comment.to_mut().extend(["\n", line]);
        }
    }

    fn end_comment(&mut self) {
        let comment = std::mem::take(&mut self.comment);
        if !comment.is_empty() {
            self.found.push((kind_of(&comment), comment));
        }
    }

    /// Adds a definition with its line number, so that the reader knows where to find it.
    fn definition(&mut self, number: &str, code: &'t str) {
        if code.len() > LONGEST {
            self.cut(code, SegmentKind::Line);
        } else if number.is_empty() {
            self.found.push((SegmentKind::Name, code.into()));
        } else {
            self.found.push((SegmentKind::Name, format!("{number}→{code}").into()));
        }
    }

    fn sentence(&mut self, text: &'t str, sentence: Range<usize>) {
        let sentence = text[sentence].trim();
        if sentence.len() > LONGEST {
            self.cut(sentence, SegmentKind::Line);
        } else if sentence.contains(char::is_alphanumeric) {
            self.found.push((kind_of(sentence), sentence.into()));
        }
    }

    fn cut(&mut self, line: &'t str, kind: SegmentKind) {
        segments_of_line(line, |piece| self.found.push((kind, piece.into())));
    }
}

/// Returns true for a frame of a progress display, and for a line that stands for output that was
/// cut off.
fn is_noise(line: &str) -> bool {
    /// The beginnings of lines in which an agent program speaks to the model.
    const BEGINNINGS: [&str; 5] = [
        "Tool result (",
        "Async agent launched",
        "The agent is working in the background",
        "The agent is currently working",
        "- If you run out of things to do",
    ];
    let line = line.trim_start();
    let is_spinner = |c: char| matches!(c, '\u{25d0}'..='\u{25d3}' | '\u{2800}'..='\u{28ff}');
    line.starts_with(is_spinner)
        || line.starts_with("@@ -")
        || line.starts_with("agentId: ") && line.contains("(This is an internal ID")
        || BEGINNINGS.iter().any(|begin| line.starts_with(begin))
        || line.starts_with("... (") && line.ends_with(") ...")
        || line.contains("\u{1b}[") && line.contains("[999D")
}

fn is_long_prose(line: &str) -> bool {
    line.len() > SHORT && is_prose(line)
}

/// Returns the kind of a comment or a sentence.
fn kind_of(text: &str) -> SegmentKind {
    let is_text = || is_prose(text) || text.contains(|c| c >= '\u{2e80}');
    if gives_reason(text) && is_text() { SegmentKind::Reason } else { SegmentKind::Line }
}

/// Returns true if `line` is only a tag such as `</task_list>`, which means nothing on its own.
fn is_tag(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.is_some_and(|name| name.strip_prefix('/').unwrap_or(name).bytes().all(is_name))
}

/// Returns true if `line` is a comment that consists of prose.
fn is_comment(line: &str) -> bool {
    if !line.starts_with(['/', '#', '*', '-']) {
        return false;
    }
    let begins = ["// ", "/// ", "//! ", "# ", "* ", "-- "];
    let words = begins.iter().find_map(|begin| line.strip_prefix(begin));
    words.is_some_and(|words| words.split(' ').filter(|word| is_word(word)).take(2).count() == 2)
}

fn is_word(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
        || text.contains(|c| c >= '\u{2e80}')
}

/// Returns true if a line in a tool result says how a command, a build or a test ended.
///
/// A false match only wastes space. Whether a call failed is decided by [`super::call::error`],
/// which uses narrower patterns and looks only at the first lines.
pub(crate) fn is_outcome(line: &str) -> bool {
    static OUTCOME: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("outcome"));
    OUTCOME.is_match_if(line, may_be_outcome)
}

/// Returns true if `line` contains a word for an outcome, a position such as `a.c:3:`, or the name
/// of an error.
fn may_be_outcome(line: &str) -> bool {
    static HINTS: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("outcome, hints"));
    let name = &line[..run(line.as_bytes(), 0, LETTER)];
    line.starts_with(['[', '-'])
        || ["Error", "Exception"].iter().any(|end| name.ends_with(end))
        || line.split(':').skip(1).any(|rest| class_at(rest.as_bytes(), 0) == DIGIT)
        || HINTS.are_in(line)
}

/// Returns true if `line` is a frame in a Python traceback.
pub fn is_frame(line: &str) -> bool {
    line.starts_with("File \"") && line.contains("\", line ")
}

/// Returns true if `text` gives a reason for something, or says that something is required or
/// impossible.
pub(crate) fn gives_reason(text: &str) -> bool {
    static REASON: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("reason"));
    REASON.are_in(text)
}

/// Returns true if a line of code or Markdown contains the name of a function, a type, a test or a
/// section.
pub(crate) fn names_something(line: &str) -> bool {
    static NAME: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("name"));
    may_name(line) && NAME.is_match(line)
}

/// Returns true if `line` begins with a word that may introduce a name, such as `fn`, or may
/// precede such a word, such as `pub`.
fn may_name(line: &str) -> bool {
    static FIRST: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("name, first words"));
    line.starts_with('#') || FIRST.contains(&line[..run(line.as_bytes(), 0, LETTER)])
}

/// Removes the position from a search result or a listing line. Both `src/a.rs:12:fn a()` and `12:
/// fn a()` become `fn a()`.
pub(crate) fn without_place(line: &str) -> &str {
    let bytes = line.as_bytes();
    let in_name = |byte: &u8| *byte != b':' && !byte.is_ascii_whitespace();
    let name = bytes.iter().take_while(|byte| in_name(byte)).count();
    // The line number comes after the file name, if there is one, and a dash may also be part of
    // the file name.
    let numbers = (1..=name).rev().filter(|at| matches!(bytes.get(*at), Some(b':' | b'-')));
    let mut numbers = numbers.map(|at| at + 1).chain([0]);
    let after = |start: usize| {
        let end = start + run(bytes, start, DIGIT);
        let is_number = end > start && matches!(bytes.get(end), Some(b':' | b'-'));
        is_number.then(|| line[end + 1..].trim_ascii_start())
    };
    numbers.find_map(after).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use ctx_testkit::texts_of;
    use ctx_text::Matcher;
    use proptest::prelude::*;

    use super::{
        gives_reason, is_outcome, may_be_outcome, may_name, names_something, pieces, without_place,
    };
    use crate::ledger::LISTS;
    use crate::ledger::segment::SegmentKind;

    #[test]
    fn every_line_that_a_pattern_of_a_list_matches_has_a_hint() {
        let mut without = Vec::new();
        for list in ["exit code", "name", "outcome", "takes back"] {
            let has_hint = |text: &str| match list {
                "name" => may_name(text),
                "outcome" => may_be_outcome(text),
                _ => LISTS.phrases(&format!("{list}, hints")).occur_in(text),
            };
            for pattern in LISTS.entries(list) {
                let matcher = Matcher::new(&pattern);
                let found = texts_of(&pattern).find(|it| !has_hint(it) && matcher.is_match(it));
                without.extend(found.map(|text| (list, text)));
            }
        }
        assert!(without.is_empty(), "{without:#?}");
    }

    fn found(text: &str) -> Vec<(SegmentKind, String)> {
        let found = pieces(text, true).into_iter();
        found.map(|(kind, text)| (kind, text.into_owned())).collect()
    }

    fn of(kind: SegmentKind, text: &str) -> (SegmentKind, String) {
        (kind, text.to_owned())
    }

    #[test]
    fn a_comment_is_one_piece_and_a_definition_says_where_it_stands() {
        let listing = "  11→// Saves the index in a\n  12→// file of its own.\n  13→fn save() {\n  14→\n  15→    let a = b(c);\n";
        assert_eq!(
            found(listing),
            [
                of(SegmentKind::Line, "// Saves the index in a\n// file of its own."),
                of(SegmentKind::Name, "13→fn save() {"),
                of(SegmentKind::Line, "let a = b(c);"),
            ]
        );
        assert_eq!(
            found("# reads the whole file\nopen(path)"),
            [of(SegmentKind::Line, "# reads the whole file"), of(SegmentKind::Line, "open(path)")]
        );
        // Directives for programs do not count as comments.
        assert_eq!(found("//go:build unix"), [of(SegmentKind::Line, "//go:build unix")]);
    }

    #[test]
    fn what_an_agent_adds_to_an_output_is_not_read() {
        let head = "Chunk ID: 632f44\nOriginal token count: 9\nProcess Group PGID: 9\nOutput:\n";
        let found = found(&format!("{head}fn a() {{"));
        assert_eq!(found, [of(SegmentKind::Line, "Output:"), of(SegmentKind::Name, "fn a() {")]);
    }

    #[test]
    fn a_search_shows_where_things_are_defined() {
        assert_eq!(found("src/a.rs:12:fn a() {"), [of(SegmentKind::Name, "src/a.rs:12:fn a() {")]);
        assert_eq!(found("src/a.rs:12:    a();"), [of(SegmentKind::Line, "src/a.rs:12:    a();")]);
    }

    #[test]
    fn prose_is_cut_where_sentences_end() {
        let text = "The delay lets the agent settle before the difference is computed, since it may write more. Then it is read by another one.";
        assert_eq!(
            found(text),
            [
                of(
                    SegmentKind::Reason,
                    "The delay lets the agent settle before the difference is computed, since it may write more."
                ),
                of(SegmentKind::Line, "Then it is read by another one."),
            ]
        );
        let rows = "{\"id\":1,\"name\":\"one\"}, ".repeat(10);
        assert!(found(&rows).len() > 1);
    }

    #[test]
    fn of_a_traceback_the_last_place_is_an_outcome() {
        let text = "Traceback (most recent call last):\n  File \"/a/b.py\", line 7, in run\n    go()\n  File \"/a/c.py\", line 9, in go\n    x()\nKeyError: 'k'";
        let outcomes = found(text).into_iter();
        let outcomes = outcomes.filter(|(kind, _)| *kind == SegmentKind::Outcome);
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
                of(SegmentKind::Line, "2 rows"),
                of(SegmentKind::Record, "order W8123"),
                of(SegmentKind::Line, "W8123 note: one"),
                of(SegmentKind::Line, "three"),
            ]
        );
    }

    #[test]
    fn a_bare_tag_is_nothing_and_one_with_words_is() {
        assert_eq!(
            found("<task_list>\n<b>one_two</b>\n</task_list>"),
            [of(SegmentKind::Line, "<b>one_two</b>")]
        );
    }

    #[test]
    fn outcomes_are_known() {
        assert_eq!(found("3 passed in 2 s"), [of(SegmentKind::Outcome, "3 passed in 2 s")]);
    }

    proptest! {
        #[test]
        fn nothing_is_invented_and_nothing_is_long(text in "(// |\\PC|\\n|fn |12→|\\. |word ){0,200}") {
            for (_, piece) in pieces(&text, true) {
                prop_assert!(piece.len() <= super::LONGEST + 16);
                prop_assert!(piece.split(['\n', ' ', '→']).all(|word| text.contains(word)));
            }
        }
    }

    #[test]
    fn places_stand_before_the_code() {
        for (line, code) in [
            ("src/a.rs:12:fn a() {", "fn a() {"),
            ("src/a.rs-12-fn a() {", "fn a() {"),
            ("12: fn a() {", "fn a() {"),
            ("fn a() {", "fn a() {"),
            ("", ""),
        ] {
            assert_eq!(without_place(line), code);
        }
    }

    #[test]
    fn reasons_have_words_that_give_them() {
        for text in [
            "// Return at once: more output would corrupt the JSON.",
            "# kept, because the child has a copy of its own",
            "// 保留它，因为子进程也要用",
        ] {
            assert!(gives_reason(text), "{text}");
        }
        for text in ["// Saves the index in a file.", "# the mustard", ""] {
            assert!(!gives_reason(text), "{text}");
        }
    }

    #[test]
    fn outcomes_are_known_by_their_shape() {
        for line in [
            "ok  \texample.com/cli\t2.1s",
            "--- FAIL: TestLogin (0.00s)",
            "test result: ok. 12 passed; 0 failed",
            "[main 1a2b3c4d] fix the login",
            " 3 files changed, 21 insertions(+), 10 deletions(-)",
            "[File: /a/b.py (372 lines total)]",
            "Your changes have NOT been applied. Please fix your edit command and try again.",
            "src/a.go:5:2: \"os\" imported and not used",
            "error[E0382]: borrow of moved value",
            "ValueError: bad",
            "https://example.com/a/b/pull/42",
            "[lint:go] 0 issues.",
        ] {
            assert!(is_outcome(line), "{line}");
        }
        for line in ["func main() {", "okay then", "passed := 1", "", "the error is handled"] {
            assert!(!is_outcome(line), "{line}");
        }
    }

    #[test]
    fn what_a_line_names() {
        for line in [
            "func (s *Server) Run() error {",
            "pub(crate) fn is_outcome(line: &str)",
            "export default class Login {",
            "def test_login(self):",
            "## Known limits",
            "it(\"logs in\", () => {",
        ] {
            assert!(names_something(line), "{line}");
        }
        for line in ["return 1", "x := func() {}", "#include <a>", "typed", ""] {
            assert!(!names_something(line), "{line}");
        }
    }
}
