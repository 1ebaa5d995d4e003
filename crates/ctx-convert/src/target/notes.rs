//! What is told of what could not be carried.

use std::sync::Arc;

use ctx_transcript::compaction::LineText;

use crate::index::Entry;
use crate::turn::{Said, Turn};
use crate::{Kind, Report, json};

/// What a target is told of the unit that it writes, and where it tells what it could not
/// carry.
pub(crate) struct Notes<'r> {
    pub(crate) report: &'r mut Report,
    pub(crate) entries: &'r [&'r Entry],
    /// The line that what is told stood in.
    pub(crate) line: u64,
    /// Whether nothing may be left out.
    pub(crate) is_whole: bool,
    /// Whether a summary comes in a later unit.
    pub(crate) summary_comes: bool,
}

impl Notes<'_> {
    /// What is told now is of `turn`.
    pub(crate) fn at(&mut self, turn: &Turn<'_>) {
        if let Some(entry) = self.entries.get(turn.origin()) {
            self.line = entry.line;
        }
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
    pub(crate) fn name(&mut self, said: &Said<'_>) {
        if said.name.as_ref().is_some_and(|name| !name.is_empty()) {
            self.count(Kind::Name, "");
        }
    }

    /// One more of that kind.
    pub(crate) fn count(&mut self, kind: Kind, name: &str) {
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
        self.count(Kind::Arguments, "");
        LineText::new().text("input", arguments).end()
    }

    /// A part of a kind that we do not know is not carried.
    pub(crate) fn opaque(&mut self, raw: &str) {
        match json::kind(raw).as_str() {
            "redacted_thinking" | "thinking" => self.count(Kind::Reasoning, ""),
            // What only the API can read of it has no type.
            "" if raw.starts_with('"') => self.count(Kind::Reasoning, ""),
            kind => self.count(Kind::Part, kind),
        }
    }
}
