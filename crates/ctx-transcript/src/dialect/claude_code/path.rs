//! The path from a line to the root, with what hangs beside it.

use std::collections::{HashMap, HashSet};

use super::node::{Key, Kind, Node};
use super::tree::Tree;

/// Where a parent is missing, the nearest line of so many milliseconds before takes its place.
const NEAR: i64 = 5_000;

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

    /// From the root to a line, with the blocks and results beside the path, and what the
    /// client hung on its end.
    pub(super) fn up_from(&self, leaf: usize) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut path = Vec::new();
        let mut at = Some(leaf);
        while let Some(place) = at {
            seen.insert(place);
            path.push(place);
            let Some(parent) = self.parent(place) else {
                break;
            };
            let parent = self
                .place(Some(parent))
                .filter(|parent| !seen.contains(parent));
            at = parent.or_else(|| self.near(place, &seen));
        }
        path.reverse();
        let mut path = self.with_parallel(path, &mut seen);
        path.extend(self.hung_on(leaf, &mut seen));
        path
    }

    /// The nearest line before one whose parent is missing.
    fn near(&self, place: usize, seen: &HashSet<usize>) -> Option<usize> {
        let of = &self.tree.nodes[place];
        let time = of.time?;
        let candidates = self
            .there()
            .filter(|(place, node)| !seen.contains(place) && node.is_sidechain == of.is_sidechain);
        let near = candidates.filter_map(|(place, node)| {
            let before = time - node.time?;
            (0..=NEAR).contains(&before).then_some((before, place))
        });
        near.min().map(|(_, place)| place)
    }

    /// Where tools ran at the same time, a block and its result hang beside the path: they
    /// follow the last block of the reply that is on it.
    fn with_parallel(&self, path: Vec<usize>, seen: &mut HashSet<usize>) -> Vec<usize> {
        let nodes = &self.tree.nodes;
        let mut last_blocks: HashMap<Key, usize> = HashMap::new();
        let mut replies = Vec::new();
        for place in &path {
            if let Kind::Assistant { reply: Some(reply) } = nodes[*place].kind
                && last_blocks.insert(reply, *place).is_none()
            {
                replies.push(reply);
            }
        }
        let mut blocks: HashMap<Key, Vec<usize>> = HashMap::new();
        let mut results: HashMap<Key, Vec<usize>> = HashMap::new();
        for (place, node) in self.there() {
            match node.kind {
                Kind::Assistant { reply: Some(reply) } if last_blocks.contains_key(&reply) => {
                    blocks.entry(reply).or_default().push(place);
                }
                Kind::User { has_result: true } => {
                    if let Some(parent) = self.parent(place) {
                        results.entry(parent).or_default().push(place);
                    }
                }
                _ => {}
            }
        }
        let mut beside: HashMap<usize, Vec<usize>> = HashMap::new();
        for reply in replies {
            let all = blocks.remove(&reply).unwrap_or_default();
            let own = |place: &usize| results.get(&nodes[*place].id);
            let mut answers: Vec<usize> = all.iter().filter_map(own).flatten().copied().collect();
            let mut others = all;
            for list in [&mut others, &mut answers] {
                list.retain(|place| !seen.contains(place));
                list.sort_by_key(|place| nodes[*place].time);
            }
            others.append(&mut answers);
            seen.extend(&others);
            beside.insert(last_blocks[&reply], others);
        }
        let with = |place| {
            [place]
                .into_iter()
                .chain(beside.remove(&place).unwrap_or_default())
        };
        path.into_iter().flat_map(with).collect()
    }

    /// What hangs on the end of the path and nobody said: what the client adds.
    fn hung_on(&self, leaf: usize, seen: &mut HashSet<usize>) -> Vec<usize> {
        let mut children: HashMap<Key, Vec<usize>> = HashMap::new();
        for (place, _) in self.there().filter(|(_, node)| !is_said(node)) {
            if let Some(parent) = self.parent(place) {
                children.entry(parent).or_default().push(place);
            }
        }
        let mut found = Vec::new();
        let mut at = vec![leaf];
        while let Some(place) = at.pop() {
            for child in children
                .get(&self.tree.nodes[place].id)
                .into_iter()
                .flatten()
            {
                if seen.insert(*child) {
                    found.push(*child);
                    at.insert(0, *child);
                }
            }
        }
        found.sort_by_key(|place| self.tree.nodes[*place].time);
        found
    }
}

pub(super) fn is_said(node: &Node) -> bool {
    matches!(node.kind, Kind::User { .. } | Kind::Assistant { .. })
}
