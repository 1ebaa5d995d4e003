//! The interface of a dialect, and the types that its methods return.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::compaction::LineText;
use crate::convert::target::text_block;
use crate::dialect::content::{SUMMARY_MARK, summary_text, text_record};
use crate::dialect::{Format, LOGS};
use crate::legality::content::{ANY_NAME, Mend, Names};
use crate::record::presence::{Outside, Presence};
use crate::{
    Edits, Links, Log, Media, Message, Object, Outline, Record, Role, Rules, SecondCopy, Unread,
    Usage, json,
};

/// How likely it is that a record belongs to a dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sniff {
    /// The record belongs to another dialect.
    #[default]
    No,
    /// The record could belong to this dialect or to another, as is the case with
    /// `{"role":"user","content":"hi"}`.
    Maybe,
    /// The record cannot belong to any other dialect.
    Yes,
}

/// The values in a context record, without the JSON around them, as slices of the record's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapped<'a> {
    /// The values that the model receives.
    pub sent: Vec<&'a str>,
    /// Duplicates of values that the model receives. The duplicates themselves are not sent; most
    /// of them are for the agent's screen.
    pub copies: Vec<&'a str>,
}

/// One of the messages that a record holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldMessage<'a> {
    /// The message as the dialect reads it. The byte ranges in the message refer to the text of the
    /// whole record, as in [`Dialect::message`].
    pub message: Message<'a>,
    /// The JSON object of the message, without the JSON that wraps it in a log. If the agent stores
    /// one object but sends another, this is the object that it sends.
    pub raw: Cow<'a, str>,
    /// The text of the summary, if the message is a summary.
    pub summary: Option<Cow<'a, str>>,
    /// Whether the message is a user request, which begins a turn.
    pub begins_turn: bool,
}

impl<'a> HeldMessage<'a> {
    /// Returns a list with the record's only message, or an empty list if the record is not a
    /// message. `raw` is the JSON of the message.
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
}

/// The parts of a record that only the vendor's server can read. The server accepts such a part
/// only together with all the messages before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The number of blocks with signed or encrypted reasoning.
    pub reasoning: usize,
    /// Whether the record contains an unreadable summary, written by the server, that replaces all
    /// earlier messages.
    pub has_summary: bool,
}

/// What becomes of signed reasoning after a change to an earlier message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidReasoning {
    /// The API rejects the session.
    Rejected,
    /// The API rejects the session, and the agent then sends it again without reasoning.
    RemovedByAgent,
    /// The API ignores the reasoning.
    Ignored,
}

/// A dialect reads and writes the records of a file format. If the format is an agent's log rather
/// than a list of messages, the dialect also has a [`Log`].
pub trait Dialect: Sync {
    /// The dialect's name, as users write it after `--dialect`.
    fn name(&self) -> &'static str;

