//! Functions that identify a character's script, split text into words, shorten it to one line,
//! compute hashes for comparison, and compile regular expressions on first use. None of the
//! functions depends on a session's format.

mod line;
mod pattern;
mod prose;
mod words;

pub use line::{
    bisected, comparison_key, edited, first_bytes, first_chars, head_and_tail, is_invisible,
    last_chars, one_line, plain_line, shorten, shorten_words, trim,
};
pub use pattern::{LazyRegex, Lists, Matcher, Phrases, WordSet, regex, with_ascii_boundaries};
pub use prose::{SLOTS, has_word, is_joining, is_prose, word_list};
pub use words::{hash, hash_lowercase, hash_pair, is_han, is_unspaced, words, words_and_pairs};
