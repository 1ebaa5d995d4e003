//! Learns the API's tokens per token of ours from what single requests added.

use std::collections::VecDeque;

/// From how many of the latest requests.
const WINDOW: usize = 64;

/// The factor that is taken at first counts as much as so many tokens of ours.
const WEIGHT: f64 = 6_000.0;

/// What a request adds without recording it, at first, with the weight of this many requests.
const EXTRA: f64 = 40.0;
const EXTRA_WEIGHT: usize = 3;

/// Impossible factors are outside this range.
const FACTORS: (f64, f64) = (0.5, 3.0);

/// How often the two are fitted to each other.
const ROUNDS: usize = 3;

/// The formula may be off by this, and by this share of what is added, times a number.
const OFF: f64 = 80.0;
const OFF_SHARE: f64 = 0.1;

/// That number at first, as of one request, and at least; and the share of the requests in which
/// it has to be enough.
const TIMES: f64 = 3.0;
const LEAST_TIMES: f64 = 1.0;
const ENOUGH: f64 = 0.97;

/// What requests have added, and the fit.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// The factor before anything is learned.
    prior: f64,
    /// Our count, and the API's.
    steps: VecDeque<(f64, f64)>,
    /// How far the formula was off, as that number.
    misses: VecDeque<f64>,
    factor: f64,
    extra: f64,
    times: f64,
}

impl Fit {
    pub(super) fn new(prior: f64) -> Self {
        Self {
            prior,
            steps: VecDeque::with_capacity(WINDOW),
            misses: VecDeque::with_capacity(WINDOW),
            factor: prior,
            extra: EXTRA,
            times: TIMES,
        }
    }

    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// The API's tokens for messages of this size by our count.
    pub(super) fn step(&self, counted: f64) -> f64 {
        self.factor * counted + self.extra
    }

    /// How far that may be off.
    pub(super) fn off(&self, counted: f64) -> f64 {
        self.times * scale(counted)
    }

    /// A request has added `said`.
    pub(super) fn learn(&mut self, counted: f64, said: f64) {
        let miss = (said - self.step(counted)).abs() / scale(counted);
        push(&mut self.misses, miss);
        push(&mut self.steps, (counted, said));
        self.fit();
        let misses = self.misses.iter().copied().chain([TIMES]);
        self.times = quantile(misses.collect(), ENOUGH).max(LEAST_TIMES);
    }

    fn fit(&mut self) {
        self.extra = EXTRA;
        for _ in 0..ROUNDS {
            let grown = self.steps.iter().filter(|(counted, _)| *counted > 0.0);
            let ratios = grown.map(|(counted, said)| ((said - self.extra) / counted, *counted));
            let ratios = ratios.chain([(self.prior, WEIGHT)]).collect();
            self.factor = weighted_median(ratios).clamp(FACTORS.0, FACTORS.1);
            let rests = self.steps.iter();
            let rests = rests.map(|(counted, said)| said - self.factor * counted);
            let prior = std::iter::repeat_n(EXTRA, EXTRA_WEIGHT);
            self.extra = quantile(rests.chain(prior).collect(), 0.5);
        }
    }
}

fn scale(counted: f64) -> f64 {
    OFF + OFF_SHARE * counted.max(0.0)
}

fn push<T>(latest: &mut VecDeque<T>, item: T) {
    if latest.len() == WINDOW {
        latest.pop_front();
    }
    latest.push_back(item);
}

/// The value that this share of `values` is not above; there is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A place in a short list.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share) as usize;
    values[place.min(values.len() - 1)]
}

/// The value with half of the weight before it; there is one.
fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half: f64 = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut before = 0.0;
    let found = values.iter().find(|(_, weight)| {
        before += weight;
        before >= half
    });
    found.or(values.last()).map_or(1.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::{EXTRA, Fit, quantile, weighted_median};

    #[test]
    fn medians_are_values_of_the_list() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5).to_bits(), 2f64.to_bits());
        assert_eq!(quantile(vec![7.0], 0.97).to_bits(), 7f64.to_bits());
        let weighted = vec![(1.0, 1.0), (5.0, 10.0), (9.0, 2.0)];
        assert_eq!(weighted_median(weighted).to_bits(), 5f64.to_bits());
    }

    #[test]
    fn a_factor_and_what_is_not_recorded_are_found() {
        let mut fit = Fit::new(1.2);
        assert_eq!(fit.step(0.0).to_bits(), EXTRA.to_bits());
        for step in 1_u8..=60 {
            let counted = 100.0 * f64::from(step % 17 + 1);
            fit.learn(counted, 1.4 * counted + 90.0);
        }
        assert!((fit.factor() - 1.4).abs() < 0.06, "{}", fit.factor());
        for counted in [100.0, 900.0, 1_700.0] {
            let said = 1.4 * counted + 90.0;
            let off = fit.step(counted) - said;
            assert!(off.abs() < 20.0 + said / 25.0, "{counted}: {off}");
        }
        assert!(fit.off(0.0) < 150.0, "{}", fit.off(0.0));
    }

    #[test]
    fn one_odd_request_moves_nothing_but_the_range() {
        let learn = |odd: bool| {
            let mut fit = Fit::new(1.2);
            for step in 0..50 {
                let said = if odd && step == 30 { -20_000.0 } else { 640.0 };
                fit.learn(500.0, said);
            }
            fit
        };
        let (calm, odd) = (learn(false), learn(true));
        assert!((calm.step(500.0) - odd.step(500.0)).abs() < 10.0);
        assert!(odd.off(500.0) >= calm.off(500.0));
    }

    #[test]
    fn numbers_that_cannot_be_are_survived() {
        let mut fit = Fit::new(1.2);
        for (counted, said) in [(0.0, 0.0), (-5.0, 1e18), (1e18, -1e18), (0.0, -1e18)] {
            fit.learn(counted, said);
            assert!(fit.step(1.0).is_finite() && fit.off(1.0).is_finite());
        }
    }
}
