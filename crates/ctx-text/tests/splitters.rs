//! The results of this project's former word splitters for a table of texts, and the texts for
//! which the shared splitters differ.

use ctx_text::{is_han, is_joining, is_unspaced, words, words_and_pairs};

/// Each text, followed by indented lines `NAME: WORD|WORD` with the results of the former
/// splitters, which were in seven modules.
const FORMER: &str = include_str!("splitters.txt");

/// A former splitter and its successor, with the beginnings of texts that they deliberately split
/// differently.
type Successor = (&'static str, fn(&str) -> Vec<&str>, &'static [&'static str]);

const SUCCESSORS: [Successor; 6] = [
    // The splitter for quotes. JSON escapes are decoded first; punctuation and hexagrams are not
    // words.
    ("quotes", |text| split(text, is_unspaced), &["カ", "ㄅㄆ", "{"]),
    // The splitter for the words in a record, and in a summary that is checked.
    ("phrases", |text| split(text, is_han), &["ㄅㄆ"]),
    // The splitter for names in a summary, which end where Chinese begins.
    ("names", |text| split(text, is_han), &["用SQLite", "㐀", "決定"]),
    // The splitter for words that are used to rank statements. Full-width letters and bopomofo form
    // words, and so do letters with a combining mark.
    ("terms", |text| telling(split(text, is_cjk)), &["ＦＵＬＬ", "㐀", "ㄅㄆ"]),
    ("dialogue", |text| telling(pairs(text, is_cjk)), &["ＦＵＬＬ", "ㄅㄆ", "don't"]),
    // The splitter for the words in an ASCII text to search; a byte index needs no other words.
    (
        "hay",
        |text| split(text, |_| false),
        &["用SQLite", "カ", "한", "don't", "ＦＵＬＬ", "㐀", "ㄅㄆ", "決定"],
    ),
];

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}') || is_unspaced(c)
}

fn split(text: &str, is_alone: fn(char) -> bool) -> Vec<&str> {
    words(text, is_alone).map(|word| &text[word]).collect()
}

fn pairs(text: &str, is_alone: fn(char) -> bool) -> Vec<&str> {
    words_and_pairs(text, is_alone).map(|word| &text[word]).collect()
}

/// Drops words of two bytes and words that only join other words.
fn telling(words: Vec<&str>) -> Vec<&str> {
    words.into_iter().filter(|word| word.len() > 2 && !is_joining(word)).collect()
}

fn lowercase(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[test]
fn words_are_those_of_the_former_splitters() {
    for (name, successor, differing) in SUCCESSORS {
        let mut text = "";
        for line in FORMER.lines() {
            let Some(former) = line.strip_prefix("    ") else {
                text = line;
                continue;
            };
            let Some(former) = former.strip_prefix(name).and_then(|it| it.strip_prefix(": "))
            else {
                continue;
            };
            let found = successor(text).join("|");
            let is_same =
                lowercase(&found).replace('ς', "σ") == lowercase(former).replace('ς', "σ");
            let may_differ = differing.iter().any(|begin| text.starts_with(begin));
            assert_eq!(is_same, !may_differ, "{name}: {text}: {found} | {former}");
        }
    }
}
