//! What repairing asks of a dialect: how its records are written.

use std::collections::BTreeMap;

use crate::Object;

/// How a dialect writes what a [`super::Repair`] does.
pub trait RepairDialect {
    /// The text of a record's object with `change` made to it. `into` are results, as
    /// [`Self::result`] writes them, that come into it before its own.
    fn changed(&self, object: &Object<'_>, change: &RecordChange, into: Vec<String>) -> String;

    /// A result as the format has it: a block of a message, or a record without line end.
    /// `None` when it is not where it was found.
    fn result(&self, result: &NewResult<'_>) -> Option<String>;

    /// Records, without line ends, that hold these results and nothing else.
    fn records_of(&self, results: Vec<String>) -> Vec<String>;

    /// A record, without line end, in which the user says `text`.
    fn said_by_user(&self, text: &str) -> String;
}

/// What changes in a record. Calls and results are known by their place among the
/// calls or the results of the record, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// Results that go.
    pub without: Vec<usize>,
    /// Results go before all other content.
    pub results_first: bool,
    /// New ids of calls.
    pub rename_calls: BTreeMap<usize, String>,
    /// New ids of the calls that results name.
    pub rename_results: BTreeMap<usize, String>,
}

/// A result that comes to its call.
#[derive(Debug)]
pub struct NewResult<'a> {
    /// The id of the call, which the result has to name.
    pub id: &'a str,
    /// The record of the call.
    pub call: Object<'a>,
    /// Where the result stands now; `None` when there is none, and
    /// [`super::MISSING_RESULT`] takes its place.
    pub found: Option<ResultSource<'a>>,
}

/// A result in another record.
#[derive(Debug)]
pub struct ResultSource<'a> {
    /// The record.
    pub record: Object<'a>,
    /// Its place among the results of the record.
    pub place: usize,
}
