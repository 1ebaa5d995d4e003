//! How the records of a dialect change in a repair.

use std::collections::BTreeMap;

use crate::dialect::content::text_record;
use crate::{Object, Role};

/// The text of a result that replaces a missing one.
pub const MISSING_RESULT: &str = "The result of this call is missing from the session.";

/// Writes the changes of a [`Repair`](crate::repair::Repair) in a dialect.
pub trait RepairDialect {
    /// Returns the text of a record's object with `change` made. `into` are results, as
    /// [`Self::result`] writes them, that are inserted before the object's own results.
    fn changed(&self, object: &Object<'_>, change: &RecordChange, into: Vec<String>) -> String;

    /// Writes a result in the format's form: a block of a message, or a record without line end.
    /// `None` if the result is not at the position where it was found.
    fn result(&self, result: &NewResult<'_>) -> Option<String>;

    /// Writes records, without line ends, that hold only these results.
    fn records_of(&self, results: Vec<String>) -> Vec<String>;

    /// Writes a record, without line end, with the user message `text`.
    fn said_by_user(&self, text: &str) -> String {
        text_record(Role::User, text)
    }
}

/// The changes of a record. Calls and results are identified by their index among the calls or the
/// results of the record, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// The results to remove.
    pub without: Vec<usize>,
    /// Whether results move before all other content.
    pub results_first: bool,
    /// New ids of calls.
    pub rename_calls: BTreeMap<usize, String>,
    /// New ids in results, to match renamed calls.
    pub rename_results: BTreeMap<usize, String>,
}

/// A result that is moved to its call, or made for it.
#[derive(Debug)]
pub struct NewResult<'a> {
    /// The id of the call, which the result must name.
    pub id: &'a str,
    /// The record of the call.
    pub call: Object<'a>,
    /// The record with the result, and the result's index among the results there; `None` if the
    /// result is missing and [`MISSING_RESULT`] replaces it.
    pub found: Option<(Object<'a>, usize)>,
}
