//! How full the sessions of all agents on this machine are now.

use std::collections::BTreeMap;
use std::time::SystemTime;

use ctx_passes::stats::Shares;
use ctx_select::trigger::Triggers;
use ctx_sessions::{Index, Query, Question, Row};
use ctx_store::Store;
use serde::Serialize;

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
        window_of: &|name| ctx_tokens::model(name).map(|model| model.window),
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
