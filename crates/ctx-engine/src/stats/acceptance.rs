//! The four acceptance metrics of sanbot, and their limits.

use serde::Serialize;

use super::Stats;

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
