//! Splits text into the pieces that `o200k_base` encodes separately.

use super::ascii::Letters;
use super::{White, contraction, numbers, punctuation};
use crate::native::class::{Class, class_at, run_end};

/// In this expression, U means `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and L means
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`:
///
/// ```text
/// [^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// [^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// \p{N}{1,3}
///  ?[^\s\p{L}\p{N}]+[\r\n/]*
/// \s*[\r\n]+
/// \s+(?!\S)
/// \s+
/// ```
#[inline(always)]
pub(crate) fn o200k(text: &[u8], start: usize) -> usize {
    let (class, length) = class_at(text, start);
    if class.is(Class::LETTER) {
        return Word::at(text, start).piece_end(text);
    }
    if class.is(Class::NUMBER) {
        return numbers(text, start, length);
    }
    if !class.is(Class::NEWLINE) {
        let after = start + length;
        if class.is(Class::MARK) {
            return marked(text, start, Word::at(text, after));
        }
        // In a piece, one other character may precede a word, and a space may precede punctuation.
        let (next, _) = class_at(text, after);
        if next.is(WORDLIKE) {
            return Word::at(text, after).piece_end(text);
        }
        if class.is(Class::OTHER) || text[start] == b' ' && next.is(Class::OTHER) {
            return punctuation(text, after, b"\r\n/");
        }
    }
    White::at(text, start).piece_end(text, start)
}

/// The end of a piece that begins with a mark followed by `word`.
///
/// The mark may precede the word or be part of it, because marks are in both U and L. The first
/// alternative is tried first with the mark before the word, and then with the mark as a part of
/// the word. The second alternative is never needed, because the mark alone matches L+.
#[cold]
fn marked(text: &[u8], start: usize, word: Word) -> usize {
    if word.kind == WordKind::EndsLow {
        word.piece_end(text)
    } else {
        Word::at(text, start).piece_end(text)
    }
}

/// The letters and marks in a word: where they end, and which alternative they match.
#[derive(Clone, Copy)]
struct Word {
    end: usize,
    kind: WordKind,
}

/// The alternative in the expression that a word matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// There is no word at the position.
    None,
    /// The first alternative: U*L+.
    EndsLow,
    /// The second alternative: U+L*. The first alternative does not match, so the whole word is in
    /// upper case.
    AllUpper,
}

const UPPERLIKE: Class = Class::UPPER.or(Class::BOTH).or(Class::MARK);
const LOWERLIKE: Class = Class::LOWER.or(Class::BOTH).or(Class::MARK);
const WORDLIKE: Class = UPPERLIKE.or(LOWERLIKE);

impl Word {
    #[inline(always)]
    fn at(text: &[u8], start: usize) -> Self {
        let Letters { upper, end, next } = Letters::at(text, start);
        if !next.is_ascii() {
            return Self::of_any_letters(text, start);
        }
        let kind = if end > upper {
            WordKind::EndsLow
        } else if upper > start {
            WordKind::AllUpper
        } else {
            WordKind::None
        };
        Self { end, kind }
    }

    /// U matches as many characters as possible. If a lowercase letter follows, L+ matches it and
    /// as many characters as possible after it. If no lowercase letter follows, U has to give back
    /// characters until one of them is in L; the word ends after that character, because only
    /// uppercase letters follow. If no character in U is also in L, the whole word is in upper
    /// case.
    fn of_any_letters(text: &[u8], start: usize) -> Self {
        let mut end = start;
        let mut last_of_both = None;
        loop {
            let (class, length) = class_at(text, end);
            if class.is(Class::LOWER) {
                let end = run_end(text, end, LOWERLIKE);
                let kind = WordKind::EndsLow;
                return Self { end, kind };
            }
            if !class.is(UPPERLIKE) {
                break;
            }
            end += length;
            if class.is(LOWERLIKE) {
                last_of_both = Some(end);
            }
        }
        let kind = match last_of_both {
            Some(_) => WordKind::EndsLow,
            None if end > start => WordKind::AllUpper,
            None => WordKind::None,
        };
        let end = last_of_both.unwrap_or(end);
        Self { end, kind }
    }

    /// The end of the word, including a contraction if one follows.
    #[inline(always)]
    fn piece_end(&self, text: &[u8]) -> usize {
        contraction(text, self.end).unwrap_or(self.end)
    }
}
