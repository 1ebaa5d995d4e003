//! The line that a sentence stands in: a finding in a list is understood with its headline.

use std::iter::Peekable;
use std::str::Lines as TextLines;

use ctx_ledger::sentence::without_marker;
use ctx_ledger::text::{QUOTE_MAX, plain_line};

/// A longer line is a paragraph, and not looked at.
const LONGEST: usize = 4 * QUOTE_MAX;

/// The lines of a text, read once, from the first to the last.
pub(crate) struct Lines<'t> {
    left: Peekable<TextLines<'t>>,
    /// The entries of lists that the current line stands below, each with its indent.
    open: Vec<(usize, &'t str)>,
}

impl<'t> Lines<'t> {
    /// The lines of `text`.
    pub(crate) fn of(text: &'t str) -> Self {
        Self {
            left: text.lines().peekable(),
            open: Vec::new(),
        }
    }

    /// The line around a sentence that comes behind those asked for before, where it is short
    /// enough to be quoted whole.
    pub(crate) fn around(&mut self, sentence: &str) -> Option<String> {
        while let Some(line) = self.left.peek().copied() {
            self.enter(line);
            if line.len() <= LONGEST {
                let plain = plain_line(without_marker(line.trim()).1);
                if plain.contains(sentence) {
                    return (plain.chars().count() <= QUOTE_MAX).then_some(plain);
                }
            } else if line.contains(sentence) {
                return None;
            }
            self.left.next();
        }
        None
    }

    /// The entry of a list that the line found last stands below.
    pub(crate) fn above(&self) -> Option<String> {
        let (_, line) = self.open.iter().nth_back(1)?;
        Some(plain_line(without_marker(line.trim()).1))
    }

    fn enter(&mut self, line: &'t str) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() {
            return;
        }
        while self.open.last().is_some_and(|(above, _)| *above >= indent) {
            self.open.pop();
        }
        if without_marker(text).0 && line.len() <= LONGEST {
            self.open.push((indent, line));
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;

    use super::Lines;

    /// 16: what is found in a list has its headline with it.
    #[test]
    fn a_sentence_stands_in_its_line() {
        let long = "It is long. ".repeat(40);
        let text = format!("1. **`a.rs`.** It is over. Fine.\n{long}\n- last one. Yes.");
        let mut lines = Lines::of(&text);
        let first = Some("**`a.rs`.** It is over. Fine.");
        assert_eq!(lines.around("It is over.").as_deref(), first);
        assert_eq!(lines.around("Fine.").as_deref(), first);
        assert_eq!(lines.around("It is long."), None);
        assert_eq!(lines.around("last one.").as_deref(), Some("last one. Yes."));
        assert_eq!(lines.around("It is over."), None);
    }

    /// 16: an entry of a list knows what it stands below.
    #[test]
    fn an_entry_stands_below_another() {
        let text = "1. one\n   - a\n     more\n   - b\n2. two\ntext";
        let mut lines = Lines::of(text);
        let mut above = |line| {
            lines.around(line);
            lines.above()
        };
        assert_eq!(above("one"), None);
        assert_eq!(above("a").as_deref(), Some("one"));
        assert_eq!(above("b").as_deref(), Some("one"));
        assert_eq!(above("two"), None);
        assert_eq!(above("text"), None);
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in ["a. ", "a.\n", "- a. b.\n"] {
            assert_linear(piece, |text| {
                let mut lines = Lines::of(text);
                assert!((0..9).all(|_| lines.around("never said").is_none()));
            });
        }
    }
}
