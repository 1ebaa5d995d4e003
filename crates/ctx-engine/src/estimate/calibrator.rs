//! Compares our count of a context with the API's count.
//!
//! We count the messages of a request. The API counts the whole request, including the system
//! prompt and the tools, in the model's own encoding. The system prompt and the tools do not change
//! from one reply to the next, so the factor between the two counts follows from how much each
//! count grows:
//!
//! `prompt = earlier prompt + factor × (counted - counted then) + extra`
//!
//! Here, `extra` counts the tokens that the agent adds to each request without recording them.
//! `factor` and `extra` are medians over the latest replies, so they are not affected by a single
//! unusual reply. The width of an estimate's range follows from the formula's errors for the latest
//! replies. Each reply is compared with its estimate before the calibrator learns from the reply.
//!
//! If a tool has pruned the session, the file no longer contains what was sent, so the factor
//! cannot be learned from it. The tool may also have corrected the recorded size of the last
//! request ([`Calibrator::without`]). A drop in the recorded size reveals that a tool has corrected
//! it.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use ctx_text::bisected;
use ctx_tokens::{Encoding, Model};
use serde::Serialize;

use crate::prune::saturating_usize;

/// An estimate of how many tokens the API counts for a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// The lower bound on the number of tokens.
    pub low: u64,
    /// The likely number of tokens.
    pub tokens: u64,
    /// The upper bound on the number of tokens.
    pub high: u64,
}

/// The two counts of a request that the calibrator compares.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The number of tokens in the request's messages, as we count them.
    pub counted: u64,
    /// The number of tokens in the whole request, as the API counts them.
    pub prompt: u64,
    /// The model that the request was sent to.
    pub model: Option<&'a str>,
    /// Whether everything that was added since the last request is still in the file exactly as it
    /// was sent.
    pub as_sent: bool,
}

/// Learns from the requests of a session, in the order in which they were sent.
#[derive(Clone, Debug)]
pub struct Calibrator {
    encoding: Encoding,
    /// The model of the last request.
    pub model: Option<String>,
    pub(super) fit: Fit,
    /// The last request, unless a compaction followed it.
    last: Option<Point>,
    /// The possible error in the size of the last request, given that this size may be a tool's
    /// correction rather than the API's count.
    doubt: f64,
    /// The smallest plausible number of non-message tokens in any initial request. Initial requests
    /// are the first request in the file and the first after each compaction.
    base: Option<f64>,
    /// Whether there has been an initial request: the first in the file or the first after a
    /// compaction.
    has_begun: bool,
}

/// The size of a request in tokens, as counted by us and by the API.
#[derive(Clone, Copy, Debug)]
struct Point {
    counted: f64,
    prompt: f64,
}

/// The likely and the largest factor between the API's token count and ours, for models whose
/// encoding is not published. In Claude sessions, the factor ranges from 1.08 to 1.27
/// (docs/tokens.md), and up to 1.53 for the newest models.
const ESTIMATE: f64 = 1.2;
const MOST: f64 = 1.6;

/// The smallest, likely and largest factor by which a compaction changes the number of tokens
/// besides the messages: after a compaction, agents send unrecorded files and notes along with the
/// summary.
const LEAST_BASE: f64 = 0.9;
const BASE: f64 = 1.1;
const MOST_BASE: f64 = 1.35;

/// The largest plausible number of tokens that an agent sends besides the messages. If a request
/// seems to exceed this number, the file begins in the middle of a session, and the usual number is
/// assumed.
const MOST_BESIDE: u64 = 100_000;
/// The usual number of tokens besides the messages: 20,000 to 45,000 in recorded sessions
/// (docs/tokens.md).
const USUAL_BESIDE: u64 = 30_000;

/// If a request is smaller than the previous request by more than this share, something was removed
/// from the context. A tool's estimate of the remaining size may be wrong by this share of the
/// reduction.
const FALL: f64 = 0.1;

