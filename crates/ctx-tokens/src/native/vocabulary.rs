//! The tables of the vocabularies: read-only bytes of the program, made by the
//! build script. Nothing is built at start, and the system loads only the pages
//! that a text touches.

use super::layout::{
    DISPLACEMENTS, Hashed, Layout, NO_SHORT, Parts, SHORT, children, ends_token, is_child,
    long_offset, long_rank, long_tag_and_length, node_rank, one_byte, short_key, two_bytes,
};

/// Numbers as the build script wrote them, lowest byte first.
type Numbers<const WIDTH: usize> = &'static [[u8; WIDTH]];

/// The tokens of one encoding.
pub(crate) struct Vocabulary {
    layout: Layout,
    short: Numbers<8>,
    long: Numbers<8>,
    pairs: Numbers<4>,
    parts: Numbers<8>,
    nodes: Numbers<8>,
    starts: Numbers<4>,
    borders: &'static [u8],
    filter: &'static [u8],
    bytes: &'static [u8],
}

/// A token found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) rank: u32,
    pub(crate) length: usize,
}

/// Keeps a table from straddling more cache lines and pages than it must.
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
    ($name:literal, $bits:literal) => {
        Vocabulary {
            layout: Layout { bits: $bits },
            short: table!(concat!($name, ".short")).as_chunks().0,
            long: table!(concat!($name, ".long")).as_chunks().0,
            pairs: table!(concat!($name, ".pairs")).as_chunks().0,
            parts: table!(concat!($name, ".parts")).as_chunks().0,
            nodes: table!(concat!($name, ".nodes")).as_chunks().0,
            starts: table!(concat!($name, ".starts")).as_chunks().0,
            borders: table!(concat!($name, ".borders")),
            filter: table!(concat!($name, ".filter")),
            bytes: table!(concat!($name, ".bytes")),
        }
    };
}

pub(crate) static O200K: Vocabulary = vocabulary!("o200k", 18);
pub(crate) static CL100K: Vocabulary = vocabulary!("cl100k", 17);

