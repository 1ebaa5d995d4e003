//! Which records of a session are in the context, and which of them are one message.

use super::base::base;
use super::flaws::Flaws;
use super::line::{ItemKind, Line};
use super::replay::Replay;
use crate::Object;
use crate::flaw::{Effect, Flaw};
use crate::view::{Outside, View, ViewBuilder};

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

    fn finish(self: Box<Self>) -> View {
        let base = base(&self.lines);
        let replay = Replay::of(&self.lines, base);
        let mut reasons = vec![Outside::NeverSent; self.lines.len()];
        for (record, why) in &replay.left {
            reasons[*record] = *why;
        }
        let mut view = View::outside(reasons);
        for message in messages(&replay, base) {
            view.add_message(&message);
        }
        view.flaws = self.flaws.finish();
        view.flaws.extend(off_the_path(&self.lines, base));
        view
    }
}

/// The records of each message. A reply is all that the model said and called until it was
/// answered; what a compaction left is one message.
fn messages(replay: &Replay, base: Option<usize>) -> Vec<Vec<usize>> {
    let mut messages: Vec<Vec<usize>> = Vec::new();
    let mut is_reply = false;
    for (record, item) in &replay.items {
        let is_of_base = Some(*record) == base;
        let was_reply =
            std::mem::replace(&mut is_reply, item.kind == ItemKind::Reply && !is_of_base);
        match messages.last_mut() {
            Some(last) if is_of_base && last.contains(record) => {}
            Some(last) if was_reply && is_reply => last.push(*record),
            _ => messages.push(vec![*record]),
        }
    }
    messages
}

/// A compaction that a rollback has taken back.
fn off_the_path(lines: &[Line], base: Option<usize>) -> Option<Flaw> {
    let is_one = |line: &Line| matches!(line, Line::Replacement(_));
    let newest = lines.iter().rposition(is_one)?;
    let what = "this compaction has been taken back: Codex sends what was before it";
    let effect = Effect::Ignored;
    (base != Some(newest)).then(|| Flaw::new(newest, "compaction-off-path", effect, what.into()))
}
