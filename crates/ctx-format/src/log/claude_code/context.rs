//! Finds the lines that the client sends: the lines on a path through the tree, and the lines that
//! belong to that path without being on it. The path ends with the newest line or, if the user went
//! back to an earlier line, with that line.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::tree::{LastUse, LoadedTree, Node};
use crate::log::links::{ById, LineId, Tree};

/// The lines in the context, and the gaps in the path to its last line.
pub(super) struct Context {
    /// The indexes of the lines in the context, in order. Boundaries are included.
    pub(super) lines: Vec<usize>,
    pub(super) jumps: Jumps,
}

/// Lines whose parent is missing, each with the line that the client uses as the parent instead.
type Jumps = Vec<(usize, usize)>;

impl Context {
    pub(super) fn of(tree: &mut LoadedTree<'_>) -> Self {
        let kept_end = tree.keep_preserved();
        let mut context = Self { lines: Vec::new(), jumps: Vec::new() };
        if let Some(leaf) = tree.leaf(kept_end) {
            tree.is_sidechain = tree.lines.nodes[leaf].is_sidechain;
            let all = tree.path_to(leaf, &Siblings::of(tree), &mut context.jumps);
            let begin = all.iter().rposition(|place| tree.lines.nodes[*place].boundary.is_some());
            context.lines = all[begin.unwrap_or(0)..].to_vec();
        }
        context
    }
}

impl LoadedTree<'_> {
    /// Returns the end of the path: a line written by the user or the model.
    fn leaf(&self, kept_end: Option<LineId>) -> Option<usize> {
        let LastUse { leaf, is_explicit, is_emptied } = self.lines.last;
        if is_emptied {
            return None;
        }
        let is_of_main = |place: usize| !self.lines.nodes[place].is_sidechain;
        let is_gone_to = is_explicit && self.lines.place(leaf).is_some_and(is_of_main);
        let used = self.last_used(kept_end.is_none());
        let used = used.filter(|_| kept_end.is_none() || is_gone_to);
        used.and_then(|used| self.nearest_said(used)).or_else(|| self.outer_leaf())
    }

    /// Returns the line at which the user last was or, if the session continued from there, the
    /// newest line.
    fn last_used(&self, or_newest: bool) -> Option<usize> {
        let newest = self.place(self.lines.newest);
        let used = self.place(self.lines.last.leaf);
        if let (Some(newest), Some(used), false) = (newest, used, self.lines.last.is_explicit)
            && self.ancestors(newest).any(|place| place == used)
        {
            return Some(newest);
        }
        if or_newest { used.or(newest) } else { used }
    }

    /// Returns a leaf of the tree. If the tree has several leaves, returns the leaf that was used
    /// last or, if that leaf is unknown, the newest line or its nearest ancestor that the user or
    /// the model wrote.
    fn outer_leaf(&self) -> Option<usize> {
        let nodes = &self.lines.nodes;
        let parents = || self.nodes().filter_map(|(it, node)| Some((self.parent_id(it)?, node)));
        let named: HashSet<LineId> = parents().map(|(parent, _)| parent).collect();
        let answered = parents().filter(|(_, node)| node.is_said).map(|(parent, _)| parent);
        let answered: HashSet<LineId> = answered.collect();
        let (mut known, mut leaves) = (HashSet::new(), HashSet::new());
        for (end, _) in self.nodes().filter(|(_, node)| !named.contains(&node.id)) {
            // If a line has been visited, all its ancestors have been visited.
            let mut up = self.ancestors(end).take_while(|place| known.insert(*place));
            let said = up.find(|place| nodes[*place].is_said);
            leaves.extend(said.filter(|place| !answered.contains(&nodes[*place].id)));
        }
        if leaves.len() > 1 {
            let used = self.place(self.lines.last.leaf).filter(|used| leaves.contains(used));
            let used = used.or_else(|| self.place(self.lines.newest));
            if let Some(leaf) = used.and_then(|it| self.nearest_said(it)) {
                return Some(leaf);
            }
        }
        if leaves.is_empty() {
            leaves.extend(self.nodes().map(|(place, _)| place));
        }
        // All lines in the file of a subagent are on a side chain. If several lines have the same
        // time, the first of them counts.
        leaves.into_iter().min_by_key(|place| {
            let node = &nodes[*place];
            (node.is_sidechain, Reverse(node.time), *place)
        })
    }

    /// Returns the line itself if the user or the model wrote it, or else its nearest ancestor that
    /// one of them wrote.
    fn nearest_said(&self, place: usize) -> Option<usize> {
        self.ancestors(place).find(|place| self.lines.nodes[*place].is_said)
    }

    /// Returns the lines from the root to the line `end`, the siblings of these lines, and the
    /// client's own lines below `end`.
    ///
    /// If the parent of a line is missing, the line and the replacement for its parent are added to
    /// `jumps`.
    pub(super) fn path_to(&self, end: usize, siblings: &Siblings, jumps: &mut Jumps) -> Vec<usize> {
        let nodes = &self.lines.nodes;
        let mut earlier = None;
        let mut seen = HashSet::new();
        let mut path = Vec::new();
        let mut next = Some(end);
        while let Some(place) = next {
            seen.insert(place);
            path.push(place);
            let Some(parent) = self.parent_id(place) else { break };
            next = self.place(Some(parent)).filter(|parent| !seen.contains(parent));
            if next.is_none()
                && let Some(time) = nodes[place].time
            {
                let is_sidechain = nodes[end].is_sidechain;
                let earlier =
                    earlier.get_or_insert_with(|| EarlierLines::of(self.nodes(), is_sidechain));
                next = earlier.before(time, &seen);
                jumps.extend(next.map(|found| (place, found)));
            }
        }
        path.reverse();
        let mut path = siblings.join(path, nodes, &mut seen);
        path.extend(siblings.hung_on(end, nodes, &mut seen));
        path
    }
}

