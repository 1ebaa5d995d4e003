//! The reports of `ctx-offload`. The keys are a contract: keys may be added, never removed.

use serde::Serialize;

use super::{OffloadedResult, Offloader, Reference, Restorer};

/// The run of the tool.
#[derive(Clone, Copy, Serialize)]
pub struct Run<'a> {
    /// The session as the user named it; `None` for stdin.
    pub name: Option<&'a str>,
    /// Its id in the store.
    pub session: &'a str,
    /// The file that is written.
    pub output: Option<&'a str>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// The results that were moved out.
#[derive(Serialize)]
pub struct OffloadReport<'a> {
    #[serde(flatten)]
    run: Run<'a>,
    offloaded: Vec<ResultReport<'a>>,
    freed_tokens: u64,
}

#[derive(Serialize)]
struct ResultReport<'a> {
    line: u64,
    tokens: u64,
    bytes: u64,
    path: &'a str,
}

/// The results that were put back, and those that could not be.
#[derive(Serialize)]
pub struct RestoreReport<'a> {
    #[serde(flatten)]
    run: Run<'a>,
    restored: Vec<ReferenceReport<'a>>,
    missing: Vec<ReferenceReport<'a>>,
    elsewhere: Vec<ReferenceReport<'a>>,
    /// How many texts only look like references.
    foreign: u64,
}

#[derive(Serialize)]
struct ReferenceReport<'a> {
    line: u64,
    path: &'a str,
    /// Why it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> OffloadReport<'a> {
    /// The report about offloaded results.
    pub fn new(offloader: &'a Offloader<'_>, run: Run<'a>) -> Self {
        let result = |result: &'a OffloadedResult| ResultReport {
            line: result.line,
            tokens: result.tokens,
            bytes: result.bytes,
            path: &result.path,
        };
        let results = offloader.results.iter().map(result).collect();
        Self { run, offloaded: results, freed_tokens: offloader.freed }
    }
}

impl<'a> RestoreReport<'a> {
    /// The report about restored results.
    pub fn new(restorer: &'a Restorer<'_>, run: Run<'a>) -> Self {
        let plain = |reference| ReferenceReport::new(reference, None);
        let missing = restorer
            .missing
            .iter()
            .map(|(reference, error)| ReferenceReport::new(reference, Some(error.to_string())));
        Self {
            run,
            restored: restorer.restored.iter().map(plain).collect(),
            missing: missing.collect(),
            elsewhere: restorer.elsewhere.iter().map(plain).collect(),
            foreign: restorer.foreign.count,
        }
    }
}

impl<'a> ReferenceReport<'a> {
    fn new(reference: &'a Reference, error: Option<String>) -> Self {
        Self { line: reference.line, path: &reference.path, error }
    }
}
