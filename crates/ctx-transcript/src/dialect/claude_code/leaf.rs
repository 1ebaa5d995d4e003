//! The line that the agent goes on from: the newest one, or where the user has gone back to.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::node::Node;
use super::path::Path;
use super::tree::LastUse;
use crate::dialect::key::Key;

impl Path<'_> {
    /// The last line of what is said, from which the path goes up.
    pub(super) fn leaf(&self, kept_end: Option<Key>) -> Option<usize> {
        let LastUse {
            leaf,
            is_explicit,
            is_emptied,
        } = self.tree.last;
        if is_emptied {
            return None;
        }
        let is_of_main = |node: &&Node| !node.is_sidechain;
        let gone_to = is_explicit && self.tree.node(leaf).as_ref().is_some_and(is_of_main);
        let may_be_used = kept_end.is_none() || gone_to;
        let used = || self.last_used(kept_end.is_none());
        let used = may_be_used.then(used).flatten();
        let said = used.and_then(|used| self.said(used));
        said.or_else(|| self.outer_leaf())
    }

    /// Where the user was, or where the session went on from there.
    fn last_used(&self, or_newest: bool) -> Option<usize> {
        let newest = self.place(self.tree.newest);
        let used = self.place(self.tree.last.leaf);
        let went_on = used
            .filter(|_| !self.tree.last.is_explicit)
            .and_then(|used| newest.filter(|newest| self.walk(*newest).any(|place| place == used)));
        let newest = newest.filter(|_| or_newest);
        went_on.or(used).or(newest)
    }

    /// A leaf of the tree: of several the one that was used last, or that the newest line is
    /// on.
    fn outer_leaf(&self) -> Option<usize> {
        let mut named = HashSet::new();
        let mut answered = HashSet::new();
        for (place, node) in self.there() {
            if let Some(parent) = self.parent(place) {
                named.insert(parent);
                if node.is_said() {
                    answered.insert(parent);
                }
            }
        }
        let ends = self.there().filter(|(_, node)| !named.contains(&node.id));
        let mut known = HashSet::new();
        let leaves: HashSet<usize> = ends
            .filter_map(|(place, _)| self.said_anew(place, &mut known))
            .filter(|place| !answered.contains(&self.tree.nodes[*place].id))
            .collect();
        let one = if leaves.len() > 1 {
            let used = self
                .place(self.tree.last.leaf)
                .filter(|used| leaves.contains(used));
            used.or(self.place(self.tree.newest))
                .and_then(|it| self.said(it))
        } else {
            None
        };
        let newest = |places: &mut dyn Iterator<Item = usize>| {
            let main = places.filter(|place| !self.tree.nodes[*place].is_sidechain);
            // Of several of one time the first.
            main.min_by_key(|place| (Reverse(self.tree.nodes[*place].time), *place))
        };
        one.or_else(|| newest(&mut leaves.iter().copied()))
            .or_else(|| {
                newest(&mut self.there().map(|(place, _)| place)).filter(|_| leaves.is_empty())
            })
    }

    /// The nearest line above, or this one, that somebody said.
    fn said(&self, place: usize) -> Option<usize> {
        self.walk(place)
            .find(|place| self.tree.nodes[*place].is_said())
    }

    /// The same; `None` where the way up meets a line that was `known` before, and so does
    /// what it leads to.
    fn said_anew(&self, place: usize, known: &mut HashSet<usize>) -> Option<usize> {
        self.walk(place)
            .take_while(|place| known.insert(*place))
            .find(|place| self.tree.nodes[*place].is_said())
    }
}
