//! Writes sections of items, such as decisions or errors. For each kind of item, a share of the
//! text is reserved for the most important items.
//!
//! An extractive summary has sections only for task lists and errors, because the story covers the
//! other kinds. A list of everything that a summary must contain has sections for all kinds.

use ctx_tokens::TokenCounter;

use super::page::CITES;
use crate::ledger::form::{heading, line_of};
use crate::ledger::{Item, ItemKind, State};
use ctx_text::first_chars;

/// Returns the share of the text for items of this kind, in percent. Requests have a smaller share
/// in a short summary, because the latest request is kept in the session anyway.
fn share(kind: ItemKind, limit: u64) -> u64 {
    let little = limit < LITTLE;
    match kind {
        ItemKind::Ask if little => 8,
        ItemKind::Ask => 16,
        ItemKind::Constraint | ItemKind::Decision | ItemKind::Open if little => 3,
        ItemKind::Constraint => 6,
        ItemKind::Decision | ItemKind::Open | ItemKind::Error | ItemKind::File => 4,
        ItemKind::Command => 1,
    }
}

/// The sum of the shares of all kinds in a long text, in percent.
const ALL_SHARES: u64 = 39;
/// If the limit is below this number of tokens, some kinds of items have smaller shares.
const LITTLE: u64 = 1_000;
/// The minimum space for a section, in tokens. A smaller section does not justify its heading.
const LEAST: u64 = 30;

/// Writes the sections of all items in at most `limit` tokens.
pub(super) fn all_sections(items: &[Item], limit: u64, counter: &dyn TokenCounter) -> String {
    let holding: Vec<&Item> = items.iter().filter(|item| item.holds()).collect();
    sections(&holding, limit * 100 / ALL_SHARES, limit, counter)
}

/// Writes the sections for the given items. The text is empty or ends with a line break.
///
/// The shares are percentages of `limit`. All sections together have at most `most` tokens.
pub(super) fn sections(
    items: &[&Item],
    limit: u64,
    mut most: u64,
    counter: &dyn TokenCounter,
) -> String {
    let mut text = String::new();
    for kind in ItemKind::ALL.iter().copied() {
        let room = (limit * share(kind, limit) / 100).min(most);
        let chosen = choose(&ranked(items, kind), limit, room, counter);
        if chosen.is_empty() {
            continue;
        }
        let lines = chosen.into_iter().map(|(_, line)| line);
        for line in std::iter::once(heading(kind)).chain(lines) {
            most = most.saturating_sub(counter.count(&line) + 1);
            text.extend([&*line, "\n"]);
        }
    }
    text
}

