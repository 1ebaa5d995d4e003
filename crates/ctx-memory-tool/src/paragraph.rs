//! The paragraphs of a memory file: what is found, and printed, as one.

/// Each paragraph with its line, from 1: an entry of a list with what is below it, a heading,
/// or lines without a blank one between them.
pub(crate) fn paragraphs(text: &str) -> Vec<(u64, &str)> {
    let mut found = Vec::new();
    let mut open: Option<(u64, usize, usize)> = None;
    let mut close = |open: &mut Option<(u64, usize, usize)>| {
        if let Some((line, start, end)) = open.take() {
            found.push((line, text[start..end].trim_end()));
        }
    };
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let (start, end) = (at, at + line.len());
        at = end;
        if line.trim().is_empty() {
            close(&mut open);
            continue;
        }
        if begins(line) {
            close(&mut open);
        }
        match &mut open {
            Some((_, _, until)) => *until = end,
            None => open = Some((number, start, end)),
        }
        if line.starts_with('#') {
            close(&mut open);
        }
    }
    close(&mut open);
    found
}

/// Whether a paragraph begins here, whatever the line above is.
fn begins(line: &str) -> bool {
    let is_numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "))
    };
    line.starts_with('#')
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || is_numbered()
}

#[cfg(test)]
mod tests {
    use super::paragraphs;
    use proptest::prelude::*;

    /// An entry of a memory file is a paragraph of its own.
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
