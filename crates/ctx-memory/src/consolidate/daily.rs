//! The daily logs (L0): their entries, when each was logged, and which the memory files (L1) lack.

use std::collections::{HashMap, HashSet};

use chrono::NaiveDate;
use ctx_store::StoreError;
use ctx_summary::ledger::rules::MemoryKind;
use ctx_summary::ledger::sentence::without_marker;
use ctx_text::{comparison_key, plain_line};
use serde::{Deserialize, Serialize};

use super::statement::{hash, short_hash};
use super::{KINDS, MASTER, MemoryFiles, NewMemory, State, WasExtracted, place_of};
use crate::files::{DailyLog, day_of};
use crate::memory_file::{appended, keys};
use crate::{Citation, Entry};

/// An entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LogEntry {
    kind: MemoryKind,
    /// Without its marker and kind, on one line and without control characters.
    text: String,
    key: String,
    /// From 1.
    line: u64,
}

/// How much of a log was read: a length, and the SHA-256 of these bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogRead {
    bytes: usize,
    sha256: String,
}

impl DailyLog {
    /// The entries from byte `start` on.
    fn entries(&self, start: usize) -> Vec<LogEntry> {
        let text = String::from_utf8_lossy(&self.bytes[start..]);
        let before = memchr::memchr_iter(b'\n', &self.bytes[..start]).count() as u64;
        let lines = (before + 1..).zip(text.lines());
        lines.filter_map(|(line, text)| LogEntry::parse(text, line)).collect()
    }
}

impl LogEntry {
    /// Parses `- decision: TEXT (ROLE, SESSION:LINE)`. People may leave out the parenthesis.
    fn parse(text: &str, line: u64) -> Option<Self> {
        let (is_list_entry, entry) = without_marker(text.trim());
        let (word, text) = entry.split_once(':')?;
        let word = word.trim_matches(['*', '_', ' ']).to_ascii_lowercase();
        let kind = KINDS.into_iter().find(|kind| kind.as_str() == word)?;
        let text = plain_line(text.trim_start_matches("**"));
        let plain = plain_line(&text.replace("~~", ""));
        let key = comparison_key(Entry::parse(&plain).map_or(plain.as_str(), |entry| entry.text));
        (is_list_entry && !key.is_empty()).then_some(Self { kind, text, key, line })
    }
}

impl LogRead {
    fn of(log: &DailyLog) -> Self {
        Self { bytes: log.bytes.len(), sha256: hash(&log.bytes) }
    }

    /// Whether the log was at most appended to since.
    fn fits(&self, log: &DailyLog) -> bool {
        let read = log.bytes.get(..self.bytes);
        read.is_some_and(|read| read.ends_with(b"\n") && hash(read) == self.sha256)
    }
}

impl State {
    /// Records that `log` has been read to its end, unless it has new entries after `old`.
    pub(super) fn record_read(&mut self, log: &DailyLog, old: &[u8]) {
        if log.bytes.starts_with(old) && log.entries(old.len()).is_empty() {
            self.daily.insert(log.name.clone(), LogRead::of(log));
        }
    }
}

/// The day on which each entry was logged first, by its key and citation.
pub(super) type LogDates = HashMap<(String, Citation), NaiveDate>;

/// Reads all logs, the oldest first.
pub(super) fn log_dates(logs: &[DailyLog]) -> LogDates {
    let mut dates = LogDates::new();
    for log in logs {
        let Some(day) = day_of(&log.name) else { continue };
        for logged in log.entries(0) {
            if let Some(entry) = Entry::parse(&logged.text) {
                dates.entry((logged.key, entry.citation)).or_insert(day);
            }
        }
    }
    dates
}

/// Adds to the memory files what the logs have and no earlier run has seen.
pub(super) fn import(
    old: &MemoryFiles,
    new: &mut NewMemory,
    was_extracted: WasExtracted<'_>,
) -> Result<(), StoreError> {
    let mut contents: Vec<Contents> =
        old.files[..MASTER].iter().map(|file| Contents::of(file)).collect();
    let mut entries: [Vec<String>; MASTER] = Default::default();
    for log in &old.daily {
        let read = old.state.daily.get(&log.name).filter(|read| read.fits(log));
        for logged in log.entries(read.map_or(0, |read| read.bytes)) {
            let was_seen = !new.state.seen.insert(short_hash(&logged.key));
            // Somebody may repeat an entry on purpose after the part that was read.
            if was_seen && read.is_none() {
                continue;
            }
            let at = place_of(logged.kind);
            if contents[at].lacks(&logged, log, was_extracted)? {
                entries[at].push(entry(&logged, log));
            }
        }
        new.state.daily.insert(log.name.clone(), LogRead::of(log));
    }
    for ((kind, file), entries) in KINDS.into_iter().zip(&mut new.files).zip(&entries) {
        let appended = appended(file, kind, entries);
        file.extend(appended);
        new.report.imported += entries.len();
    }
    Ok(())
}

/// The entries of a memory file.
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

    /// Whether the file lacks an entry of a log. The entry is known from then on.
    fn lacks(
        &mut self,
        logged: &LogEntry,
        log: &DailyLog,
        was_extracted: WasExtracted<'_>,
    ) -> Result<bool, StoreError> {
        if logged.text.contains("~~") || self.keys.contains(&logged.key) {
            return Ok(false);
        }
        if let Some(entry) = Entry::parse(&logged.text) {
            // An entry that was merged when it was logged has been reworded or deleted since.
            let was_reworded = self.citations.contains(&entry.citation);
            let day = day_of(&log.name);
            let was_merged =
                day.map_or(Ok(false), |day| was_extracted(&entry.citation.session, day))?;
            if !self.is_empty && (was_reworded || was_merged) {
                return Ok(false);
            }
        }
        Ok(self.keys.insert(logged.key.clone()))
    }
}

/// The entry of a log as one of a memory file.
fn entry(logged: &LogEntry, log: &DailyLog) -> String {
    let mut entry = Entry::parse(&logged.text).unwrap_or_else(|| Entry {
        text: &logged.text,
        role: "user",
        citation: Citation { session: format!("memory/daily/{}", log.name), line: logged.line },
        date: None,
        taken_back: None,
    });
    entry.date = entry.date.or_else(|| day_of(&log.name));
    entry.to_string()
}

#[cfg(test)]
mod tests {
    use super::DailyLog;

    fn entries(text: &str, start: usize) -> Vec<(u64, String)> {
        let log = DailyLog { name: "2026-11-24.md".to_owned(), bytes: text.as_bytes().to_vec() };
        let found = log.entries(start).into_iter();
        found.map(|it| (it.line, format!("{}|{}", it.kind.as_str(), it.text))).collect()
    }

    #[test]
    fn only_entries_of_a_log_are_parsed() {
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
        let start = text.find("- preference").expect("it is there");
        assert_eq!(entries(text, start), [(10, "preference|~~Tabs.~~".to_owned())]);
    }
}
