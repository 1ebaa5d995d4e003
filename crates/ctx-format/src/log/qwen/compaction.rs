//! A compaction in Qwen Code's format: a line whose messages replace all earlier messages. The
//! messages begin with the summary and the model's answer to it.

use std::collections::HashSet;

use super::body::{self, ANSWER, Body};
use super::tree::is_node;
use super::{Qwen, SHARED};
use crate::log::compaction::{Compaction, CompactionError, CompactionWriter, LineText, NewLines};
use crate::log::links::LineId;
use crate::{Dialect, Object, Role};

/// Collects the members that the new line repeats from the last line of the tree.
#[derive(Default)]
pub(super) struct Writer {
    /// The uuid of the last line, as raw JSON.
    last: Option<String>,
    /// All uuids in the session. Of two lines with the same uuid, the client reads only the first.
    ids: HashSet<LineId>,
    shared: Vec<(&'static str, String)>,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        if is_node(object) {
            self.ids.extend(LineId::at(object, "uuid"));
            self.last = object.get("uuid").map(str::to_owned);
            let shared =
                SHARED.into_iter().filter_map(|key| Some((key, object.get(key)?.to_owned())));
            self.shared = shared.collect();
        }
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        let last = self.last.as_deref().ok_or(CompactionError::Missing("uuid"))?;
        let mut new = NewLines::of(compaction);
        let mut messages = vec![body::said_summary(compaction.summary)];
        for kept in &compaction.kept {
            messages.extend(kept.raw_messages(&Qwen, |object| {
                let all = Body::of(object)?.messages.into_iter();
                Some(all.map(|message| message.0.text().trim().to_owned()).collect())
            })?);
        }
        // The roles must alternate, and a summary that stays as it was already has an answer.
        let first = messages.get(1).and_then(|it| Qwen.message(&Object::parse(it).ok()?));
        if first.is_none_or(|it| it.role != Role::Assistant) {
            messages.insert(1, body::said("model", ANSWER));
        }
        let (before, after) = compaction.tokens;
        let trigger = if compaction.is_automatic { "auto" } else { "manual" };
        // The client decides by the new count whether to compact again.
        let info = LineText::default()
            .json("originalTokenCount", &before.to_string())
            .json("newTokenCount", &after.to_string())
            .json("compressionStatus", "1")
            .text("triggerReason", trigger)
            .end();
        let mut id = new.ids.uuid();
        while self.ids.contains(&LineId::of(&id)) {
            id = new.ids.uuid();
        }
        let begin = LineText::default().text("uuid", &id).json("parentUuid", last);
        let begin = self.shared.iter().fold(begin, |line, (key, raw)| line.json(key, raw));
        let begin = begin.text("timestamp", &new.time()).text("type", "system");
        Ok(vec![line(begin.text("provenance", "system"), &messages, &info)])
    }
}

/// Ends a line that replaces all earlier messages with these. `info` is JSON, or empty.
pub(super) fn line(begin: LineText, messages: &[String], info: &str) -> String {
    let mut payload = LineText::default();
    if !info.is_empty() {
        payload = payload.json("info", info);
    }
    let payload = payload.list("compressedHistory", messages).end();
    begin.text("subtype", "chat_compression").json("systemPayload", &payload).end()
}
