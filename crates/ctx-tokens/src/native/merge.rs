//! Encodes the bytes of a piece as tokens.
//!
//! The encoding is defined by merging: of all neighbours that form a token, the pair of the lowest
//! rank is merged, the leftmost first, until no pair is left. The result can be found without
//! merging (Hendrik van Antwerpen and Alexander Neubeck, "So many tokens, so little time",
//! github.blog, 2024):
//!
//! - A sequence of tokens is the encoding of its bytes if and only if each two neighbours, taken
//!   alone, are the encoding of theirs.
//! - So the tokens are found from left to right. At each position the longest token that fits is
//!   tried, then shorter ones. If none is compatible with the token before, that position cannot be
//!   a border, and a shorter token replaces the one before.
//! - A position that failed once is remembered, so none is tried twice: the time is linear in the
//!   length of the piece.

use super::layout::SINGLE_BYTES;
use super::vocabulary::{Token, Vocabulary};

/// Encodes pieces. It reuses its memory for the next piece.
pub(crate) struct Merger {
    vocabulary: &'static Vocabulary,
    tokens: Vec<u32>,
    /// A bit for each position of the piece at which no border can be.
    failed: Vec<u64>,
}

impl Merger {
    pub(crate) const fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, tokens: Vec::new(), failed: Vec::new() }
    }

    /// The tokens of a piece, which must not be empty.
    pub(crate) fn encode(&mut self, piece: &[u8]) -> &[u32] {
        self.tokens.clear();
        let mut token = self.vocabulary.longest(piece);
        if token.length == piece.len() {
            self.tokens.push(token.rank);
            return &self.tokens;
        }
        self.failed.clear();
        self.failed.resize(piece.len() / 64 + 1, 0);
        let mut at = 0;
        loop {
            if self.fits(piece, at, token) {
                self.tokens.push(token.rank);
                at += token.length;
                if at == piece.len() {
                    return &self.tokens;
                }
                token = self.vocabulary.longest(&piece[at..]);
            } else if token.length > 1 {
                token = self.vocabulary.shorter(token);
            } else {
                self.failed[at / 64] |= 1 << (at % 64);
                token = self.step_back();
                at -= token.length;
            }
        }
    }

    /// Returns true if `token` can follow the tokens so far, which end at `at`.
    fn fits(&self, piece: &[u8], at: usize, token: Token) -> bool {
        let end = at + token.length;
        if self.failed[end / 64] & 1 << (end % 64) != 0 {
            return false;
        }
        let Some(&before) = self.tokens.last() else { return true };
        let length = if before < SINGLE_BYTES { 1 } else { 2 };
        !self.vocabulary.may_merge(&piece[at - length..at], &piece[at..end])
            || are_neighbours(self.vocabulary, before, token.rank)
    }

    /// Removes the last token. The position at its end failed, so a shorter token is tried next.
    fn step_back(&mut self) -> Token {
        let rank = self.tokens.pop().expect("the first token always fits");
        Token { rank, length: self.vocabulary.length(rank) }
    }
}

/// Returns true if `left` and `right` are the encoding of their joined bytes, that is, if no merge
/// crosses the border between them.
///
/// The merges that make the two are undone, the latest first, which restores the tokens at the
/// border at that time. If these two form a token of a lower rank than the last undone merge, the
/// encoding would have merged them.
fn are_neighbours(vocabulary: &Vocabulary, mut left: u32, mut right: u32) -> bool {
    // Merges of this rank and above came too late to cross the border.
    let mut limit = vocabulary.ranks;
    loop {
        if vocabulary.merge_below(limit, left, right) {
            return false;
        }
        if left > right {
            if left < SINGLE_BYTES {
                return true;
            }
            limit = left;
            left = vocabulary.parts(left).right();
        } else {
            if right < SINGLE_BYTES {
                return true;
            }
            // Of two merges of the same rank, the left one comes first: here, the one across the
            // border.
            limit = right + 1;
            right = vocabulary.parts(right).left();
        }
    }
}
