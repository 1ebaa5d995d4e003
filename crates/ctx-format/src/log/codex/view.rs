//! Which records of a session are in the context, and which of them are one message.

use super::flaws::Flaws;
use super::line::{ItemKind, Line};
use super::replay::{Replay, base};
use crate::Object;
use crate::log::flaw::{Effect, Flaw};
use crate::log::view::{ContextMessage, ListReasons, Outside, View, ViewBuilder};

/// Sees each record of a session once.
#[derive(Default)]
pub(super) struct Builder {
    lines: Vec<Line>,
    flaws: Flaws,
}

impl ViewBuilder for Builder {
    fn push(&mut self, object: Option<&Object<'_>>) {
        let line = object.map_or(Line::Other, Line::of);
        self.flaws.push(object, &line);
        self.lines.push(line);
    }

    fn push_bad(&mut self) {
        self.flaws.push_bad();
        self.lines.push(Line::Other);
    }

    fn view(&self) -> View {
        let base = base(&self.lines);
        let replay = Replay::of(&self.lines, base);
        let mut reasons = vec![Outside::NeverSent; self.lines.len()];
        let mut lists = ListReasons::new();
        if let Some(base) = base
            && let Line::Replacement(items) = &self.lines[base]
        {
            lists.insert(base, vec![Outside::NeverSent; items.len()]);
        }
        for ((record, number), why) in &replay.left {
            reasons[*record] = *why;
            if let Some(reasons) = lists.get_mut(record) {
                reasons[*number] = *why;
            }
        }
        let mut view = View::outside(reasons);
        view.add_messages(&messages(&replay, base), &lists);
        view.flaws = self.flaws.all();
        view.flaws.extend(off_the_path(&self.lines, base));
        view
    }
}

/// The items of each message. A reply is all that the model said and called until it was answered;
/// the items that a compaction left are one message.
fn messages(replay: &Replay, base: Option<usize>) -> Vec<ContextMessage> {
    let mut messages: Vec<ContextMessage> = Vec::new();
    let mut was_reply = false;
    for placed in &replay.items {
        let record = placed.record;
        let is_of_base = Some(record) == base;
        let is_reply = placed.item.kind == ItemKind::Reply && !is_of_base;
        let group = match messages.last() {
            Some(last) if is_of_base && last.record == record => last.group,
            Some(last) if was_reply && is_reply => last.group,
            Some(last) => last.group + 1,
            None => 0,
        };
        messages.push(ContextMessage { record, number: placed.number, group });
        was_reply = is_reply;
    }
    messages
}

/// A compaction that a rollback has taken back.
fn off_the_path(lines: &[Line], base: Option<usize>) -> Option<Flaw> {
    let newest = lines.iter().rposition(|line| matches!(line, Line::Replacement(_)))?;
    if base == Some(newest) {
        return None;
    }
    let what = "a rollback has undone this compaction: Codex sends what was before it";
    Some(Flaw::new(newest, "compaction-off-path", Effect::Ignored, what.to_owned()))
}
