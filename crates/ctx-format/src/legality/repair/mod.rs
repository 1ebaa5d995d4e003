//! Repairs a session so that its API accepts it again.
//!
//! A [`Planner`] sees the outlines and decides; nothing is read twice. The [`Repair`] lists each
//! [`Action`] and gives the repaired records. Content is kept where possible: a misplaced result
//! moves to its call, and only a result without a call is removed. A call without any result gets
//! one that says so.

use crate::dialect::text_record;
use crate::record::line_end;
use crate::{Object, Origin, Role};
use std::collections::BTreeMap;

mod plan;

pub use crate::log::repair::{RepairedLog, repair_log};
pub use plan::{Planner, Salvage};

/// The text of a result that replaces a missing one.
pub const MISSING_RESULT: &str = "The result of this call is missing from the session.";

/// The text of the user message that is put before a reply at the beginning.
pub const MISSING_BEGINNING: &str = "The beginning of this session is missing.";

/// A repair of a record, or because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The line of the record.
    pub line: u64,
    /// The call's id, if any.
    pub id: String,
    /// The kind of repair.
    pub what: RepairKind,
}

/// The kind of repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairKind {
    /// A result that answers no call goes.
    DropOrphan,
    /// A further result of a call that has one goes.
    DropRepeated,
    /// A result moves to its call, which is in that line.
    Move {
        /// The line of the call.
        to: u64,
    },
    /// Results go before the other blocks of their message.
    ResultsFirst,
    /// A call without a result is answered by [`MISSING_RESULT`].
    Answer,
    /// A call, and the result that answers it, get this id.
    Rename {
        /// The new id.
        to: String,
    },
    /// [`MISSING_BEGINNING`] goes before the record.
    Begin,
    /// A damaged line becomes several.
    Split {
        /// How many.
        into: usize,
    },
    /// NUL bytes go.
    RemoveNuls,
    /// Bytes that are no UTF-8 become U+FFFD.
    ReplaceBytes,
    /// The end of a last line that is not complete goes.
    Cut,
    /// The last line gets an end.
    EndLine,
    /// A header goes before the record.
    Header,
    /// A line gets another parent, which is in that line.
    Reparent {
        /// The line of the parent.
        to: u64,
    },
    /// The line gets what a rule of the dialect requires.
    Change {
        /// The rule.
        rule: &'static str,
    },
}

impl RepairKind {
    /// Its word in reports.
    pub fn as_str(&self) -> &'static str {
        self.words("").0
    }

    /// Its word in reports, and what it does, to the call or the result `id`.
    fn words(&self, id: &str) -> (&'static str, String) {
        match self {
            Self::DropOrphan => ("drop-orphan", format!("result {id} removed: it answers no call")),
            Self::DropRepeated => {
                ("drop-repeated", format!("result {id} removed: its call has a result already"))
            }
            Self::Move { to } => ("move", format!("result {id} moved to its call in line {to}")),
            Self::ResultsFirst => ("results-first", "results moved before the other blocks".into()),
            Self::Answer => ("answer", format!("call {id} answered: its result is missing")),
            Self::Rename { to } => {
                ("rename", format!("call {id} renamed to {to}: another call has the id"))
            }
            Self::Begin => {
                ("begin", "a user message inserted before: the session began with a reply".into())
            }
            Self::Split { into } => ("split", format!("split into {into} lines")),
            Self::RemoveNuls => ("remove-nuls", "NUL bytes removed".into()),
            Self::ReplaceBytes => ("replace-bytes", "bytes that are not UTF-8 replaced".into()),
            Self::Cut => ("cut", "the end cut off: the line is not complete".into()),
            Self::EndLine => ("end-line", "a line end added".into()),
            Self::Header => ("header", "a header inserted before".into()),
            Self::Reparent { to } => {
                ("reparent", format!("hung on line {to}: its parent is missing or hangs on it"))
            }
            Self::Change { rule } => ("change", format!("{rule} repaired")),
        }
    }
}

impl Action {
    /// The repair and its reason, for a message.
    pub fn say(&self) -> String {
        let id = if self.id.is_empty() { "without id" } else { &self.id };
        self.what.words(id).1
    }
}

/// All that is done to a session; records are known by their number, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// By line.
    pub actions: Vec<Action>,
    edits: BTreeMap<usize, Edit>,
    /// All calls of the session.
    calls: Vec<Call>,
}

