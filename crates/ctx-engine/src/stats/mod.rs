//! Figures over all operations: events of the audit log in, sums and rates out.
//!
//! The memory per event is bounded: sums, a bit for each session, and operations that have begun
//! and not ended. What was not measured is `None`, never a guess.

mod acceptance;
mod fidelity;
pub mod profile;
mod share;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use ctx_store::Event;
use ctx_summary::ledger::score::rounded;
use serde::Serialize;
use serde_json::Value;

use crate::compact::Outcome;

pub use acceptance::{Acceptance, LEAST_FIDELITY, MOST_OVERFLOW};
pub use fidelity::fidelity;
pub use share::Shares;

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
    pub fidelity: Shares,
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
    /// Operations that have begun, with what they are.
    begun: BTreeMap<String, Begun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Compaction,
    Rollback,
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
            self.begin(event);
            return;
        }
        self.begun.remove(&event.operation);
        self.stats.model.add(event);
        match event.op.as_str() {
            "compact" => self.compaction(event),
            "rollback" if event.phase == "done" => self.stats.rollbacks += 1,
            _ => {}
        }
    }

    /// The figures.
    pub fn finish(self) -> Stats {
        let unfinished = |what| self.begun.values().filter(|begun| **begun == what).count() as u64;
        let rollbacks_unfinished = unfinished(Begun::Rollback);
        let overflow_sessions = self.overflows.values().filter(|over| **over).count() as u64;
        let sessions = self.overflows.len() as u64;
        let stats = self.stats;
        Stats {
            unfinished: unfinished(Begun::Compaction),
            ratio: share(stats.tokens_after_compact, stats.tokens_before_compact),
            sessions,
            overflow_sessions,
            overflow_rate: share(overflow_sessions, sessions),
            rollbacks_unfinished,
            rollback_success: share(stats.rollbacks, stats.rollbacks + rollbacks_unfinished),
            ..stats
        }
    }

    fn begin(&mut self, event: &Event) {
        let begun = match event.op.as_str() {
            "compact" => Begun::Compaction,
            "rollback" => Begun::Rollback,
            _ => return,
        };
        self.begun.insert(event.operation.clone(), begun);
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

impl Model {
    fn add(&mut self, event: &Event) {
        add(&mut self.model_calls, number(event, "model_calls"));
        add(&mut self.model_tokens_in, number(event, "model_tokens_in"));
        add(&mut self.model_tokens_out, number(event, "model_tokens_out"));
        add(&mut self.model_ms, number(event, "model_ms"));
        let fell_back = event.others.get("fell_back").and_then(Value::as_bool);
        self.fell_back += u64::from(fell_back == Some(true));
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

#[cfg(test)]
mod tests;
