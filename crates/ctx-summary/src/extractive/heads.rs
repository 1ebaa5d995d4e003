//! The heads of segments: a heading, or the call of a result.

use crate::ledger::{Index, Segment};
use ctx_tokens::TokenCounter;

use super::greedy::PER_LINE;

/// A segment, then what it stands under, up to the top.
pub(super) fn chain(segments: &[Segment], number: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(number), |at| segments[*at].head)
}

/// The tokens of the lines of some segments and of what they stand under; 0 for all others.
pub(super) fn tokens(index: &Index, candidates: &[bool], counter: &dyn TokenCounter) -> Vec<u64> {
    let segments = index.segments();
    let mut needed = candidates.to_vec();
    // The head of a segment precedes it.
    for (number, segment) in segments.iter().enumerate().rev() {
        if let (true, Some(head)) = (needed[number], segment.head) {
            needed[head] = true;
        }
    }
    let count = |(segment, needed): (&Segment, &bool)| {
        if *needed { counter.count(index.text(segment)) + PER_LINE } else { 0 }
    };
    segments.iter().zip(&needed).map(count).collect()
}
