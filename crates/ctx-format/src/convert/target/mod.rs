//! Code shared by all targets. A target writes sessions in one dialect.

use crate::compaction::{Ids, LineText};
use crate::convert::fields::{path_to, place};
use crate::convert::reading::Entry;
use crate::convert::report::{LossKind, Report, SourceId};
use crate::convert::turn::{Answer, Origins, Piece, Results, Summary, Turn, TurnMessage};
use crate::dialect::content::kind_of_raw;
use crate::record::json::one_line;
use crate::repair::MISSING_RESULT;
use crate::{Call, Denial, Dialect, Object, Part, Role, Slot, ToolResult};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use std::collections::HashSet;

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod items;

/// Writes sessions in one dialect. Implementations must write messages and results;
/// everything else has default methods.
pub(crate) trait Target {
    /// Returns what to write before and after all records, if the session is a JSON document.
    fn frame(&mut self, _: &Session) -> Option<[String; 2]> {
        None
    }

    /// Writes the lines that precede all messages.
    fn begin(&mut self, _: &mut Session) -> Vec<Line> {
        Vec::new()
    }

    /// Writes a message from one speaker as a list of JSON objects. The list is empty if the format
    /// cannot represent any of the content.
    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String>;

    /// Writes a tool result as JSON.
    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String;

    /// Writes the records for a summary.
    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let record = notes.to.summary_record(notes.to.summary_role(summary.role), &summary.text);
        vec![Line::new(record, summary.origins.clone())]
    }

    /// Wraps the JSON of a message or a result in a record.
    fn line(&mut self, _: Role, json: String, at: &Origins, _: &mut Notes<'_>) -> Line {
        Line::new(json, at.clone())
    }

    /// Writes the records for a message.
    fn message(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        if said.role.is_system() && notes.to.format().omits_system {
            return Vec::new();
        }
        let all = self.said(said, notes).into_iter();
        all.map(|json| self.line(said.role, json, &said.origins, notes)).collect()
    }

    /// Writes the records for a reply's results, followed by any other content from the source
    /// records that held the results.
    fn results(&mut self, results: &Results<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for answer in &results.answers {
            notes.origin = answer.origin;
            let json = self.answer(answer, notes);
            lines.push(self.line(Role::Tool, json, &[answer.origin].into(), notes));
        }
        if let Some(beside) = results.said_beside() {
            lines.extend(self.message(&beside, notes));
        }
        lines
    }

    /// Writes the records for a turn.
    fn turn(&mut self, turn: &Turn<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = match turn {
            Turn::Message(said) => self.message(said, notes),
            Turn::Results(results) => self.results(results, notes),
            // In an agent's file, only the last summary counts.
            Turn::Summary(summary) if notes.summary_comes && notes.to.is_log() => {
                let text = Piece::bare(Part::Text(summary.text.clone()));
                self.message(&TurnMessage::of_user(vec![text], summary.origins.clone()), notes)
            }
            Turn::Summary(summary) => self.summary(summary, notes),
        };
        lines.extend(self.event(turn, notes));
        lines
    }

    /// Returns a record that follows the records for a turn but is never sent.
    fn event(&self, _: &Turn<'_>, _: &Notes<'_>) -> Option<Line> {
        None
    }

    /// Writes a reply and the results of its calls as one record, if the format holds them
    /// together; `None` if nothing is left of the reply.
    fn answered(
        &mut self,
        _said: &TurnMessage<'_>,
        _answers: &[Answer<'_>],
        _notes: &mut Notes<'_>,
    ) -> Option<String> {
        None
    }

    /// Writes a reply and its results as one record, followed by any other content from the records
    /// with the results.
    fn exchange(
        &mut self,
        said: &TurnMessage<'_>,
        results: &Results<'_>,
        notes: &mut Notes<'_>,
    ) -> Vec<Line> {
        let answers = &results.answers;
        let from = answers.iter().map(|answer| answer.origin);
        let origins: Origins = said.origins.iter().copied().chain(from).collect();
        let reply = self.answered(said, answers, notes);
        let mut lines: Vec<Line> = reply.map(|it| Line::new(it, origins)).into_iter().collect();
        if let Some(beside) = results.said_beside() {
            lines.extend(self.message(&beside, notes));
        }
        let calls: HashSet<&str> = said.pieces.iter().filter_map(Piece::call_id).collect();
        for answer in answers.iter().filter(|answer| !calls.contains(&*answer.id)) {
            lines.push(Line::new(self.answer(answer, notes), [answer.origin]));
        }
        lines
    }

    /// Writes the records for a unit, which consists of turns that belong together.
    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        let (mut lines, mut turns) = (Vec::new(), turns.iter().peekable());
        while let Some(turn) = turns.next() {
            notes.origin = turn.origin();
            lines.extend(match (turn, turns.peek()) {
                (Turn::Message(said), Some(Turn::Results(results)))
                    if notes.to.format().holds_results && said.role == Role::Assistant =>
                {
                    turns.next();
                    self.exchange(said, results, notes)
                }
                _ => self.turn(turn, notes),
            });
        }
        lines
    }
}

/// A record in the new session.
pub(crate) struct Line {
    /// The JSON object of the record, on one line.
    pub(crate) json: String,
    pub(crate) origins: Origins,
}

impl Line {
    pub(crate) fn new(json: String, origins: impl Into<Origins>) -> Self {
        Self { json, origins: origins.into() }
    }
}

/// Facts that an agent's session file states about the session being written.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) ids: Ids,
    /// The time of the last record written.
    pub(crate) time: DateTime<Utc>,
    /// The source record that has determined this time.
    pub(crate) timed: Option<SourceId>,
    /// The number of blocks so far that mark the end of a cached prefix.
    pub(crate) cache_marks: usize,
    /// The records that will be written inside a summary's record.
    pub(crate) before: Vec<String>,
}

