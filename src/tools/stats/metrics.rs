//! Which metrics there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ctx_cli::printable;
use ctx_metrics::ShareHistogram;

use super::status::Status;
use super::{AgentSessions, Overview};

/// Of the whole store and of all sessions.
#[rustfmt::skip]
pub(super) fn of_all(all: &Overview) -> String {
    let (stats, model, store) = (&all.stats, &all.stats.model, &all.store);
    let mut families = vec![
        by_outcome("ctx_compaction_count_total", "Compactions that changed a session, by outcome.", &stats.outcomes, "compacted"),
        by_outcome("ctx_compaction_failures_total", "Compactions that were tried and changed nothing, by outcome.", &stats.without_result, "no-gain"),
        gauge("ctx_compactions_unfinished", "Compactions that began and did not end.", float(stats.unfinished)),
        counter("ctx_tokens_before_compact_total", "Tokens of contexts before they were compacted.", float(stats.tokens_before_compact)),
        counter("ctx_tokens_after_compact_total", "Tokens of the same contexts after that.", float(stats.tokens_after_compact)),
        counter("ctx_compaction_duration_seconds_total", "Time that compactions took.", seconds(stats.duration_ms)),
        histogram("ctx_compaction_fidelity_ratio", "Share of the scored items that a compaction kept.", &stats.fidelity),

        gauge("ctx_compacted_sessions", "Sessions of which a compaction was tried.", float(stats.sessions)),
        gauge("ctx_overflow_sessions", "Those of them that their newest compaction left too large.", float(stats.overflow_sessions)),
        gauge("ctx_overflow_ratio", "Share of these sessions; wanted below 0.05.", stats.overflow_rate),
        counter("ctx_rollbacks_total", "Rollbacks that were done.", float(stats.rollbacks)),
        gauge("ctx_rollbacks_unfinished", "Rollbacks that began and did not end.", float(stats.rollbacks_unfinished)),
        gauge("ctx_rollback_success_ratio", "Share of the rollbacks that were done; wanted 1.", stats.rollback_success),
        gauge("ctx_audit_log_unread_lines", "Lines of the audit log that are no records.", float(all.unread_lines)),

        counter("ctx_model_calls_total", "Requests to language models, each try counted.", float(model.model_calls)),
        counter("ctx_model_input_tokens_total", "Tokens that models read, as their servers tell.", float(model.model_tokens_in)),
        counter("ctx_model_output_tokens_total", "Tokens that models wrote, as their servers tell.", float(model.model_tokens_out)),
        counter("ctx_model_wait_seconds_total", "Time of waiting for models.", seconds(model.model_ms)),
        counter("ctx_model_fallbacks_total", "Summaries that a model was to write, and code did.", float(model.fell_back)),

        gauge("ctx_store_size_bytes", "Bytes of all files of the store.", float(store.bytes)),
        gauge("ctx_store_snapshots_size_bytes", "Bytes of the files of snapshots.", float(store.snapshot_bytes)),
        gauge("ctx_store_trash_size_bytes", "Bytes of the files in the trash.", float(store.trash_bytes)),
        gauge("ctx_store_snapshots", "Snapshots, those in the trash left out.", float(store.snapshots)),
        gauge("ctx_store_sessions", "Sessions of which the store has something.", float(store.sessions)),
    ];
    let agents: Vec<(&str, &AgentSessions)> = all.agents.iter().map(|(agent, now)| (agent.as_str(), now)).collect();
    families.extend(labelled("agent", &agents, [
        ("ctx_sessions", "Sessions of an agent on this machine.", |now| Some(float(now.sessions))),
        ("ctx_sessions_due", "Those that are due for a compaction.", |now| Some(float(now.due))),
        ("ctx_sessions_measured", "Those whose window is known.", |now| Some(float(now.utilization.count))),
        ("ctx_context_utilization_ratio", "Tokens / window, the mean of those.", |now| now.utilization.mean),
        ("ctx_context_utilization_max_ratio", "Tokens / window, the greatest of those.", |now| now.utilization.max),
    ]));
    exposition(&families)
}

/// Of the sessions that are named.
#[rustfmt::skip]
pub(super) fn of_files(statuses: &[Status]) -> String {
    let mut files: Vec<(&str, &Status)> = statuses.iter().map(|status| (status.name.as_str(), status)).collect();
    // A series occurs once, however often its file is named.
    let mut named = BTreeSet::new();
    files.retain(|(name, _)| named.insert(*name));
    exposition(&labelled("file", &files, [
        ("ctx_session_context_tokens", "Tokens of the context of a session.", |status| Some(float(status.tokens()))),
        ("ctx_session_window_tokens", "Tokens of its window.", |status| Some(float(status.window()))),
        ("ctx_session_utilization_ratio", "Tokens / window.", |status| status.share()),
        ("ctx_session_due", "1 where a compaction is due, else 0.", |status| Some(float(status.is_due().into()))),
        ("ctx_session_compactions", "How often it was compacted.", |status| Some(float(status.compactions))),
    ]))
}

