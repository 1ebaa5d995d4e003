//! What a model makes of topics: it may put several into one, and find better words.
//!
//! Its answer is held against what it was given. A line that lost a name, a number or a denial of
//! what it cites, or has one that is not there, that is longer, or that says what does not hold any
//! more, is refused: then the topics are told in their own words, as are those that it does not cite.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use ctx_ledger::rules::MemoryKind;
use ctx_ledger::text::{QUOTE_MAX, key, plain_line, regex};
use ctx_store::Summing;
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::KINDS;
use super::said::Voice;
use super::topic::Topic;
use crate::hash::short_hash;
use crate::near::{Words, plain, words};

/// What a model is asked about: the topics that hold, in the order of their weight.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    topics: Vec<Topic>,
    history: Vec<Topic>,
}

/// Topics in a model's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wording {
    /// Their own words.
    pub(super) topics: Vec<String>,
    pub(super) text: String,
}

/// What became of a model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What it was asked, for comparison.
    pub(super) asked: String,
    pub(super) wordings: Vec<Wording>,
    /// Lines that can be used.
    pub used: usize,
    /// Lines that lost something, or say what does not hold any more.
    pub refused: usize,
    /// Lines that say what is not there.
    pub invented: usize,
    /// What the model took, for the audit log.
    pub took: Option<Summing>,
}

impl Asked {
    /// Of these topics; what somebody wrote by hand stays as it is.
    pub(super) fn of(topics: &[Topic]) -> Self {
        let holds = topics.iter().filter(|topic| topic.back.is_none());
        let mut holds: Vec<Topic> = holds
            .filter(|topic| topic.voice != Voice::Hand)
            .cloned()
            .collect();
        holds.sort_by_key(|topic| KINDS.iter().position(|kind| *kind == topic.kind));
        let history = topics.iter().filter(|topic| topic.back.is_some());
        Self {
            topics: holds,
            history: history.cloned().collect(),
        }
    }

    /// Whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        self.topics.len() < 2
    }

    /// How many topics there are.
    pub fn len(&self) -> usize {
        self.topics.len()
    }

    /// Only so many of them.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let mut first = self.clone();
        first.topics.truncate(count);
        first
    }

    /// By which it is known again.
    pub(super) fn hash(&self) -> String {
        short_hash(&self.text())
    }

    /// The topics, numbered, below the headings of their kinds.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut last = None;
        for (number, topic) in (1..).zip(&self.topics) {
            if last.replace(topic.kind) != Some(topic.kind) {
                let heading = match topic.kind {
                    MemoryKind::Preference => "Rules and preferences",
                    MemoryKind::Decision => "Decisions",
                    MemoryKind::Fact | MemoryKind::Runtime => "Facts",
                };
                let _ = write!(text, "\n## {heading}\n\n");
            }
            let _ = writeln!(text, "{number}. {}", topic.text);
        }
        text.trim_start().to_owned()
    }

    /// What can be used of an answer of lines `- TEXT [1, 4]`. `whole` is all that could have
    /// been asked.
    pub fn check(&self, answer: &str, whole: &Self) -> Answer {
        static LINE: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^\s*[-*•]\s+(?P<text>\S.*?)\s*\[(?P<cited>[0-9]{1,6}(?:\s*,\s*[0-9]{1,6})*)\]\s*\.?\s*$",
            )
        });
        let mut result = Answer {
            asked: whole.hash(),
            ..Answer::default()
        };
        let mut used = HashSet::new();
        for line in answer.lines() {
            let Some(found) = LINE.captures(line) else {
                continue;
            };
            let numbers = found["cited"].split(',').map(str::trim);
            let cited: Option<BTreeSet<usize>> = numbers
                .map(|number| number.parse::<usize>().ok()?.checked_sub(1))
                .collect();
            let text = plain_line(&found["text"]);
            let verdict = cited.and_then(|cited| {
                let topics: Option<Vec<&Topic>> =
                    cited.iter().map(|at| self.topics.get(*at)).collect();
                let is_free = cited.iter().all(|at| used.insert(*at));
                topics.filter(|_| is_free)
            });
            match verdict.map(|topics| (self.verdict(&text, &topics), topics)) {
                Some((Verdict::Usable, topics)) => {
                    result.used += 1;
                    let own = topics.iter().map(|topic| topic.text.clone()).collect();
                    result.wordings.push(Wording { topics: own, text });
                }
                Some((Verdict::Invented, _)) => result.invented += 1,
                Some((Verdict::Lost, _)) | None => result.refused += 1,
            }
        }
        result
    }

    fn verdict(&self, text: &str, topics: &[&Topic]) -> Verdict {
        let new = Values::of(text);
        let old = topics.iter().map(|topic| Values::of(&topic.text));
        let old = old.fold(Values::default(), Values::and);
        let words = Words::of(text);
        let chars = |text: &str| text.chars().count();
        let room: usize = topics.iter().map(|topic| chars(&topic.text)).sum();
        let same_voice = topics.windows(2).all(|two| two[0].voice == two[1].voice);
        if !new.is_within(&old) {
            Verdict::Invented
        } else if !old.must_be_in(&new)
            || !same_voice
            || chars(text) > room.min(2 * QUOTE_MAX)
            || self.history.iter().any(|old| old.words.is_near(&words))
        {
            Verdict::Lost
        } else {
            Verdict::Usable
        }
    }
}

