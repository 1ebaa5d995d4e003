//! The paragraphs of a memory file, each of which is one result of a search.

use ctx_memory::Entry;

/// Each paragraph with its line number, from 1. A paragraph is an entry of a list with the lines
/// below it, a heading, or lines without a blank line between them.
pub(crate) fn paragraphs(text: &str) -> Vec<(u64, &str)> {
    let mut found: Vec<(u64, usize, usize)> = Vec::new();
    let mut is_open = false;
    let mut end = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let start = end;
        end += line.len();
        let is_blank = line.trim().is_empty();
        match found.last_mut() {
            _ if is_blank => {}
            Some((_, _, until)) if is_open && !begins(line) => *until = end,
            _ => found.push((number, start, end)),
        }
        is_open = !is_blank && !line.starts_with('#');
    }
    found.into_iter().map(|(line, start, end)| (line, text[start..end].trim_end())).collect()
}

/// Whether a paragraph starts here, whatever the line above is.
fn begins(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "));
    let marks = ["#", "- ", "* ", "+ "];
    is_numbered || marks.iter().any(|mark| line.starts_with(mark))
}

/// The entry in a paragraph, if our tools wrote it.
pub(crate) fn entry_of(paragraph: &str) -> Option<Entry<'_>> {
    let entry = paragraph.strip_prefix("- ")?;
    Entry::parse(entry.trim_end())
}

#[cfg(test)]
mod tests {
    use super::paragraphs;
    use proptest::prelude::*;

    /// Each entry of a memory file is a separate paragraph.
    #[test]
    fn an_entry_is_a_paragraph() {
        let text = "# Facts\n- one\n  more\n- two\n\nplain\nlines\n1. first\n2) second\r\n\n\n* x";
        assert_eq!(
            paragraphs(text),
            [
                (1, "# Facts"),
                (2, "- one\n  more"),
                (4, "- two"),
                (6, "plain\nlines"),
                (8, "1. first"),
                (9, "2) second"),
                (12, "* x"),
            ]
        );
    }

    proptest! {
        #[test]
        fn all_that_is_not_blank_is_in_one(text in "[#\\- a1.\n]{0,40}") {
            let all: String = paragraphs(&text).iter().map(|(_, text)| *text).collect();
            let dense = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(dense(&all), dense(&text));
        }
    }
}
