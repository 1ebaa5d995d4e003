//! Reads the events in the audit log, and computes sums and rates over all of the tools'
//! operations.
//!
//! Memory use does not grow with the number of events, only with the number of sessions and
//! unfinished operations. A value that was not measured is `None` and is never guessed.

pub mod profile;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use ctx_engine::compact::{Outcome, Survivors};
use ctx_store::Event;
use ctx_summary::ledger::score::{Class, Standing, rounded};
use serde::Serialize;
use serde_json::Value;

/// The figures for a period. Later versions may add JSON keys but never remove any.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// The number of records read from the audit log.
    pub records: u64,
    /// The number of compactions that changed a session.
    pub compaction_count: u64,
    /// The number of compactions that changed a session, by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// The number of attempted compactions that changed nothing, by outcome.
    pub without_result: BTreeMap<&'static str, u64>,
    /// The number of compactions without a recorded end, because they were killed, failed, or are
    /// still running.
    pub unfinished: u64,
    /// The sum of the token counts measured before each compaction that changed a session.
    pub tokens_before_compact: u64,
    /// The sum of the token counts measured after each compaction that changed a session.
    pub tokens_after_compact: u64,
    /// `tokens_after_compact` divided by `tokens_before_compact`.
    pub ratio: Option<f64>,
    /// The total time of all compactions and attempts, in milliseconds.
    pub duration_ms: u64,
    /// The number of sessions that were compacted or whose compaction was attempted.
    pub sessions: u64,
    /// The number of sessions that were still too large after their latest compaction.
    pub overflow_sessions: u64,
    /// `overflow_sessions` divided by `sessions`.
    pub overflow_rate: Option<f64>,
    /// The fidelity of the compactions that were scored.
    pub fidelity: ShareHistogram,
    /// The number of completed rollbacks.
    pub rollbacks: u64,
    /// The number of rollbacks that have started but not ended.
    pub rollbacks_unfinished: u64,
    /// The fraction of rollbacks that were completed.
    pub rollback_success: Option<f64>,
    /// The recorded outcomes of sessions that were compacted or whose compaction was attempted.
    pub task_outcomes: TaskOutcomes,
    /// The recorded outcomes of all other sessions.
    pub task_outcomes_without: TaskOutcomes,
    /// Model requests, with their tokens and times.
    #[serde(flatten)]
    pub model: Model,
}

/// The number of sessions whose outcome was recorded, and how many of them succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskOutcomes {
    /// The number of sessions.
    pub sessions: u64,
    /// The number of sessions whose task succeeded.
    pub successes: u64,
}

impl TaskOutcomes {
    /// Returns true if these sessions succeeded less often than `others`, and the difference is
    /// significant: a one-sided two-proportion z-test at 5 %. Returns `None` without sessions to
    /// compare.
    fn is_significantly_below(self, others: Self) -> Option<bool> {
        const Z: f64 = 1.645;
        let (here, there) = (self.sessions as f64, others.sessions as f64);
        let rate = (self.successes + others.successes) as f64 / (here + there);
        let drop = others.successes as f64 / there - self.successes as f64 / here;
        let error = (rate * (1.0 - rate) * (1.0 / here + 1.0 / there)).sqrt();
        (self.sessions > 0 && others.sessions > 0).then_some(drop > Z * error)
    }
}

/// The figures for model requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Model {
    /// The number of requests, including retries.
    pub model_calls: u64,
    /// The total number of input tokens that servers reported.
    pub model_tokens_in: u64,
    /// The total number of output tokens that servers reported.
    pub model_tokens_out: u64,
    /// The total time of all requests in milliseconds, including the waits before retries.
    pub model_ms: u64,
    /// The number of summaries that were written without a model because the model failed.
    pub fell_back: u64,
}

/// Computes [`Stats`] from events.
#[derive(Debug, Default)]
pub struct Tally {
    since: Option<DateTime<Utc>>,
    stats: Stats,
    /// For each session, whether it was still too large after its latest compaction.
    overflows: BTreeMap<String, bool>,
    /// For each session whose outcome was recorded, whether its task succeeded.
    outcomes: BTreeMap<String, bool>,
    /// For each operation that has started but not ended, whether it is a compaction.
    begun: BTreeMap<String, bool>,
}

impl Tally {
    /// Creates a tally for the operations since the given time, or for all operations.
    pub fn new(since: Option<DateTime<Utc>>) -> Self {
        Self { since, ..Self::default() }
    }

