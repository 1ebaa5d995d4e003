//! The dialects that can be written.

use crate::compaction::LineText;
use crate::convert::media::Data;
use crate::convert::reading::{Entry, Session};
use crate::convert::turn::{Turn, TurnMessage};
use crate::convert::{LossKind, Report};
use crate::log::Agent;
use crate::record::json;
use crate::{Dialect, Media, Part, ToolResult};
use std::sync::Arc;

pub(crate) mod anthropic;
mod chat;
pub(crate) mod items;

/// A dialect that is written.
pub(crate) trait Target {
    /// The lines before all messages.
    fn begin(&mut self) -> Vec<Line> {
        Vec::new()
    }

    /// The records that say these turns, which belong together.
    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line>;

    /// The lines at the end.
    fn end(&mut self) -> Vec<Line> {
        Vec::new()
    }
}

/// A record to be written.
pub(crate) struct Line {
    /// A JSON object, on one line.
    pub(crate) json: String,
    /// The places of the records that it is made of among those of the unit.
    pub(crate) origins: Vec<usize>,
    /// Whether it has no place of its own for the time.
    pub(crate) wants_time: bool,
}

impl Line {
    /// A message of a linear dialect.
    pub(crate) fn of_message(json: String, origins: &[usize]) -> Self {
        Self { json, origins: origins.to_vec(), wants_time: true }
    }

    /// A line of an agent.
    pub(crate) fn of_log(json: String, origins: &[usize]) -> Self {
        Self { json, origins: origins.to_vec(), wants_time: false }
    }
}

/// A block `text`, as several dialects have it.
pub(crate) fn text_block(text: &str) -> String {
    LineText::of_type("text").text("text", text).end()
}

/// The writer of `dialect`.
pub(crate) fn of(dialect: &dyn Dialect, session: Session) -> Box<dyn Target> {
    if let Some(agent) = Agent::of(dialect) {
        return (agent.writer)(session);
    }
    match dialect.name() {
        "anthropic" => Box::new(anthropic::Writer),
        "responses" => Box::new(items::Writer),
        _ => Box::new(chat::Writer),
    }
}

/// What a target knows about the unit that it writes, and where it reports what it could not carry.
pub(crate) struct Notes<'r> {
    pub(crate) report: &'r mut Report,
    pub(crate) entries: &'r [&'r Entry],
    /// The line of the reported content.
    pub(crate) line: u64,
    /// Whether nothing may be left out.
    pub(crate) is_whole: bool,
    /// Whether a summary comes in a later unit.
    pub(crate) summary_comes: bool,
}

impl Notes<'_> {
    /// What follows is reported for `turn`.
    pub(crate) fn at(&mut self, turn: &Turn<'_>) {
        if let Some(entry) = self.entries.get(turn.origin()) {
            self.line = entry.line;
        }
    }

    /// The records that `write` makes of each turn.
    pub(crate) fn each(
        &mut self,
        turns: &[Turn<'_>],
        mut write: impl FnMut(&Turn<'_>, &mut Self) -> Vec<Line>,
    ) -> Vec<Line> {
        let lines = turns.iter().flat_map(|turn| {
            self.at(turn);
            write(turn, self)
        });
        lines.collect()
    }

    /// The time of the first of the records that have these places in the unit.
    pub(crate) fn time_of(&self, origins: &[usize]) -> Option<&str> {
        self.entries.get(*origins.first()?)?.time.as_deref()
    }

    /// The model that has written a reply of these records.
    pub(crate) fn model_of(&self, origins: &[usize]) -> Option<Arc<str>> {
        let mut entries = origins.iter().filter_map(|it| self.entries.get(*it));
        entries.find_map(|entry| entry.model.clone())
    }

    /// A message has no place for the name of who says it.
    pub(crate) fn name(&mut self, said: &TurnMessage<'_>) {
        if said.name.as_ref().is_some_and(|name| !name.is_empty()) {
            self.count(LossKind::Name, "");
        }
    }

    /// Whether an agent has a place for a message: it has instructions of its own.
    pub(crate) fn is_for_agent(&mut self, said: &TurnMessage<'_>) -> bool {
        self.name(said);
        if said.role.is_system() {
            self.count(LossKind::Instructions, "");
        }
        !said.role.is_system()
    }

    /// One more of that kind.
    pub(crate) fn count(&mut self, kind: LossKind, name: &str) {
        self.report.count(kind, name, self.line);
    }

    /// Arguments as an object.
    pub(crate) fn arguments(&mut self, arguments: &str) -> String {
        if arguments.trim().is_empty() {
            return "{}".to_owned();
        }
        if let Some(object) = json::object(arguments) {
            return object.into_owned();
        }
        self.count(LossKind::Arguments, "");
        LineText::new().text("input", arguments).end()
    }

    /// A part that is not carried, unless it is written elsewhere.
    pub(crate) fn left_out(&mut self, part: &Part<'_>) {
        match part {
            Part::Reasoning(_) => self.count(LossKind::Reasoning, ""),
            Part::Media(media) => self.count(LossKind::Media, media.kind),
            Part::Opaque(raw) => self.opaque(raw),
            Part::Text(_) | Part::Refusal(_) | Part::Call(_) | Part::Result(_) => {}
        }
    }

    /// The data of `media`, where the target has a place for them.
    pub(crate) fn data(
        &mut self,
        media: &Media<'_>,
        has_place: impl FnOnce(&Data) -> bool,
    ) -> Option<Data> {
        let data = Data::of(media).filter(has_place);
        if data.is_none() {
            self.count(LossKind::Media, media.kind);
        }
        data
    }

    /// A part of a result of a kind that we do not know, which is written as a text.
    pub(crate) fn as_text<'p>(&mut self, raw: &'p str) -> &'p str {
        self.count(LossKind::AsText, &json::kind(raw));
        raw
    }

    /// The blocks of a result, of which `block` writes each part.
    pub(crate) fn blocks(
        &mut self,
        result: &ToolResult<'_>,
        mut block: impl FnMut(&Part<'_>, &mut Self) -> Option<String>,
    ) -> Vec<String> {
        let blocks = result.parts.iter().filter_map(|part| match part {
            Part::Opaque(raw) => block(&Part::Text(self.as_text(raw).into()), self),
            part => block(part, self),
        });
        blocks.collect()
    }

    /// A part of a kind that we do not know is not carried.
    pub(crate) fn opaque(&mut self, raw: &str) {
        match json::kind(raw).as_str() {
            "redacted_thinking" | "thinking" => self.count(LossKind::Reasoning, ""),
            // Content that only the API can read has no type.
            "" if raw.starts_with('"') => self.count(LossKind::Reasoning, ""),
            kind => self.count(LossKind::Part, kind),
        }
    }
}
