//! Replays the compactions and rollbacks of a session to determine which items remain in the
//! context.

use super::Codex;
use super::flaws::Flaws;
use super::line::{Item, ItemKind, Line};
use crate::log::Log;
use crate::log::links::LineId;
use crate::log::view::{ContextMessage, Outside, View, ViewBuilder};
use crate::{Flaw, Object};

/// The maximum total size, in tokens, of the user messages that the client keeps if a compaction
/// has no items. The client counts four bytes as one token.
const KEPT_TOKENS: usize = 20_000;

/// The state of the context at some point in the replay.
#[derive(Default)]
struct Replay {
    items: Vec<Placed>,
    /// The reason why each removed item is no longer in the context.
    view: View,
    /// The indexes, within `items`, of items that begin a turn. A rollback can undo these turns.
    begins: Vec<usize>,
}

/// An item and its position in the session.
#[derive(Clone, Copy)]
struct Placed {
    /// The number of the record that contains the item.
    record: usize,
    /// The index of the item among the items in the same record.
    number: usize,
    item: Item,
}

impl Replay {
    /// Replays all lines. `base` is the line of the compaction with which the context begins, if
    /// any.
    fn of(lines: &[Line], base: Option<usize>) -> Self {
        let mut replay = Self::default();
        for (record, line) in lines.iter().enumerate() {
            match line {
                Line::Item(item) => replay.add(Placed { record, number: 0, item: *item }),
                Line::Replacement(items) if base == Some(record) => {
                    replay.leave(0, Outside::BeforeCompaction);
                    replay.view.hold(record, items.len());
                    for (number, item) in items.iter().enumerate() {
                        replay.add(Placed { record, number, item: *item });
                    }
                }
                Line::Replacement(_) if base.is_some_and(|base| record < base) => {
                    replay.view.leave(record, Outside::BeforeCompaction);
                }
                Line::Replacement(_) => replay.view.leave(record, Outside::DeadBranch),
                Line::Summary(summary) => {
                    replay.keep_requests();
                    replay.add(Placed { record, number: 0, item: *summary });
                }
                Line::RolledBack(turns) => replay.take_back(*turns),
                _ => {}
            }
        }
        replay
    }

    fn add(&mut self, placed: Placed) {
        if placed.item.begins_turn() {
            self.begins.push(self.items.len());
        }
        self.items.push(placed);
    }

    /// Removes the item at index `from` and all later items from the context.
    fn leave(&mut self, from: usize, why: Outside) {
        for Placed { record, number, .. } in self.items.drain(from..) {
            self.view.leave_message(record, number, why);
        }
        self.begins.truncate(self.begins.partition_point(|begin| *begin < from));
    }

    /// Undoes the newest `turns` turns, along with any text that the client inserted before those
    /// turns. Items before the session's first turn are kept.
    fn take_back(&mut self, turns: u32) {
        let Some(first) = self.begins.first().copied().filter(|_| turns > 0) else { return };
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        let mut from = self.begins[self.begins.len().saturating_sub(turns)];
        while from > first && self.items[from - 1].item.kind == ItemKind::Injected {
            from -= 1;
        }
        self.leave(from, Outside::DeadBranch);
    }

    /// Keeps only the user's newest requests, up to a maximum size. The request that exceeds the
    /// maximum size counts as kept, because the client keeps part of it.
    fn keep_requests(&mut self) {
        let mut room = KEPT_TOKENS;
        let mut kept = Vec::new();
        for placed in self.items.iter().rev() {
            if placed.item.kind == ItemKind::Request && room > 0 {
                room = room.saturating_sub(placed.item.bytes.div_ceil(4));
                kept.push(*placed);
            }
        }
        self.leave(0, Outside::BeforeCompaction);
        for placed in kept.into_iter().rev() {
            self.add(placed);
        }
    }
}

