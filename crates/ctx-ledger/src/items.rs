//! The items of a ledger: each once, with its last state.

use std::collections::HashMap;

use crate::item::{Item, ItemKind, State};
use crate::supersede::share_a_subject;
use crate::task::Task;

/// So many items of a kind; beyond, the oldest that are done or superseded leave,
/// then the oldest.
const MOST: usize = 5_000;
/// A decision may take back one of so many before it.
const LOOKED_BACK: usize = 200;

/// All items.
#[derive(Debug, Default)]
pub(crate) struct Items {
    list: Vec<Item>,
    places: HashMap<(ItemKind, String), usize>,
    /// The last error of what is not mended yet, by what failed.
    failing: HashMap<String, usize>,
    counts: [usize; ItemKind::ALL.len()],
    /// Items that left because there were too many.
    crowded_out: [usize; ItemKind::ALL.len()],
    /// Errors out of an earlier summary that are not mended yet.
    carried_errors: Vec<usize>,
}

impl Items {
    pub(crate) fn all(&self) -> &[Item] {
        &self.list
    }

    /// Items of a kind that left because there were too many.
    pub(crate) fn crowded_out(&self, kind: ItemKind) -> usize {
        self.crowded_out[kind as usize]
    }

    /// An item of an earlier summary.
    pub(crate) fn carry(&mut self, item: Item, takes_back: bool) {
        let is_error = item.kind == ItemKind::Error && item.state == State::Current;
        let at = self.list.len();
        self.say(item, takes_back);
        if is_error && self.list.len() > at {
            self.carried_errors.push(at);
        }
    }

    /// As [`Self::add`]; the item may take back an earlier decision.
    pub(crate) fn say(&mut self, item: Item, takes_back: bool) {
        if takes_back {
            self.supersede(&item);
        }
        self.add(item);
    }

    /// One more, or news of a known one: its place stays the first one, its state
    /// is the last one.
    pub(crate) fn add(&mut self, item: Item) {
        if item.text.is_empty() {
            return;
        }
        let key = (item.kind, item.text.clone());
        if let Some(at) = self.places.get(&key) {
            let known = &mut self.list[*at];
            known.state = item.state;
            known.changed = match item.kind {
                ItemKind::File => known.changed || item.changed,
                _ => item.changed,
            };
            return;
        }
        self.counts[item.kind as usize] += 1;
        if self.counts[item.kind as usize] > MOST {
            self.crowd_out(item.kind);
        }
        self.places.insert(key, self.list.len());
        self.list.push(item);
    }

    fn supersede(&mut self, later: &Item) {
        let decisions = self.list.iter_mut().rev();
        let decisions = decisions.filter(|item| item.kind == ItemKind::Decision);
        for earlier in decisions.take(LOOKED_BACK) {
            if earlier.state == State::Current
                && earlier.text != later.text
                && share_a_subject(&later.text, &earlier.text)
            {
                earlier.state = State::Superseded;
            }
        }
    }

    /// A new list of tasks takes the place of the one before.
    pub(crate) fn tasks(&mut self, tasks: Vec<Task>, line: u64) {
        let names: Vec<&str> = tasks.iter().map(|task| task.text.as_str()).collect();
        for item in &mut self.list {
            let gone =
                item.kind == ItemKind::Open && item.changed && !names.contains(&item.text.as_str());
            if gone && item.state == State::Current {
                item.state = State::Superseded;
            }
        }
        for task in tasks {
            self.add(Item {
                kind: ItemKind::Open,
                text: task.text,
                line,
                state: if task.done {
                    State::Done
                } else {
                    State::Current
                },
                // Of a list: the next list says how it stands.
                changed: true,
            });
        }
    }

    /// `subject` went wrong.
    pub(crate) fn failed(&mut self, subject: &str, digest: &str, error: &str, line: u64) {
        let text = format!("{digest}: {error}");
        self.add(Item {
            kind: ItemKind::Error,
            text: text.clone(),
            line,
            state: State::Current,
            changed: false,
        });
        let at = self.places.get(&(ItemKind::Error, text)).copied();
        if let Some(before) = at.and_then(|at| self.failing.insert(subject.to_owned(), at)) {
            // The same thing, with another error now.
            if Some(before) != at {
                self.list[before].state = State::Superseded;
            }
        }
    }

    /// `subject` went well: its last error is mended.
    pub(crate) fn succeeded(&mut self, subject: &str) {
        if let Some(at) = self.failing.remove(subject) {
            self.list[at].state = State::Done;
        }
        // An earlier summary has what failed and the error in one line.
        let items = &mut self.list;
        self.carried_errors.retain(|at| {
            let text = &items[*at].text;
            let mended = text
                .strip_prefix(subject)
                .is_some_and(|rest| rest.starts_with(": "));
            if mended {
                items[*at].state = State::Done;
            }
            !mended
        });
    }

    fn crowd_out(&mut self, kind: ItemKind) {
        let mut half = MOST / 2;
        let before = self.list.len();
        for settled_only in [true, false] {
            self.list.retain(|item| {
                let goes = half > 0
                    && item.kind == kind
                    && (item.state != State::Current || !settled_only);
                half -= usize::from(goes);
                !goes
            });
        }
        self.crowded_out[kind as usize] += before - self.list.len();
        self.counts[kind as usize] -= before - self.list.len();
        self.places = (self.list.iter().enumerate())
            .map(|(at, item)| ((item.kind, item.text.clone()), at))
            .collect();
        // Rare, and an error that is not seen to be mended stays listed.
        self.failing.clear();
        self.carried_errors.clear();
    }
}
