//! The tokens of a vocabulary, and the merges that produce them.

use std::collections::HashMap;

use tiktoken_rs::CoreBPE;

use crate::layout::{LONGEST, NO_TOKEN, Parts, SINGLE_BYTES};

pub(crate) struct Vocabulary {
    /// The bytes of each token, by rank. The entry for a control token is empty.
    pub(crate) tokens: Vec<Vec<u8>>,
    /// For each multi-byte token, the merge that produces it.
    pub(crate) merges: Vec<Merge>,
}

/// The last step by which the encoding produces a token: the merge of two other tokens.
#[derive(Clone, Copy)]
pub(crate) struct Merge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) token: u32,
}

impl Vocabulary {
    pub(crate) fn of(engine: &CoreBPE) -> Self {
        let controls = engine.special_tokens();
        let is_control = |token: &[u8]| controls.iter().any(|name| name.as_bytes() == token);
        // The tokens end at the first missing rank. p50k has a control token before that rank.
        let tokens: Vec<Vec<u8>> = (0..)
            .map_while(|rank| engine.decode_bytes(&[rank]).ok())
            .map(|token| if is_control(&token) { Vec::new() } else { token })
            .collect();
        assert!(tokens.len() > 50_000 && tokens.len() < NO_TOKEN as usize);
        for (rank, token) in (0..).zip(&tokens) {
            assert_eq!(token.len() == 1, rank < SINGLE_BYTES, "rank {rank}");
            assert!(token.len() <= LONGEST, "rank {rank} fits");
        }
        let merges = merges(&tokens);
        Self { tokens, merges }
    }

    /// Returns the [`Parts`] of each token, by rank.
    pub(crate) fn parts(&self) -> Vec<u64> {
        let ranks = ranks(&self.tokens);
        let single = |token: &Vec<u8>| {
            let byte = token.first().copied().unwrap_or_default();
            Parts::new(byte.into(), NO_TOKEN, NO_TOKEN, token.len()).0
        };
        let mut parts: Vec<u64> = self.tokens.iter().map(single).collect();
        for merge in &self.merges {
            let token = self.tokens[merge.token as usize].as_slice();
            let shorter = (1..token.len()).rev().find_map(|end| ranks.get(&token[..end]));
            let shorter = *shorter.expect("each single byte is a token");
            parts[merge.token as usize] =
                Parts::new(merge.left, merge.right, shorter, token.len()).0;
        }
        parts
    }
}

fn ranks(tokens: &[Vec<u8>]) -> HashMap<&[u8], u32> {
    tokens.iter().map(Vec::as_slice).zip(0..).collect()
}

/// For each token of several bytes, finds the two tokens that are merged into it.
///
/// The search fails unless it finds two such tokens for each token. If the search succeeds, the
/// bytes of every token are encoded as that token; the engine relies on this property.
fn merges(tokens: &[Vec<u8>]) -> Vec<Merge> {
    let ranks = ranks(tokens);
    (0..)
        .zip(tokens)
        .filter(|(_, bytes)| bytes.len() > 1)
        .map(|(token, bytes)| {
            let (left, right) = bytes.split_at(last_cut(bytes, token, &ranks));
            Merge { left: ranks[left], right: ranks[right], token }
        })
        .collect()
}

/// Merges the bytes of a token as the encoding does, always choosing the pair with the lowest rank,
/// and returns the position between the last two parts.
fn last_cut(token: &[u8], rank: u32, ranks: &HashMap<&[u8], u32>) -> usize {
    let mut borders: Vec<usize> = (0..=token.len()).collect();
    while borders.len() > 3 {
        let lowest = (0..borders.len() - 2)
            .filter_map(|at| Some((*ranks.get(&token[borders[at]..borders[at + 2]])?, at)))
            .min();
        let (merged, at) = lowest.expect("some pair of parts is a token");
        assert!(merged < rank, "rank {rank} can be reached by merging");
        borders.remove(at + 1);
    }
    borders[1]
}
