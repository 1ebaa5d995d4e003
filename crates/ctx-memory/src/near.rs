//! Whether two statements say the same in nearly the same words.
//!
//! Kept apart are statements that differ in a number, a name or a path, or in whether they say no:
//! "the port is 8080" and "the port is 8081" share all other words.

use std::collections::BTreeSet;

use ctx_ledger::text::key;

/// Of all words of both, how many hundredths they must share.
const SHARED_PERCENT: usize = 75;

/// What turns a statement into its opposite.
const DENIALS: [&str; 17] = [
    "not", "no", "never", "without", "dont", "doesnt", "isnt", "arent", "cannot", "cant", "wont",
    "不", "没", "沒", "別", "别", "勿",
];

/// A statement as the words that it is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    key: String,
    all: BTreeSet<String>,
    /// Names, numbers and denials: those have to be the same.
    exact: BTreeSet<String>,
}

impl Words {
    /// Of a statement.
    pub fn of(text: &str) -> Self {
        let key = key(text);
        let (mut all, mut exact) = (BTreeSet::new(), BTreeSet::new());
        for word in
            text.split(|c: char| c.is_whitespace() || ",;()[]\"“”「」，。；：、（）".contains(c))
        {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '_');
            if !word.is_empty() {
                take(word, &mut all, &mut exact);
            }
        }
        Self { key, all, exact }
    }

    /// Whether both say the same.
    pub fn is_near(&self, other: &Self) -> bool {
        if self.key == other.key {
            return true;
        }
        if self.exact != other.exact {
            return false;
        }
        let shared = self.all.intersection(&other.all).count();
        let both = self.all.union(&other.all).count();
        shared * 100 >= both * SHARED_PERCENT && both > 0
    }
}

/// One word between blanks; what is written without blanks is taken by each two characters.
fn take(word: &str, all: &mut BTreeSet<String>, exact: &mut BTreeSet<String>) {
    let chars: Vec<char> = word.chars().collect();
    let is_wide = |c: &char| c.is_alphabetic() && u32::from(*c) >= 0x2e80;
    if chars.iter().any(is_wide) {
        for pair in chars.windows(2) {
            all.insert(pair.iter().collect());
        }
        // A name or a number among them is one all the same.
        for name in word
            .split(|c: char| is_wide(&c))
            .filter(|it| !it.is_empty())
        {
            exact.insert(name.to_lowercase());
        }
        for c in chars {
            if DENIALS.contains(&c.to_string().as_str()) {
                exact.insert(c.to_string());
            }
        }
        return;
    }
    let lower = word.to_lowercase();
    let plain: String = lower.chars().filter(|c| !"'’".contains(*c)).collect();
    let is_name = lower.contains(|c: char| c.is_ascii_digit() || "_/\\.@:=".contains(c))
        || chars.iter().skip(1).any(|c| c.is_uppercase());
    if is_name || DENIALS.contains(&plain.as_str()) {
        exact.insert(plain.clone());
    }
    all.insert(plain);
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
            (
                "我们决定用 SQLite 存候补名单。",
                "我们决定用 SQLite 存候补名单了",
            ),
        ] {
            assert!(is_near(one, other), "{one} | {other}");
        }
    }

    /// 16: what differs in a value, a name or a no is not merged.
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
                "Tests lie in tests/cli of the root",
                "Tests lie in tests/it of the root",
            ),
            ("We use MySQL for the list", "We use NoSQL for the list"),
            (
                "我们决定用 SQLite 存候补名单。",
                "我们决定不用 SQLite 存候补名单。",
            ),
            ("端口设为 8080", "端口设为 8081"),
            ("", "a"),
        ] {
            assert!(!is_near(one, other), "{one} | {other}");
        }
    }
}
