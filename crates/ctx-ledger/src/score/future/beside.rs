//! Whether what stands beside a value still says what it is.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::words::is_stop;
use crate::text::regex;

/// So many characters to each side are looked at.
const SPAN: usize = 70;
/// So many occurrences of a value are looked at.
const MOST: usize = 12;
/// So many of the words that stood beside a value say what it is.
const ENOUGH: usize = 2;
/// Shorter words are articles and prepositions.
const SHORTEST: usize = 4;

static LETTERS: LazyLock<Regex> = LazyLock::new(|| regex("[A-Za-z]+"));
static KEY: LazyLock<Regex> = LazyLock::new(|| regex(r#""([a-z_]{3,})"\s*:"#));

/// Whether in `new` one occurrence of the value has enough of the words beside it
/// that any had in `old`.
pub(super) fn is_kept(old: &str, new: &str, value: &str) -> bool {
    let known: HashSet<&str> = occurrences(old, value)
        .flat_map(|(a, b)| words(a, b))
        .collect();
    let enough = known.len().min(ENOUGH);
    occurrences(new, value)
        .any(|(before, behind)| words(before, behind).intersection(&known).count() >= enough)
}

/// What stands before and behind each occurrence.
fn occurrences<'t>(text: &'t str, value: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let found = text.match_indices(value).take(MOST);
    found.map(|(at, found)| {
        let (before, behind) = (&text[..at], &text[at + found.len()..]);
        let from = before.char_indices().rev().nth(SPAN - 1);
        let to = behind.char_indices().nth(SPAN);
        (
            &before[from.map_or(0, |(at, _)| at)..],
            &behind[..to.map_or(behind.len(), |(at, _)| at)],
        )
    })
}

fn words<'t>(before: &'t str, behind: &'t str) -> HashSet<&'t str> {
    let mut found = HashSet::new();
    for text in [before, behind] {
        let plain = LETTERS
            .find_iter(text)
            .filter(|word| word.len() >= SHORTEST && is_plain(text, word.start(), word.end()));
        found.extend(plain.map(|word| word.as_str()));
        let keys = KEY.captures_iter(text).filter_map(|found| found.get(1));
        found.extend(keys.map(|key| key.as_str()));
    }
    found.retain(|word| !is_stop(word));
    found
}

/// Whether a run of letters is a word, not a piece of a path or of a name.
fn is_plain(text: &str, start: usize, end: usize) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let joins = |c: char| is_letter(c) || matches!(c, '/' | '-');
    if text[..start].ends_with(|c| joins(c) || c == '.') {
        return false;
    }
    let mut behind = text[end..].chars();
    match behind.next() {
        Some('.') => !behind.next().is_some_and(is_letter),
        Some(next) => !joins(next),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_kept, words};

    #[test]
    fn words_and_keys_but_no_pieces() {
        let mut found: Vec<_> = words(
            r#"order number. "zip": 5, src/main some_name file.txt"#,
            " shipped to the re-run with",
        )
        .into_iter()
        .collect();
        found.sort_unstable();
        assert_eq!(found, ["number", "order", "shipped", "zip"]);
    }

    #[test]
    fn two_words_must_stay_beside_it() {
        let old = "the order #W12 was shipped yesterday";
        assert!(is_kept(old, "shipped: order #W12", "#W12"));
        assert!(!is_kept(old, "order #W12", "#W12"));
        assert!(!is_kept(old, "#W12", "#W12"));
        assert!(is_kept("#W12", "#W12", "#W12"));
        assert!(!is_kept("#W12", "", "#W12"));
    }

    #[test]
    fn words_that_are_far_away_do_not_count() {
        let far = format!("shipped order {} #W12", "- ".repeat(40));
        assert!(!is_kept("shipped order #W12", &far, "#W12"));
    }
}
