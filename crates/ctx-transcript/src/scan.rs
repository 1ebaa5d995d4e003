//! Bytes of JSON looked at many at once, on any processor.

use wide::u8x32;

/// Some bytes of a text; one bit tells of each.
pub struct Block(u8x32);

impl Block {
    /// How many bytes.
    pub const LENGTH: usize = 32;

    /// The first bytes of a text; where it is shorter NULs follow it.
    #[inline]
    pub fn of(text: &[u8]) -> Self {
        if let Some(bytes) = text.first_chunk() {
            return Self(u8x32::new(*bytes));
        }
        let mut bytes = [0; Self::LENGTH];
        bytes[..text.len()].copy_from_slice(text);
        Self(u8x32::new(bytes))
    }

    /// Where a string of JSON cannot just go on: quotes, backslashes and control characters.
    #[inline]
    pub fn special(&self) -> u32 {
        let is_control = self.0.min(u8x32::splat(b' ' - 1)).simd_eq(self.0);
        let is_quote = self.0.simd_eq(u8x32::splat(b'"'));
        let is_backslash = self.0.simd_eq(u8x32::splat(b'\\'));
        (is_control | is_quote | is_backslash).to_bitmask()
    }

    /// The bytes that are one of these.
    #[inline]
    pub fn any_of<const COUNT: usize>(&self, bytes: [u8; COUNT]) -> u32 {
        let mut found = u8x32::splat(0);
        for byte in bytes {
            found |= self.0.simd_eq(u8x32::splat(byte));
        }
        found.to_bitmask()
    }
}

#[cfg(test)]
mod tests {
    use super::Block;

    #[test]
    fn each_byte_has_its_bit() {
        let text = b"a\"b\\n \x1f\x7f\xff\n";
        let block = Block::of(text);
        let behind = u32::MAX << text.len();
        assert_eq!(block.special() & !behind, 0b10_0100_1010);
        assert_eq!(block.special() & behind, behind, "nothing goes on there");
        assert_eq!(block.any_of([b'n', b'a']), 0b1_0001);
        assert_eq!(Block::of(&[b'n'; 40]).any_of([b'n']), u32::MAX);
    }
}