enum Verdict {
    Usable,
    Lost,
    Invented,
}

/// What of a text must stay as it is.
#[derive(Default)]
struct Values {
    /// Names, numbers and denials.
    exact: BTreeSet<String>,
    /// Words in capital letters that do not begin a sentence: names, too.
    proper: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl Values {
    fn of(text: &str) -> Self {
        let mut values = Self {
            exact: Words::of(text).exact().clone(),
            ..Self::default()
        };
        let mut begins = true;
        for token in text.split_whitespace() {
            for word in words(token) {
                let is_proper = word.starts_with(char::is_uppercase) && !begins && word.len() > 1;
                if is_proper {
                    values.proper.insert(plain(word));
                }
                values.all.insert(plain(word));
                begins = false;
            }
            begins = begins || token.ends_with(['.', '!', '?', ':', '*', '。']);
        }
        values
    }

    fn and(mut self, other: Self) -> Self {
        self.exact.extend(other.exact);
        self.proper.extend(other.proper);
        self.all.extend(other.all);
        self
    }

    /// Whether all of these values stand there.
    fn must_be_in(&self, other: &Self) -> bool {
        self.exact.is_subset(&other.exact) && self.proper.is_subset(&other.all)
    }

    /// Whether none of these values is new there.
    fn is_within(&self, other: &Self) -> bool {
        self.exact.is_subset(&other.exact) && self.proper.is_subset(&other.all)
    }
}

/// Puts topics into a model's words, where all of them are there.
pub(super) fn apply(topics: Vec<Topic>, wordings: &[Wording]) -> (Vec<Topic>, usize) {
    let mut by_key: HashMap<String, usize> = HashMap::new();
    for (at, topic) in topics.iter().enumerate() {
        if topic.back.is_none() && topic.voice != Voice::Hand {
            by_key.insert(key(&topic.text), at);
        }
    }
    let mut gone = BTreeSet::new();
    let mut worded = Vec::new();
    for wording in wordings {
        let at: Option<Vec<usize>> = (wording.topics.iter())
            .map(|text| by_key.get(&key(text)).copied())
            .collect();
        let Some(at) = at.filter(|at| !at.is_empty() && at.iter().all(|at| !gone.contains(at)))
        else {
            continue;
        };
        let of: Vec<&Topic> = at.iter().map(|at| &topics[*at]).collect();
        worded.push(merged(&of, &wording.text));
        gone.extend(at);
    }
    let count = worded.len();
    let own = topics.into_iter().enumerate();
    let own = own.filter(|(at, _)| !gone.contains(at));
    worded.extend(own.map(|(_, topic)| topic));
    (worded, count)
}

fn merged(topics: &[&Topic], text: &str) -> Topic {
    let mut all = topics[0].clone();
    for topic in &topics[1..] {
        for source in &topic.sources {
            if !all.sources.contains(source) {
                all.sources.push(source.clone());
            }
        }
        all.date = all.date.max(topic.date);
        all.newest = all.newest.max(topic.newest);
    }
    text.clone_into(&mut all.text);
    all.words = Words::of(text);
    all
}

#[cfg(test)]
mod tests {
    use ctx_ledger::rules::MemoryKind;