/// Lines that belong to a path but are not on it: other blocks of a reply, the results of its
/// calls, and lines added by the client.
#[derive(Default)]
pub(super) struct Siblings {
    /// The indexes of all blocks of the reply with this id.
    blocks: ById<Vec<usize>>,
    /// The indexes of all results whose parent is the line with this id.
    results: ById<Vec<usize>>,
    /// The indexes of all lines added by the client whose parent is the line with this id.
    hung: ById<Vec<usize>>,
    /// The indexes of all lines whose parent is the line with this id, if the client inserts lines
    /// where they were written.
    children: Option<ById<Vec<usize>>>,
}

/// A part of a path into which lines are inserted.
struct Region {
    /// The positions on the path: the first block of a reply, and the end of the lines that may
    /// come between the lines of this reply.
    path: Range<usize>,
    /// The lines to insert, in file order.
    lines: Vec<usize>,
}

impl Siblings {
    pub(super) fn of(tree: &LoadedTree<'_>) -> Self {
        let keeps_order = tree.lines.keeps_order();
        let children = keeps_order.then(ById::default);
        let mut siblings = Self { children, ..Self::default() };
        for (place, node) in tree.nodes() {
            if let (Some(children), Some(parent)) = (&mut siblings.children, tree.parent_id(place))
            {
                children.entry(parent).or_default().push(place);
            }
            if let Some(reply) = node.reply {
                siblings.blocks.entry(reply).or_default().push(place);
            }
            let children = match node {
                Node { has_result: true, .. } => &mut siblings.results,
                Node { is_said: false, .. } => &mut siblings.hung,
                _ => continue,
            };
            let parent = tree.parent_id(place);
            let caller = node.caller.filter(|_| keeps_order && node.caller != parent);
            for id in parent.into_iter().chain(caller) {
                children.entry(id).or_default().push(place);
            }
        }
        siblings
    }

