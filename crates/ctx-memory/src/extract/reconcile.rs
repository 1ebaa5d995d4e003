//! Reconciles all items from a session: drops repetitions and marks superseded decisions.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_format::Role;
use ctx_summary::ledger::Decision;
use ctx_summary::ledger::patterns::MemoryKind;
use ctx_text::LazyRegex;

use super::LISTS;
use crate::entry::MemoryItem;

/// The maximum number of later decisions that each decision is compared with. After that many
/// decisions, a session has moved on to another matter.
const DECISIONS_COMPARED: usize = 200;

/// The minimum length in bytes of a decision to search for in the model's reports. A shorter
/// decision occurs in many sentences by chance.
const SHORTEST: usize = 12;

/// The number of items before and after an item among which items from the same message are sought.
const NEIGHBOURS: usize = 40;

/// Drops repetitions, and marks decisions that a later decision in the same session supersedes.
pub fn reconcile(mut items: Vec<MemoryItem>) -> Vec<MemoryItem> {
    drop_repetitions(&mut items);
    drop_fragments(&mut items);
    mark_superseded(&mut items);
    items
}

/// Drops items in which the model reports one of the user's decisions, and items that repeat an
/// earlier item. Repetitions may differ in quotation marks and emphasis.
fn drop_repetitions(items: &mut Vec<MemoryItem>) {
    static REPORT: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("report"));
    let mut seen = HashSet::new();
    let mut decided_by_user: Vec<String> = Vec::new();
    items.retain(|item| {
        if item.kind == MemoryKind::Runtime {
            return true;
        }
        let text = bare(&item.text);
        let is_report = item.role != Role::User
            && REPORT.is_match(&item.text)
            && decided_by_user.iter().any(|decision| text.contains(decision.as_str()));
        if item.role == Role::User && item.kind == MemoryKind::Decision {
            let own_words = bare(item.text.split(" [").next().unwrap_or_default());
            if own_words.len() >= SHORTEST {
                decided_by_user.push(own_words);
            }
        }
        seen.insert((item.kind, text)) && !is_report
    });
}

/// Drops sentences that are contained in another item from the same message.
fn drop_fragments(items: &mut Vec<MemoryItem>) {
    let texts: Vec<_> =
        (items.iter()).map(|item| (item.kind, item.line, item.text.clone())).collect();
    let mut at = 0_usize;
    items.retain(|item| {
        at += 1;
        let mut neighbours =
            texts[at.saturating_sub(NEIGHBOURS)..texts.len().min(at + NEIGHBOURS)].iter();
        let is_fragment = neighbours.any(|(kind, line, text)| {
            (*kind, *line) == (item.kind, item.line)
                && text.len() > item.text.len()
                && text.contains(&item.text)
        });
        item.kind == MemoryKind::Runtime || !is_fragment
    });
}

fn mark_superseded(items: &mut [MemoryItem]) {
    let decisions = items.iter().enumerate().filter(|(_, it)| it.kind == MemoryKind::Decision);
    let decisions: Vec<(usize, Decision)> =
        decisions.map(|(at, item)| (at, Decision::of(&item.text, item.role))).collect();
    for (order, (at, decision)) in decisions.iter().enumerate() {
        let item = &items[*at];
        let mut later = decisions[order + 1..].iter().take(DECISIONS_COMPARED);
        let successor = later.find(|(at, later)| {
            items[*at].line > item.line
                && items[*at].session == item.session
                && later.supersedes(decision)
        });
        items[*at].taken_back = successor.map(|(at, _)| items[*at].line);
    }
}

/// Returns the text in lower case, without white space, quotation marks, emphasis, parentheses and
/// final punctuation, so that a sentence and its quotation compare as equal. All other characters
/// are kept, because C++ is not C#.
pub(super) fn bare(text: &str) -> String {
    let kept = (text.chars()).filter(|c| !c.is_whitespace() && !"`*\"'“”‘’「」()".contains(*c));
    let plain: String = kept.flat_map(char::to_lowercase).collect();
    plain.trim_end_matches(['.', '。', '!', '！']).to_owned()
}

#[cfg(test)]
mod tests {
    use ctx_format::Role;
    use ctx_summary::ledger::patterns::MemoryKind;

    use super::reconcile;
    use crate::entry::MemoryItem;

    fn item(kind: MemoryKind, text: &str, line: u64) -> MemoryItem {
        MemoryItem { kind, ..MemoryItem::example(text, line) }
    }

    #[test]
    fn a_repetition_is_dropped_unless_a_tool_ran_twice() {
        let items = reconcile(vec![
            item(MemoryKind::Decision, "Use A.", 1),
            item(MemoryKind::Decision, "**use a**", 4),
            item(MemoryKind::Fact, "Use A.", 4),
            item(MemoryKind::Runtime, "Bash: make", 5),
            item(MemoryKind::Runtime, "Bash: make", 6),
        ]);
        let lines: Vec<u64> = items.iter().map(|item| item.line).collect();
        assert_eq!(lines, [1, 4, 5, 6]);
    }

    #[test]
    fn the_models_report_of_a_decision_is_dropped() {
        let mut items = vec![
            item(MemoryKind::Decision, "let's go with option 1. [1: keep it]", 1),
            item(MemoryKind::Decision, "User said: \"let's go with option 1.\" [1: keep it]", 4),
            item(MemoryKind::Decision, "User decided on tabs.", 4),
        ];
        items[1].role = Role::Assistant;
        items[2].role = Role::Assistant;
        let texts: Vec<_> = reconcile(items).into_iter().map(|item| item.text).collect();
        assert_eq!(texts, ["let's go with option 1. [1: keep it]", "User decided on tabs."]);
    }

    #[test]
    fn a_fragment_of_another_item_is_dropped() {
        let items = reconcile(vec![
            item(MemoryKind::Preference, "Never push. Always ask.", 1),
            item(MemoryKind::Preference, "Always ask.", 1),
            item(MemoryKind::Preference, "Ask", 2),
        ]);
        let lines: Vec<u64> = items.iter().map(|item| item.line).collect();
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn the_older_of_two_decisions_on_one_matter_is_marked() {
        let texts = [
            "We decided to use SQLite for the cache.",
            "We decided to write the manual in English.",
            "Let's use Redis instead of SQLite.",
        ];
        let items = texts.iter().zip(1..);
        let items = items.map(|(text, line)| item(MemoryKind::Decision, text, line));
        let marks: Vec<_> =
            reconcile(items.collect()).into_iter().map(|item| item.taken_back).collect();
        assert_eq!(marks, [Some(3), None, None]);
    }
}
