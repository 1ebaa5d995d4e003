//! Items into a memory file, beside what people wrote there.
//!
//! The old bytes stay as they are, all of them; new entries are appended:
//!
//! ```text
//! # Decisions
//!
//! - We will keep SQLite. (user, demo:42, 2026-11-20)
//! ```
//!
//! An entry that stands anywhere in the file, also reworded in case, blanks or
//! emphasis, is not added again. So an entry that a person struck out
//! (`~~…~~`) stays struck out; one that was deleted comes back when its
//! session is extracted again. One that a later session took back is added again when a
//! third one says it once more.

use std::collections::{HashMap, HashSet};

use crate::{Entry, Item, Place};
use ctx_ledger::rules::MemoryKind;
use ctx_ledger::sentence::without_marker;
use ctx_ledger::text::key;

/// What a merge did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Merged {
    /// What is to be appended to the file; empty when there is nothing new.
    pub(crate) appended: Vec<u8>,
    /// How many items are new.
    pub(crate) added: usize,
    /// How many stood there already, or came twice.
    pub(crate) known: usize,
    /// The new ones as the log of the day has them; not the runtime ones, of which there are many.
    pub(crate) entries: Vec<String>,
}

/// Merges those `items` that are of `kind` into its file, which holds `old` now.
pub(crate) fn merge(old: &[u8], kind: MemoryKind, items: &[Item]) -> Merged {
    // Bytes that are no UTF-8 are only read past, never written.
    let text = String::from_utf8_lossy(old);
    let taken_back = taken_back(&text);
    let mut known = keys(&text);
    known.retain(|key| !taken_back.contains_key(key));
    let mut merged = Merged::default();
    let mut entries = Vec::new();
    for item in items.iter().filter(|item| item.kind == kind) {
        let key = key(&item.text);
        let is_again = (taken_back.get(&key)).is_none_or(|entries| {
            let mut entries = entries.iter();
            entries.all(|entry| decides_again(item, entry))
        });
        if is_again && known.insert(key) {
            merged.added += 1;
            let entry = entry(item);
            if kind != MemoryKind::Runtime {
                merged.entries.push(format!("{}: {entry}", kind.as_str()));
            }
            entries.push(entry);
        } else {
            merged.known += 1;
        }
    }
    merged.appended = append(old, kind, &entries);
    merged
}

/// Of what stands there only as taken back by another session, the entries by their keys.
fn taken_back(text: &str) -> HashMap<String, Vec<Entry<'_>>> {
    let mut found: HashMap<String, Vec<Entry<'_>>> = HashMap::new();
    let mut holds = HashSet::new();
    for line in text.lines() {
        let entry = without_marker(line.trim()).1;
        match Entry::parse(entry) {
            Some(entry) if is_taken_back_elsewhere(&entry) => {
                found.entry(key(entry.text)).or_default().push(entry);
            }
            Some(entry) => _ = holds.insert(key(entry.text)),
            None => holds.extend(keys(line)),
        }
    }
    found.retain(|key, _| !holds.contains(key));
    found
}

fn is_taken_back_elsewhere(entry: &Entry<'_>) -> bool {
    let by = entry.taken_back.map(|by| by.session);
    by.is_some_and(|by| by != entry.place.session)
}

/// Whether somebody decides for what was taken back once more: in a third session, or further down
/// in the one that took it back.
fn decides_again(item: &Item, entry: &Entry<'_>) -> bool {
    let session = item.session.as_str();
    let is_behind = |by: Place<'_>| session != by.session || item.line > by.line;
    session != entry.place.session && entry.taken_back.is_none_or(is_behind)
}

