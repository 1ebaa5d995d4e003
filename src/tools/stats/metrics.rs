//! Which metrics there are.

use std::collections::BTreeMap;
use std::fmt::Write;

use ctx_cli::printable;
use ctx_metrics::ShareHistogram;

use super::Overview;
use super::status::Status;

/// Of the whole store and of all sessions.
pub(super) fn of_all(all: &Overview) -> String {
    let mut families = compactions(all);
    families.extend(rates(all));
    families.extend(models(all));
    families.extend(room(all));
    families.extend(sessions(all));
    exposition(&families)
}

fn counter(name: &'static str, help: &'static str) -> Family {
    Family::new(MetricKind::Counter, name, help)
}

fn gauge(name: &'static str, help: &'static str) -> Family {
    Family::new(MetricKind::Gauge, name, help)
}

fn float(number: u64) -> f64 {
    number as f64
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

/// A sample for each word; none of any is 0 of the first word, so that the series is there.
fn by_word(family: Family, counts: &BTreeMap<&'static str, u64>, first: &'static str) -> Family {
    let mut counts = counts.clone();
    counts.entry(first).or_default();
    counts
        .iter()
        .fold(family, |family, (word, count)| family.with(&[("outcome", word)], *count as f64))
}

#[rustfmt::skip]
fn compactions(all: &Overview) -> Vec<Family> {
    let stats = &all.stats;
    vec![
        by_word(counter("ctx_compaction_count_total", "Compactions that changed a session, by outcome."), &stats.outcomes, "compacted"),
        by_word(counter("ctx_compaction_failures_total", "Compactions that were tried and changed nothing, by outcome."), &stats.without_result, "no-gain"),
        gauge("ctx_compactions_unfinished", "Compactions that began and did not end.").with(&[], float(stats.unfinished)),
        counter("ctx_tokens_before_compact_total", "Tokens of contexts before they were compacted.").with(&[], float(stats.tokens_before_compact)),
        counter("ctx_tokens_after_compact_total", "Tokens of the same contexts after that.").with(&[], float(stats.tokens_after_compact)),
        counter("ctx_compaction_duration_seconds_total", "Time that compactions took.").with(&[], seconds(stats.duration_ms)),
        histogram("ctx_compaction_fidelity_ratio", "Share of the scored items that a compaction kept.", &stats.fidelity),
    ]
}

fn histogram(name: &'static str, help: &'static str, shares: &ShareHistogram) -> Family {
    let mut family = Family::new(MetricKind::Histogram, name, help);
    let mut below = 0;
    for (place, count) in shares.tenths.iter().enumerate().take(9) {
        below += count;
        let bound = format!("0.{}", place + 1);
        family = family.suffixed("_bucket", &[("le", &bound)], below as f64);
    }
    let count = shares.count as f64;
    family = family.suffixed("_bucket", &[("le", "1")], count);
    family = family.suffixed("_bucket", &[("le", "+Inf")], count);
    family = family.suffixed("_sum", &[], shares.sum);
    family.suffixed("_count", &[], count)
}

#[rustfmt::skip]
fn rates(all: &Overview) -> Vec<Family> {
    let stats = &all.stats;
    vec![
        gauge("ctx_compacted_sessions", "Sessions of which a compaction was tried.").with(&[], float(stats.sessions)),
        gauge("ctx_overflow_sessions", "Those of them that their newest compaction left too large.").with(&[], float(stats.overflow_sessions)),
        gauge("ctx_overflow_ratio", "Share of these sessions; wanted below 0.05.").only(stats.overflow_rate),
        counter("ctx_rollbacks_total", "Rollbacks that were done.").with(&[], float(stats.rollbacks)),
        gauge("ctx_rollbacks_unfinished", "Rollbacks that began and did not end.").with(&[], float(stats.rollbacks_unfinished)),
        gauge("ctx_rollback_success_ratio", "Share of the rollbacks that were done; wanted 1.").only(stats.rollback_success),
        gauge("ctx_audit_log_unread_lines", "Lines of the audit log that are no records.").with(&[], float(all.unread_lines)),
    ]
}

#[rustfmt::skip]
fn models(all: &Overview) -> Vec<Family> {
    let model = &all.stats.model;
    vec![
        counter("ctx_model_calls_total", "Requests to language models, each try counted.").with(&[], float(model.model_calls)),
        counter("ctx_model_input_tokens_total", "Tokens that models read, as their servers tell.").with(&[], float(model.model_tokens_in)),
        counter("ctx_model_output_tokens_total", "Tokens that models wrote, as their servers tell.").with(&[], float(model.model_tokens_out)),
        counter("ctx_model_wait_seconds_total", "Time of waiting for models.").with(&[], seconds(model.model_ms)),
        counter("ctx_model_fallbacks_total", "Summaries that a model was to write, and code did.").with(&[], float(model.fell_back)),
    ]
}

#[rustfmt::skip]
fn room(all: &Overview) -> Vec<Family> {
    let store = &all.store;
    vec![
        gauge("ctx_store_size_bytes", "Bytes of all files of the store.").with(&[], float(store.bytes)),
        gauge("ctx_store_snapshots_size_bytes", "Bytes of the files of snapshots.").with(&[], float(store.snapshot_bytes)),
        gauge("ctx_store_trash_size_bytes", "Bytes of the files in the trash.").with(&[], float(store.trash_bytes)),
        gauge("ctx_store_snapshots", "Snapshots, those in the trash left out.").with(&[], float(store.snapshots)),
        gauge("ctx_store_sessions", "Sessions of which the store has something.").with(&[], float(store.sessions)),
    ]
}

#[rustfmt::skip]
fn sessions(all: &Overview) -> Vec<Family> {
    let mut families = [
        gauge("ctx_sessions", "Sessions of an agent on this machine."),
        gauge("ctx_sessions_due", "Those that are due for a compaction."),
        gauge("ctx_sessions_measured", "Those whose window is known."),
        gauge("ctx_context_utilization_ratio", "Tokens / window, the mean of those."),
        gauge("ctx_context_utilization_max_ratio", "Tokens / window, the greatest of those."),
    ];
    for (agent, now) in &all.agents {
        let shares = &now.utilization;
        let values = [Some(float(now.sessions)), Some(float(now.due)), Some(float(shares.count)), shares.mean, shares.max];
        families = labelled(families, &[("agent", agent)], values);
    }
    families.into()
}

/// Of the sessions that are named.
#[rustfmt::skip]
pub(super) fn of_files(statuses: &[Status]) -> String {
    let mut families = [
        gauge("ctx_session_context_tokens", "Tokens of the context of a session."),
        gauge("ctx_session_window_tokens", "Tokens of its window."),
        gauge("ctx_session_utilization_ratio", "Tokens / window."),
        gauge("ctx_session_due", "1 where a compaction is due, else 0."),
        gauge("ctx_session_compactions", "How often it was compacted."),
    ];
    let mut named = std::collections::BTreeSet::new();
    // A series occurs once, however often its file is named.
    for status in statuses.iter().filter(|status| named.insert(status.name.as_str())) {
        let values = [
            Some(float(status.tokens())), Some(float(status.window())), status.share(),
            Some(float(u64::from(status.is_due()))), Some(float(status.compactions)),
        ];
        families = labelled(families, &[("file", &status.name)], values);
    }
    exposition(&families)
}

/// A sample more in each family, where there is a value.
fn labelled<const N: usize>(
    families: [Family; N],
    labels: &[(&str, &str)],
    values: [Option<f64>; N],
) -> [Family; N] {
    let mut values = values.into_iter();
    families.map(|family| match values.next().flatten() {
        Some(value) => family.with(labels, value),
        None => family,
    })
}

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How values are distributed.
    Histogram,
}

