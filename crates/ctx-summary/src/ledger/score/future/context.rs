//! Whether the words around a value still say what it is. The measure is independent of the
//! ledger's own idea of context, which it judges: span, words and stop words are its own.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_text::regex;
use regex::Regex;

/// So many characters to each side are looked at.
const SPAN: usize = 70;
/// So many occurrences of a value are looked at.
const MOST: usize = 12;
/// This many of the words around a value describe it.
const ENOUGH: usize = 2;
/// Shorter words are articles and prepositions.
const SHORTEST: usize = 4;

static LETTERS: LazyLock<Regex> = LazyLock::new(|| regex("[A-Za-z]+"));
static KEY: LazyLock<Regex> = LazyLock::new(|| regex(r#""([a-z_]{3,})"\s*:"#));

/// Whether in `new` one occurrence of the value has enough of the words that any occurrence had
/// around it in `old`.
pub(super) fn is_kept(old: &str, new: &str, value: &str) -> bool {
    let known: HashSet<&str> = occurrences(old, value).flat_map(|(a, b)| words(a, b)).collect();
    let enough = known.len().min(ENOUGH);
    occurrences(new, value)
        .any(|(before, behind)| words(before, behind).intersection(&known).count() >= enough)
}

/// The text before and after each occurrence.
fn occurrences<'t>(text: &'t str, value: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let found = text.match_indices(value).take(MOST);
    found.map(|(at, found)| {
        let (before, behind) = (&text[..at], &text[at + found.len()..]);
        let from = before.char_indices().rev().nth(SPAN - 1);
        let to = behind.char_indices().nth(SPAN);
        (&before[from.map_or(0, |(at, _)| at)..], &behind[..to.map_or(behind.len(), |(at, _)| at)])
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

/// Values that every session has. In the order of the alphabet.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "bash", "been", "change", "class", "code", "command", "content", "create", "data", "date", "default", "delete", "echo", "edit",
    "email", "error", "errors", "false", "file", "files", "find", "from", "grep", "have", "import", "input", "item", "items",
    "java", "javac", "list", "main", "message", "messages", "name", "node", "none", "null", "number", "open", "order",
    "orders", "other", "output", "path", "plan", "print", "private", "public", "python", "read", "result", "results",
    "return", "search", "self", "shell", "static", "status", "string", "system", "test", "tests", "text", "that", "this",
    "time", "today", "tomorrow", "true", "type", "unknown", "update", "user", "users", "value", "void", "will", "with",
    "write", "your",
];

/// Words that occur next to everything, in alphabetical order.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "about", "after", "again", "all", "also", "and", "any", "are", "because", "been", "before", "being", "both", "but",
    "can", "could", "did", "didnt", "does", "dont", "down", "during", "each", "few", "for", "from", "get", "going", "good",
    "got", "great", "had", "has", "have", "her", "here", "hers", "hey", "him", "his", "how", "into", "its", "ive",
    "just", "know", "like", "made", "make", "more", "most", "much", "nor", "not", "off", "once", "one", "only", "other",
    "our", "out", "over", "own", "really", "same", "see", "she", "some", "such", "than", "thank", "thanks", "that", "thats",
    "the", "their", "them", "then", "there", "these", "they", "think", "this", "those", "time", "too", "very", "was", "were",
    "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "wow", "yeah", "yes", "you", "your", "yours",
];

/// Whether a value tells nothing.
pub(super) fn is_common(value: &str) -> bool {
    contains(COMMON, value)
}

/// Whether a word says nothing about what is next to it.
pub(super) fn is_stop(word: &str) -> bool {
    contains(STOP, word)
}

fn contains(list: &[&str], word: &str) -> bool {
    let lower = word.to_lowercase();
    list.binary_search(&lower.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{COMMON, STOP, is_common, is_kept, is_stop, words};

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

    #[test]
    fn the_lists_can_be_searched() {
        assert!(COMMON.is_sorted() && STOP.is_sorted());
        assert!(is_common("True") && !is_common("HAT030"));
        assert!(is_stop("With") && !is_stop("order"));
    }
}
