//! Figures over all operations: events of the audit log in, sums and rates out.
//!
//! The memory per event is bounded: sums, a bit for each session, and operations that have begun
//! and not ended. What was not measured is `None`, never a guess.

pub mod profile;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use ctx_engine::compact::Outcome;
use ctx_store::{ClassCounts, Event};
use ctx_summary::ledger::score::{Class, Standing, rounded};
use serde::Serialize;
use serde_json::Value;

/// The figures of a time. The keys are a contract.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Records of the log that were looked at.
    pub records: u64,
    /// Compactions that changed a session.
    pub compaction_count: u64,
    /// The same by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Compactions that were tried and changed nothing, by outcome.
    pub without_result: BTreeMap<&'static str, u64>,
    /// Compactions that began and did not end: killed, failed, or still at work.
    pub unfinished: u64,
    /// Tokens before, of all compactions that changed a session.
    pub tokens_before_compact: u64,
    /// Tokens after.
    pub tokens_after_compact: u64,
    /// The latter divided by the former.
    pub ratio: Option<f64>,
    /// How long they took.
    pub duration_ms: u64,
    /// Sessions of which a compaction was tried.
    pub sessions: u64,
    /// Sessions that are still too large after the newest compaction.
    pub overflow_sessions: u64,
    /// The latter divided by the former.
    pub overflow_rate: Option<f64>,
    /// The fidelity of those compactions that were scored.
    pub fidelity: ShareHistogram,
    /// Rollbacks that were done.
    pub rollbacks: u64,
    /// Rollbacks that began and did not end.
    pub rollbacks_unfinished: u64,
    /// The share of those that were done.
    pub rollback_success: Option<f64>,
    /// The requests to models.
    #[serde(flatten)]
    pub model: Model,
}

/// Requests to models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Model {
    /// Requests, each try counted.
    pub model_calls: u64,
    /// Tokens that were read, where the server tells.
    pub model_tokens_in: u64,
    /// Output tokens, if reported.
    pub model_tokens_out: u64,
    /// How long it was waited for them.
    pub model_ms: u64,
    /// Summaries that a model was to write, and code did.
    pub fell_back: u64,
}

/// Makes [`Stats`] from events.
#[derive(Debug, Default)]
pub struct Tally {
    since: Option<DateTime<Utc>>,
    stats: Stats,
    /// Whether the newest compaction of a session left it too large.
    overflows: BTreeMap<String, bool>,
    /// Compactions and rollbacks that have begun, and whether each is a compaction.
    begun: BTreeMap<String, bool>,
}

impl Tally {
    /// For operations since then, or for all.
    pub fn new(since: Option<DateTime<Utc>>) -> Self {
        Self { since, ..Self::default() }
    }

    /// Adds an event. They come in the order in which they were written.
    pub fn add(&mut self, event: &Event) {
        if self.since.is_some_and(|since| event.time < since) {
            return;
        }
        self.stats.records += 1;
        if event.phase == "intent" {
            if matches!(event.op.as_str(), "compact" | "rollback") {
                self.begun.insert(event.operation.clone(), event.op == "compact");
            }
            return;
        }
        self.begun.remove(&event.operation);
        let model = &mut self.stats.model;
        add(&mut model.model_calls, number(event, "model_calls"));
        add(&mut model.model_tokens_in, number(event, "model_tokens_in"));
        add(&mut model.model_tokens_out, number(event, "model_tokens_out"));
        add(&mut model.model_ms, number(event, "model_ms"));
        let fell_back = event.others.get("fell_back").and_then(Value::as_bool);
        model.fell_back += u64::from(fell_back == Some(true));
        match event.op.as_str() {
            "compact" => self.compaction(event),
            "rollback" if event.phase == "done" => self.stats.rollbacks += 1,
            _ => {}
        }
    }

