//! Formats the metrics in Prometheus's text format.

use std::collections::BTreeSet;

use ctx_cli::printable;
use minijinja::context;
use minijinja::value::{Serde, Value};

use super::Overview;
use super::status::Status;
use crate::template::filled;

const METRICS: &str = include_str!("metrics.prom");

/// Returns the metrics for the whole store and for all sessions.
pub(super) fn of_all(all: &Overview) -> String {
    // A counter should exist from the beginning, even while its value is 0.
    let (mut outcomes, mut without_result) =
        (all.stats.outcomes.clone(), all.stats.without_result.clone());
    outcomes.entry("compacted").or_default();
    without_result.entry("no-gain").or_default();
    let agents = all.agents.iter().map(|(name, now)| {
        let shares = &now.utilization;
        context! {
            name,
            sessions => now.sessions,
            due => now.due,
            measured => shares.count,
            mean => shares.mean,
            max => shares.max,
        }
    });
    let values = context! {
        overview => Value::from(Serde(all)),
        outcomes,
        without_result,
        fidelity_sum => all.stats.fidelity.sum,
        agents => agents.collect::<Vec<_>>(),
        files => (),
    };
    filled(METRICS, escaped, values)
}

/// Returns the metrics for the named sessions.
pub(super) fn of_files(statuses: &[Status]) -> String {
    // Each series may occur only once, even if the user names a file several times.
    let mut named = BTreeSet::new();
    let files = statuses.iter().filter(|status| named.insert(&status.name)).map(|status| {
        context! {
            name => &status.name,
            tokens => status.tokens(),
            window => status.window(),
            share => status.share(),
            due => u64::from(status.is_due()),
            compactions => status.compactions,
        }
    });
    filled(METRICS, escaped, context! { overview => (), files => files.collect::<Vec<_>>() })
}

/// Escapes control characters and special characters in the value of a label.
fn escaped(value: &str) -> String {
    printable(value).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use ctx_metrics::ShareHistogram;
    use ctx_store::{Actor, Store};

    use super::super::promtool::check;
    use super::super::{AgentSessions, Agents, Overview};
    use super::escaped;
    use super::of_all;

    fn overview(log: &str, agents: Agents) -> Overview {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("context")).expect("made");
        fs::write(dir.path().join("context/events.jsonl"), log).expect("written");
        let actor = Actor { tool: "test".to_owned(), flags: Vec::new() };
        let store = Store::open(dir.path(), actor, Box::new(chrono::Utc::now)).expect("opens");
        Overview::of(&store, None, agents).expect("read")
    }

    /// promtool accepts the metrics both without data and with all kinds of data.
    #[test]
    fn the_metrics_obey_the_rules() {
        check(&of_all(&overview("", Agents::new())));
        let mut log = String::new();
        for (n, (phase, outcome)) in [
            ("done", "compacted"),
            ("done", "over-target"),
            ("failed", "no-gain"),
            ("done", "\\u001b[2J\\\""),
        ]
        .into_iter()
        .enumerate()
        {
            let _ = writeln!(
                log,
                "{{\"time\":\"2030-01-01T00:00:00Z\",\"tool\":\"ctx-compact\",\"op\":\"compact\",\"phase\":\"{phase}\",\"operation\":\"{n}\",\"session\":\"a\\\"b\",\"outcome\":\"{outcome}\",\"duration_ms\":1500,\"survived\":{{\"asks\":{{\"retained\":{n},\"recoverable\":0,\"lost\":1}}}}}}"
            );
        }
        let mut utilization = ShareHistogram::default();
        utilization.add(0.4);
        let now = AgentSessions { sessions: 2, due: 1, utilization };
        let text = of_all(&overview(&log, [("codex".to_owned(), now)].into()));
        check(&text);
        for line in [
            "ctx_compaction_count_total{outcome=\"compacted\"} 2\n",
            "ctx_compaction_failures_total{outcome=\"no-gain\"} 1\n",
            "ctx_compaction_duration_seconds_total 6\n",
            "ctx_compaction_fidelity_ratio_count 3\n",
            "ctx_overflow_ratio 0\n",
            "ctx_context_utilization_ratio{agent=\"codex\"} 0.4\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }

    /// The name of a session can neither control a terminal nor end the label that contains it.
    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"\\b\n\u{1b}[2J"), "a\\\"\\\\b\\\\n\\\\u{1b}[2J");
    }
}
