//! Decodes JSON strings block by block, which is fast even if escapes are frequent. Source code has
//! about one escape in every 20 bytes.

use std::cell::RefCell;

use super::scan::{BLOCK, special};

thread_local! {
    /// The buffer into which each string is decoded before it is copied to a string of the right
    /// size. Without it, a new buffer would have to be filled with zeros for each string.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A buffer larger than this many bytes is freed after use.
const MAX_KEPT: usize = 1 << 20;

/// Decodes the text between the quotes of a JSON string; `None` if the text is not valid JSON. Lone
/// surrogates (`\ud800`), which JSON allows but UTF-8 does not, become U+FFFD.
pub(crate) fn unescaped(inside: &str) -> Option<String> {
    let source = inside.as_bytes();
    let mut decoded = Decoded { bytes: BUFFER.take(), length: 0 };
    let needed = source.len() + BLOCK;
    if decoded.bytes.len() < needed {
        decoded.bytes.resize(needed, 0);
    }
    let mut from = 0;
    while from < source.len() {
        let block = from;
        let end = source.len().min(block + BLOCK);
        let mut escapes = special(&source[block..]);
        while escapes != 0 {
            let at = block + escapes.trailing_zeros() as usize;
            // Bits after the end of the string come from the zeros that pad the last block.
            if at >= end {
                break;
            }
            decoded.copy(&source[from..], at - from);
            from = at + decoded.escape(&source[at..])?;
            if from >= end {
                break;
            }
            escapes &= u32::MAX << (from - block);
        }
        if from < end {
            decoded.copy(&source[from..], end - from);
            from = end;
        }
    }
    let bytes = &decoded.bytes[..decoded.length];
    let text = match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    if decoded.bytes.len() <= MAX_KEPT {
        BUFFER.set(decoded.bytes);
    }
    Some(text)
}

/// Returns the UTF-16 code unit of the escape `\uXXXX` at the beginning of `source`.
pub(crate) fn unit(source: &[u8]) -> Option<u32> {
    let digits = source.strip_prefix(br"\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// Copies less than a whole block. If this function were inlined, the compiler would merge it with
/// the copying of a whole block into a single call to memcpy.
#[inline(never)]
fn copy_end(source: &[u8], room: &mut [u8]) {
    room[..source.len()].copy_from_slice(source);
}

/// The text decoded so far, in a buffer that always has room for another block.
struct Decoded {
    bytes: Vec<u8>,
    length: usize,
}

impl Decoded {
    /// Appends the first `length` bytes of `source`, at most one block. A whole block is copied if
    /// possible, because that is faster; the next copy overwrites the excess bytes.
    #[inline]
    fn copy(&mut self, source: &[u8], length: usize) {
        let room = &mut self.bytes[self.length..];
        match (source.first_chunk::<BLOCK>(), room.first_chunk_mut()) {
            (Some(block), Some(room)) => *room = *block,
            _ => copy_end(source, room),
        }
        self.length += length;
    }

    /// Decodes the escape at the beginning of `source` and returns the length of the escape.
    #[inline]
    fn escape(&mut self, source: &[u8]) -> Option<usize> {
        let byte = match *source {
            [b'\\', byte @ (b'"' | b'\\' | b'/'), ..] => byte,
            [b'\\', b'n', ..] => b'\n',
            [b'\\', b't', ..] => b'\t',
            [b'\\', b'r', ..] => b'\r',
            [b'\\', b'b', ..] => 8,
            [b'\\', b'f', ..] => 12,
            _ => return self.unicode(source),
        };
        self.bytes[self.length] = byte;
        self.length += 1;
        Some(2)
    }

    /// Decodes one code unit, or a pair of units that encodes one character. A lone surrogate is
    /// replaced with three invalid bytes, because a surrogate would take three bytes in UTF-8.
    fn unicode(&mut self, source: &[u8]) -> Option<usize> {
        let first = unit(source)?;
        let second = source.get(6..).and_then(unit);
        let (code, length) = match second {
            Some(second @ 0xdc00..0xe000) if (0xd800..0xdc00).contains(&first) => {
                (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12)
            }
            _ => (first, 6),
        };
        let room = &mut self.bytes[self.length..];
        self.length += if let Some(character) = char::from_u32(code) {
            character.encode_utf8(room).len()
        } else {
            room[..3].fill(0xff);
            3
        };
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::unescaped;

    proptest! {
        #[test]
        fn escapes_are_read_as_serde_reads_them(
            inside in "([a-cé中]{0,9}|\\\\[\"\\\\/bfnrtu]|\\\\u(00e9|d8[34]d|d[cd]1e|4E2d|00g1)|\"|\n|\u{0}|[a-z]{30,34}){0,30}",
        ) {
            let json = format!("\"{inside}\"");
            let is_json = serde_json::from_str::<&RawValue>(&json).is_ok();
            let read = is_json.then(|| String::from_utf8_lossy(&bytes(&json)).into_owned());
            prop_assert_eq!(unescaped(&inside), read, "{}", inside);
        }
    }

    /// Decodes the string as bytes with serde, because serde does not accept lone surrogates in
    /// text.
    fn bytes(json: &str) -> Vec<u8> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_owned())
            }
        }
        let mut reader = serde_json::Deserializer::from_str(json);
        serde::de::Deserializer::deserialize_bytes(&mut reader, Bytes).expect("a string")
    }
}
