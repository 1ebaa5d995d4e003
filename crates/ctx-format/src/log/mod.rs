//! The session files of agents: logs that hold more than the model receives.
//!
//! # How an agent's log plugs in
//!
//! To add an agent, create a folder here and entries in `ALL` and `FORMATS`; no tool knows an agent
//! by name. The agent's type implements [`crate::Dialect`], which reads and writes records, and
//! [`Log`], which describes how the agent reads its file:
//!
//! - **Records wrap messages** (`{"type":"assistant","message":{…}}`). [`crate::Dialect::outline`]
//!   and [`crate::Dialect::message`] read the object inside the record; slots and cuts are byte
//!   ranges in the text of the whole record. If a result has a duplicate for the agent's screen
//!   only, the duplicate is not part of the message. A record that replaces everything before it
//!   and holds several messages counts as one message with all their parts. If only some of these
//!   messages are in the context, the object is limited to them ([`Object::only`]), and no others
//!   are read.
//! - **Some of the file is not in the context**: there are branches, compactions that leave old
//!   records in the file, records that are written again, and replies that span several lines. The
//!   builder from [`Log::view_builder`] receives each record once. At the end, it decides which
//!   records are sent, which messages they form, and what is wrong with the file. The dialect's own
//!   `outline` and `message` do not take this into account; `Record::outline` and `Record::message`
//!   do, and return nothing for a record outside the context.
//! - **Compactions** are lines that [`Log::compaction_writer`] appends.
//!   [`crate::Dialect::summary_text`] recognizes the summaries in them.
//! - **Each agent pairs calls and results in its own way**, which [`crate::Dialect::rules`]
//!   describes. If a call and its result are in the same record, neither is in its outline, because
//!   nothing can separate them.
//!
//! If a flaw can be repaired in a copy of the file, it contains the remedy. [`Log::repaired`] makes
//! the changes that only the agent's own code can make.

/// Creates the parts of a log's implementation that differ only in their types: what reads the
/// context, and what writes a compaction.
macro_rules! parts {
    ($view:ty, $compaction:ty) => {
        fn view_builder(&self) -> Box<dyn $crate::log::view::ViewBuilder> {
            Box::<$view>::default()
        }

        fn compaction_writer(&self) -> Box<dyn $crate::compaction::CompactionWriter> {
            Box::<$compaction>::default()
        }
    };
}

pub(crate) mod claude_code;
pub(crate) mod codex;
pub mod compaction;
pub(crate) mod copilot;
pub(crate) mod gemini;
pub(crate) mod kimi;
pub(crate) mod links;
pub(crate) mod opencode;
pub(crate) mod pi;
pub(crate) mod qwen;
pub mod view;

use std::borrow::Cow;
use std::path::Path;

use chrono::{DateTime, Utc};

use self::compaction::CompactionWriter;
use self::view::ViewBuilder;
use crate::{Dialect, Edits, Object, json, problems};

/// How an agent reads its own file, apart from the format of individual records.
pub trait Log: Dialect {
    /// Creates a view builder, which determines the records in the context.
    fn view_builder(&self) -> Box<dyn ViewBuilder>;

    /// Creates a writer for compactions in the agent's own format.
    fn compaction_writer(&self) -> Box<dyn CompactionWriter>;

    /// Creates a writer for lines that change messages without changing the messages' own lines.
    /// `None` if the agent reads no such lines.
    fn edit_writer(&self) -> Option<Box<dyn EditWriter>> {
        None
    }

    /// If the record changes the content of another record, returns the other record's id.
    fn edited<'a>(&self, _object: &Object<'a>) -> Option<Cow<'a, str>> {
        None
    }

    /// Returns the edits that lower the prompt size recorded in `object` to at most `prompt`
    /// tokens. Only token counts change, and none of them increases. If the agent bases no decision
    /// on token counts, there are no edits.
    fn lessened(&self, _object: &Object<'_>, _prompt: u64) -> Edits {
        Edits::default()
    }

    /// What the record states about the session, such as the session's id. Some agents store all of
    /// it elsewhere.
    fn about<'a>(&self, _object: &Object<'a>) -> About<'a> {
        About::default()
    }

    /// Returns the id of the session whose file has this path, if the agent names a folder after the
    /// session.
    fn session_of_path<'p>(&self, path: &'p Path) -> Option<&'p str> {
        let file = Path::new(self.format().file?);
        let folder = path.ancestors().nth(file.components().count())?;
        if path.ends_with(file) { folder.file_name()?.to_str() } else { None }
    }

    /// Returns the edits to a record that repair `flaw`, whose remedy is [`Remedy::Change`].
    /// `numbers` are the numbers from that remedy.
    fn repaired(&self, object: &Object<'_>, flaw: &Flaw, numbers: &[usize]) -> Edits;

    /// Creates the flaw of a record that breaks `rule`.
    fn flaw(&self, record: usize, rule: &'static str) -> Flaw {
        let flaw = self.flaw_if_any(record, rule);
        flaw.unwrap_or_else(|| Flaw::new(record, rule, Effect::Ignored, ""))
    }

    /// Like [`Self::flaw`], but returns `None` if the agent does not mind.
    fn flaw_if_any(&self, record: usize, rule: &'static str) -> Option<Flaw> {
        let mut flaws = self.format().flaws.iter();
        let (_, effect, what) = flaws.find(|(of, ..)| *of == rule)?;
        Some(Flaw::new(record, rule, *effect, *what))
    }

    /// Describes how the agent handles `damage`, which is the name of a [`Class`](crate::Class) or
    /// `no-line-end`; `None` if the agent skips such a line, or adds the line ending itself.
    fn on_damage(&self, damage: &str) -> Option<(Effect, &'static str)> {
        let mut all = self.format().damage.iter();
        let (_, effect, what) = all.find(|(of, ..)| *of == damage)?;
        Some((*effect, *what))
    }
}

