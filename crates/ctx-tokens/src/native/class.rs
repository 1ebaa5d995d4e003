//! The character classes that the patterns distinguish, according to Unicode 16.0.

/// A class of characters, or a set of classes. Each character is in exactly one class. The end of
/// the text is in no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(u8);

// The bits are in the same order as the classes in the build script.
impl Class {
    /// `\p{Lu}` and `\p{Lt}`: letters in upper or title case.
    pub(crate) const UPPER: Self = Self(1);
    /// `\p{Ll}`: letters in lower case.
    pub(crate) const LOWER: Self = Self(1 << 1);
    /// `\p{Lm}` and `\p{Lo}`: letters without case, which count as both cases.
    pub(crate) const BOTH: Self = Self(1 << 2);
    /// `\p{M}`: marks that modify the letter before them, but are not letters.
    pub(crate) const MARK: Self = Self(1 << 3);
    /// `\p{N}`: digits and other numbers.
    pub(crate) const NUMBER: Self = Self(1 << 4);
    /// `\s` without `\r` and `\n`.
    pub(crate) const SPACE: Self = Self(1 << 5);
    /// `\r` and `\n`.
    pub(crate) const NEWLINE: Self = Self(1 << 6);
    /// All other characters: punctuation, symbols, and control characters.
    pub(crate) const OTHER: Self = Self(1 << 7);

    const NONE: Self = Self(0);

    /// `\p{L}`: all letters.
    pub(crate) const LETTER: Self = Self::UPPER.or(Self::LOWER).or(Self::BOTH);
    /// `\s`: all whitespace, including line endings.
    pub(crate) const WHITE: Self = Self::SPACE.or(Self::NEWLINE);
    /// `[^\s\p{L}\p{N}]`: everything except whitespace, letters and numbers.
    pub(crate) const PUNCTUATION: Self = Self::OTHER.or(Self::MARK);

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if this class is one of `classes`.
    #[inline(always)]
    pub(crate) const fn is(self, classes: Self) -> bool {
        self.0 & classes.0 != 0
    }
}

static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class.blocks"));
static BITS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class.bits"));

/// The class and the length in bytes of the character at `at`. At the end of the text, the length
/// is 0.
#[inline(always)]
pub(crate) fn class_at(text: &[u8], at: usize) -> (Class, usize) {
    match text.get(at) {
        None => (Class::NONE, 0),
        Some(&byte) if byte < 0x80 => (Class(BITS[usize::from(byte)]), 1),
        Some(&byte) => class_of_several_bytes(text, at, byte),
    }
}

/// The class and the length of a multi-byte character that begins with the byte `first`.
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

/// The end of the longest run of characters in `classes` that begins at `at`.
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
