//! The session files of agents, which are logs that hold more than the model receives.
//!
//! # How an agent's log plugs in
//!
//! To add an agent, create a folder here and an entry in `FORMATS`; no tool knows an agent by name.
//! The agent's type implements [`crate::Dialect`], which reads and writes records, and [`Log`],
//! which describes how the agent reads its file:
//!
//! - **Records wrap messages** (`{"type":"assistant","message":{…}}`). [`crate::Dialect::outline`]
//!   and [`crate::Dialect::message`] read the object inside the record; slots and cuts are byte
//!   ranges in the text of the whole record. A copy of a result that is only shown on the agent's
//!   screen is not part of the message. A record that replaces everything before it and holds
//!   several messages counts as one message with all their parts. If only some of them are in the
//!   context, the object is limited to these ([`Object::only`]), and no others are read.
//! - **Some of the file is not in the context**: there are branches, compactions that leave old
//!   records in the file, records that are written again, and replies that take several lines. The
//!   builder from [`Log::view_builder`] receives each record once. At the end, it decides which
//!   records are sent, as which message, and what is wrong with the file. `outline` and `message`
//!   of the dialect do not take this into account; `Record::outline` and `Record::message` do, and
//!   return nothing for a record outside the context.
//! - **Compactions** are lines that [`Log::compaction_writer`] appends.
//!   [`crate::Dialect::summary_text`] recognizes the summaries in them.
//! - **Each agent pairs calls and results in its own way**, which [`crate::Dialect::rules`]
//!   describes. If a call and its result are in the same record, neither is in its outline, because
//!   nothing can separate them.
//!
//! A flaw contains the remedy that repairs a copy of the file. [`Log::repaired`] makes those
//! changes for which only the agent's folder has the code.

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

/// How an agent reads its own file, apart from the format of the records.
pub trait Log: Sync {
    /// Creates the builder of a view, which determines the records that are in the context.
    fn view_builder(&self) -> Box<dyn ViewBuilder>;

    /// Creates a writer of compactions in the agent's own format. `None` if the agent has no such
    /// format, so that compacting rewrites the whole session.
    fn compaction_writer(&self) -> Option<Box<dyn CompactionWriter>> {
        None
    }

    /// The reason why lines may be removed only if a later line replaces everything before it.
    /// `None` if the children of a removed line can be linked to its parent.
    fn why_by_position(&self) -> Option<&'static str> {
        None
    }

    /// The edits that lower a recorded prompt size to at most `prompt` tokens. Only token counts
    /// change, and none of them becomes larger. If the agent does not base any decision on these
    /// counts, there are no edits.
    fn lessened(&self, _object: &Object<'_>, _prompt: u64) -> Edits {
        Edits::new()
    }

    /// What the record reveals about the session, such as its id.
    fn about<'a>(&self, object: &Object<'a>) -> About<'a>;

    /// The edits to a record that repair a flaw whose remedy is [`Remedy::Change`]. `numbers` are
    /// the numbers in the remedy.
    fn repaired(&self, object: &Object<'_>, flaw: &Flaw, numbers: &[usize]) -> Edits;

    /// How the agent handles a damaged line of this class; `None` if it skips the line.
    fn on_damage(&self, class: Class) -> Option<(Effect, &'static str)>;
}

/// What an agent says about a session. A single record contains few of these facts, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The id of the session.
    pub session: Option<Cow<'a, str>>,
    /// The name that the user gave the session.
    pub name: Option<Cow<'a, str>>,
    /// The title that the agent gave the session.
    pub title: Option<Cow<'a, str>>,
    /// The folder in which the agent works.
    pub folder: Option<Cow<'a, str>>,
}

/// What a flaw does to the session when the agent loads it.
///
/// A flaw is a place where the agent reads something other than what was written. Only the format
/// of the log can find flaws, because lines refer to each other and every agent reads them in its
/// own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The agent loads nothing from the file, or the API refuses the request.
    Refused,
    /// Messages that belong in the context are not sent.
    Lost,
    /// The line does not change the context although it should.
    Ignored,
    /// The flaw has no effect yet: a call at the end may still get its result.
    Waits,
    /// The flaw has no effect: the agent recovers from it.
    Harmless,
}

impl Effect {
    /// Returns true if the flaw must be repaired before the session can continue as intended.
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Refused | Self::Lost)
    }
}

/// A place where the agent reads something other than what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The number of the record that has the flaw, from 0.
    pub record: usize,
    /// The name of the rule that the record breaks, for use by programs.
    pub rule: &'static str,
    /// What the flaw does to the session.
    pub effect: Effect,
    /// A description of the problem and of what the agent does about it.
    pub message: String,
    /// The id of the tool call that the flaw is about, if any.
    pub id: Option<String>,
    /// How to repair the flaw in a copy of the file; `None` if it cannot be repaired.
    pub remedy: Option<Remedy>,
}

/// How to repair a flaw in a copy of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Insert this line before the record that has the flaw.
    Before(String),
    /// Insert a copy of the record with this number before the record that has the flaw.
    CopyBefore(usize),
    /// Set the member `key` of the record to the value of the member `of` in record `to`.
    Link {
        /// The member that contains the id of the parent.
        key: &'static str,
        /// The number of the record that becomes the parent.
        to: usize,
        /// The member of record `to` that contains its id.
        of: &'static str,
    },
    /// Edit the record with [`Log::repaired`], which alone interprets the numbers.
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

/// What the lines of a session without a header reveal about the session. A new header is written
/// from this.
#[derive(Default)]
pub(crate) struct HeaderFacts {
    pub(crate) id: Option<String>,
    pub(crate) time: Option<String>,
    pub(crate) folder: Option<String>,
}

impl HeaderFacts {
    /// The id, the time and the folder, each as a JSON string.
    pub(crate) fn quoted(&self) -> [String; 3] {
        let time = self.time.as_deref().unwrap_or(NO_TIME);
        let id = self.id.clone().unwrap_or_else(|| session_id(time));
        [&*id, time, self.folder.as_deref().unwrap_or("/")].map(json::quoted)
    }
}

/// The time to write if the session does not contain any time.
pub(crate) const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

/// Creates an id for a session whose own id is lost: a UUID made of the digits of a time, so that
/// the same session always gets the same id.
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
