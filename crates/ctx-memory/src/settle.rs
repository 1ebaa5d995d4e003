//! The items of a whole session: said twice is once, and what was taken back is marked.

use std::collections::HashSet;

use ctx_ledger::rules::MemoryKind;
use ctx_ledger::supersedes;
use ctx_ledger::text::key;

use crate::Item;

/// So many later decisions are compared with one: a session that is about the same for
/// longer than that speaks of something else by then.
const NEAREST: usize = 200;

/// So many items before and behind one are looked at for a part of the same message.
const NEAR: usize = 40;

/// Leaves out echoes, and marks decisions that a later one of the same session takes back.
pub fn settle(mut items: Vec<Item>) -> Vec<Item> {
    let mut known = HashSet::new();
    items.retain(|item| {
        item.kind == MemoryKind::Runtime || known.insert((item.kind, key(&item.text)))
    });
    // A sentence that another item of its message has among others.
    let texts: Vec<_> = (items.iter())
        .map(|item| (item.kind, item.line, item.text.clone()))
        .collect();
    let mut at = 0_usize;
    items.retain(|item| {
        at += 1;
        let near = &texts[at.saturating_sub(NEAR)..texts.len().min(at + NEAR)];
        item.kind == MemoryKind::Runtime
            || !near.iter().any(|(kind, line, text)| {
                (*kind, *line) == (item.kind, item.line)
                    && text.len() > item.text.len()
                    && text.contains(&item.text)
            })
    });
    let decisions: Vec<usize> = (0..items.len())
        .filter(|at| items[*at].kind == MemoryKind::Decision)
        .collect();
    for (order, at) in decisions.iter().enumerate() {
        let item = &items[*at];
        let later = decisions[order + 1..].iter().take(NEAREST);
        let by = later.map(|at| &items[*at]).find(|later| {
            later.line > item.line
                && later.session == item.session
                && supersedes((&later.text, later.role), (&item.text, item.role))
        });
        items[*at].taken_back = by.map(|later| later.line);
    }
    items
}

#[cfg(test)]
mod tests {
    use ctx_ledger::rules::MemoryKind;
    use ctx_transcript::Role;

    use super::settle;
    use crate::Item;

    fn item(kind: MemoryKind, text: &str, line: u64) -> Item {
        Item {
            kind,
            text: text.to_owned(),
            role: Role::User,
            line,
            session: "s".to_owned(),
            tool: None,
            why: None,
            date: None,
            taken_back: None,
        }
    }

    /// 16: an echo is no second item, a tool that runs twice did run twice.
    #[test]
    fn said_twice_is_once() {
        let items = settle(vec![
            item(MemoryKind::Decision, "Use A.", 1),
            item(MemoryKind::Decision, "**use a**", 4),
            item(MemoryKind::Fact, "Use A.", 4),
            item(MemoryKind::Runtime, "Bash: make", 5),
            item(MemoryKind::Runtime, "Bash: make", 6),
        ]);
        let lines: Vec<u64> = items.iter().map(|item| item.line).collect();
        assert_eq!(lines, [1, 4, 5, 6]);
    }

    /// 16: a sentence is not told beside the line that has it.
    #[test]
    fn a_part_of_another_item_is_none() {
        let items = settle(vec![
            item(MemoryKind::Preference, "Never push. Always ask.", 1),
            item(MemoryKind::Preference, "Always ask.", 1),
            item(MemoryKind::Preference, "Ask", 2),
        ]);
        let lines: Vec<u64> = items.iter().map(|item| item.line).collect();
        assert_eq!(lines, [1, 2]);
    }

    /// 16: the older of two decisions about the same is marked, others are not.
    #[test]
    fn what_was_taken_back_says_so() {
        let texts = [
            "We decided to use SQLite for the cache.",
            "We decided to write the manual in English.",
            "Let's use Redis instead of SQLite.",
        ];
        let items = texts.iter().zip(1..);
        let items = items.map(|(text, line)| item(MemoryKind::Decision, text, line));
        let marks: Vec<_> = settle(items.collect())
            .into_iter()
            .map(|item| item.taken_back)
            .collect();
        assert_eq!(marks, [Some(3), None, None]);
    }
}
