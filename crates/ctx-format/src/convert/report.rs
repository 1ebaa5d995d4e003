//! The report of a conversion: what was lost, and where each written record comes from.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize, Serializer};

use crate::convert::reading::Entry;

/// Identifies a record in a session, or one message in a record that holds a list of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    /// The number of the record in the session, starting at 0.
    pub record: u64,
    /// The number of the message in the record, starting at 0; `None` if the record is a single
    /// message.
    pub message: Option<usize>,
}

impl SourceId {
    /// The source id as JSON, as it is written into marks.
    pub(crate) fn json(self) -> String {
        serde_json::to_string(&self).expect("a number or a string can be serialized")
    }

    /// The path of the record or the message in a report.
    pub(crate) fn path(self, is_list: bool) -> String {
        let list = if is_list { "messages" } else { "records" };
        format!("{list}[{}]", self.json().trim_matches('"'))
    }

    /// Parses a source id from the JSON that serde writes.
    pub fn parse(json: &str) -> Option<Self> {
        let inner = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let Some(inner) = inner else {
            return Some(Self { record: json.parse().ok()?, message: None });
        };
        let (record, message) = inner.split_once('.')?;
        Some(Self { record: record.parse().ok()?, message: Some(message.parse().ok()?) })
    }
}

/// Writes `12` for record 12, and `"12.3"` for message 3 in the list that record 12 holds.
impl Serialize for SourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.message {
            None => serializer.serialize_u64(self.record),
            Some(message) => serializer.collect_str(&format_args!("{}.{message}", self.record)),
        }
    }
}

/// What a conversion wrote and what it could not represent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of messages written. The results of one reply count as one message.
    pub messages: u64,
    /// The number of records written.
    pub records: u64,
    /// Whether the source records are the elements of a list of messages, rather than an agent's
    /// records.
    #[serde(skip)]
    pub is_list: bool,
    /// The content that was dropped or changed, with one entry for each kind and name.
    pub losses: Vec<Loss>,
    /// The origin of each written record, if origins were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// Content of one kind that was dropped or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The kind of the content.
    pub kind: LossKind,
    /// What the source calls the content, if content of this kind can have several names; otherwise
    /// empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How often content of this kind and name occurred.
    pub count: u64,
    /// The 1-based number of the first source line with content of this kind and name.
    pub first_line: u64,
    /// The paths in the source of the first values that are missing in the new session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// The maximum number of paths to list for one kind and name.
const MAX_PATHS: usize = 100;

/// Content that another dialect may not be able to represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// Model reasoning, which is accepted only by the API that produced it.
    Reasoning,
    /// An image, an audio clip or a file that the target dialect cannot represent, or that is
    /// stored only as a reference.
    Media,
    /// A part of an unknown kind.
    Part,
    /// A record in the context that is not a message.
    Record,
    /// A line that cannot be read.
    Line,
    /// The flag that marks a result as an error.
    ErrorMark,
    /// The name of a participant.
    Name,
    /// A system message, which is left out because an agent supplies its own instructions.
    Instructions,
    /// A message that becomes a user message, because the API rejects its role, or a system message
    /// at its place.
    Role,
    /// A user message that the target agent would treat as a command instead of sending it.
    Command,
    /// Call arguments that are not a JSON object; they become the member `input` of a new object.
    Arguments,
    /// A part of a tool result that was JSON in the source and is written as text.
    AsText,
    /// A second copy of a result.
    SecondResult,
    /// A message that comes before a summary in the source but after it in the new session.
    BeforeSummary,
    /// A call at the end of the session that still waits for its result.
    OpenCall,
    /// A call without a result, which gets one that says so.
    MissingResult,
    /// A result without a call, whose content becomes a user message.
    LoneResult,
    /// A message without content, which APIs reject.
    Empty,
    /// A member of a JSON document other than its messages and its system prompt.
    Member,
    /// Any other value that has no place in the target dialect.
    Field,
    /// The time of a message, for which the API has no member.
    Time,
    /// Half a character, which becomes U+FFFD.
    LoneSurrogate,
    /// A user message that was inserted because the API rejects sessions that begin with a reply.
    Beginning,
}

