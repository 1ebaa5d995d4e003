//! Repairs a session so that its API accepts it again.
//!
//! A [`Planner`] decides from the outlines, so no record is read twice. The [`Repair`] lists each
//! [`Action`] and writes the repaired records. It keeps content where possible: a misplaced result
//! moves to its call, and only a result without a call is removed. A call without a result gets a
//! result that says so.

use crate::record::line_end;
use crate::{Object, Origin};
use std::collections::BTreeMap;

mod log;
mod plan;

pub use crate::dialect::interface::{MISSING_RESULT, NewResult, RecordChange, RepairDialect};
pub use log::{RepairedLog, repair_log};
pub use plan::{Planner, Salvage};

/// The text of the user message that is inserted before a reply at the beginning.
pub const MISSING_BEGINNING: &str = "The beginning of this session is missing.";

/// A repair of a record, or one that the record requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The line of the record.
    pub line: u64,
    /// The call's id, if any.
    pub id: String,
    /// The kind of the repair.
    pub what: RepairKind,
}

/// The kind of repair.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum RepairKind {
    /// Removes a result that answers no call.
    DropOrphan,
    /// Removes a further result of a call that already has one.
    DropRepeated,
    /// Moves a result to its call in another line.
    Move {
        /// The line of the call.
        to: u64,
    },
    /// Moves results before the other blocks of their message.
    ResultsFirst,
    /// Answers a call without a result with [`MISSING_RESULT`].
    Answer,
    /// Gives a call, and the result that answers it, a new id.
    Rename {
        /// The new id.
        to: String,
    },
    /// Inserts [`MISSING_BEGINNING`] before the record.
    Begin,
    /// Splits a damaged line into several.
    Split {
        /// The number of lines.
        into: usize,
    },
    /// Removes NUL bytes.
    RemoveNuls,
    /// Replaces bytes that are not UTF-8 by U+FFFD.
    ReplaceBytes,
    /// Removes the incomplete end of the last line.
    Cut,
    /// Adds the missing line end of the last line.
    EndLine,
    /// Inserts a header before the record.
    Header,
    /// Gives a line another parent.
    Reparent {
        /// The line of the parent.
        to: u64,
    },
    /// Changes a line as a rule of the dialect requires.
    Change {
        /// The rule.
        rule: &'static str,
    },
}

impl RepairKind {
    /// The kind's name in reports.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }

    /// A sentence about the repair of the call or result `id`.
    fn sentence(&self, id: &str) -> String {
        match self {
            Self::DropOrphan => format!("result {id} removed: it answers no call"),
            Self::DropRepeated => format!("result {id} removed: its call has a result already"),
            Self::Move { to } => format!("result {id} moved to its call in line {to}"),
            Self::ResultsFirst => "results moved before the other blocks".into(),
            Self::Answer => format!("call {id} answered: its result is missing"),
            Self::Rename { to } => format!("call {id} renamed to {to}: another call has the id"),
            Self::Begin => {
                "a user message inserted before it: the session began with a reply".into()
            }
            Self::Split { into } => format!("split into {into} lines"),
            Self::RemoveNuls => "NUL bytes removed".into(),
            Self::ReplaceBytes => "bytes that are not UTF-8 replaced".into(),
            Self::Cut => "the end cut off: the line is not complete".into(),
            Self::EndLine => "a line end added".into(),
            Self::Header => "a header inserted before".into(),
            Self::Reparent { to } => {
                format!("attached to line {to}: its parent is missing or below it")
            }
            Self::Change { rule } => format!("{rule} repaired"),
        }
    }
}

impl Action {
    /// Describes the repair and its reason, for a message.
    pub fn say(&self) -> String {
        let id = if self.id.is_empty() { "without id" } else { &self.id };
        self.what.sentence(id)
    }
}

/// All repairs of a session. Records are identified by their number, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The repairs by line.
    pub actions: Vec<Action>,
    edits: BTreeMap<usize, Edit>,
    /// All calls of the session.
    calls: Vec<Call>,
}

/// The repairs of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edit {
    /// Insert a user message before the record.
    begin: bool,
    /// Remove the record.
    drop: bool,
    change: RecordChange,
    /// Calls, by their index in [`Repair::calls`], whose results are inserted before the record's
    /// own results.
    into: Vec<usize>,
    /// Calls whose results follow the record as records of their own.
    behind: Vec<usize>,
}

/// A call of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Call {
    id: String,
    /// The id in the record, before it was renamed.
    was: String,
    record: usize,
    line: u64,
    /// Whether its result is where it should be.
    answered: bool,
    /// The wrong position where its result was found.
    found: Option<ResultAt>,
    /// The place for its result, if its exchange ended without one.
    exchange: Option<Exchange>,
}

/// The place for the results of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Exchange {
    /// The last record of the exchange; results in records of their own follow it.
    last: usize,
    /// The user message after the calls, into which results that are blocks go.
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

impl Repair {
    /// The bytes, with line ends, that replace record `at` of `records`: empty, or one or more
    /// records.
    pub fn repaired<B: AsRef<[u8]>>(
        &self,
        records: &[B],
        at: usize,
        how: &dyn RepairDialect,
    ) -> Vec<u8> {
        let bytes = records[at].as_ref();
        let Some(edit) = self.edits.get(&at) else { return bytes.to_vec() };
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
        // A last line without a line end gets none.
        let end = line_end(bytes);
        let between: &[u8] = if end.is_empty() { b"\n" } else { end };
        [lines.join(between).as_slice(), end].concat()
    }

    /// Writes the result of a call. Only objects have calls and results.
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