/// The eight bytes from `at` on as a number, the first lowest; zeros where the text ends.
#[inline(always)]
pub(crate) fn eight_bytes(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// A piece of at most [`SHORT`] bytes as a number, which no other piece has.
#[inline(always)]
pub(crate) fn key_of(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let length = end - start;
    (length <= SHORT).then(|| {
        let bytes = eight_bytes(text, start) & ((1 << (8 * length)) - 1);
        short_key(bytes, length)
    })
}

#[inline(always)]
fn is_set(bits: &[u8], bit: usize) -> bool {
    bits[bit / 8] & 1 << (bit % 8) != 0
}

impl Vocabulary {
    /// No token has more bytes.
    pub(crate) const LONGEST: usize = 128;

    /// The rank of the token that is `text[start..end]`, which is not empty.
    #[inline(always)]
    pub(crate) fn rank(&self, text: &[u8], start: usize, end: usize) -> Option<u32> {
        match key_of(text, start, end) {
            Some(key) => self.short(key),
            None => self.long(&text[start..end]),
        }
    }

    /// The rank of the token of a [key](key_of).
    #[inline(always)]
    pub(crate) fn short(&self, key: u64) -> Option<u32> {
        let Hashed { home, tag } = self.layout.short(key);
        let places = &self.short[home..home + DISPLACEMENTS];
        for (step, place) in (0..).zip(places) {
            let entry = u64::from_le_bytes(*place);
            let rank = self.layout.rank(entry);
            if entry == self.layout.short_entry(tag, step, rank) {
                return Some(rank);
            }
            if entry == NO_SHORT {
                break;
            }
        }
        None
    }

    /// The rank of the token that is `piece`, of more than [`SHORT`] bytes.
    pub(crate) fn long(&self, piece: &[u8]) -> Option<u32> {
        let length = piece.len();
        if length > Self::LONGEST {
            return None;
        }
        let first = eight_bytes(piece, 0);
        let last = eight_bytes(piece, length - 8);
        let Hashed { home, tag } = self.layout.long(first, last, length);
        let sought = tag << 8 | length as u64;
        let mut place = home;
        loop {
            let entry = u64::from_le_bytes(self.long[place]);
            if entry == 0 {
                return None;
            }
            if long_tag_and_length(entry) == sought {
                let offset = long_offset(entry);
                if self.bytes[offset..offset + length] == *piece {
                    return Some(long_rank(entry));
                }
            }
            place += 1;
        }
    }

    /// The longest token that `bytes` begin with. Each single byte is a token, so
    /// there is one, unless there are no bytes.
    #[inline]
    pub(crate) fn longest(&self, bytes: &[u8]) -> Token {
        let mut node = u64::from_le_bytes(self.nodes[0]);
        let mut longest = Token { rank: 0, length: 0 };
        for (depth, &byte) in bytes.iter().enumerate() {
            node = u64::from_le_bytes(self.nodes[children(node) + usize::from(byte)]);
            if !is_child(node, byte) {
                break;
            }
            if ends_token(node) {
                longest = Token {
                    rank: node_rank(node),
                    length: depth + 1,
                };
            }
        }
        longest
    }

    /// Whether a merge may reach over the border at `at` between two tokens of
    /// `before` and `after` bytes: false for sure, true by and large.
    ///
    /// Such a merge is of two tokens that end and begin there. They are single
    /// bytes or longer, and their bytes at the border are those of the text.
    #[inline]
    pub(crate) fn may_merge(&self, text: &[u8], at: usize, before: usize, after: usize) -> bool {
        let has = |before, after| is_set(self.borders, self.layout.border(before, after));
        let (left, right) = (one_byte(text[at - 1]), one_byte(text[at]));
        let lefts = (before > 1).then(|| two_bytes(text[at - 2], text[at - 1]));
        let rights = (after > 1).then(|| two_bytes(text[at], text[at + 1]));
        has(left, right)
            || lefts.is_some_and(|left| has(left, right))
            || rights.is_some_and(|right| has(left, right))
            || lefts.is_some_and(|left| rights.is_some_and(|right| has(left, right)))
    }

    /// The token that `left` and `right` merge into, if the encoding makes it of them.
    #[inline]
    pub(crate) fn merged(&self, left: u32, right: u32) -> Option<u32> {
        if !is_set(self.filter, self.layout.pair_bit(left, right)) {
            return None;
        }
        let Hashed { home, tag } = self.layout.pair(left, right);
        let mut place = home;
        loop {
            let entry = u32::from_le_bytes(self.pairs[place]);
            if entry == 0 {
                return None;
            }
            let rank = self.layout.rank(u64::from(entry));
            if entry == self.layout.pair_entry(tag, rank) && self.merges(rank, left, right) {
                return Some(rank);
            }
            place += 1;
        }
    }

    /// What `rank` is made of.
    #[inline]
    pub(crate) fn parts(&self, rank: u32) -> Parts {
        Parts(u64::from_le_bytes(self.parts[rank as usize]))
    }

    #[inline]
    fn merges(&self, rank: u32, left: u32, right: u32) -> bool {
        let parts = self.parts(rank);
        parts.left() == left && parts.right() == right
    }

    /// The longest token that `token`, which is longer than a byte, begins with.
    #[inline]
    pub(crate) fn shorter(&self, token: Token) -> Token {
        let rank = self.parts(token.rank).shorter();
        let length = self.length(rank);
        Token { rank, length }
    }

    /// The bytes of a token, or `None` if no token has that rank.
    pub(crate) fn bytes(&self, rank: u32) -> Option<&'static [u8]> {
        let rank = usize::try_from(rank).ok()?;
        let [start, end] = [*self.starts.get(rank)?, *self.starts.get(rank + 1)?];
        Some(&self.bytes[u32::from_le_bytes(start) as usize..u32::from_le_bytes(end) as usize])
    }

    /// How many bytes the token `rank` has.
    pub(crate) fn length(&self, rank: u32) -> usize {
        self.parts(rank).length()
    }
}
