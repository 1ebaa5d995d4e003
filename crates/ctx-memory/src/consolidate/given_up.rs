//! What a statement gives up, and whether it takes back an earlier one of another session.
//!
//! Within a session two decisions about one thing stand near to each other, and
//! [`ctx_ledger::supersedes`] asks for one word that both have. Between sessions that says nothing:
//! "proceed" is in all of them. So here the later statement has to name what it gives up
//! ("tabs instead of blanks"), which the earlier one is for; or, where it names nothing
//! ("let's switch to Redis for the cache"), to share half of what the earlier one is about.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use ctx_ledger::text::{QUOTE_MAX, first_chars, regex};
use regex::Regex;

use crate::near::{hash, is_filler, is_name, is_wide, pairs, plain, words};

/// Before what is given up.
static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)\b(?:
            instead\ of | rather\ than | in\ place\ of | (?:stop|stopped|stops)\ using | no\ longer\ (?:use|using|want|need|keep|
            support|store|put|run|go\ with|rely\ on) | (?:abandon|give\ up\ on|get\ rid\ of)(?:ed|s|ing)?
        )\s+(?P<what>[^,.;:()]+)
        | (?:不再|而不是|而非|代替|取代|弃用|放弃|棄用|放棄)(?:继续|繼續)?(?:使用|采用|採用|用)?\s*(?P<wide>[^，。；：,;（(]+)",
    )
});

/// Around what is given up.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)\b(?:
            (?:switch|switched|switching|move|moved|moving|migrate|migrated)\ (?:\w+\ ){0,3}?(?:away\ )?from\ (?P<from>[^,.;:()]+?)\ (?:to|onto)\b
            | replac(?:e|es|ed|ing)\ (?P<replaced>[^,.;:()]+?)\ (?:with|by)\b
            | not\ (?:use\ |using\ )?(?P<nomore>[^,.;:()]+?)\ any\ ?more\b
            | drop(?:ped|ping)?\ (?P<dropped>[^,.;:()]+?)\ (?:for|in\ favou?r\ of)\b
        )
        | (?:从|由|從)\s*(?P<wide>[^，。；：,;]+?)\s*(?:改为|改成|换成|换为|改用|替换为|替换成|切换到|迁移到|改為|換成|換為|替換為|切換到|遷移到)",
    )
});

/// Something is given up, and not named.
static UNNAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)\b(?:instead | switch(?:ed|ing)?\ (?:\w+\ ){0,3}to | chang(?:e|ed|ing)\ (?:my|our)\ minds?)\b
        | 改用|改为|改成|换成|换为|切换到|改為|換成|換為|切換到",
    )
});

/// What follows what is given up, and is not of it.
static END: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\s(?:for|because|since|as|with|and|but|so|to|in|on|when|where|which|that|from|by|at)\s.*$",
    )
});

/// What people write into a memory file may be longer, and is looked at up to here.
const LONGEST: usize = 2 * QUOTE_MAX;

/// Words that every decision may have.
const OF_DECIDING: [&str; 52] = [
    "about", "after", "also", "and", "any", "but", "change", "changed", "changing", "choose",
    "chose", "confirm", "decide", "decided", "decision", "for", "from", "going", "have", "instead",
    "into", "keep", "like", "longer", "mind", "minds", "more", "move", "need", "not", "off", "one",
    "option", "please", "proceed", "put", "rather", "replace", "should", "switch", "switched",
    "than", "that", "the", "there", "these", "this", "use", "used", "using", "want", "with",
];
const OF_DECIDING_IN_CHINESE: &str = "我们 我們 咱们 决定 決定 使用 采用 採用 改用 改为 改為 改成 换成 換成 换为 换到 切换到 设为 設為 设成 不再 用";

/// A statement as what it is for and what it gives up.
#[derive(Clone, Debug)]
pub(super) struct Stand {
    given_up: Vec<Subjects>,
    kept: Subjects,
    /// Where nothing is named, what it is about: of "switch to" what stands behind that.
    about: Option<Subjects>,
}

/// What a text is about: hashes of words, in order.
#[derive(Clone, Debug, Default)]
struct Subjects {
    all: Vec<u64>,
    names: Vec<u64>,
}

impl Stand {
    /// Of a statement.
    pub(super) fn of(text: &str) -> Self {
        let text = first_chars(text, LONGEST);
        let mut rest = text.to_owned();
        let mut given_up = Vec::new();
        for found in (BEFORE.captures_iter(text)).chain(BETWEEN.captures_iter(text)) {
            let names = ["what", "wide", "from", "replaced", "nomore", "dropped"];
            let Some(what) = names.iter().find_map(|name| found.name(name)) else {
                continue;
            };
            let what = END.replace(what.as_str(), "");
            rest = rest.replacen(&*what, " ", 1);
            let subjects = Subjects::of(&what);
            if !subjects.all.is_empty() {
                given_up.push(subjects);
            }
        }
        let unnamed = UNNAMED.find(text).filter(|_| given_up.is_empty());
        let about = unnamed.map(|found| {
            let is_switch = found.as_str().to_lowercase().starts_with("switch");
            Subjects::of(if is_switch {
                &text[found.end()..]
            } else {
                text
            })
        });
        Self {
            given_up,
            kept: Subjects::of(&rest),
            about,
        }
    }

