//! The scale of tokens of a chart.

/// No scale goes further.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// Round steps from nothing up to its upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// What is between two lines.
    pub(super) step: u64,
    /// How many steps there are.
    pub(super) steps: u64,
}

impl Scale {
    /// At most five steps up to `most`, each a round number. Of what no context ever has, as a
    /// file may claim, it is not of all.
    pub(super) fn up_to(most: u64) -> Self {
        let most = most.min(MOST_TOKENS);
        let mut unit = 1;
        loop {
            for step in [unit, 2 * unit, 5 * unit] {
                let steps = most.div_ceil(step).max(1);
                if steps <= 5 {
                    return Self { step, steps };
                }
            }
            unit *= 10;
        }
    }

    /// The tokens at its upper end.
    pub(super) fn top(self) -> u64 {
        self.step * self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    /// 16: the scale has round steps, holds all, and wastes little.
    #[test]
    fn the_scale_has_round_steps() {
        for (most, step, steps) in [
            (0, 1, 1),
            (4, 1, 4),
            (7, 2, 4),
            (11, 5, 3),
            (30_282, 10_000, 4),
            (128_000, 50_000, 3),
            (200_000, 50_000, 4),
        ] {
            assert_eq!(Scale::up_to(most), Scale { step, steps }, "{most}");
        }
        assert_eq!(Scale::up_to(u64::MAX).top(), super::MOST_TOKENS);
        for most in 1..2_000 {
            let top = Scale::up_to(most).top();
            assert!(top >= most && top <= most * 2, "{most}");
        }
    }
}