    /// The figures.
    pub fn finish(self) -> Stats {
        let unfinished = self.begun.values().filter(|is_compaction| **is_compaction).count() as u64;
        let rollbacks_unfinished = self.begun.len() as u64 - unfinished;
        let overflow_sessions = self.overflows.values().filter(|over| **over).count() as u64;
        let sessions = self.overflows.len() as u64;
        let stats = self.stats;
        Stats {
            unfinished,
            ratio: share(stats.tokens_after_compact, stats.tokens_before_compact),
            sessions,
            overflow_sessions,
            overflow_rate: share(overflow_sessions, sessions),
            rollbacks_unfinished,
            rollback_success: share(stats.rollbacks, stats.rollbacks + rollbacks_unfinished),
            ..stats
        }
    }

    fn compaction(&mut self, event: &Event) {
        let outcome = event.outcome.as_deref().and_then(Outcome::named);
        // Older tools wrote no outcome down: what was done is smaller.
        let is_done = event.phase == "done";
        let word = outcome.map_or(if is_done { "compacted" } else { "other" }, Outcome::as_str);
        if let Some(session) = &event.session {
            let is_over =
                outcome.is_some_and(|outcome| !outcome.is_good() || outcome == Outcome::OverTarget);
            self.overflows.insert(session.clone(), is_over);
        }
        let stats = &mut self.stats;
        add(&mut stats.duration_ms, number(event, "duration_ms"));
        if !is_done {
            *stats.without_result.entry(word).or_default() += 1;
            return;
        }
        stats.compaction_count += 1;
        *stats.outcomes.entry(word).or_default() += 1;
        add(&mut stats.tokens_before_compact, event.tokens_before);
        add(&mut stats.tokens_after_compact, event.tokens_after);
        if let Some(fidelity) = event.others.get("survived").and_then(fidelity) {
            stats.fidelity.add(fidelity);
        }
    }
}

fn number(event: &Event, key: &str) -> Option<u64> {
    event.others.get(key).and_then(Value::as_u64)
}

/// A log may say anything: no sum goes over.
fn add(sum: &mut u64, more: Option<u64>) {
    *sum = sum.saturating_add(more.unwrap_or(0));
}

/// A share, four digits; none of nothing.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| rounded(part as f64 / whole as f64))
}

/// The fidelity of a compaction, from 0 to 1, from the member `survived` of its record: the items
/// kept as in ctx-score. It is the weighted mean over the classes with items; a retained item
/// counts one, a recoverable one a half, a lost one zero. The record has only numbers, so all
/// identifiers count the same here, while ctx-score weighs each by the probability that it is
/// needed. `None` if nothing was scored.
pub fn fidelity(survived: &Value) -> Option<f64> {
    let (mut kept, mut all) = (0.0, 0.0);
    for (class, counts) in counts_of(survived) {
        let counts = [
            (Standing::Retained, counts.retained as f64),
            (Standing::Recoverable, counts.recoverable as f64),
            (Standing::Lost, counts.lost as f64),
        ];
        let items: f64 = counts.iter().map(|(_, count)| count).sum();
        let credits = counts.iter().map(|(standing, count)| standing.credit() * count);
        kept += class.weight() * credits.sum::<f64>() / items;
        all += class.weight();
    }
    (all > 0.0).then(|| rounded(kept / all))
}

/// How many items of each class the record has, the classes without any left out.
pub(crate) fn counts_of(survived: &Value) -> impl Iterator<Item = (Class, ClassCounts)> {
    let counts = |class: Class| {
        let row = survived.get(class.as_str())?;
        let count = |key| row.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (retained, recoverable) = (count("retained"), count("recoverable"));
        let counts = ClassCounts { retained, recoverable, lost: count("lost") };
        (counts != ClassCounts::default()).then_some((class, counts))
    };
    Class::ALL.into_iter().filter_map(counts)
}

/// The share of sessions that may overflow is below this.
pub const MOST_OVERFLOW: f64 = 0.05;
/// The mean fidelity must be above this.
pub const LEAST_FIDELITY: f64 = 0.8;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Acceptance {
    /// Its name.
    pub name: &'static str,
    /// The measured value, if any.
    pub value: Option<f64>,
    /// The required value.
    pub wanted: &'static str,
    /// Whether it is so; none where that is not known.
    pub met: Option<bool>,
    /// The number of sessions, compactions or rollbacks.
    pub samples: u64,
}

