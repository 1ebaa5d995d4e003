//! `--due`: which trigger fired, and how far each is.

use std::fmt::Write;

use ctx_cli::printable;
use ctx_select::trigger::{Due, Reading, Step, Triggers};

use super::{Format, Plan, Results, json};

/// What is printed, and whether a compaction is due for any of the files.
pub(super) fn shown(triggers: &Triggers, plan: &Plan, results: &Results) -> (String, bool) {
    let (mut out, mut any) = (String::new(), false);
    for (name, result) in results {
        match result {
            Ok(report) => {
                let due = triggers.check(&report.size);
                let yes = due.step == Step::Compact;
                any |= yes;
                if plan.format == Format::Json {
                    out.push_str(&json::due(name, &report.size, &due, yes));
                } else {
                    text(&mut out, &printable(name), &due);
                }
            }
            Err(failure) if plan.format == Format::Json => {
                out.push_str(&json::failed(name, failure));
            }
            Err(_) => {}
        }
    }
    (out, any)
}

fn text(out: &mut String, name: &str, due: &Due) {
    let answer = match due.step {
        Step::None => "not due",
        Step::Flush => "not due, but a flush is",
        Step::Compact => "due",
    };
    // Writing to a string cannot fail.
    let _ = match due.held_back {
        Some(least) => writeln!(
            out,
            "{name}: {answer}: there are fewer than {least} messages"
        ),
        None => writeln!(out, "{name}: {answer}"),
    };
    let rows = due.readings.iter().map(row);
    let rows: Vec<[String; 4]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (names, values, limits) = (width(0), width(1), width(2));
    for [name, value, limit, reached] in &rows {
        let _ = writeln!(
            out,
            "  {name:<names$}  {value:>values$} of {limit:>limits$}  {reached}"
        );
    }
}

fn row(reading: &Reading) -> [String; 4] {
    let reached = match reading.reached() {
        Some(reached) => format!("{:.1}%", reached * 100.0),
        None => "-".to_owned(),
    };
    let step = match reading.step {
        Step::None => "",
        step => step.as_str(),
    };
    [
        reading.trigger.to_string(),
        reading.value.to_string(),
        reading.limit.to_string(),
        format!("{reached:>6}  {step}").trim_end().to_owned(),
    ]
}
