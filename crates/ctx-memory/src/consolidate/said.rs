//! The statements of a memory file (L1), each with its place, and their order.

use chrono::NaiveDate;
use ctx_ledger::rules::MemoryKind;
use ctx_ledger::sentence::without_marker;
use ctx_ledger::text::{key, plain_line};

use super::daily::Days;
use super::given_up::Stand;
use super::region::without_sources;
use crate::hash::short_hash;
use crate::near::Words;
use crate::{Entry, Place};

/// A place that outlives the text that it was read from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct At {
    pub(super) session: String,
    pub(super) line: u64,
}

impl From<Place<'_>> for At {
    fn from(place: Place<'_>) -> Self {
        Self {
            session: place.session.to_owned(),
            line: place.line,
        }
    }
}

impl At {
    /// Whether it stays what it is: lines of files that people edit move.
    pub(super) fn is_lasting(&self) -> bool {
        !self.session.starts_with("memory/extracted/") && self.session != MASTER
    }
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.session, self.line)
    }
}

/// Who says something; who counts for more comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Voice {
    /// The agent.
    Agent,
    /// The user, in a session.
    User,
    /// Somebody who wrote it into a memory file, or changed it so that its place is gone: it is
    /// cited by its line there.
    Hand,
}

/// One statement of a memory file.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) kind: MemoryKind,
    /// On one line, without control characters.
    pub(super) text: String,
    pub(super) voice: Voice,
    pub(super) at: At,
    /// The day on which it was said, where that is known.
    pub(super) date: Option<NaiveDate>,
    /// What takes it back.
    pub(super) back: Option<At>,
    /// Whether its line says that something takes it back.
    pub(super) is_marked: bool,
    /// Somebody struck it out.
    pub(super) struck: bool,
    /// The line of its file, from 0, and that in the order of time.
    pub(super) line: usize,
    order: (NaiveDate, usize),
    pub(super) words: Words,
    pub(super) stand: Stand,
}

impl Said {
    /// Whether it was said later than the other one. Of one session the lines tell; of several the
    /// days, and of one day the order in which they came into the memory file.
    pub(super) fn is_later(&self, other: &Self) -> bool {
        if self.at.session == other.at.session && self.at.line != other.at.line {
            return self.at.line > other.at.line;
        }
        self.order > other.order
    }

    /// The time that it is placed in, to sort by.
    pub(super) fn order(&self) -> (NaiveDate, usize) {
        self.order
    }

    /// What people say in their part of the master, a line each: they said it last.
    pub(super) fn of_master(text: &str) -> Vec<Self> {
        let lines = text.lines().zip(1..);
        let said = lines.filter_map(|(line, number)| {
            let entry = without_marker(line.trim()).1;
            // What they took over of ours was not said by them.
            let is_own = without_sources(entry) == entry && !entry.starts_with(['#', '~']);
            let mut said = statement(entry, MemoryKind::Decision);
            said.at = At {
                session: MASTER.to_owned(),
                line: number,
            };
            said.order = (
                NaiveDate::MAX,
                usize::try_from(number).unwrap_or(usize::MAX),
            );
            said.words = Words::of(&said.text);
            said.stand = Stand::of(&said.text);
            (is_own && said.voice == Voice::Hand && !said.text.is_empty()).then_some(said)
        });
        said.collect()
    }

    /// Whether somebody wrote it in the master.
    pub(super) fn is_of_master(&self) -> bool {
        self.at.session == MASTER
    }

    /// Whether what takes it back can be written into its line.
    pub(super) fn can_be_marked(&self) -> bool {
        self.voice != Voice::Hand && !self.is_marked && !self.is_of_master()
    }

    /// How it is remembered that the mark of what takes it back stood in a memory file.
    pub(super) fn mark(&self, by: &At) -> String {
        format!("{}|{}|{by}", self.at, short_hash(self.words.key()))
    }
}

/// The master, as its lines are cited.
const MASTER: &str = "memory/summary/master.md";