    /// Adds to a path the blocks and results that belong to it, such as the lines of tools that ran
    /// at the same time.
    fn join(&self, path: Vec<usize>, nodes: &[Node], seen: &mut HashSet<usize>) -> Vec<usize> {
        match &self.children {
            Some(children) => self.join_in_order(&path, nodes, seen, children),
            None => self.join_at_end(path, nodes, seen),
        }
    }

    /// Inserts the lines where they were written, between the first block of the reply on the path
    /// and the lines after its last block.
    fn join_in_order(
        &self,
        path: &[usize],
        nodes: &[Node],
        seen: &mut HashSet<usize>,
        children: &ById<Vec<usize>>,
    ) -> Vec<usize> {
        let places: HashMap<usize, usize> =
            (0..).zip(path).map(|(at, place)| (*place, at)).collect();
        let mut regions: Vec<Region> = Vec::new();
        let mut known = HashSet::new();
        for (start, place) in path.iter().enumerate() {
            let reply = nodes[*place].reply.filter(|reply| known.insert(*reply));
            let Some(blocks) = reply.and_then(|reply| self.blocks.get(&reply)) else { continue };
            let results = blocks.iter().filter_map(|block| self.results.get(&nodes[*block].id));
            let all: Vec<usize> = blocks.iter().chain(results.flatten()).copied().collect();
            let mut lines: Vec<usize> =
                all.iter().copied().filter(|place| seen.insert(*place)).collect();
            if blocks.iter().any(|block| nodes[*block].has_call) {
                for place in &all {
                    let below = children.get(&nodes[*place].id).into_iter().flatten();
                    lines.extend(below.flat_map(|child| chain(*child, nodes, children, seen)));
                }
            }
            if lines.is_empty() {
                continue;
            }
            let last = blocks.iter().filter_map(|block| places.get(block)).max();
            let mut end = last.map_or(start, |last| *last) + 1;
            let belongs = |node: &Node| node.reply == reply || node.has_result || node.is_added;
            while path.get(end).is_some_and(|place| belongs(&nodes[*place])) {
                end += 1;
            }
            match regions.last_mut().filter(|region| start < region.path.end) {
                Some(region) => {
                    region.path.end = region.path.end.max(end);
                    region.lines.append(&mut lines);
                }
                None => regions.push(Region { path: start..end, lines }),
            }
        }
        let (mut joined, mut done) = (Vec::with_capacity(path.len()), 0);
        for Region { path: Range { start, end }, mut lines } in regions {
            joined.extend(&path[done..=start]);
            lines.sort_unstable();
            let mut lines = lines.into_iter().peekable();
            for place in &path[start + 1..end] {
                joined.extend(std::iter::from_fn(|| lines.next_if(|line| line < place)));
                joined.push(*place);
            }
            joined.extend(lines);
            done = end;
        }
        joined.extend(&path[done..]);
        joined
    }

    /// Inserts the lines after the last block of the reply that is on the path.
    fn join_at_end(
        &self,
        path: Vec<usize>,
        nodes: &[Node],
        seen: &mut HashSet<usize>,
    ) -> Vec<usize> {
        let reply_of = |place: &usize| Some((nodes[*place].reply?, *place));
        let last_blocks: ById<usize> = path.iter().filter_map(reply_of).collect();
        let mut joined = Vec::with_capacity(path.len());
        for place in path {
            joined.push(place);
            let is_last = |reply: &LineId| last_blocks[reply] == place;
            let Some(reply) = nodes[place].reply.filter(is_last) else { continue };
            let mut blocks = self.blocks.get(&reply).cloned().unwrap_or_default();
            let results = blocks.iter().filter_map(|place| self.results.get(&nodes[*place].id));
            let mut results: Vec<usize> = results.flatten().copied().collect();
            for lines in [&mut blocks, &mut results] {
                lines.retain(|place| !seen.contains(place));
                lines.sort_by_key(|place| nodes[*place].time);
            }
            blocks.append(&mut results);
            seen.extend(&blocks);
            joined.append(&mut blocks);
        }
        joined
    }

