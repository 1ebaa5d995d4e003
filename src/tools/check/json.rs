//! What programs read.

use ctx_cli::{json_failure, json_line, json_name};

use super::{Args, Results};

/// An object for each file.
pub(super) fn of(args: &Args, results: &Results) -> String {
    let results = results.iter().map(|(name, result)| match result {
        Ok(report) => json_line(&report.told(json_name(name), args.all)),
        Err(failure) => json_failure(name, None, failure),
    });
    results.collect()
}
