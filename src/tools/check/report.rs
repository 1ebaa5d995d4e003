//! Formats the findings as text for people and editors, as JSON, as annotations for GitHub Actions,
//! and as `JUnit` XML.

use std::fmt::Write;

use ctx_cli::{
    Listing, Result, github_message, github_property, json_failure, json_line, json_name,
    json_object, printable, xml,
};
use ctx_engine::check::{Fault, Finding, Report};
use ctx_policy::trigger::{Due, Reading, Size, Step, Trigger, Triggers};
use minijinja::{Value, context};

use super::{Args, Format, Results};
use crate::json;
use crate::template::filled;

pub(super) fn text(args: &Args, results: &Results) -> String {
    let mut out = String::new();
    for (name, result) in results {
        if let Ok(report) = result {
            file(&mut out, &printable(name), report, args.all);
        }
    }
    out
}

fn file(out: &mut String, name: &str, report: &Report, all: bool) {
    if report.findings.is_empty() {
        let _ = writeln!(out, "{name}: ok{}", waiting(report.open));
        return;
    }
    let problems = report.problems();
    for finding in report.shown(all) {
        let is_first = !all && problems > 1 && finding.fault == Fault::Problem;
        let of = is_first.then(|| format!(" (the first of {problems} problems; --all shows each)"));
        let of = of.unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name}{}{of}", finding_line(finding));
    }
}

/// Formats a finding for output after the file name: `:7: rule: what is wrong`.
pub(super) fn finding_line(finding: &Finding) -> String {
    let message = printable(&finding.message);
    let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{line}: {}: {message}", finding.rule)
}

fn waiting(open: usize) -> String {
    match open {
        0 => String::new(),
        1 => ", 1 call at the end waits for its result".to_owned(),
        _ => format!(", {open} calls at the end wait for their results"),
    }
}

/// Returns a JSON object for each file.
pub(super) fn json(args: &Args, results: &Results) -> String {
    let results = results.iter().map(|(name, result)| match result {
        Ok(report) => file_json(name, report, args.all),
        Err(failure) => json_failure(name, None, failure),
    });
    results.collect()
}

/// Returns the report on the file `name`. It lists only the first problem unless `all` is set.
fn file_json(name: &str, report: &Report, all: bool) -> String {
    let remarks = report.remarks.iter().map(|remark| &remark.finding);
    json_line(&json_object! {
        name: json_name(name),
        dialect: report.dialect,
        legal: report.problems() == 0,
        within_limits: report.exceeded() == 0,
        #[serde(flatten)]
        size: &report.size,
        records: report.records,
        bad_lines: report.bad.count(),
        tail: report.tail,
        problems: report.problems(),
        /// The number of problems that the caller's options allow.
        allowed: report.allowed.values().sum::<usize>(),
        open: report.open,
        findings: report.shown(all).collect::<Vec<_>>(),
        /// Irregularities in an agent's log that are not problems.
        remarks: remarks.collect::<Vec<_>>(),
    })
}

/// Returns one `::error` command for each finding, in the syntax of GitHub's workflow commands.
pub(super) fn github(args: &Args, results: &Results) -> String {
    let values = context! { files => files(args, results, github_property) };
    filled(include_str!("github.txt"), github_message, values)
}

/// Returns `JUnit` XML with a test case for each file.
pub(super) fn junit(args: &Args, results: &Results) -> String {
    filled(include_str!("junit.xml"), xml, context! { files => files(args, results, xml) })
}

/// Returns the values for the templates. The file names are escaped with `escaped`.
fn files(args: &Args, results: &Results, escaped: fn(&str) -> String) -> Vec<Value> {
    let finding = |finding: &Finding| {
        let (rule, message) = (finding.rule, &finding.message);
        context! { line => finding.line, rule, message, text => finding_line(finding) }
    };
    let file = |(name, result): &(String, Result<Report>)| {
        let (findings, error) = match result {
            Ok(report) => (report.shown(args.all).map(finding).collect(), None),
            Err(failure) => (Vec::new(), Some(failure.to_string())),
        };
        context! { name => Value::from_safe_string(escaped(name)), findings, error }
    };
    results.iter().map(file).collect()
}

/// Returns the report on the triggers, and true if a compaction is due for any file.
pub(super) fn due(triggers: &Triggers, format: Format, results: &Results) -> (String, bool) {
    let (mut out, mut any) = (String::new(), false);
    for (name, result) in results {
        match result {
            Ok(report) => {
                let due = triggers.check(&report.size);
                let yes = due.step == Step::Compact;
                any |= yes;
                if format == Format::Json {
                    out.push_str(&json_line(&json::due(name, &report.size, &due)));
                } else {
                    let assumed = triggers.window.or(report.size.window).is_none();
                    let assumed = assumed.then_some(triggers.window());
                    due_text(&mut out, &printable(name), &report.size, &due, assumed);
                }
            }
            Err(failure) if format == Format::Json => {
                out.push_str(&json_failure(name, None, failure));
            }
            Err(_) => {}
        }
    }
    (out, any)
}

fn due_text(out: &mut String, name: &str, size: &Size, due: &Due, assumed: Option<u64>) {
    let answer = match due.step {
        Step::None => "not due",
        Step::Flush => "not due, but a flush is due",
        Step::Compact => "due",
    };
    let held_back = due
        .held_back
        .map_or_else(String::new, |least| format!(": there are fewer than {least} messages"));
    let calibrated = size.calibrated.map_or_else(String::new, |most| {
        format!(" (calibrated: {} counted, about {most} tokens)", size.tokens)
    });
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name}: {answer}{held_back}{calibrated}");
    let mut rows = Listing::new("trigger|value|step");
    for reading in &due.readings {
        rows.push(due_row(reading, assumed));
    }
    out.push_str(&rows.for_stdout(None));
}

/// Formats the row for a trigger, such as `messages  81 of 80  compact`.
fn due_row(reading: &Reading, assumed: Option<u64>) -> [String; 3] {
    let step = match reading.step {
        Step::None => "",
        step => step.into(),
    };
    let assumed = assumed.filter(|_| matches!(reading.trigger, Trigger::Share | Trigger::Reserve));
    let within =
        assumed.map_or_else(String::new, |window| format!(" (in an assumed window of {window})"));
    let value = match reading.trigger {
        Trigger::Overflow => "reported".to_owned(),
        _ => format!("{} of {}{within}", reading.value, reading.limit),
    };
    [format!("  {}", <&str>::from(reading.trigger)), value, step.to_owned()]
}
