//! The statements in a memory file (L1), and those that people wrote into the master (L2).

use std::collections::HashMap;

use chrono::NaiveDate;
use ctx_summary::ledger::patterns::MemoryKind;
use ctx_summary::ledger::sentence::without_marker;
use ctx_text::{comparison_key, plain_line};

use super::choice::Choice;
use super::master::{self, without_citations};
use super::{extracted_path, short_hash};
use crate::entry::{Citation, Entry};
use crate::similarity::Fingerprint;

/// The author of a statement. The variants are in ascending order of importance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Author {
    #[default]
    Agent,
    /// The user of a session.
    User,
    /// A person who wrote the statement into the file, or who edited an entry and removed its
    /// citation.
    Editor,
}

/// The day on which each entry was first logged, indexed by the entry's key and citation.
pub(super) type LogDates = HashMap<(String, Citation), NaiveDate>;

/// The sort key that orders statements by time: the day, then the line in the file.
pub(super) type Order = (NaiveDate, usize);

/// A list entry in a memory file, or a line that a person wrote into the master.
#[derive(Clone, Debug, Default)]
pub(super) struct Statement {
    pub(super) kind: MemoryKind,
    /// The text, on one line and without control characters.
    pub(super) text: String,
    pub(super) author: Author,
    pub(super) citation: Citation,
    pub(super) date: Option<NaiveDate>,
    /// The citation of the statement that supersedes this statement.
    pub(super) taken_back: Option<Citation>,
    /// True if the line in the file is already marked with the citation of the superseding
    /// statement.
    pub(super) is_marked: bool,
    pub(super) is_struck: bool,
    pub(super) order: Order,
    pub(super) fingerprint: Fingerprint,
    pub(super) choice: Choice,
}

impl Statement {
    /// Parses an entry without its list marker.
    fn parse(entry: &str, kind: MemoryKind) -> Self {
        let is_struck = entry.starts_with("~~");
        let plain = plain_line(&if is_struck { entry.replace("~~", "") } else { entry.to_owned() });
        let (text, author, citation, date, taken_back) = match Entry::parse(&plain) {
            Some(Entry { text, role, citation, date, taken_back }) => {
                let author = if role == "user" { Author::User } else { Author::Agent };
                (text, author, citation, date, taken_back)
            }
            None => (plain.as_str(), Author::Editor, Citation::default(), None, None),
        };
        Self {
            kind,
            text: text.trim().to_owned(),
            author,
            citation,
            date,
            is_marked: taken_back.is_some(),
            taken_back,
            is_struck,
            ..Self::default()
        }
    }

    fn complete(mut self) -> Self {
        self.fingerprint = Fingerprint::of(&self.text);
        self.choice = Choice::of(&self.text);
        self
    }

    /// Returns true if this statement was made after `other`. Statements from the same session are
    /// compared by line number. Statements from different sessions are compared by day, and
    /// statements from the same day by their order in the memory file.
    pub(super) fn is_later(&self, other: &Self) -> bool {
        if self.citation.session == other.citation.session
            && self.citation.line != other.citation.line
        {
            return self.citation.line > other.citation.line;
        }
        self.order > other.order
    }

    pub(super) fn is_in_master(&self) -> bool {
        self.citation.session == master::PATH
    }

    /// Returns true if this statement's line in the memory file can be marked.
    pub(super) fn can_be_marked(&self) -> bool {
        self.author != Author::Editor && !self.is_marked && !self.is_in_master()
    }

    /// Formats this statement's mark for the state that the next run reads. `by` cites the
    /// statement that supersedes this one.
    pub(super) fn mark(&self, by: &Citation) -> String {
        format!("{}|{}|{by}", self.citation, short_hash(&self.fingerprint.key))
    }
}

/// Returns true if a citation remains valid. Citations of lines in a memory file or in the master
/// do not remain valid, because people edit these files.
pub(super) fn is_lasting(citation: &Citation) -> bool {
    !citation.session.starts_with("memory/extracted/") && citation.session != master::PATH
}