/// Returns the current items of a kind with their positions, from most to least important. Finished
/// tasks follow the open tasks from the same list.
fn ranked<'i>(items: &[&'i Item], kind: ItemKind) -> Vec<(usize, &'i Item)> {
    let items = items.iter().copied().enumerate().rev();
    let is_told = |item: &Item| item.holds() || item.is_done_task();
    let of_kind = items.filter(|(_, item)| item.kind == kind && is_told(item));
    let mut ranked: Vec<(usize, &'i Item)> = of_kind.collect();
    match kind {
        // The latest request comes first, then the first request, which says what the session is
        // about.
        ItemKind::Ask => {
            if let Some(first) = ranked.pop() {
                ranked.insert(ranked.len().min(1), first);
            }
        }
        ItemKind::Error => ranked.sort_by_key(|(_, item)| item.state == State::Done),
        ItemKind::File => ranked.sort_by_key(|(_, item)| !item.changed),
        ItemKind::Command => ranked.sort_by_key(|(_, item)| item.changed),
        ItemKind::Open => {
            ranked.sort_by_key(|(_, item)| item.is_done_task());
            if ranked.first().is_some_and(|(_, item)| item.is_done_task()) {
                ranked.clear();
            }
        }
        ItemKind::Constraint | ItemKind::Decision => {}
    }
    ranked
}

/// Chooses as many items as fit into `room`, and returns them in session order.
fn choose(
    ranked: &[(usize, &Item)],
    limit: u64,
    room: u64,
    counter: &dyn TokenCounter,
) -> Vec<(usize, String)> {
    let first = ranked.first().filter(|_| room >= LEAST);
    let Some((_, first)) = first else { return Vec::new() };
    let mut left = room.saturating_sub(counter.count(&heading(first.kind)) + 1);
    let mut chosen = Vec::new();
    for (at, item) in ranked {
        let mut line = line_of(item, limit >= CITES);
        let mut tokens = counter.count(&line) + 1;
        if tokens > left && chosen.is_empty() && item.kind == ItemKind::Ask {
            line = shortened(&line, left, counter);
            tokens = counter.count(&line) + 1;
        }
        if tokens <= left {
            left -= tokens;
            chosen.push((*at, line));
        }
        if left < LEAST / 4 {
            break;
        }
    }
    chosen.sort_by_key(|(at, _)| *at);
    chosen
}

/// Cuts a line at the end of a word, so that fewer than `tokens` tokens remain.
fn shortened(line: &str, tokens: u64, counter: &dyn TokenCounter) -> String {
    let mut chars = line.chars().count();
    loop {
        let head = first_chars(line, chars);
        let end = head.rfind(' ').filter(|end| *end > head.len() / 2);
        let short = format!("{} …", head[..end.unwrap_or(head.len())].trim_end());
        if chars < 8 || counter.count(&short) < tokens {
            return short;
        }
        chars = chars * 4 / 5;
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::form::heading;
    use crate::ledger::{Item, ItemKind, State};
    use ctx_tokens::{Encoding, TokenCounter};

    use super::{ALL_SHARES, CITES, LEAST, LITTLE, ranked, share, shortened};

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    fn item(kind: ItemKind, text: &str, line: u64) -> Item {
        Item { kind, text: text.to_owned(), line, state: State::Current, changed: false }
    }

    fn sections(items: &[Item], limit: u64, most: u64) -> String {
        let items: Vec<&Item> = items.iter().collect();
        super::sections(&items, limit, most, counter())
    }

    fn order(items: &[Item], kind: ItemKind) -> Vec<u64> {
        let items: Vec<&Item> = items.iter().collect();
        let ranked = ranked(&items, kind);
        ranked.iter().map(|(_, item)| item.line).collect()
    }

    #[test]
    fn tasks_that_are_done_stand_behind_open_ones_only() {
        let task = |text: &str, line: u64, state: State| Item {
            state,
            changed: true,
            ..item(ItemKind::Open, text, line)
        };
        let done = task("one", 1, State::Done);
        let begun = task("two", 2, State::InProgress);
        let open = task("three", 3, State::Current);
        let of = |items: &[Item]| order(items, ItemKind::Open);
        assert_eq!(of(&[done.clone(), begun, open]), [3, 2, 1]);
        assert_eq!(of(&[done]), [0_u64; 0]);
    }

    #[test]
    fn no_items_make_no_sections() {
        assert_eq!(sections(&[], 10_000, 10_000), "");
    }

    #[test]
    fn the_shares_are_no_more_than_was_said() {
        for limit in [0, LITTLE - 1, LITTLE, 100_000] {
            let all: u64 = ItemKind::ALL.iter().map(|kind| share(*kind, limit)).sum();
            assert!(all <= ALL_SHARES, "{limit}: {all}");
        }
        assert!(share(ItemKind::Ask, LITTLE - 1) < share(ItemKind::Ask, LITTLE));
    }

    #[test]
    fn items_stand_under_their_headings_in_the_order_of_the_session() {
        let items = [
            item(ItemKind::Decision, "use redis", 3),
            item(ItemKind::Ask, "build it", 1),
            item(ItemKind::Ask, "测试它", 9),
        ];
        let found = sections(&items, 10_000, 10_000);
        let expected = format!(
            "{}\n- build it ⟦1⟧\n- 测试它 ⟦9⟧\n{}\n- use redis ⟦3⟧\n",
            heading(ItemKind::Ask),
            heading(ItemKind::Decision)
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn short_summaries_cite_nothing() {
        let items = [item(ItemKind::Ask, "build it", 1)];
        assert!(sections(&items, CITES, CITES).contains('⟦'));
        let text = sections(&items, CITES - 1, CITES);
        assert!(text.contains("build it") && !text.contains('⟦'), "{text}");
    }

    #[test]
    fn a_section_keeps_its_share() {
        let items: Vec<Item> =
            (1..=500).map(|n| item(ItemKind::Ask, &format!("request number {n}"), n)).collect();
        let limit = 2_000;
        let found = sections(&items, limit, limit);
        let written = found.lines().count() - 1;
        assert!(written > 10);
        assert!(counter().count(&found) <= limit * share(ItemKind::Ask, limit) / 100);
        // The section contains the first and the latest request.
        let has = |n: usize| found.contains(&format!("number {n} ⟦{n}⟧\n"));
        assert!(has(1) && has(500), "{}", found);
    }

    #[test]
    fn without_room_nothing_is_written() {
        let items = [item(ItemKind::Ask, "build it", 1), item(ItemKind::Open, "test it", 2)];
        for (limit, most) in [(0, 0), (10_000, 0), (10_000, LEAST - 1), (LEAST, 10_000)] {
            let found = sections(&items, limit, most);
            assert_eq!(found, "", "{limit} {most}");
        }
    }

    #[test]
    fn the_most_counts_for_all_sections_together() {
        let items: Vec<Item> = ItemKind::ALL
            .iter()
            .flat_map(|kind| (0..50).map(move |n| item(*kind, &format!("事项 {n} of {kind:?}"), n)))
            .collect();
        for most in [40, 100, 300, 1_000] {
            let found = sections(&items, 100_000, most);
            assert!(counter().count(&found) <= most, "{most}: {found}");
        }
    }

    #[test]
    fn what_matters_most_comes_first() {
        let with = |line, state, changed| Item {
            state,
            changed,
            ..item(ItemKind::Ask, &format!("item {line}"), line)
        };
        let mut items = vec![
            with(1, State::Current, false),
            with(2, State::Superseded, true),
            with(3, State::Done, true),
            with(4, State::Current, true),
            with(5, State::Current, false),
        ];
        // The latest request is the current task, and the first request says what the session is
        // about.
        assert_eq!(order(&items, ItemKind::Ask), [5, 1, 4]);
        let mut of = |kind| {
            for item in &mut items {
                item.kind = kind;
            }
            order(&items, kind)
        };
        assert_eq!(of(ItemKind::Decision), [5, 4, 1]);
        // A repaired error may occur again.
        assert_eq!(of(ItemKind::Error), [5, 4, 1, 3]);
        // Changed files and failed commands come first.
        assert_eq!(of(ItemKind::File), [4, 5, 1]);
        assert_eq!(of(ItemKind::Command), [5, 1, 4]);
        assert_eq!(order(&[], ItemKind::Ask), [0; 0]);
    }

    #[test]
    fn a_request_that_is_too_long_is_shortened_and_other_items_are_not() {
        for words in ["words and more ", "没有空格的很长的一句话", "x"] {
            let long = words.repeat(2_000);
            let ask = sections(&[item(ItemKind::Ask, &long, 1)], 1_500, 1_500);
            assert!(ask.trim_end().ends_with('…'), "{}", ask);
            let open = sections(&[item(ItemKind::Open, &long, 1)], 1_500, 1_500);
            assert_eq!(open, "");
        }
    }

    #[test]
    fn a_line_is_shortened_at_the_end_of_a_word() {
        let line = format!("- {}", "word ".repeat(100));
        let short = shortened(&line, 20, counter());
        assert!(counter().count(&short) < 20);
        let words = short.strip_suffix(" …").expect("a mark");
        assert!(words.ends_with("word"), "{short}");
        // Even if nothing fits, a few characters are kept.
        assert!(shortened("- 很长的一句话没有空格", 0, counter()).ends_with('…'));
    }
}
