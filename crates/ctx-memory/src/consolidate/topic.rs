//! A topic is a group of statements that say the same thing. The generated part of the master lists
//! topics.
//!
//! The part has four sections: rules, decisions, facts, and statements that no longer hold. Each
//! section starts with topics from editors, followed by topics from users and then from agents.
//! Within each group, topics from the most sessions come first; ties are broken by time, newest
//! first. Each section gets a share of the token limit; tokens that a section does not need go to
//! the other sections, in order.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use chrono::NaiveDate;
use ctx_format::compaction::is_uuid;
use ctx_summary::ledger::patterns::MemoryKind;
use ctx_text::shorten;

use super::master::HISTORY;
use super::place_of;
use super::statement::{Author, Order, Statement};
use crate::entry::Citation;
use crate::similarity::Fingerprint;

/// A group of statements that say the same thing.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub(super) kind: MemoryKind,
    /// The most complete wording of the topic. An editor's wording is preferred to a user's, and a
    /// user's to an agent's.
    pub(super) text: String,
    author: Author,
    /// The citation of `text`, then the citations of all other statements, newest first.
    citations: Vec<Citation>,
    /// The date of the newest statement.
    date: Option<NaiveDate>,
    /// The sort key of the newest statement.
    newest: Order,
    /// The reason why the topic no longer holds, such as `taken back in b:4: TEXT`; `None` if the
    /// topic holds.
    pub(super) retraction: Option<String>,
    pub(super) fingerprint: Fingerprint,
}

/// Groups the `listed` statements into topics, except those similar to a statement that a person
/// struck out. `all` also contains unlisted statements, because they may supersede listed ones.
pub(super) fn topics(listed: &[Statement], all: &[Statement]) -> Vec<Topic> {
    let struck: Vec<&Statement> = listed.iter().filter(|it| it.is_struck).collect();
    let mut order: Vec<&Statement> = listed.iter().collect();
    order.retain(|it| !struck.iter().any(|struck| struck.fingerprint.is_similar(&it.fingerprint)));
    order.sort_by_key(|it| (it.order, it.kind));
    let mut groups: Vec<Vec<&Statement>> = Vec::new();
    let mut by_key: HashMap<&str, usize> = HashMap::new();
    let mut by_exact: HashMap<&BTreeSet<String>, Vec<usize>> = HashMap::new();
    for statement in order {
        let fingerprint = &statement.fingerprint;
        let candidates = by_exact.entry(&fingerprint.exact).or_default();
        let similar = || {
            let mut candidates = candidates.iter();
            candidates.find(|at| groups[**at][0].fingerprint.is_similar(fingerprint))
        };
        let at = by_key.get(fingerprint.key.as_str()).or_else(similar).copied();
        let at = at.unwrap_or_else(|| {
            candidates.push(groups.len());
            groups.push(Vec::new());
            groups.len() - 1
        });
        by_key.entry(&fingerprint.key).or_insert(at);
        groups[at].push(statement);
    }
    let mut topics: Vec<Topic> = groups.iter().map(|group| Topic::of(group, all)).collect();
    let mut is_fragment = fragments(&topics).into_iter();
    topics.retain(|_| !is_fragment.next().expect("one for each topic"));
    topics
}

/// Returns, for each topic, whether another topic from the same message contains its text.
fn fragments(topics: &[Topic]) -> Vec<bool> {
    let mut by_citation: HashMap<&Citation, Vec<&Topic>> = HashMap::new();
    for topic in topics {
        for citation in &topic.citations {
            by_citation.entry(citation).or_default().push(topic);
        }
    }
    let is_fragment = |topic: &Topic| {
        let [citation] = topic.citations.as_slice() else { return false };
        let key = &topic.fingerprint.key;
        by_citation[citation].iter().any(|whole| {
            whole.retraction.is_some() == topic.retraction.is_some()
                && whole.fingerprint.key.len() > key.len()
                && whole.fingerprint.key.contains(key)
        })
    };
    topics.iter().map(is_fragment).collect()
}

