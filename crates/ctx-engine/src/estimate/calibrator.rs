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

mod fit;

use ctx_tokens::{Encoding, Model};
use serde::Serialize;

use self::fit::Fit;

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
        let rest = last.prompt - self.fit.factor() * freed as f64;
        Some(whole(rest.max(messages).min(last.prompt).round()))
    }

    /// The API's tokens per token of ours.
    pub fn factor(&self) -> f64 {
        self.fit.factor()
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
        let usual = self.has_begun.then_some(USUAL_BESIDE as f64);
        self.base.or(usual)
    }

    fn base_of(&self, point: Point) -> f64 {
        (point.prompt - self.fit.factor() * point.counted).max(0.0)
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

#[cfg(test)]
mod tests;
