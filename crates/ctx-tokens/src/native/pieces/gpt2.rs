//! Splits text into the pieces that `p50k_base` and `r50k_base` encode separately, as GPT-2 does.

use super::{White, letters};
use crate::native::class::{Class, class_at, run_end};

/// ```text
/// '(?:[sdmt]|ll|ve|re)
///  ?\p{L}++
///  ?\p{N}++
///  ?[^\s\p{L}\p{N}]++
/// \s++$
/// \s+(?!\S)
/// \s
/// ```
#[inline(always)]
pub(crate) fn gpt2(text: &[u8], start: usize) -> usize {
    match text[start..] {
        [b'\'', b's' | b'd' | b'm' | b't', ..] => return start + 2,
        [b'\'', b'l', b'l', ..] | [b'\'', b'v' | b'r', b'e', ..] => return start + 3,
        _ => {}
    }
    let first = start + usize::from(text[start] == b' ');
    let (class, _) = class_at(text, first);
    if class.is(Class::LETTER) {
        return letters(text, first);
    }
    for run in [Class::NUMBER, Class::PUNCTUATION] {
        if class.is(run) {
            return run_end(text, first, run);
        }
    }
    let white = White {
        // This expression treats line endings like any other whitespace.
        newline: None,
        ..White::at(text, start)
    };
    white.piece_end(text, start)
}
