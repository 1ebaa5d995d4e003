//! Determines what a statement chooses, what it abandons, and whether it supersedes an earlier
//! statement from another session.
//!
//! Within one session, two decisions on the same matter are close together, so one shared word is
//! enough for [`ctx_summary::ledger::supersedes`]. Across sessions, one shared word proves nothing:
//! "proceed", for example, occurs in every session. A later statement that names what it abandons
//! ("tabs instead of blanks") supersedes an earlier one only if that one chose exactly this. A
//! later statement that abandons something without naming it ("let's switch to Redis for the
//! cache") supersedes an earlier one only if it contains at least half of the earlier one's terms.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use ctx_summary::ledger::patterns::QUOTE_MAX;
use ctx_text::{Lists, WordSet, first_chars, hash, regex};
use regex::Regex;

use crate::similarity::{is_filler, is_name, is_wide, pairs, plain, words};

static LISTS: Lists = Lists::new(include_str!("lists.txt"));

static BEFORE: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("before")));
static AROUND: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("around")));
static UNNAMED: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("unnamed")));
static END: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("end")));
static DECISION_WORDS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("decision words"));
static CHINESE_DECISION_WORDS: LazyLock<Vec<String>> =
    LazyLock::new(|| LISTS.entries("decision words, in Chinese"));

/// The maximum number of characters to examine in a statement. Statements written by people may be
/// longer.
const LONGEST: usize = 2 * QUOTE_MAX;

/// A statement, viewed as a choice between alternatives.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    abandoned: Vec<Terms>,
    kept: Terms,
    /// The terms that say what the statement is about. `None` unless the statement abandons
    /// something without naming it. If the statement contains "switch to", only the terms after
    /// these words count.
    about: Option<Terms>,
}

/// Sorted hashes of meaningful words.
#[derive(Clone, Debug, Default)]
struct Terms {
    all: Vec<u64>,
    /// Sorted hashes of the names and numbers in the text.
    names: Vec<u64>,
}

impl Choice {
    pub(super) fn of(statement: &str) -> Self {
        let text = first_chars(statement, LONGEST);
        let mut kept = text.to_owned();
        let mut abandoned = Vec::new();
        for found in BEFORE.captures_iter(text).chain(AROUND.captures_iter(text)) {
            let Some(name) = found.iter().skip(1).flatten().next() else { continue };
            let name = END.replace(name.as_str(), "");
            kept = kept.replacen(&*name, " ", 1);
            let terms = Terms::of(&name);
            if !terms.all.is_empty() {
                abandoned.push(terms);
            }
        }
        let mut about = None;
        if abandoned.is_empty()
            && let Some(found) = UNNAMED.find(text)
        {
            let is_switch = found.as_str().to_lowercase().starts_with("switch");
            about = Some(Terms::of(if is_switch { &text[found.end()..] } else { text }));
        }
        Self { abandoned, kept: Terms::of(&kept), about }
    }

    pub(super) fn abandons_something(&self) -> bool {
        self.about.is_some() || self.names_abandoned()
    }

    /// Returns true if the statement names what it abandons.
    pub(super) fn names_abandoned(&self) -> bool {
        !self.abandoned.is_empty()
    }

    /// Returns true if this statement supersedes the `earlier` one.
    pub(super) fn supersedes(&self, earlier: &Self) -> bool {
        let (old, new) = (&earlier.kept.all, &self.kept.all);
        if self.abandoned.iter().any(|terms| self.is_for(earlier, terms)) {
            return true;
        }
        let Some(about) = &self.about else { return false };
        let shared = common(old, new);
        let says_the_same = shared == old.len() || shared == new.len();
        let about = common(old, &about.all);
        about > 0 && about * 2 >= old.len() && !says_the_same
    }

    /// Returns true if an earlier statement chose what this statement abandons.
    fn is_for(&self, earlier: &Self, abandoned: &Terms) -> bool {
        let old = &earlier.kept.all;
        if !abandoned.names.is_empty() {
            return common(&abandoned.names, old) > 0;
        }
        let count = abandoned.all.len();
        // A single shared word proves nothing unless it makes up at least half of the earlier
        // statement or the two statements share another word.
        common(&abandoned.all, old) == count
            && (count > 1 || count * 2 >= old.len() || common(old, &self.kept.all) > 0)
    }
}