    /// Returns the client's own lines below the end of a path, at any depth.
    fn hung_on(&self, end: usize, nodes: &[Node], seen: &mut HashSet<usize>) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = Some(end);
        let mut next = 0;
        while let Some(place) = at {
            let children = self.hung.get(&nodes[place].id).into_iter().flatten();
            found.extend(children.copied().filter(|child| seen.insert(*child)));
            at = found.get(next).copied();
            next += 1;
        }
        found.sort_by_key(|place| nodes[*place].time);
        found
    }
}

/// Returns a chain of lines that the client added, beginning with `first`. Returns nothing if other
/// lines or several lines follow.
fn chain(
    first: usize,
    nodes: &[Node],
    children: &ById<Vec<usize>>,
    seen: &mut HashSet<usize>,
) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut next = Some(first);
    while let Some(place) = next {
        if seen.contains(&place) || !nodes[place].is_added || chain.contains(&place) {
            return Vec::new();
        }
        chain.push(place);
        let below = children.get(&nodes[place].id).into_iter().flatten();
        let mut below = below.filter(|child| !seen.contains(*child));
        next = below.next().copied();
        if below.next().is_some() {
            return Vec::new();
        }
    }
    seen.extend(&chain);
    chain
}

/// The maximum time in milliseconds between a line and the replacement for its missing parent.
const NEAR: i64 = 5_000;

/// The lines of one agent, from which the client chooses the replacement for a missing parent.
struct EarlierLines {
    /// The time and index of each line, sorted by time. Lines with the same time are in reverse
    /// file order. Lines found to be on the path are removed, so that the search is fast even if
    /// all parents in the file are missing.
    lines: BTreeSet<(i64, Reverse<usize>)>,
}

impl EarlierLines {
    fn of<'n>(nodes: impl Iterator<Item = (usize, &'n Node)>, is_sidechain: bool) -> Self {
        let own = nodes.filter(|(_, node)| node.is_sidechain == is_sidechain);
        let lines = own.filter_map(|(place, node)| Some((node.time?, Reverse(place))));
        Self { lines: lines.collect() }
    }

    /// Returns the latest line that is not in `seen` and not later than `time`. If several such
    /// lines have the same time, returns the first of them in the file.
    fn before(&mut self, time: i64, seen: &HashSet<usize>) -> Option<usize> {
        loop {
            let nearest = *self.lines.range(..=(time, Reverse(0))).next_back()?;
            let (found, Reverse(place)) = nearest;
            if time - found > NEAR {
                return None;
            }
            if !seen.contains(&place) {
                return Some(place);
            }
            self.lines.remove(&nearest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{EarlierLines, Node};
    use crate::log::links::LineId;

    fn nodes(times: &[i64]) -> Vec<Node> {
        let nodes = times.iter().enumerate().map(|(record, time)| Node {
            id: LineId::of(&record.to_string()),
            time: Some(*time),
            ..Node::default()
        });
        nodes.collect()
    }

    #[test]
    fn the_nearest_that_was_not_seen_and_of_one_time_the_first() {
        let nodes = nodes(&[10, 20, 20, 30, 9_000]);
        let mut earlier = EarlierLines::of(nodes.iter().enumerate(), false);
        let mut seen = HashSet::new();
        for expected in [3, 1, 2, 0] {
            assert_eq!(earlier.before(30, &seen), Some(expected));
            seen.insert(expected);
        }
        assert_eq!(earlier.before(30, &seen), None);
        assert_eq!(earlier.before(8_999, &HashSet::new()), None, "too far");
        assert_eq!(EarlierLines::of(nodes.iter().enumerate(), true).before(30, &seen), None);
    }
}
