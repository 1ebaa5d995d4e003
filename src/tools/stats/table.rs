//! The figures for people.

use std::collections::BTreeMap;

use ctx_cli::{Listing, labelled, percent, printable, short_bytes};
use ctx_metrics::{Acceptance, ShareHistogram, Stats};
use ctx_store::Usage;

use super::{AgentSessions, Agents, Overview};

/// What stands where nothing is known.
const NOTHING: &str = "-";

pub(super) fn text(all: &Overview) -> String {
    let log = match all.unread_lines {
        0 => String::new(),
        1 => "1 line of the audit log is no record\n".to_owned(),
        lines => format!("{lines} lines of the audit log are no records\n"),
    };
    let parts = [
        format!("Compactions\n{}", labelled(&compactions(&all.stats))),
        format!("Models\n{}", labelled(&models(&all.stats))),
        format!("Sessions now\n{}", sessions(&all.agents)),
        format!("Store\n{}", labelled(&store(&all.store))),
        format!("Acceptance\n{}", acceptance(&all.acceptance)),
        log,
    ];
    parts.concat()
}

fn compactions(stats: &Stats) -> Vec<(&'static str, String)> {
    let (before, after) = (stats.tokens_before_compact, stats.tokens_after_compact);
    vec![
        ("done", by_word(stats.compaction_count, &stats.outcomes)),
        ("no change", by_word(stats.without_result.values().sum(), &stats.without_result)),
        ("unfinished", stats.unfinished.to_string()),
        ("tokens", format!("{before} before, {after} after ({})", percent(after, before))),
        ("time", seconds(stats.duration_ms)),
        ("fidelity", fidelity(&stats.fidelity)),
        ("still too large", format!("{} of {} sessions", stats.overflow_sessions, stats.sessions)),
        (
            "rollbacks",
            format!("{} done, {} unfinished", stats.rollbacks, stats.rollbacks_unfinished),
        ),
    ]
}

/// `12: 9 compacted, 3 over-target`
fn by_word(count: u64, words: &BTreeMap<&'static str, u64>) -> String {
    let words: Vec<String> = words.iter().map(|(word, count)| format!("{count} {word}")).collect();
    if words.is_empty() {
        return count.to_string();
    }
    format!("{count}: {}", words.join(", "))
}

/// Mean, least, and how many are in each tenth that has any.
fn fidelity(shares: &ShareHistogram) -> String {
    let (Some(mean), Some(min)) = (shares.mean, shares.min) else {
        return NOTHING.to_owned();
    };
    let tenths = shares.tenths.iter().enumerate().filter(|(_, count)| **count > 0);
    let tenths =
        tenths.map(|(place, count)| format!("{count} at {}-{}%", place * 10, (place + 1) * 10));
    let (mean, min, tenths) = (share(mean), share(min), tenths.collect::<Vec<_>>().join(", "));
    format!("mean {mean}, least {min}, of {}: {tenths}", shares.count)
}

fn models(stats: &Stats) -> Vec<(&'static str, String)> {
    let model = &stats.model;
    vec![
        ("requests", model.model_calls.to_string()),
        ("tokens", format!("{} read, {} written", model.model_tokens_in, model.model_tokens_out)),
        ("time", seconds(model.model_ms)),
        ("replaced by code", model.fell_back.to_string()),
    ]
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

fn store(usage: &Usage) -> Vec<(&'static str, String)> {
    let snapshots = short_bytes(usage.snapshot_bytes);
    vec![
        ("snapshots", format!("{} of {} sessions, {snapshots}", usage.snapshots, usage.sessions)),
        ("trash", short_bytes(usage.trash_bytes)),
        ("all", short_bytes(usage.bytes)),
    ]
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

fn seconds(milliseconds: u64) -> String {
    format!("{:.1} s", milliseconds as f64 / 1000.0)
}
