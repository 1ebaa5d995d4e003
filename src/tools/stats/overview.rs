//! All figures together, as programs get them.

use chrono::{DateTime, SecondsFormat, Utc};
use ctx_passes::stats::{Acceptance, Stats, Tally};
use ctx_store::{Store, StoreError, Usage};
use serde::Serialize;

use super::now::Agents;

/// The figures of the store and of the sessions. The keys are a contract.
#[derive(Debug, Serialize)]
pub(super) struct Overview {
    /// What was before is left out.
    since: Option<String>,
    #[serde(flatten)]
    pub(super) stats: Stats,
    /// Lines of the log that are no records.
    pub(super) unread_lines: u64,
    /// The mean of tokens / window of all sessions whose window is known.
    pub(super) context_utilization: Option<f64>,
    /// The sessions by agent.
    pub(super) agents: Agents,
    /// The four acceptance metrics.
    pub(super) acceptance: [Acceptance; 4],
    /// The room that the store takes.
    pub(super) store: Usage,
}

impl Overview {
    pub(super) fn of(
        store: &Store,
        since: Option<DateTime<Utc>>,
        agents: Agents,
    ) -> Result<Self, StoreError> {
        let mut tally = Tally::new(since);
        let unread_lines = store.each_event(|event| tally.add(&event))?;
        let stats = tally.finish();
        Ok(Self {
            since: since.map(|since| since.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
            acceptance: stats.acceptance(),
            stats,
            unread_lines,
            context_utilization: mean(&agents),
            agents,
            store: store.usage()?,
        })
    }
}

fn mean(agents: &Agents) -> Option<f64> {
    let shares = || agents.values().map(|now| now.utilization);
    let count: u64 = shares().map(|shares| shares.count).sum();
    let sum: f64 = shares().map(|shares| shares.sum).sum();
    (count > 0).then(|| ctx_ledger::score::rounded(sum / count as f64))
}
