//! Splits a text into pieces, each of which is encoded separately.
//!
//! OpenAI defines the pieces by a regular expression, whose matches follow one another without a
//! gap. Here each expression is a function that returns the end of the piece that begins at a given
//! position. The alternatives of an expression are tried in order, and each takes as much as it
//! can, as in the expression. This module has what several expressions share.
//!
//! The text is valid UTF-8, and the position is a border between characters before its end.

mod ascii;
mod cl100k;
mod gpt2;
mod o200k;

pub(crate) use cl100k::cl100k;
pub(crate) use gpt2::gpt2;
pub(crate) use o200k::o200k;

use super::class::{Class, class_at, run_end};

/// The end of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`, if it matches there.
///
/// Case folding is that of Unicode, so `ſ` (U+017F) counts as `s`.
#[inline(always)]
fn contraction(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'\'') {
        return None;
    }
    let letter = |n: usize| text.get(at + n).map_or(0, u8::to_ascii_lowercase);
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
        (b'r' | b'v', b'e') | (b'l', b'l') | (0xc5, 0xbf) => Some(at + 3),
        _ => None,
    }
}

/// The end of `\p{L}*` at `start`.
#[inline(always)]
fn letters(text: &[u8], start: usize) -> usize {
    let end = ascii::letters(text, start);
    if text.get(end).is_some_and(|byte| !byte.is_ascii()) {
        return run_end(text, end, Class::LETTER);
    }
    end
}

/// The end of `\p{N}{1,3}`, if the number at `start` is `length` bytes long.
fn numbers(text: &[u8], start: usize, length: usize) -> usize {
    let mut end = start + length;
    for _ in 0..2 {
        let (class, length) = class_at(text, end);
        if !class.is(Class::NUMBER) {
            break;
        }
        end += length;
    }
    end
}

/// The end of `[^\s\p{L}\p{N}]*` at `at`, followed by as many of the bytes `tail` as there are.
#[inline(always)]
fn punctuation(text: &[u8], at: usize, tail: &[u8]) -> usize {
    let mut end = run_end(text, at, Class::PUNCTUATION);
    while text.get(end).is_some_and(|byte| tail.contains(byte)) {
        end += 1;
    }
    end
}

/// A run of white space: its end, its last character and its last line end.
struct White {
    /// The end of the run.
    end: usize,
    /// The start of its last character.
    last: usize,
    /// The end of the last `\r` or `\n` in it.
    newline: Option<usize>,
}

impl White {
    #[inline(always)]
    fn at(text: &[u8], start: usize) -> Self {
        let mut white = Self { end: start, last: start, newline: None };
        loop {
            let (class, length) = class_at(text, white.end);
            if !class.is(Class::WHITE) {
                return white;
            }
            white.last = white.end;
            white.end += length;
            if text[white.last] == b' ' {
                white.end = ascii::spaces(text, white.end);
                white.last = white.end - 1;
            }
            if class.is(Class::NEWLINE) {
                white.newline = Some(white.end);
            }
        }
    }

    /// The end of `\s*[\r\n]+|\s+(?!\S)|\s+` from `start` on.
    ///
    /// A run with a line end goes up to the last one. A run without one, before other text, leaves
    /// its last character to the next piece, unless that is its only character.
    #[inline(always)]
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        match self.newline {
            Some(newline) => newline,
            None if self.end == text.len() || self.last == start => self.end,
            None => self.last,
        }
    }
}
