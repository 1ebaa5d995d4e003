//! Splits text by a person or the model into statements. A statement, together with its heading or
//! introduction, can be understood without the rest of the text.

use std::borrow::Cow;

use ctx_text::trim;

use crate::ledger::sentence::{Blocks, WRAPPED, is_no_prose, without_marker};
use crate::ledger::{SegmentKind, ends, segments};

/// The maximum length of a statement, in bytes. A longer statement is split into segments.
const LONGEST: usize = 600;

/// A sentence, a list item or a quoted line in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Statement<'t> {
    /// The kind of the statement, as determined by its form.
    pub(crate) kind: SegmentKind,
    pub(crate) text: Cow<'t, str>,
    /// The index of the statement to which this statement belongs, such as its heading.
    pub(crate) head: Option<usize>,
    /// True unless the statement continues a paragraph.
    pub(crate) begins: bool,
}

/// Returns the statements of `text`, in order.
pub(crate) fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut cutter = Cutter::default();
    let mut blocks = Blocks::default();
    let command = command(text);
    for line in text.lines() {
        let bare = trim(line);
        if command.is_some_and(|command| std::ptr::eq(command, line)) {
            cutter.end_paragraph();
            cutter.push(SegmentKind::Command, bare.into(), None);
        } else if blocks.has(line, text) {
            cutter.end_paragraph();
            let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
            if bare.chars().any(char::is_alphanumeric) && !is_fence {
                cutter.quoted(line.trim_end());
            }
        } else if bare.is_empty() {
            cutter.end_paragraph();
            cutter.after_blank = true;
        } else if let Some(level) = heading(bare) {
            cutter.heading(bare, level);
        } else if let Some(indent) = item(line) {
            cutter.item(bare, indent);
        } else if is_no_prose(bare) {
            cutter.end_paragraph();
            if bare.chars().any(char::is_alphanumeric) {
                cutter.quoted(bare);
            }
        } else {
            cutter.prose(line);
        }
    }
    cutter.end_paragraph();
    cutter.found
}

/// Returns the first line of the command in a reply that ends with its only code fence. Agents
/// without tool calls, such as SWE-agent 0.x and mini-swe-agent 1, write their commands in code
/// fences.
fn command(text: &str) -> Option<&str> {
    let bare = text.trim_end();
    let before = bare.strip_suffix("\n```")?;
    let (said, block) = before.rsplit_once("```")?;
    let (language, block) = block.split_once('\n')?;
    let is_shell = matches!(language.trim(), "" | "bash" | "sh" | "shell");
    let is_only = said.ends_with('\n') && !said.contains("```");
    let first = block.lines().next()?;
    (is_shell && is_only && first.len() <= LONGEST && !first.trim().is_empty()).then_some(first)
}

/// Returns the level of a heading. A heading is a line that begins with `#` or is in bold.
fn heading(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    if level > 0 {
        return (line[level..].starts_with(' ') && line[level..].contains(char::is_alphanumeric))
            .then_some(level);
    }
    let bold = line.strip_prefix("**")?.trim_end_matches([':', '：']);
    let inside = bold.strip_suffix("**")?;
    (!inside.contains("**") && !inside.is_empty()).then_some(usize::MAX)
}

/// Returns the indentation of a list item or a table row.
fn item(line: &str) -> Option<usize> {
    let bare = line.trim_start();
    let is_rule = |row: &str| row.bytes().all(|byte| b"|-: ".contains(&byte));
    let is_row = bare.starts_with('|') && !is_rule(bare);
    let (is_marked, rest) = without_marker(bare);
    (is_row || is_marked && !rest.is_empty()).then(|| line.len() - bare.len())
}

/// Returns true if a line may have been wrapped at a margin.
fn may_go_on(line: &str) -> bool {
    line.len() >= WRAPPED && !line.trim_end().ends_with(['.', '!', '?', ':', ';'])
}

#[derive(Default)]
struct Cutter<'t> {
    found: Vec<Statement<'t>>,
    /// The headings that enclose the current line, each with its level.
    headings: Vec<(usize, usize)>,
    /// The list items in which the next item may be nested, each with its indentation.
    items: Vec<(usize, usize)>,
    /// The index of the sentence that introduces the next statements.
    lead: Option<usize>,
    /// The lines of the current paragraph or list item, joined into one.
    paragraph: Cow<'t, str>,
    /// The indentation of the current list item, if the paragraph is one.
    indent: Option<usize>,
    /// True if the last line of the paragraph may continue on the next line.
    is_wrapped: bool,
    after_blank: bool,
    /// True after the first statement of a paragraph.
    is_within: bool,
}

