//! The layout of the vocabulary tables.
//!
//! The build script uses this file to write the tables, and the engine uses it to read them.

/// All tokens with a rank below this number are single bytes.
pub(crate) const SINGLE_BYTES: u32 = 256;

/// The maximum number of bytes in a token.
pub(crate) const LONGEST: usize = 128;

/// A number that is not the rank of any token.
pub(crate) const NO_TOKEN: u32 = (1 << RANK_BITS) - 1;

const RANK_BITS: u32 = 18;

/// An entry of the trie of all tokens.
///
/// The lowest byte of a node repeats the byte that leads to the node. The value of a node is its
/// base: the places of its children are counted from the base. The value of a leaf is twice the
/// rank of its token. (Ranks are doubled to leave gaps between the values of leaves.)
#[derive(Clone, Copy)]
pub(crate) struct Node(pub(crate) u32);

const IS_NODE: u32 = 1 << 8;
const ENDS_TOKEN: u32 = 1 << 9;
const IS_LEAF: u32 = 1 << 10;
const VALUE_SHIFT: u32 = 11;

/// If a token is a prefix of other tokens, its rank is stored in a separate entry, at this offset
/// from the base of its node.
pub(crate) const RANK: usize = 256;

impl Node {
    /// Creates a node with children, whose places are counted from `children`.
    pub(crate) const fn inner(byte: u8, ends_token: bool, children: u32) -> Self {
        let token = if ends_token { ENDS_TOKEN } else { 0 };
        Self(Self::only(children).0 | token | IS_NODE | byte as u32)
    }

    /// Creates a leaf, where the token with this rank ends.
    pub(crate) const fn leaf(byte: u8, rank: u32) -> Self {
        Self(Self::only(2 * rank).0 | IS_LEAF | ENDS_TOKEN | IS_NODE | byte as u32)
    }

    /// Creates an entry that contains only a value and is not a node.
    pub(crate) const fn only(value: u32) -> Self {
        assert!(value < 1 << (32 - VALUE_SHIFT));
        Self(value << VALUE_SHIFT)
    }

    /// Returns true if this entry is the child for `byte`.
    pub(crate) const fn is_child(self, byte: u8) -> bool {
        self.0 & (IS_NODE | 0xff) == IS_NODE | byte as u32
    }

    pub(crate) const fn ends_token(self) -> bool {
        self.0 & ENDS_TOKEN != 0
    }

    pub(crate) const fn is_leaf(self) -> bool {
        self.0 & IS_LEAF != 0
    }

    pub(crate) const fn value(self) -> u32 {
        self.0 >> VALUE_SHIFT
    }
}

/// The two parts of a token, its longest shorter prefix and its length, packed into one number.
#[derive(Clone, Copy)]
pub(crate) struct Parts(pub(crate) u64);

impl Parts {
    /// `left` and `right` are the two tokens that are merged into the token. `shorter` is the
    /// longest other token that the token begins with. For a single byte, `left` is the byte and
    /// `right` is [`NO_TOKEN`].
    pub(crate) const fn new(left: u32, right: u32, shorter: u32, length: usize) -> Self {
        Self(
            left as u64
                | (right as u64) << RANK_BITS
                | (shorter as u64) << (2 * RANK_BITS)
                | (length as u64) << (3 * RANK_BITS),
        )
    }

    pub(crate) const fn left(self) -> u32 {
        self.0 as u32 & NO_TOKEN
    }

    pub(crate) const fn right(self) -> u32 {
        (self.0 >> RANK_BITS) as u32 & NO_TOKEN
    }

    pub(crate) const fn shorter(self) -> u32 {
        (self.0 >> (2 * RANK_BITS)) as u32 & NO_TOKEN
    }

    /// The number of bytes in the token, or 0 if no token has this rank.
    pub(crate) const fn length(self) -> usize {
        (self.0 >> (3 * RANK_BITS)) as usize
    }
}

/// The index of the bit for two bytes in the byte pair table.
pub(crate) const fn byte_bit(before: u8, after: u8) -> usize {
    (before as usize) << 8 | after as usize
}

/// The index of a border's bit in the border filter. `bytes` is the size of the filter in bytes,
/// which must be a power of two. `before` and `after` come from [`one_byte`] or [`two_bytes`].
pub(crate) const fn border_bit(before: u32, after: u32, bytes: usize) -> usize {
    let key = (before as u64) << 17 | after as u64;
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43) as usize & (8 * bytes - 1)
}

/// The key for a one-byte token next to a border.
pub(crate) const fn one_byte(byte: u8) -> u32 {
    byte as u32
}

/// The key for a longer token next to a border: the two bytes closest to the border.
pub(crate) const fn two_bytes(bytes: [u8; 2]) -> u32 {
    1 << 16 | u16::from_be_bytes(bytes) as u32
}

/// Two tokens as a key in the table of pairs. The table maps a pair to the token that the two
/// tokens are merged into.
///
/// The hash is perfect: each pair that is merged has its own place in the table. Each pair belongs
/// to a bucket, and the build script chooses a seed for each bucket so that no two pairs get the
/// same place. Two tokens that are not merged are also assigned the place of some pair. In most
/// cases, the tag in the entry at that place reveals that the entry belongs to another pair. To be
/// certain, compare the [`Parts`] of the merged token.
#[derive(Clone, Copy)]
pub(crate) struct Pair(u64);

impl Pair {
    pub(crate) const fn new(left: u32, right: u32) -> Self {
        let both = (left as u64) << 32 | right as u64;
        let mixed = (both ^ both >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self(mixed ^ mixed >> 32)
    }

    /// The number of the bucket for this pair, out of `buckets`.
    pub(crate) const fn bucket(self, buckets: usize) -> usize {
        (((self.0 >> 32) * buckets as u64) >> 32) as usize
    }

    /// The place of this pair in a table with `places` entries. `seed` is the seed of the pair's
    /// bucket.
    pub(crate) const fn place(self, seed: u16, places: usize) -> usize {
        let mixed = self.0 as u32 ^ (seed as u32) << 16;
        ((mixed as u64 * places as u64) >> 32) as usize
    }

    /// The three-byte entry for this pair. `rank` is the rank of the merged token.
    pub(crate) const fn entry(self, rank: u32) -> u32 {
        (self.0 as u32) << RANK_BITS & 0xff_ffff | rank
    }
}

/// The rank in an entry from the table of pairs. An empty entry has the rank 0, which no merged
/// token has.
pub(crate) const fn entry_rank(entry: u32) -> u32 {
    entry & NO_TOKEN
}
