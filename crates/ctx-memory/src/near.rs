//! Whether two statements say the same in nearly the same words.
//!
//! They do when the words of one are among those of the other, which has few more. Words that
//! differ on both sides may be all the difference: "tabs" and "spaces". Names, numbers, and what
//! denies or confines a statement have to be the same.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use ctx_ledger::text::key;

/// The shorter statement has at least so many hundredths of the words of the longer one.
const LEAST_PERCENT: usize = 75;

/// What turns a statement into its opposite, or confines it.
const EXACT: [&str; 27] = [
    "not", "no", "never", "without", "dont", "doesnt", "isnt", "arent", "cannot", "cant", "wont",
    "only", "except", "unless", "until", "but", "if", "instead", "不", "没", "沒", "別", "别",
    "勿", "只", "除", "仅",
];

/// Words that say nothing by themselves.
const FILLERS: [&str; 33] = [
    "a", "an", "the", "we", "i", "you", "it", "is", "are", "be", "was", "were", "will", "would",
    "please", "so", "then", "lets", "let", "us", "our", "my", "your", "yes", "ok", "okay", "just",
    "now", "that", "this", "have", "has", "been",
];

/// The same in Chinese, which is written without blanks.
const CHINESE_FILLERS: [&str; 8] = ["已经", "已經", "了", "的", "吧", "呢", "啊", "请"];

/// A statement as the words that it is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    key: String,
    /// Hashes of them in order, each once.
    all: Vec<u64>,
    /// Names, numbers, and what denies or confines.
    exact: BTreeSet<String>,
    exact_hash: u64,
}

impl Words {
    /// Of a statement.
    pub(crate) fn of(text: &str) -> Self {
        let (mut all, mut exact) = (BTreeSet::new(), BTreeSet::new());
        for word in words(text) {
            take(word, &mut all, &mut exact);
        }
        let all: BTreeSet<u64> = all.iter().map(hash).collect();
        Self {
            key: key(text),
            all: all.into_iter().collect(),
            exact_hash: hash(&exact),
            exact,
        }
    }

    /// Whether both say the same.
    pub(crate) fn is_near(&self, other: &Self) -> bool {
        if self.key == other.key {
            return true;
        }
        let (less, more) = if self.all.len() <= other.all.len() {
            (&self.all, &other.all)
        } else {
            (&other.all, &self.all)
        };
        !less.is_empty()
            && less.len() * 100 >= more.len() * LEAST_PERCENT
            && self.exact_hash == other.exact_hash
            && less.iter().all(|word| more.binary_search(word).is_ok())
    }

    /// What is the same for all statements that are near to each other, but for those with
    /// the same key.
    pub(crate) fn exact(&self) -> &BTreeSet<String> {
        &self.exact
    }

    /// By which equal statements are known.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

/// What stands between blanks and marks.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || ",;()[]\"“”「」，。；：、（）".contains(c);
    let words = text.split(ends);
    let words =
        words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '_'));
    words.filter(|word| !word.is_empty())
}

/// Whether a character is of a script that is written without blanks.
pub(crate) fn is_wide(c: char) -> bool {
    c.is_alphabetic() && u32::from(c) >= 0x2e80
}

/// Whether a word is a name or a number, by its letters.
pub(crate) fn is_name(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit() || "_/\\.@:=".contains(c))
        || word.chars().skip(1).any(char::is_uppercase)
}

/// Whether a word in small letters says nothing by itself.
pub(crate) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// In small letters, without apostrophes.
pub(crate) fn plain(word: &str) -> String {
    let lower = word.to_lowercase();
    lower.chars().filter(|c| !"'’".contains(*c)).collect()
}

/// One word between blanks; what is written without blanks is taken by each two characters.
fn take(word: &str, all: &mut BTreeSet<String>, exact: &mut BTreeSet<String>) {
    if word.contains(is_wide) {
        // A name or a number among them is one all the same.
        let names = word.split(is_wide).filter(|it| !it.is_empty());
        exact.extend(names.map(str::to_lowercase));
        let denials = word.chars().map(String::from);
        exact.extend(denials.filter(|c| EXACT.contains(&c.as_str())));
        all.extend(pairs(word));
        return;
    }
    let plain = plain(word);
    if is_name(word) || EXACT.contains(&plain.as_str()) {
        exact.insert(plain.clone());
    }
    if !is_filler(&plain) {
        all.insert(plain);
    }
}

/// Each two characters side by side of what is written without blanks.
pub(crate) fn pairs(word: &str) -> Vec<String> {
    let mut said = word.to_owned();
    for filler in CHINESE_FILLERS {
        said = said.replace(filler, "");
    }
    let runs = said.split(|c| !is_wide(c));
    let runs = runs.map(|run| run.chars().collect::<Vec<_>>());
    runs.flat_map(|run| run.windows(2).map(String::from_iter).collect::<Vec<_>>())
        .collect()
}

/// For comparison within one run.
pub(crate) fn hash(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::Words;

    fn is_near(one: &str, other: &str) -> bool {
        let (one, other) = (Words::of(one), Words::of(other));
        assert_eq!(one.is_near(&other), other.is_near(&one));
        one.is_near(&other)
    }

    /// 16: the same statement in other clothes.
    #[test]
    fn the_same_in_nearly_the_same_words() {
        for (one, other) in [
            ("We keep SQLite.", "**we keep  sqlite**"),
            (
                "We decided to keep SQLite for the waiting list.",
                "We decided to keep SQLite for the whole waiting list.",
            ),
            ("Don't push to main, please.", "don’t push to main please"),
            ("So we will keep the old parser.", "We keep the old parser"),
            (
                "我们决定用 SQLite 存候补名单。",
                "我们决定用 SQLite 存候补名单了",
            ),
            ("我们已经决定先写测试。", "我们决定先写测试"),
        ] {
            assert!(is_near(one, other), "{one} | {other}");
        }
    }

    /// 16: what differs in a value, a name, a no or in one word on each side is not merged.
    #[test]
    fn another_value_or_a_denial_is_another_statement() {
        for (one, other) in [
            (
                "The port of the server is 8080.",
                "The port of the server is 8081.",
            ),
            (
                "Always push to the main branch.",
                "Never push to the main branch.",
            ),
            (
                "Do push to main after the tests",
                "Do not push to main after the tests",
            ),
            (
                "Use tabs for the indentation of all files in this project",
                "Use spaces for the indentation of all files in this project",
            ),
            (
                "Run all tests before each commit of this project",
                "Run all tests before each commit of this project only",
            ),
            (
                "Tests lie in tests/cli of the root",
                "Tests lie in tests/it of the root",
            ),
            ("We use MySQL for the list", "We use NoSQL for the list"),
            (
                "We use Postgres for the waiting list of the harbour",
                "We use Redis for the waiting list of the harbour",
            ),
            (
                "我们决定用 SQLite 存候补名单。",
                "我们决定不用 SQLite 存候补名单。",
            ),
            ("这个项目用空格缩进", "这个项目用制表缩进"),
            ("端口设为 8080", "端口设为 8081"),
            ("", "a"),
        ] {
            assert!(!is_near(one, other), "{one} | {other}");
        }
    }
}
