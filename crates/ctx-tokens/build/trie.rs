//! The trie of all tokens, stored as a double array.
//!
//! The child of a node for byte `b` is stored at the node's base plus `b`, and its entry repeats
//! the byte `b`. No two nodes have the same base, so the byte alone is enough to tell whether a
//! child belongs to a node. Instead of a base, a leaf has a value that is derived from its rank. No
//! base equals the value of a leaf, so a search never finds a child of a leaf.

use crate::layout::{Node, RANK};

/// After a search for free places has examined this many places, later searches begin where it
/// ended. The free places before that position are left for nodes with a single child.
const PATIENCE: usize = 50;

/// Builds the array of all nodes. The root is at the first place.
pub(crate) fn build(tokens: &[Vec<u8>]) -> Vec<u32> {
    let branches = branches(tokens);
    let mut array = DoubleArray::default();
    // Place 0 belongs to the root.
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

/// A node of the trie before it has a place in the array.
struct Branch {
    /// The byte that leads from the parent to the node.
    byte: u8,
    /// The rank of the token that ends at the node, if any.
    token: Option<u32>,
    /// The bytes that lead to the children, in order.
    bytes: Vec<u8>,
    /// The index of the first child. The other children follow it.
    first_child: usize,
}

impl Branch {
    fn is_leaf(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The offsets from the base at which the node needs places.
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

/// Returns all nodes, each before its children. The first node is the root.
fn branches(tokens: &[Vec<u8>]) -> Vec<Branch> {
    let mut sorted: Vec<(&[u8], u32)> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    sorted.retain(|(token, _)| !token.is_empty());
    sorted.sort_unstable();
    // For each node, its depth in bytes, and all tokens that begin with the node's bytes.
    let mut queue = vec![(0_usize, sorted.as_slice())];
    let mut branches: Vec<Branch> = Vec::new();
    while let Some(&(depth, range)) = queue.get(branches.len()) {
        // The tokens are sorted, so the shortest token in the range comes first.
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
    // The nodes that need a single place, grouped by the offset of that place.
    let mut singles = vec![Vec::new(); RANK];
    for (at, branch) in branches.iter().enumerate() {
        match *branch.offsets() {
            [] => {}
            [offset] => singles[offset].push(at),
            ref offsets => bases[at] = array.find_room(offsets),
        }
    }
    // A node that needs a single place fits anywhere. Each free place goes to a node with the
    // offset that is most frequent among the remaining nodes.
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
    /// The place at which the next search for free places begins.
    cursor: usize,
}

impl DoubleArray {
    /// Extends the array to contain `place` and all places that a node with the base `place` can
    /// use.
    fn grow(&mut self, place: usize) {
        let length = self.taken.len().max(place + RANK + 1);
        self.taken.resize(length, false);
        self.is_base.resize(length, false);
    }

    fn take(&mut self, place: usize) {
        self.grow(place);
        self.taken[place] = true;
    }

    /// Finds a base for which the places at all `offsets` are free, takes these places, and returns
    /// the base.
    fn find_room(&mut self, offsets: &[usize]) -> usize {
        // A base must not be 0, or the root could be found as a child.
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

    /// Returns true if no node has this base and all places at `offsets` from it are free.
    fn has_room(&mut self, base: usize, offsets: &[usize]) -> bool {
        self.grow(base);
        let is_free = |offset: &usize| !self.taken[base + offset];
        !self.is_base[base] && offsets.iter().all(is_free)
    }
}
