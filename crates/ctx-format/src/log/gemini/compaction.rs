//! A compaction in the Gemini CLI's format: a list of messages that replaces all earlier messages.
//! The list begins with the summary and the model's answer to the summary.

use super::log::Line;
use super::message::{snapshot_of, written};
use super::{Gemini, Messages};
use crate::log::compaction::{Compaction, CompactionError, CompactionWriter, LineText, NewLines};
use crate::{Dialect, Object, Role};

/// The model's answer to the summary. This answer is needed because roles must alternate.
const ANSWER: &str = "Understood. I go on from this summary.";

/// Determines whether the session has a header.
#[derive(Default)]
pub(super) struct Writer {
    has_header: bool,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.has_header |= matches!(Line::of(object), Line::Header(_));
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        if !self.has_header {
            return Err(CompactionError::NoHeader);
        }
        let mut new = NewLines::of(compaction);
        let mut message = |kind: &str, text: &str| {
            let part = LineText::default().text("text", text).end();
            let time = new.time();
            written(&mut new.ids, &time, kind, &[part]).end()
        };
        let summary = snapshot_of(compaction.summary);
        let mut messages = vec![message("user", &summary)];
        let answer = message("gemini", ANSWER);
        for kept in &compaction.kept {
            messages.extend(kept.raw_messages(&Gemini, |object| {
                let all = Messages::of(object).list.into_iter();
                Some(all.map(|message| message.text().trim().to_owned()).collect())
            })?);
        }
        // The answer to a summary that stays as it was is already there.
        let first = messages.get(1).and_then(|it| Gemini.message(&Object::parse(it).ok()?));
        if first.is_none_or(|it| it.role != Role::Assistant || it.texts() != [ANSWER]) {
            messages.insert(1, answer);
        }
        let set =
            LineText::default().list("messages", &messages).text("lastUpdated", &new.time()).end();
        Ok(vec![LineText::default().json("$set", &set).end()])
    }
}
