//! Splits text into the pieces that `cl100k_base` encodes separately.

use super::{White, contraction, letters, numbers, punctuation};
use crate::native::class::{Class, class_at};

/// ```text
/// '(?i:[sdmt]|ll|ve|re)
/// [^\r\n\p{L}\p{N}]?+\p{L}++
/// \p{N}{1,3}+
///  ?[^\s\p{L}\p{N}]++[\r\n]*+
/// \s++$
/// \s*[\r\n]
/// \s+(?!\S)
/// \s
/// ```
#[inline(always)]
pub(crate) fn cl100k(text: &[u8], start: usize) -> usize {
    let (class, length) = class_at(text, start);
    if class.is(Class::LETTER) {
        return letters(text, start);
    }
    if class.is(Class::NUMBER) {
        return numbers(text, start, length);
    }
    if let Some(end) = contraction(text, start) {
        return end;
    }
    if !class.is(Class::NEWLINE) {
        // In a piece, one other character may precede letters, and a space may precede punctuation.
        let after = start + length;
        let (next, _) = class_at(text, after);
        if next.is(Class::LETTER) {
            return letters(text, after);
        }
        if class.is(Class::PUNCTUATION) || text[start] == b' ' && next.is(Class::PUNCTUATION) {
            return punctuation(text, after, b"\r\n");
        }
    }
    let white = White::at(text, start);
    if white.end == text.len() {
        // `\s++$` matches first, whether or not the whitespace contains line endings.
        white.end
    } else {
        white.piece_end(text, start)
    }
}