/// How an agent reads a document with one of its sessions, in words for the user.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
pub struct Import {
    /// What to do if messages were added to the document.
    pub added: &'static str,
    /// What to do if messages were changed or removed.
    pub changed: &'static str,
}

/// Receives all records of a session and the changes to them, and then writes lines with the new
/// contents. The changed records stay as they are.
pub trait EditWriter {
    /// Adds the next record, which must be an object.
    fn push(&mut self, object: &Object<'_>);

    /// Takes the change from `old`, the record that was last added, to `new`. Returns false if the
    /// change cannot be written as a new line.
    fn edit(&mut self, old: &Object<'_>, new: &Object<'_>) -> bool;

    /// Returns the lines to append to the session, without line endings. `newest` is the latest
    /// time in the session, and `seed` a hash from which new ids are derived.
    fn finish(&mut self, newest: Option<DateTime<Utc>>, seed: &[u8]) -> Vec<String>;
}

/// What an agent's records state about their session. A single record states only a few facts about
/// the session, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The id of the session.
    pub session: Option<Cow<'a, str>>,
    /// The name that the user chose for the session.
    pub name: Option<Cow<'a, str>>,
    /// The title that the agent chose for the session.
    pub title: Option<Cow<'a, str>>,
    /// The folder in which the agent works.
    pub folder: Option<Cow<'a, str>>,
}

/// The effect of a flaw on the session when the agent loads it.
///
/// A flaw is a place where the agent reads something other than what was written. Only the code for
/// a log's format can find the log's flaws, because lines refer to each other and each agent reads
/// them in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The agent loads nothing from the file, or the API rejects the request.
    Refused,
    /// Messages that should be in the context are not sent.
    Lost,
    /// The line does not change the context although it should.
    Ignored,
    /// The flaw has no effect yet, because a call at the end of the session may still get its
    /// result.
    Waits,
    /// The flaw has no effect, because the agent recovers from it.
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
    /// The number of the record with the flaw, starting at 0.
    pub record: usize,
    /// The name of the violated rule, for use by programs.
    pub rule: &'static str,
    /// The effect of the flaw on the session.
    pub effect: Effect,
    /// A description of the flaw and how the agent reacts to it.
    pub message: String,
    /// The id of the tool call that the flaw concerns, if any.
    pub id: Option<String>,
    /// How to repair the flaw in a copy of the file; `None` if the flaw cannot be repaired.
    pub remedy: Option<Remedy>,
}

/// How to repair a flaw in a copy of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Remove the byte order mark before the record with the flaw.
    Unmark,
    /// Remove the record with the flaw.
    Remove,
    /// Insert the given line before the record with the flaw.
    Before(String),
    /// Insert a copy of the record with the given number before the record with the flaw.
    CopyBefore(usize),
    /// In the record with the flaw, set the member named by `key` to the value that record number
    /// `to` has in the member named by `of`.
    Link {
        /// The member to set, such as the one that holds the id of the record's parent.
        key: &'static str,
        /// The number of the other record, such as the one that is to become the parent.
        to: usize,
        /// The member of the other record, such as the one that holds its own id.
        of: &'static str,
    },
    /// Edit the record with [`Log::repaired`], which is given these numbers.
    Change(Vec<usize>),
}

impl Flaw {
    /// Creates a flaw without an id or a remedy.
    pub fn new(
        record: usize,
        rule: &'static str,
        effect: Effect,
        message: impl Into<String>,
    ) -> Self {
        debug_assert!(problems::rule(rule).is_some(), "rules.json lists the rule");
        Self { record, rule, effect, message: message.into(), id: None, remedy: None }
    }

    /// Adds a remedy to the flaw.
    #[must_use]
    pub fn repaired_by(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

/// Facts from the lines of a session without a header, for use in a new header.
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

/// The time to write if the session states no time at all.
pub(crate) const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

/// Creates a replacement for a missing session id: a UUID made from the digits of `time`, so that
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