/// The metrics of one name.
pub(super) struct Family {
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    samples: String,
}

impl Family {
    pub(super) fn new(kind: MetricKind, name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind, samples: String::new() }
    }

    /// One sample, with its labels.
    #[must_use]
    pub(super) fn with(self, labels: &[(&str, &str)], value: f64) -> Self {
        self.suffixed("", labels, value)
    }

    /// One without labels, where there is a value.
    #[must_use]
    pub(super) fn only(self, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with(&[], value),
            None => self,
        }
    }

    /// One whose name goes on, as those of histograms do.
    #[must_use]
    pub(super) fn suffixed(mut self, suffix: &str, labels: &[(&str, &str)], value: f64) -> Self {
        let pairs: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", label(value))).collect();
        let labels =
            if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
        // Writing to a string cannot fail.
        let _ = writeln!(self.samples, "{}{suffix}{labels} {value}", self.name);
        self
    }
}

/// The text of all families; one without samples is left out.
pub(super) fn exposition(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let kind = match family.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let (name, help) = (family.name, family.help);
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{}", family.samples);
    }
    out
}

/// The value of a label: no control character, then escaped as the format wants it.
fn label(value: &str) -> String {
    let value = printable(value);
    let value = value.replace('\\', "\\\\");
    value.replace('"', "\\\"")
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
    use super::{Family, MetricKind, exposition};

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
        let family = Family::new(MetricKind::Gauge, "ctx_a", "A.");
        let text = exposition(&[family.with(&[("file", "a\"\\b\n\u{1b}[2J")], 1.0)]);
        check(&text);
        assert!(text.ends_with("ctx_a{file=\"a\\\"\\\\b\\\\n\\\\u{1b}[2J\"} 1\n"), "{text}");
    }
}
