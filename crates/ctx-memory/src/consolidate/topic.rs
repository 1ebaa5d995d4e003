//! Statements that say the same are one topic, with all their sources.

use std::collections::{BTreeSet, HashMap};

use chrono::NaiveDate;
use ctx_ledger::rules::MemoryKind;

use super::KINDS;
use super::said::{At, Said, Voice};
use crate::near::Words;

/// What is known of one matter.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub(super) kind: MemoryKind,
    /// The fullest wording: by hand before the user's before the agent's.
    pub(super) text: String,
    pub(super) voice: Voice,
    /// Where that stands, and then all others, the newest first.
    pub(super) sources: Vec<At>,
    /// Of the newest.
    pub(super) date: Option<NaiveDate>,
    pub(super) newest: (NaiveDate, usize),
    /// What took it back, where it does not hold any more.
    pub(super) back: Option<Back>,
    pub(super) words: Words,
}

/// What took something back.
#[derive(Clone, Debug)]
pub(super) struct Back {
    /// Its place; none of what somebody wrote into the master.
    pub(super) at: Option<At>,
    /// Its text, where it is known.
    pub(super) text: Option<String>,
}

/// The topics of statements, but of those that somebody struck out, and of what says the
/// same as one of those. `all` are those and others that may take them back.
pub(super) fn topics(told: &[Said], all: &[Said]) -> Vec<Topic> {
    let struck: Vec<&Words> = (told.iter().filter(|said| said.struck))
        .map(|said| &said.words)
        .collect();
    let is_struck = |said: &Said| struck.iter().any(|words| words.is_near(&said.words));
    let mut order: Vec<&Said> = told.iter().filter(|said| !is_struck(said)).collect();
    order.sort_by_key(|said| (said.order(), said.kind));
    let mut groups: Vec<Vec<&Said>> = Vec::new();
    let mut by_key: HashMap<&str, usize> = HashMap::new();
    let mut by_exact: HashMap<&BTreeSet<String>, Vec<usize>> = HashMap::new();
    for said in order {
        let alike = by_exact.entry(said.words.exact()).or_default();
        let near = || {
            let mut near = alike.iter();
            near.find(|at| groups[**at][0].words.is_near(&said.words))
        };
        let at = by_key.get(said.words.key()).or_else(near).copied();
        let at = at.unwrap_or_else(|| {
            alike.push(groups.len());
            groups.push(Vec::new());
            groups.len() - 1
        });
        by_key.entry(said.words.key()).or_insert(at);
        groups[at].push(said);
    }
    let topics: Vec<Topic> = groups.iter().map(|group| topic(group, all)).collect();
    without_parts(&topics)
}

/// A sentence that another topic has among others, out of the same message, is not told beside it.
fn without_parts(topics: &[Topic]) -> Vec<Topic> {
    let mut at: HashMap<&At, Vec<&Topic>> = HashMap::new();
    for topic in topics {
        for source in &topic.sources {
            at.entry(source).or_default().push(topic);
        }
    }
    let is_part = |topic: &Topic| {
        let [source] = topic.sources.as_slice() else {
            return false;
        };
        at[source].iter().any(|whole| {
            whole.back.is_some() == topic.back.is_some()
                && whole.words.key().len() > topic.words.key().len()
                && whole.words.key().contains(topic.words.key())
        })
    };
    let stays: Vec<bool> = topics.iter().map(|topic| !is_part(topic)).collect();
    let stays = topics.iter().zip(stays).filter(|(_, stays)| *stays);
    stays.map(|(topic, _)| topic.clone()).collect()
}

