//! What programs read.

use ctx_cli::{Failure, json_line, json_name};
use serde::Serialize;

use super::{Args, Results};

/// A file that could not be read.
#[derive(Serialize)]
struct Failed<'a> {
    name: Option<&'a str>,
    error: String,
}

/// An object for each file.
pub(super) fn of(args: &Args, results: &Results) -> String {
    let results = results.iter().map(|(name, result)| match result {
        Ok(report) => json_line(&report.told(json_name(name), args.all)),
        Err(failure) => failed(name, failure),
    });
    results.collect()
}

/// A file that could not be read.
pub(super) fn failed(name: &str, failure: &Failure) -> String {
    json_line(&Failed {
        name: json_name(name),
        error: failure.to_string(),
    })
}
