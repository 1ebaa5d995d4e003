//! Decodes JSON strings block by block: code in JSON has an escape every 20 bytes.

use super::scan::{BLOCK, special};

/// Decodes the inside of a JSON string; `None` if it has a `\u` escape, or is not JSON.
pub(crate) fn unescaped(inside: &str) -> Option<String> {
    let source = inside.as_bytes();
    let mut decoded = Decoded { bytes: vec![0; source.len() + BLOCK], length: 0 };
    let mut from = 0;
    while from < source.len() {
        let block = from;
        let end = source.len().min(block + BLOCK);
        let mut escapes = special(&source[block..]);
        while escapes != 0 {
            let at = block + escapes.trailing_zeros() as usize;
            // Zeros fill the last block.
            if at >= end {
                break;
            }
            decoded.copy(&source[from..], at - from);
            decoded.push(escaped(&source[at..])?);
            from = at + 2;
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
    let text = simdutf8::basic::from_utf8(&decoded.bytes[..decoded.length]);
    text.ok().map(str::to_owned)
}

/// The byte that an escape of two bytes stands for.
fn escaped(escape: &[u8]) -> Option<u8> {
    let [b'\\', letter, ..] = escape else {
        return None;
    };
    Some(match letter {
        b'"' | b'\\' | b'/' => *letter,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        _ => return None,
    })
}

/// The text so far. There is always room for a block behind it.
struct Decoded {
    bytes: Vec<u8>,
    length: usize,
}

impl Decoded {
    /// Appends the first `length` bytes of `source`, at most a block. A whole block is copied,
    /// which is faster; the next bytes overwrite what is too much.
    #[inline]
    fn copy(&mut self, source: &[u8], length: usize) {
        let room = &mut self.bytes[self.length..];
        match (source.first_chunk::<BLOCK>(), room.first_chunk_mut()) {
            (Some(block), Some(room)) => *room = *block,
            _ => room[..source.len()].copy_from_slice(source),
        }
        self.length += length;
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::unescaped;

    proptest! {
        #[test]
        fn escapes_are_read_as_serde_reads_them(
            inside in "([a-cé中]{0,9}|\\\\[\"\\\\/bfnrtu]|\\\\u00e9|\"|\n|\u{0}|[a-z]{30,34}){0,30}",
        ) {
            let read = serde_json::from_str::<String>(&format!("\"{inside}\"")).ok();
            let expected = if inside.contains("\\u") { None } else { read.clone() };
            let found = unescaped(&inside);
            // `\\u` is an escaped backslash.
            prop_assert!(found == expected || found == read, "{inside}");
        }
    }
}
