//! The trie of all tokens, as a double array.
//!
//! The child of a node for byte `b` is at the node's base + `b` and repeats `b`. No two nodes have
//! the same base, so the byte alone shows whether a child belongs to the node. A leaf has its rank
//! in the place of a base; no base equals such a value, so nothing is found after a leaf.

use crate::layout::{Node, RANK};

/// After this many places, a search that always begins at the same place begins further on. The
/// free places before it are left for nodes with a single child.
const PATIENCE: usize = 50;

/// Builds all places. The first is the root.
pub(crate) fn build(tokens: &[Vec<u8>]) -> Vec<u32> {
    let branches = branches(tokens);
    let mut array = DoubleArray::default();
    // The root's place, to which all leaves point.
    array.take(0);
    array.grow(2 * tokens.len());
    for branch in branches.iter().filter(|branch| branch.is_leaf()) {
        array.is_base[branch.node(0).value() as usize] = true;
    }
    let bases = bases(&branches, &mut array);
    let mut places = vec![0; branches.len()];
    let mut nodes = vec![0; array.taken.len()];
    for ((at, branch), base) in branches.iter().enumerate().zip(bases) {
        for (child, byte) in (branch.first_child..).zip(&branch.bytes) {
            places[child] = base + usize::from(*byte);
        }
        nodes[places[at]] = branch.node(base).0;
        if let (Some(rank), false) = (branch.token, branch.is_leaf()) {
            nodes[base + RANK] = Node::only(rank).0;
        }
    }
    nodes
}

/// A node without a place.
struct Branch {
    /// The byte that leads to it.
    byte: u8,
    /// The token that ends at it.
    token: Option<u32>,
    /// The bytes that lead to its children.
    bytes: Vec<u8>,
    /// The first child; the others follow it.
    first_child: usize,
}

impl Branch {
    fn is_leaf(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The offsets from its base that must be free.
    fn offsets(&self) -> Vec<usize> {
        let bytes = self.bytes.iter().map(|byte| usize::from(*byte));
        let rank = self.token.filter(|_| !self.is_leaf());
        bytes.chain(rank.map(|_| RANK)).collect()
    }

    fn node(&self, base: usize) -> Node {
        match self.token {
            Some(rank) if self.is_leaf() => Node::leaf(self.byte, rank),
            token => Node::inner(self.byte, token.is_some(), u32::try_from(base).unwrap()),
        }
    }
}

/// The nodes, beginning with the root, each before its children.
fn branches(tokens: &[Vec<u8>]) -> Vec<Branch> {
    let mut sorted: Vec<(&[u8], u32)> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    sorted.retain(|(token, _)| !token.is_empty());
    sorted.sort_unstable();
    // The number of bytes that lead to a node, and the tokens that begin with them.
    let mut queue = vec![(0_usize, sorted.as_slice())];
    let mut branches: Vec<Branch> = Vec::new();
    while let Some(&(depth, range)) = queue.get(branches.len()) {
        // The shortest token of the range comes first.
        let token = range.first().filter(|(token, _)| token.len() == depth);
        let below = &range[usize::from(token.is_some())..];
        let first_child = queue.len();
        queue.extend(
            below.chunk_by(|a, b| a.0[depth] == b.0[depth]).map(|child| (depth + 1, child)),
        );
        let bytes = queue[first_child..].iter().map(|(_, child)| child[0].0[depth]);
        branches.push(Branch {
            byte: depth.checked_sub(1).map_or(0, |last| range[0].0[last]),
            token: token.map(|(_, rank)| *rank),
            bytes: bytes.collect(),
            first_child,
        });
    }
    branches
}

/// The base of each node. The base of a leaf is not used.
fn bases(branches: &[Branch], array: &mut DoubleArray) -> Vec<usize> {
    let mut bases = vec![0; branches.len()];
    // The nodes that need a single place, by its offset.
    let mut singles = vec![Vec::new(); RANK];
    for (at, branch) in branches.iter().enumerate() {
        match *branch.offsets() {
            [] => {}
            [offset] => singles[offset].push(at),
            ref offsets => bases[at] = array.find_room(offsets),
        }
    }
    // They fit anywhere. Each free place gets one with the most frequent offset.
    let mut left: usize = singles.iter().map(Vec::len).sum();
    let mut place = 0;
    while left > 0 {
        place += 1;
        array.grow(place);
        let fitting = (0..RANK.min(place)).filter(|offset| !array.is_base[place - offset]);
        let most = fitting.max_by_key(|offset| singles[*offset].len());
        if let Some(offset) = most.filter(|_| !array.taken[place])
            && let Some(at) = singles[offset].pop()
        {
            bases[at] = place - offset;
            array.is_base[place - offset] = true;
            array.take(place);
            left -= 1;
        }
    }
    bases
}

#[derive(Default)]
struct DoubleArray {
    taken: Vec<bool>,
    is_base: Vec<bool>,
    /// The place at which the search for free places begins.
    cursor: usize,
}

impl DoubleArray {
    /// Extends the array so that `place`, and all places that a base there refers to, exist.
    fn grow(&mut self, place: usize) {
        let length = self.taken.len().max(place + RANK + 1);
        self.taken.resize(length, false);
        self.is_base.resize(length, false);
    }

    fn take(&mut self, place: usize) {
        self.grow(place);
        self.taken[place] = true;
    }

    /// Takes the places at `offsets` from a free base, and returns that base.
    fn find_room(&mut self, offsets: &[usize]) -> usize {
        // Base 0 would make the root a child.
        let start = self.cursor.max(1 + offsets[0]);
        let mut base = start - offsets[0];
        while !self.has_room(base, offsets) {
            base += 1;
        }
        if base + offsets[0] > start + PATIENCE {
            self.cursor = base + offsets[0];
        }
        self.is_base[base] = true;
        for offset in offsets {
            self.take(base + offset);
        }
        base
    }

    /// Returns true if `base` and the places at `offsets` from it are free.
    fn has_room(&mut self, base: usize, offsets: &[usize]) -> bool {
        self.grow(base);
        let is_free = |offset: &usize| !self.taken[base + offset];
        !self.is_base[base] && offsets.iter().all(is_free)
    }
}
