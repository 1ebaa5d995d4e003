//! What the logs of the days (L0) hold: entries, and the days that tell when things were said.

use std::collections::HashMap;

use chrono::NaiveDate;
use ctx_ledger::rules::MemoryKind;
use ctx_ledger::sentence::without_marker;
use ctx_ledger::text::{key, plain_line};

use super::KINDS;
use super::said::{Said, entry_key};
use crate::Entry;

/// The log of a day, as it was read.
#[derive(Clone, Debug)]
pub struct Daily {
    /// `2026-11-24.md`.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    pub(super) kind: MemoryKind,
    /// As it stands there, on one line and without control characters.
    pub(super) entry: String,
    /// By which it is known again.
    pub(super) key: String,
    /// From 1.
    pub(super) line: u64,
}

impl Daily {
    /// The day that it is of.
    pub(super) fn day(&self) -> Option<NaiveDate> {
        self.name.strip_suffix(".md")?.parse().ok()
    }

    /// The entries that begin at `from` bytes or behind it.
    pub(super) fn entries(&self, from: usize) -> Vec<Logged> {
        let text = String::from_utf8_lossy(&self.bytes[from..]);
        let before = memchr::memchr_iter(b'\n', &self.bytes[..from]).count() as u64;
        let lines = (before + 1..).zip(text.lines());
        lines
            .filter_map(|(line, text)| logged(text, line))
            .collect()
    }
}

/// Reads `- decision: TEXT (ROLE, SESSION:LINE)`; people may leave out the bracket.
fn logged(text: &str, line: u64) -> Option<Logged> {
    let (is_entry, entry) = without_marker(text.trim());
    let (word, entry) = entry.split_once(':').filter(|_| is_entry)?;
    let word = word.trim_matches(['*', '_', ' ']).to_ascii_lowercase();
    let kind = KINDS.into_iter().find(|kind| kind.as_str() == word)?;
    let entry = plain_line(entry.trim_start_matches("**"));
    let key = entry_key(&entry);
    (!key.is_empty()).then_some(Logged {
        kind,
        entry,
        key,
        line,
    })
}

/// On which day an entry came into the log.
#[derive(Debug, Default)]
pub(super) struct Days(HashMap<(String, String), NaiveDate>);

impl Days {
    /// Of all logs, the oldest first.
    pub(super) fn of_logs(logs: &[Daily]) -> Self {
        let mut days = HashMap::new();
        for log in logs {
            let Some(day) = log.day() else { continue };
            for logged in log.entries(0) {
                if let Some(entry) = Entry::parse(&logged.entry) {
                    let place = entry.place.to_string();
                    days.entry((logged.key, place)).or_insert(day);
                }
            }
        }
        Self(days)
    }

    /// The day of a statement.
    pub(super) fn of(&self, said: &Said) -> Option<NaiveDate> {
        self.0.get(&(key(&said.text), said.at.to_string())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Daily;

    fn entries(text: &str, from: usize) -> Vec<(u64, String)> {
        let daily = Daily {
            name: "2026-11-24.md".to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        let found = daily.entries(from).into_iter();
        found
            .map(|it| (it.line, format!("{}|{}", it.kind.as_str(), it.entry)))
            .collect()
    }

    /// 16: entries of tools and of people, and nothing else.
    #[test]
    fn entries_of_a_log_are_read() {
        let text = "# 2026-11-24 (UTC)\n\n## 10:00:00 demo: extracted 1 new item\n\n\
                    - decision: Use A: now. (user, demo:3)\n- note: nothing\n- **Fact:** b \u{1b}c\n\
                    decision: no list\n- runtime: make\n- preference: ~~Tabs.~~\n";
        assert_eq!(
            entries(text, 0),
            [
                (5, "decision|Use A: now. (user, demo:3)".to_owned()),
                (7, "fact|b c".to_owned()),
                (10, "preference|~~Tabs.~~".to_owned()),
            ]
        );
        let from = text.find("- preference").expect("there");
        assert_eq!(entries(text, from).len(), 1);
        assert_eq!(entries(text, from)[0].0, 10);
    }
}
