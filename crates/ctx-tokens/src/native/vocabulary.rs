//! The vocabulary tables: read-only data written by the build script. No table is built when the
//! program starts, and the operating system loads only the pages that are needed for the text.

use std::hint::select_unpredictable;

use super::layout::{
    Node, Pair, Parts, RANK, SINGLE_BYTES, border_bit, byte_bit, entry_rank, one_byte, two_bytes,
};

/// Numbers as written by the build script, with the lowest byte first.
type Numbers<const WIDTH: usize> = &'static [[u8; WIDTH]];

/// The tables for one encoding.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary {
    /// The number of ranks. All tokens in the encoding have a rank below this number.
    pub(crate) ranks: u32,
    /// The trie of all tokens, stored as [`Node`]s.
    nodes: Numbers<4>,
    /// The [`Parts`] of each token, by rank.
    parts: Numbers<8>,
    /// The entry for each [`Pair`] that is merged.
    pairs: Numbers<3>,
    /// The seed for each bucket of pairs.
    seeds: Numbers<2>,
    /// A bit for each pair of bytes. A bit is set if its two bytes are merged.
    bytes: &'static [u8],
    /// A filter for all merges except those of two single bytes, indexed by the bytes on both sides
    /// of the border.
    borders: &'static [u8],
}

/// A token found in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) rank: u32,
    pub(crate) length: usize,
}

/// Aligns a table so that lookups touch as few cache lines and pages as possible.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

macro_rules! table {
    ($file:expr) => {{
        static TABLE: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $file)));
        &TABLE.0
    }};
}

macro_rules! vocabulary {
    ($name:literal) => {{
        let parts: Numbers<8> = table!(concat!($name, ".parts")).as_chunks().0;
        Vocabulary {
            ranks: parts.len() as u32,
            nodes: table!(concat!($name, ".nodes")).as_chunks().0,
            parts,
            pairs: table!(concat!($name, ".pairs")).as_chunks().0,
            seeds: table!(concat!($name, ".seeds")).as_chunks().0,
            bytes: table!(concat!($name, ".bytes")),
            borders: table!(concat!($name, ".borders")),
        }
    }};
}

pub(crate) static O200K: Vocabulary = vocabulary!("o200k");
pub(crate) static CL100K: Vocabulary = vocabulary!("cl100k");
pub(crate) static P50K: Vocabulary = P50K_TABLES;
/// `p50k_base` consists of the tokens of `r50k_base` and of additional tokens for runs of spaces.
/// No token in `r50k_base` begins with one of the additional tokens.
pub(crate) static R50K: Vocabulary = Vocabulary { ranks: 50_256, ..P50K_TABLES };
const P50K_TABLES: Vocabulary = vocabulary!("p50k");

#[inline(always)]
fn is_set(bits: &[u8], bit: usize) -> bool {
    bits[bit / 8] & 1 << (bit % 8) != 0
}

impl Vocabulary {
    /// The longest token at the beginning of `text`, which must not be empty. A token is always
    /// found, because each single byte is a token.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8]) -> Token {
        let mut node = self.node(0);
        let mut last = node;
        let mut length = 0;
        for (depth, &byte) in (1..).zip(text) {
            // The build script never puts a node at a place that could be mistaken for a child of a
            // leaf.
            node = self.node(node.value() as usize + usize::from(byte));
            if !node.is_child(byte) {
                break;
            }
            if node.ends_token() {
                (last, length) = (node, depth);
            }
        }
        // A branch would be unpredictable here, so both cases are computed. For a leaf, place 0 is
        // read, which is already in the processor's cache.
        let place = select_unpredictable(last.is_leaf(), 0, last.value() as usize + RANK);
        let inner = self.node(place).value();
        let rank = select_unpredictable(last.is_leaf(), last.value() / 2, inner);
        let mut token = Token { rank, length };
        while token.rank >= self.ranks {
            token = self.shorter(token);
        }
        token
    }

    #[inline(always)]
    fn node(&self, place: usize) -> Node {
        Node(u32::from_le_bytes(self.nodes[place]))
    }

    /// Returns false if it is certain that no merge crosses the border between the tokens `before`
    /// and `after`, and true if a merge probably does. Only the two bytes on each side of the
    /// border matter.
    ///
    /// A merge across the border joins a token that ends at the border with a token that begins
    /// there, so both tokens have the text's bytes next to the border.
    #[inline]
    pub(crate) fn may_merge(&self, before: &[u8], after: &[u8]) -> bool {
        let ([.., left], [right, ..]) = (before, after) else { return false };
        if is_set(self.bytes, byte_bit(*left, *right)) {
            return true;
        }
        let has = |left, right| is_set(self.borders, border_bit(left, right, self.borders.len()));
        let lefts = before.last_chunk().map(|two| two_bytes(*two));
        let rights = after.first_chunk().map(|two| two_bytes(*two));
        lefts.is_some_and(|left| has(left, one_byte(*right)))
            || rights.is_some_and(|right| has(one_byte(*left), right))
            || lefts.is_some_and(|left| rights.is_some_and(|right| has(left, right)))
    }

    /// Returns true if `left` and `right` are merged into a token whose rank is below `limit`.
    #[inline]
    pub(crate) fn merge_below(&self, limit: u32, left: u32, right: u32) -> bool {
        let pair = Pair::new(left, right);
        let seed = u16::from_le_bytes(self.seeds[pair.bucket(self.seeds.len())]);
        let [low, middle, high] = self.pairs[pair.place(seed, self.pairs.len())];
        let entry = u32::from_le_bytes([low, middle, high, 0]);
        let rank = entry_rank(entry);
        if entry != pair.entry(rank) || rank >= limit {
            return false;
        }
        let parts = self.parts(rank);
        parts.left() == left && parts.right() == right
    }

    /// The parts of the token with this rank.
    #[inline]
    pub(crate) fn parts(&self, rank: u32) -> Parts {
        Parts(u64::from_le_bytes(self.parts[rank as usize]))
    }

    /// The longest other token at the beginning of `token`, which must have more than one byte.
    #[inline]
    pub(crate) fn shorter(&self, token: Token) -> Token {
        let rank = self.parts(token.rank).shorter();
        let length = self.length(rank);
        Token { rank, length }
    }

    /// The number of bytes in the token with this rank.
    pub(crate) fn length(&self, rank: u32) -> usize {
        self.parts(rank).length()
    }

    /// Returns true if the encoding has a token with this rank.
    pub(crate) fn has(&self, rank: u32) -> bool {
        rank < self.ranks && self.length(rank) > 0
    }

    /// Appends the bytes of the token with this rank to `text`.
    pub(crate) fn decode(&self, rank: u32, text: &mut Vec<u8>) {
        let parts = self.parts(rank);
        if rank < SINGLE_BYTES {
            text.push(parts.left() as u8);
        } else {
            self.decode(parts.left(), text);
            self.decode(parts.right(), text);
        }
    }
}
