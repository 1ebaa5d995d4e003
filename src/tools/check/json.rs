//! What programs read. The keys are a contract: new ones may come, none goes.

use ctx_cli::Failure;
use ctx_select::trigger::{Due, Size};
use serde::Serialize;

use super::finding::Kind;
use super::report::Report;
use super::{Args, Results};

/// A file that was checked.
#[derive(Serialize)]
struct Checked<'a> {
    name: Option<&'a str>,
    dialect: Option<&'static str>,
    legal: bool,
    within_limits: bool,
    #[serde(flatten)]
    sizes: Sizes,
    records: u64,
    bad: u64,
    tail: Option<u64>,
    offences: usize,
    open: usize,
    findings: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    line: Option<u64>,
    rule: &'static str,
    id: Option<&'a str>,
    message: &'a str,
}

#[derive(Serialize)]
struct Sizes {
    messages: u64,
    turns: u64,
    tokens: u64,
    tool_bytes: u64,
}

/// The answer to `--due`.
#[derive(Serialize)]
struct Answer<'a> {
    name: Option<&'a str>,
    due: bool,
    step: &'static str,
    /// The `--min-messages` that are not reached.
    held_back: Option<u64>,
    #[serde(flatten)]
    sizes: Sizes,
    triggers: Vec<Read>,
}

#[derive(Serialize)]
struct Read {
    trigger: &'static str,
    value: u64,
    limit: u64,
    /// value / limit; null where the limit is 0.
    reached: Option<f64>,
    fired: bool,
    step: &'static str,
}

/// A file that could not be read.
#[derive(Serialize)]
struct Failed<'a> {
    name: Option<&'a str>,
    error: String,
}

impl From<&Size> for Sizes {
    fn from(size: &Size) -> Self {
        Self {
            messages: size.messages,
            turns: size.turns,
            tokens: size.tokens,
            tool_bytes: size.tool_bytes,
        }
    }
}

/// An object for each file.
pub(super) fn of(args: &Args, results: &Results) -> String {
    let mut out = String::new();
    for (name, result) in results {
        out.push_str(&match result {
            Ok(report) => checked(name, report, args.all),
            Err(failure) => failed(name, failure),
        });
    }
    out
}

fn checked(name: &str, report: &Report, all: bool) -> String {
    let limits = |kind| kind == Kind::Limit;
    line(&Checked {
        name: named(name),
        dialect: report.dialect,
        legal: report.is_legal(),
        within_limits: !report.findings.iter().any(|finding| limits(finding.kind)),
        sizes: Sizes::from(&report.size),
        records: report.records,
        bad: report.bad.count(),
        tail: report.tail,
        offences: report.offences(),
        open: report.open,
        findings: report
            .shown(all)
            .map(|finding| Found {
                line: finding.line,
                rule: finding.rule,
                id: finding.id.as_deref(),
                message: &finding.message,
            })
            .collect(),
    })
}

/// The answer to `--due` of one file.
pub(super) fn due(name: &str, size: &Size, due: &Due, yes: bool) -> String {
    line(&Answer {
        name: named(name),
        due: yes,
        step: due.step.as_str(),
        held_back: due.held_back,
        sizes: Sizes::from(size),
        triggers: due
            .readings
            .iter()
            .map(|reading| Read {
                trigger: reading.trigger.as_str(),
                value: reading.value,
                limit: reading.limit,
                reached: reading.reached(),
                fired: reading.fired(),
                step: reading.step.as_str(),
            })
            .collect(),
    })
}

/// A file that could not be read.
pub(super) fn failed(name: &str, failure: &Failure) -> String {
    line(&Failed {
        name: named(name),
        error: failure.to_string(),
    })
}

fn named(name: &str) -> Option<&str> {
    Some(name).filter(|name| *name != ctx_cli::STDIN_NAME)
}

fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("keys are strings, numbers are finite");
    text.push('\n');
    text
}