    /// The facts about the format.
    fn format(&self) -> &'static Format {
        Format::of(self.name())
    }

    /// Returns how certain the dialect is that `object` is a record in its format.
    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let sign = self.format().sign.as_ref();
        if sign.is_some_and(|sign| sign.is_of(object)) { Sniff::Yes } else { Sniff::No }
    }

    /// Returns the role, calls and results of a message without decoding its content; `None` if the
    /// record is not a message.
    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>>;

    /// Returns the outline of a message, possibly without facts about its content, which take time.
    fn exchange<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        self.outline(object)
    }

    /// Returns true if the record is a message, in which case it has an outline.
    fn is_message(&self, object: &Object<'_>) -> bool {
        self.outline(object).is_some()
    }

    /// Reads the message with all its parts; `None` if the record is not a message.
    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>>;

    /// Returns the first unreadable content in a message: its role, its type, or a part. Returns
    /// `None` for content that the agent itself ignores, and for records that are not meant to be
    /// messages, such as progress lines in an agent's log.
    fn unread(&self, object: &Object<'_>) -> Option<Unread>;

    /// The parts of the record that only the vendor's server can read.
    fn sealed(&self, _object: &Object<'_>) -> Sealed {
        Sealed::default()
    }

    /// The readable summary, written by the server, that replaces all earlier messages.
    fn vendor_summary(&self, _object: &Object<'_>) -> Option<String> {
        None
    }

    /// What becomes of signed reasoning in the session after a change to an earlier message.
    fn invalid_reasoning(&self) -> InvalidReasoning {
        InvalidReasoning::Ignored
    }

    /// The token counts that the API reported for a reply; `None` if the record has no counts, or
    /// only placeholder counts.
    fn usage(&self, _object: &Object<'_>) -> Option<Usage> {
        None
    }

    /// The model that wrote the record or, if the record is a setting, the model that will write
    /// the next reply.
    fn model<'a>(&self, _object: &Object<'a>) -> Option<Cow<'a, str>> {
        None
    }

    /// What the API requires of any sequence of messages.
    fn rules(&self) -> Rules {
        Rules { dialect: self.name(), ..self.format().rules }
    }

    /// The names that the API accepts.
    fn names(&self) -> Names {
        Names { calls: ANY_NAME, tools: ANY_NAME }
    }

    /// Adds to `mend` the edits that repair the content of a message. Problems that concern several
    /// messages are not repaired here.
    fn mend(&self, _object: &Object<'_>, _mend: &mut Mend<'_, '_>) {}

    /// Returns the text of `object` with `change` applied. `into` lists results from
    /// [`Self::new_result`], which are inserted before the object's own results.
    fn changed(&self, object: &Object<'_>, _change: &RecordChange, _into: Vec<String>) -> String {
        object.text().to_owned()
    }

    /// Writes a result for a repair: a block of a message, or a record without a line ending.
    /// `None` if the record in `result` has no result at the given index, or if a call and its
    /// result are always in the same record.
    fn new_result(&self, result: &NewResult<'_>) -> Option<String> {
        let Some((record, place)) = &result.found else {
            return self.missing_result(&result.call, result.id);
        };
        let rename_results = [(*place, result.id.to_owned())].into();
        let change = RecordChange { rename_results, ..RecordChange::default() };
        Some(self.changed(record, &change, Vec::new()))
    }

    /// Writes a record with [`MISSING_RESULT`] as the result of a call, without a line ending. `id`
    /// is the id of the call, which is in the record `call`. `None` if a call and its result are
    /// always in the same record.
    fn missing_result(&self, _call: &Object<'_>, _id: &str) -> Option<String> {
        None
    }

    /// Writes results from [`Self::new_result`] as separate records, without line endings.
    fn result_records(&self, results: Vec<String>) -> Vec<String> {
        results
    }

    /// Writes a user message with the content `text`, to be inserted before the record `next`, as a
    /// record without a line ending.
    fn said_by_user(&self, text: &str, _next: &Object<'_>) -> String {
        text_record(Role::User, text)
    }

    /// Returns the JSON of a part with `text` that can take the place of `media`, a part of a
    /// message.
    fn in_place_of(&self, media: &Media<'_>, text: &str) -> String {
        match media.kind {
            "inlineData" => LineText::default().text("text", text).end(),
            kind if kind.starts_with("input_") => {
                LineText::of_type("input_text").text("text", text).end()
            }
            _ => text_block(text),
        }
    }

    /// Returns a record with the content that the agent sends instead of the record's own content;
    /// `None` if the agent sends the record as it is.
    fn as_sent(&self, _object: &Object<'_>) -> Option<String> {
        None
    }

    /// The messages in a record, in order. [`Self::message`] joins these messages into one.
    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let raw = self.as_sent(object).map_or(object.text().trim().into(), Cow::Owned);
        HeldMessage::alone(self, object, raw)
    }

    /// The values in a context record that the model receives, and duplicates of these values.
    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        Wrapped { sent: vec![object.text().trim_end()], copies: Vec::new() }
    }

    /// The references of a line to other lines. Only log lines refer to other lines.
    fn links<'a>(&self, _object: &Object<'a>) -> Links<'a> {
        Links::default()
    }

    /// Duplicates of a record's results, which the agent only shows on its screen.
    fn second_copies(&self, _object: &Object<'_>) -> Vec<SecondCopy> {
        Vec::new()
    }

    /// The log format, if an agent writes files in this dialect; `None` if the file is a list of
    /// messages, which are sent in order.
    fn log(&self) -> Option<&dyn Log> {
        LOGS.into_iter().find(|log| log.name() == self.name())
    }

    /// Returns the role in which to write a summary if `wanted` was requested. Every API accepts
    /// the role `user`. For a summary that is marked only by its first line, `user` is also the
    /// only safe role, because a model could be tricked into writing that line.
    fn summary_role(&self, _wanted: Role) -> Role {
        Role::User
    }

    /// Writes a record that contains a summary, without a line ending. [`Self::summary_text`]
    /// recognizes the record.
    fn summary_record(&self, _role: Role, text: &str) -> String {
        let quoted = json::quoted(text);
        match self.format().summary_record {
            Some(record) => record.get().replace("{text}", &quoted[1..quoted.len() - 1]),
            None => text_record(Role::User, &format!("{SUMMARY_MARK}\n\n{text}")),
        }
    }

    /// The text of a summary that [`Self::summary_record`] wrote. A record with a role that a
    /// summary cannot have, such as `tool`, is not a summary, whatever its text says.
    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        summary_text(object)
    }

    /// Returns true if the session is certainly in this format. Only [`super::Plain`] returns
    /// false, because it covers several formats.
    fn is_certain(&self) -> bool {
        true
    }

    /// What the API requires of a session written by one of our tools. If the session could be in
    /// several formats, it must comply with the rules of all of them.
    fn output_rules(&self) -> Rules {
        self.rules()
    }

    /// Returns true if calls and results are not the only links between records, so that removing
    /// or inserting a record could break other links.
    fn is_linked(&self) -> bool {
        self.is_log()
    }

    /// Returns true if files in this dialect are agent logs.
    fn is_log(&self) -> bool {
        self.log().is_some()
    }
}

