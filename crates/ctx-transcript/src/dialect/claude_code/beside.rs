//! What hangs beside a path: the other blocks of a reply, the results of its calls, and what
//! the client adds.

use std::collections::{HashMap, HashSet};

use super::node::{Kind, Node};
use crate::dialect::key::{ById, Key};

/// Lines by what they belong to.
pub(super) struct Beside {
    /// The blocks of each reply.
    blocks: ById<Vec<usize>>,
    /// The results that hang on each line.
    results: ById<Vec<usize>>,
    /// What hangs on each line and nobody said.
    hung: ById<Vec<usize>>,
}

impl Beside {
    /// Of all lines that are there, with their parents.
    pub(super) fn of<'n>(lines: impl Iterator<Item = (usize, &'n Node, Option<Key>)>) -> Self {
        let mut beside = Self {
            blocks: ById::default(),
            results: ById::default(),
            hung: ById::default(),
        };
        for (place, node, parent) in lines {
            if let Kind::Assistant { reply: Some(reply) } = node.kind {
                beside.blocks.entry(reply).or_default().push(place);
            }
            let children = match node.kind {
                Kind::User { has_result: true } => &mut beside.results,
                _ if !node.is_said() => &mut beside.hung,
                _ => continue,
            };
            if let Some(parent) = parent {
                children.entry(parent).or_default().push(place);
            }
        }
        beside
    }

    /// The path with the blocks and results beside it: where tools ran at the same time they
    /// follow the last block of the reply that is on it.
    pub(super) fn join(
        &self,
        path: Vec<usize>,
        nodes: &[Node],
        seen: &mut HashSet<usize>,
    ) -> Vec<usize> {
        let mut last_blocks: ById<usize> = ById::default();
        let mut replies = Vec::new();
        for place in &path {
            if let Kind::Assistant { reply: Some(reply) } = nodes[*place].kind
                && last_blocks.insert(reply, *place).is_none()
            {
                replies.push(reply);
            }
        }
        let mut beside: HashMap<usize, Vec<usize>> = HashMap::new();
        for reply in replies {
            let mut blocks = self.blocks.get(&reply).cloned().unwrap_or_default();
            let own = |place: &usize| self.results.get(&nodes[*place].id);
            let results = blocks.iter().filter_map(own).flatten();
            let mut results: Vec<usize> = results.copied().collect();
            for lines in [&mut blocks, &mut results] {
                lines.retain(|place| !seen.contains(place));
                lines.sort_by_key(|place| nodes[*place].time);
            }
            blocks.append(&mut results);
            seen.extend(&blocks);
            beside.insert(last_blocks[&reply], blocks);
        }
        let with = |place| {
            let others = beside.remove(&place).unwrap_or_default();
            [place].into_iter().chain(others)
        };
        path.into_iter().flat_map(with).collect()
    }

    /// What hangs on the end of a path, and on that.
    pub(super) fn hung_on(
        &self,
        end: usize,
        nodes: &[Node],
        seen: &mut HashSet<usize>,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = Some(end);
        let mut next = 0;
        while let Some(place) = at {
            for child in self.hung.get(&nodes[place].id).into_iter().flatten() {
                if seen.insert(*child) {
                    found.push(*child);
                }
            }
            at = found.get(next).copied();
            next += 1;
        }
        found.sort_by_key(|place| nodes[*place].time);
        found
    }
}
