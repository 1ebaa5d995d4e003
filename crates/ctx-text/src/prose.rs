//! Recognizes prose, as opposed to code, data and logs.

use crate::words::char_at;

/// Text with fewer words than this is never considered prose.
const LEAST_WORDS: usize = 6;

/// Words such as `the` and `of` that only join other words.
#[rustfmt::skip]
static JOINING: [u64; SLOTS] = word_list([
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "down", "each", "for", "from", "had", "has", "have", "he", "here", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "let", "may", "me", "might", "more", "most", "my", "no", "not", "now", "of", "on", "only",
    "or", "other", "our", "out", "over", "she", "should", "so", "some", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "up", "us", "very", "was", "we", "were", "what", "when", "where",
    "which", "who", "why", "will", "with", "would", "you", "your",
]);

/// Returns true if the word only joins other words. Ignores case.
pub fn is_joining(word: &str) -> bool {
    has_word(&JOINING, word.as_bytes())
}

/// The maximum length of a word in a list, in bytes.
const LONGEST: usize = 6;

/// The number of slots in a word list, which is a hash table. Most slots are empty.
pub const SLOTS: usize = 512;

/// Packs lower-case words into a list for [`has_word`]. Each word is stored as a number in its
/// slot.
pub const fn word_list<const N: usize>(words: [&str; N]) -> [u64; SLOTS] {
    let mut list = [0; SLOTS];
    let mut at = 0;
    while at < N {
        assert!(words[at].len() <= LONGEST);
        let number = number(words[at].as_bytes());
        list[slot(&list, number)] = number;
        at += 1;
    }
    list
}

/// Returns true if the list contains the word. The word must consist of letters. Ignores case.
pub fn has_word(list: &[u64; SLOTS], word: &[u8]) -> bool {
    let number = if word.len() <= LONGEST { number(word) } else { 0 };
    number != 0 && list[slot(list, number)] == number
}

/// Returns the slot for a word: the first slot that contains the word or is empty, starting from
/// the slot given by the word's hash.
const fn slot(list: &[u64; SLOTS], number: u64) -> usize {
    let mut slot = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55) as usize;
    while list[slot] != 0 && list[slot] != number {
        slot = (slot + 1) % SLOTS;
    }
    slot
}

/// Packs the bytes of a word, in lower case, into a number.
const fn number(word: &[u8]) -> u64 {
    let (mut number, mut at) = (0, 0);
    while at < word.len() {
        number = number << 8 | word[at].to_ascii_lowercase() as u64;
        at += 1;
    }
    number
}

/// Returns true if the text is prose: at least a quarter of the words that have two or more bytes
/// only join other words.
pub fn is_prose(text: &str) -> bool {
    let (mut words, mut joining) = (0, 0);
    let mut at = 0;
    while at < text.len() {
        let start = run_end(text, at, false);
        at = run_end(text, start, true);
        if at - start < 2 {
            continue;
        }
        words += 1;
        joining += usize::from(is_joining(&text[start..at]));
        // The rest of the text contains no more than this many words, because each word takes up at
        // least two bytes and a separator. Thanks to this bound, most texts need not be read to the
        // end.
        let most_left = (text.len() - at) / 3;
        if (joining + most_left) * 4 < words + most_left {
            return false;
        }
        if words >= LEAST_WORDS && joining * 4 >= words + most_left {
            return true;
        }
    }
    words >= LEAST_WORDS && joining * 4 >= words
}

/// Returns the end of the run of letters at `at`, or of the run of other characters if `letters` is
/// false.
#[inline]
fn run_end(text: &str, mut at: usize, letters: bool) -> usize {
    let bytes = text.as_bytes();
    loop {
        let ascii = |byte: &u8| byte.is_ascii() && byte.is_ascii_alphabetic() == letters;
        at += bytes[at..].iter().position(|byte| !ascii(byte)).unwrap_or(bytes.len() - at);
        let next = char_at(text, at).filter(|c| !c.is_ascii() && c.is_alphabetic() == letters);
        let Some(c) = next else { return at };
        at += c.len_utf8();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LEAST_WORDS, is_joining, is_prose};

    #[test]
    fn joining_words_are_known_in_any_case() {
        assert!(is_joining("The") && !is_joining("then some") && !is_joining("Ünd"));
    }

    #[test]
    fn prose_has_words_that_join_others() {
        for text in [
            "The index is kept in a file of its own, since it grows.",
            "- what you do with it is up to you",
        ] {
            assert!(is_prose(text), "{text}");
        }
        for text in [
            "let index = file.read(path, options, limit);",
            "the end of it",
            "2026-01-02 INFO started worker pool size queue",
            "",
        ] {
            assert!(!is_prose(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_early_answer_is_the_answer(text in "((the|of|a|x|parse|Ünd|用它|I)[ ,]{1,3}){0,30}") {
            let words = text.split(|c: char| !c.is_alphabetic());
            let words: Vec<&str> = words.filter(|word| word.len() > 1).collect();
            let joining = words.iter().filter(|word| is_joining(word)).count();
            prop_assert_eq!(is_prose(&text), words.len() >= LEAST_WORDS && joining * 4 >= words.len());
        }
    }
}
