//! The text of a memory file. Existing text never changes; new entries are appended:
//!
//! ```text
//! # Decisions
//!
//! - We will keep SQLite. (user, demo:42, 2026-11-20)
//! ```
//!
//! An entry that the file already contains is not added again, even if case, white space or
//! emphasis differ. For this reason, an entry that a person struck out (`~~…~~`) stays struck out.
//! A deleted entry comes back when its session is extracted again. If a second session superseded
//! an entry, and a third session makes the same decision again, the entry is added again.

use std::collections::{HashMap, HashSet};

use ctx_summary::ledger::patterns::MemoryKind;
use ctx_summary::ledger::sentence::without_marker;
use ctx_text::comparison_key;

use crate::entry::{Citation, Entry, MemoryItem};

/// Returns entries for the `items` of this kind that are not in the file.
pub(crate) fn new_entries(file: &[u8], kind: MemoryKind, items: &[MemoryItem]) -> Vec<String> {
    // Invalid UTF-8 is replaced only in this copy, not in the file.
    let text = String::from_utf8_lossy(file);
    let taken_back = entries_taken_back(&text);
    let mut known = keys(&text);
    known.retain(|key| !taken_back.contains_key(key));
    let is_new = |item: &&MemoryItem| {
        let key = comparison_key(&item.text);
        let is_decided_again = (taken_back.get(&key))
            .is_none_or(|entries| entries.iter().all(|entry| decides_again(item, entry)));
        is_decided_again && known.insert(key)
    };
    items.iter().filter(|item| item.kind == kind).filter(is_new).map(entry).collect()
}

/// Returns the entries superseded by another session, indexed by key. Omits entries whose text also
/// occurs in the file without being superseded by another session.
fn entries_taken_back(text: &str) -> HashMap<String, Vec<Entry<'_>>> {
    let mut taken_back: HashMap<String, Vec<Entry<'_>>> = HashMap::new();
    let mut others = HashSet::new();
    for line in text.lines() {
        let Some(entry) = Entry::parse(without_marker(line.trim()).1) else {
            others.extend(keys(line));
            continue;
        };
        let key = comparison_key(entry.text);
        if entry.taken_back.as_ref().is_some_and(|by| by.session != entry.citation.session) {
            taken_back.entry(key).or_default().push(entry);
        } else {
            others.insert(key);
        }
    }
    taken_back.retain(|key, _| !others.contains(key));
    taken_back
}

/// Returns true if an item repeats the decision in a superseded entry, either in a third session or
/// later in the session that superseded the entry.
fn decides_again(item: &MemoryItem, entry: &Entry<'_>) -> bool {
    let is_later = |by: &Citation| item.session != by.session || item.line > by.line;
    item.session != entry.citation.session && entry.taken_back.as_ref().is_none_or(is_later)
}

fn entry(item: &MemoryItem) -> String {
    let citation = |line| Citation { session: item.session.clone(), line };
    Entry {
        text: &item.text,
        role: item.role.as_str(),
        citation: citation(item.line),
        date: item.date,
        taken_back: item.taken_back.map(citation),
    }
    .to_string()
}

/// Returns the bytes to append to the memory file for this kind in order to add the entries.
pub(crate) fn appended(file: &[u8], kind: MemoryKind, entries: &[String]) -> Vec<u8> {
    if entries.is_empty() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(file);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let last = text.lines().next_back().unwrap_or_default();
    let mut appended = String::new();
    if text.trim().is_empty() {
        appended = format!("# {}{line_end}{line_end}", title(kind));
    } else {
        if !text.ends_with('\n') {
            appended.push_str(line_end);
        }
        // A new entry may follow without a blank line only after a list entry.
        if !last.trim().is_empty() && !without_marker(last.trim_start()).0 {
            appended.push_str(line_end);
        }
    }
    for entry in entries {
        appended.extend(["- ", entry, line_end]);
    }
    appended.into_bytes()
}

/// The keys of all lines in a file, and of the entries in these lines.
pub(crate) fn keys(text: &str) -> HashSet<String> {
    let mut keys = HashSet::new();
    for line in text.lines() {
        let line = without_marker(line.trim()).1;
        keys.insert(comparison_key(line));
        keys.extend(entry_text(line).map(comparison_key));
    }
    keys
}

/// The text of an entry in our format, even if a person struck it out.
fn entry_text(entry: &str) -> Option<&str> {
    Entry::parse(entry.trim_end_matches(['~', '*', '_', ' '])).map(|entry| entry.text)
}

/// The name of the memory file for items of a kind.
pub(crate) fn file_name(kind: MemoryKind) -> String {
    format!("{}.md", title(kind).to_lowercase())
}

/// The heading of the memory file for items of a kind.
fn title(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Decision => "Decisions",
        MemoryKind::Fact => "Facts",
        MemoryKind::Preference => "Preferences",
        MemoryKind::Runtime => "Runtime",
    }
}

#[cfg(test)]
mod tests {
    use ctx_summary::ledger::patterns::MemoryKind;
    use ctx_text::{comparison_key, plain_line};
    use proptest::prelude::*;

    use super::{appended, entry_text, new_entries};
    use crate::entry::MemoryItem;

    fn items(texts: &[impl AsRef<str>]) -> Vec<MemoryItem> {
        let texts = texts.iter().zip(1..);
        texts.map(|(text, line)| MemoryItem::example(text.as_ref(), line)).collect()
    }