/// Where a written record comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The 1-based number of the earliest source line that the record was made from.
    pub first_line: u64,
    /// The source records that the written record was made from, in order.
    pub origins: Vec<SourceId>,
}

/// The wording of the sentence that reports losses of one kind.
#[derive(Deserialize)]
struct Words {
    is_loss: bool,
    /// The subject and verb of the sentence for a single loss. `many` holds the plural forms of the
    /// subject and the verb.
    one: String,
    many: String,
    /// The end of the sentence, after the subject and the verb.
    what: String,
}

static WORDS: LazyLock<HashMap<LossKind, Words>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("losses.json")).expect("losses.json is valid")
});

impl LossKind {
    /// Returns true if the new session lacks content from the source, or contains content that the
    /// source lacks. Returns false if only the form of the content differs.
    pub fn is_loss(self) -> bool {
        WORDS[&self].is_loss
    }
}

impl Loss {
    /// Returns the loss of these members of a document, if there are any.
    pub(crate) fn of_members(paths: Vec<String>) -> Option<Self> {
        let (kind, name, count) = (LossKind::Member, String::new(), paths.len() as u64);
        (count > 0).then_some(Self { kind, name, count, first_line: 1, paths })
    }

    /// Adds a path if it is one of the first, which alone are reported: to find it, all of a record
    /// may be read.
    pub(crate) fn add_path(&mut self, path: impl FnOnce() -> String) {
        if self.paths.len() < MAX_PATHS {
            self.paths.push(path());
        }
    }

    /// Describes the loss in a sentence.
    pub fn say(&self) -> String {
        let Words { one, many, what, .. } = &WORDS[&self.kind];
        let said = if self.count == 1 { one } else { many };
        let name = match self.paths.as_slice() {
            paths if self.kind == LossKind::Member => format!(" ({})", paths.join(", ")),
            [path] if self.kind == LossKind::Field => format!(" ({path})"),
            [path, ..] if self.kind == LossKind::Field => format!(" ({path}, …)"),
            _ if self.name.is_empty() => String::new(),
            _ => format!(" ({})", self.name),
        };
        format!("{} {said} {what}{name}", self.count)
    }
}

impl Report {
    /// Returns true if content from the source was lost or other content was added.
    pub fn lost_something(&self) -> bool {
        self.losses.iter().any(|loss| loss.kind.is_loss())
    }

    /// Counts another loss with the given kind and name, and returns the entry that counts it.
    pub(crate) fn count(&mut self, kind: LossKind, name: &str, line: u64) -> &mut Loss {
        let is_it = |loss: &Loss| loss.kind == kind && loss.name == name;
        let place = self.losses.iter().position(is_it).unwrap_or_else(|| {
            let (name, paths) = (name.to_owned(), Vec::new());
            self.losses.push(Loss { kind, name, count: 0, first_line: line, paths });
            self.losses.len() - 1
        });
        let loss = &mut self.losses[place];
        loss.count += 1;
        loss.first_line = loss.first_line.min(line);
        loss
    }

    /// Counts a loss in the message of `entry`, at the path `within` this message.
    pub(crate) fn count_in(
        &mut self,
        kind: LossKind,
        name: &str,
        entry: &Entry,
        within: impl FnOnce() -> String,
    ) {
        let is_list = self.is_list;
        let loss = self.count(kind, name, entry.line);
        loss.add_path(|| entry.origin.path(is_list) + &within());
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
            assert_eq!(origin.json(), json);
            assert_eq!(SourceId::parse(json), Some(origin));
        }
        for odd in ["x", "\"12\"", "\"1.x\"", "-1"] {
            assert_eq!(SourceId::parse(odd), None, "{odd}");
        }
    }
}
