//! Which topics stand in the master, and in which order.
//!
//! Four sections: what rules, what was decided, what is known, and what does not hold any more. Within a
//! section: what somebody wrote by hand, then what the user said, then the rest; of those what more
//! sessions tell, then what is newer. Under a limit each section has a share, and what one does
//! not need goes to the others in the order in which they stand.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ctx_ledger::rules::MemoryKind;
use ctx_ledger::text::cut;

use super::region::HISTORY;
use super::said::{At, Voice};
use super::topic::Topic;

/// The sections, each with its heading and its share of the room in hundredths.
const SECTIONS: [(Section, &str, u64); 4] = [
    (Section::Rules, "## Rules and preferences", 30),
    (Section::Decisions, "## Decisions", 40),
    (Section::Facts, "## Facts", 20),
    (Section::History, HISTORY, 10),
];

/// So many places are named.
const NAMED: usize = 2;
/// So much is told of what took something back, in characters.
const TOLD: usize = 90;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Rules,
    Decisions,
    Facts,
    History,
}

/// A line of the master.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) section: Section,
    pub(super) text: String,
}

fn section(topic: &Topic) -> Section {
    match topic.kind {
        _ if topic.back.is_some() => Section::History,
        MemoryKind::Preference => Section::Rules,
        MemoryKind::Decision => Section::Decisions,
        MemoryKind::Fact | MemoryKind::Runtime => Section::Facts,
    }
}

/// The lines of all topics, section by section, each in its order.
pub(super) fn lines(topics: &[Topic]) -> Vec<Line> {
    let mut order: Vec<&Topic> = topics.iter().collect();
    order.sort_by_key(|topic| {
        let sessions: BTreeSet<&str> = (topic.sources.iter())
            .map(|at| at.session.as_str())
            .collect();
        let weight = (topic.voice, sessions.len(), topic.newest);
        (section(topic), Reverse(weight), topic.words.key())
    });
    let line = |topic: &Topic| Line {
        section: section(topic),
        text: line_of(topic),
    };
    order.into_iter().map(line).collect()
}

/// `- TEXT (user, a:12, b:7 and 3 more; 2026-11-20)`.
fn line_of(topic: &Topic) -> String {
    let who = match topic.voice {
        Voice::Hand => "by hand",
        Voice::User => "user",
        Voice::Agent => "assistant",
    };
    let named: Vec<String> = topic.sources.iter().take(NAMED).map(short).collect();
    let more = match topic.sources.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let date = topic
        .date
        .map_or_else(String::new, |date| format!("; {date}"));
    let back = topic.back.as_ref().map_or_else(String::new, |back| {
        let at = back
            .at
            .as_ref()
            .map_or_else(String::new, |at| format!(" in {}", short(at)));
        let text = back
            .text
            .clone()
            .map(|text| format!(": {}", cut(text, TOLD)));
        format!(" → taken back{at}{}", text.unwrap_or_default())
    });
    let text = &topic.text;
    format!("- {text} ({who}, {}{more}{date}){back}", named.join(", "))
}

/// A place; of a long random id the first digits, by which the memory files have it.
fn short(at: &At) -> String {
    let session = at.session.as_str();
    let is_uuid = session.len() == 36
        && session.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    let session = if is_uuid { &session[..8] } else { session };
    format!("{session}:{}", at.line)
}

/// In the order in which they are taken while there is room: first what is within the share
/// of its section, then the rest.
pub(super) fn by_weight(lines: &[Line], room: u64, count: &dyn Fn(&str) -> u64) -> Vec<usize> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (section, heading, share) in SECTIONS {
        let mut left = (room * share / 100).saturating_sub(count(heading) + 2);
        let mut is_full = false;
        for at in (0..lines.len()).filter(|at| lines[*at].section == section) {
            let tokens = if is_full {
                0
            } else {
                count(&lines[at].text) + 1
            };
            is_full |= tokens > left;
            if is_full {
                rest.push(at);
            } else {
                left -= tokens;
                first.push(at);
            }
        }
    }
    first.extend(rest);
    first
}

/// The part of the master that has these lines.
pub(super) fn part(lines: &[Line], taken: &[usize]) -> String {
    let taken: BTreeSet<usize> = taken.iter().copied().collect();
    let mut text = String::new();
    for (section, heading, _) in SECTIONS {
        let of_section = taken.iter().map(|at| &lines[*at]);
        let own: Vec<&str> = of_section
            .filter(|line| line.section == section)
            .map(|line| line.text.trim_end())
            .collect();
        if !own.is_empty() {
            text.push_str(&["\n", heading, "\n\n", &own.join("\n"), "\n"].concat());
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Line, Section, by_weight, part};

    fn line(section: Section, text: &str) -> Line {
        Line {
            section,
            text: text.to_owned(),
        }
    }

    fn words(text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    /// 16: each section has its share first; what it does not need goes to the others in order.
    #[test]
    fn sections_have_shares() {
        let mut lines = vec![line(Section::Rules, "- a b c d"); 4];
        lines.push(line(Section::Decisions, "- e f"));
        lines.push(line(Section::History, "- g"));
        // 40 of 100 words are for rules: 5 of a heading and its lines, and 5 for each line.
        assert_eq!(by_weight(&lines, 60, &words), [0, 1, 4, 2, 3, 5]);
        assert_eq!(by_weight(&lines, 0, &words), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_part_has_the_sections_that_have_lines() {
        let lines = [
            line(Section::Rules, "- a"),
            line(Section::Facts, "- b"),
            line(Section::Facts, "- c "),
        ];
        assert_eq!(
            part(&lines, &[2, 0]),
            "\n## Rules and preferences\n\n- a\n\n## Facts\n\n- c\n\n"
        );
        assert_eq!(part(&lines, &[]), "");
    }
}
