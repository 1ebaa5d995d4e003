//! A compaction in the format of an agent: the lines that are appended to its session file so that
//! the agent resumes from a summary and from the messages that stay. No old line changes.
//!
//! Each agent's folder says which lines these are; `docs/agents.md` has the rules of its loader.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::{Dialect, Edits, HeldMessage, Message, Object, Part, Slot, json};

pub use crate::json::quoted;

/// The result of a compaction.
#[derive(Clone, Debug)]
pub struct Compaction<'a> {
    /// The summary of everything that was removed.
    pub summary: &'a str,
    /// The records that stay, in the order in which the model receives them.
    pub kept: Vec<Kept<'a>>,
    /// The number of records before the summary, if the format allows any.
    pub kept_before: usize,
    /// Whether they are the end of the context, so that nothing between them is removed.
    pub is_end: bool,
    /// The text of the last record of the context.
    pub last: &'a str,
    /// The number of tokens in the context before and after.
    pub tokens: (u64, u64),
    /// Whether the compaction ran without a request by the user.
    pub is_automatic: bool,
    /// The time of the compaction.
    pub now: DateTime<Utc>,
    /// The latest time in the session.
    pub newest: Option<DateTime<Utc>>,
    /// A hash of the session, from which new ids are derived: the same session always gets the same
    /// ids.
    pub seed: Vec<u8>,
}

/// A record that stays.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    /// The text of its object, with its changes.
    pub text: &'a str,
    /// The numbers, from 0, of the messages in the record that stay; `None` for all.
    pub messages: Option<Vec<usize>>,
    /// Whether it differs from the record in the session.
    pub is_changed: bool,
}

/// Why a session cannot be compacted in its agent's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// No line has a member that the agent requires in each line.
    #[error("no line has {0}, which its agent requires in each line")]
    Missing(&'static str),
    /// The file has no header, without which the agent reads nothing.
    #[error("it has no header, without which its agent reads nothing")]
    NoHeader,
    /// The format cannot read a record that stays.
    #[error("a record that stays does not have the form that its agent writes")]
    Unreadable,
}

/// Writes the lines of a compaction, after it has seen all records of the session.
pub trait CompactionWriter {
    /// Adds the object of the next record that has one.
    fn push(&mut self, object: &Object<'_>);

    /// The lines to append, without line ends.
    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError>;
}

impl<'a> Kept<'a> {
    pub(crate) fn object(&self) -> Result<Object<'a>, CompactionError> {
        Object::parse(self.text).map_err(|_| CompactionError::Unreadable)
    }

    /// The raw messages that stay, of a record that may hold several. `all` reads all of them.
    pub(crate) fn raw_messages(
        &self,
        dialect: &dyn Dialect,
        all: impl FnOnce(&Object<'a>) -> Option<Vec<String>>,
    ) -> Result<Vec<String>, CompactionError> {
        let object = self.object()?;
        let raw = match &self.messages {
            Some(numbers) => HeldMessage::chosen(dialect, &object, numbers),
            None => all(&object),
        };
        raw.ok_or(CompactionError::Unreadable)
    }
}

/// The changes that make a copy of a record in a tree: the new texts of its members, if it has
/// them, and `no_usage` in place of the usage of a reply. The reply's own usage counts the old
/// context, and the agent would compact again at once.
pub(crate) fn copy_with(record: &Object<'_>, texts: &[(&str, &str)], no_usage: &str) -> Edits {
    let mut edits = Edits::new();
    for (key, new) in texts {
        if let Some(raw) = record.get(key) {
            edits.replace(record.place_of(raw), json::quoted(new));
        }
    }
    let message = record.object_of("message");
    if let Some(raw) = message.as_ref().and_then(|message| message.get("usage")) {
        edits.replace(record.place_of(raw), no_usage.to_owned());
    }
    edits
}

/// The ids and the times of the lines that a compaction adds. The times increase, and come after
/// all times of the session, because an agent may sort by time.
pub(crate) struct NewLines {
    pub(crate) ids: Ids,
    next: DateTime<Utc>,
}

impl NewLines {
    pub(crate) fn of(compaction: &Compaction<'_>) -> Self {
        let after = compaction.newest.map(|time| time + TimeDelta::milliseconds(1));
        let next = after.map_or(compaction.now, |after| after.max(compaction.now));
        Self { ids: Ids::new(&compaction.seed), next }
    }

    /// The time of the next line, as agents write it: UTC, with milliseconds.
    pub(crate) fn time(&mut self) -> String {
        let time = self.next.to_rfc3339_opts(SecondsFormat::Millis, true);
        self.next += TimeDelta::milliseconds(1);
        time
    }
}

/// A sequence of new ids.
#[derive(Clone, Debug)]
pub struct Ids {
    state: u64,
    salt: u64,
}

impl Ids {
    /// Creates a sequence from a hash. The same hash gives the same ids.
    pub fn new(seed: &[u8]) -> Self {
        let mut words = seed.as_chunks().0.iter();
        let mut word = || words.next().map_or(0, |word| u64::from_le_bytes(*word));
        Self { state: word(), salt: word() }
    }

