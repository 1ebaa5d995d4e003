//! What is left of a session's items when its compactions and rollbacks are done one after
//! the other.

use super::line::{Item, ItemKind, Line};
use crate::view::Outside;

/// How much of what the user said a compaction without items keeps, in tokens, of which
/// the client counts one for four bytes.
const KEPT_TOKENS: usize = 20_000;

/// The items of the context, while the lines go by.
#[derive(Default)]
pub(super) struct Replay {
    pub(super) items: Vec<Placed>,
    /// The places of items that have left the context, and why.
    pub(super) left: Vec<((usize, usize), Outside)>,
    /// Where among the items turns begin that can be taken back.
    begins: Vec<usize>,
}

/// An item, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    /// The number of its record.
    pub(super) record: usize,
    /// Its number in there.
    pub(super) number: usize,
    pub(super) item: Item,
}

impl Replay {
    /// Of all lines, of which the one of number `base` begins the context.
    pub(super) fn of(lines: &[Line], base: Option<usize>) -> Self {
        let mut replay = Self::default();
        for (number, line) in lines.iter().enumerate() {
            match line {
                Line::Item(item) => replay.add(number, 0, *item),
                Line::Replacement(items) if base == Some(number) => {
                    replay.leave(0, Outside::BeforeCompaction);
                    for (at, item) in items.iter().enumerate() {
                        replay.add(number, at, *item);
                    }
                }
                Line::Replacement(_) => {
                    let is_older = base.is_some_and(|base| number < base);
                    let why = if is_older {
                        Outside::BeforeCompaction
                    } else {
                        Outside::DeadBranch
                    };
                    replay.left.push(((number, 0), why));
                }
                Line::Summary(summary) => {
                    replay.keep_requests();
                    replay.add(number, 0, *summary);
                }
                Line::RolledBack(turns) => replay.take_back(*turns),
                _ => {}
            }
        }
        replay
    }

    fn add(&mut self, record: usize, number: usize, item: Item) {
        self.put(Placed {
            record,
            number,
            item,
        });
    }

    fn put(&mut self, placed: Placed) {
        if placed.item.begins_turn() {
            self.begins.push(self.items.len());
        }
        self.items.push(placed);
    }

    /// What stands at `from` and behind leaves the context.
    fn leave(&mut self, from: usize, why: Outside) {
        let left = self.items.drain(from..);
        self.left
            .extend(left.map(|it| ((it.record, it.number), why)));
        self.begins
            .truncate(self.begins.partition_point(|begin| *begin < from));
    }

    /// The newest `turns` turns leave, and what the client put before the first of them.
    /// What stands before the first turn of all stays.
    fn take_back(&mut self, turns: u32) {
        let Some(first) = self.begins.first().copied().filter(|_| turns > 0) else {
            return;
        };
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        let mut from = self.begins[self.begins.len().saturating_sub(turns)];
        while from > first && self.items[from - 1].item.kind == ItemKind::Injected {
            from -= 1;
        }
        self.leave(from, Outside::DeadBranch);
    }

    /// Only the newest requests of the user stay, up to a size; of the one that is over it
    /// the client keeps a part.
    fn keep_requests(&mut self) {
        let mut room = KEPT_TOKENS;
        let mut kept = Vec::new();
        self.begins.clear();
        for placed in std::mem::take(&mut self.items).into_iter().rev() {
            if placed.item.kind == ItemKind::Request && room > 0 {
                kept.push(placed);
                room = room.saturating_sub(placed.item.bytes.div_ceil(4));
            } else {
                let place = (placed.record, placed.number);
                self.left.push((place, Outside::BeforeCompaction));
            }
        }
        for placed in kept.into_iter().rev() {
            self.put(placed);
        }
    }
}