impl Estimate {
    /// Estimates a context without recorded usage. `counted` is our count, made in `encoding`.
    pub fn uncalibrated(counted: u64, encoding: Encoding, model: Option<&Model>) -> Self {
        if is_exact(encoding, model) {
            return Self { low: counted, tokens: counted, high: counted };
        }
        let counted = counted as f64;
        Self::of(counted, counted * ESTIMATE, counted * MOST)
    }

    fn of(low: f64, tokens: f64, high: f64) -> Self {
        Self { low: whole(low.floor()), tokens: whole(tokens.round()), high: whole(high.ceil()) }
    }

    /// Returns true if `tokens` is within the range.
    pub fn holds(&self, tokens: u64) -> bool {
        (self.low..=self.high).contains(&tokens)
    }
}

impl Calibrator {
    /// Creates a calibrator that has not learned anything yet. Our own counts are made in
    /// `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            model: None,
            fit: Fit::new(ESTIMATE),
            last: None,
            doubt: 0.0,
            base: None,
            has_begun: false,
        }
    }

    /// Learns from the next request of the session. Call [`Self::estimate`] first to compare the
    /// request with its estimate.
    pub fn learn(&mut self, request: &Request<'_>) {
        let new = Point { counted: request.counted as f64, prompt: request.prompt as f64 };
        if self.model.as_deref() != request.model {
            // A different model may use a different encoding, so neither the learned factor nor the
            // last size is still valid.
            let model = request.model.and_then(ctx_tokens::model);
            let is_exact = is_exact(self.encoding, model);
            self.fit = Fit::new(if is_exact { 1.0 } else { ESTIMATE });
            self.model = request.model.map(str::to_owned);
            (self.last, self.base, self.has_begun) = (None, None, false);
        }
        let was_in_doubt = std::mem::take(&mut self.doubt) > 0.0;
        if let Some(last) = self.last {
            let said = new.prompt - last.prompt;
            if said < -FALL * last.prompt {
                self.doubt = FALL * -said;
            } else if request.as_sent && !was_in_doubt {
                self.fit.learn(new.counted - last.counted, said);
            }
        } else {
            let base = Some(self.base_of(new)).filter(|base| *base <= MOST_BESIDE as f64);
            self.base = self.base.into_iter().chain(base).reduce(f64::min);
            self.has_begun = true;
        }
        self.last = Some(new);
    }

    /// Records a compaction: the next request will not extend the last one.
    pub fn compacted(&mut self) {
        self.last = None;
    }

    /// Records a change to a message that the last request contained: the next request has `tokens`
    /// fewer tokens, as we count them.
    pub(super) fn shrunk(&mut self, tokens: u64) {
        if let Some(last) = &mut self.last {
            last.counted += tokens as f64;
        }
    }

    /// Estimates the size of a context whose messages have `counted` tokens. Returns `None` if
    /// there is no request to base an estimate on.
    pub fn estimate(&self, counted: u64) -> Option<Estimate> {
        let counted = counted as f64;
        if let Some(last) = self.last {
            let added = counted - last.counted;
            let tokens = last.prompt + self.fit.step(added);
            let off = self.fit.off(added) + self.doubt;
            return Some(Estimate::of(tokens - off, tokens, tokens + off));
        }
        let base = self.base_behind()?;
        let (messages, off) = (self.fit.step(counted), self.fit.off(counted));
        Some(Estimate::of(
            self.base.map_or(0.0, |base| base * LEAST_BASE) + messages - off,
            base * BASE + messages,
            base * MOST_BASE + messages + off,
        ))
    }

    /// Returns the largest number of tokens, as we count them, for which the estimate does not
    /// exceed `tokens`. `expected` selects which figure of the estimate to compare. Returns
    /// `tokens` if there is no request to base an estimate on.
    pub fn counted_within(&self, tokens: u64, expected: fn(&Estimate) -> u64) -> u64 {
        let is_above = |counted: usize| {
            let estimate = self.estimate(counted as u64);
            estimate.is_some_and(|estimate| expected(&estimate) > tokens)
        };
        bisected(saturating_usize(tokens + 1), is_above).0 as u64
    }

    /// Returns the likely size of the last request after `freed` tokens, as we count them, are
    /// removed. The result never exceeds the original size. Returns `None` if there was no request
    /// since the last compaction.
    pub fn without(&self, freed: u64) -> Option<u64> {
        let last = self.last?;
        // For any text, the API counts at least as many tokens as we do.
        let messages = (last.counted - freed as f64).max(0.0);
        let rest = last.prompt - self.fit.factor * freed as f64;
        Some(whole(rest.max(messages).min(last.prompt).round()))
    }

    /// Returns how many tokens a request contains besides its messages: for the system prompt, the
    /// tools, and messages that precede the file. Returns `None` if there was no request.
    pub fn base(&self) -> Option<u64> {
        let base = self.last.map(|last| self.base_of(last));
        let behind = || self.base_behind().map(|base| base * BASE);
        base.or_else(behind).map(|base| whole(base.round()))
    }

    /// Returns the base of the latest initial request.
    fn base_behind(&self) -> Option<f64> {
        self.base.or(self.has_begun.then_some(USUAL_BESIDE as f64))
    }

    fn base_of(&self, point: Point) -> f64 {
        (point.prompt - self.fit.factor * point.counted).max(0.0)
    }
}