    /// The next 64 bits (`SplitMix64`, Steele and others 2014).
    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state ^ self.salt;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A UUID of version 4 (RFC 9562).
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.word(), self.word());
        let high = high & !0xf000 | 0x4000;
        let low = low & !(0b11 << 62) | 1 << 63;
        let (time, mid, version) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
        let (clock, node) = (low >> 48, low & 0xffff_ffff_ffff);
        format!("{time:08x}-{mid:04x}-{version:04x}-{clock:04x}-{node:012x}")
    }

    /// Eight hex digits.
    pub fn short(&mut self) -> String {
        format!("{:08x}", self.word() >> 32)
    }
}

/// Writes a list of JSON values.
pub fn list(values: &[String]) -> String {
    format!("[{}]", values.join(","))
}

/// Writes an object, member by member.
#[derive(Clone, Debug, Default)]
pub struct LineText(String);

impl LineText {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// An object with that `type`.
    pub fn of_type(kind: &str) -> Self {
        Self::new().text("type", kind)
    }

    /// Continues `object`, which must have a member.
    pub(crate) fn of_object(mut object: String) -> Self {
        object.pop();
        Self(object)
    }

    /// Adds members that are JSON already, after at least one other member.
    #[must_use]
    pub(crate) fn members(mut self, json: &str) -> Self {
        self.0.push(',');
        self.0 += json;
        self
    }

    /// Adds a member whose value is JSON already.
    #[must_use]
    pub fn json(mut self, key: &str, json: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0 += &json::quoted(key);
        self.0.push(':');
        self.0 += json;
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, key: &str, text: &str) -> Self {
        self.json(key, &json::quoted(text))
    }

    /// Adds a list of JSON values.
    #[must_use]
    pub fn list(self, key: &str, values: &[String]) -> Self {
        self.json(key, &list(values))
    }

    /// Adds a text, unless it is missing or empty.
    #[must_use]
    pub fn some_text(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) if !text.is_empty() => self.text(key, text),
            _ => self,
        }
    }

    /// Adds a list of JSON values, unless it is empty.
    #[must_use]
    pub fn some_list(self, key: &str, values: &[String]) -> Self {
        if values.is_empty() { self } else { self.list(key, values) }
    }

    /// Adds the value `true` if `yes` is true.
    #[must_use]
    pub fn is(self, key: &str, yes: bool) -> Self {
        if yes { self.json(key, "true") } else { self }
    }

    /// The whole object.
    pub fn end(self) -> String {
        if self.0.is_empty() { "{}".to_owned() } else { self.0 + "}" }
    }
}

/// The text of `record`, which holds `message`, with the changes that were made to the message in
/// another dialect. `before` are the messages of that dialect, and `after` the same messages with
/// other results, other arguments of calls, or without reasoning. `None` if nothing changed.
pub fn with_changes(
    record: &Object<'_>,
    message: &Message<'_>,
    before: &[Message<'_>],
    after: &[Message<'_>],
) -> Option<String> {
    let mut edits = Edits::new();
    let (old, new) = (texts(before), texts(after));
    for (key, _, slot) in results_and_calls(std::slice::from_ref(message)) {
        // A result that was not a text, and now is one, has changed.
        if let (Some(slot), Some(text)) = (slot, new.get(&key))
            && old.get(&key) != Some(text)
        {
            edits.put(slot, text);
        }
    }
    if has_reasoning(before) && !has_reasoning(after) {
        for place in &message.reasoning {
            edits.cut(place.clone());
        }
    }
    (!edits.is_empty()).then(|| edits.of_object(record))
}

/// The identity of a result or a call: whether it is a call, and its id. If the id is missing, its
/// index among the results or calls identifies it.
type Key<'m> = (bool, Option<&'m str>, usize);

/// The results and the calls of messages, each with its slot, and its text if it is only text.
fn results_and_calls<'m>(
    messages: &'m [Message<'_>],
) -> impl Iterator<Item = (Key<'m>, Option<Cow<'m, str>>, Option<&'m Slot>)> {
    let key = |is_call, at, id: &'m Option<Cow<'_, str>>| {
        let id = id.as_deref().filter(|id| !id.is_empty());
        (is_call, id, if id.is_none() { at } else { 0 })
    };
    let results = messages.iter().flat_map(Message::results).enumerate();
    let results =
        results.map(move |(at, it)| (key(false, at, &it.id), it.text(), it.slot.as_ref()));
    let calls = messages.iter().flat_map(Message::calls).enumerate();
    let calls = calls.map(move |(at, it)| {
        (key(true, at, &it.id), Some(Cow::Borrowed(it.arguments.as_ref())), it.slot.as_ref())
    });
    results.chain(calls)
}

fn texts<'m>(messages: &'m [Message<'_>]) -> HashMap<Key<'m>, Cow<'m, str>> {
    results_and_calls(messages).filter_map(|(key, text, _)| Some((key, text?))).collect()
}

fn has_reasoning(messages: &[Message<'_>]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Reasoning(_)))
}

#[cfg(test)]
mod tests;
