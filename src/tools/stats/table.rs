//! The figures for people.

use ctx_cli::{Listing, printable};
use ctx_metrics::Acceptance;
use minijinja::context;
use minijinja::value::{Serde, Value};

use super::{AgentSessions, Agents, Overview};
use crate::template::filled;

/// What stands where nothing is known.
const NOTHING: &str = "-";

pub(super) fn text(all: &Overview) -> String {
    let values = context! {
        overview => Value::from(Serde(all)),
        sessions => sessions(&all.agents),
        acceptance => acceptance(&all.acceptance),
    };
    filled(include_str!("overview.txt"), printable, values)
}

fn sessions(agents: &Agents) -> String {
    let mut listing = Listing::new("  AGENT|>SESSIONS|>DUE|>MEASURED|>MEAN|>MOST");
    for (agent, AgentSessions { sessions, due, utilization }) in agents {
        let shown = |value: Option<f64>| value.map_or_else(|| NOTHING.to_owned(), share);
        listing.push([
            format!("  {}", printable(agent)),
            sessions.to_string(),
            due.to_string(),
            utilization.count.to_string(),
            shown(utilization.mean),
            shown(utilization.max),
        ]);
    }
    if agents.is_empty() {
        return "  none\n".to_owned();
    }
    listing.text(None)
}

fn acceptance(metrics: &[Acceptance]) -> String {
    let mut listing = Listing::new("  NAME|>VALUE|WANTED|MET|>OF");
    for metric in metrics {
        let met = match metric.met {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not known",
        };
        listing.push([
            format!("  {}", metric.name),
            metric.value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value}")),
            metric.wanted.to_owned(),
            met.to_owned(),
            metric.samples.to_string(),
        ]);
    }
    listing.text(None)
}

fn share(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}
