//! What programs read. The keys are a contract: new ones may come, none goes.

use ctx_cli::{Failure, json_line, json_name};
use ctx_passes::check::{Finding, Report};
use ctx_select::trigger::{Due, Size};
use serde::Serialize;

use super::{Args, Results};

/// A file that was checked.
#[derive(Serialize)]
struct Checked<'a> {
    name: Option<&'a str>,
    dialect: Option<&'static str>,
    legal: bool,
    within_limits: bool,
    #[serde(flatten)]
    size: &'a Size,
    records: u64,
    bad: u64,
    tail: Option<u64>,
    offences: usize,
    open: usize,
    findings: Vec<&'a Finding>,
    /// What else is odd about an agent's own file.
    remarks: Vec<&'a Finding>,
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
    size: &'a Size,
    triggers: Vec<Reading>,
}

#[derive(Serialize)]
struct Reading {
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

/// An object for each file.
pub(super) fn of(args: &Args, results: &Results) -> String {
    let line = |(name, result): &(String, Result<Report, Failure>)| match result {
        Ok(report) => checked(name, report, args.all),
        Err(failure) => failed(name, failure),
    };
    results.iter().map(line).collect()
}

fn checked(name: &str, report: &Report, all: bool) -> String {
    json_line(&Checked {
        name: json_name(name),
        dialect: report.dialect,
        legal: report.offences() == 0,
        within_limits: report.exceeded() == 0,
        size: &report.size,
        records: report.records,
        bad: report.bad.count(),
        tail: report.tail,
        offences: report.offences(),
        open: report.open,
        findings: report.shown(all).collect(),
        remarks: report
            .remarks
            .iter()
            .map(|remark| &remark.finding)
            .collect(),
    })
}

/// The answer to `--due` of one file.
pub(super) fn due(name: &str, size: &Size, due: &Due, yes: bool) -> String {
    let readings = due.readings.iter();
    json_line(&Answer {
        name: json_name(name),
        due: yes,
        step: due.step.as_str(),
        held_back: due.held_back,
        size,
        triggers: readings
            .map(|reading| Reading {
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
    json_line(&Failed {
        name: json_name(name),
        error: failure.to_string(),
    })
}