impl Session {
    /// The time of the last record written, in the format that agents use.
    pub(crate) fn now(&self) -> String {
        self.time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

/// Writes a `text` block, which has the same format in several dialects.
pub(crate) fn text_block(text: &str) -> String {
    LineText::of_type("text").text("text", text).end()
}

/// The state that a target shares with the conversion while writing a unit: facts about the unit's
/// source, and the report of losses.
pub(crate) struct Notes<'r> {
    pub(crate) report: &'r mut Report,
    pub(crate) session: &'r mut Session,
    pub(crate) to: &'static dyn Dialect,
    pub(crate) entries: &'r [&'r Entry],
    /// The texts of the entries.
    pub(crate) texts: &'r [String],
    /// The index, within the unit, of the entry to which subsequent losses are attributed.
    pub(crate) origin: usize,
    /// Whether no content may be lost, as in a lowered session.
    pub(crate) is_whole: bool,
    /// Whether a summary follows in a later unit.
    pub(crate) summary_comes: bool,
    /// The role of the next unit that is not a system message.
    pub(crate) next: Option<Role>,
    /// Whether this is the last unit of the session.
    pub(crate) is_last: bool,
    /// Whether the API has already accepted the session, including its signed reasoning.
    pub(crate) is_same_api: bool,
}

impl Notes<'_> {
    /// Returns the time for a line made from the given source records: the time of the first of
    /// these records or, if that record has no time, a millisecond after the last line written,
    /// because agents may order lines by their times.
    pub(crate) fn time(&mut self, origins: &[usize]) -> String {
        let entry = origins.first().and_then(|it| self.entries.get(*it));
        if let Some(entry) = entry.filter(|entry| self.session.timed != Some(entry.origin)) {
            let time = entry.time.as_deref().map(DateTime::parse_from_rfc3339);
            self.session.time = match time {
                Some(Ok(time)) => time.into(),
                _ => self.session.time + TimeDelta::milliseconds(1),
            };
            self.session.timed = Some(entry.origin);
        }
        self.session.now()
    }

    /// Reports a loss of the given kind that concerns a whole message of the source.
    pub(crate) fn count(&mut self, kind: LossKind, name: &str) {
        self.count_at(kind, name, None);
    }

    /// Reports a loss of the given kind at the call or the result with this slot.
    pub(crate) fn count_at(&mut self, kind: LossKind, name: &str, slot: Option<&Slot>) {
        let at = slot.map_or(0, |slot| slot.range.start);
        let found = self.texts.iter().position(|text| place(text).contains(&at));
        let Some(entry) = self.entries.get(found.unwrap_or(self.origin)) else { return };
        self.report.count_in(kind, name, entry, || {
            let within = found.map(|origin| path_to(self.texts[origin].trim(), at));
            let within = within.unwrap_or_default();
            within[..within.rfind(']').map_or(0, |end| end + 1)].to_owned()
        });
    }

    /// Reports that a result of the source is no longer marked as failed, if it was. A denial is
    /// in the text, too.
    pub(crate) fn no_error_mark(&mut self, answer: &Answer<'_>) {
        let is_new = answer.result.parts == [Part::Text(MISSING_RESULT.into())];
        if answer.result.is_error && !is_new && answer.result.denial == Denial::None {
            self.count_at(LossKind::ErrorMark, "", answer.result.slot.as_ref());
        }
    }

    /// Returns the arguments of a call as a JSON object.
    pub(crate) fn arguments(&mut self, arguments: &str, slot: Option<&Slot>) -> String {
        if matches!(arguments.trim(), "" | "null") {
            return "{}".to_owned();
        }
        if Object::parse(arguments).is_ok_and(|object| object.rest().trim().is_empty()) {
            return one_line(arguments).into_owned();
        }
        self.count_at(LossKind::Arguments, "", slot);
        LineText::default().text("input", arguments).end()
    }

    /// Adds the id and the name of a call to `line`, and its arguments as the member `key`.
    pub(crate) fn call(&mut self, line: LineText, call: &Call<'_>, key: &str) -> LineText {
        let line = line.text("id", call.id.as_deref().unwrap_or_default()).text("name", &call.name);
        line.json(key, &self.arguments(&call.arguments, call.slot.as_ref()))
    }

    /// Returns the JSON of a part of unknown kind as text and reports that the part is written as
    /// text.
    pub(crate) fn as_text<'p>(&mut self, raw: &'p str, result: &ToolResult<'_>) -> &'p str {
        self.count_at(LossKind::AsText, &kind_of_raw(raw), result.slot.as_ref());
        raw
    }

    /// Returns the texts of a result. Content of an unknown type is written as text.
    pub(crate) fn texts<'p>(&mut self, result: &'p ToolResult<'_>) -> Vec<&'p str> {
        let texts = result.parts.iter().filter_map(|part| match part {
            Part::Opaque(raw) => Some(self.as_text(raw, result)),
            part => part.said(),
        });
        texts.collect()
    }

    /// Writes the blocks of a tool result. `block` writes a single part.
    pub(crate) fn blocks(
        &mut self,
        result: &ToolResult<'_>,
        mut block: impl FnMut(&Part<'_>, &mut Self) -> Option<String>,
    ) -> Vec<String> {
        let blocks = result.parts.iter().filter_map(|part| match part {
            Part::Opaque(raw) => block(&Part::Text(self.as_text(raw, result).into()), self),
            part => block(part, self),
        });
        blocks.collect()
    }
}