/// The statements of the memory file of a kind: the entries of its lists. `name` is how its lines
/// are cited. What is no list (headings, prose, code) is the writer's, and not read.
pub(super) fn statements(text: &str, kind: MemoryKind, name: &str, days: &Days) -> Vec<Said> {
    let mut found: Vec<Said> = Vec::new();
    // What has no date was written behind what stands above it.
    let mut last = NaiveDate::MIN;
    let mut fence = false;
    let mut is_open = false;
    for (line, bytes) in text.lines().enumerate() {
        let trimmed = bytes.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fence = !fence;
        }
        let (is_entry, entry) = without_marker(trimmed);
        if fence || trimmed.is_empty() || trimmed.starts_with('#') {
            is_open = false;
        } else if is_entry {
            let mut said = statement(entry, kind);
            is_open = !said.text.is_empty();
            if said.voice == Voice::Hand {
                said.at = At {
                    session: name.to_owned(),
                    line: line as u64 + 1,
                };
            }
            said.line = line;
            said.date = said.date.or_else(|| days.of(&said));
            last = said.date.unwrap_or(last);
            said.order = (last, line);
            if is_open {
                found.push(said);
            }
        } else if is_open
            && bytes.starts_with([' ', '\t'])
            && let Some(said) = found.last_mut()
        {
            // What stands below an entry belongs to it.
            said.text = format!("{} {}", said.text, plain_line(trimmed));
        } else {
            is_open = false;
        }
    }
    for said in &mut found {
        said.words = Words::of(&said.text);
        said.stand = Stand::of(&said.text);
    }
    found
}

/// An entry without the marker of its list.
fn statement(entry: &str, kind: MemoryKind) -> Said {
    let struck = entry.starts_with("~~");
    let plain = plain_line(&if struck {
        entry.replace("~~", "")
    } else {
        entry.to_owned()
    });
    let ours = Entry::parse(&plain);
    let nowhere = At {
        session: String::new(),
        line: 0,
    };
    Said {
        kind,
        text: ours.map_or(plain.as_str(), |it| it.text).trim().to_owned(),
        voice: ours.map_or(Voice::Hand, |it| match it.role {
            "user" => Voice::User,
            _ => Voice::Agent,
        }),
        at: ours.map_or(nowhere, |it| it.place.into()),
        date: ours.and_then(|it| it.date),
        back: ours.and_then(|it| it.taken_back).map(At::from),
        is_marked: ours.is_some_and(|it| it.taken_back.is_some()),
        struck,
        line: 0,
        order: (NaiveDate::MIN, 0),
        words: Words::of(""),
        stand: Stand::of(""),
    }
}

/// By what an entry of a log is known again.
pub(super) fn entry_key(entry: &str) -> String {
    let plain = plain_line(&entry.replace("~~", ""));
    key(Entry::parse(&plain).map_or(plain.as_str(), |it| it.text))
}

#[cfg(test)]
pub(super) mod tests {
    use ctx_ledger::rules::MemoryKind;

    use super::{Said, Voice, statements};
    use crate::consolidate::daily::Days;

    pub(in crate::consolidate) fn said(text: &str) -> Vec<Said> {
        statements(
            text,
            MemoryKind::Decision,
            "memory/extracted/decisions.md",
            &Days::default(),
        )
    }

    /// 16: entries of ours have their places, those of people their lines.
    #[test]
    fn entries_are_read_with_their_places() {
        let text = "# Decisions\n\nSome words.\n- Use A. (user, demo:3, 2026-11-20, taken back in b:9)\n\
                    - mine\n  and more\n\n  no more\n* ~~Use B.~~ (assistant, c:1)\n```\n- no\n```\n- (user, x:1)\n";
        let found = said(text);
        let shown: Vec<_> = found
            .iter()
            .map(|it| (it.text.as_str(), it.at.to_string(), it.voice, it.struck))
            .collect();
        assert_eq!(
            shown,
            [
                ("Use A.", "demo:3".to_owned(), Voice::User, false),
                (
                    "mine and more",
                    "memory/extracted/decisions.md:5".to_owned(),
                    Voice::Hand,
                    false
                ),
                ("Use B.", "c:1".to_owned(), Voice::Agent, true),
                (
                    "(user, x:1)",
                    "memory/extracted/decisions.md:13".to_owned(),
                    Voice::Hand,
                    false
                ),
            ]
        );
        assert_eq!(
            found[0].back.as_ref().map(ToString::to_string).as_deref(),
            Some("b:9")
        );
    }

    /// 16: days, then the order of the file; of one session the lines.
    #[test]
    fn what_was_said_later_is_known() {
        let text = "- a (user, s:9, 2026-11-20)\n- b (user, t:1)\n- c (user, u:1, 2026-11-19)\n\
                    - d (user, s:2)\n";
        let found = said(text);
        let later = |a: usize, b: usize| {
            assert!(found[a].is_later(&found[b]), "{a} {b}");
            assert!(!found[b].is_later(&found[a]), "{a} {b}");
        };
        later(1, 0);
        later(0, 2);
        later(1, 2);
        // The date of what stands above it is a guess, its line is not.
        later(0, 3);
        later(3, 2);
    }

    #[test]
    fn control_characters_are_blanks() {
        assert_eq!(
            said("- a\u{1b}[31mb\u{9b}c (user, s:1)\n")[0].text,
            "a [31mb c"
        );
    }
}
