//! A segment that may be chosen.

use std::cmp::Reverse;

/// Longer segments are somewhat better than many short ones: they read better.
const LENGTH_POWER: f64 = 0.8;

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
        Self { gain: gain.max(0.0).to_bits(), number: Reverse(number), tokens }
    }

    /// A candidate with this total worth.
    pub(super) fn for_length(worth: f64, number: usize, tokens: u64) -> Self {
        #[allow(clippy::cast_precision_loss)] // A segment has few tokens.
        let gain = worth / (tokens as f64).powf(LENGTH_POWER);
        Self::new(gain, number, tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::Candidate;

    #[test]
    fn of_equals_the_earlier_one_is_greater() {
        let candidate = |gain, number| Candidate::new(gain, number, 1);
        assert!(candidate(0.2, 5) > candidate(0.1, 1));
        assert!(candidate(0.1, 1) > candidate(0.1, 2));
        assert!(candidate(0.1, 1) == candidate(0.1, 1));
    }
}