    const KIND: MemoryKind = MemoryKind::Decision;

    /// The number of new entries, and the appended bytes.
    fn merge(old: &[u8], items: &[MemoryItem]) -> (usize, Vec<u8>) {
        let entries = new_entries(old, KIND, items);
        (entries.len(), appended(old, KIND, &entries))
    }

    fn merged(old: &str, texts: &[&str]) -> String {
        let (_, appended) = merge(old.as_bytes(), &items(texts));
        format!("{old}{}", String::from_utf8(appended).expect("UTF-8"))
    }

    #[test]
    fn a_new_file_has_a_heading() {
        assert_eq!(
            merged("", &["Use A.", "Use B."]),
            "# Decisions\n\n- Use A. (user, demo:1)\n- Use B. (user, demo:2)\n"
        );
        assert_eq!(merged("", &[]), "");
    }

    #[test]
    fn a_list_goes_on_and_a_paragraph_is_closed() {
        assert_eq!(merged("# D\n\n- a", &["b"]), "# D\n\n- a\n- b (user, demo:1)\n");
        assert_eq!(merged("Notes.", &["b"]), "Notes.\n\n- b (user, demo:1)\n");
        assert_eq!(merged("Notes.\n\n", &["b"]), "Notes.\n\n- b (user, demo:1)\n");
        assert_eq!(merged("- a\r\n", &["b"]), "- a\r\n- b (user, demo:1)\r\n");
    }

    #[test]
    fn a_known_entry_is_not_added() {
        for old in [
            "- Use A. (user, demo:1)\n",
            "- Use A. (assistant, other-1.2:77)\n",
            "- use  a\n",
            "Use A",
            "1. **Use A.**\n",
            "- ~~Use A. (user, demo:1)~~\n",
            "- ~~Use A.~~ (user, demo:1)\n",
            "  - [x] Use A!\n",
            "- Use A. (user, demo:1, taken back in demo:9)\n",
        ] {
            assert_eq!(merged(old, &["Use A."]), old);
        }
    }

    #[test]
    fn an_entry_that_only_resembles_a_known_one_is_added() {
        for old in ["- Use AB.\n", "- Do not use A.\n", "- Use A (see b:1)\n"] {
            assert_ne!(merged(old, &["Use A."]), old, "{old}");
        }
    }

    #[test]
    fn a_repetition_in_one_session_is_added_once() {
        assert_eq!(merge(b"", &items(&["Use A.", "use a"])).0, 1);
    }

    #[test]
    fn a_decision_that_was_taken_back_is_marked_and_known() {
        let item = MemoryItem { taken_back: Some(9), ..MemoryItem::example("Use A.", 1) };
        let (_, appended) = merge(b"", std::slice::from_ref(&item));
        let entry = "# Decisions\n\n- Use A. (user, demo:1, taken back in demo:9)\n";
        assert_eq!(String::from_utf8_lossy(&appended), entry);
        assert_eq!(merge(entry.as_bytes(), &[item]).0, 0);
    }

    /// The entry is not added again by its own session, or by an earlier line in the superseding
    /// session.
    #[test]
    fn a_new_decision_for_what_was_taken_back_is_added() {
        let old = "- Use A. (user, a:1, 2026-11-01, taken back in b:9)\n";
        for (session, line, added) in [("demo", 3, 1), ("a", 1, 0), ("b", 3, 0), ("b", 12, 1)] {
            let item =
                MemoryItem { session: session.to_owned(), ..MemoryItem::example("Use A.", line) };
            let (count, appended) = merge(old.as_bytes(), &[item.clone(), item.clone()]);
            assert_eq!(count, added, "{session}:{line}");
            let new = [old.as_bytes(), &appended].concat();
            assert_eq!(merge(&new, &[item]).0, 0);
        }
        let struck = format!("{old}- ~~Use A.~~\n");
        assert_eq!(merged(&struck, &["Use A."]), struck);
    }

    #[test]
    fn other_kinds_are_ignored() {
        assert!(new_entries(b"", MemoryKind::Fact, &items(&["a"])).is_empty());
    }

    #[test]
    fn invalid_utf8_does_not_matter() {
        let old = b"\xff\xfe- x\n- Use A.\n";
        let (_, appended) = merge(old, &items(&["Use A.", "b"]));
        assert_eq!(appended, b"- b (user, demo:2)\n");
    }

    proptest! {
        #[test]
        fn merging_is_idempotent_and_adds_no_duplicates(
            old in "([-*#a-cA-C1. ~()\r\n:,]|user|（|决){0,60}",
            texts in prop::collection::vec("[a-cA-C ~*.,:()1-]{1,8}|决定[a-c。]{0,3}", 0..12),
        ) {
            let mut texts: Vec<String> = texts.iter().map(|text| plain_line(text)).collect();
            texts.retain(|text| !text.is_empty());
            let items = items(&texts);
            let (added, appended) = merge(old.as_bytes(), &items);
            let new = [old.as_bytes(), &appended].concat();
            prop_assert_eq!(merge(&new, &items), (0, Vec::new()));
            let mut keys: Vec<_> = String::from_utf8_lossy(&appended)
                .lines()
                .filter_map(|line| entry_text(line.strip_prefix("- ")?).map(comparison_key))
                .collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            prop_assert_eq!(keys.len(), count);
            prop_assert_eq!(count, added);
        }
    }
}
