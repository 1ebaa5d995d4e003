//! A compaction in an agent's format. Lines are appended to the session file, so that the agent
//! resumes from a summary and the kept messages. The existing lines do not change.
//!
//! Each agent's folder defines the lines to append; `docs/agents.md` describes how the agents load
//! them.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::{Dialect, Edits, Message, Object, Slot, json};

pub use crate::json::quoted;

/// The outcome of a compaction, as passed to the writer of the new lines.
#[derive(Clone, Debug)]
pub struct Compaction<'a> {
    /// The summary of all messages that were removed.
    pub summary: &'a str,
    /// The kept records, in the order in which the model receives them.
    pub kept: Vec<Kept<'a>>,
    /// How many records in `kept` come before the summary; 0 if the format allows none.
    pub kept_before: usize,
    /// Whether the kept records are the last records in the context, with no gaps between them.
    pub is_end: bool,
    /// The text of the context's last record.
    pub last: &'a str,
    /// The token counts of the context before and after the compaction.
    pub tokens: (u64, u64),
    /// Whether the compaction ran without being requested by the user.
    pub is_automatic: bool,
    /// The time of the compaction.
    pub now: DateTime<Utc>,
    /// The latest time of any record in the session.
    pub newest: Option<DateTime<Utc>>,
    /// A hash of the session, from which new ids are derived. The same session always yields the
    /// same ids.
    pub seed: Vec<u8>,
}

/// A record that the compaction keeps in the context.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    /// The text of the record's object, with any changes.
    pub text: &'a str,
    /// The numbers of the kept messages in the record, starting at 0; `None` if all messages of the
    /// record are kept.
    pub messages: Option<Vec<usize>>,
    /// Whether the text differs from that in the session.
    pub is_changed: bool,
}

/// The reason why a compaction cannot be written in the agent's own format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// No line has this member, although the agent requires it in every line.
    #[error("no line has {0}, which the agent requires in every line")]
    Missing(&'static str),
    /// The file has no header, and without a header the agent reads nothing.
    #[error("the file has no header, and without one the agent reads nothing")]
    NoHeader,
    /// The session begins in another file, and the summary would lose what is there.
    #[error("the session begins in another file, which the agent sends as well")]
    Elsewhere,
    /// A kept record is not in the agent's format.
    #[error("a record to be kept is not in the agent's own format")]
    Unreadable,
}

/// Receives all records of a session, and then writes the lines of a compaction.
pub trait CompactionWriter {
    /// Adds the next record, which must be an object.
    fn push(&mut self, object: &Object<'_>);

    /// Returns the lines to append to the session file, without line endings.
    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError>;
}

impl<'a> Kept<'a> {
    pub(crate) fn object(&self) -> Result<Object<'a>, CompactionError> {
        Object::parse(self.text).map_err(|_| CompactionError::Unreadable)
    }

    /// Returns the kept messages of the record, as raw JSON. `all` lists all messages of the
    /// record.
    pub(crate) fn raw_messages(
        &self,
        dialect: &dyn Dialect,
        all: impl FnOnce(&Object<'a>) -> Option<Vec<String>>,
    ) -> Result<Vec<String>, CompactionError> {
        let object = self.object()?;
        let raw = if let Some(numbers) = &self.messages {
            let held = dialect.held(&object);
            numbers.iter().map(|number| held.get(*number).map(|it| it.raw.to_string())).collect()
        } else {
            all(&object)
        };
        raw.ok_or(CompactionError::Unreadable)
    }
}

/// Returns the edits that turn a line of a tree into a copy for use after a compaction. If a key in
/// `texts` occurs in the record, the key's value is replaced with the text. The token counts of a
/// reply are replaced with `no_usage`, because they refer to the old context and would make the
/// agent compact again at once.
pub(crate) fn copy_with(record: &Object<'_>, texts: &[(&str, &str)], no_usage: &str) -> Edits {
    let mut edits = Edits::default();
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

/// The ids and times of the lines that a compaction adds. The time of each new line is later than
/// the times of all lines before it, because an agent may sort lines by time.
pub(crate) struct NewLines {
    pub(crate) ids: Ids,
    next: DateTime<Utc>,
}

impl NewLines {
    pub(crate) fn of(compaction: &Compaction<'_>) -> Self {
        let after = Self::after(compaction.newest, &compaction.seed);
        Self { next: after.next.max(compaction.now), ..after }
    }

    /// Creates lines whose times follow `newest` directly.
    pub(crate) fn after(newest: Option<DateTime<Utc>>, seed: &[u8]) -> Self {
        let next = newest.map(|time| time + TimeDelta::milliseconds(1));
        Self { ids: Ids::new(seed), next: next.unwrap_or_default() }
    }

    /// Returns the time of the next line in the form that agents use: in UTC, with milliseconds.
    pub(crate) fn time(&mut self) -> String {
        let time = self.next.to_rfc3339_opts(SecondsFormat::Millis, true);
        self.next += TimeDelta::milliseconds(1);
        time
    }

    /// Returns the time of the next line in milliseconds since 1970.
    pub(crate) fn milliseconds(&mut self) -> i64 {
        let time = self.next.timestamp_millis();
        self.next += TimeDelta::milliseconds(1);
        time
    }
}

/// A pseudorandom sequence of new ids.
#[derive(Clone, Debug)]
pub struct Ids {
    state: u64,
    salt: u64,
}

impl Ids {
    /// Creates a sequence of ids from a hash. The same hash always yields the same ids.
    pub fn new(seed: &[u8]) -> Self {
        let mut words = seed.as_chunks().0.iter();
        let mut word = || words.next().map_or(0, |word| u64::from_le_bytes(*word));
        Self { state: word(), salt: word() }
    }

    /// Returns the next 64 pseudorandom bits (`SplitMix64`, Steele et al. 2014).
    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state ^ self.salt;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Creates a version 4 UUID (RFC 9562).
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.word(), self.word());
        let high = high & !0xf000 | 0x4000;
        let low = low & !(0b11 << 62) | 1 << 63;
        let (time, mid, version) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
        let (clock, node) = (low >> 48, low & 0xffff_ffff_ffff);
        format!("{time:08x}-{mid:04x}-{version:04x}-{clock:04x}-{node:012x}")
    }

