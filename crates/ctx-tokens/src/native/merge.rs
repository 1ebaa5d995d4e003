//! Encodes the bytes of a piece as tokens.
//!
//! The encoding is defined by merges: of all adjacent tokens that form another token, the two that
//! form the token with the lowest rank are merged. If there are several such pairs, the leftmost
//! pair is merged. Merging is repeated until no such pair is left. The result can be found without
//! merging (Hendrik van Antwerpen and Alexander Neubeck, "So many tokens, so little time",
//! github.blog, 2024):
//!
//! - A sequence of tokens is the encoding of its bytes if and only if any two adjacent tokens are
//!   the encoding of their own bytes.
//! - The tokens are therefore found from left to right. At each position, the longest token that
//!   fits is tried first, then shorter ones. If none of these tokens is compatible with the
//!   previous token, the position cannot be a border, and the previous token is replaced by a
//!   shorter one.
//! - A position that failed is remembered and not tried again, so the time is linear in the length
//!   of the piece.

use super::layout::SINGLE_BYTES;
use super::vocabulary::{Token, Vocabulary};

/// Encodes pieces one after another, and reuses its buffers.
pub(crate) struct Merger {
    vocabulary: &'static Vocabulary,
    tokens: Vec<u32>,
    /// One bit for each position in the piece. A bit is set if there cannot be a border at that
    /// position.
    failed: Vec<u64>,
}

impl Merger {
    pub(crate) const fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, tokens: Vec::new(), failed: Vec::new() }
    }

    /// Encodes a piece, which must not be empty.
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
                let rank = self.tokens.pop().expect("the first token always fits");
                token = Token { rank, length: self.vocabulary.length(rank) };
                at -= token.length;
            }
        }
    }

    /// Returns true if `token` can follow the tokens found so far, which end at `at`.
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
}

/// Returns true if the tokens `left` and `right` are the encoding of their bytes, that is, if no
/// merge crosses the border between them.
///
/// The merges that formed the two tokens are undone, latest first. Each step yields the tokens that
/// were next to the border before that merge. If these tokens form a token with a lower rank than
/// the merge just undone, the encoding would have merged them.
fn are_neighbours(vocabulary: &Vocabulary, mut left: u32, mut right: u32) -> bool {
    // Only a merge with a rank below the limit is early enough to cross the border.
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
            // Of two merges with the same rank, the left one comes first; here, it is the merge
            // across the border.
            limit = right + 1;
            right = vocabulary.parts(right).left();
        }
    }
}
