//! The trie of all tokens, as a double array.
//!
//! The child of a node that byte `b` leads to lies at the node's base + `b` and
//! repeats `b`. No two nodes have the same base, so the byte alone tells whether
//! a child is the node's own.

use crate::layout::node;

/// Bases begin here. Base 0 is for nodes without children: the places it leads
/// to stay unused.
const FIRST_BASE: usize = 256;

/// After how many places a search that begins at the same place each time begins further on.
const PATIENCE: usize = 2_000;

/// The nodes, the root at place 0, and for each the rank of the token that ends there.
pub(crate) fn build(tokens: &[Vec<u8>]) -> Vec<u64> {
    let mut sorted: Vec<(&[u8], u32)> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    sorted.sort_unstable();
    let mut array = DoubleArray::default();
    // A node: its place, and the tokens that begin with the bytes leading to it.
    let mut queue = vec![(0, 0, sorted.as_slice())];
    let mut next = 0;
    while let Some(&(place, depth, range)) = queue.get(next) {
        next += 1;
        // The shortest token of the range comes first.
        let token = range.first().filter(|(token, _)| token.len() == depth);
        let below = &range[usize::from(token.is_some())..];
        let branches: Vec<_> = below.chunk_by(|a, b| a.0[depth] == b.0[depth]).collect();
        let bytes: Vec<u8> = branches.iter().map(|branch| branch[0].0[depth]).collect();
        let base = array.place(&bytes);
        // Base 0 and byte 0 lead to the root, which therefore repeats another byte.
        let byte = depth.checked_sub(1).map_or(1, |last| range[0].0[last]);
        array.nodes[place] = node(
            byte,
            token.map(|(_, rank)| *rank),
            u32::try_from(base).unwrap(),
        );
        for (byte, branch) in bytes.iter().zip(branches) {
            queue.push((base + usize::from(*byte), depth + 1, branch));
        }
    }
    assert!(array.nodes.len() < 1 << 22, "a base has 22 bits");
    array.nodes
}

struct DoubleArray {
    nodes: Vec<u64>,
    taken: Vec<bool>,
    is_base: Vec<bool>,
    /// Where the search for room begins: for a single child, and for several.
    cursors: [usize; 2],
}

impl Default for DoubleArray {
    fn default() -> Self {
        let mut array = Self {
            nodes: Vec::new(),
            taken: Vec::new(),
            is_base: Vec::new(),
            cursors: [FIRST_BASE; 2],
        };
        array.grow(2 * FIRST_BASE);
        array
    }
}

impl DoubleArray {
    fn grow(&mut self, length: usize) {
        if length > self.nodes.len() {
            self.nodes.resize(length, 0);
            self.taken.resize(length, false);
            self.is_base.resize(length, false);
        }
    }

    /// Finds room for the children that `bytes` lead to and returns their base.
    fn place(&mut self, bytes: &[u8]) -> usize {
        let Some(&first) = bytes.first() else {
            return 0;
        };
        let first = usize::from(first);
        let cursor = usize::from(bytes.len() > 1);
        let start = self.cursors[cursor].max(FIRST_BASE + first);
        let mut base = start - first;
        while !self.has_room(base, bytes) {
            base += 1;
        }
        if base + first > start + PATIENCE {
            self.cursors[cursor] = base + first;
        }
        self.is_base[base] = true;
        for byte in bytes {
            self.taken[base + usize::from(*byte)] = true;
        }
        base
    }

    /// Whether `base` is free, and the places that `bytes` lead to from it.
    fn has_room(&mut self, base: usize, bytes: &[u8]) -> bool {
        self.grow(base + 2 * 256);
        let is_free = |byte: &u8| !self.taken[base + usize::from(*byte)];
        !self.is_base[base] && bytes.iter().all(is_free)
    }
}
