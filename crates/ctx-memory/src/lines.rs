//! The line that a sentence stands in: a finding in a list is understood with its headline.

use std::iter::Peekable;
use std::str::Lines as TextLines;

use ctx_ledger::sentence::without_marker;
use ctx_ledger::text::{QUOTE_MAX, plain_line};

/// A longer line is a paragraph, and not looked at.
const LONGEST: usize = 4 * QUOTE_MAX;

/// The lines of a text, read once, from the first to the last.
pub(crate) struct Lines<'t>(Peekable<TextLines<'t>>);

impl<'t> Lines<'t> {
    /// The lines of `text`.
    pub(crate) fn of(text: &'t str) -> Self {
        Self(text.lines().peekable())
    }

    /// The line around a sentence that comes behind those asked for before, where it is short
    /// enough to be quoted whole.
    pub(crate) fn around(&mut self, sentence: &str) -> Option<String> {
        while let Some(line) = self.0.peek() {
            if line.len() <= LONGEST {
                let plain = plain_line(without_marker(line.trim()).1);
                if plain.contains(sentence) {
                    return (plain.chars().count() <= QUOTE_MAX).then_some(plain);
                }
            } else if line.contains(sentence) {
                return None;
            }
            self.0.next();
        }
        None
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