impl<'t> Cutter<'t> {
    fn push(&mut self, kind: SegmentKind, text: Cow<'t, str>, head: Option<usize>) -> usize {
        self.found.push(Statement { kind, text, head, begins: !self.is_within });
        self.is_within = true;
        self.found.len() - 1
    }

    /// Returns the index of the heading, list item or introduction to which the next statement
    /// belongs.
    fn head(&self) -> Option<usize> {
        let place = |(_, at): &(usize, usize)| *at;
        let above = self.items.last().map(place).or(self.lead);
        above.or_else(|| self.headings.last().map(place))
    }

    fn heading(&mut self, line: &'t str, level: usize) {
        self.end_paragraph();
        self.lead = None;
        self.items.clear();
        self.headings.retain(|(of, _)| *of < level);
        let head = self.head();
        let at = self.push(SegmentKind::Heading, line.into(), head);
        self.headings.push((level, at));
    }

    fn item(&mut self, line: &'t str, indent: usize) {
        self.end_paragraph();
        self.paragraph = line.into();
        self.indent = Some(indent);
        self.after_blank = false;
        self.is_wrapped = may_go_on(line);
    }

    fn end_item(&mut self, item: Cow<'t, str>, indent: usize) {
        self.items.retain(|(of, _)| *of < indent);
        let head = self.head();
        let first = self.found.len();
        if item.len() <= LONGEST {
            self.is_within = false;
            self.push(SegmentKind::Item, item, head);
        } else {
            self.sentences(item, head);
        }
        if let Some(statement) = self.found.get_mut(first) {
            statement.kind = SegmentKind::Item;
            self.items.push((indent, first));
        }
    }

    fn quoted(&mut self, line: &'t str) {
        self.after_blank = false;
        let head = self.head();
        segments(line, |piece| {
            self.push(SegmentKind::Quoted, piece.into(), head);
        });
    }

    fn prose(&mut self, line: &'t str) {
        let bare = line.trim();
        // A line of a list item is indented.
        let is_indented = self.indent.is_some() && line.starts_with([' ', '\t']);
        let goes_on = is_indented || bare.starts_with(|c: char| c.is_lowercase() || c == '`');
        if self.is_wrapped && goes_on && !self.after_blank {
            self.paragraph.to_mut().extend([" ", bare]);
        } else {
            self.end_paragraph();
            // Unless a paragraph continues a list item, it ends the preceding list, and the list's
            // introduction no longer applies.
            if self.after_blank || self.items.is_empty() || !line.starts_with([' ', '\t']) {
                self.items.clear();
                self.lead = None;
            }
            self.paragraph = bare.into();
        }
        self.after_blank = false;
        self.is_wrapped = may_go_on(line);
    }

    fn end_paragraph(&mut self) {
        self.is_wrapped = false;
        let paragraph = std::mem::take(&mut self.paragraph);
        if let Some(indent) = self.indent.take() {
            self.end_item(paragraph, indent);
        } else if !paragraph.is_empty() {
            let head = self.head();
            self.sentences(paragraph, head);
        }
    }

    fn sentences(&mut self, paragraph: Cow<'t, str>, head: Option<usize>) {
        self.is_within = false;
        let places = ends(&paragraph).into_iter();
        match paragraph {
            Cow::Borrowed(text) => {
                places.for_each(|place| self.sentence(trim(&text[place]).into(), head));
            }
            Cow::Owned(text) => {
                places.for_each(|place| self.sentence(trim(&text[place]).to_owned().into(), head));
            }
        }
    }