/// The repairs of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edit {
    /// A user message goes before it.
    begin: bool,
    /// It is removed.
    drop: bool,
    change: RecordChange,
    /// Calls, by their place in [`Repair::calls`], whose results come into it, before
    /// its own.
    into: Vec<usize>,
    /// Calls whose results follow, as records of their own.
    behind: Vec<usize>,
}

/// A call of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    id: String,
    /// The id in the record: the same unless renamed.
    was: String,
    record: usize,
    line: u64,
    /// Its result is where it should be.
    answered: bool,
    /// The wrong place of its result.
    found: Option<ResultAt>,
    /// The place for its result, if its exchange ended without one.
    exchange: Option<Exchange>,
}

/// The place for the results of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Exchange {
    /// Its last record; results in records of their own follow it.
    last: usize,
    /// The user message that follows the calls: results that are blocks go into it.
    user: Option<usize>,
}

/// The position of a result: its record, and its index among the results there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResultAt {
    record: usize,
    place: usize,
}

#[cfg(test)]
mod tests;

/// How a dialect writes what a [`Repair`] does.
pub trait RepairDialect {
    /// The text of a record's object with `change` made to it. `into` are results, as
    /// [`Self::result`] writes them, that come into it before its own.
    fn changed(&self, object: &Object<'_>, change: &RecordChange, into: Vec<String>) -> String;

    /// A result in the format's form: a block of a message, or a record without line end. `None` if
    /// it is not where it was found.
    fn result(&self, result: &NewResult<'_>) -> Option<String>;

    /// Records, without line ends, that hold these results and nothing else.
    fn records_of(&self, results: Vec<String>) -> Vec<String>;

    /// A record, without line end, in which the user says `text`.
    fn said_by_user(&self, text: &str) -> String {
        text_record(Role::User, text)
    }
}

/// The changes of a record. Calls and results are identified by their index among the calls or the
/// results of the record, from 0.
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
    /// The record that has the result now, and its index among the results there; `None` if there
    /// is none, and [`MISSING_RESULT`] replaces it.
    pub found: Option<(Object<'a>, usize)>,
}

impl Repair {
    /// What replaces record `at` of `records`, line ends included: nothing, or one or more records.
    pub fn repaired<B: AsRef<[u8]>>(
        &self,
        records: &[B],
        at: usize,
        how: &dyn RepairDialect,
    ) -> Vec<u8> {
        let bytes = records[at].as_ref();
        let Some(edit) = self.edits.get(&at) else {
            return bytes.to_vec();
        };
        let results = |calls: &[usize]| -> Vec<String> {
            let results = calls.iter().map(|call| self.result(records, *call));
            results.filter_map(|it| how.result(&it?)).collect()
        };
        let mut lines: Vec<Vec<u8>> = Vec::new();
        if edit.begin {
            lines.push(how.said_by_user(MISSING_BEGINNING).into_bytes());
        }
        if !edit.drop {
            let own = line(bytes);
            lines.push(match object(own) {
                Some(object) => {
                    let text = how.changed(&object, &edit.change, results(&edit.into));
                    // A byte order mark may precede the text.
                    [&own[..own.len() - object.text().len()], text.as_bytes()].concat()
                }
                None => own.to_vec(),
            });
        }
        if !edit.behind.is_empty() {
            let behind = how.records_of(results(&edit.behind));
            lines.extend(behind.into_iter().map(String::into_bytes));
        }
        if lines.is_empty() {
            return Vec::new();
        }
        // A last line without its end keeps that.
        let end = line_end(bytes);
        let between: &[u8] = if end.is_empty() { b"\n" } else { end };
        [lines.join(between).as_slice(), end].concat()
    }

    /// The result that a call gets. Only objects hold calls and results.
    fn result<'a, B: AsRef<[u8]>>(
        &'a self,
        records: &'a [B],
        call: usize,
    ) -> Option<NewResult<'a>> {
        let object = |record: usize| object(line(records[record].as_ref()));
        let call = &self.calls[call];
        let found = match call.found {
            Some(at) => Some((object(at.record)?, at.place)),
            None => None,
        };
        Some(NewResult { id: &call.id, call: object(call.record)?, found })
    }
}

/// A record without its line end.
fn line(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - line_end(bytes).len()]
}

fn object(bytes: &[u8]) -> Option<Object<'_>> {
    Origin::ALONE.record(bytes).object().cloned()
}