/// What is to be appended to the file of a kind, so that it has these entries.
pub(crate) fn append(old: &[u8], kind: MemoryKind, entries: &[String]) -> Vec<u8> {
    let text = String::from_utf8_lossy(old);
    let line_end = line_end(&text);
    if entries.is_empty() {
        return Vec::new();
    }
    let entries = entries.iter().map(|entry| format!("- {entry}{line_end}"));
    let appended = joint(&text, kind, line_end) + &entries.collect::<String>();
    appended.into_bytes()
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The item as an entry of its file.
fn entry(item: &Item) -> String {
    let session = item.session.as_str();
    let place = |line| Place { session, line };
    let entry = Entry {
        text: &item.text,
        role: item.role.as_str(),
        place: place(item.line),
        date: item.date,
        taken_back: item.taken_back.map(place),
    };
    entry.to_string()
}

/// What stands between the old text and the first new entry.
fn joint(old: &str, kind: MemoryKind, line_end: &str) -> String {
    if old.trim().is_empty() {
        return format!("# {}{line_end}{line_end}", title(kind));
    }
    let mut joint = String::new();
    if !old.ends_with('\n') {
        joint.push_str(line_end);
    }
    let last = old.lines().next_back().unwrap_or_default();
    // A list goes on; anything else needs a blank line before a list.
    if !last.trim().is_empty() && !without_marker(last.trim_start()).0 {
        joint.push_str(line_end);
    }
    joint
}

/// The keys of the entries of a file.
pub(crate) fn keys(text: &str) -> HashSet<String> {
    let entries = text.lines().map(|line| without_marker(line.trim()).1);
    let texts = entries.flat_map(|entry| [Some(entry), said(entry)]);
    texts.flatten().map(key).collect()
}

/// The text of an entry that we wrote, also where a person struck it out.
fn said(entry: &str) -> Option<&str> {
    Entry::parse(entry.trim_end_matches(['~', '*', '_', ' '])).map(|entry| entry.text)
}

/// The name of the memory file of a kind.
pub(crate) fn file_name(kind: MemoryKind) -> String {
    format!("{}.md", title(kind).to_lowercase())
}

/// The heading of the memory file of a kind.
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
    use ctx_ledger::rules::MemoryKind;
    use ctx_transcript::Role;
    use proptest::prelude::*;

    use super::merge;
    use crate::Item;

    fn item(text: &str, line: u64) -> Item {
        Item {
            kind: MemoryKind::Decision,
            text: text.to_owned(),
            role: Role::User,
            line,
            session: "demo".to_owned(),
            tool: None,
            why: None,
            scope: None,
            date: None,
            taken_back: None,
        }
    }

    fn merged(old: &str, texts: &[&str]) -> String {
        let items: Vec<Item> = texts
            .iter()
            .zip(1..)
            .map(|(text, line)| item(text, line))
            .collect();
        let appended = merge(old.as_bytes(), MemoryKind::Decision, &items).appended;
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
        assert_eq!(
            merged("# D\n\n- a", &["b"]),
            "# D\n\n- a\n- b (user, demo:1)\n"
        );
        assert_eq!(merged("Notes.", &["b"]), "Notes.\n\n- b (user, demo:1)\n");
        assert_eq!(
            merged("Notes.\n\n", &["b"]),
            "Notes.\n\n- b (user, demo:1)\n"
        );
        assert_eq!(merged("- a\r\n", &["b"]), "- a\r\n- b (user, demo:1)\r\n");
    }

    #[test]
    fn what_stands_there_is_not_added() {
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
    fn what_only_resembles_it_is_added() {
        for old in ["- Use AB.\n", "- Do not use A.\n", "- Use A (see b:1)\n"] {
            assert_ne!(merged(old, &["Use A."]), old, "{old}");
        }
    }

    #[test]
    fn twice_in_one_session_is_once() {
        let items = [item("Use A.", 1), item("use a", 9)];
        let merged = merge(b"", MemoryKind::Decision, &items);
        assert_eq!((merged.added, merged.known), (1, 1));
    }

    /// 16: a decision that was taken back says so, and is known again.
    #[test]
    fn a_decision_that_was_taken_back_says_so() {
        let back = Item {
            taken_back: Some(9),
            ..item("Use A.", 1)
        };
        let appended = merge(b"", MemoryKind::Decision, std::slice::from_ref(&back)).appended;
        let entry = "# Decisions\n\n- Use A. (user, demo:1, taken back in demo:9)\n";
        assert_eq!(String::from_utf8_lossy(&appended), entry);
        assert_eq!(
            merge(entry.as_bytes(), MemoryKind::Decision, &[back]).known,
            1
        );
    }

    /// 16: what another session took back, and somebody decides for again, is a new entry; what
    /// its own sessions say of it is known.
    #[test]
    fn what_is_decided_again_is_added() {
        let old = "- Use A. (user, a:1, 2026-11-01, taken back in b:9)\n";
        for (session, line, added) in [("demo", 3, 1), ("a", 1, 0), ("b", 3, 0), ("b", 12, 1)] {
            let again = Item {
                session: session.to_owned(),
                ..item("Use A.", line)
            };
            let merged = merge(
                old.as_bytes(),
                MemoryKind::Decision,
                &[again.clone(), again.clone()],
            );
            assert_eq!(merged.added, added, "{session}:{line}");
            let new = [old.as_bytes(), &merged.appended].concat();
            assert_eq!(merge(&new, MemoryKind::Decision, &[again]).added, 0);
        }
        let struck = format!("{old}- ~~Use A.~~\n");
        assert_eq!(
            merge(
                struck.as_bytes(),
                MemoryKind::Decision,
                &[item("Use A.", 3)]
            )
            .added,
            0
        );
    }

    #[test]
    fn other_kinds_are_left_alone() {
        assert_eq!(merge(b"", MemoryKind::Fact, &[item("a", 1)]).added, 0);
    }

    #[test]
    fn bytes_that_are_no_text_are_no_obstacle() {
        let merged = merge(
            b"\xff\xfe- x\n- Use A.\n",
            MemoryKind::Decision,
            &[item("Use A.", 1), item("b", 2)],
        );
        assert_eq!(merged.appended, b"- b (user, demo:2)\n");
    }

    proptest! {
        #[test]
        fn merging_is_idempotent_and_has_no_duplicates(
            old in "([-*#a-cA-C1. ~()\r\n:,]|user|（|决){0,60}",
            texts in prop::collection::vec("[a-cA-C ~*.,:()1-]{1,8}|决定[a-c。]{0,3}", 0..12),
        ) {
            // An item says something.
            let texts: Vec<String> = (texts.iter())
                .map(|text| ctx_ledger::text::plain_line(text))
                .filter(|text| !text.is_empty())
                .collect();
            let items: Vec<Item> = texts.iter().zip(1..).map(|(text, line)| item(text, line)).collect();
            let first = merge(old.as_bytes(), MemoryKind::Decision, &items);
            prop_assert_eq!(first.added + first.known, items.len());
            let new = [old.as_bytes(), &first.appended].concat();
            let second = merge(&new, MemoryKind::Decision, &items);
            prop_assert_eq!((second.added, second.appended.len()), (0, 0));
            let mut keys: Vec<_> = String::from_utf8_lossy(&first.appended)
                .lines()
                .filter_map(|line| super::said(line.strip_prefix("- ")?).map(ctx_ledger::text::key))
                .collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            prop_assert_eq!(keys.len(), count);
            prop_assert_eq!(count, first.added);
        }
    }
}
