//! What people read, and editors: `FILE:LINE: rule: what is wrong`.

use std::fmt::Write;

use ctx_cli::printable;

use ctx_passes::check::{Fault, Finding, Report};

use super::{Args, Results};

pub(super) fn of(args: &Args, results: &Results) -> String {
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
        let first = !all && problems > 1 && finding.fault == Fault::Problem;
        let of = if first {
            format!(" (the first of {problems} problems; --all shows each)")
        } else {
            String::new()
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name}{}{of}", line(finding));
    }
}

/// A finding behind the name of its file: `:7: rule: what is wrong`.
pub(super) fn line(finding: &Finding) -> String {
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