/// The content of the result that is inserted for a call without a result.
pub const MISSING_RESULT: &str = "The result of this call is missing from the session.";

/// What to change in a record. Calls and results are identified by their index among the calls or
/// the results of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// The results to remove from the record.
    pub without: Vec<usize>,
    /// Whether to move the results before all other content.
    pub results_first: bool,
    /// The new ids of calls, each with the index of the call.
    pub rename_calls: BTreeMap<usize, String>,
    /// The new call ids in results, each with the index of the result.
    pub rename_results: BTreeMap<usize, String>,
}

impl RecordChange {
    /// Returns the edits that give the calls and the result of a record their new ids. `calls` and
    /// `result` are the old ids, as raw JSON.
    pub(crate) fn renames(
        &self,
        object: &Object<'_>,
        calls: &[Option<&str>],
        result: Option<&str>,
    ) -> Edits {
        let calls =
            self.rename_calls.iter().map(|(at, to)| (calls.get(*at).copied().flatten(), to));
        let results = self.rename_results.values().map(|to| (result, to));
        let mut edits = Edits::default();
        for (raw, to) in calls.chain(results).filter_map(|(raw, to)| Some((raw?, to))) {
            if json::text(raw).as_deref().unwrap_or(raw) != to {
                edits.replace(object.place_of(raw), json::quoted(to));
            }
        }
        edits
    }
}

/// A result that is moved to its call, or created because it is missing.
#[derive(Debug)]
pub struct NewResult<'a> {
    /// The id of the call, which the result must repeat.
    pub id: &'a str,
    /// The record that contains the call.
    pub call: Object<'a>,
    /// The record that contains the result, and the index of the result among the record's results;
    /// `None` if the result is missing, in which case [`MISSING_RESULT`] is written.
    pub found: Option<(Object<'a>, usize)>,
}

impl<'a> Record<'a> {
    /// Returns the outline of the record in `dialect`, or a generic outline of a line if `dialect`
    /// is `None`. Returns `None` if the record is not a message or is not in the context.
    pub fn outline(&self, dialect: Option<&dyn Dialect>) -> Option<Outline<'a>> {
        let (object, fragment) = self.in_context()?;
        let Some(dialect) = dialect else { return Some(Outline::of_line()) };
        Some(Outline { fragment, ..dialect.outline(object)? })
    }

    /// Returns true if the record is in the context and begins a message.
    pub fn begins_message(&self, dialect: &dyn Dialect) -> bool {
        self.in_context().is_some_and(|(object, fragment)| {
            fragment.is_none_or(|fragment| fragment.begins) && dialect.is_message(object)
        })
    }

    /// Returns the message, or the fragment of a message, that the record holds. Returns `None` if
    /// the format is unknown, or if the record is not a message or is not in the context.
    pub fn message(&self, dialect: Option<&dyn Dialect>) -> Option<Message<'a>> {
        let (object, fragment) = self.in_context()?;
        Some(Message {
            continues: fragment.is_some_and(|fragment| !fragment.begins),
            ..dialect?.message(object)?
        })
    }

    /// Returns the first unreadable content in a record that should be a message in `dialect`.
    /// Records on another branch or before a compaction are not examined, because they are outside
    /// the context.
    pub fn unread(&self, dialect: &dyn Dialect) -> Option<Unread> {
        match self.presence {
            Some(Presence::Outside(why)) if why != Outside::NeverSent => None,
            _ => dialect.unread(self.whole_object()?),
        }
    }
}
