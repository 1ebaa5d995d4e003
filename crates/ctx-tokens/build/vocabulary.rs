//! The tokens of a vocabulary, and how each is merged.

use std::collections::HashMap;

use tiktoken_rs::CoreBPE;

use crate::layout::{Layout, Parts, SINGLE_BYTES};

pub(crate) struct Vocabulary {
    /// The bytes of each token; its place is its rank.
    pub(crate) tokens: Vec<Vec<u8>>,
    pub(crate) layout: Layout,
}

impl Vocabulary {
    pub(crate) fn of(engine: &CoreBPE, layout: Layout) -> Self {
        // Control tokens come after a gap, so that the first missing rank ends the list.
        let tokens: Vec<Vec<u8>> = (0..)
            .map_while(|rank| engine.decode_bytes(&[rank]).ok())
            .collect();
        assert!(tokens.len() > 100_000 && tokens.len() < 1 << layout.bits);
        for (rank, token) in (0..).zip(&tokens) {
            assert_eq!(token.len() == 1, rank < SINGLE_BYTES, "rank {rank}");
            assert!(token.len() <= 128, "rank {rank} is too long for its entry");
        }
        Self { tokens, layout }
    }

    /// Where the bytes of each token begin in the bytes of all; one more number ends the last.
    pub(crate) fn starts(&self) -> Vec<u32> {
        let mut starts = vec![0];
        let mut end = 0;
        for token in &self.tokens {
            end += u32::try_from(token.len()).unwrap();
            starts.push(end);
        }
        starts
    }

    /// What the merge has to know of each token.
    pub(crate) fn parts(&self, splits: &[(u32, u32)]) -> Vec<u64> {
        let ranks = self.ranks();
        let shorter = |token: &[u8]| {
            (1..token.len())
                .rev()
                .find_map(|end| ranks.get(&token[..end]))
        };
        (0..)
            .zip(self.tokens.iter().zip(splits))
            .map(|(rank, (token, &(left, right)))| {
                let shorter = shorter(token).copied().unwrap_or(rank);
                Parts::new(left, right, shorter, token.len()).0
            })
            .collect()
    }

    fn ranks(&self) -> HashMap<&[u8], u32> {
        self.tokens.iter().map(Vec::as_slice).zip(0..).collect()
    }

    /// The two tokens whose merge makes each token; a single byte is its own.
    ///
    /// That there are two says also that every token is what its bytes are
    /// encoded to, on which the engine's merge relies.
    pub(crate) fn splits(&self) -> Vec<(u32, u32)> {
        let ranks = self.ranks();
        (0..)
            .zip(&self.tokens)
            .map(|(rank, token)| {
                if rank < SINGLE_BYTES {
                    return (rank, rank);
                }
                let cut = last_cut(token, rank, &ranks);
                (ranks[&token[..cut]], ranks[&token[cut..]])
            })
            .collect()
    }
}

/// Merges the bytes of a token as the encoding does, by pairs of lower rank, and
/// returns where the two parts that are left meet.
fn last_cut(token: &[u8], rank: u32, ranks: &HashMap<&[u8], u32>) -> usize {
    let mut borders: Vec<usize> = (0..=token.len()).collect();
    while borders.len() > 3 {
        let lowest = (0..borders.len() - 2)
            .filter_map(|at| Some((*ranks.get(&token[borders[at]..borders[at + 2]])?, at)))
            .min();
        let (merged, at) = lowest.expect("a token is made of tokens");
        assert!(merged < rank, "rank {rank} cannot be reached by merging");
        borders.remove(at + 1);
    }
    borders[1]
}
