//! Replays the lines of a session in the same way as the client's loader.
//!
//! The rules follow `chatRecordingService` in version 0.61.0. The client keeps messages in a map,
//! so a message that is written again keeps its old position. A rewind undoes the message that it
//! refers to and all later messages, or, if that message does not exist, all messages. A list of
//! messages in a `$set` replaces everything before it. The client writes a list of messages when it
//! compacts, when a session begins or resumes, and when a turn is interrupted.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::Gemini;
use super::message::SentMessage;
use crate::dialect::gemini as part;
use crate::log::links::LineId;
use crate::log::view::{Outside, View};
use crate::log::{Effect, Flaw, HeaderFacts, Log as _, Remedy};
use crate::{Object, Role, counted};

/// The kinds of lines, in order of precedence: a line with the keys of several kinds is of the
/// first of these kinds.
pub(super) enum Line<'a> {
    /// Undoes the message with the given id and all later messages.
    Rewind(Cow<'a, str>),
    Message,
    /// Replaces all earlier messages with the given messages.
    Checkpoint(Vec<Object<'a>>),
    /// Describes the session. If the whole session is on one line, the header also contains the
    /// messages.
    Header(Vec<Object<'a>>),
    /// Contains metadata, or has a form that the loader does not recognize.
    Other,
}

impl<'a> Line<'a> {
    pub(super) fn of(object: &Object<'a>) -> Self {
        if let Some(id) = object.text_of("$rewindTo") {
            Self::Rewind(id)
        } else if object.text_of("id").is_some() {
            Self::Message
        } else if let Some(set) = object.object_of("$set") {
            messages_in(&set).map_or(Self::Other, Self::Checkpoint)
        } else if object.text_of("sessionId").is_some() && object.text_of("projectHash").is_some() {
            Self::Header(messages_in(object).unwrap_or_default())
        } else {
            Self::Other
        }
    }

    /// The messages that the line contains.
    pub(super) fn into_messages(self, object: &Object<'a>) -> Vec<Object<'a>> {
        match self {
            Self::Message => vec![object.clone()],
            Self::Checkpoint(messages) | Self::Header(messages) => messages,
            Self::Rewind(_) | Self::Other => Vec::new(),
        }
    }
}

/// Returns the messages in the list `messages`; `None` if there is no list `messages`. If several
/// messages have the same id, the last one takes the place of the first. Objects without an id are
/// not messages.
fn messages_in<'a>(object: &Object<'a>) -> Option<Vec<Object<'a>>> {
    let mut messages: Vec<Object<'a>> = Vec::new();
    let mut places = HashMap::new();
    let all = object.elements_of("messages")?.into_iter().filter_map(Object::within);
    for (id, message) in all.filter_map(|it| Some((it.text_of("id")?, it))) {
        let place = *places.entry(id).or_insert(messages.len());
        if place == messages.len() {
            messages.push(message);
        } else {
            messages[place] = message;
        }
    }
    Some(messages)
}

/// The position of a message in the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessagePosition {
    /// The number of the record that contains the message, starting at 0.
    pub(super) record: usize,
    /// The number of the message within its record, starting at 0. Messages that are not sent are
    /// not numbered.
    pub(super) number: usize,
}

/// A message in the log, which may or may not be sent.
pub(super) struct Entry {
    id: LineId,
    pub(super) place: MessagePosition,
    /// The message as the model receives it; `None` if the message is not sent.
    pub(super) turn: Option<Turn>,
}

/// The messages that the loader holds at some point in the log.
#[derive(Default)]
pub(super) struct Log {
    /// The messages, in the order in which the client would send them.
    pub(super) entries: Vec<Entry>,
    places: HashMap<LineId, usize>,
    /// The records outside the context, each with the reason.
    pub(super) outside: View,
    /// The positions of messages that were replaced by a list, keyed by message id.
    displaced: HashMap<LineId, MessagePosition>,
    /// The flaws of lines that the loader does not read as intended.
    pub(super) flaws: Vec<Flaw>,
    /// The flaw to report if no line turns out to be a header.
    pub(super) headless: Option<Flaw>,
    pub(super) has_header: bool,
}

impl Log {
    /// Adds the next record, which must be an object.
    pub(super) fn add(&mut self, record: usize, object: &Object<'_>) {
        self.headless.get_or_insert_with(|| no_header(record, object));
        let line = Line::of(object);
        match &line {
            Line::Header(_) => self.has_header = true,
            Line::Rewind(id) => {
                let place = self.places.get(&LineId::of(id)).copied();
                let gone = self.take_back(place.unwrap_or(0), Outside::DeadBranch);
                let sent = gone.iter().filter(|entry| entry.turn.is_some()).count();
                // The message that the rewind names is not in the file.
                if place.is_none() && sent > 0 {
                    let gone = counted(sent, "message");
                    let what = format!(
                        "no message has the id that this rewind names: the Gemini CLI removes the {gone} before the rewind"
                    );
                    self.flaws.push(Flaw::new(record, "rewind-to-nowhere", Effect::Lost, what));
                }
            }
            Line::Checkpoint(messages) => {
                let is_summary = is_compaction(messages);
                let why = if is_summary { Outside::BeforeCompaction } else { Outside::DeadBranch };
                self.flaws.clear();
                let gone = self.take_back(0, why);
                let sent = gone.into_iter().filter(|entry| entry.turn.is_some());
                self.displaced.extend(sent.map(|it| (it.id, it.place)));
            }
            Line::Other if Turn::of(object).is_some() => {
                let flaw = Gemini.flaw(record, "message-without-id");
                self.flaws.push(flaw.repaired_by(Remedy::Change(Vec::new())));
            }
            Line::Message | Line::Other => {}
        }
        let mut number = 0;
        for message in &line.into_messages(object) {
            number += usize::from(self.put(message, MessagePosition { record, number }));
        }
        if number > 1 {
            self.outside.hold(record, number);
        }
    }

