//! What a conversion did, and what it could not carry.

use serde::Serialize;

use crate::SourceId;

/// What a conversion did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many messages there were: of results of one reply all are one.
    pub messages: u64,
    /// How many records were written.
    pub records: u64,
    /// What was not carried, or not as it was: by kind.
    pub losses: Vec<Loss>,
    /// Of each record written where it comes from, when that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// What of one kind was not carried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// What it is.
    pub kind: Kind,
    /// Its name in the source, where a kind has several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How often.
    pub count: u64,
    /// Where it was first: a line of the source.
    pub first_line: u64,
}

/// What there is that another dialect may have no place for.
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
    /// Arguments of a call that are no object where one is wanted: they are the member
    /// `input` of one.
    Arguments,
    /// A part of a result that is JSON: it is its text now.
    AsText,
    /// A result that stands in the source a second time.
    SecondResult,
    /// A message before a summary, which stands behind it now.
    BeforeSummary,
    /// A call without a result: kept as it is.
    OpenCall,
    /// A result without a call: kept as it is.
    LoneResult,
    /// A user message that the source does not have: the API takes no session that begins
    /// with a reply.
    Beginning,
}

/// Where a record that was written comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The first line of the source that is in it, from 1.
    pub first_line: u64,
    /// What of the source is in it, in the order in which it is said.
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
    /// For a person: what it is, and what became of it.
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
            Kind::Record => (
                "record of the context is",
                "records of the context are",
                "left out: no message",
            ),
            Kind::ErrorMark => ("result is", "results are", "no longer marked as an error"),
            Kind::Name => (
                "participant's name is",
                "participants' names are",
                "left out",
            ),
            Kind::Instructions => (
                "system message is",
                "system messages are",
                "left out: the agent has its own",
            ),
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
            Kind::BeforeSummary => (
                "message before a summary stands",
                "messages before a summary stand",
                "behind it now",
            ),
            Kind::OpenCall => ("call has", "calls have", "no result; it stays as it is"),
            Kind::Beginning => (
                "user message is",
                "user messages are",
                "inserted before: the session begins with a reply, which the API refuses",
            ),
            Kind::LoneResult => (
                "result answers",
                "results answer",
                "no call; it stays as it is",
            ),
        };
        let said = if self.count == 1 { one } else { many };
        let name = if self.name.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.name)
        };
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
        self.losses.push(Loss {
            kind,
            name: name.to_owned(),
            count: 1,
            first_line: line,
        });
    }
}
