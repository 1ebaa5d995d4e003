//! The output: text for people and editors, JSON, annotations of GitHub Actions, and `JUnit` XML.

use std::fmt::Write;

use ctx_cli::{
    Listing, github_message, github_property, json_failure, json_line, json_name, printable, xml,
};
use ctx_engine::check::{Fault, Finding, Report};
use ctx_policy::trigger::{Due, Reading, Size, Step, Trigger, Triggers};

use super::{Args, Format, Results};

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

/// A finding after the name of its file: `:7: rule: what is wrong`.
pub(super) fn finding_line(finding: &Finding) -> String {
    let message = printable(&finding.message);
    match finding.line {
        Some(line) => format!(":{line}: {}: {message}", finding.rule),
        None => format!(": {}: {message}", finding.rule),
    }
}

fn waiting(open: usize) -> String {
    match open {
        0 => String::new(),
        1 => ", 1 call at the end waits for its result".to_owned(),
        _ => format!(", {open} calls at the end wait for their results"),
    }
}

/// An object for each file.
pub(super) fn json(args: &Args, results: &Results) -> String {
    let results = results.iter().map(|(name, result)| match result {
        Ok(report) => json_line(&report.json(json_name(name), args.all)),
        Err(failure) => json_failure(name, None, failure),
    });
    results.collect()
}

/// One `::error` command for each finding, as GitHub's documentation describes
/// workflow commands.
pub(super) fn github(args: &Args, results: &Results) -> String {
    let mut out = String::new();
    let mut error = |name: &str, line: Option<u64>, title: &str, message: &str| {
        let file = github_property(name);
        let line = line.map_or(String::new(), |line| format!(",line={line}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "::error file={file}{line},title={}::{}",
            github_property(title),
            github_message(message)
        );
    };
    for (name, result) in results {
        match result {
            Ok(report) => {
                for finding in report.shown(args.all) {
                    error(name, finding.line, finding.rule, &finding.message);
                }
            }
            Err(failure) => error(name, None, "unreadable", &failure.to_string()),
        }
    }
    out
}

/// A test case for each file.
pub(super) fn junit(args: &Args, results: &Results) -> String {
    let is_bad = |report: &Report| !report.findings.is_empty();
    let failures = results.iter().filter(|(_, result)| result.as_ref().is_ok_and(is_bad));
    let errors = results.iter().filter(|(_, result)| result.is_err());
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        results.len(),
        failures.count(),
        errors.count()
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"ctx-check\" {counts}>\n"
    );
    for (name, result) in results {
        let problem = match result {
            Ok(report) => failure(name, report, args.all),
            Err(failure) => {
                let message = xml(&failure.to_string());
                Some(format!("<error type=\"unreadable\" message=\"{message}\"/>"))
            }
        };
        let case = format!("<testcase classname=\"ctx-check\" name=\"{}\"", xml(name));
        let _ = match problem {
            None => writeln!(out, "    {case}/>"),
            Some(problem) => writeln!(out, "    {case}>\n      {problem}\n    </testcase>"),
        };
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// The first finding as the message, all that are shown as the text.
fn failure(name: &str, report: &Report, all: bool) -> Option<String> {
    let first = report.findings.first()?;
    let lines: Vec<String> =
        report.shown(all).map(|finding| xml(&format!("{name}{}", finding_line(finding)))).collect();
    Some(format!(
        "<failure type=\"{}\" message=\"{}\">{}</failure>",
        first.rule,
        xml(&first.message),
        lines.join("\n")
    ))
}

/// The output, and whether a compaction is due for any file.
pub(super) fn due(triggers: &Triggers, format: Format, results: &Results) -> (String, bool) {
    let (mut out, mut any) = (String::new(), false);
    for (name, result) in results {
        match result {
            Ok(report) => {
                let due = triggers.check(&report.size);
                let yes = due.step == Step::Compact;
                any |= yes;
                if format == Format::Json {
                    out.push_str(&json_line(&report.due_json(json_name(name), &due)));
                } else {
                    due_text(&mut out, &printable(name), &report.size, &due);
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

fn due_text(out: &mut String, name: &str, size: &Size, due: &Due) {
    let answer = match due.step {
        Step::None => "not due",
        Step::Flush => "not due, but a flush is",
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
    let mut rows = Listing::new("trigger|>value|reached");
    for reading in &due.readings {
        rows.push(due_row(reading));
    }
    out.push_str(&rows.for_stdout(None));
}

/// `messages  81 of 80  101.3%  compact`
fn due_row(reading: &Reading) -> [String; 3] {
    let step = match reading.step {
        Step::None => "",
        step => step.as_str(),
    };
    let value = match reading.trigger {
        Trigger::Overflow => "reported".to_owned(),
        _ => format!("{} of {}", reading.value, reading.limit),
    };
    let reached = reading.reached();
    let reached = reached.map_or_else(String::new, |share| format!("{:.1}%", share * 100.0));
    [format!("  {}", reading.trigger.as_str()), value, format!("{reached:>6}  {step}")]
}
