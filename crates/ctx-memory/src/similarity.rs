//! Determines whether two statements say the same thing in almost the same words.
//!
//! Two statements say the same thing if one contains all the words in the other and only a few
//! more. If each statement has a word that the other lacks, such as "tabs" and "spaces", that
//! difference may be the whole point. Names, numbers, negations and restrictions must be the same
//! in both statements.

use std::collections::BTreeSet;

use ctx_text::{comparison_key, hash};

/// The minimum number of words in the shorter statement, as a percentage of the number in the
/// longer statement.
const LEAST_PERCENT: usize = 75;

/// Words that negate or restrict a statement.
const EXACT: &str = "not no never without dont doesnt isnt arent cannot cant wont only except \
    unless until but if instead 不 没 沒 別 别 勿 只 除 仅";

/// Words that carry no meaning of their own.
const FILLERS: &str = "a an the we i you it is are be was were will would please so then lets let \
    us our my your yes ok okay just now that this have has been";

/// Chinese words that carry no meaning of their own. Because Chinese is written without spaces,
/// these words are removed before the text is split.
const CHINESE_FILLERS: &str = "已经 已經 了 的 吧 呢 啊 请";

/// The words of a statement, in the form used for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// The text in the form that [`comparison_key`] returns.
    pub(crate) key: String,
    /// Sorted hashes of the words.
    words: Vec<u64>,
    /// The names, numbers, negations and restrictions. Statements with different keys are similar
    /// only if these sets are equal.
    pub(crate) exact: BTreeSet<String>,
}

impl Fingerprint {
    pub(crate) fn of(statement: &str) -> Self {
        let (mut all, mut exact) = (BTreeSet::new(), BTreeSet::new());
        for word in words(statement) {
            add_word(word, &mut all, &mut exact);
        }
        let hashes: BTreeSet<u64> = all.iter().map(hash).collect();
        Self { key: comparison_key(statement), words: hashes.into_iter().collect(), exact }
    }

    pub(crate) fn is_similar(&self, other: &Self) -> bool {
        if self.key == other.key {
            return true;
        }
        let (fewer, more) = if self.words.len() <= other.words.len() {
            (&self.words, &other.words)
        } else {
            (&other.words, &self.words)
        };
        !fewer.is_empty()
            && fewer.len() * 100 >= more.len() * LEAST_PERCENT
            && self.exact == other.exact
            && fewer.iter().all(|word| more.binary_search(word).is_ok())
    }
}

/// Splits text at white space and punctuation.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ",;()[]\"“”「」，。；：、（）".contains(c))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '_'))
        .filter(|word| !word.is_empty())
}

/// Returns true if the letter belongs to a script that is written without spaces.
pub(crate) fn is_wide(c: char) -> bool {
    c.is_alphabetic() && u32::from(c) >= 0x2e80
}

/// Returns true if the word looks like a name or a number.
pub(crate) fn is_name(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit() || "_/\\.@:=".contains(c))
        || word.chars().skip(1).any(char::is_uppercase)
}

/// Returns true if a [`plain`] word carries no meaning of its own.
pub(crate) fn is_filler(word: &str) -> bool {
    FILLERS.split(' ').any(|filler| filler == word)
}

/// The word in lower case and without apostrophes.
pub(crate) fn plain(word: &str) -> String {
    word.to_lowercase().chars().filter(|c| !"'’".contains(*c)).collect()
}

/// Adds a word to `all` unless it is a filler, and to `exact` if similar statements must share it.
/// Adds text in scripts without spaces as pairs of adjacent characters.
fn add_word(word: &str, all: &mut BTreeSet<String>, exact: &mut BTreeSet<String>) {
    let is_exact = |word: &str| EXACT.split_whitespace().any(|exact| exact == word);
    if word.contains(is_wide) {
        exact.extend(word.split(is_wide).filter(|name| !name.is_empty()).map(str::to_lowercase));
        exact.extend(word.chars().map(String::from).filter(|c| is_exact(c)));
        all.extend(pairs(word));
        return;
    }
    let plain = plain(word);
    if is_name(word) || is_exact(&plain) {
        exact.insert(plain.clone());
    }
    if !is_filler(&plain) {
        all.insert(plain);
    }
}

/// Returns all pairs of adjacent characters from scripts that are written without spaces.
pub(crate) fn pairs(word: &str) -> Vec<String> {
    let mut text = word.to_owned();
    for filler in CHINESE_FILLERS.split(' ') {
        text = text.replace(filler, "");
    }
    let mut pairs = Vec::new();
    for run in text.split(|c| !is_wide(c)) {
        pairs.extend(run.chars().collect::<Vec<_>>().windows(2).map(String::from_iter));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    fn are_similar(one: &str, other: &str) -> bool {
        let (one, other) = (Fingerprint::of(one), Fingerprint::of(other));
        assert_eq!(one.is_similar(&other), other.is_similar(&one));
        one.is_similar(&other)
    }

    #[test]
    fn almost_the_same_words_are_similar() {
        for (one, other) in [
            ("We keep SQLite.", "**we keep  sqlite**"),
            (
                "We decided to keep SQLite for the waiting list.",
                "We decided to keep SQLite for the whole waiting list.",
            ),
            ("Don't push to main, please.", "don’t push to main please"),
            ("So we will keep the old parser.", "We keep the old parser"),
            ("我们决定用 SQLite 存候补名单。", "我们决定用 SQLite 存候补名单了"),
            ("我们已经决定先写测试。", "我们决定先写测试"),
        ] {
            assert!(are_similar(one, other), "{one} | {other}");
        }
    }

    /// Two statements are different if each contains a word that the other lacks.
    #[test]
    fn another_value_name_or_negation_is_not_similar() {
        for (one, other) in [
            ("The port of the server is 8080.", "The port of the server is 8081."),
            ("Always push to the main branch.", "Never push to the main branch."),
            ("Do push to main after the tests", "Do not push to main after the tests"),
            (
                "Use tabs for the indentation of all files in this project",
                "Use spaces for the indentation of all files in this project",
            ),
            (
                "Run all tests before each commit of this project",
                "Run all tests before each commit of this project only",
            ),
            ("Tests live in tests/cli of the root", "Tests live in tests/it of the root"),
            ("We use MySQL for the list", "We use NoSQL for the list"),
            (
                "We use Postgres for the waiting list of the harbour",
                "We use Redis for the waiting list of the harbour",
            ),
            ("我们决定用 SQLite 存候补名单。", "我们决定不用 SQLite 存候补名单。"),
            ("这个项目用空格缩进", "这个项目用制表缩进"),
            ("端口设为 8080", "端口设为 8081"),
            ("", "a"),
        ] {
            assert!(!are_similar(one, other), "{one} | {other}");
        }
    }
}