    /// Adds an event to the figures. Events must be added in the order in which they were written.
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
            "outcome" => {
                let is_success = event.outcome.as_deref() == Some("success");
                self.outcomes.extend(event.session.clone().map(|session| (session, is_success)));
            }
            "rollback" if event.phase == "done" => self.stats.rollbacks += 1,
            _ => {}
        }
    }

    /// Returns the figures for all events that were added.
    pub fn finish(self) -> Stats {
        let unfinished = self.begun.values().filter(|is_compaction| **is_compaction).count() as u64;
        let rollbacks_unfinished = self.begun.len() as u64 - unfinished;
        let overflow_sessions = self.overflows.values().filter(|over| **over).count() as u64;
        let sessions = self.overflows.len() as u64;
        let outcomes = |is_compacted: bool| {
            let sessions = self.outcomes.iter();
            let all = sessions.filter(|(it, _)| self.overflows.contains_key(*it) == is_compacted);
            all.fold(TaskOutcomes::default(), |sum, (_, is_success)| TaskOutcomes {
                sessions: sum.sessions + 1,
                successes: sum.successes + u64::from(*is_success),
            })
        };
        let (task_outcomes, task_outcomes_without) = (outcomes(true), outcomes(false));
        let stats = self.stats;
        Stats {
            task_outcomes,
            task_outcomes_without,
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
        let outcome = event.outcome.as_deref().and_then(|word| Outcome::from_str(word).ok());
        // Older versions of the tools did not record outcomes, but they completed a compaction only
        // if it made the session smaller.
        let is_done = event.phase == "done";
        let word = outcome.map_or(if is_done { "compacted" } else { "other" }, Outcome::into);
        if let Some(session) = &event.session {
            let after = number(event, "calibrated_after").or(event.tokens_after);
            let window = number(event, "window");
            let is_over = after.zip(window).is_some_and(|(after, window)| after > window)
                || outcome.is_some_and(|it| !it.is_good() || it == Outcome::OverTarget);
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

/// Adds numbers without overflow, because a log may contain arbitrarily large numbers.
fn add(sum: &mut u64, more: Option<u64>) {
    *sum = sum.saturating_add(more.unwrap_or(0));
}

/// Returns `part / whole`, rounded to four decimal places, or `None` if `whole` is 0.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| rounded(part as f64 / whole as f64))
}

/// Returns the fidelity of a compaction: the fraction of items that it kept, from 0 to 1.
/// `survived` is the `survived` member of the compaction's audit record. As in ctx-score, fidelity
/// is the weighted mean over all classes that have items. A retained item counts as one, a
/// recoverable item as a half, and a lost item as zero. The audit record contains only counts, so
/// all identifiers have the same weight here. In contrast, ctx-score weights each identifier by the
/// probability that it is needed. Returns `None` if the compaction was not scored.
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

/// Returns the item counts for each class in the audit record, without empty classes.
pub(crate) fn counts_of(survived: &Value) -> impl Iterator<Item = (Class, Survivors)> {
    let counts = |class: Class| {
        let row = survived.get(<&str>::from(class))?;
        let count = |key| row.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (retained, recoverable) = (count("retained"), count("recoverable"));
        let counts = Survivors { retained, recoverable, lost: count("lost") };
        (counts != Survivors::default()).then_some((class, counts))
    };
    Class::ALL.into_iter().filter_map(counts)
}

/// An acceptance criterion, and the value that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Acceptance {
    /// The name of the criterion.
    pub name: &'static str,
    /// The measured value, or `None` if nothing was measured.
    pub value: Option<f64>,
    /// The required value, in words or as a comparison.
    pub wanted: &'static str,
    /// Whether the criterion is met, or `None` if nothing was measured.
    pub met: Option<bool>,
    /// The number of sessions, compactions or rollbacks on which the value is based.
    pub samples: u64,
}

impl Stats {
    /// Returns all four criteria. `task_success` has a value only if outcomes were recorded.
    pub fn acceptance(&self) -> [Acceptance; 4] {
        let judged = |name, wanted, value: Option<f64>, samples, is_met: fn(f64) -> bool| {
            Acceptance { name, value, wanted, met: value.map(is_met), samples }
        };
        let rollbacks = self.rollbacks + self.rollbacks_unfinished;
        let (fidelity, outcomes) = (self.fidelity, self.task_outcomes);
        [
            judged("overflow_rate", "< 0.05", self.overflow_rate, self.sessions, |it| it < 0.05),
            judged("summary_fidelity", "> 0.8", fidelity.mean, fidelity.count, |it| it > 0.8),
            Acceptance {
                name: "task_success",
                value: share(outcomes.successes, outcomes.sessions),
                wanted: "no significant drop",
                met: outcomes
                    .is_significantly_below(self.task_outcomes_without)
                    .map(std::ops::Not::not),
                samples: outcomes.sessions,
            },
            judged("rollback_success", "1", self.rollback_success, rollbacks, |it| it >= 1.0),
        ]
    }
}

/// A histogram of values from 0 to 1 with ten bins. Its size does not depend on the number of
/// values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ShareHistogram {
    /// The number of values that were added.
    pub count: u64,
    /// The mean of the values, or `None` if there are no values.
    pub mean: Option<f64>,
    /// The smallest value, or `None` if there are no values.
    pub min: Option<f64>,
    /// The largest value, or `None` if there are no values.
    pub max: Option<f64>,
    /// The number of values in each tenth: up to 0.1, above 0.1 and up to 0.2, …, above 0.9.
    pub tenths: [u64; 10],
    /// The sum of the values.
    #[serde(skip)]
    pub sum: f64,
}

impl ShareHistogram {
    /// Adds a value to the histogram.
    pub fn add(&mut self, share: f64) {
        self.count += 1;
        self.sum += share;
        self.mean = Some(rounded(self.sum / self.count as f64));
        self.min = Some(self.min.map_or(share, |min| min.min(share)));
        self.max = Some(self.max.map_or(share, |max| max.max(share)));
        self.tenths[(1..10).filter(|tenth: &u32| share > f64::from(*tenth) / 10.0).count()] += 1;
    }
}

#[cfg(test)]
mod share_tests {
    use super::ShareHistogram;

    /// Each value is counted in the first tenth whose upper limit it does not exceed.
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

    /// Fidelity depends on the weights of the classes and on how many items were retained,
    /// recoverable or lost.
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
