//! A compaction in the Copilot CLI's format: an event that clears the context, an event with the
//! summary, and copies of the kept events.
//!
//! The Copilot CLI keeps no event before a compaction, and sends all earlier user messages again
//! with the summary. If the context is cleared first, it sends nothing but the summary.

use std::collections::HashMap;

use super::convert;
use super::event::{self, Event, EventKind};
use super::view::Events;
use crate::Object;
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Kept, LineText, NewLines, copy_with, quoted,
};
use crate::log::links::LineId;
use crate::log::view::ViewBuilder;

/// Collects what is needed to write the kept events again.
#[derive(Default)]
pub(super) struct Writer {
    events: Events,
    records: usize,
    /// The number of each event's record.
    numbers: HashMap<LineId, usize>,
    /// The id of the last event.
    last: Option<String>,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.events.push(self.records, object);
        if let Some(id) = object.text_of("id") {
            self.numbers.insert(LineId::of(&id), self.records);
            self.last = Some(id.into_owned());
        }
        self.records += 1;
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        if !self.events.has_header {
            return Err(CompactionError::NoHeader);
        }
        let sent = self.events.context();
        let mut lines = Lines {
            new: NewLines::of(compaction),
            writer: convert::Writer { parent: self.last.clone() },
            all: Vec::new(),
        };
        if self.events.waits() {
            // If a tool were still running, the agent would omit the replies after the summary.
            lines.event("abort", r#"{"reason":"user_initiated"}"#);
        }
        let cleared = LineText::default().json("messagesCleared", &sent.len().to_string());
        lines.event("session.context_cleared", &cleared.end());
        let (before, after) = compaction.tokens;
        let summary = LineText::default()
            .json("success", "true")
            .text("outcome", "applied")
            .json("preCompactionTokens", &before.to_string())
            .json("postCompactionTokens", &after.to_string())
            .text("summaryContent", compaction.summary);
        lines.event("session.compaction_complete", &summary.end());
        let contents: HashMap<usize, &str> =
            sent.iter().filter_map(|(record, content)| Some((*record, (*content)?))).collect();
        for kept in &compaction.kept {
            let object = kept.object()?;
            let number = LineId::at(&object, "id").and_then(|id| self.numbers.get(&id));
            let content = number.and_then(|number| contents.get(number));
            lines.copy(kept, content.copied())?;
        }
        Ok(lines.all)
    }
}

/// The lines to append. Each is the parent of the next.
struct Lines {
    new: NewLines,
    writer: convert::Writer,
    all: Vec<String>,
}

impl Lines {
    fn event(&mut self, kind: &str, data: &str) {
        let (id, time) = (self.new.ids.uuid(), self.new.time());
        self.all.push(self.writer.event(kind, data, &time, id));
    }

    /// Writes a kept event again. If the text that the agent sends depends on other events, that
    /// text becomes a user message, because the agent would not send it after the summary. The
    /// same is true of skills.
    fn copy(&mut self, kept: &Kept<'_>, content: Option<&str>) -> Result<(), CompactionError> {
        let mut object = kept.object()?;
        let skill = Event::of(&object).filter(|event| event.kind == EventKind::SkillContext);
        let content = content.or_else(|| skill.as_ref()?.data.get("content"));
        let resolved = content.map(|content| event::as_user_message(&object, content));
        if let Some(text) = &resolved {
            object = Object::parse(text).map_err(|_| CompactionError::Unreadable)?;
        }
        let (id, time) = (self.new.ids.uuid(), self.new.time());
        let parent = self.writer.parent.replace(id.clone()).unwrap_or_default();
        let texts = [("id", &*id), ("timestamp", &*time), ("parentId", &*parent)];
        let mut edits = copy_with(&object, &texts, "");
        // The screen shows two replies with the same id only once.
        if let Some(raw) = object.object_of("data").and_then(|data| data.get("messageId")) {
            edits.replace(object.place_of(raw), quoted(&self.new.ids.uuid()));
        }
        self.all.push(edits.of_object(&object).trim().to_owned());
        Ok(())
    }
}
