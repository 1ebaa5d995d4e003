//! Converts sessions between dialects: the active context, message by message.
//!
//! It reads what the agent would send, in that order: fragments of a message become one message,
//! results directly follow the reply with their calls, and a record with a call and its result
//! gives both. Texts never change. What the target has no place for is counted in the [`Report`],
//! with its line.
//!
//! A session can also be *lowered* ([`Converter::whole_records`]): then each record, and each
//! message of a list in a record, is in exactly one exchange of the new session, so a decision
//! about exchanges is a decision about records.

pub(crate) mod media;
mod pairing;
pub(crate) mod reading;
mod reply;
pub(crate) mod target;
pub(crate) mod turn;
mod writing;

use std::collections::HashMap;
use std::sync::LazyLock;
use std::{fmt, io};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::Dialect;

pub use reading::{Lowered, Reading};

/// How a session is converted.
#[derive(Clone, Copy)]
pub struct Converter<'c> {
    /// The dialect of the new session.
    pub to: &'static dyn Dialect,
    /// A member of each record written that says which records of the source it was made of:
    /// their numbers, from 0 ([`SourceId`]).
    pub mark: Option<&'c str>,
    /// No record of the source, and no message of a list in one, is in two exchanges of the new
    /// session, and each message is in one: what no exchange can be made of is one message.
    /// Only what is no message is left out. For a dialect of messages.
    pub whole_records: bool,
    /// The id of the new session, of an agent; else one is made of what it says.
    pub session: Option<&'c str>,
    /// The folder that an agent works in; else the one that the source names.
    pub cwd: Option<&'c str>,
    /// The time of what has none.
    pub now: DateTime<Utc>,
}

impl Converter<'_> {
    /// Into the dialect `to`.
    pub fn new(to: &'static dyn Dialect) -> Self {
        Self {
            to,
            mark: None,
            whole_records: false,
            session: None,
            cwd: None,
            now: DateTime::UNIX_EPOCH,
        }
    }
}

/// Why a conversion fails.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The records could not wait in their file.
    #[error("cannot write a temporary file: {0}")]
    Temporary(#[source] io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Output(#[source] io::Error),
}

/// A record of a session, or one message of a record that holds a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    /// The number of the record, from 0, over all records of the session.
    pub record: u64,
    /// The number of the message in it, from 0; `None` where the record is one message.
    pub message: Option<usize>,
}

impl SourceId {
    /// Reads what a mark has: JSON, as [`fmt::Display`] writes it.
    pub fn parse(json: &str) -> Option<Self> {
        let inner = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let Some(inner) = inner else {
            return Some(Self { record: json.parse().ok()?, message: None });
        };
        let (record, message) = inner.split_once('.')?;
        Some(Self { record: record.parse().ok()?, message: Some(message.parse().ok()?) })
    }
}

/// As JSON: `12` for a record, `"12.3"` for a message of one.
impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            None => write!(f, "{}", self.record),
            Some(message) => write!(f, "\"{}.{message}\"", self.record),
        }
    }
}

impl Serialize for SourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.message {
            None => serializer.serialize_u64(self.record),
            Some(message) => serializer.collect_str(&format_args!("{}.{message}", self.record)),
        }
    }
}

/// The report of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many messages there were: of results of one reply all are one.
    pub messages: u64,
    /// How many records were written.
    pub records: u64,
    /// What was dropped or changed, by kind.
    pub losses: Vec<Loss>,
    /// The origin of each written record, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// Content of one kind that was dropped or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Its kind.
    pub kind: LossKind,
    /// Its name in the source, if a kind has several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How often.
    pub count: u64,
    /// The first line of the source that has it.
    pub first_line: u64,
}

/// Content that another dialect may have no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// A model's reasoning: only the API that it comes from takes it back.
    Reasoning,
    /// An image, a sound, a file: of a kind that the other dialect does not have, or known
    /// by a reference.
    Media,
    /// A part of a kind that we do not know.
    Part,
    /// A record of the context that is no message to us.
    Record,
    /// The mark of a result that is an error.
    ErrorMark,
    /// The name of a participant.
    Name,
    /// A message of the operator: the agent has instructions of its own.
    Instructions,
    /// A message of the user that the agent takes for a command, and does not send.
    Command,
    /// Arguments that are not an object become the member `input` of one.
    Arguments,
    /// A part of a result that is JSON: it is its text now.
    AsText,
    /// A second copy of a result in the input.
    SecondResult,
    /// A message before a summary, which follows it now.
    BeforeSummary,
    /// A call without a result, kept unchanged.
    OpenCall,
    /// A result without a call, kept unchanged.
    LoneResult,
    /// A user message that the source does not have: the API takes no session that begins
    /// with a reply.
    Beginning,
}

/// The origin of a written record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The first line of the source that is in it, from 1.
    pub first_line: u64,
    /// The parts of the input that it contains, in order.
    pub origins: Vec<SourceId>,
}

/// What is said about losses of a kind.
#[derive(Deserialize)]
struct Words {
    is_loss: bool,
    /// Subject and verb for one of them, and for several.
    one: String,
    many: String,
    /// The rest of the sentence.
    what: String,
}

static WORDS: LazyLock<HashMap<LossKind, Words>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("losses.json")).expect("a test reads losses.json")
});

impl LossKind {
    /// Whether the new session says less than the source, or more, and not the same in another form.
    pub fn is_loss(self) -> bool {
        WORDS[&self].is_loss
    }
}

impl Loss {
    /// A sentence about the loss.
    pub fn say(&self) -> String {
        let Words { one, many, what, .. } = &WORDS[&self.kind];
        let said = if self.count == 1 { one } else { many };
        let name = if self.name.is_empty() { String::new() } else { format!(" ({})", self.name) };
        format!("{} {said} {what}{name}", self.count)
    }
}

impl Report {
    /// Whether something of the context is not there any more.
    pub fn lost_something(&self) -> bool {
        self.losses.iter().any(|loss| loss.kind.is_loss())
    }

    /// One more of that kind.
    pub(crate) fn count(&mut self, kind: LossKind, name: &str, line: u64) {
        let is_it = |loss: &&mut Loss| loss.kind == kind && loss.name == name;
        if let Some(loss) = self.losses.iter_mut().find(is_it) {
            loss.count += 1;
            loss.first_line = loss.first_line.min(line);
            return;
        }
        self.losses.push(Loss { kind, name: name.to_owned(), count: 1, first_line: line });
    }
}

#[cfg(test)]
mod tests {
    use super::{LossKind, SourceId, WORDS};

    #[test]
    fn each_kind_of_loss_has_its_words() {
        assert_eq!(WORDS.len(), LossKind::Beginning as usize + 1);
        assert!(LossKind::Beginning.is_loss() && !LossKind::OpenCall.is_loss());
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        for (message, json) in [(None, "12"), (Some(3), "\"12.3\"")] {
            let origin = SourceId { record: 12, message };
            assert_eq!(origin.to_string(), json);
            assert_eq!(SourceId::parse(json), Some(origin));
            assert_eq!(serde_json::to_string(&origin).expect("JSON"), json);
        }
        for odd in ["x", "\"12\"", "\"1.x\"", "-1"] {
            assert_eq!(SourceId::parse(odd), None, "{odd}");
        }
    }
}
