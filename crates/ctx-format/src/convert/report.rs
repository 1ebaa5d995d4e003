//! The report of a conversion: what was lost, and where each record comes from.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize, Serializer};

/// A record of a session, or one message of a record that holds a list of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    /// The number of the record in the session, from 0.
    pub record: u64,
    /// The number of the message in the record, from 0; `None` if the record is one message.
    pub message: Option<usize>,
}

impl SourceId {
    /// The id as JSON.
    pub(crate) fn json(self) -> String {
        serde_json::to_string(&self).expect("a number or a text can be written")
    }

    /// Reads the JSON that serde writes.
    pub fn parse(json: &str) -> Option<Self> {
        let inner = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let Some(inner) = inner else {
            return Some(Self { record: json.parse().ok()?, message: None });
        };
        let (record, message) = inner.split_once('.')?;
        Some(Self { record: record.parse().ok()?, message: Some(message.parse().ok()?) })
    }
}

/// Writes `12` for a record, `"12.3"` for a message in a record.
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
    /// The number of messages. All results of one reply count as one message.
    pub messages: u64,
    /// The number of records written.
    pub records: u64,
    /// The content that was dropped or changed, by kind.
    pub losses: Vec<Loss>,
    /// The origin of each written record, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// Content of one kind that was dropped or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The kind of content.
    pub kind: LossKind,
    /// The name of the content in the source, if the kind has several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The number of times that it occurred.
    pub count: u64,
    /// The first line of the source with such content.
    pub first_line: u64,
}

/// Content that another dialect may not be able to represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// A model's reasoning: only the API that produced it accepts it again.
    Reasoning,
    /// An image, a sound or a file of a kind that the other dialect does not have, or that is only
    /// a reference.
    Media,
    /// A part of an unknown kind.
    Part,
    /// A record of the context that is not a message.
    Record,
    /// The flag that marks a result as an error.
    ErrorMark,
    /// The name of a participant.
    Name,
    /// A system message: the agent has instructions of its own.
    Instructions,
    /// A user message that the agent takes for a command and does not send.
    Command,
    /// Arguments that are not an object: they become the member `input` of an object.
    Arguments,
    /// A part of a result that is JSON: it becomes text.
    AsText,
    /// A second copy of a result in the input.
    SecondResult,
    /// A message before a summary: it follows the summary now.
    BeforeSummary,
    /// A call without a result, kept unchanged.
    OpenCall,
    /// A result without a call, kept unchanged.
    LoneResult,
    /// An inserted user message: the API refuses a session that begins with a reply.
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

/// The words that describe losses of a kind.
#[derive(Deserialize)]
struct Words {
    is_loss: bool,
    /// Subject and verb for a single loss; `many` is the plural.
    one: String,
    many: String,
    /// The rest of the sentence.
    what: String,
}

static WORDS: LazyLock<HashMap<LossKind, Words>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("losses.json")).expect("a test reads losses.json")
});

impl LossKind {
    /// Returns true if the new session has less or more content than the source, rather than the
    /// same content in another form.
    pub fn is_loss(self) -> bool {
        WORDS[&self].is_loss
    }
}

impl Loss {
    /// Writes a sentence about the loss.
    pub fn say(&self) -> String {
        let Words { one, many, what, .. } = &WORDS[&self.kind];
        let said = if self.count == 1 { one } else { many };
        let name = if self.name.is_empty() { String::new() } else { format!(" ({})", self.name) };
        format!("{} {said} {what}{name}", self.count)
    }
}

impl Report {
    /// Returns true if some content of the context was lost.
    pub fn lost_something(&self) -> bool {
        self.losses.iter().any(|loss| loss.kind.is_loss())
    }

    /// Counts another loss of that kind.
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
            assert_eq!(origin.json(), json);
            assert_eq!(SourceId::parse(json), Some(origin));
        }
        for odd in ["x", "\"12\"", "\"1.x\"", "-1"] {
            assert_eq!(SourceId::parse(odd), None, "{odd}");
        }
    }
}
