//! All figures together, as programs get them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use ctx_engine::counter::MessageCounter;
use ctx_engine::stats::{Acceptance, Shares, Stats, Tally};
use ctx_policy::trigger::Triggers;
use ctx_sessions::{Index, Query, Question, Row};
use ctx_store::{Store, StoreError, Usage};
use ctx_tokens::Encoding;
use serde::Serialize;

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
    (count > 0).then(|| ctx_summary::ledger::score::rounded(sum / count as f64))
}

/// The sessions of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Now {
    /// How many there are.
    pub(super) sessions: u64,
    /// How many of them are due for a compaction.
    pub(super) due: u64,
    /// Tokens / window, of those whose window is known.
    pub(super) utilization: Shares,
}

/// All sessions, by agent.
pub(super) type Agents = BTreeMap<String, Now>;

/// Looks where agents keep their sessions, by the index of ctx-ls as far as it goes.
pub(super) fn look(store: &Store, triggers: Triggers) -> Agents {
    let question = Question {
        triggers,
        counter: MessageCounter::new(Encoding::default()),
        now: SystemTime::now(),
    };
    let index = Index::parse(&store.read_session_index().unwrap_or_default());
    let (variable, temp) = (|name: &str| std::env::var_os(name), std::env::temp_dir());
    let (listed, _) = Query::default().list(variable, &temp, index, &question);
    by_agent(&listed.rows)
}

fn by_agent(rows: &[Row]) -> Agents {
    let mut agents = Agents::new();
    for row in rows {
        let now = agents.entry(row.agent.clone()).or_default();
        now.sessions += 1;
        now.due += u64::from(row.due == Some(true));
        if let Some(share) = row.share {
            now.utilization.add(share);
        }
    }
    agents
}
