//! Reads a context, then writes it in the other dialect.

use std::io::Write;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use sha2::{Digest, Sha256};

use crate::compaction::Ids;
use crate::convert::turn::{Family, Key};
use crate::convert::writing::Writing;
use crate::convert::{ConvertError, Converter, LossKind, Report, SourceId};
use crate::convert::{pairing, reply};
use crate::dialect::{Anthropic, Format, Sniff};
use crate::record::json;
use crate::view::{Outside, Presence};
use crate::{
    Denial, Dialect, HeldMessage, Message, Object, Outline, Part, Portion, Record, Role, Rules,
    Spool, Unread,
};

/// A session that is being read. The context waits in a spool, because its messages may be in
/// another order than in the file.
pub struct Reading<'c> {
    converter: Converter<'c>,
    from: &'static dyn Dialect,
    spool: Spool,
    waiting: usize,
    entries: Vec<Entry>,
    /// A hash of the waiting content, from which new ids are made.
    hash: Sha256,
    /// The working folder that the source names.
    cwd: Option<String>,
    /// The current model, if the session names it.
    model: Option<Arc<str>>,
    /// The number of records so far.
    records: u64,
    report: Report,
}

impl<'c> Reading<'c> {
    /// Starts reading a session of the dialect `from`, whose context waits in `spool`.
    pub fn new(converter: Converter<'c>, from: &'static dyn Dialect, spool: Spool) -> Self {
        Self {
            converter,
            from,
            spool,
            waiting: 0,
            entries: Vec::new(),
            hash: Sha256::new(),
            cwd: None,
            model: None,
            records: 0,
            report: Report::default(),
        }
    }

    /// Reads the next record. Every record of the session must be pushed, because they are counted.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), ConvertError> {
        if !record.piece.begins() {
            return Ok(());
        }
        let number = self.records;
        self.records += 1;
        let Some(object) = record.whole_object() else {
            return Ok(());
        };
        if self.cwd.is_none() {
            let about = self.from.log().map(|log| log.about(object));
            self.cwd = about.and_then(|about| about.folder).map(Into::into);
        }
        self.model(record, object);
        if record.is_outside() {
            return Ok(());
        }
        let held = self.from.held(object);
        if held.is_empty() {
            let kind = json::kind(object.text());
            self.report.count(LossKind::Record, &kind, record.line);
            return Ok(());
        }
        let portion = record.portion.as_ref().map(Portion::inside);
        if let ([held], None) = (held.as_slice(), portion) {
            let origin = SourceId { record: number, message: None };
            let entry = Entry::of(record, origin, held);
            return self.wait(entry, object.text().trim());
        }
        for (at, held) in held.iter().enumerate() {
            let alone = Object::parse(&held.raw).map(|object| self.from.held(&object).len());
            let place = portion.and_then(|portion| portion.get(at));
            let own = place.map_or(at, |(own, _)| *own);
            let origin = SourceId { record: number, message: Some(own) };
            let mut entry = Entry::of(record, origin, held);
            entry.message = place.map_or(entry.message, |(_, message)| *message);
            entry.is_opaque = !matches!(alone, Ok(1));
            // Without its record, the message does not show that it is a summary.
            entry.summary = held.summary.as_deref().map(Into::into);
            self.wait(entry, &held.raw)?;
        }
        Ok(())
    }

    /// Notes the model. An abandoned branch does not change the model of the other messages.
    fn model(&mut self, record: &Record<'_>, object: &Object<'_>) {
        use Outside::{BeforeCompaction, NeverSent};
        if let Some(Presence::Outside(outside)) = record.presence
            && !matches!(outside, BeforeCompaction | NeverSent)
        {
            return;
        }
        let model = self.from.model(object);
        if let Some(model) = model.filter(|it| Some(it.as_ref()) != self.model.as_deref()) {
            self.model = Some(model.into());
        }
    }

    fn wait(&mut self, entry: Entry, text: &str) -> Result<(), ConvertError> {
        self.spool.push(text.as_bytes()).map_err(ConvertError::Temporary)?;
        self.entries.push(Entry {
            start: self.waiting,
            length: text.len(),
            model: self.model.clone(),
            ..entry
        });
        self.hash.update(text);
        self.waiting += text.len();
        Ok(())
    }

    /// Ends the input and writes the new session.
    pub fn write(mut self, out: &mut dyn Write) -> Result<Report, ConvertError> {
        self.entries.sort_by_key(|entry| entry.message);
        let joins_replies = Format::of(self.from).family == Family::Items;
        let whole_records = self.converter.whole_records;
        let units = pairing::units(&self.entries, joins_replies, whole_records);
        let writing = Writing {
            target: (Format::of(self.converter.to).writer)(self.session()),
            has_begun: self.converter.mark.is_some() || whole_records,
            converter: self.converter,
            from: self.from,
            entries: &self.entries,
            spool: self.spool,
            ids: reply::Ids::default(),
            report: self.report,
            out,
        };
        writing.all(&units)
    }

    /// The facts about the session for an agent's file.
    fn session(&self) -> Session {
        let mut hash = self.hash.clone();
        hash.update(self.converter.to.name());
        let mut ids = Ids::new(&hash.finalize().into());
        let id = self.converter.session.map(str::to_owned);
        let cwd = self.converter.cwd.map(str::to_owned);
        let times = self.entries.iter().filter_map(|entry| {
            let time = DateTime::parse_from_rfc3339(entry.time.as_deref()?);
            time.ok().map(DateTime::<Utc>::from)
        });
        Session {
            id: id.unwrap_or_else(|| ids.uuid()),
            cwd: cwd.or_else(|| self.cwd.clone()).unwrap_or_else(|| "/".into()),
            time: times.take(1).next().unwrap_or(self.converter.now),
            ids,
        }
    }
}

