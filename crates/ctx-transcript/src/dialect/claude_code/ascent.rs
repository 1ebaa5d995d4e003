//! The way up from the end of the context, and on from where the client stops.

use std::collections::HashSet;

use super::context::Context;
use super::node::Kind;
use super::path::Path;
use crate::counted;
use crate::flaw::{Effect, Flaw, Remedy};

/// The way up from the end of the context, and on from where the client stops.
pub(super) struct Ascent<'p, 't> {
    path: &'p Path<'t>,
    context: &'p Context,
    seen: HashSet<usize>,
    /// Above this place in the file nothing more is looked for.
    below: usize,
    is_sidechain: bool,
}

impl<'p, 't> Ascent<'p, 't> {
    pub(super) fn of(path: &'p Path<'t>, context: &'p Context) -> Self {
        let nodes = &path.tree.nodes;
        Self {
            path,
            context,
            seen: context.lines.iter().copied().collect(),
            below: nodes.len(),
            is_sidechain: context.leaf.is_some_and(|leaf| nodes[leaf].is_sidechain),
        }
    }

    /// Lines whose parent is not there, of which another takes the place.
    pub(super) fn jumps(&self) -> impl Iterator<Item = Flaw> {
        let jumps = self.context.jumps.iter();
        jumps
            .filter(|(place, _)| self.seen.contains(place))
            .map(|(place, to)| self.jump(*place, *to))
    }

    /// Where a parent is missing, or is a child.
    pub(super) fn breaks(mut self, flaws: &mut Vec<Flaw>) {
        let mut top = self.context.lines.first().copied();
        while let Some(place) = top.take() {
            let node = &self.path.tree.nodes[place];
            let Some(before) = self.said_before(place) else {
                return;
            };
            let (cut, next) = self.fragment(before);
            if cut == 0 {
                return;
            }
            let messages = counted(cut, "line");
            let what = match self.path.parent(place) {
                None => {
                    flaws.push(Flaw::second_root(node.record, &messages));
                    return;
                }
                Some(_) => format!(
                    "{}: Claude Code goes no further up, and {messages} before are not sent",
                    self.why(place)
                ),
            };
            let to = self.path.tree.nodes[before].record;
            let flaw = Flaw::new(node.record, self.rule(place), Effect::Lost, what);
            flaws.push(flaw.repaired_by(Remedy::Link {
                key: "parentUuid",
                to,
                of: "uuid",
            }));
            top = next;
        }
    }

    /// The lines that hang together up from `before`, how many of them the model would be sent,
    /// and the topmost, unless a compaction is above it.
    fn fragment(&mut self, before: usize) -> (usize, Option<usize>) {
        let nodes = &self.path.tree.nodes;
        let (mut cut, mut top) = (0, before);
        let mut at = Some(before);
        while let Some(place) = at.filter(|place| self.seen.insert(*place)) {
            if nodes[place].kind == Kind::Boundary {
                return (cut, None);
            }
            cut += usize::from(nodes[place].is_said() && nodes[place].is_sent);
            top = place;
            at = self.path.place(self.path.parent(place));
        }
        (cut, nodes[top].parent.map(|_| top))
    }

    /// The last line before it in the file that somebody said and that is on no path yet.
    fn said_before(&mut self, place: usize) -> Option<usize> {
        let is_it = |other: &usize| {
            let node = &self.path.tree.nodes[*other];
            node.is_said() && node.is_sidechain == self.is_sidechain && !self.seen.contains(other)
        };
        let found = (0..place.min(self.below)).rev().find(is_it)?;
        self.below = found;
        Some(found)
    }

    fn jump(&self, place: usize, to: usize) -> Flaw {
        let nodes = &self.path.tree.nodes;
        let (why, line) = (self.why(place), nodes[to].record + 1);
        let what =
            format!("{why}: Claude Code goes on from line {line}, the nearest within five seconds");
        Flaw::new(
            nodes[place].record,
            self.rule(place),
            Effect::Harmless,
            what,
        )
    }

    fn is_missing(&self, place: usize) -> bool {
        self.path.tree.place(self.path.parent(place)).is_none()
    }

    fn why(&self, place: usize) -> &'static str {
        if self.is_missing(place) {
            "its parent is not in the file"
        } else {
            "its parent hangs on it"
        }
    }

    fn rule(&self, place: usize) -> &'static str {
        if self.is_missing(place) {
            "missing-parent"
        } else {
            "parent-loop"
        }
    }
}
