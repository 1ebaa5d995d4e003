//! The session files of agents: logs that hold more than the model receives.
//!
//! # How an agent's log plugs in
//!
//! An agent is a folder here and an entry in `FORMATS`; no tool knows its name. Its type implements
//! [`crate::Dialect`], which reads and writes records, and [`Log`], which describes how the agent reads
//! the file:
//!
//! - **Records wrap messages** (`{"type":"assistant","message":{…}}`). [`crate::Dialect::outline`] and
//!   [`crate::Dialect::message`] read the object within; slots and cuts are ranges in the text of the whole
//!   record. A copy of a result for the agent's screen is not part of the message. A record that
//!   replaces everything before it and has several messages is one message with all their parts; if
//!   its object knows which of them are in the context ([`Object::only`]), it reads no others.
//! - **Not all of the file is in the context**: there are branches, compactions that leave old
//!   records in the file, records that are written again, replies that take several lines. The
//!   builder of [`Log::view_builder`] sees each record once and decides at the end which records are
//!   sent, as which message, and what is wrong with the file. `outline` and `message` of the dialect
//!   ignore that: `Record::outline` and `Record::message` return nothing for a record outside the
//!   context.
//! - **Compactions** are lines that [`Log::compaction_writer`] appends. [`crate::Dialect::summary_text`]
//!   recognizes their summaries.
//! - **Calls and results pair in their own way**: [`crate::Dialect::rules`]. A call and its result in one
//!   record are in no outline, since nothing can separate them.
//!
//! A flaw names what repairs a copy of the file; [`Log::repaired`] makes the changes that only the
//! agent's folder can make.

pub(crate) mod claude_code;
pub(crate) mod codex;
pub mod compaction;
pub(crate) mod gemini;
pub(crate) mod links;
pub(crate) mod pi;
pub mod view;

use std::borrow::Cow;

use self::compaction::CompactionWriter;
use self::view::ViewBuilder;
use crate::{Class, Edits, Object, json, problems};

/// An agent's way of reading its own file, beyond the records themselves.
pub trait Log: Sync {
    /// Creates the builder of a view, which finds the records in the context.
    fn view_builder(&self) -> Box<dyn ViewBuilder>;

    /// Writes a compaction as the agent does; `None` if the agent has none, so that a compaction
    /// rewrites the whole session.
    fn compaction_writer(&self) -> Option<Box<dyn CompactionWriter>> {
        None
    }

    /// Why lines may only be removed if a later line replaces everything before it; `None` if the
    /// children of a line can be linked to its parent.
    fn why_by_position(&self) -> Option<&'static str> {
        None
    }

    /// The edits that lower a recorded prompt to at most `prompt` tokens: only these numbers
    /// change, and none grows. There are no edits if the agent does not decide by these numbers.
    fn lessened(&self, _object: &Object<'_>, _prompt: u64) -> Edits {
        Edits::new()
    }

    /// The record's facts about the session.
    fn about<'a>(&self, object: &Object<'a>) -> About<'a>;

    /// The changes of a record that repair a flaw with the remedy [`Remedy::Change`] and its
    /// numbers.
    fn repaired(&self, object: &Object<'_>, flaw: &Flaw, numbers: &[usize]) -> Edits;

    /// The agent's handling of a line of that class; `None` if it skips the line.
    fn on_damage(&self, class: Class) -> Option<(Effect, &'static str)>;
}

/// An agent's facts about a session. Each record has few of them, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The session's id.
    pub session: Option<Cow<'a, str>>,
    /// The name that the user gave it.
    pub name: Option<Cow<'a, str>>,
    /// The title that the agent gave it.
    pub title: Option<Cow<'a, str>>,
    /// The agent's working folder.
    pub folder: Option<Cow<'a, str>>,
}

/// The effect of a flaw on the session when its agent loads it.
///
/// Flaws are places where the agent reads something else than was written. Only the format of the
/// log can find them, since its lines refer to each other and each agent reads them in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The agent loads nothing from the file, or its API refuses the request.
    Refused,
    /// Messages that belong in the context are not sent.
    Lost,
    /// The line does not change the context as it should.
    Ignored,
    /// None yet: a call at the end may still get its result.
    Waits,
    /// None: the agent recovers by itself.
    Harmless,
}

impl Effect {
    /// Returns true if the flaw must be repaired before the session can continue as intended.
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Refused | Self::Lost)
    }
}

/// A flaw of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The number of the record, from 0.
    pub record: usize,
    /// The name of the rule, for programs.
    pub rule: &'static str,
    /// The effect on the session.
    pub effect: Effect,
    /// A description of the problem and of the agent's reaction.
    pub message: String,
    /// The id of the tool call, if the flaw is about one.
    pub id: Option<String>,
    /// How to repair it in a copy; `None` if nothing can.
    pub remedy: Option<Remedy>,
}

/// How to repair a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Insert a line before the record.
    Before(String),
    /// Insert a copy of another record before the record.
    CopyBefore(usize),
    /// Give the member `key` the value that `of` has in record `to`.
    Link {
        /// The member that names the parent.
        key: &'static str,
        /// The record that becomes the parent.
        to: usize,
        /// The member of that record.
        of: &'static str,
    },
    /// Change the line by [`Log::repaired`], with numbers that only the agent's code interprets.
    Change(Vec<usize>),
}

impl Flaw {
    /// Creates a flaw without an id and without a remedy.
    pub fn new(record: usize, rule: &'static str, effect: Effect, message: String) -> Self {
        debug_assert!(problems::rule(rule).is_some(), "a rule that is not listed");
        Self { record, rule, effect, message, id: None, remedy: None }
    }

    /// Adds a remedy to the flaw.
    #[must_use]
    pub fn repaired_by(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

/// What the lines of a session without a header say about it, for a new header.
#[derive(Default)]
pub(crate) struct HeaderFacts {
    pub(crate) id: Option<String>,
    pub(crate) time: Option<String>,
    pub(crate) folder: Option<String>,
}

impl HeaderFacts {
    /// The id, the time and the folder as JSON.
    pub(crate) fn quoted(&self) -> [String; 3] {
        let time = self.time.as_deref().unwrap_or(NO_TIME);
        let id = self.id.clone().unwrap_or_else(|| session_id(time));
        [&*id, time, self.folder.as_deref().unwrap_or("/")].map(json::quoted)
    }
}

/// The time in a new header if the session has no time at all.
pub(crate) const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

/// An id for a session that lost its own: a UUID made of the digits of a time, so that the same
/// session gets the same id.
fn session_id(time: &str) -> String {
    let digits = time.chars().filter(char::is_ascii_digit);
    let digits: String = digits.chain("0".repeat(20).chars()).take(20).collect();
    let [date, minute, second, rest] = [0..8, 8..12, 12..15, 15..20].map(|place| &digits[place]);
    format!("{date}-{minute}-7{second}-8000-0000000{rest}")
}

#[cfg(test)]
mod tests {
    use super::{NO_TIME, session_id};

    #[test]
    fn an_id_has_the_form_of_a_uuid() {
        let of = "20260102-0304-7050-8000-000000060000";
        assert_eq!(session_id("2026-01-02T03:04:05.060Z"), of);
        assert_eq!(session_id("x"), "00000000-0000-7000-8000-000000000000");
        assert_eq!(session_id(NO_TIME).len(), 36);
    }
}
