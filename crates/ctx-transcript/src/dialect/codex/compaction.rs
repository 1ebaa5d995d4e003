//! A compaction in the words of Codex: a line with the items that take the place of all before.
//!
//! Behind it stands an event that says how many tokens are in the context now: the client goes
//! by the last one, and would compact again at once. Both are a turn of their own, where the
//! client has such: a turn that was taken back takes a compaction in it along.

use super::{Codex, Entry, kind_of};
use crate::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, Kept, LineText, Times,
};
use crate::dialect::picked;
use crate::{Edits, Object};

/// Sees the lines of a session.
#[derive(Default)]
pub(super) struct Writer {
    times: Times,
    /// Whether each line has a number, and the greatest one.
    is_numbered: bool,
    ordinal: u64,
    /// The last line that tells how many tokens were used.
    count: Option<String>,
    has_envelopes: bool,
    /// Of the last turn: its window in tokens, raw.
    window: Option<String>,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: Option<&Object<'_>>) {
        let Some(object) = object else {
            return;
        };
        self.times.push(object);
        let ordinal = object.get("ordinal").and_then(|raw| raw.parse().ok());
        self.ordinal = self.ordinal.max(ordinal.unwrap_or(0));
        let Some(payload) = object.object_of("payload") else {
            return;
        };
        self.has_envelopes = true;
        match kind_of(object).as_ref() {
            "session_meta" => {
                let mode = payload.text_of("history_mode");
                self.is_numbered |= mode.is_some_and(|mode| mode == "paginated");
            }
            "event_msg" if kind_of(&payload) == "task_started" => {
                let window = payload.get("model_context_window");
                self.window = Some(window.unwrap_or("null").to_owned());
            }
            "event_msg" if kind_of(&payload) == "token_count" => {
                let has_usage = last_usage(object).is_some();
                if has_usage {
                    self.count = Some(object.text().trim().to_owned());
                }
            }
            _ => {}
        }
        self.is_numbered |= ordinal.is_some();
    }

    fn finish(
        mut self: Box<Self>,
        compaction: &Compaction<'_>,
    ) -> Result<Vec<String>, CompactionError> {
        if !self.has_envelopes {
            return Err(CompactionError::NoHeader);
        }
        let mut items = Vec::new();
        let text = LineText::new()
            .text("type", "input_text")
            .text("text", compaction.summary)
            .end();
        let summary = LineText::new()
            .text("type", "message")
            .text("role", "user")
            .list("content", &[text])
            .end();
        let (before, behind) = compaction.kept.split_at(compaction.kept_before);
        for kept in before {
            items.extend(items_of(kept)?);
        }
        items.push(summary);
        for kept in behind {
            items.extend(items_of(kept)?);
        }
        let payload = LineText::new()
            .text("message", compaction.summary)
            .list("replacement_history", &items)
            .end();
        let turn = Ids::new(&compaction.seed).uuid();
        let mut lines = Vec::new();
        if let Some(window) = self.window.clone() {
            let began = event("task_started", &turn).json("model_context_window", &window);
            lines.push(self.line(compaction, "event_msg", &began.end()));
        }
        lines.push(self.line(compaction, "compacted", &payload));
        if let Some(count) = self.count.take() {
            lines.push(self.counted(&count, compaction)?);
        }
        if self.window.is_some() {
            let ended = event("task_complete", &turn).json("last_agent_message", "null");
            lines.push(self.line(compaction, "event_msg", &ended.end()));
        }
        Ok(lines)
    }
}

impl Writer {
    fn line(&mut self, compaction: &Compaction<'_>, kind: &str, payload: &str) -> String {
        let mut line = LineText::new().text("timestamp", &self.times.next(compaction.now));
        if self.is_numbered {
            self.ordinal += 1;
            line = line.json("ordinal", &self.ordinal.to_string());
        }
        line.text("type", kind).json("payload", payload).end()
    }

    /// A line `count` that says how many tokens there are now.
    fn counted(
        &mut self,
        count: &str,
        compaction: &Compaction<'_>,
    ) -> Result<String, CompactionError> {
        let object = Object::parse(count).map_err(|_| CompactionError::Unreadable)?;
        let tokens = compaction.tokens.1;
        let usage = format!(
            r#"{{"input_tokens":{tokens},"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":{tokens}}}"#
        );
        let payload = object.get("payload").ok_or(CompactionError::Unreadable)?;
        let payload = Object::parse(payload).map_err(|_| CompactionError::Unreadable)?;
        let mut edits = Edits::new();
        let info = payload.object_of("info");
        if let Some(raw) = info.as_ref().and_then(|info| info.get("last_token_usage")) {
            edits.replace(payload.place_of(raw), usage);
        }
        let payload = edits.of_object(&payload);
        Ok(self.line(compaction, "event_msg", &payload))
    }
}

/// An event of a turn.
fn event(kind: &str, turn: &str) -> LineText {
    LineText::new().text("type", kind).text("turn_id", turn)
}

fn last_usage<'a>(line: &Object<'a>) -> Option<&'a str> {
    let info = line.object_of("payload")?.object_of("info")?;
    info.get("last_token_usage").filter(|raw| *raw != "null")
}

/// The items of a record that stay, raw.
fn items_of(kept: &Kept<'_>) -> Result<Vec<String>, CompactionError> {
    let unreadable = || CompactionError::Unreadable;
    let object = Object::parse(kept.text).map_err(|_| unreadable())?;
    if let Some(picked) = picked::of(kept, &Codex, &object) {
        return picked;
    }
    Ok(match Entry::of(&object).ok_or_else(unreadable)? {
        Entry::Item(item) => vec![item.text().trim().to_owned()],
        Entry::Agent(agent) => vec![agent.item()],
        Entry::Compacted(compacted) => {
            let items = compacted.items().ok_or_else(unreadable)?;
            items.iter().map(|item| item.text().to_owned()).collect()
        }
    })
}