    /// Whether it gives anything up.
    pub(super) fn gives_up(&self) -> bool {
        self.about.is_some() || self.names_it()
    }

    /// Whether it names what it gives up.
    pub(super) fn names_it(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// Whether this, said later, takes the earlier one back.
    pub(super) fn takes_back(&self, earlier: &Self) -> bool {
        let (old, new) = (&earlier.kept.all, &self.kept.all);
        let shared = || old.iter().filter(|word| has(new, **word)).count();
        let is_named = |what: &Subjects| {
            if !what.names.is_empty() {
                return what.names.iter().any(|name| has(old, *name));
            }
            // One common word alone may be in anything.
            let is_about = || what.all.len() > 1 || what.all.len() * 2 >= old.len() || shared() > 0;
            what.all.iter().all(|word| has(old, *word)) && is_about()
        };
        if self.given_up.iter().any(is_named) {
            return true;
        }
        let Some(about) = &self.about else {
            return false;
        };
        // Where one has all of the other, it says the same again.
        let says_again = [shared() == old.len(), shared() == new.len()];
        let about = old.iter().filter(|word| has(&about.all, **word)).count();
        about > 0 && about * 2 >= old.len() && !says_again.contains(&true)
    }
}

fn has(words: &[u64], word: u64) -> bool {
    words.binary_search(&word).is_ok()
}

impl Subjects {
    fn of(text: &str) -> Self {
        let (mut all, mut names) = (BTreeSet::new(), BTreeSet::new());
        let mut text = text.to_owned();
        for word in OF_DECIDING_IN_CHINESE.split(' ') {
            text = text.replace(word, " ");
        }
        for word in words(&text) {
            for part in word.split(is_wide).filter(|part| !part.is_empty()) {
                let lower = plain(part);
                if is_name(part) {
                    names.insert(hash(&lower));
                }
                let says = lower.chars().count() >= 3 || is_name(part);
                if says && !OF_DECIDING.contains(&lower.as_str()) && !is_filler(&lower) {
                    all.insert(hash(&lower));
                }
            }
            all.extend(pairs(word).iter().map(hash));
        }
        Self {
            all: all.into_iter().collect(),
            names: names.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;

    use super::Stand;

    fn takes_back(later: &str, earlier: &str) -> bool {
        Stand::of(later).takes_back(&Stand::of(earlier))
    }

    /// 16: what a decision gives up by name, or is about without naming it, is taken back.
    #[test]
    fn what_is_given_up_is_taken_back() {
        for (later, earlier) in [
            (
                "We decided to put the waiting list into Postgres instead of SQLite.",
                "我们决定用 SQLite 存候补名单，单独一个文件 waitlist.db。",
            ),
            (
                "Let's use Redis instead of SQLite.",
                "We decided to use SQLite for the cache.",
            ),
            (
                "Let's switch to Redis for the cache.",
                "We decided to use SQLite for the cache.",
            ),
            (
                "We decided to no longer use tabs for indentation.",
                "We decided to use tabs for indentation.",
            ),
            (
                "We replaced the cron job with a systemd timer.",
                "Let's go with a cron job for the nightly export.",
            ),
            (
                "We moved the builds from Jenkins to Buildkite.",
                "The builds run on Jenkins.",
            ),
            (
                "我们决定改用 Postgres，不再用 SQLite。",
                "我们决定用 SQLite 存候补名单。",
            ),
            ("端口改为 8081", "端口设为 8080"),
            ("数据库从 SQLite 换成 Postgres", "决定用 SQLite"),
            ("我們決定不再使用製表符縮排", "我們決定使用製表符縮排"),
        ] {
            assert!(takes_back(later, earlier), "{later} | {earlier}");
        }
    }

    /// 16: one word in common takes nothing back, and what says the same again does not either.
    #[test]
    fn what_is_about_something_else_stays() {
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
            (
                "Let's use tabs instead of spaces.",
                "We decided to use SQLite for the cache.",
            ),
            (
                "Let's put the names into a table rather than a file of their own.",
                "We decided to write the log into a file beside the session, once a day.",
            ),
            (
                "Let's remove the reproduce.py file since it is no longer needed.",
                "We decided to keep the reproduce.py file.",
            ),
            ("We keep SQLite.", "We use SQLite."),
            ("端口改为 8081", "端口 8443 只对内网开放"),
        ] {
            assert!(!takes_back(later, earlier), "{later} | {earlier}");
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in [
            "instead of a ",
            "replace ",
            "从",
            "not a any",
            "switch a b from c ",
        ] {
            assert_linear(piece, |text| {
                assert!(!Stand::of(text).kept.all.contains(&0));
            });
        }
    }
}
