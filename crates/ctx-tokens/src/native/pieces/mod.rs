//! Splits text into pieces, each of which is encoded separately.
//!
//! OpenAI defines the pieces with a regular expression whose matches follow each other without
//! gaps. The engine implements each expression as a function that returns the end of the piece that
//! begins at a given position. As in the expression, the alternatives are tried in order, and each
//! alternative matches as much as it can. This module contains the code that several of these
//! expressions share.
//!
//! The text must be valid UTF-8, and the position must be the start of a character.

mod ascii;
mod cl100k;
mod gpt2;
mod o200k;

pub(crate) use cl100k::cl100k;
pub(crate) use gpt2::gpt2;
pub(crate) use o200k::o200k;

use super::class::{Class, class_at, run_end};

/// The end of a match of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`; `None` if the expression does not
/// match there.
///
/// Case is folded as in Unicode, so `ſ` (U+017F) counts as an `s`.
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

/// The end of a match of `\p{L}*` at `start`.
#[inline(always)]
fn letters(text: &[u8], start: usize) -> usize {
    let end = ascii::letters(text, start);
    if text.get(end).is_some_and(|byte| !byte.is_ascii()) {
        return run_end(text, end, Class::LETTER);
    }
    end
}

/// The end of a match of `\p{N}{1,3}` at `start`. The first character has `length` bytes.
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

/// The end of a match of `[^\s\p{L}\p{N}]*` at `at`, including all bytes from `tail` that follow
/// the match.
#[inline(always)]
fn punctuation(text: &[u8], at: usize, tail: &[u8]) -> usize {
    let mut end = run_end(text, at, Class::PUNCTUATION);
    while text.get(end).is_some_and(|byte| tail.contains(byte)) {
        end += 1;
    }
    end
}

/// A run of whitespace.
struct White {
    /// The end of the run.
    end: usize,
    /// The position of the last character in the run.
    last: usize,
    /// The position after the last `\r` or `\n` in the run; `None` if the run has no line ending.
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

    /// The end of a match of `\s*[\r\n]+|\s+(?!\S)|\s+` from `start` on.
    ///
    /// If the run contains a line ending, the match extends to the last line ending. Otherwise, if
    /// other text follows, the last character of the run belongs to the next piece, unless the run
    /// has only one character.
    #[inline(always)]
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        match self.newline {
            Some(newline) => newline,
            None if self.end == text.len() || self.last == start => self.end,
            None => self.last,
        }
    }
}
