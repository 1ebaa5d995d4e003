//! A compaction in the format of Codex: a line with the items that replace everything before it.
//!
//! The event after it has the number of tokens in the context. The client uses the last such event;
//! without it, it would compact again at once. If the client writes turns, both lines form a turn
//! of their own, because a rollback of a turn also undoes a compaction in it.

use super::entry::{Entry, compacted};
use super::{Codex, items, kind_of};
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, Kept, LineText, Times,
};
use crate::{Edits, HeldMessage, Object};

/// Collects facts from the lines of a session.
#[derive(Default)]
pub(super) struct Writer {
    times: Times,
    /// Whether each line has a number, and the highest one.
    is_numbered: bool,
    ordinal: u64,
    /// The payload of the last event with token counts.
    count: Option<String>,
    has_envelopes: bool,
    /// The context window of the last turn in tokens, raw.
    window: Option<String>,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.times.push(object);
        let ordinal = object.get("ordinal").and_then(|raw| raw.parse().ok());
        self.ordinal = self.ordinal.max(ordinal.unwrap_or(0));
        let Some(payload) = object.object_of("payload") else { return };
        self.has_envelopes = true;
        self.is_numbered |= ordinal.is_some();
        let event = payload.text_of("type").unwrap_or_default();
        match &*kind_of(object) {
            "session_meta" => {
                let mode = payload.text_of("history_mode");
                self.is_numbered |= mode.is_some_and(|mode| mode == "paginated");
            }
            "event_msg" if event == "task_started" => {
                let window = payload.get("model_context_window");
                self.window = Some(window.unwrap_or("null").to_owned());
            }
            "event_msg" if event == "token_count" && last_usage(&payload).is_some() => {
                self.count = Some(payload.text().trim().to_owned());
            }
            _ => {}
        }
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        if !self.has_envelopes {
            return Err(CompactionError::NoHeader);
        }
        let kept: Vec<Vec<String>> =
            compaction.kept.iter().map(items_of).collect::<Result<_, _>>()?;
        let (before, after) = kept.split_at(compaction.kept_before.min(kept.len()));
        let summary = vec![items::of_user(compaction.summary)];
        let history = [before.concat(), summary, after.concat()].concat();
        let payload = compacted(compaction.summary, &history);
        let turn = Ids::new(&compaction.seed).uuid();
        let event = |kind| LineText::of_type(kind).text("turn_id", &turn);
        let mut lines = Vec::new();
        if let Some(window) = self.window.clone() {
            let began = event("task_started").json("model_context_window", &window);
            lines.push(self.line(compaction, "event_msg", &began.end()));
        }
        lines.push(self.line(compaction, "compacted", &payload));
        if let Some(count) = self.count.take() {
            let count = counted(&count, compaction.tokens.1)?;
            lines.push(self.line(compaction, "event_msg", &count));
        }
        if self.window.is_some() {
            let ended = event("task_complete").json("last_agent_message", "null");
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
}

/// Returns the payload `count` with another number of tokens.
fn counted(count: &str, tokens: u64) -> Result<String, CompactionError> {
    let payload = Object::parse(count).map_err(|_| CompactionError::Unreadable)?;
    let mut edits = Edits::new();
    if let Some(raw) = last_usage(&payload) {
        let usage = format!(
            r#"{{"input_tokens":{tokens},"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":{tokens}}}"#
        );
        edits.replace(payload.place_of(raw), usage);
    }
    Ok(edits.of_object(&payload))
}

fn last_usage<'a>(payload: &Object<'a>) -> Option<&'a str> {
    let usage = payload.object_of("info")?.get("last_token_usage")?;
    (usage != "null").then_some(usage)
}

/// The raw items of a record that stays.
fn items_of(kept: &Kept<'_>) -> Result<Vec<String>, CompactionError> {
    let object = kept.object()?;
    if let Some(numbers) = &kept.messages {
        let chosen = HeldMessage::chosen(&Codex, &object, numbers);
        return chosen.ok_or(CompactionError::Unreadable);
    }
    Ok(match Entry::of(&object).ok_or(CompactionError::Unreadable)? {
        Entry::Item(item) => vec![item.text().trim().to_owned()],
        Entry::Agent(agent) => vec![agent.item()],
        Entry::Compacted(compacted) => {
            let items = compacted.items().ok_or(CompactionError::Unreadable)?;
            items.iter().map(|item| item.text().to_owned()).collect()
        }
    })
}
