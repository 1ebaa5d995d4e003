//! Whether a text contains a query literally.

use std::collections::HashSet;

use crate::words::{fold, is_unspaced, names_first, plain};

/// A literal query: its characters in order, not its words in any order. All white space is equal.
/// Case is ignored if the query has only small letters: `baseCommit` does not mean `BaseCommit`.
pub(crate) struct Written {
    text: String,
    keeps_case: bool,
    /// The words that every text with the query has.
    pub(crate) words: Vec<String>,
}

impl Written {
    pub(crate) fn of(query: &str) -> Self {
        let keeps_case = query.chars().any(char::is_uppercase);
        Self { text: compared(query.trim(), keeps_case), keeps_case, words: certain_words(query) }
    }

    /// Whether it is one word, so that every document with this word holds it.
    pub(crate) fn is_word(&self) -> bool {
        matches!(self.words.as_slice(), [word] if *word == self.text)
    }

    pub(crate) fn stands_in(&self, text: &str) -> bool {
        compared(text, self.keeps_case).contains(&self.text)
    }
}

/// The words of a query that are words in every context. In `src/pre_check.rs`, the query
/// `check.rs` is not a word, but its parts `check` and `rs` are.
fn certain_words(query: &str) -> Vec<String> {
    let all = names_first(query);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (at, (range, word)) in all.iter().enumerate() {
        // A word is followed by its parts.
        let next = all.get(at + 1);
        let holds_another = next.is_some_and(|(next, _)| next.start < range.end);
        let is_certain = !holds_another || word.chars().next().is_some_and(is_unspaced);
        if is_certain && seen.insert(word.as_str()) {
            found.push(word.clone());
        }
    }
    found
}

/// A text in the form used for comparison.
fn compared(text: &str, keeps_case: bool) -> String {
    let mut compared = String::with_capacity(text.len());
    let mut was_blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            if !was_blank {
                compared.push(' ');
            }
        } else if keeps_case {
            compared.push(plain(c));
        } else {
            fold(c, &mut compared);
        }
        was_blank = c.is_whitespace();
    }
    compared
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Written;
    use crate::words::each_word;

    /// The literal form counts, not only the words.
    #[test]
    fn order_and_joints_count() {
        let holds = |query, text| Written::of(query).stands_in(text);
        assert!(holds("fn  main()", "pub FN\tmain()\n{}"));
        assert!(holds("a.rs:12", "see src/a.rs:12"));
        assert!(!holds("a.rs:12", "12 lines of a.rs"));
        assert!(holds("候补名单", "問：候補名單"));
        assert!(!holds("候补名单", "名单候补"));
    }

    /// Capitals in a query are meant.
    #[test]
    fn case_counts_where_the_query_has_capitals() {
        let holds = |query, text| Written::of(query).stands_in(text);
        assert!(holds("base commit", "Base  Commit"));
        assert!(holds("baseCommit", "the baseCommit"));
        assert!(!holds("baseCommit", "the BaseCommit"));
        assert!(holds("ＡＢ", "AB"));
    }

    /// A single word needs no look at the text.
    #[test]
    fn a_word_is_known_as_one() {
        assert!(Written::of(" sqlite ").is_word());
        for query in ["check.rs", "SQLITE", "port 8443", "port?", "名单", ""] {
            assert!(!Written::of(query).is_word(), "{query}");
        }
    }

    #[test]
    fn the_parts_of_a_name_are_certain() {
        let words = |query| Written::of(query).words;
        assert_eq!(words("src/check.rs a"), ["src", "check", "rs", "a"]);
        assert_eq!(words("parseHeader"), ["parse", "header"]);
        assert_eq!(words("名单 名"), ["名单", "名", "单"]);
        assert_eq!(words("0a1b2c3d4e5f60718293"), ["0a1b2c3"]);
    }

    proptest! {
        /// Between blanks, the words of the query are also words of the text.
        #[test]
        fn no_text_that_holds_it_lacks_a_certain_word(
            query in "[a-cA-C0-9._/ 名单-]{1,12}",
            before in "[a-cA-C._/ 名-]{0,6}[ ._/]",
            after in "[ ._/][a-cA-C._/ 名-]{0,6}",
        ) {
            let text = format!("{before}{query}{after}");
            let mut there = Vec::new();
            each_word(&text, |_, word| there.push(word.to_owned()));
            let written = Written::of(&query);
            prop_assert!(written.stands_in(&text));
            for word in written.words {
                prop_assert!(there.contains(&word), "{word} of {query:?} in {text:?}");
            }
        }
    }
}
