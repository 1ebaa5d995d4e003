//! The part of a text that answers a query best.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::words::each_word;

/// About `length` characters of `text` around the words of `query`: where most different ones are
/// close together, long words before short ones. `…` marks omissions; white space becomes blanks.
pub fn snippet(text: &str, query: &str, length: usize) -> String {
    let mut wanted = HashSet::new();
    each_word(query, |_, word| {
        wanted.insert(word.to_owned());
    });
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    each_word(text, |range, word| {
        if wanted.contains(word) {
            found.push((range, word.to_owned()));
        }
    });
    let around = best(&found, length);
    let start = back(text, around.start, length.saturating_sub(around.len()) / 3);
    let end = text[start..].char_indices().nth(length).map_or(text.len(), |(at, _)| start + at);
    let shown: Vec<&str> = text[start..end].split_whitespace().collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("{before}{}{after}", shown.join(" "))
}

/// The stretch of at most `length` bytes with the most in it.
fn best(found: &[(Range<usize>, String)], length: usize) -> Range<usize> {
    let mut best = (0, 0..0);
    let mut inside: HashMap<&str, usize> = HashMap::new();
    let (mut first, mut weight) = (0, 0);
    for (range, word) in found {
        let count = inside.entry(word).or_default();
        *count += 1;
        if *count == 1 {
            weight += word.len();
        }
        while range.end.saturating_sub(found[first].0.start) > length && found[first].0 != *range {
            let gone = &found[first].1;
            let count = inside.entry(gone).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                weight -= gone.len();
            }
            first += 1;
        }
        if weight > best.0 {
            best = (weight, found[first].0.start..range.end);
        }
    }
    best.1
}

/// A place up to `count` characters before `at`, at the beginning of a word.
fn back(text: &str, at: usize, count: usize) -> usize {
    let before = text[..at].char_indices().rev();
    let Some((start, _)) = before.take(count).last() else {
        return at;
    };
    if start == 0 {
        return 0;
    }
    let blank = text[start..at].find(char::is_whitespace);
    blank.map_or(start, |blank| {
        let rest = &text[start + blank..at];
        start + blank + (rest.len() - rest.trim_start().len())
    })
}

#[cfg(test)]
mod tests {
    use super::snippet;
    use proptest::prelude::*;

    /// The snippet shows the words of the query.
    #[test]
    fn it_shows_the_words_of_the_query() {
        let text = format!(
            "{}the port of\nthe server is 8443 here{}",
            "nothing to see. ".repeat(40),
            " and more of it".repeat(40)
        );
        let shown = snippet(&text, "server 8443", 60);
        assert!(shown.contains("the server is 8443 here"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(snippet("short\ttext\n", "text", 60), "short text");
        assert_eq!(snippet("no such word", "other", 60), "no such word");
    }

    proptest! {
        #[test]
        fn it_is_no_longer_than_asked(text in "\\PC{0,80}", query in "\\PC{0,10}") {
            assert!(snippet(&text, &query, 20).chars().count() <= 22);
        }
    }
}