/// Returns the number of the line with which the context begins: the newest compaction that no
/// rollback undid. Like the client's own search, this search proceeds turn by turn from the end of
/// the file.
fn base(lines: &[Line]) -> Option<usize> {
    let mut taken_back: u64 = 0;
    let mut turn = Turn::default();
    for (number, line) in lines.iter().enumerate().rev() {
        match line {
            Line::Item(item) => turn.has_request |= item.begins_turn(),
            Line::UserEvent => turn.has_request = true,
            Line::Replacement(_) => turn.compaction = turn.compaction.or(Some(number)),
            Line::Ended => turn.is_ended = true,
            Line::Settings(id) if !turn.is_ended => turn.id = turn.id.or(Some(*id)),
            Line::RolledBack(turns) => taken_back += u64::from(*turns),
            Line::Began(id) if turn.id.is_none_or(|own| own == *id) => {
                let compaction = turn.close(&mut taken_back);
                if compaction.is_some() {
                    return compaction;
                }
                turn = Turn::default();
            }
            Line::Began(_) | Line::Settings(_) | Line::Summary(_) | Line::Other => {}
        }
    }
    turn.close(&mut taken_back)
}

/// What is known about a turn. Turns are read backwards from their end.
#[derive(Default)]
struct Turn {
    /// Whether a line that ends the turn was read. If so, the turn begins at the nearest earlier
    /// line that begins any turn.
    is_ended: bool,
    /// The id of the turn, if a line with its settings was read.
    id: Option<LineId>,
    /// Whether the turn contains a request, from the user or another agent, that a rollback would
    /// count.
    has_request: bool,
    /// The number of the line with the turn's newest compaction.
    compaction: Option<usize>,
}

impl Turn {
    /// Finishes a turn after its beginning has been read. Returns the compaction in the turn,
    /// unless a rollback undid the turn.
    fn close(&self, taken_back: &mut u64) -> Option<usize> {
        if *taken_back == 0 {
            return self.compaction;
        }
        *taken_back -= u64::from(self.has_request);
        None
    }
}

/// Collects the lines of a session and replays them when the view is requested.
#[derive(Default)]
pub(super) struct Builder {
    lines: Vec<Line>,
    flaws: Flaws,
}

impl ViewBuilder for Builder {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        let line = Line::of(object);
        self.flaws.push(record, object, &line);
        self.lines.resize(record, Line::Other);
        self.lines.push(line);
    }

    fn push_bad(&mut self, record: usize) {
        self.flaws.push_bad(record);
    }

    fn push_replaced(&mut self, record: usize, _: &Object<'_>) {
        self.push_bad(record);
    }

    fn view(&self) -> View {
        let base = base(&self.lines);
        let Replay { items, mut view, .. } = Replay::of(&self.lines, base);
        view.add_messages(&messages(&items, base));
        view.flaws = self.flaws.all();
        // What a compaction replaces is not sent, wherever it is.
        view.flaws.extend(self.flaws.elsewhere().filter(|_| base.is_none()));
        view.flaws.extend(off_the_path(&self.lines, base));
        view
    }
}

/// Groups the items into messages. Everything from the model, including calls, up to the next
/// result is one reply. All items in a compaction are one message.
fn messages(items: &[Placed], base: Option<usize>) -> Vec<ContextMessage> {
    let mut messages: Vec<ContextMessage> = Vec::new();
    let mut was_reply = false;
    for placed in items {
        let record = placed.record;
        let is_of_base = Some(record) == base;
        let is_reply = placed.item.kind == ItemKind::Reply && !is_of_base;
        let group = messages.last().map_or(0, |last| {
            let continues = is_of_base && last.record == record || was_reply && is_reply;
            last.group + usize::from(!continues)
        });
        messages.push(ContextMessage { record, number: placed.number, group });
        was_reply = is_reply;
    }
    messages
}

/// Creates the flaw for the newest compaction if a rollback undid it.
fn off_the_path(lines: &[Line], base: Option<usize>) -> Option<Flaw> {
    let newest = lines.iter().rposition(|line| matches!(line, Line::Replacement(_)));
    let newest = newest.filter(|newest| base != Some(*newest));
    newest.map(|newest| Codex.flaw(newest, "compaction-off-path"))
}
