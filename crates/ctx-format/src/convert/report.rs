//! The report of a conversion.

use serde::Serialize;

use crate::convert::SourceId;

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
    pub kind: Kind,
    /// Its name in the source, if a kind has several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How often.
    pub count: u64,
    /// The first line of the source that has it.
    pub first_line: u64,
}

/// Content that another dialect may have no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
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

impl Kind {
    /// Whether the new session says less than the source, or more, and not the same in another form.
    pub fn is_loss(self) -> bool {
        matches!(
            self,
            Self::Reasoning
                | Self::Media
                | Self::Part
                | Self::Record
                | Self::ErrorMark
                | Self::Name
                | Self::Instructions
                | Self::Command
                | Self::Beginning
        )
    }
}

impl Loss {
    /// A sentence about the loss.
    pub fn say(&self) -> String {
        let (one, many, what) = match self.kind {
            Kind::Reasoning => (
                "part of reasoning is",
                "parts of reasoning are",
                "left out: only the API that it comes from takes it back",
            ),
            Kind::Media => (
                "image or file is",
                "images or files are",
                "left out: the dialect has no place for it",
            ),
            Kind::Part => ("part is", "parts are", "left out: its kind is not known"),
            Kind::Record => {
                ("record of the context is", "records of the context are", "left out: no message")
            }
            Kind::ErrorMark => ("result is", "results are", "no longer marked as an error"),
            Kind::Name => ("participant's name is", "participants' names are", "left out"),
            Kind::Instructions => {
                ("system message is", "system messages are", "left out: the agent has its own")
            }
            Kind::Command => (
                "message of the user is",
                "messages of the user are",
                "taken for a command by the agent, which will not send it",
            ),
            Kind::Arguments => (
                "call has",
                "calls have",
                "arguments that are no JSON object; they are its member \"input\" now",
            ),
            Kind::AsText => ("part of a result is", "parts of results are", "text now"),
            Kind::SecondResult => ("result is", "results are", "left out: it was there already"),
            Kind::BeforeSummary => {
                ("message before a summary follows", "messages before a summary follow", "it now")
            }
            Kind::OpenCall => ("call has", "calls have", "no result; it stays as it is"),
            Kind::Beginning => (
                "user message is",
                "user messages are",
                "inserted before: the session begins with a reply, which the API refuses",
            ),
            Kind::LoneResult => ("result answers", "results answer", "no call; it stays as it is"),
        };
        let said = if self.count == 1 { one } else { many };
        let name = if self.name.is_empty() { String::new() } else { format!(" ({})", self.name) };
        let count = self.count;
        format!("{count} {said} {what}{name}")
    }
}

impl Report {
    /// Whether something of the context is not there any more.
    pub fn lost_something(&self) -> bool {
        self.losses.iter().any(|loss| loss.kind.is_loss())
    }

    /// One more of that kind.
    pub(crate) fn count(&mut self, kind: Kind, name: &str, line: u64) {
        let is_it = |loss: &&mut Loss| loss.kind == kind && loss.name == name;
        if let Some(loss) = self.losses.iter_mut().find(is_it) {
            loss.count += 1;
            loss.first_line = loss.first_line.min(line);
            return;
        }
        self.losses.push(Loss { kind, name: name.to_owned(), count: 1, first_line: line });
    }
}