/// Counts the `terms` that also occur in `others`. The slice `others` must be sorted.
fn common(terms: &[u64], others: &[u64]) -> usize {
    terms.iter().filter(|term| others.binary_search(term).is_ok()).count()
}

impl Terms {
    fn of(text: &str) -> Self {
        let (mut all, mut names) = (BTreeSet::new(), BTreeSet::new());
        let mut text = text.to_owned();
        for word in CHINESE_DECISION_WORDS.iter() {
            text = text.replace(word.as_str(), " ");
        }
        for word in words(&text) {
            for part in word.split(is_wide).filter(|part| !part.is_empty()) {
                let lower = plain(part);
                if is_name(part) {
                    names.insert(hash(&lower));
                }
                let is_long = lower.chars().count() >= 3 || is_name(part);
                if is_long && !DECISION_WORDS.contains(&lower) && !is_filler(&lower) {
                    all.insert(hash(&lower));
                }
            }
            all.extend(pairs(word).iter().map(hash));
        }
        Self { all: all.into_iter().collect(), names: names.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;

    use super::Choice;

    fn supersedes(later: &str, earlier: &str) -> bool {
        Choice::of(later).supersedes(&Choice::of(earlier))
    }

    #[test]
    fn an_abandoned_choice_is_superseded() {
        for (later, earlier) in [
            (
                "We decided to put the waiting list into Postgres instead of SQLite.",
                "我们决定用 SQLite 存候补名单，单独一个文件 waitlist.db。",
            ),
            ("Let's use Redis instead of SQLite.", "We decided to use SQLite for the cache."),
            ("Let's switch to Redis for the cache.", "We decided to use SQLite for the cache."),
            (
                "We decided to no longer use tabs for indentation.",
                "We decided to use tabs for indentation.",
            ),
            (
                "We replaced the cron job with a systemd timer.",
                "Let's go with a cron job for the nightly export.",
            ),
            ("We moved the builds from Jenkins to Buildkite.", "The builds run on Jenkins."),
            ("我们决定改用 Postgres，不再用 SQLite。", "我们决定用 SQLite 存候补名单。"),
            ("端口改为 8081", "端口设为 8080"),
            ("数据库从 SQLite 换成 Postgres", "决定用 SQLite"),
            ("我們決定不再使用製表符縮排", "我們決定使用製表符縮排"),
        ] {
            assert!(supersedes(later, earlier), "{later} | {earlier}");
        }
    }

    #[test]
    fn a_common_word_and_a_repetition_supersede_nothing() {
        for (later, earlier) in [
            (
                "Yes, I'd like to proceed with the upgrade and switch to the nonstop flight.",
                "Yes, please proceed with the upgrade to economy.",
            ),
            (
                "Yes, I'd like to proceed with the upgrade and switch to the nonstop flight.",
                "Yes, please proceed with canceling reservation NQNU5R.",
            ),
            (
                "We use Postgres instead of SQLite for the list.",
                "So we put the list into Postgres instead of SQLite.",
            ),
            (
                "Let's switch to Redis for the cache.",
                "We switch to Redis for the cache of the front end.",
            ),
            ("Let's use tabs instead of spaces.", "We decided to use SQLite for the cache."),
            (
                "Let's put the names into a table rather than a file of their own.",
                "We decided to write the log into a file next to the session, once a day.",
            ),
            (
                "Let's remove the reproduce.py file since it is no longer needed.",
                "We decided to keep the reproduce.py file.",
            ),
            ("We keep SQLite.", "We use SQLite."),
            ("端口改为 8081", "端口 8443 只对内网开放"),
        ] {
            assert!(!supersedes(later, earlier), "{later} | {earlier}");
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in ["instead of a ", "replace ", "从", "not a any", "switch a b from c "] {
            assert_linear(piece, |text| {
                assert!(!Choice::of(text).kept.all.contains(&0));
            });
        }
    }
}