    fn sentence(&mut self, sentence: Cow<'t, str>, head: Option<usize>) {
        if !sentence.contains(char::is_alphanumeric) {
            return;
        }
        if sentence.len() > LONGEST {
            segments(&sentence, |piece| {
                self.push(SegmentKind::Sentence, piece.to_owned().into(), head);
            });
        } else if sentence.ends_with([':', '：']) {
            self.lead = Some(self.push(SegmentKind::Lead, sentence, head));
        } else {
            self.push(SegmentKind::Sentence, sentence, head);
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;
    use proptest::prelude::*;

    use super::statements;
    use crate::ledger::segment::SegmentKind;

    fn found(text: &str) -> Vec<(SegmentKind, String, Option<usize>)> {
        let found = statements(text).into_iter();
        found.map(|one| (one.kind, one.text.into_owned(), one.head)).collect()
    }

    fn of(
        kind: SegmentKind,
        text: &str,
        head: Option<usize>,
    ) -> (SegmentKind, String, Option<usize>) {
        (kind, text.to_owned(), head)
    }

    #[test]
    fn sentences_stand_alone_and_items_below_what_leads_to_them() {
        assert_eq!(
            found(
                "Found it. The cause is old.\n\nTwo fixes:\n1. one\n   - deeper\n2. two\n\nThat is all."
            ),
            [
                of(SegmentKind::Sentence, "Found it.", None),
                of(SegmentKind::Sentence, "The cause is old.", None),
                of(SegmentKind::Lead, "Two fixes:", None),
                of(SegmentKind::Item, "1. one", Some(2)),
                of(SegmentKind::Item, "- deeper", Some(3)),
                of(SegmentKind::Item, "2. two", Some(2)),
                of(SegmentKind::Sentence, "That is all.", None),
            ]
        );
    }

    #[test]
    fn headings_are_heads_by_their_level() {
        assert_eq!(
            found("# A\none\n## B\n**C:**\n- two\n## D\n三。四"),
            [
                of(SegmentKind::Heading, "# A", None),
                of(SegmentKind::Sentence, "one", Some(0)),
                of(SegmentKind::Heading, "## B", Some(0)),
                of(SegmentKind::Heading, "**C:**", Some(2)),
                of(SegmentKind::Item, "- two", Some(3)),
                of(SegmentKind::Heading, "## D", Some(0)),
                of(SegmentKind::Sentence, "三。", Some(5)),
                of(SegmentKind::Sentence, "四", Some(5)),
            ]
        );
    }

    #[test]
    fn code_logs_and_tags_are_quoted_below_what_leads_to_them() {
        assert_eq!(
            found(
                "Run this:\n```sh\nmake all\n```\n2026-01-02 10:11:12 started\n| a | b |\n|---|---|\n"
            ),
            [
                of(SegmentKind::Lead, "Run this:", None),
                of(SegmentKind::Quoted, "make all", Some(0)),
                of(SegmentKind::Quoted, "2026-01-02 10:11:12 started", Some(0)),
                of(SegmentKind::Item, "| a | b |", Some(0)),
            ]
        );
    }

    #[test]
    fn a_command_in_a_last_fence_is_one() {
        assert_eq!(
            found("Let us edit it.\n\n```\nedit 2:3\nlet a = 1;\nend_of_edit\n```\n"),
            [
                of(SegmentKind::Sentence, "Let us edit it.", None),
                of(SegmentKind::Command, "edit 2:3", None),
                of(SegmentKind::Quoted, "let a = 1;", None),
                of(SegmentKind::Quoted, "end_of_edit", None),
            ]
        );
        for text in [
            "Like this:\n```rust\nlet a = 1;\n```",
            "One:\n```\na\n```\ntwo:\n```\nb\n```",
            "One:\n```\na\n```\nDone.",
        ] {
            assert!(found(text).iter().all(|(kind, ..)| *kind != SegmentKind::Command), "{text}");
        }
    }

    #[test]
    fn a_wrapped_line_goes_on_and_a_long_statement_is_cut() {
        let wrapped =
            "We decided to keep the index in a file of its own, because the\nother one grows.";
        assert_eq!(found(wrapped).len(), 1);
        let item = "- Skip the check for requests without a length in the header (streamed\n  \
                    or chunked), and do not measure the body\n  - deeper";
        assert_eq!(
            found(item),
            [
                of(SegmentKind::Item, &item[..item.len() - 11].replace("\n  ", " "), None),
                of(SegmentKind::Item, "- deeper", Some(0)),
            ]
        );
        let long = "word ".repeat(400);
        let pieces = found(&long);
        assert!(pieces.len() > 5 && pieces.iter().all(|(kind, ..)| *kind == SegmentKind::Sentence));
        let item = format!("- first. {}", "More of it here. ".repeat(60));
        let pieces = found(&item);
        assert_eq!(pieces[0], of(SegmentKind::Item, "- first.", None));
        assert!(pieces.len() > 10);
    }

    #[test]
    fn nothing_is_said_in_nothing() {
        for text in ["", "\n\n", "---", "```\n```", "...", "- "] {
            assert_eq!(found(text), [], "{text:?}");
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in [
            "- a\n",
            "  - a\n    - b\n",
            "# a\n",
            "a: ",
            "**a**\n",
            "a. ",
            "```\n",
            "|a|\n",
            "a\n\n",
        ] {
            assert_linear(piece, |text| assert!(statements(text).len() <= text.len()));
        }
    }

    proptest! {
        #[test]
        fn heads_come_first_and_nothing_is_invented(text in "(\\PC|\\n|# |- |: |\\. ){0,120}") {
            let found = statements(&text);
            for (at, one) in found.iter().enumerate() {
                prop_assert!(one.head.is_none_or(|head| head < at));
                prop_assert!(one.text.split(' ').all(|word| text.contains(word)));
                prop_assert!(!one.text.contains('\n') && !one.text.trim().is_empty());
            }
        }
    }
}
