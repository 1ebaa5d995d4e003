//! How the tables of a vocabulary are laid out.
//!
//! One file for both sides: the build script writes the tables with it, the
//! engine reads them with it. A vocabulary has fewer than 2^[`bits`](Layout)
//! tokens; the sizes of all hash tables follow from that.

/// Ranks below this are the single bytes.
pub(crate) const SINGLE_BYTES: u32 = 256;

/// Tokens up to this long fit, with their length, into a key of 59 bits.
pub(crate) const SHORT: usize = 7;

const SHORT_KEY_BITS: u32 = 59;
const DISPLACEMENT_BITS: u32 = 5;

/// An entry of a hash table lies less than this many places after its home.
pub(crate) const DISPLACEMENTS: usize = 1 << DISPLACEMENT_BITS;

/// A place in the table of short tokens that holds none.
pub(crate) const NO_SHORT: u64 = u64::MAX;

/// The sizes of the tables of one vocabulary.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// How many bits a rank has.
    pub(crate) bits: u32,
}

/// Where a key is looked for, and what it is recognised by.
#[derive(Clone, Copy)]
pub(crate) struct Hashed {
    /// The first place to look at; the others follow it.
    pub(crate) home: usize,
    /// The part of the key that an entry repeats.
    pub(crate) tag: u64,
}

/// The key of a token of at most [`SHORT`] bytes: they are the low bytes of
/// `bytes`, whose other bytes are zero.
pub(crate) const fn short_key(bytes: u64, length: usize) -> u64 {
    bytes | (length as u64) << 56
}

impl Layout {
    /// Half of these places stay empty.
    pub(crate) const fn short_places(self) -> usize {
        1 << self.bits
    }