fn is_exact(encoding: Encoding, model: Option<&Model>) -> bool {
    model.is_some_and(|model| model.exact && model.encoding == encoding)
}

/// Converts a figure to a whole number of tokens, at least 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Such a cast saturates.
fn whole(number: f64) -> u64 {
    number as u64
}

/// The number of recent requests to learn from.
const WINDOW: usize = 64;

/// The weight of the initial factor, in tokens as we count them.
const WEIGHT: f64 = 6_000.0;

/// The initial estimate of the tokens that an agent adds to a request without recording them, and
/// the weight of this estimate in requests.
const EXTRA: f64 = 40.0;
const EXTRA_WEIGHT: usize = 3;

/// Factors outside this range are impossible.
const FACTORS: (f64, f64) = (0.5, 3.0);

/// The number of rounds in which `factor` and `extra` are refined in turn.
const ROUNDS: usize = 3;

/// The formula's possible error is `Fit::times` × (`OFF` + `OFF_SHARE` × added tokens), in tokens.
const OFF: f64 = 80.0;
const OFF_SHARE: f64 = 0.1;

/// The initial value of `Fit::times` (weighted like one request), its minimum, and the share of
/// requests whose error must be within the range.
const TIMES: f64 = 3.0;
const LEAST_TIMES: f64 = 1.0;
const ENOUGH: f64 = 0.97;

/// The tokens added by each request, and the formula fitted to them.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// The factor to use before anything has been learned.
    prior: f64,
    /// The number of tokens that each request added, as counted by us and by the API.
    steps: VecDeque<(f64, f64)>,
    /// The formula's errors, each expressed as the smallest `times` that would allow it.
    misses: VecDeque<f64>,
    /// How many tokens the API counts per token that we count.
    pub(super) factor: f64,
    extra: f64,
    times: f64,
}

impl Fit {
    fn new(prior: f64) -> Self {
        Self {
            prior,
            steps: VecDeque::with_capacity(WINDOW),
            misses: VecDeque::with_capacity(WINDOW),
            factor: prior,
            extra: EXTRA,
            times: TIMES,
        }
    }

    /// Returns how many tokens the API is likely to count for messages with `counted` of our
    /// tokens.
    fn step(&self, counted: f64) -> f64 {
        self.factor * counted + self.extra
    }

    /// Returns the possible error of [`Self::step`].
    fn off(&self, counted: f64) -> f64 {
        self.times * scale(counted)
    }

    /// Learns that a request added `counted` tokens by our count and `said` tokens by the API's
    /// count.
    fn learn(&mut self, counted: f64, said: f64) {
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
            let rests = self.steps.iter().map(|(counted, said)| said - self.factor * counted);
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

/// Returns the quantile of `values` at `share`. `values` must not be empty.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A place in a short list.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share) as usize;
    values[place.min(values.len() - 1)]
}

/// Returns the weighted median of `values`, which must not be empty.
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
mod fit_tests {
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
        assert!((fit.factor - 1.4).abs() < 0.06, "{}", fit.factor);
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