    /// Creates an id of eight hex digits.
    pub fn short(&mut self) -> String {
        format!("{:08x}", self.word() >> 32)
    }
}

/// Returns true for a UUID of any version.
pub fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Writes a JSON array of values that are already JSON.
pub fn list(values: &[String]) -> String {
    format!("[{}]", values.join(","))
}

/// Writes a JSON object on a single line, member by member. The default has no members.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LineText(String);

impl LineText {
    /// Begins an object whose first member is `type`.
    pub fn of_type(kind: &str) -> Self {
        Self::default().text("type", kind)
    }

    /// Continues `object`, the JSON text of an object with at least one member.
    pub(crate) fn of_object(mut object: String) -> Self {
        object.pop();
        Self(object)
    }

    /// Adds members that are already JSON. The object must already have at least one member.
    pub(crate) fn members(mut self, json: &str) -> Self {
        self.0.push(',');
        self.0 += json;
        self
    }

    /// Adds a member whose value is already JSON.
    pub fn json(mut self, key: &str, json: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0 += &json::quoted(key);
        self.0.push(':');
        self.0 += json;
        self
    }

    /// Adds a member whose value is the string `text`.
    pub fn text(self, key: &str, text: &str) -> Self {
        self.json(key, &json::quoted(text))
    }

    /// Adds a member whose value is an array of JSON values.
    pub fn list(self, key: &str, values: &[String]) -> Self {
        self.json(key, &list(values))
    }

    /// Adds a member whose value is the string `text`, unless `text` is missing or empty.
    pub fn some_text(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) if !text.is_empty() => self.text(key, text),
            _ => self,
        }
    }

    /// Adds a member whose value is an array of JSON values, unless `values` is empty.
    pub fn some_list(self, key: &str, values: &[String]) -> Self {
        if values.is_empty() { self } else { self.list(key, values) }
    }

    /// Adds a member with the value `true` if `yes` is true.
    pub fn is(self, key: &str, yes: bool) -> Self {
        if yes { self.json(key, "true") } else { self }
    }

    /// Ends the object and returns its JSON text.
    pub fn end(self) -> String {
        if self.0.is_empty() { "{}".to_owned() } else { self.0 + "}" }
    }
}

/// Applies to `record` the changes that a tool made to the record's message in another dialect, and
/// returns the new text. `message` is the message as the record holds it. `before` lists the
/// messages into which `message` was converted, and `after` lists the same messages after the tool
/// changed results or arguments, or removed the reasoning. Returns `None` if nothing changed.
pub fn with_changes(
    record: &Object<'_>,
    message: &Message<'_>,
    before: &[Message<'_>],
    after: &[Message<'_>],
) -> Option<String> {
    let mut edits = Edits::default();
    let (old, new) = (texts(before), texts(after));
    for (key, _, slot) in results_and_calls(std::slice::from_ref(message)) {
        // A result has changed if its text has changed, or if its content has become text.
        if let (Some(slot), Some(text)) = (slot, new.get(&key))
            && old.get(&key) != Some(text)
        {
            edits.put(slot, text);
        }
    }
    let has_reasoning = |all: &[Message<'_>]| all.iter().any(|it| !it.reasoning.is_empty());
    if has_reasoning(before) && !has_reasoning(after) {
        edits.cut(message.reasoning.iter().cloned());
    }
    (!edits.is_empty()).then(|| edits.of_object(record))
}

/// Identifies a result or a call: whether it is a call, its id, and, if it has no id, its index
/// among the results or calls.
type Key<'m> = (bool, Option<&'m str>, usize);

/// Lists the results and calls in messages. The text of a call is its arguments; a result has a
/// text only if it has no other content. A result or call has a slot if its content can be
/// replaced.
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

#[cfg(test)]
mod tests;