    /// Home and tag are together as wide as the key, and neither step loses
    /// anything: a key with the same home and tag is the same key.
    pub(crate) const fn short(self, key: u64) -> Hashed {
        let scattered = (key ^ key >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let scattered = scattered & ((1 << SHORT_KEY_BITS) - 1);
        let tag_bits = SHORT_KEY_BITS - self.bits;
        Hashed {
            home: (scattered >> tag_bits) as usize,
            tag: scattered & ((1 << tag_bits) - 1),
        }
    }

    /// The entry of a short token, `displacement` places after its home.
    pub(crate) const fn short_entry(self, tag: u64, displacement: u64, rank: u32) -> u64 {
        (tag << DISPLACEMENT_BITS | displacement) << self.bits | rank as u64
    }

    pub(crate) const fn long_places(self) -> usize {
        1 << (self.bits - 1)
    }

    /// Hashes a token of 8 bytes and more by its first and last eight bytes and
    /// its length; the bytes are compared where the tag is right.
    pub(crate) const fn long(self, first: u64, last: u64, length: usize) -> Hashed {
        let mixed = first.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ last.rotate_left(23);
        let mixed = (mixed ^ mixed >> 32 ^ length as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Hashed {
            home: (mixed >> (64 - (self.bits - 1))) as usize,
            tag: mixed & 0x1_ffff,
        }
    }

    pub(crate) const fn pair_places(self) -> usize {
        1 << (self.bits + 1)
    }

    /// Hashes the two tokens that merge into one.
    pub(crate) const fn pair(self, left: u32, right: u32) -> Hashed {
        let both = (left as u64) << 32 | right as u64;
        let mixed = (both ^ both >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Hashed {
            home: (mixed >> (64 - (self.bits + 1))) as usize,
            tag: mixed >> 8 & ((1 << (32 - self.bits)) - 1),
        }
    }

    /// The entry of a token in the table of pairs. Nothing merges into a single
    /// byte, so no entry is 0, which stands for an empty place.
    pub(crate) const fn pair_entry(self, tag: u64, rank: u32) -> u32 {
        (tag as u32) << self.bits | rank
    }

    /// The bit of a pair in the filter of pairs.
    pub(crate) const fn pair_bit(self, left: u32, right: u32) -> usize {
        let both = (left as u64) << 32 | right as u64;
        let mixed = (both ^ both >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> (64 - (self.bits + 3))) as usize
    }

    /// How many bytes a filter has.
    pub(crate) const fn filter_bytes(self) -> usize {
        1 << self.bits
    }

    /// The bit in the filter of borders for the bytes before a border and the
    /// bytes after it, each made by [`one_byte`] or [`two_bytes`].
    pub(crate) const fn border(self, before: u64, after: u64) -> usize {
        let key = before << 17 | after;
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - (self.bits + 3))) as usize
    }

    /// The rank in an entry of a hash table.
    pub(crate) const fn rank(self, entry: u64) -> u32 {
        (entry & ((1 << self.bits) - 1)) as u32
    }
}

/// One byte beside a border, where the token has no other.
pub(crate) const fn one_byte(byte: u8) -> u64 {
    byte as u64
}

/// The two bytes beside a border.
pub(crate) const fn two_bytes(first: u8, second: u8) -> u64 {
    1 << 16 | (first as u64) << 8 | second as u64
}

/// A token of 8 bytes and more: rank, where its bytes are, and its tag. An
/// empty place is 0, since no token is empty.
pub(crate) const fn long_entry(tag: u64, length: u64, offset: u64, rank: u32) -> u64 {
    tag << 47 | length << 39 | offset << 18 | rank as u64
}

/// Tag and length of an entry of the table of long tokens, as one number.
pub(crate) const fn long_tag_and_length(entry: u64) -> u64 {
    entry >> 39
}

/// Where the bytes of an entry of the table of long tokens begin.
pub(crate) const fn long_offset(entry: u64) -> usize {
    (entry >> 18 & 0x1f_ffff) as usize
}

/// The rank in an entry of the table of long tokens.
pub(crate) const fn long_rank(entry: u64) -> u32 {
    (entry & 0x3_ffff) as u32
}

/// A node of the trie: the byte that leads to it, where its children begin, and
/// the rank of the token that ends at it. Unused places are 0.
pub(crate) const fn node(byte: u8, token: Option<u32>, children: u32) -> u64 {
    let token = match token {
        Some(rank) => 1 << 9 | (rank as u64) << 32,
        None => 0,
    };
    token | (children as u64) << 10 | 1 << 8 | byte as u64
}

/// Whether `node` is the child that `byte` leads to.
pub(crate) const fn is_child(node: u64, byte: u8) -> bool {
    node & 0x1ff == 1 << 8 | byte as u64
}

/// Whether a token ends at `node`.
pub(crate) const fn ends_token(node: u64) -> bool {
    node & 1 << 9 != 0
}

/// The rank of the token that ends at `node`.
pub(crate) const fn node_rank(node: u64) -> u32 {
    (node >> 32) as u32
}

/// The child that byte `b` leads to lies at this number + `b`.
pub(crate) const fn children(node: u64) -> usize {
    (node as u32 >> 10) as usize
}

/// What the merge has to know of a token, in one number.
#[derive(Clone, Copy)]
pub(crate) struct Parts(pub(crate) u64);

impl Parts {
    /// `left` and `right` are merged into the token; `shorter` is the longest
    /// other token that it begins with. Of a single byte, each is itself.
    pub(crate) const fn new(left: u32, right: u32, shorter: u32, length: usize) -> Self {
        Self(left as u64 | (right as u64) << 18 | (shorter as u64) << 36 | (length as u64) << 54)
    }

    pub(crate) const fn left(self) -> u32 {
        (self.0 & 0x3_ffff) as u32
    }

    pub(crate) const fn right(self) -> u32 {
        (self.0 >> 18 & 0x3_ffff) as u32
    }

    pub(crate) const fn shorter(self) -> u32 {
        (self.0 >> 36 & 0x3_ffff) as u32
    }

    /// How many bytes the token has.
    pub(crate) const fn length(self) -> usize {
        (self.0 >> 54) as usize
    }
}