/// Reads each list entry in a memory file as a statement. Headings, prose and code are people's own
/// text and are ignored.
pub(super) fn statements(text: &str, kind: MemoryKind, dates: &LogDates) -> Vec<Statement> {
    let mut found: Vec<Statement> = Vec::new();
    // A statement without a date was added after the statement above it, so it gets that
    // statement's date.
    let mut last_date = NaiveDate::MIN;
    let mut is_code = false;
    let mut is_entry_open = false;
    for (line, text) in text.lines().enumerate() {
        let trimmed = text.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
        }
        let (is_entry, entry) = without_marker(trimmed);
        if is_code || trimmed.is_empty() || trimmed.starts_with('#') {
            is_entry_open = false;
        } else if is_entry {
            let mut statement = Statement::parse(entry, kind);
            is_entry_open = !statement.text.is_empty();
            if statement.author == Author::Editor {
                statement.citation =
                    Citation { session: extracted_path(kind), line: line as u64 + 1 };
            }
            let logged = || {
                dates.get(&(comparison_key(&statement.text), statement.citation.clone())).copied()
            };
            statement.date = statement.date.or_else(logged);
            last_date = statement.date.unwrap_or(last_date);
            statement.order = (last_date, line);
            if is_entry_open {
                found.push(statement);
            }
        } else if is_entry_open
            && text.starts_with([' ', '\t'])
            && let Some(statement) = found.last_mut()
        {
            statement.text = format!("{} {}", statement.text, plain_line(trimmed));
        } else {
            is_entry_open = false;
        }
    }
    found.into_iter().map(Statement::complete).collect()
}

/// Returns the statements that people wrote into the master, one per line. Statements in the master
/// count as newer than all others.
pub(super) fn statements_in_master(own_text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    for (number, line) in (1_usize..).zip(own_text.lines()) {
        let entry = without_marker(line.trim()).1;
        let mut statement = Statement::parse(entry, MemoryKind::Decision);
        // An entry that a person copied from the generated part is not that person's own statement.
        let is_ours = statement.author != Author::Editor || without_citations(entry) != entry;
        if !is_ours && !entry.starts_with(['#', '~']) && !statement.text.is_empty() {
            statement.citation = Citation { session: master::PATH.to_owned(), line: number as u64 };
            statement.order = (NaiveDate::MAX, number);
            found.push(statement.complete());
        }
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use ctx_summary::ledger::patterns::MemoryKind;

    use super::{Author, LogDates, Statement, statements};

    pub(in crate::consolidate) fn decisions(text: &str) -> Vec<Statement> {
        statements(text, MemoryKind::Decision, &LogDates::default())
    }

    #[test]
    fn entries_of_people_are_cited_by_their_line_in_the_file() {
        let text = "# Decisions\n\nSome words.\n- Use A. (user, demo:3, 2026-11-20, taken back in b:9)\n\
                    - mine\n  and more\n\n  no more\n* ~~Use B.~~ (assistant, c:1)\n```\n- no\n```\n- (user, x:1)\n";
        let found = decisions(text);
        let shown: Vec<_> = found
            .iter()
            .map(|it| (it.text.as_str(), it.citation.to_string(), it.author, it.is_struck))
            .collect();
        let file = |line| format!("memory/extracted/decisions.md:{line}");
        assert_eq!(
            shown,
            [
                ("Use A.", "demo:3".to_owned(), Author::User, false),
                ("mine and more", file(5), Author::Editor, false),
                ("Use B.", "c:1".to_owned(), Author::Agent, true),
                ("(user, x:1)", file(13), Author::Editor, false),
            ]
        );
        assert_eq!(found[0].taken_back.as_ref().map(ToString::to_string).as_deref(), Some("b:9"));
    }

    #[test]
    fn lines_days_and_the_order_of_the_file_decide_which_is_later() {
        let text = "- a (user, s:9, 2026-11-20)\n- b (user, t:1)\n- c (user, u:1, 2026-11-19)\n\
                    - d (user, s:2)\n";
        let found = decisions(text);
        let later = |a: usize, b: usize| {
            assert!(found[a].is_later(&found[b]), "{a} {b}");
            assert!(!found[b].is_later(&found[a]), "{a} {b}");
        };
        later(1, 0);
        later(0, 2);
        later(1, 2);
        // The date taken from the entry above is only a guess, but the line number in the session
        // is certain.
        later(0, 3);
        later(3, 2);
    }

    #[test]
    fn control_characters_are_blanks() {
        assert_eq!(decisions("- a\u{1b}[31mb\u{9b}c (user, s:1)\n")[0].text, "a [31mb c");
    }
}
