//! What a dialect must answer, and the shapes of the answers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::dialect::content::text_record;
use crate::dialect::summary::{SUMMARY_LINE, summary_text};
use crate::dialect::unread::Unread;
use crate::dialect::usage::Usage;
use crate::log::Log;
use crate::log::links::{Links, SecondCopy};
use crate::record::Record;
use crate::record::message::{Message, Outline, Role};
use crate::record::object::Object;
use crate::record::presence::{Outside, Presence};
use crate::rules::Rules;

/// A dialect's certainty that a record belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sniff {
    /// The record belongs to another dialect.
    #[default]
    No,
    /// The record could belong to it: `{"role":"user","content":"hi"}` is legal in several.
    Maybe,
    /// The record can belong to no other dialect.
    Yes,
}

/// The values in a record of the context without what wraps them: raw JSON within the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapped<'a> {
    /// The values that the model receives.
    pub sent: Vec<&'a str>,
    /// Second copies for the agent's screen.
    pub copies: Vec<&'a str>,
}

/// One of the messages in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldMessage<'a> {
    /// The message. Positions in it refer to the text of the whole record, as in
    /// [`Dialect::message`].
    pub message: Message<'a>,
    /// The JSON object of the message, without what wraps it in a log. If the agent sends a
    /// different object from the one that it stores, this is the sent one.
    pub raw: Cow<'a, str>,
    /// The text of a summary, if the message is one.
    pub summary: Option<Cow<'a, str>>,
    /// Whether the message is a request of the user, which begins a turn.
    pub begins_turn: bool,
}

impl<'a> HeldMessage<'a> {
    /// The only message of a record, which is `raw`; empty if the record is not a message.
    pub(crate) fn alone<D: Dialect + ?Sized>(
        dialect: &D,
        object: &Object<'a>,
        raw: Cow<'a, str>,
    ) -> Vec<Self> {
        let held = dialect.message(object).map(|message| Self {
            message,
            raw,
            summary: dialect.summary_text(object),
            begins_turn: dialect.outline(object).is_some_and(|outline| outline.begins_turn),
        });
        held.into_iter().collect()
    }

    /// The messages with these numbers in a record, raw; `None` if one of them is missing.
    pub(crate) fn chosen(
        dialect: &dyn Dialect,
        object: &Object<'_>,
        numbers: &[usize],
    ) -> Option<Vec<String>> {
        let held = dialect.held(object);
        numbers.iter().map(|number| held.get(*number).map(|it| it.raw.to_string())).collect()
    }
}

/// The parts of a record that only the vendor's server can read. Such a part is only valid with all
/// earlier messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The number of blocks of signed or encrypted reasoning.
    pub reasoning: usize,
    /// Whether there is a summary by the server, which replaces all earlier messages.
    pub has_summary: bool,
}

/// Reads and writes the records of a file format. An agent's log, as opposed to a list of messages,
/// also has a [`Log`].
pub trait Dialect: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Returns how sure it is that `object` is a record of this format.
    fn sniff(&self, object: &Object<'_>) -> Sniff;

    /// The skeleton of the message, without decoding content; `None` if the record is not a
    /// message.
    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>>;

    /// Whether the record is a message, which has an outline.
    fn is_message(&self, object: &Object<'_>) -> bool {
        self.outline(object).is_some()
    }

    /// The whole message; `None` if the record is not a message.
    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>>;

    /// The first unreadable thing in a message: its role, its type, or a part. `None` for a record
    /// that is not meant to be a message, such as progress in an agent's log, and for content that
    /// the agent itself ignores.
    fn unread(&self, object: &Object<'_>) -> Option<Unread>;

    /// The parts of the record that only the vendor's server can read.
    fn sealed(&self, _object: &Object<'_>) -> Sealed {
        Sealed::default()
    }

    /// The tokens that the API counted for a reply; `None` if the record has no numbers, or only
    /// placeholders.
    fn usage(&self, _object: &Object<'_>) -> Option<Usage> {
        None
    }

    /// The model that wrote the record, or that will write the next reply.
    fn model<'a>(&self, _object: &Object<'a>) -> Option<Cow<'a, str>> {
        None
    }

    /// The API's requirements for a sequence of messages.
    fn rules(&self) -> Rules;

    /// How to repair a list of messages so that it obeys [`Self::rules`]; `None` if the format's
    /// records cannot be repaired that way. Logs are repaired by the remedies of their flaws.
    fn repair(&self) -> Option<&dyn RepairDialect> {
        None
    }

    /// The messages of a record, in their order. [`Self::message`] joins them into one.
    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        HeldMessage::alone(self, object, object.text().trim().into())
    }

    /// The values in a record of the context that the model receives, and their copies.
    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        Wrapped { sent: vec![object.text().trim_end()], copies: Vec::new() }
    }

    /// The links of a line to other lines; only the lines of a log have links.
    fn links<'a>(&self, _object: &Object<'a>) -> Links<'a> {
        Links::default()
    }

    /// The second copies of the results in a record, which the agent shows on its screen.
    fn second_copies(&self, _object: &Object<'_>) -> Vec<SecondCopy> {
        Vec::new()
    }

    /// The log, if the file is an agent's; `None` for a list of messages, which are all sent in
    /// order.
    fn log(&self) -> Option<&dyn Log> {
        None
    }

    /// The role of a summary if `wanted` was requested. Every API accepts the user's role, and it
    /// is the only safe one if a summary is only marked by its first line, because a model could be
    /// made to write that line.
    fn summary_role(&self, _wanted: Role) -> Role {
        Role::User
    }

    /// Writes a record, without line end, that holds a summary. [`Self::summary_text`] recognizes
    /// it.
    fn summary_record(&self, _role: Role, text: &str) -> String {
        text_record(Role::User, &format!("{SUMMARY_LINE}\n\n{text}"))
    }

    /// The text of a summary that [`Self::summary_record`] wrote. A record whose role no summary
    /// has, such as a tool's, is not a summary, whatever it looks like.
    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        summary_text(object)
    }

    /// Whether the session is certainly in this format. It is false for [`super::Plain`], which
    /// represents several formats.
    fn is_certain(&self) -> bool {
        true
    }

    /// The rules for a tool's output: those of every format that the session could be in.
    fn output_rules(&self) -> Rules {
        self.rules()
    }

    /// Whether records depend on each other beyond calls and results, so that removing or inserting
    /// one breaks others.
    fn is_linked(&self) -> bool {
        self.is_log()
    }

    /// Whether the file is an agent's log.
    fn is_log(&self) -> bool {
        self.log().is_some()
    }
}