impl Topic {
    fn of(group: &[&Statement], all: &[Statement]) -> Self {
        // The topic holds if any of its statements is not superseded, because such a statement is a
        // new decision on the topic.
        let mut valid = group.to_vec();
        valid.retain(|it| it.taken_back.is_none());
        let holds = !valid.is_empty();
        let shown = if holds { valid.as_slice() } else { group };
        let fullest = shown.iter().max_by_key(|it| {
            let is_whole = !it.text.ends_with('…');
            (it.author, is_whole, it.text.chars().count(), it.order)
        });
        let fullest = fullest.expect("a group has a statement");
        let kind = shown.iter().map(|it| it.kind).min_by_key(|kind| place_of(*kind));
        let newest = shown.iter().max_by_key(|it| it.order).unwrap_or(fullest);
        let mut citations = vec![fullest.citation.clone()];
        for statement in group.iter().rev() {
            if !citations.contains(&statement.citation) {
                citations.push(statement.citation.clone());
            }
        }
        let by = group.iter().rev().find_map(|it| it.taken_back.as_ref());
        let retraction = by.filter(|_| !holds).map(|by| retraction_of(fullest, by, all));
        Self {
            kind: kind.unwrap_or(fullest.kind),
            text: fullest.text.clone(),
            author: fullest.author,
            citations,
            date: newest.date,
            newest: newest.order,
            retraction,
            fingerprint: fullest.fingerprint.clone(),
        }
    }

    /// The index of the topic's section in [`SECTIONS`].
    fn section(&self) -> usize {
        if self.retraction.is_some() { SECTIONS.len() - 1 } else { place_of(self.kind) }
    }

    /// Formats the topic as `- TEXT (user, a:12, b:7 and 3 more; 2026-11-20)`.
    fn line(&self) -> String {
        let author = match self.author {
            Author::Editor => "by hand",
            Author::User => "user",
            Author::Agent => "assistant",
        };
        let cited: Vec<String> = self.citations.iter().take(MOST_CITED).map(short).collect();
        let mut line = format!("- {} ({author}, {}", self.text, cited.join(", "));
        let more = self.citations.len().saturating_sub(MOST_CITED);
        line.extend((more > 0).then(|| format!(" and {more} more")));
        line.extend(self.date.map(|date| format!("; {date}")));
        line.push(')');
        line.extend(self.retraction.iter().flat_map(|retraction| [" → ", retraction]));
        line
    }
}

/// Describes how a statement was superseded. If several statements have the citation `by`, quotes
/// the one that supersedes `statement`, or the first if none does. Lines in the master are not
/// cited, because line numbers change when people edit the file.
fn retraction_of(statement: &Statement, by: &Citation, all: &[Statement]) -> String {
    let cited = || all.iter().filter(|it| it.citation == *by);
    let successor = cited().find(|it| it.choice.supersedes(&statement.choice));
    let successor = successor.or_else(|| cited().next());
    let mut retraction = String::from("taken back");
    if !successor.is_some_and(Statement::is_in_master) {
        retraction.extend([" in ", &short(by)]);
    }
    if let Some(successor) = successor {
        retraction.extend([": ", &shorten(successor.text.clone(), LONGEST_RETRACTION)]);
    }
    retraction
}

/// The maximum number of citations in a master entry.
const MOST_CITED: usize = 2;
/// The maximum length, in characters, of a quote from the statement that superseded a topic.
const LONGEST_RETRACTION: usize = 90;

/// Formats a citation. A session id that is a UUID is shortened to its first 8 digits.
fn short(citation: &Citation) -> String {
    let session = citation.session.as_str();
    let session = if is_uuid(session) { &session[..8] } else { session };
    format!("{session}:{}", citation.line)
}

/// The heading of each section, and its share of the limit in percent. The sections are in the
/// order of [`KINDS`](super::KINDS), followed by the statements that no longer hold.
const SECTIONS: [(&str, u64); 4] =
    [("## Rules and preferences", 30), ("## Decisions", 40), ("## Facts", 20), (HISTORY, 10)];

/// The index of a topic's section in [`SECTIONS`], and the topic's line in the master.
type Line = (usize, String);

/// Returns a line for each topic, ordered by section and importance.
pub(super) fn lines(topics: &[Topic]) -> Vec<Line> {
    let mut order: Vec<&Topic> = topics.iter().collect();
    order.sort_by_key(|topic| {
        let sessions: BTreeSet<&str> =
            topic.citations.iter().map(|citation| citation.session.as_str()).collect();
        let importance = (topic.author, sessions.len(), topic.newest);
        (topic.section(), Reverse(importance), &topic.fingerprint.key)
    });
    order.into_iter().map(|topic| (topic.section(), topic.line())).collect()
}

/// Returns the indexes of the lines in the order in which to add them: first the lines that fit
/// into their section's share, then all other lines. Lines are added until the limit is reached.
pub(super) fn by_share(lines: &[Line], room: u64, count: &dyn Fn(&str) -> u64) -> Vec<usize> {
    let (mut within, mut rest) = (Vec::new(), Vec::new());
    for (section, (heading, percent)) in SECTIONS.into_iter().enumerate() {
        let mut left = (room * percent / 100).saturating_sub(count(heading) + 2);
        let mut is_full = false;
        for (at, (_, line)) in lines.iter().enumerate().filter(|(_, (of, _))| *of == section) {
            let tokens = if is_full { 0 } else { count(line) + 1 };
            is_full |= tokens > left;
            if is_full {
                rest.push(at);
            } else {
                left -= tokens;
                within.push(at);
            }
        }
    }
    within.extend(rest);
    within
}

