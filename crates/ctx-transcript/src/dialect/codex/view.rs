//! Which records of a session are in the context, and which of them are one message.

use super::base::base;
use super::flaws::Flaws;
use super::line::{ItemKind, Line};
use super::replay::Replay;
use crate::Object;
use crate::flaw::{Effect, Flaw};
use crate::view::{Lists, Outside, Said, View, ViewBuilder};

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
        let mut lists = Lists::new();
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
        view.add(&said(&replay, base), &lists);
        view.flaws = self.flaws.finish();
        view.flaws.extend(off_the_path(&self.lines, base));
        view
    }
}

/// The items of each message. A reply is all that the model said and called until it was
/// answered; what a compaction left is one message.
fn said(replay: &Replay, base: Option<usize>) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    let mut is_reply = false;
    for placed in &replay.items {
        let record = placed.record;
        let is_of_base = Some(record) == base;
        let kind = placed.item.kind;
        let was_reply = std::mem::replace(&mut is_reply, kind == ItemKind::Reply && !is_of_base);
        let group = match said.last() {
            Some(last) if is_of_base && last.record == record => last.group,
            Some(last) if was_reply && is_reply => last.group,
            Some(last) => last.group + 1,
            None => 0,
        };
        said.push(Said {
            record,
            number: placed.number,
            group,
        });
    }
    said
}

/// A compaction that a rollback has taken back.
fn off_the_path(lines: &[Line], base: Option<usize>) -> Option<Flaw> {
    let is_one = |line: &Line| matches!(line, Line::Replacement(_));
    let newest = lines.iter().rposition(is_one)?;
    let what = "this compaction has been taken back: Codex sends what was before it";
    let effect = Effect::Ignored;
    (base != Some(newest)).then(|| Flaw::new(newest, "compaction-off-path", effect, what.into()))
}