fn topic(group: &[&Said], all: &[Said]) -> Topic {
    // What was decided for again holds, whatever took it back before.
    let holds: Vec<&Said> = (group.iter().copied())
        .filter(|said| said.back.is_none())
        .collect();
    let told = if holds.is_empty() { group } else { &holds };
    let fullest = told.iter().max_by_key(|said| {
        let is_whole = !said.text.ends_with('…');
        let chars = said.text.chars().count();
        (said.voice, is_whole, chars, said.order())
    });
    let said = fullest.expect("a group has a statement");
    let kind = |said: &&Said| KINDS.iter().position(|kind| *kind == said.kind);
    let first = told.iter().min_by_key(|said| kind(said)).unwrap_or(said);
    let newest = told.iter().max_by_key(|said| said.order()).unwrap_or(said);
    let back = group.iter().filter_map(|said| said.back.as_ref());
    let back = back.map(|at| Back::of(at, said, all)).next_back();
    Topic {
        kind: first.kind,
        text: said.text.clone(),
        voice: said.voice,
        sources: sources(said, group),
        date: newest.date,
        newest: newest.order(),
        back: back.filter(|_| holds.is_empty()),
        words: said.words.clone(),
    }
}

fn sources(told: &Said, group: &[&Said]) -> Vec<At> {
    let mut sources = vec![told.at.clone()];
    for said in group.iter().rev() {
        if !sources.contains(&said.at) {
            sources.push(said.at.clone());
        }
    }
    sources
}

impl Back {
    /// At one place there may be several statements: the one that takes it back, else the first.
    fn of(at: &At, said: &Said, all: &[Said]) -> Self {
        let there = || all.iter().filter(|it| it.at == *at);
        let by = there().find(|by| by.stand.takes_back(&said.stand));
        let by = by.or_else(|| there().next());
        let is_master = by.is_some_and(Said::is_of_master);
        Self {
            at: (!is_master).then(|| at.clone()),
            text: by.map(|by| by.text.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_ledger::rules::MemoryKind;

    use super::{Topic, topics};
    use crate::consolidate::daily::Days;
    use crate::consolidate::said::statements;

    fn of(text: &str) -> Vec<Topic> {
        let all = statements(text, MemoryKind::Decision, "d.md", &Days::default());
        topics(&all, &all)
    }

    /// 16: one entry with the fullest wording, the date of the newest and all sources.
    #[test]
    fn duplicates_are_one_topic() {
        let found = of(
            "- We decided to keep SQLite for the waiting list. (user, a:1, 2026-11-01)\n\
             - So we decided to keep SQLite for the whole waiting list. (assistant, b:2, 2026-11-03)\n\
             - We decided to keep tabs. (user, a:9, 2026-11-01)\n\
             - We decided to keep SQLite for the waiting list! (user, c:3, 2026-11-02)\n",
        );
        let shown: Vec<_> = found
            .iter()
            .map(|it| {
                (
                    it.text.as_str(),
                    it.sources.len(),
                    it.date.expect("a date").to_string(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (
                    "We decided to keep SQLite for the waiting list!",
                    3,
                    "2026-11-03".to_owned()
                ),
                ("We decided to keep tabs.", 1, "2026-11-01".to_owned()),
            ]
        );
        let sources: Vec<String> = found[0].sources.iter().map(ToString::to_string).collect();
        assert_eq!(sources, ["c:3", "b:2", "a:1"]);
    }

    /// 16: a sentence of a longer entry of the same message is not told twice.
    #[test]
    fn a_part_of_another_topic_is_none() {
        let all = "- Never push. The live file is /var/lib/a.db. (user, a:1)\n";
        let part = "- The live file is /var/lib/a.db. (user, a:1)\n";
        assert_eq!(of(&format!("{part}{all}")).len(), 1);
        assert_eq!(of(&format!("{}{all}", part.replace("a:1", "b:1"))).len(), 2);
    }

    /// 16: what somebody struck out is not told, whoever says it again.
    #[test]
    fn what_is_struck_out_is_no_topic() {
        let found = of("- ~~We keep the old parser for now. (user, a:1)~~\n\
             - So we keep the old parser. (user, b:1)\n");
        assert!(found.is_empty(), "{found:?}");
    }

    /// 16: what was taken back holds again where somebody decided for it again.
    #[test]
    fn what_was_decided_again_holds() {
        let old = "- We keep the old parser. (user, a:1, 2026-11-01, taken back in b:1)\n";
        assert!(of(old)[0].back.is_some());
        let again = format!("{old}- So we keep the old parser now. (user, c:1, 2026-11-05)\n");
        assert!(of(&again)[0].back.is_none());
        assert_eq!(of(&again).len(), 1);
    }
}