/// The name of a gauge, what it tells, and its value for one of several things.
type GaugeOf<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

/// The gauges, each with a sample for each thing that it has a value of.
fn labelled<T, const N: usize>(
    label: &str,
    things: &[(&str, &T)],
    gauges: [GaugeOf<T>; N],
) -> [Family; N] {
    gauges.map(|(name, help, value)| {
        let samples = things.iter().filter_map(|(thing, of)| Some((thing, value(of)?)));
        samples.fold(gauge(name, help, None), |family, (thing, value)| {
            family.with(&[(label, thing)], value)
        })
    })
}

fn counter(name: &'static str, help: &'static str, value: f64) -> Family {
    Family::new("counter", name, help).with(&[], value)
}

/// A gauge with a sample, where there is a value.
fn gauge(name: &'static str, help: &'static str, value: impl Into<Option<f64>>) -> Family {
    let family = Family::new("gauge", name, help);
    match value.into() {
        Some(value) => family.with(&[], value),
        None => family,
    }
}

fn float(number: u64) -> f64 {
    number as f64
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

/// A counter for each outcome; none of any is 0 of the first one, so that the series is there.
fn by_outcome(
    name: &'static str,
    help: &'static str,
    counts: &BTreeMap<&'static str, u64>,
    first: &'static str,
) -> Family {
    let mut counts = counts.clone();
    counts.entry(first).or_default();
    counts.iter().fold(Family::new("counter", name, help), |family, (outcome, count)| {
        family.with(&[("outcome", outcome)], float(*count))
    })
}

fn histogram(name: &'static str, help: &'static str, shares: &ShareHistogram) -> Family {
    let mut family = Family::new("histogram", name, help);
    let mut below = 0;
    for (place, count) in shares.tenths.iter().enumerate().take(9) {
        below += count;
        let bound = format!("0.{}", place + 1);
        family = family.suffixed("_bucket", &[("le", &bound)], float(below));
    }
    let count = float(shares.count);
    family = family.suffixed("_bucket", &[("le", "1")], count);
    family = family.suffixed("_bucket", &[("le", "+Inf")], count);
    family = family.suffixed("_sum", &[], shares.sum);
    family.suffixed("_count", &[], count)
}

/// The metrics of one name.
struct Family {
    /// What it is: a counter only grows, a gauge goes up and down, a histogram tells how values are
    /// distributed.
    kind: &'static str,
    name: &'static str,
    help: &'static str,
    samples: String,
}

impl Family {
    fn new(kind: &'static str, name: &'static str, help: &'static str) -> Self {
        Self { kind, name, help, samples: String::new() }
    }

    /// One sample, with its labels.
    fn with(self, labels: &[(&str, &str)], value: f64) -> Self {
        self.suffixed("", labels, value)
    }

    /// One whose name goes on, as those of histograms do.
    fn suffixed(mut self, suffix: &str, labels: &[(&str, &str)], value: f64) -> Self {
        let pairs: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels =
            if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
        // Writing to a string cannot fail.
        let _ = writeln!(self.samples, "{}{suffix}{labels} {value}", self.name);
        self
    }
}

/// The text of all families; one without samples is left out.
fn exposition(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let Family { kind, name, help, samples } = family;
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}");
    }
    out
}

/// The value of a label: no control character, then escaped as the format wants it.
fn escaped(value: &str) -> String {
    printable(value).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use ctx_metrics::ShareHistogram;
    use ctx_store::{Actor, Store};

    use super::super::rules::check;
    use super::super::{AgentSessions, Agents, Overview};
    use super::of_all;
    use super::{Family, exposition};

    fn overview(log: &str, agents: Agents) -> Overview {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("context")).expect("made");
        fs::write(dir.path().join("context/events.jsonl"), log).expect("written");
        let actor = Actor { tool: "test".to_owned(), flags: Vec::new() };
        let store = Store::open(dir.path(), actor, Box::new(chrono::Utc::now)).expect("opens");
        Overview::of(&store, None, agents).expect("read")
    }

    /// For nothing, and for everything possible, the text is valid for promtool.
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

    /// No name controls a terminal or ends its label.
    #[test]
    fn labels_are_escaped() {
        let family = Family::new("gauge", "ctx_a", "A.");
        let text = exposition(&[family.with(&[("file", "a\"\\b\n\u{1b}[2J")], 1.0)]);
        check(&text);
        assert!(text.ends_with("ctx_a{file=\"a\\\"\\\\b\\\\n\\\\u{1b}[2J\"} 1\n"), "{text}");
    }
}
