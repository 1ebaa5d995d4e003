//! The classes of characters that the patterns distinguish, from the tables of Unicode 16.0.

/// A class of characters, or a set of classes. Each character is in exactly one; the end of the
/// text is in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(u8);

// The order is that of the numbers in the build script.
impl Class {
    /// `\p{Lu}`, `\p{Lt}`.
    pub(crate) const UPPER: Self = Self(1);
    /// `\p{Ll}`.
    pub(crate) const LOWER: Self = Self(1 << 1);
    /// `\p{Lm}`, `\p{Lo}`: letters of scripts without case, which count as either case.
    pub(crate) const BOTH: Self = Self(1 << 2);
    /// `\p{M}`: marks that change the letter before. They are not letters.
    pub(crate) const MARK: Self = Self(1 << 3);
    /// `\p{N}`.
    pub(crate) const NUMBER: Self = Self(1 << 4);
    /// `\s`, except the next class.
    pub(crate) const SPACE: Self = Self(1 << 5);
    /// `\r`, `\n`.
    pub(crate) const NEWLINE: Self = Self(1 << 6);
    /// All other characters: punctuation, symbols, control characters.
    pub(crate) const OTHER: Self = Self(1 << 7);

    const NONE: Self = Self(0);

    /// `\p{L}`.
    pub(crate) const LETTER: Self = Self::UPPER.or(Self::LOWER).or(Self::BOTH);
    /// `\s`.
    pub(crate) const WHITE: Self = Self::SPACE.or(Self::NEWLINE);
    /// `[^\s\p{L}\p{N}]`.
    pub(crate) const PUNCTUATION: Self = Self::OTHER.or(Self::MARK);

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if this is one of `classes`.
    #[inline(always)]
    pub(crate) const fn is(self, classes: Self) -> bool {
        self.0 & classes.0 != 0
    }
}

static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class.blocks"));
static BITS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class.bits"));

/// The class of the character at `at` and its length, 0 at the end of the text.
#[inline(always)]
pub(crate) fn class_at(text: &[u8], at: usize) -> (Class, usize) {
    match text.get(at) {
        None => (Class::NONE, 0),
        Some(&byte) if byte < 0x80 => (Class(BITS[usize::from(byte)]), 1),
        Some(&byte) => class_of_several_bytes(text, at, byte),
    }
}

/// The class of a character of two or more bytes, the first of which is `first`.
#[inline]
fn class_of_several_bytes(text: &[u8], at: usize, first: u8) -> (Class, usize) {
    let follower = |n: usize| u32::from(text.get(at + n).copied().unwrap_or_default() & 0x3f);
    let first = u32::from(first);
    let (scalar, length) = match first {
        ..0xe0 => ((first & 0x1f) << 6 | follower(1), 2),
        0xe0..0xf0 => ((first & 0xf) << 12 | follower(1) << 6 | follower(2), 3),
        _ => ((first & 0x7) << 18 | follower(1) << 12 | follower(2) << 6 | follower(3), 4),
    };
    let block = usize::from(BLOCKS[(scalar >> 8) as usize]);
    (Class(BITS[block << 8 | (scalar & 0xff) as usize]), length)
}

/// The end of the run of characters of `classes` that begins at `at`.
#[inline(always)]
pub(crate) fn run_end(text: &[u8], mut at: usize, classes: Class) -> usize {
    loop {
        let (class, length) = class_at(text, at);
        if !class.is(classes) {
            return at;
        }
        at += length;
    }
}
