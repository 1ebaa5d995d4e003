//! The typed items under their headings: as many as their share of the summary
//! holds, what matters most first.

use ctx_tokens::TokenCounter;

use ctx_ledger::form::{heading, line_of};
use ctx_ledger::text::first_chars;
use ctx_ledger::{Item, ItemKind, State};

/// Of the whole summary, in percent. Where there is little, what the agent needs next
/// comes before what it was told: the latest request stays beside the summary.
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

/// A summary of fewer tokens has little room.
const LITTLE: u64 = 1_000;
/// A section with less room is left out: what it could say is not worth its heading.
const LEAST: u64 = 30;
/// A summary of so many tokens cites the lines of its items.
const CITES: u64 = 600;

/// The sections of a summary.
pub(super) struct Sections {
    /// Their text; empty, or ending with a line end.
    pub(super) text: String,
    /// Items that had no room, by kind.
    pub(super) left_out: Vec<(ItemKind, usize)>,
}

impl Sections {
    /// `limit` is what the shares are of; all sections together have at most `most`
    /// tokens.
    pub(super) fn of(
        items: &[&Item],
        limit: u64,
        mut most: u64,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut text = String::new();
        let mut left_out = Vec::new();
        for kind in ItemKind::ALL {
            let ranked = ranked(items, kind);
            let chosen = choose(
                &ranked,
                limit,
                (limit * share(kind, limit) / 100).min(most),
                counter,
            );
            left_out.push((kind, ranked.len() - chosen.len()));
            if chosen.is_empty() {
                continue;
            }
            text.push_str(heading(kind));
            text.push('\n');
            most = most.saturating_sub(counter.count(heading(kind)) + 1);
            for (_, line) in chosen {
                most = most.saturating_sub(counter.count(&line) + 1);
                text.push_str(&line);
                text.push('\n');
            }
        }
        Self { text, left_out }
    }
}

/// The items of a kind that still hold, with their places, the first to be kept first.
fn ranked<'i>(items: &[&'i Item], kind: ItemKind) -> Vec<(usize, &'i Item)> {
    let of_kind = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.kind == kind);
    let mut ranked: Vec<(usize, &'i Item)> = of_kind
        .map(|(at, item)| (at, *item))
        .filter(|(_, item)| match kind {
            // A mended error may be met again.
            ItemKind::Error => item.state != State::Superseded,
            _ => item.state == State::Current,
        })
        .collect();
    ranked.reverse();
    match kind {
        // What the session is about, then the latest.
        ItemKind::Ask => {
            if let Some(first) = ranked.pop() {
                ranked.insert(ranked.len().min(1), first);
            }
        }
        ItemKind::Error => ranked.sort_by_key(|(_, item)| item.state == State::Done),
        ItemKind::File => ranked.sort_by_key(|(_, item)| !item.changed),
        ItemKind::Command => ranked.sort_by_key(|(_, item)| item.changed),
        ItemKind::Constraint | ItemKind::Decision | ItemKind::Open => {}
    }
    ranked
}

/// As many as there is room for, in the order of the session.
fn choose(
    ranked: &[(usize, &Item)],
    limit: u64,
    room: u64,
    counter: &dyn TokenCounter,
) -> Vec<(usize, String)> {
    let Some((_, first)) = ranked.first() else {
        return Vec::new();
    };
    if room < LEAST {
        return Vec::new();
    }
    let mut left = room.saturating_sub(counter.count(heading(first.kind)) + 1);
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

/// The beginning of a line, up to the end of a word.
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
