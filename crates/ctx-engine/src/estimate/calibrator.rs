//! Compares our count of a context with the API's.
//!
//! We count the messages of a request, and the API reports the size of all of it, including the
//! system prompt and the tools, by the model's own encoding. From one reply to the next that rest
//! stays the same, so the increase gives the factor:
//!
//! `prompt = earlier prompt + factor × (counted - counted then) + extra`
//!
//! where `extra` is what the agent adds to each request and does not record. Both are medians over
//! the latest replies, which one odd reply does not move. The range is as wide as the formula was
//! off for these replies; each is compared before it is learned from.
//!
//! If a tool has pruned the session since, the file does not hold what was sent, and says nothing
//! about the factor. The number of the last reply may also be one that a tool has corrected
//! ([`Calibrator::without`]); it is recognized by its fall.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use ctx_tokens::{Encoding, Model};
use serde::Serialize;

/// An estimate of a context in the API's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// The least that it may be.
    pub low: u64,
    /// The likely number.
    pub tokens: u64,
    /// The most that it may be: what budgets go by.
    pub high: u64,
}

/// A request, as far as it can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The tokens of its messages, by our count.
    pub counted: u64,
    /// The tokens of all of it, by the API's.
    pub prompt: u64,
    /// The model.
    pub model: Option<&'a str>,
    /// Whether what was added since the last request is unchanged, and not pruned.
    pub as_sent: bool,
}

/// Learns from the requests of a session, in their order.
#[derive(Clone, Debug)]
pub struct Calibrator {
    encoding: Encoding,
    model: Option<String>,
    fit: Fit,
    /// The last request since the last compaction.
    last: Option<Point>,
    /// By how much its prompt may be off: the API may not have said it.
    doubt: f64,
    /// The least that requests right after a beginning had besides their messages, if that is
    /// plausible.
    base: Option<f64>,
    /// Whether any request came right after a beginning.
    has_begun: bool,
}

/// Our count, and the API's.
#[derive(Clone, Copy, Debug)]
struct Point {
    counted: f64,
    prompt: f64,
}

/// Tokens per token of ours for models with an unpublished encoding: Claude's from 1.08 to 1.27 by
/// session (docs/tokens.md), the newest models up to 1.53.
const ESTIMATE: f64 = 1.2;
const MOST: f64 = 1.6;

/// After a compaction: what a request has besides its messages, relative to before. Agents add
/// files and notes to a summary that they do not record.
const BASE: f64 = 1.1;
const MOST_BASE: f64 = 1.35;

/// No agent sends more than this besides the messages. A larger number means that the file begins
/// in the middle of a session, and a usual number is assumed.
const MOST_BESIDE: u64 = 100_000;
/// Recorded sessions had from 20,000 to 45,000 (docs/tokens.md).
const USUAL_BESIDE: u64 = 30_000;

/// A prompt that falls by more than this share had something removed from its context. A tool's
/// estimate of the rest may be off by this share of the fall.
const FALL: f64 = 0.1;

impl Estimate {
    /// For a context without recorded usage. `model` is the one that `encoding` belongs to.
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

    /// Whether the range holds `tokens`.
    pub fn holds(&self, tokens: u64) -> bool {
        (self.low..=self.high).contains(&tokens)
    }
}

impl Calibrator {
    /// A calibrator that has learned nothing; `encoding` is ours.
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

    /// The next request of the session. What it is compared with is [`Self::estimate`] of the
    /// same count, before.
    pub fn learn(&mut self, request: &Request<'_>) {
        let new = Point { counted: request.counted as f64, prompt: request.prompt as f64 };
        if self.model.as_deref() != request.model {
            // Another encoding: neither steps nor sizes of before hold.
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

    /// A compaction: the next request does not extend the last one.
    pub fn compacted(&mut self) {
        self.last = None;
    }

    /// The estimate of a context whose messages are `counted`; `None` if no request shows it.
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
            messages - off,
            base * BASE + messages,
            base * MOST_BASE + messages + off,
        ))
    }

    /// The most tokens by our count whose estimate is at most `tokens`, where `expected` picks the
    /// figure of the estimate. `tokens` where no request tells.
    pub fn counted_within(&self, tokens: u64, expected: fn(&Estimate) -> u64) -> u64 {
        let fits = |counted| {
            let estimate = self.estimate(counted);
            estimate.is_none_or(|estimate| expected(&estimate) <= tokens)
        };
        let (mut least, mut beyond) = (0, tokens + 1);
        while beyond - least > 1 {
            let middle = least + (beyond - least) / 2;
            if fits(middle) {
                least = middle;
            } else {
                beyond = middle;
            }
        }
        least
    }

    /// The likely size of the last request after `freed` of its tokens, by our count, are removed;
    /// never more than it was. `None` without a request since the last compaction.
    pub fn without(&self, freed: u64) -> Option<u64> {
        let last = self.last?;
        // No text has fewer tokens than we count.
        let messages = (last.counted - freed as f64).max(0.0);
        let rest = last.prompt - self.fit.factor * freed as f64;
        Some(whole(rest.max(messages).min(last.prompt).round()))
    }

    /// The API's tokens per token of ours.
    pub fn factor(&self) -> f64 {
        self.fit.factor
    }

    /// What a request has besides its messages: the system prompt, the tools, and what came before
    /// the file began. `None` if no request shows it.
    pub fn base(&self) -> Option<u64> {
        let base = self.last.map(|last| self.base_of(last));
        base.or_else(|| self.base_behind()).map(|base| whole(base.round()))
    }

    /// The model of the last request.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// [`Self::base`] after a compaction and before the next request.
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

/// A number of tokens: none is less than 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Such a cast saturates.
fn whole(number: f64) -> u64 {
    number as u64
}

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
struct Fit {
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

    /// The API's tokens for messages of this size by our count.
    fn step(&self, counted: f64) -> f64 {
        self.factor * counted + self.extra
    }

    /// How far that may be off.
    fn off(&self, counted: f64) -> f64 {
        self.times * scale(counted)
    }

    /// A request has added `said`.
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
