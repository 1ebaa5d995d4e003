//! Reads the entries in the daily logs (L0), determines when each was first logged, and adds
//! missing entries to the memory files (L1).

use std::collections::HashSet;

use chrono::NaiveDate;
use ctx_summary::ledger::patterns::MemoryKind;
use ctx_summary::ledger::sentence::without_marker;
use ctx_text::{comparison_key, plain_line};

use super::statement::LogDates;
use super::{Extractions, KINDS, MASTER, MemoryFiles, NewMemory, place_of, short_hash};
use crate::entry::{Citation, Entry};
use crate::files::DailyLog;
use crate::memory_file::{appended, keys};

/// An entry in a daily log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LogEntry {
    kind: MemoryKind,
    /// The text without the list marker and the kind, on one line and without control characters.
    text: String,
    key: String,
    /// The 1-based line number.
    line: u64,
}

impl DailyLog {
    fn entries(&self) -> impl Iterator<Item = LogEntry> {
        (1..).zip(self.text.lines()).filter_map(|(line, text)| LogEntry::parse(text, line))
    }
}

impl LogEntry {
    /// Parses `- decision: TEXT (ROLE, SESSION:LINE)`. In entries written by people, the part in
    /// parentheses may be missing.
    fn parse(text: &str, line: u64) -> Option<Self> {
        let (is_list_entry, entry) = without_marker(text.trim());
        let (word, text) = entry.split_once(':')?;
        let word = word.trim_matches(['*', '_', ' ']).to_ascii_lowercase();
        let kind = KINDS.into_iter().find(|kind| <&str>::from(kind) == word)?;
        let text = plain_line(text.trim_start_matches("**"));
        let plain = plain_line(&text.replace("~~", ""));
        let key = comparison_key(Entry::parse(&plain).map_or(plain.as_str(), |entry| entry.text));
        (is_list_entry && !key.is_empty()).then_some(Self { kind, text, key, line })
    }
}

/// Returns the day on which each entry was first logged. The logs are sorted, oldest first.
pub(super) fn log_dates(logs: &[DailyLog]) -> LogDates {
    let mut dates = LogDates::new();
    for log in logs {
        for logged in log.entries() {
            if let Some(entry) = Entry::parse(&logged.text) {
                dates.entry((logged.key, entry.citation)).or_insert(log.day);
            }
        }
    }
    dates
}

/// Adds each log entry to the memory files unless an earlier run has seen it or the files already
/// contain it.
pub(super) fn import(old: &MemoryFiles, new: &mut NewMemory) {
    let mut contents: Vec<Contents> =
        old.files[..MASTER].iter().map(|file| Contents::of(file)).collect();
    let mut entries: [Vec<String>; MASTER] = Default::default();
    for log in &old.daily {
        for logged in log.entries() {
            // Skip an entry that an earlier run has seen. If no file contains the entry now, a
            // person has deleted it.
            if !new.state.seen.insert(short_hash(&logged.key)) {
                continue;
            }
            let at = place_of(logged.kind);
            if contents[at].lacks(&logged, log.day, &old.extractions) {
                entries[at].push(entry(&logged, log));
            }
        }
    }
    for ((kind, file), entries) in KINDS.into_iter().zip(&mut new.files).zip(&entries) {
        file.extend(appended(file, kind, entries));
        new.report.imported += entries.len();
    }
}

/// The keys and the citations of the entries in a memory file.
struct Contents {
    keys: HashSet<String>,
    citations: HashSet<Citation>,
    is_empty: bool,
}

impl Contents {
    fn of(file: &[u8]) -> Self {
        let text = String::from_utf8_lossy(file);
        let entries = text.lines().map(|line| without_marker(line.trim()).1.replace("~~", ""));
        let citations = entries.filter_map(|entry| Some(Entry::parse(&entry)?.citation)).collect();
        Self { keys: keys(&text), citations, is_empty: text.trim().is_empty() }
    }

    /// Returns true if a log entry is missing from the file. After this call, the entry counts as
    /// present.
    fn lacks(&mut self, logged: &LogEntry, day: NaiveDate, extractions: &Extractions) -> bool {
        if logged.text.contains("~~") {
            return false;
        }
        // If the entry was merged into the file when it was logged, but its text is not there now,
        // a person has reworded or deleted it.
        let was_merged = |citation: &Citation| {
            self.citations.contains(citation) || was_extracted(&citation.session, day, extractions)
        };
        let entry = Entry::parse(&logged.text);
        let is_gone = !self.is_empty && entry.is_some_and(|entry| was_merged(&entry.citation));
        !is_gone && self.keys.insert(logged.key.clone())
    }
}

/// Returns true if items from a session were merged on this day or the day before; a merge around
/// midnight may have either date.
fn was_extracted(session: &str, day: NaiveDate, extractions: &Extractions) -> bool {
    let mut days = [Some(day), day.pred_opt()].into_iter().flatten();
    days.any(|day| {
        extractions.contains(&(Some(session.to_owned()), day)) || extractions.contains(&(None, day))
    })
}

/// Converts a log entry into a memory file entry.
fn entry(logged: &LogEntry, log: &DailyLog) -> String {
    let mut entry = Entry::parse(&logged.text).unwrap_or_else(|| Entry {
        text: &logged.text,
        role: "user",
        citation: Citation { session: format!("memory/daily/{}", log.name), line: logged.line },
        date: None,
        taken_back: None,
    });
    entry.date = entry.date.or(Some(log.day));
    entry.to_string()
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::DailyLog;

    #[test]
    fn only_entries_of_a_log_are_parsed() {
        let text = "# 2026-11-24 (UTC)\n\n## 10:00:00 demo: extracted 1 new item\n\n\
                    - decision: Use A: now. (user, demo:3)\n- note: nothing\n- **Fact:** b \u{1b}c\n\
                    decision: no list\n- runtime: make\n- preference: ~~Tabs.~~\n";
        let day = NaiveDate::default();
        let log = DailyLog { name: "a.md".to_owned(), day, text: text.to_owned() };
        let found: Vec<_> = log
            .entries()
            .map(|it| (it.line, format!("{}|{}", <&str>::from(it.kind), it.text)))
            .collect();
        assert_eq!(
            found,
            [
                (5, "decision|Use A: now. (user, demo:3)".to_owned()),
                (7, "fact|b c".to_owned()),
                (10, "preference|~~Tabs.~~".to_owned()),
            ]
        );
    }
}
