//! A segment that may be chosen.

use std::cmp::Reverse;

/// A segment and its worth for its length; of equals the earlier one is greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// The bits of a number that is not negative: their order is the number's.
    gain: u64,
    pub(super) number: Reverse<usize>,
    pub(super) tokens: u64,
}

impl Candidate {
    pub(super) fn new(gain: f64, number: usize, tokens: u64) -> Self {
        Self {
            gain: gain.max(0.0).to_bits(),
            number: Reverse(number),
            tokens,
        }
    }
}
