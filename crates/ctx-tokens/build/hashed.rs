//! The hash tables: short tokens, long tokens, pairs.
//!
//! A key that finds its home taken lies in one of the places after it. Keys are
//! stored in the order of their homes, which keeps the longest way short.

use crate::layout::{
    DISPLACEMENTS, Hashed, NO_SHORT, SHORT, SINGLE_BYTES, long_entry, one_byte, short_key,
    two_bytes,
};
use crate::vocabulary::Vocabulary;

/// Rank of each token of at most [`SHORT`] bytes.
pub(crate) fn short(vocabulary: &Vocabulary) -> Vec<u64> {
    let layout = vocabulary.layout;
    let hashed = ranked(vocabulary)
        .filter(|(_, token)| token.len() <= SHORT)
        .map(|(rank, token)| {
            let mut bytes = [0; 8];
            bytes[..token.len()].copy_from_slice(token);
            let key = short_key(u64::from_le_bytes(bytes), token.len());
            (layout.short(key), rank)
        });
    table(
        layout.short_places(),
        NO_SHORT,
        hashed.collect(),
        |tag, step, rank| layout.short_entry(tag, step, rank),
    )
}

/// Rank and bytes of each longer token.
pub(crate) fn long(vocabulary: &Vocabulary) -> Vec<u64> {
    let layout = vocabulary.layout;
    let starts = vocabulary.starts();
    assert!(starts[vocabulary.tokens.len()] < 1 << 21 && vocabulary.tokens.len() < 1 << 18);
    let hashed = ranked(vocabulary)
        .filter(|(_, token)| token.len() > SHORT)
        .map(|(rank, token)| {
            let first = u64::from_le_bytes(*token.first_chunk().unwrap());
            let last = u64::from_le_bytes(*token.last_chunk().unwrap());
            (layout.long(first, last, token.len()), rank)
        });
    table(layout.long_places(), 0, hashed.collect(), |tag, _, rank| {
        let length = vocabulary.tokens[rank as usize].len() as u64;
        long_entry(tag, length, u64::from(starts[rank as usize]), rank)
    })
}

/// Rank of each token by the two tokens it is merged from.
pub(crate) fn pairs(vocabulary: &Vocabulary, splits: &[(u32, u32)]) -> Vec<u32> {
    let layout = vocabulary.layout;
    let hashed = ranked(vocabulary)
        .skip(SINGLE_BYTES as usize)
        .map(|(rank, _)| {
            let (left, right) = splits[rank as usize];
            (layout.pair(left, right), rank)
        });
    table(layout.pair_places(), 0, hashed.collect(), |tag, _, rank| {
        layout.pair_entry(tag, rank)
    })
}

/// A filter: a bit for each pair of tokens that are merged, which lies much closer
/// to the processor than the table of pairs.
pub(crate) fn pair_filter(vocabulary: &Vocabulary, splits: &[(u32, u32)]) -> Vec<u8> {
    let mut filter = vec![0; vocabulary.layout.filter_bytes()];
    for (left, right) in &splits[SINGLE_BYTES as usize..] {
        let bit = vocabulary.layout.pair_bit(*left, *right);
        filter[bit / 8] |= 1 << (bit % 8);
    }
    filter
}

/// A filter: a bit for what stands around the border at which two tokens are merged.
pub(crate) fn borders(vocabulary: &Vocabulary, splits: &[(u32, u32)]) -> Vec<u8> {
    let layout = vocabulary.layout;
    let mut filter = vec![0; layout.filter_bytes()];
    for (left, right) in &splits[SINGLE_BYTES as usize..] {
        let before = match *vocabulary.tokens[*left as usize].as_slice() {
            [.., first, second] => two_bytes(first, second),
            [byte] => one_byte(byte),
            [] => unreachable!("no token is empty"),
        };
        let after = match *vocabulary.tokens[*right as usize].as_slice() {
            [first, second, ..] => two_bytes(first, second),
            [byte] => one_byte(byte),
            [] => unreachable!("no token is empty"),
        };
        let bit = layout.border(before, after);
        filter[bit / 8] |= 1 << (bit % 8);
    }
    filter
}

fn ranked(vocabulary: &Vocabulary) -> impl Iterator<Item = (u32, &[u8])> {
    (0..).zip(vocabulary.tokens.iter().map(Vec::as_slice))
}

/// A table with an entry for each of `hashed`, made of its tag, of how far it
/// lies from its home, and of its rank.
///
/// It has [`DISPLACEMENTS`] more places than homes, so that no search has to go
/// round, and the last is empty, so that each search ends.
fn table<T: Copy + PartialEq>(
    homes: usize,
    empty: T,
    mut hashed: Vec<(Hashed, u32)>,
    entry: impl Fn(u64, u64, u32) -> T,
) -> Vec<T> {
    hashed.sort_by_key(|(hashed, rank)| (hashed.home, *rank));
    let mut table = vec![empty; homes + DISPLACEMENTS];
    let mut free = 0;
    for (Hashed { home, tag }, rank) in hashed {
        let place = home.max(free);
        let step = place - home;
        assert!(
            step < DISPLACEMENTS - 1,
            "the hash puts too many keys into one place"
        );
        table[place] = entry(tag, step as u64, rank);
        assert!(table[place] != empty);
        free = place + 1;
    }
    table
}
