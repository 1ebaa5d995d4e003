//! `--due`: which trigger fired, and how far each is.

use std::fmt::Write;

use ctx_cli::{json_failure, json_line, json_name, printable};
use ctx_policy::trigger::{Due, Reading, Size, Step, Trigger, Triggers};

use super::{Format, Results};

/// The output, and whether a compaction is due for any file.
pub(super) fn shown(triggers: &Triggers, format: Format, results: &Results) -> (String, bool) {
    let (mut out, mut any) = (String::new(), false);
    for (name, result) in results {
        match result {
            Ok(report) => {
                let due = triggers.check(&report.size);
                let yes = due.step == Step::Compact;
                any |= yes;
                if format == Format::Json {
                    out.push_str(&json_line(&report.told_due(json_name(name), &due)));
                } else {
                    text(&mut out, &printable(name), &report.size, &due);
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

fn text(out: &mut String, name: &str, size: &Size, due: &Due) {
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
    let rows: Vec<[String; 3]> = due.readings.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (names, values) = (width(0), width(1));
    for [name, value, reached] in &rows {
        let line = format!("  {name:<names$}  {value:>values$}  {reached}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// `messages  81 of 80  101.3%  compact`
fn row(reading: &Reading) -> [String; 3] {
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
    [reading.trigger.as_str().to_owned(), value, format!("{reached:>6}  {step}")]
}