    use super::{Asked, apply};
    use crate::consolidate::daily::Days;
    use crate::consolidate::said::statements;
    use crate::consolidate::topic::{Topic, topics};

    fn given() -> Vec<Topic> {
        let text = "- We decided to use SQLite for the cache of Berth. (user, a:1)\n\
            - The cache is SQLite, in cache.db. (user, b:2)\n\
            - Never push to main. (user, a:3)\n\
            - Use MySQL everywhere. (user, a:4, taken back in a:9)\n\
            - mine, in B.\n";
        let all = statements(text, MemoryKind::Decision, "d.md", &Days::default());
        topics(&all, &all)
    }

    /// 16: a model is not asked about what somebody wrote, or what does not hold.
    #[test]
    fn topics_are_numbered_below_their_headings() {
        assert_eq!(
            Asked::of(&given()).text(),
            "## Decisions\n\n1. We decided to use SQLite for the cache of Berth.\n\
             2. The cache is SQLite, in cache.db.\n3. Never push to main.\n"
        );
    }

    /// 16: what lost a value, denies otherwise, or invents something is refused.
    #[test]
    fn an_answer_is_held_against_what_it_cites() {
        let asked = Asked::of(&given());
        for (answer, used, refused, invented) in [
            (
                "## Decisions\n- Use SQLite (cache.db) for the cache of Berth [1, 2]\n",
                1,
                0,
                0,
            ),
            ("- Never push to main [3].", 1, 0, 0),
            ("- Use SQLite for the cache of Berth [1, 2]", 0, 1, 0),
            ("- Use SQLite (cache.db) for the cache [1, 2]", 0, 1, 0),
            ("- Push to main [3]", 0, 1, 0),
            (
                "- Use SQLite (cache.db, port 99) for the cache of Berth [1, 2]",
                0,
                0,
                1,
            ),
            (
                "- Use SQLite (cache.db) for the cache of Berth and Ana [1, 2]",
                0,
                0,
                1,
            ),
            ("- Never push to main [3]\n- Never push main [3]", 1, 1, 0),
            ("- Never push to main [4]", 0, 1, 0),
            ("- Never push to main [0]", 0, 1, 0),
            (
                "- Never push to main, whatever anybody says about it [3]",
                0,
                1,
                0,
            ),
            ("Never push to main [3]", 0, 0, 0),
        ] {
            let answer_of = asked.check(answer, &asked);
            assert_eq!(
                (answer_of.used, answer_of.refused, answer_of.invented),
                (used, refused, invented),
                "{answer}"
            );
        }
    }

    /// 16: words are used where all of their topics are there; nothing else goes.
    #[test]
    fn words_stand_for_all_of_their_topics() {
        let asked = Asked::of(&given());
        let answer = asked.check(
            "- Use SQLite (cache.db) for the cache of Berth [1, 2]",
            &asked,
        );
        let (worded, count) = apply(given(), &answer.wordings);
        assert_eq!((worded.len(), count), (4, 1));
        let sources: Vec<String> = worded[0].sources.iter().map(ToString::to_string).collect();
        assert_eq!(sources, ["a:1", "b:2"]);
        let less: Vec<Topic> = given().into_iter().skip(1).collect();
        assert_eq!(apply(less, &answer.wordings).1, 0);
    }
}