/// Returns the text of the generated part with the lines whose indexes are in `shown`.
pub(super) fn part(lines: &[Line], shown: &[usize]) -> String {
    let shown: BTreeSet<usize> = shown.iter().copied().collect();
    let mut part = String::new();
    for (section, (heading, _)) in SECTIONS.into_iter().enumerate() {
        let shown = shown.iter().map(|at| &lines[*at]).filter(|(of, _)| *of == section);
        let shown: Vec<&str> = shown.map(|(_, line)| line.trim_end()).collect();
        if !shown.is_empty() {
            part.extend(["\n", heading, "\n\n", &shown.join("\n"), "\n"]);
        }
    }
    if !part.is_empty() {
        part.push('\n');
    }
    part
}

#[cfg(test)]
mod tests {
    use super::{Line, Topic, by_share, part, topics};
    use crate::consolidate::statement::tests::decisions;

    fn of(text: &str) -> Vec<Topic> {
        let all = decisions(text);
        topics(&all, &all)
    }

    #[test]
    fn repetitions_are_one_topic_with_the_fullest_wording_and_all_citations() {
        let found = of(
            "- We decided to keep SQLite for the waiting list. (user, a:1, 2026-11-01)\n\
             - So we decided to keep SQLite for the whole waiting list. (assistant, b:2, 2026-11-03)\n\
             - We decided to keep tabs. (user, a:9, 2026-11-01)\n\
             - We decided to keep SQLite for the waiting list! (user, c:3, 2026-11-02)\n",
        );
        let lines: Vec<String> = found.iter().map(Topic::line).collect();
        assert_eq!(
            lines,
            [
                "- We decided to keep SQLite for the waiting list! (user, c:3, b:2 and 1 more; 2026-11-03)",
                "- We decided to keep tabs. (user, a:9; 2026-11-01)",
            ]
        );
        let citations: Vec<String> = found[0].citations.iter().map(ToString::to_string).collect();
        assert_eq!(citations, ["c:3", "b:2", "a:1"]);
    }

    #[test]
    fn a_fragment_of_another_topic_of_the_same_message_is_dropped() {
        let whole = "- Never push. The live file is /var/lib/a.db. (user, a:1)\n";
        let fragment = "- The live file is /var/lib/a.db. (user, a:1)\n";
        assert_eq!(of(&format!("{fragment}{whole}")).len(), 1);
        assert_eq!(of(&format!("{}{whole}", fragment.replace("a:1", "b:1"))).len(), 2);
    }

    #[test]
    fn a_repetition_of_a_struck_statement_is_no_topic() {
        let found = of("- ~~We keep the old parser for now. (user, a:1)~~\n\
             - So we keep the old parser. (user, b:1)\n");
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_new_decision_for_what_was_taken_back_holds() {
        let old = "- We keep the old parser. (user, a:1, 2026-11-01, taken back in b:1)\n";
        assert!(of(old)[0].retraction.is_some());
        let again = format!("{old}- So we keep the old parser now. (user, c:1, 2026-11-05)\n");
        assert!(of(&again)[0].retraction.is_none());
        assert_eq!(of(&again).len(), 1);
    }

    fn owned(lines: &[(usize, &str)]) -> Vec<Line> {
        lines.iter().map(|(of, line)| (*of, (*line).to_owned())).collect()
    }

    /// Rules get 30 % of 60 words: 6 words for the heading and its blank lines, and 6 for each of
    /// two entries.
    #[test]
    fn each_section_gets_its_share_first() {
        let mut lines = vec![(0, "- a b c d"); 4];
        lines.push((1, "- e f"));
        lines.push((3, "- g"));
        let words = |text: &str| text.split_whitespace().count() as u64;
        assert_eq!(by_share(&owned(&lines), 60, &words), [0, 1, 4, 2, 3, 5]);
        assert_eq!(by_share(&owned(&lines), 0, &words), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_part_has_only_sections_with_lines() {
        let lines = owned(&[(0, "- a"), (2, "- b"), (2, "- c ")]);
        assert_eq!(
            part(&lines, &[2, 0]),
            "\n## Rules and preferences\n\n- a\n\n## Facts\n\n- c\n\n"
        );
        assert_eq!(part(&lines, &[]), "");
    }
}
