//! Repairs a session so that the API accepts it again.
//!
//! [`repair`] repairs a whole session. For calls and results, a [`Planner`] decides which repairs
//! to make, based only on the messages' outlines, and a [`Repair`] lists every [`Action`] and
//! writes the repaired records. Content is kept where possible: a misplaced result is moved to its
//! call, and only results without a call, repeated results, and text that is not JSON are removed.
//! A call without a result gets a result that says that the original is missing.

use crate::record::line_end;
use crate::{Dialect, Object, Origin, Rule, counted};
use std::collections::BTreeMap;
use std::sync::LazyLock;

mod copy;
mod plan;

pub use crate::dialect::interface::{MISSING_RESULT, NewResult, RecordChange};
pub use copy::{RepairedCopy, repair};
pub use plan::{Planner, Salvage};

/// The sentence about each kind of repair. `{id}` stands for the id of the call or the result, and
/// `{to}` for what else is different each time.
static SENTENCES: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("sentences.json")).expect("sentences.json is valid")
});

/// The text of the user message inserted before a session that begins with a reply.
pub const MISSING_BEGINNING: &str = "The beginning of this session is missing.";

/// A repair, attributed to the record that makes it necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The line number of the record in the source.
    pub line: u64,
    /// The id of the call or the result, or an empty string if the repair concerns neither.
    pub id: String,
    /// What was repaired.
    pub what: RepairKind,
}

/// A kind of repair.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum RepairKind {
    /// Removes a result that does not answer any call.
    DropOrphan,
    /// Removes a call's second result.
    DropRepeated,
    /// Removes a reply with calls that repeats the line before.
    DropCopy,
    /// Moves a result to its call, which is on the line with this number.
    Move(u64),
    /// Moves results in front of the other blocks in their message.
    ResultsFirst,
    /// Inserts [`MISSING_RESULT`] as the result of a call without one.
    Answer,
    /// Gives this new id to a call and its result.
    Rename(String),
    /// Inserts [`MISSING_BEGINNING`] before the record.
    Begin,
    /// Splits a damaged line into this number of lines.
    Split(usize),
    /// Removes the NUL bytes from a line.
    RemoveNuls,
    /// Replaces each invalid sequence of bytes in a line with U+FFFD.
    ReplaceBytes,
    /// Removes an incomplete object at the end of the file.
    Cut,
    /// Removes this number of bytes, which are not an object.
    Remove(usize),
    /// Removes signed reasoning, which other repairs have made invalid.
    RemoveReasoning,
    /// Adds a line ending to the last line.
    EndLine,
    /// Inserts a header before the record.
    Header,
    /// Makes the line with this number the parent of a line.
    Reparent(u64),
    /// Changes a line so that it no longer breaks the rule of its dialect with this name.
    Change(&'static str),
}

impl RepairKind {
    /// Returns true if the model receives other content than before the repair. How an agent's file
    /// is written, and what the API has never accepted, makes no difference.
    fn changes_context(&self) -> bool {
        match self {
            Self::Change(rule) => Rule::named(rule)
                .is_some_and(|rule| !matches!(rule, Rule::CacheMarks | Rule::ExtraMember)),
            Self::Split(_)
            | Self::RemoveNuls
            | Self::Cut
            | Self::RemoveReasoning
            | Self::EndLine
            | Self::Header
            | Self::Reparent(_) => false,
            _ => true,
        }
    }
}

impl Action {
    /// Describes the repair and the reason for it in a few words.
    pub fn say(&self) -> String {
        let id = if self.id.is_empty() { "without id" } else { &self.id };
        let to = match &self.what {
            RepairKind::Move(to) | RepairKind::Reparent(to) => to.to_string(),
            RepairKind::Rename(to) => to.clone(),
            RepairKind::Split(into) => into.to_string(),
            RepairKind::Remove(bytes) => counted(*bytes as u64, "byte"),
            RepairKind::Change(rule) => (*rule).to_owned(),
            _ => String::new(),
        };
        SENTENCES[<&str>::from(&self.what)].replace("{to}", &to).replace("{id}", id)
    }
}

/// All repairs of a session. Records are identified by their number, starting at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The repairs, sorted by line.
    pub actions: Vec<Action>,
    edits: BTreeMap<usize, Edit>,
    /// All calls in the session, in order.
    calls: Vec<Call>,
}

/// All repairs of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edit {
    /// Whether to insert a user message before the record.
    begin: bool,
    /// Whether to remove the record.
    drop: bool,
    change: RecordChange,
    /// The indexes, within [`Repair::calls`], of the calls whose results are inserted into this
    /// record before the record's own results.
    into: Vec<usize>,
    /// The indexes, within [`Repair::calls`], of the calls whose results are inserted after this
    /// record as new records.
    behind: Vec<usize>,
}

/// A call in the session, and the state of its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Call {
    id: String,
    /// The call's id in the source, which a repair may have changed.
    was: String,
    record: usize,
    line: u64,
    /// Whether the call has a result at a position where the API accepts it.
    answered: bool,
    /// The position of the call's result, if the API does not accept a result at that position.
    found: Option<ResultAt>,
    /// Where to put the result if it was not found in the call's exchange.
    exchange: Option<Exchange>,
}

/// Where an exchange's missing results can be inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Exchange {
    /// The last record of the exchange. Results that are separate records are inserted after this
    /// record.
    last: usize,
    /// The user message that follows the calls. Results that are blocks are inserted into this
    /// message.
    user: Option<usize>,
}

/// The position of a result: its record, and its index among that record's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResultAt {
    record: usize,
    place: usize,
}

#[cfg(test)]
mod tests;

impl Repair {
    /// Returns the bytes that replace record number `at` in `records`: zero or more records with
    /// line endings.
    pub fn repaired<B: AsRef<[u8]>>(
        &self,
        records: &[B],
        at: usize,
        dialect: &dyn Dialect,
    ) -> Vec<u8> {
        let bytes = records[at].as_ref();
        let Some(edit) = self.edits.get(&at) else { return bytes.to_vec() };
        let results = |calls: &[usize]| -> Vec<String> {
            let results = calls.iter().map(|call| self.result(records, *call));
            results.filter_map(|it| dialect.new_result(&it?)).collect()
        };
        let mut lines: Vec<Vec<u8>> = Vec::new();
        if let Some(next) = object(line(bytes)).filter(|_| edit.begin) {
            lines.push(dialect.said_by_user(MISSING_BEGINNING, &next).into_bytes());
        }
        if !edit.drop {
            let own = line(bytes);
            lines.push(match object(own) {
                Some(object) => {
                    let text = dialect.changed(&object, &edit.change, results(&edit.into));
                    // The object may follow a byte order mark.
                    [&own[..own.len() - object.text().len()], text.as_bytes()].concat()
                }
                None => own.to_vec(),
            });
        }
        if !edit.behind.is_empty() {
            let behind = dialect.result_records(results(&edit.behind));
            lines.extend(behind.into_iter().map(String::into_bytes));
        }
        if lines.is_empty() {
            return Vec::new();
        }
        // If the record has no line ending, the last of the records that replace it has none
        // either.
        let end = line_end(bytes);
        let between: &[u8] = if end.is_empty() { b"\n" } else { end };
        [lines.join(between).as_slice(), end].concat()
    }

    /// Collects what is needed to write the result of a call. `None` if a record is not an object,
    /// because such a record has no calls or results.
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

/// The bytes of a record without its line ending.
fn line(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - line_end(bytes).len()]
}

fn object(bytes: &[u8]) -> Option<Object<'_>> {
    Origin::ALONE.record(bytes).object().cloned()
}
