//! `--calibrate`: what a context comes to, by what the API said of its requests.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ctx_cli::{
    Failure, Io, Outcome, in_parallel, jobs_of, json_line, json_name, percent, printable,
    report_failures,
};
use ctx_passes::count::{Calibration, CalibrationPass, Reply};
use ctx_passes::{BadLines, ErrorKind};
use ctx_select::calibrate::Estimate;
use serde::Serialize;

use super::Args;
use crate::counting::Counting;
use crate::passes;
use crate::target::Target;

/// A file, calibrated.
struct File {
    /// As the user named it.
    name: String,
    calibration: Calibration,
    bad: BadLines,
}

/// Prints it for all files.
pub(super) fn run(
    args: &Args,
    counting: &Counting,
    paths: &[PathBuf],
    target: Target<'_>,
    io: &mut Io,
) -> Outcome {
    let results = in_parallel(paths, jobs_of(args.jobs), |path| {
        calibrated(args, counting, path)
    });
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(file) => {
                passes::telling(&file.name, io, |notes| file.bad.report(notes));
                files.push(file);
            }
            Err(failure) => failures.push(failure),
        }
    }
    let status = report_failures(failures, paths.len(), io)?;
    let shown = if args.json {
        json(counting, &files)
    } else {
        text(counting, &files)
    };
    target.write(shown.as_bytes(), io)?;
    Ok(status)
}

fn calibrated(args: &Args, counting: &Counting, path: &Path) -> Result<File, Failure> {
    let mut session = args.read.open(path)?;
    let dialect = session.dialect();
    let mut pass = CalibrationPass::new(counting.counter, dialect);
    session.pass(|record| {
        if dialect.is_none() && record.whole_object().is_some() {
            return Err(ErrorKind::NoMessage { batch: false }.at(record.line));
        }
        pass.push(record, None);
        Ok(())
    })?;
    Ok(File {
        calibration: pass.finish(),
        bad: session.bad().clone(),
        name: session.name,
    })
}

impl File {
    /// What it comes to, and whether that is by recorded usage.
    fn estimate(&self, counting: &Counting) -> (Estimate, bool) {
        let Calibration {
            estimate, counted, ..
        } = self.calibration;
        let uncalibrated =
            || Estimate::uncalibrated(counted, counting.counter.encoding(), counting.model);
        (estimate.unwrap_or_else(uncalibrated), estimate.is_some())
    }
}

/// What people read: a block for each file.
fn text(counting: &Counting, files: &[File]) -> String {
    let mut out = String::new();
    for file in files {
        let (estimate, is_calibrated) = file.estimate(counting);
        let Estimate { low, tokens, high } = estimate;
        let name = printable(&file.name);
        let how = if is_calibrated {
            "calibrated"
        } else {
            "no recorded usage"
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name}: {tokens} tokens, {low} to {high} ({how})");
        let calibration = &file.calibration;
        let _ = writeln!(out, "  counted  {}", calibration.counted);
        if is_calibrated {
            learned(&mut out, calibration);
        }
    }
    out
}

fn learned(out: &mut String, calibration: &Calibration) {
    let (all, held) = calibration.foretold();
    let mut row = |what: &str, value: String| {
        let _ = writeln!(out, "  {what:<7}  {value}");
    };
    if let Some(model) = &calibration.model {
        row("model", printable(model));
    }
    row("replies", calibration.replies.len().to_string());
    row("factor", format!("{:.3}", calibration.factor));
    row("base", calibration.base.unwrap_or_default().to_string());
    if all > 0 {
        let share = percent(held as u64, all as u64);
        row("held", format!("{share} ({held} of {all} replies)"));
    }
}

/// What programs read. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
struct Line<'a> {
    name: Option<&'a str>,
    calibrated: bool,
    counted: u64,
    low: u64,
    tokens: u64,
    high: u64,
    encoding: &'static str,
    model: Option<&'a str>,
    factor: Option<f64>,
    base: Option<u64>,
    replies: Vec<OfReply<'a>>,
}

#[derive(Serialize)]
struct OfReply<'a> {
    line: u64,
    model: Option<&'a str>,
    counted: u64,
    prompt: u64,
    /// What the replies before said of it; null of the first.
    low: Option<u64>,
    tokens: Option<u64>,
    high: Option<u64>,
}

/// An object for each file.
fn json(counting: &Counting, files: &[File]) -> String {
    files
        .iter()
        .map(|file| json_line(&line(counting, file)))
        .collect()
}

fn line<'a>(counting: &Counting, file: &'a File) -> Line<'a> {
    let (estimate, calibrated) = file.estimate(counting);
    let calibration = &file.calibration;
    Line {
        name: json_name(&file.name),
        calibrated,
        counted: calibration.counted,
        low: estimate.low,
        tokens: estimate.tokens,
        high: estimate.high,
        encoding: counting.counter.encoding().name(),
        model: calibration.model.as_deref(),
        factor: calibrated.then_some(calibration.factor),
        base: calibration.base,
        replies: calibration.replies.iter().map(of_reply).collect(),
    }
}

fn of_reply(reply: &Reply) -> OfReply<'_> {
    OfReply {
        line: reply.line,
        model: reply.model.as_deref(),
        counted: reply.counted,
        prompt: reply.prompt,
        low: reply.estimate.map(|estimate| estimate.low),
        tokens: reply.estimate.map(|estimate| estimate.tokens),
        high: reply.estimate.map(|estimate| estimate.high),
    }
}