/// The text of a result that replaces a missing one.
pub const MISSING_RESULT: &str = "The result of this call is missing from the session.";

/// Writes the changes of a [`Repair`](crate::repair::Repair) in a dialect.
pub trait RepairDialect {
    /// Returns the text of a record's object with `change` made. `into` are results, as
    /// [`Self::result`] writes them, that are inserted before the object's own results.
    fn changed(&self, object: &Object<'_>, change: &RecordChange, into: Vec<String>) -> String;

    /// Writes a result in the format's form: a block of a message, or a record without line end.
    /// `None` if the result is not at the position where it was found.
    fn result(&self, result: &NewResult<'_>) -> Option<String>;

    /// Writes records, without line ends, that hold only these results.
    fn records_of(&self, results: Vec<String>) -> Vec<String>;

    /// Writes a record, without line end, with the user message `text`.
    fn said_by_user(&self, text: &str) -> String {
        text_record(Role::User, text)
    }
}

/// The changes of a record. Calls and results are identified by their index among the calls or the
/// results of the record, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// The results to remove.
    pub without: Vec<usize>,
    /// Whether results move before all other content.
    pub results_first: bool,
    /// New ids of calls.
    pub rename_calls: BTreeMap<usize, String>,
    /// New ids in results, to match renamed calls.
    pub rename_results: BTreeMap<usize, String>,
}

/// A result that is moved to its call, or made for it.
#[derive(Debug)]
pub struct NewResult<'a> {
    /// The id of the call, which the result must name.
    pub id: &'a str,
    /// The record of the call.
    pub call: Object<'a>,
    /// The record with the result, and the result's index among the results there; `None` if the
    /// result is missing and [`MISSING_RESULT`] replaces it.
    pub found: Option<(Object<'a>, usize)>,
}

impl<'a> Record<'a> {
    /// The outline in `dialect`; in an unknown format each object counts as a line. `None` if the
    /// record is not a message, or not in the context.
    pub fn outline(&self, dialect: Option<&dyn Dialect>) -> Option<Outline<'a>> {
        let (object, fragment) = self.in_context()?;
        let Some(dialect) = dialect else { return Some(Outline::of_line()) };
        Some(Outline { fragment, ..dialect.outline(object)? })
    }

    /// Returns true if the record is in the context, and a message begins there.
    pub fn begins_message(&self, dialect: &dyn Dialect) -> bool {
        self.in_context().is_some_and(|(object, fragment)| {
            fragment.is_none_or(|fragment| fragment.begins) && dialect.is_message(object)
        })
    }

    /// The message, or the record's fragment of it. `None` as in [`Self::outline`], or if the
    /// format is unknown.
    pub fn message(&self, dialect: Option<&dyn Dialect>) -> Option<Message<'a>> {
        let (object, fragment) = self.in_context()?;
        Some(Message {
            continues: fragment.is_some_and(|fragment| !fragment.begins),
            ..dialect?.message(object)?
        })
    }

    /// The first part that looks like a message of `dialect` but cannot be read. Content outside
    /// the context, on a branch or before a compaction, does not matter.
    pub fn unread(&self, dialect: &dyn Dialect) -> Option<Unread> {
        match self.presence {
            Some(Presence::Outside(why)) if why != Outside::NeverSent => None,
            _ => dialect.unread(self.whole_object()?),
        }
    }
}
