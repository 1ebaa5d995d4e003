//! Functions for plain text, which know nothing about sessions: the script of a character, the
//! words of a text, shortening to one line, hashes for comparison, and regular expressions that are
//! compiled on first use.

mod line;
mod pattern;
mod prose;
mod words;

pub use line::{
    bisected, comparison_key, edited, first_chars, head_and_tail, last_chars, one_line, plain_line,
    shorten, trim,
};
pub use pattern::{LazyRegex, Lists, Matcher, Phrases, WordSet, regex, with_ascii_boundaries};
pub use prose::{SLOTS, has_word, is_joining, is_prose, word_list};
pub use words::{hash, hash_lowercase, hash_pair, is_han, is_unspaced, words, words_and_pairs};