/// A message, or the fragment of one that a record holds.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The record, or the message in a record, that the entry came from.
    pub(crate) origin: SourceId,
    /// The line of its record, from 1.
    pub(crate) line: u64,
    /// The number of the message in the context, which gives the order of messages.
    pub(crate) message: u64,
    /// Its position in the spool.
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) role: Role,
    /// Whether the user starts a turn with it.
    pub(crate) begins_turn: bool,
    /// The time in the record.
    pub(crate) time: Option<Box<str>>,
    /// The model at that time, if the session names it.
    pub(crate) model: Option<Arc<str>>,
    /// The text of a summary that waits without the record that marks it as one.
    pub(crate) summary: Option<Box<str>>,
    /// Whether it is a summary.
    pub(crate) is_summary: bool,
    /// Whether it can only be read as part of its list.
    pub(crate) is_opaque: bool,
    pub(crate) calls: Vec<Key>,
    pub(crate) results: Vec<Key>,
    /// The ids of the calls that the user denied, and whether each denial is marked.
    pub(crate) denials: Vec<(Box<str>, bool)>,
}

impl Entry {
    /// Creates an entry for `held`, a message of `record`. Its position in the spool is set later.
    pub(crate) fn of(record: &Record<'_>, origin: SourceId, held: &HeldMessage<'_>) -> Self {
        let denied = held.message.results().filter(|result| result.denial != Denial::None);
        let denials =
            denied.filter_map(|it| Some((it.id.as_deref()?.into(), it.denial == Denial::Marked)));
        let message = match record.presence {
            Some(Presence::Inside(fragment)) => fragment.message,
            _ => origin.record,
        };
        Self {
            origin,
            line: record.line,
            message,
            start: 0,
            length: 0,
            role: held.message.role,
            begins_turn: held.begins_turn,
            time: time(record, held),
            model: None,
            summary: None,
            is_summary: held.summary.is_some(),
            is_opaque: false,
            calls: held.message.calls().map(Key::of_call).collect(),
            results: held.message.results().map(Key::of_result).collect(),
            denials: denials.collect(),
        }
    }
}

/// A message in a list has a time of its own.
fn time(record: &Record<'_>, held: &HeldMessage<'_>) -> Option<Box<str>> {
    let own = Object::parse(&held.raw).ok();
    let own = own.and_then(|object| object.text_of("timestamp"));
    let time = own.or_else(|| record.object()?.text_of("timestamp"));
    time.map(|time| time.as_ref().into())
}

/// A session of an agent that is being written.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) ids: Ids,
    /// The time of the last line.
    pub(crate) time: DateTime<Utc>,
}

impl Session {
    /// The time of a line as agents write it: the time in the source, or else the time of the line
    /// before.
    pub(crate) fn time(&mut self, said: Option<&str>) -> String {
        let said = said.and_then(|time| DateTime::parse_from_rfc3339(time).ok());
        if let Some(time) = said {
            self.time = time.into();
        }
        self.now()
    }

    /// The time of the last line.
    pub(crate) fn now(&self) -> String {
        self.time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

// The format of a lowered session: Anthropic Messages, with additional members for facts that only
// the agent's own records have: which user messages the agent wrote, and which calls the user
// denied.

/// The member that is `false` in user messages that the agent wrote.
pub(crate) const IS_REQUEST: &str = "_request";

/// The member with the denied calls: `{"id": true}` where the denial is marked.
pub(crate) const DENIALS: &str = "_denials";

/// The dialect of a lowered session, which extends [`Anthropic`].
pub struct Lowered;

impl Dialect for Lowered {
    fn name(&self) -> &'static str {
        Anthropic.name()
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        Anthropic.sniff(object)
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let outline = Anthropic.outline(object)?;
        let is_request = object.get(IS_REQUEST) != Some("false");
        Some(Outline { begins_turn: outline.begins_turn && is_request, ..outline })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let mut message = Anthropic.message(object)?;
        if let Some(denials) = object.object_of(DENIALS) {
            for part in &mut message.parts {
                if let Part::Result(result) = part {
                    let marked = result.id.as_deref().and_then(|id| denials.get(id));
                    result.denial = match marked {
                        Some("true") => Denial::Marked,
                        Some(_) => Denial::Reported,
                        None => Denial::None,
                    };
                }
            }
        }
        Some(message)
    }

    // Everything in a lowered session was read before it was written.
    fn unread(&self, _: &Object<'_>) -> Option<Unread> {
        None
    }

    fn rules(&self) -> Rules {
        Anthropic.rules()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Denial, Dialect, Object};

    use super::Lowered;

    #[test]
    fn a_denied_call_stays_denied() {
        let result = |id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#);
        let text = format!(
            r#"{{"role":"user","content":[{},{}],"_denials":{{"b":true}}}}"#,
            result("a"),
            result("b")
        );
        let object = Object::parse(&text).expect("an object");
        let message = Lowered.message(&object).expect("a message");
        let denials: Vec<Denial> = message.results().map(|result| result.denial).collect();
        assert_eq!(denials, [Denial::None, Denial::Marked]);
    }

    #[test]
    fn what_an_agent_writes_for_the_user_begins_no_turn() {
        for (member, begins) in [("", true), (",\"_request\":false", false)] {
            let text = format!("{{\"role\":\"user\",\"content\":\"a\"{member}}}");
            let object = Object::parse(&text).expect("an object");
            let outline = Lowered.outline(&object).expect("a message");
            assert_eq!(outline.begins_turn, begins);
        }
    }
}
