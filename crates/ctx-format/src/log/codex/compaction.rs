//! A compaction in Codex's format: a line with items that replace everything before that line.
//!
//! The compaction is followed by an event with the number of tokens in the context, because
//! otherwise the client would rely on an older event and compact again at once. If the session is
//! divided into turns, the compaction and the event form a separate turn, because a rollback of a
//! turn also undoes the compactions in it.

use super::entry::{Entry, compacted};
use super::line::Line;
use super::{Codex, begins_elsewhere, is_paginated, items, kind_of};
use crate::log::compaction::{Compaction, CompactionError, CompactionWriter, LineText, NewLines};
use crate::{Edits, Object};

/// Collects what the lines of a session reveal about the client's format.
#[derive(Default)]
pub(super) struct Writer {
    /// Whether lines are numbered.
    is_numbered: bool,
    /// The highest line number so far.
    ordinal: u64,
    /// The payload, as raw JSON, of the last event with token counts.
    count: Option<String>,
    has_envelopes: bool,
    /// Whether the context begins in another file.
    begins_elsewhere: bool,
    /// The size of the context window in the last turn, as raw JSON; `None` if the session is not
    /// divided into turns.
    window: Option<String>,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        let ordinal = object.get("ordinal").and_then(|raw| raw.parse().ok());
        self.ordinal = self.ordinal.max(ordinal.unwrap_or(0));
        let Some(payload) = object.object_of("payload") else { return };
        self.has_envelopes = true;
        self.is_numbered |= ordinal.is_some();
        match (&*kind_of(object), &*kind_of(&payload)) {
            ("session_meta", _) => {
                self.is_numbered |= is_paginated(&payload);
                self.begins_elsewhere |= begins_elsewhere(&payload);
            }
            ("compacted", _) if matches!(Line::of(object), Line::Replacement(_)) => {
                self.begins_elsewhere = false;
            }
            ("event_msg", "task_started") => {
                let window = payload.get("model_context_window");
                self.window = Some(window.unwrap_or("null").to_owned());
            }
            // The client would count a compaction outside any turn as part of the turn that the
            // rollback undoes.
            ("event_msg", "thread_rolled_back") => {
                self.window.get_or_insert_with(|| "null".to_owned());
            }
            ("event_msg", "token_count") if last_usage(&payload).is_some() => {
                self.count = Some(payload.text().trim().to_owned());
            }
            _ => {}
        }
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        if !self.has_envelopes {
            return Err(CompactionError::NoHeader);
        }
        if self.begins_elsewhere {
            return Err(CompactionError::Elsewhere);
        }
        let kept = compaction.kept.iter().map(|kept| kept.raw_messages(&Codex, raw_items));
        let kept: Vec<Vec<String>> = kept.collect::<Result<_, _>>()?;
        let (before, after) = kept.split_at(compaction.kept_before.min(kept.len()));
        let summary = vec![items::of_user(compaction.summary)];
        let history = [before.concat(), summary, after.concat()].concat();
        let payload = compacted(compaction.summary, &history);
        let mut new = NewLines::of(compaction);
        let turn = new.ids.uuid();
        let event = |kind| LineText::of_type(kind).text("turn_id", &turn);
        let window = self.window.as_deref();
        let began = window.map(|it| event("task_started").json("model_context_window", it).end());
        let ended = event("task_complete").json("last_agent_message", "null").end();
        let count = self.count.as_deref().and_then(|count| counted(count, compaction.tokens.1));
        let payloads = [
            ("event_msg", began),
            ("compacted", Some(payload)),
            ("event_msg", count),
            ("event_msg", window.map(|_| ended)),
        ];
        let lines = payloads.into_iter().filter_map(|(kind, payload)| Some((kind, payload?)));
        Ok(lines.map(|(kind, payload)| self.line(&mut new, kind, &payload)).collect())
    }
}

impl Writer {
    fn line(&mut self, new: &mut NewLines, kind: &str, payload: &str) -> String {
        let mut line = LineText::default().text("timestamp", &new.time());
        if self.is_numbered {
            self.ordinal += 1;
            line = line.json("ordinal", &self.ordinal.to_string());
        }
        line.text("type", kind).json("payload", payload).end()
    }
}

/// Returns the event payload `count` with all its token counts replaced by `tokens`.
fn counted(count: &str, tokens: u64) -> Option<String> {
    let payload = Object::parse(count).ok()?;
    let usage = format!(
        r#"{{"input_tokens":{tokens},"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":{tokens}}}"#
    );
    let mut edits = Edits::default();
    edits.replace(payload.place_of(last_usage(&payload)?), usage);
    Some(edits.of_object(&payload))
}

fn last_usage<'a>(payload: &Object<'a>) -> Option<&'a str> {
    let usage = payload.object_of("info")?.get("last_token_usage")?;
    (usage != "null").then_some(usage)
}

/// Returns the items that the client sends from a record, as raw JSON.
fn raw_items(object: &Object<'_>) -> Option<Vec<String>> {
    let entry = Entry::of(object)?;
    if let Entry::Agent(agent) = &entry {
        return Some(vec![items::of_agent(agent)]);
    }
    Some(entry.items()?.iter().map(|item| item.text().trim().to_owned()).collect())
}
