//! Filters that tell whether a merge may cross a border between two tokens, judging by the bytes on
//! both sides. The filters are much smaller than the tables of tokens and pairs, so they stay in
//! the processor's cache.

use crate::layout::{border_bit, byte_bit, one_byte, two_bytes};
use crate::vocabulary::Vocabulary;

/// Returns a bit for each pair of bytes. A bit is set if its two bytes are merged into a token.
pub(crate) fn of_single_bytes(vocabulary: &Vocabulary) -> Vec<u8> {
    let mut bits = vec![0; (1 << 16) / 8];
    for (left, right) in merged(vocabulary) {
        if let ([left], [right]) = (left, right) {
            set(&mut bits, byte_bit(*left, *right));
        }
    }
    bits
}

/// Returns a filter for all merges except merges of two single bytes.
pub(crate) fn filter(vocabulary: &Vocabulary) -> Vec<u8> {
    // The filter has at least eight bits for each merge.
    let mut filter = vec![0; vocabulary.tokens.len().next_power_of_two()];
    for (left, right) in merged(vocabulary) {
        if left.len() + right.len() > 2 {
            let before = left.last_chunk().map(|two| two_bytes(*two));
            let after = right.first_chunk().map(|two| two_bytes(*two));
            let bit = border_bit(
                before.unwrap_or_else(|| one_byte(left[0])),
                after.unwrap_or_else(|| one_byte(right[0])),
                filter.len(),
            );
            set(&mut filter, bit);
        }
    }
    filter
}

/// For each merge, returns the bytes of the two tokens that are merged.
fn merged(vocabulary: &Vocabulary) -> impl Iterator<Item = (&[u8], &[u8])> {
    let bytes = |rank: u32| vocabulary.tokens[rank as usize].as_slice();
    let merges = vocabulary.merges.iter();
    merges.map(move |merge| (bytes(merge.left), bytes(merge.right)))
}

fn set(bits: &mut [u8], bit: usize) {
    bits[bit / 8] |= 1 << (bit % 8);
}
