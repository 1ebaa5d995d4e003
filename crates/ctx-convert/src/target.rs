//! The dialects that can be written.

mod anthropic;
mod chat;

use ctx_transcript::Dialect;

use crate::json::{self, Json};
use crate::turn::Turn;
use crate::{Kind, Report};

/// A dialect that is written.
pub(crate) trait Target {
    /// The records that say `turn`.
    fn turn(&mut self, turn: &Turn<'_>, notes: &mut Notes<'_>) -> Vec<Line>;
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

/// Where is told what could not be carried.
pub(crate) struct Notes<'r> {
    pub(crate) report: &'r mut Report,
    /// The line that it stood in.
    pub(crate) line: u64,
    /// Whether nothing may be left out.
    pub(crate) is_whole: bool,
}

impl Notes<'_> {
    /// One more of that kind.
    pub(crate) fn count(&mut self, kind: Kind, name: &str) {
        self.report.count(kind, name, self.line);
    }

    /// Arguments as an object.
    fn arguments(&mut self, arguments: &str) -> String {
        if arguments.trim().is_empty() {
            return "{}".to_owned();
        }
        if let Some(object) = json::object(arguments) {
            return object.into_owned();
        }
        self.count(Kind::Arguments, "");
        Json::new().text("input", arguments).end()
    }

    /// A part of a kind that we do not know is not carried.
    fn opaque(&mut self, raw: &str) {
        match json::kind(raw).as_str() {
            "redacted_thinking" | "thinking" => self.count(Kind::Reasoning, ""),
            // What only the API can read of it has no type.
            "" if raw.starts_with('"') => self.count(Kind::Reasoning, ""),
            kind => self.count(Kind::Part, kind),
        }
    }
}

impl Line {
    /// A message of a linear dialect.
    fn of_message(json: String, origins: &[usize]) -> Self {
        Self {
            json,
            origins: origins.to_vec(),
            wants_time: true,
        }
    }
}

/// What writes `dialect`.
pub(crate) fn of(dialect: &'static dyn Dialect) -> Box<dyn Target> {
    match dialect.name() {
        "anthropic" => Box::new(anthropic::Writer),
        _ => Box::new(chat::Writer),
    }
}
