//! Decides whether a message still contains what was quoted from a session.
//!
//! The comparison ignores case and all characters between words. Each Chinese or Japanese character
//! is a word. A text contains a quote if it contains three quarters of the quote's distinct pairs
//! of neighbouring words, in any order. A truncated line or an omitted word therefore does no harm.
//! If a quote consists of a single word, the text must contain that word.

use std::collections::{HashMap, HashSet};

use ctx_format::{Message, Part};
use indexmap::IndexSet;

use crate::check::unescaped;

/// The quotes to search for.
#[derive(Debug, Default)]
pub struct Quotes {
    words: IndexSet<String>,
    /// For each pair of words, the indexes of the quotes that contain it.
    having: HashMap<Pair, Vec<usize>>,
    /// The number of distinct pairs of words in each quote.
    sizes: Vec<usize>,
}

/// Two neighbouring words. A one-word quote has a single pair: `None` and that word.
type Pair = (Option<usize>, usize);

impl Quotes {
    /// Adds a quote and returns its index, or `None` if the quote contains no words.
    pub fn add(&mut self, quote: &str) -> Option<usize> {
        let mut numbers = Vec::new();
        each_word(quote, |word| numbers.push(self.words.insert_full(word.to_owned()).0));
        let pairs: HashSet<Pair> = match numbers[..] {
            [] => return None,
            [word] => HashSet::from([(None, word)]),
            _ => numbers.windows(2).map(|two| (Some(two[0]), two[1])).collect(),
        };
        let quote = self.sizes.len();
        self.sizes.push(pairs.len());
        for pair in pairs {
            self.having.entry(pair).or_default().push(quote);
        }
        Some(quote)
    }

    /// Returns the indexes of the quotes that `text` contains.
    pub fn in_text(&self, text: &str) -> Vec<usize> {
        let mut pairs = HashSet::new();
        let mut left = None;
        each_word(text, |word| {
            // A word that occurs in no quote does not count as a neighbour.
            let right = self.words.get_index_of(word);
            if let Some(right) = right {
                pairs.insert((None, right));
                pairs.extend(left.map(|left| (Some(left), right)));
            }
            left = right;
        });
        let mut had = vec![0; self.sizes.len()];
        for quote in pairs.iter().filter_map(|pair| self.having.get(pair)).flatten() {
            had[*quote] += 1;
        }
        let is_in = |quote: &usize| had[*quote] * 4 >= self.sizes[*quote] * 3;
        (0..had.len()).filter(is_in).collect()
    }
}

/// Adds the texts, calls and results in a message to `said`. Reasoning is not added.
pub fn add_said(said: &mut String, message: &Message<'_>) {
    for part in with_results(&message.parts) {
        match part {
            Part::Text(text) | Part::Refusal(text) => said.push_str(text),
            Part::Call(call) => said.extend([&call.name, "\n", &call.arguments]),
            _ => {}
        }
        said.push('\n');
    }
}

/// Returns the parts of a message. Each tool result is replaced by its own parts.
pub(super) fn with_results<'m, 'a>(parts: &'m [Part<'a>]) -> impl Iterator<Item = &'m Part<'a>> {
    parts.iter().flat_map(|part| match part {
        Part::Result(result) => result.parts.as_slice(),
        part => std::slice::from_ref(part),
    })
}

fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    // Arguments are JSON, and results often contain JSON, so a line break or a letter may be an
    // escape.
    let plain = unescaped(text);
    for word in ctx_text::words(&plain, is_sign) {
        visit(&plain[word].to_lowercase());
    }
}

/// Returns true if a character is Chinese or Japanese, and so is a word by itself.
fn is_sign(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use ctx_format::{Message, Part, Role};
    use proptest::prelude::*;

    use super::{Quotes, add_said, each_word};
    use crate::ledger::fixtures::{calls, result};

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.to_owned()));
        words
    }

    fn stands(quote: &str, text: &str) -> bool {
        let mut quotes = Quotes::default();
        assert_eq!(quotes.add(quote), Some(0));
        quotes.in_text(text) == [0]
    }

    #[test]
    fn words_are_runs_of_letters_and_single_signs() {
        assert_eq!(words("  Max_N=3; Größe "), ["max_n", "3", "größe"]);
        assert_eq!(
            words("没健身房也行ok 180元"),
            ["没", "健", "身", "房", "也", "行", "ok", "180", "元"]
        );
        assert!(words("… — !?").is_empty());
    }

    #[test]
    fn escapes_are_what_they_mean() {
        assert_eq!(words(r#"a\nb\tc\"d\re"#), ["a", "b", "c", "d", "e"]);
        assert_eq!(words(r"\u4e09\u00e9x"), ["三", "éx"]);
        // Backslashes and other punctuation are not words.
        assert_eq!(words(r"\users \u+123 \ud800 \"), ["users", "u", "123", "ud800"]);
        assert_eq!(words(r"\u12"), ["u12"]);
    }

    #[test]
    fn three_of_four_pairs_are_enough() {
        let quote = "one two three four five";
        assert!(stands(quote, "They said: One, two, THREE,\nfour – five."));
        assert!(stands(quote, "one two three four"));
        assert!(stands(quote, "three four five, and one two"));
        assert!(!stands(quote, "one two three"));
        assert!(!stands(quote, "five four three two one"));
        // A repeated pair of words counts only once.
        assert!(stands("a b a b a", "b a b"));
    }

    #[test]
    fn a_quote_of_one_word_is_a_whole_word() {
        assert!(stands("7", "port 7."));
        assert!(!stands("7", "port 17"));
        assert!(stands("180元", "只有180元"));
        assert!(!stands("180元", "只有180 块, 5元"));
    }

    #[test]
    fn without_words_there_is_no_quote() {
        let mut quotes = Quotes::default();
        assert_eq!(quotes.add("…"), None);
        assert_eq!((quotes.add("a"), quotes.add("b c")), (Some(0), Some(1)));
        assert_eq!(quotes.in_text("b c a"), [0, 1]);
        assert!(quotes.in_text("").is_empty());
    }

    #[test]
    fn a_message_says_its_texts_calls_and_results() {
        let mut said = String::new();
        add_said(&mut said, &calls("Bash", r#"{"command":"ls"}"#));
        let parts = vec![
            Part::Reasoning("hidden".into()),
            Part::Text("seen".into()),
            Part::Result(result("given")),
        ];
        add_said(&mut said, &Message::new(Role::User, parts));
        assert_eq!(words(&said), ["bash", "command", "ls", "seen", "given"]);
    }

    proptest! {
        #[test]
        fn a_quote_stands_where_it_was_taken_from(text in "\\PC{0,40}", quote in "\\PC{0,20}", more in "\\PC{0,20}") {
            let mut quotes = Quotes::default();
            if quotes.add(&quote).is_some() {
                prop_assert_eq!(quotes.in_text(&format!("{text} {quote} {more}")), [0]);
            }
            // No text makes the search panic.
            quotes.in_text(&text);
        }
    }
}
