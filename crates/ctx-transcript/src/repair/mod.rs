//! Repairing a session: what must be done so that its API takes it again.
//!
//! A [`Planner`] sees the outlines and decides; nothing is read twice. The
//! [`Repair`] says each [`Action`] and gives the repaired records. What a session
//! says is kept where it can be: a result that stands at the wrong place is
//! moved to its call, and only one that answers nothing goes. A call that has no
//! result anywhere is answered by one that says so.

mod dialect;
mod log;
mod plan;
mod salvage;
mod write;

use std::collections::BTreeMap;

pub use dialect::{NewResult, RecordChange, RepairDialect, ResultSource};
pub use log::{RepairedLog, repair_log};
pub use plan::Planner;
pub use salvage::Salvage;

/// What a result says that stands for a missing one.
pub const MISSING_RESULT: &str = "The result of this call is missing from the session.";

/// What the user's message says that stands before a reply that came first.
pub const MISSING_BEGINNING: &str = "The beginning of this session is missing.";

/// What is done to one record, or because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The line of the record.
    pub line: u64,
    /// The call's id, where there is one.
    pub id: String,
    /// What is done.
    pub what: What,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
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
    /// What a rule of the dialect demands is put into the line.
    Change {
        /// The rule.
        rule: &'static str,
    },
}

impl What {
    /// Its word in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::DropOrphan => "drop-orphan",
            Self::DropRepeated => "drop-repeated",
            Self::Move { .. } => "move",
            Self::ResultsFirst => "results-first",
            Self::Answer => "answer",
            Self::Rename { .. } => "rename",
            Self::Begin => "begin",
            Self::Split { .. } => "split",
            Self::RemoveNuls => "remove-nuls",
            Self::ReplaceBytes => "replace-bytes",
            Self::Cut => "cut",
            Self::EndLine => "end-line",
            Self::Header => "header",
            Self::Reparent { .. } => "reparent",
            Self::Change { .. } => "change",
        }
    }
}

impl Action {
    /// What is done and why, for a message.
    pub fn say(&self) -> String {
        let id = match self.id.as_str() {
            "" => "without id",
            id => id,
        };
        match &self.what {
            What::DropOrphan => format!("result {id} removed: it answers no call"),
            What::DropRepeated => format!("result {id} removed: its call has a result already"),
            What::Move { to } => format!("result {id} moved to its call in line {to}"),
            What::ResultsFirst => "results moved before the other blocks".to_owned(),
            What::Answer => format!("call {id} answered: its result is missing"),
            What::Rename { to } => {
                format!("call {id} renamed to {to}: another call has the id")
            }
            What::Begin => {
                "a user message inserted before: the session began with a reply".to_owned()
            }
            What::Split { into } => format!("split into {into} lines"),
            What::RemoveNuls => "NUL bytes removed".to_owned(),
            What::ReplaceBytes => "bytes that are not UTF-8 replaced".to_owned(),
            What::Cut => "the end cut off: the line is not complete".to_owned(),
            What::EndLine => "a line end added".to_owned(),
            What::Header => "a header inserted before".to_owned(),
            What::Reparent { to } => {
                format!("hung on line {to}: its parent is missing or hangs on it")
            }
            What::Change { rule } => format!("{rule} repaired"),
        }
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

/// What is done to one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edit {
    /// A user message goes before it.
    begin: bool,
    /// It goes.
    drop: bool,
    change: RecordChange,
    /// Calls, by their place in [`Repair::calls`], whose results come into it, before
    /// its own.
    into: Vec<usize>,
    /// Calls whose results come behind it, as records of their own.
    behind: Vec<usize>,
}

/// A call of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    id: String,
    /// As the record has it: the same unless renamed.
    was: String,
    record: usize,
    line: u64,
    /// Its result stands where it should.
    answered: bool,
    /// Where its result was found instead.
    found: Option<ResultAt>,
    /// Where its result belongs, once its exchange is over and there is none.
    exchange: Option<Exchange>,
}

/// Where the results of some calls belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Exchange {
    /// The last record of it: results that are records go behind it.
    last: usize,
    /// The user message that follows the calls: results that are blocks go into it.
    user: Option<usize>,
}

/// Where a result stands: its record, and its place among the results there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResultAt {
    record: usize,
    place: usize,
}

#[cfg(test)]
mod tests;
