//! The path from a line to the root, with what hangs beside it.

use std::collections::{HashMap, HashSet};

use super::beside::Beside;
use super::near::Near;
use super::node::Node;
use super::tree::Tree;
use crate::dialect::key::Key;

/// The tree as the loader sees it: without what a compaction with kept lines took away, and
/// with other parents.
pub(super) struct Path<'t> {
    pub(super) tree: &'t Tree,
    /// Of lines that have another parent now.
    pub(super) parents: HashMap<usize, Option<Key>>,
    pub(super) gone: HashSet<usize>,
}

impl<'t> Path<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            parents: HashMap::new(),
            gone: HashSet::new(),
        }
    }

    pub(super) fn place(&self, id: Option<Key>) -> Option<usize> {
        self.tree
            .place(id)
            .filter(|place| !self.gone.contains(place))
    }

    pub(super) fn parent(&self, place: usize) -> Option<Key> {
        let own = self.tree.nodes[place].parent;
        self.parents.get(&place).copied().unwrap_or(own)
    }

    pub(super) fn there(&self) -> impl Iterator<Item = (usize, &'t Node)> {
        let nodes = self.tree.nodes.iter().enumerate();
        nodes.filter(|(place, _)| !self.gone.contains(place))
    }

    /// This line and its parents.
    pub(super) fn walk(&self, place: usize) -> impl Iterator<Item = usize> {
        let mut seen = HashSet::new();
        std::iter::successors(Some(place), |place| self.place(self.parent(*place)))
            .take_while(move |place| seen.insert(*place))
    }

    /// What hangs beside paths.
    pub(super) fn beside(&self) -> Beside {
        Beside::of(
            self.there()
                .map(|(place, node)| (place, node, self.parent(place))),
        )
    }

    /// From the root to a line, with what hangs `beside` the path and on its end.
    ///
    /// Puts into `jumps` each line whose parent is not there, with the one that takes its place.
    pub(super) fn up_from(
        &self,
        leaf: usize,
        beside: &Beside,
        jumps: &mut Vec<(usize, usize)>,
    ) -> Vec<usize> {
        let nodes = &self.tree.nodes;
        let mut near = None;
        let mut seen = HashSet::new();
        let mut path = Vec::new();
        let mut at = Some(leaf);
        while let Some(place) = at {
            seen.insert(place);
            path.push(place);
            let Some(parent) = self.parent(place) else {
                break;
            };
            let parent = self.place(Some(parent));
            at = parent.filter(|parent| !seen.contains(parent)).or_else(|| {
                let is_sidechain = nodes[leaf].is_sidechain;
                let near = near.get_or_insert_with(|| Near::of(self.there(), is_sidechain));
                let found = near.before(nodes[place].time?, &seen)?;
                jumps.push((place, found));
                Some(found)
            });
        }
        path.reverse();
        let mut path = beside.join(path, nodes, &mut seen);
        path.extend(beside.hung_on(leaf, nodes, &mut seen));
        path
    }
}
