//! The items of a whole session: said twice is once, and what was taken back is marked.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_ledger::rules::MemoryKind;
use ctx_ledger::supersedes;
use ctx_ledger::text::regex;
use ctx_transcript::Role;
use regex::Regex;

use crate::Item;

/// So many later decisions are compared with one: a session that is about the same for
/// longer than that speaks of something else by then.
const NEAREST: usize = 200;

/// What is shorter stands in many sentences by chance.
const SHORTEST: usize = 12;

/// So many items before and behind one are looked at for a part of the same message.
const NEAR: usize = 40;

/// Leaves out echoes, and marks decisions that a later one of the same session takes back.
pub fn settle(mut items: Vec<Item>) -> Vec<Item> {
    leave_out_echoes(&mut items);
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

/// Leaves out what was said before, also in other quotes and emphasis, and the model's report
/// that the user said it.
fn leave_out_echoes(items: &mut Vec<Item>) {
    let mut known = HashSet::new();
    let mut of_user: Vec<String> = Vec::new();
    items.retain(|item| {
        if item.kind == MemoryKind::Runtime {
            return true;
        }
        let said = bare(&item.text);
        let is_report = item.role != Role::User
            && REPORTS.is_match(&item.text)
            && of_user.iter().any(|user| said.contains(user.as_str()));
        if item.role == Role::User && item.kind == MemoryKind::Decision {
            let own = item.text.split(" [").next().unwrap_or_default();
            of_user.extend(Some(bare(own)).filter(|own| own.len() >= SHORTEST));
        }
        known.insert((item.kind, said)) && !is_report
    });
}

/// How a summary begins to tell what the user said.
static REPORTS: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)^[*_]*(?:the )?user\b|^[*_]*用户"));

/// A text without blanks, quotes, emphasis and the stop at its end: what is the same where it is
/// quoted. Other signs stay: C++ is not C#.
pub(crate) fn bare(text: &str) -> String {
    let kept = (text.chars()).filter(|c| !c.is_whitespace() && !"`*\"'“”‘’「」()".contains(*c));
    let plain: String = kept.flat_map(char::to_lowercase).collect();
    plain.trim_end_matches(['.', '。', '!', '！']).to_owned()
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
            scope: None,
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

    /// 16: what the model tells of the user's words is their echo.
    #[test]
    fn a_report_of_it_is_an_echo() {
        let mut items = vec![
            item(
                MemoryKind::Decision,
                "let's go with option 1. [1: keep it]",
                1,
            ),
            item(
                MemoryKind::Decision,
                "User said: \"let's go with option 1.\" [1: keep it]",
                4,
            ),
            item(MemoryKind::Decision, "User decided on tabs.", 4),
        ];
        items[1].role = Role::Assistant;
        items[2].role = Role::Assistant;
        let texts: Vec<_> = settle(items).into_iter().map(|item| item.text).collect();
        assert_eq!(
            texts,
            [
                "let's go with option 1. [1: keep it]",
                "User decided on tabs."
            ]
        );
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
