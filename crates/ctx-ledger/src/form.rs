//! The form of an extractive summary: what is written, and how it is read again
//! when it is old itself.

use crate::{Item, ItemKind, State};

mod label;
mod read;

pub use label::{Label, labelled};
pub use read::{Line, read};

/// The heading of a kind's section.
pub fn heading(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Ask => "## Asks",
        ItemKind::Constraint => "## Constraints",
        ItemKind::Decision => "## Decisions",
        ItemKind::Open => "## Open",
        ItemKind::Error => "## Errors",
        ItemKind::File => "## Files",
        ItemKind::Command => "## Commands",
    }
}

/// Lines of the session, as a summary cites them.
pub fn citation(first: u64, last: u64) -> String {
    if first == last {
        format!("⟦{first}⟧")
    } else {
        format!("⟦{first}-{last}⟧")
    }
}

/// A text without the citation it ends with, and the first line that names.
pub fn cited(text: &str) -> (&str, Option<u64>) {
    let parse = || {
        let (before, lines) = text.strip_suffix('⟧')?.rsplit_once('⟦')?;
        let first = lines.split('-').next()?;
        Some((before.trim_end(), first.parse().ok()?))
    };
    match parse() {
        Some((before, line)) => (before, Some(line)),
        None => (text, None),
    }
}

const REPAIRED: &str = " (repaired)";
/// How a task of a list stands, in the words of the agents' own lists.
const TASKS: [(State, &str); 3] = [
    (State::Current, " (pending)"),
    (State::InProgress, " (in_progress)"),
    (State::Done, " (completed)"),
];
const FAILED: &str = " (failed)";
const CHANGED: &str = "changed: ";
const READ: &str = "read: ";

/// The line of an item.
pub fn line_of(item: &Item, cite: bool) -> String {
    let (before, after) = match item.kind {
        ItemKind::File if item.changed => (CHANGED, ""),
        ItemKind::File => (READ, ""),
        ItemKind::Error if item.state == State::Done => ("", REPAIRED),
        ItemKind::Open if item.changed => {
            let of_state = TASKS.iter().find(|(state, _)| *state == item.state);
            ("", of_state.map_or("", |(_, word)| word))
        }
        ItemKind::Command if !item.changed => ("", FAILED),
        _ => ("", ""),
    };
    let mut line = format!("- {before}{}{after}", item.text);
    if cite && item.line > 0 {
        line.push(' ');
        line.push_str(&citation(item.line, item.line));
    }
    line
}

/// The item of a line that [`line_of`] wrote.
pub fn item_of(kind: ItemKind, line: &str) -> Option<Item> {
    let (mut text, line) = cited(line.strip_prefix("- ")?.trim_end());
    let mut item = Item::new(kind, String::new(), line.unwrap_or_default());
    // Of a list that the next list replaces; of a command: that it went well.
    item.changed = matches!(kind, ItemKind::Open | ItemKind::Command);
    match kind {
        ItemKind::File => {
            let changed = text.strip_prefix(CHANGED);
            item.changed = changed.is_some();
            text = changed.or(text.strip_prefix(READ)).unwrap_or(text);
        }
        ItemKind::Error => {
            if let Some(error) = text.strip_suffix(REPAIRED) {
                text = error;
                item.state = State::Done;
            }
        }
        ItemKind::Command => {
            if let Some(command) = text.strip_suffix(FAILED) {
                text = command;
                item.changed = false;
            }
        }
        ItemKind::Open => {
            for (state, word) in TASKS {
                if let Some(task) = text.strip_suffix(word) {
                    text = task;
                    item.state = state;
                }
            }
        }
        ItemKind::Ask | ItemKind::Constraint | ItemKind::Decision => {}
    }
    text.clone_into(&mut item.text);
    Some(item)
}

const LEFT_OUT: &str = "⟦left out: ";

/// How many items had no room, in a line of its own; empty when all had.
pub fn left_out(counts: &[(ItemKind, usize)]) -> String {
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(kind, count)| format!("{count} {}", kind.as_str()));
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() {
        return String::new();
    }
    format!("{LEFT_OUT}{}⟧", counts.join(", "))
}

fn left_out_of(line: &str) -> Option<Vec<(ItemKind, usize)>> {
    let counts = line.strip_prefix(LEFT_OUT)?.strip_suffix('⟧')?;
    let count = |part: &str| {
        let (count, name) = part.split_once(' ')?;
        let mut kinds = ItemKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.as_str() == name)?;
        Some((kind, count.parse().ok()?))
    };
    Some(counts.split(", ").filter_map(count).collect())
}

#[cfg(test)]
mod tests {
    use super::{citation, cited, item_of, line_of};
    use crate::{Item, ItemKind, State};

    #[test]
    fn items_are_read_as_they_were_written() {
        for kind in ItemKind::ALL {
            for (state, changed) in [
                (State::Current, true),
                (State::Current, false),
                (State::Done, false),
                (State::InProgress, false),
            ] {
                let item = Item {
                    kind,
                    text: "Bash: make all".to_owned(),
                    line: 17,
                    state: match (kind, state) {
                        (ItemKind::Error, State::Done) | (ItemKind::Open, _) => state,
                        _ => State::Current,
                    },
                    changed: match kind {
                        ItemKind::File | ItemKind::Command => changed,
                        ItemKind::Open => true,
                        _ => false,
                    },
                };
                assert_eq!(item_of(kind, &line_of(&item, true)).as_ref(), Some(&item));
                let uncited = Item { line: 0, ..item };
                assert_eq!(
                    item_of(kind, &line_of(&uncited, true)).as_ref(),
                    Some(&uncited)
                );
            }
        }
    }

    #[test]
    fn citations_are_read() {
        assert_eq!(cited(&format!("a {}", citation(3, 9))), ("a", Some(3)));
        assert_eq!(cited("a ⟦x⟧"), ("a ⟦x⟧", None));
        assert_eq!(cited("a"), ("a", None));
    }
}
