//! Sequences of words in a record, for looking up quotes.
//!
//! Only words count, so line ends, escapes, quotation marks, markdown and comment signs between
//! them make no difference. Each Chinese character is a word.

use super::places::Places;
use super::words::{Seen, hash, is_chinese, pair};

/// Every word of a record, and which follow each other.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    words: Places,
    /// Two in a row.
    pairs: Seen,
    /// Three in a row.
    threes: Seen,
    /// How names with humps begin: `NodeType` of `NodeTypeSession`.
    beginnings: Seen,
}

impl Phrases {
    /// One more text of the record; its words follow no words of another one.
    pub(super) fn gather(&mut self, text: &str) {
        let (mut before, mut last) = (None, None);
        for line in text.lines() {
            for text in texts_of(without_line_number(line)) {
                let word = hash(text);
                self.words.insert(word);
                for beginning in beginnings(text) {
                    self.beginnings.insert(hash(beginning));
                }
                if let Some(last) = last {
                    let two = pair(last, word);
                    self.pairs.insert(two);
                    if let Some(before) = before {
                        self.threes.insert(pair(before, two));
                    }
                }
                (before, last) = (last, Some(word));
            }
        }
        self.words.end_text();
    }

    /// Whether names of the record begin with all humps of this one.
    pub(super) fn has_beginning(&self, name: &str) -> bool {
        self.beginnings.has(hash(name))
    }

    /// Whether a text is a word of the record.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.has(hash(word))
    }

    /// How many of 100 words of a text the record has, somewhere.
    pub(super) fn share(&self, text: &str) -> usize {
        let words: Vec<u64> = words_of(text).collect();
        let known = words.iter().filter(|word| self.words.has(**word)).count();
        known * 100 / words.len().max(1)
    }

    /// Whether the record has these texts near one another, each as a sequence of words.
    pub(super) fn has_near<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        let rows: Vec<Vec<u64>> = texts.map(|text| words_of(text).collect()).collect();
        self.words.are_near(&rows)
    }

    /// Whether the record has the words of a text in this order, without others between.
    pub(super) fn has(&self, text: &str) -> bool {
        let words: Vec<u64> = words_of(text).collect();
        match words[..] {
            [] => true,
            [word] => self.words.has(word),
            [first, second] => self.pairs.has(pair(first, second)),
            _ => words
                .windows(3)
                .all(|three| self.threes.has(pair(three[0], pair(three[1], three[2])))),
        }
    }
}

/// The humps of a name, from the second on, without what follows them: of `parseLineEnd`
/// `parseLine`.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let begins =
        |at: &usize| bytes[*at].is_ascii_uppercase() && bytes[*at - 1].is_ascii_lowercase();
    let ends = (1..bytes.len()).filter(begins).skip(1);
    ends.map(|end| &name[..end])
}

/// Whole words, in lower case; none is left out.
fn words_of(text: &str) -> impl Iterator<Item = u64> {
    texts_of(text).map(hash)
}

fn texts_of(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| (c.is_alphanumeric() || c == '_') && !is_chinese(c);
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| !is_word(c) && !is_chinese(c));
        let first = rest.chars().next()?;
        let end = if is_chinese(first) {
            first.len_utf8()
        } else {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        };
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
}

/// A line of a listing without its number: `  12→text`, so that sentences go on across lines.
fn without_line_number(line: &str) -> &str {
    let rest = line.trim_start();
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    match behind.strip_prefix(['→', '\t']) {
        Some(text) if behind.len() < rest.len() => text,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::Phrases;

    fn of(text: &str) -> Phrases {
        let mut phrases = Phrases::default();
        phrases.gather(text);
        phrases
    }

    #[test]
    fn words_in_a_row_are_found_whatever_stands_between() {
        let phrases = of("  11→// Close the *parent's*\n  12→// copy. 请把端口改成 9000");
        for there in ["close the parent’s copy", "Parent", "端口改成 9000", "", "`the` parent"]
        {
            assert!(phrases.has(there), "{there}");
        }
        for missing in ["close parent's copy", "copy the parent", "端口改为", "child"] {
            assert!(!phrases.has(missing), "{missing}");
        }
    }

    #[test]
    fn texts_do_not_run_together() {
        let mut phrases = of("one two");
        phrases.gather("three");
        assert!(!phrases.has("two three") && phrases.has_word("three"));
        assert_eq!((phrases.share("Two, three; four"), phrases.share("")), (66, 0));
    }
}
