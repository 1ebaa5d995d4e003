//! What was taken out of a session, or put back, for programs.

use serde::Serialize;

use super::{OffloadedResult, Offloader, Reference, Restorer};

/// The session that it was done with.
#[derive(Clone, Copy, Serialize)]
pub struct Of<'a> {
    /// As it was named; null for stdin.
    pub name: Option<&'a str>,
    /// Its id in the store.
    pub session: &'a str,
    /// The file that is written.
    pub output: Option<&'a str>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// What was taken out. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
pub struct ToldOffload<'a> {
    #[serde(flatten)]
    of: Of<'a>,
    offloaded: Vec<ToldResult<'a>>,
    freed_tokens: u64,
}

#[derive(Serialize)]
struct ToldResult<'a> {
    line: u64,
    tokens: u64,
    bytes: u64,
    path: &'a str,
}

/// What was put back, and what could not be.
#[derive(Serialize)]
pub struct ToldRestore<'a> {
    #[serde(flatten)]
    of: Of<'a>,
    restored: Vec<ToldReference<'a>>,
    missing: Vec<ToldReference<'a>>,
    elsewhere: Vec<ToldReference<'a>>,
    /// How many texts look like references and are none of ours.
    foreign: u64,
}

#[derive(Serialize)]
struct ToldReference<'a> {
    line: u64,
    path: &'a str,
    /// Why it is left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Offloader<'_> {
    /// What was taken out of a session.
    pub fn told<'a>(&'a self, of: Of<'a>) -> ToldOffload<'a> {
        let result = |result: &'a OffloadedResult| ToldResult {
            line: result.line,
            tokens: result.tokens,
            bytes: result.bytes,
            path: &result.path,
        };
        ToldOffload {
            of,
            offloaded: self.results.iter().map(result).collect(),
            freed_tokens: self.freed,
        }
    }
}

impl Restorer<'_> {
    /// What was put back into a session.
    pub fn told<'a>(&'a self, of: Of<'a>) -> ToldRestore<'a> {
        let plain = |reference: &'a Reference| ToldReference::of(reference, None);
        let missing = self.missing.iter();
        let missing =
            missing.map(|(reference, error)| ToldReference::of(reference, Some(error.to_string())));
        ToldRestore {
            of,
            restored: self.restored.iter().map(plain).collect(),
            missing: missing.collect(),
            elsewhere: self.elsewhere.iter().map(plain).collect(),
            foreign: self.foreign.count,
        }
    }
}

impl<'a> ToldReference<'a> {
    fn of(reference: &'a Reference, error: Option<String>) -> Self {
        Self {
            line: reference.line,
            path: &reference.path,
            error,
        }
    }
}