impl Stats {
    /// All four. No log tells whether a task succeeded: that one has no value.
    pub fn acceptance(&self) -> [Acceptance; 4] {
        let judged = |name, wanted, value: Option<f64>, samples, is_met: fn(f64) -> bool| {
            let met = value.map(is_met);
            Acceptance { name, value, wanted, met, samples }
        };
        let rollbacks = self.rollbacks + self.rollbacks_unfinished;
        let fidelity = self.fidelity;
        [
            judged("overflow_rate", "< 0.05", self.overflow_rate, self.sessions, |value| {
                value < MOST_OVERFLOW
            }),
            judged("summary_fidelity", "> 0.8", fidelity.mean, fidelity.count, |value| {
                value > LEAST_FIDELITY
            }),
            judged("task_success", "no significant drop", None, 0, |_| false),
            judged("rollback_success", "1", self.rollback_success, rollbacks, |value| value >= 1.0),
        ]
    }
}

/// Shares from 0 to 1, counted in tenths, so that any number of them takes the same room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ShareHistogram {
    /// How many there are.
    pub count: u64,
    /// The mean, if there are any.
    pub mean: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// How many are at most 0.1, more than that and at most 0.2, …, more than 0.9.
    pub tenths: [u64; 10],
    /// Their sum.
    #[serde(skip)]
    pub sum: f64,
}

impl ShareHistogram {
    /// One more.
    pub fn add(&mut self, share: f64) {
        self.count += 1;
        self.sum += share;
        self.mean = Some(rounded(self.sum / self.count as f64));
        self.min = Some(self.min.map_or(share, |min| min.min(share)));
        self.max = Some(self.max.map_or(share, |max| max.max(share)));
        let is_above = |tenth: &u32| share > f64::from(*tenth) / 10.0;
        self.tenths[(1..10).filter(is_above).count()] += 1;
    }
}

#[cfg(test)]
mod share_tests {
    use super::ShareHistogram;

    /// Each share is in the tenth that it does not exceed.
    #[test]
    fn shares_are_counted_in_tenths() {
        let mut shares = ShareHistogram::default();
        assert_eq!((shares.mean, shares.min), (None, None));
        for share in [0.0, 0.1, 0.11, 0.8, 0.81, 1.0, 1.7] {
            shares.add(share);
        }
        assert_eq!(shares.tenths, [2, 1, 0, 0, 0, 0, 0, 1, 1, 2]);
        assert_eq!((shares.count, shares.min, shares.max), (7, Some(0.0), Some(1.7)));
        assert_eq!(shares.mean, Some(0.6457));
    }
}

#[cfg(test)]
mod fidelity_tests {
    use ctx_summary::ledger::score::rounded;
    use serde_json::{Value, json};

    use super::fidelity;

    fn row(retained: u64, recoverable: u64, lost: u64) -> Value {
        json!({"retained": retained, "recoverable": recoverable, "lost": lost})
    }

    /// Classes by their weights, items by what became of them.
    #[test]
    fn it_is_the_items_kept_of_the_score() {
        for (survived, expected) in [
            (json!({"asks": row(4, 0, 0)}), Some(1.0)),
            (json!({"asks": row(1, 1, 0)}), Some(0.75)),
            (json!({"asks": row(0, 0, 7)}), Some(0.0)),
            (json!({"asks": row(1, 0, 0), "files": row(0, 0, 9)}), Some(0.75)),
            (json!({"asks": row(1, 0, 0), "identifiers": row(0, 0, 1)}), Some(0.6)),
            (json!({}), None),
            (json!({"asks": row(0, 0, 0)}), None),
            (json!({"moods": row(1, 0, 0)}), None),
            (json!([1]), None),
            (json!({"asks": {"retained": "many", "lost": -1}}), None),
        ] {
            assert_eq!(fidelity(&survived), expected.map(rounded), "{survived}");
        }
    }
}
