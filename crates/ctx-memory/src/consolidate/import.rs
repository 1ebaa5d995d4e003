//! What the logs of the days (L0) have and the memory files (L1) lack.

use std::collections::HashSet;

use ctx_ledger::sentence::without_marker;

use super::daily::{Daily, Logged};
use super::said::{At, Said};
use super::state::{Read, State};
use super::{After, Before, KINDS, Rules};
use crate::hash::{hash, short_hash};
use crate::merge::{append, keys};
use crate::{Entry, Place};

/// Puts into L1 what the logs have and no earlier run has seen; returns how many entries.
pub(super) fn import(before: &Before, rules: &Rules<'_>, after: &mut After) -> usize {
    let mut known = before.files.each_ref().map(|file| Known::of(file));
    let mut new: [Vec<String>; 3] = Default::default();
    for log in &before.daily {
        let read = before
            .state
            .daily
            .get(&log.name)
            .filter(|read| read.fits(log));
        for logged in log.entries(read.map_or(0, |read| read.bytes)) {
            let was_seen = !after.state.seen.insert(short_hash(&logged.key));
            let at = KINDS.iter().position(|kind| *kind == logged.kind);
            let at = at.expect("one of them");
            // Behind what was read somebody may say it again.
            let is_new = read.is_some() || !was_seen;
            if is_new && known[at].lacks(&logged, log, rules) {
                new[at].push(entry(&logged, log));
            }
        }
        after.state.daily.insert(log.name.clone(), Read::of(log));
    }
    for (at, kind) in KINDS.into_iter().enumerate() {
        let mut file = before.files[at].clone();
        file.extend(append(&before.files[at], kind, &new[at]));
        after.files[at] = file;
    }
    new.iter().map(Vec::len).sum()
}

/// What a memory file has.
struct Known {
    keys: HashSet<String>,
    places: HashSet<At>,
    is_empty: bool,
}

impl Known {
    fn of(file: &[u8]) -> Self {
        let text = String::from_utf8_lossy(file);
        let entries = text.lines().map(|line| without_marker(line.trim()).1);
        let plain = entries.map(|entry| entry.replace("~~", ""));
        let places = plain.filter_map(|entry| Some(At::from(Entry::parse(&entry)?.place)));
        Self {
            keys: keys(&text),
            places: places.collect(),
            is_empty: text.trim().is_empty(),
        }
    }

    /// Whether an entry of a log is to go into the file, in which it is known from then on.
    fn lacks(&mut self, logged: &Logged, log: &Daily, rules: &Rules<'_>) -> bool {
        if logged.entry.contains("~~") || self.keys.contains(&logged.key) {
            return false;
        }
        if let Some(entry) = Entry::parse(&logged.entry) {
            // Somebody gave it other words, or deleted it: it was merged when it was logged.
            let was_changed = self.places.contains(&At::from(entry.place));
            let was_merged = log
                .day()
                .is_some_and(|day| (rules.extracted)(entry.place.session, day));
            if !self.is_empty && (was_changed || was_merged) {
                return false;
            }
        }
        self.keys.insert(logged.key.clone())
    }
}

/// The entry of a log as one of a memory file.
fn entry(logged: &Logged, log: &Daily) -> String {
    let session = format!("memory/daily/{}", log.name);
    let line = logged.line;
    let by_hand = Entry {
        text: &logged.entry,
        role: "user",
        place: Place {
            session: &session,
            line,
        },
        date: None,
        taken_back: None,
    };
    let mut entry = Entry::parse(&logged.entry).unwrap_or(by_hand);
    entry.date = entry.date.or_else(|| log.day());
    entry.to_string()
}

impl Read {
    fn of(log: &Daily) -> Self {
        Self {
            bytes: log.bytes.len(),
            sha256: hash(&log.bytes),
        }
    }

    /// Whether the log has been appended to at most.
    fn fits(&self, log: &Daily) -> bool {
        let read = log.bytes.get(..self.bytes);
        read.is_some_and(|read| read.ends_with(b"\n") && hash(read) == self.sha256)
    }
}

impl State {
    /// Notes that a log was read on from `old`, where it has no entry behind that.
    pub(crate) fn has_read(&mut self, log: &Daily, old: &[u8]) {
        if log.bytes.starts_with(old) && log.entries(old.len()).is_empty() {
            self.daily.insert(log.name.clone(), Read::of(log));
        }
    }
}

/// Puts into the bracket of an entry what takes it back. Returns whether it is there: a line that
/// is not what it was read as stays as it is.
pub(super) fn add_mark(file: &mut Vec<u8>, said: &Said, by: &At) -> bool {
    let mut lines = file.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.by_ref().take(said.line).map(<[u8]>::len).sum();
    let Some(text) = lines.next().and_then(|line| std::str::from_utf8(line).ok()) else {
        return false;
    };
    let text = text.trim_end();
    let entry = Entry::parse(without_marker(text.trim_start()).1);
    let is_it = entry.is_some_and(|it| it.taken_back.is_none() && At::from(it.place) == said.at);
    if !is_it {
        return false;
    }
    let end = before + text.len() - 1;
    let mark = format!(", taken back in {by}");
    file.splice(end..end, mark.into_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::add_mark;
    use crate::consolidate::said::{At, tests::said};

    /// 16: nothing but the bracket changes, and a line that is no entry of ours not at all.
    #[test]
    fn a_mark_goes_into_the_bracket() {
        let by = At {
            session: "b".to_owned(),
            line: 9,
        };
        for (old, new) in [
            (
                "# D\n- Use A. (user, a:1) \t\r\n- b\n",
                Some("# D\n- Use A. (user, a:1, taken back in b:9) \t\r\n- b\n"),
            ),
            (
                "* Use A. (user, a:1, 2026-11-20)",
                Some("* Use A. (user, a:1, 2026-11-20, taken back in b:9)"),
            ),
            ("- Use A.\n", None),
        ] {
            let mut file = old.as_bytes().to_vec();
            let is_marked = add_mark(&mut file, &said(old)[0], &by);
            assert_eq!(is_marked, new.is_some());
            assert_eq!(String::from_utf8_lossy(&file), new.unwrap_or(old));
        }
    }
}