    /// Removes and returns the message at index `from` and all later messages.
    fn take_back(&mut self, from: usize, why: Outside) -> Vec<Entry> {
        let gone = self.entries.split_off(from);
        for entry in &gone {
            self.places.remove(&entry.id);
            if entry.turn.is_some() {
                self.leave(entry.place, why);
            }
        }
        gone
    }

    /// Stores the reason why a message is not in the context.
    fn leave(&mut self, place: MessagePosition, why: Outside) {
        self.outside.leave_message(place.record, place.number, why);
    }

    /// Adds a message, or replaces the earlier message with the same id. Returns true if the
    /// message is of a kind that is sent.
    fn put(&mut self, message: &Object<'_>, place: MessagePosition) -> bool {
        let id = LineId::of(&message.text_of("id").unwrap_or_default());
        let turn = Turn::of(message);
        let is_sent = turn.is_some();
        let entry = Entry { id, place, turn };
        let mut superseded = self.displaced.remove(&id);
        if let Some(place) = self.places.get(&id) {
            let before = std::mem::replace(&mut self.entries[*place], entry);
            if before.turn.is_none() {
                self.outside.leave(before.place.record, Outside::Superseded);
            } else if superseded.is_none() {
                superseded = Some(before.place);
            }
        } else {
            self.places.insert(id, self.entries.len());
            self.entries.push(entry);
        }
        if let Some(place) = superseded {
            self.leave(place, Outside::Superseded);
        }
        is_sent
    }
}

fn no_header(record: usize, first: &Object<'_>) -> Flaw {
    let time = first.text_of("timestamp").map(Into::into);
    let [id, time, _] = HeaderFacts { time, ..HeaderFacts::default() }.quoted();
    // No line identifies the project, but the client accepts any hash that is not empty.
    let header = format!(
        r#"{{"sessionId":{id},"projectHash":"0","startTime":{time},"lastUpdated":{time},"kind":"main"}}"#
    );
    Gemini.flaw(record, "no-header").repaired_by(Remedy::Before(header))
}

/// Returns true if a list of messages begins with a summary of earlier messages.
pub(super) fn is_compaction(messages: &[Object<'_>]) -> bool {
    let first = messages.iter().find_map(SentMessage::of);
    first.is_some_and(|message| message.snapshot().is_some())
}

/// What the view needs to know about a message that the model receives.
pub(super) enum Turn {
    User,
    /// A message that contains nothing but tool results and their media. Newer clients write such a
    /// message although the reply also contains the results.
    Results(Vec<LineId>),
    Reply {
        calls: HashSet<LineId>,
        /// Whether the record also contains the results of the calls.
        has_results: bool,
        /// Whether the reply has an empty part, which prevents the client from sending it.
        is_void: bool,
        /// The ids of calls without a result in the same record. A call without an id is listed by
        /// its name.
        unanswered: Vec<String>,
    },
}

impl Turn {
    /// Extracts the facts from a message; `None` if no part of the message is sent.
    pub(super) fn of(message: &Object<'_>) -> Option<Self> {
        let sent = SentMessage::of(message)?;
        let content = sent.content();
        let names = |key| content.iter().filter_map(move |raw| part::name(raw, key));
        if sent.role == Role::User {
            if sent.is_more_than_results() {
                return Some(Self::User);
            }
            let ids = names("functionResponse").map(|name| LineId::of(&name));
            return Some(Self::Results(ids.collect()));
        }
        let listed = sent.listed_calls();
        let has_result = |call: &&Object<'_>| !part::list(call.get("result")).is_empty();
        let id = |call: &Object<'_>| LineId::of(&part::name_of(call));
        let answered: HashSet<LineId> = listed.iter().filter(has_result).map(id).collect();
        let in_content: Vec<String> = names("functionCall").collect();
        let mut calls: HashSet<LineId> = in_content.iter().map(|name| LineId::of(name)).collect();
        calls.extend(listed.iter().map(id));
        let called: Vec<String> =
            if sent.is_whole() { in_content } else { listed.iter().map(part::name_of).collect() };
        let is_open = |id: &String| !answered.contains(&LineId::of(id));
        Some(Self::Reply {
            calls,
            has_results: !answered.is_empty(),
            is_void: content.iter().any(|raw| part::is_void(raw)),
            unanswered: called.into_iter().filter(is_open).collect(),
        })
    }
}
