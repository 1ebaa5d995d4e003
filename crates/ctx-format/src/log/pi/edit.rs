//! Changes the content of messages by appending `context_edit` entries. No existing line changes.

use chrono::{DateTime, Utc};

use super::compaction::{NewIds, Writer};
use super::entry::Entry;
use crate::Object;
use crate::log::EditWriter;
use crate::log::compaction::{CompactionWriter, LineText, NewLines, quoted};
use crate::record::json::one_line;

/// Collects the new contents of entries, and what new lines need to know about the session.
#[derive(Default)]
pub(super) struct Edits {
    session: Writer,
    /// The id and the new content of each changed entry, as raw JSON.
    contents: Vec<(String, String)>,
}

impl EditWriter for Edits {
    fn push(&mut self, object: &Object<'_>) {
        self.session.push(object);
    }

    fn edit(&mut self, old: &Object<'_>, new: &Object<'_>) -> bool {
        let content = |object| Entry::of(object)?.body.get("content");
        let (Some(before), Some(after)) = (content(old), content(new)) else { return false };
        let id = old.get("id").filter(|_| before != after && self.session.entries.has_prompt);
        let Some(id) = id else { return false };
        self.contents.push((id.to_owned(), one_line(after).into_owned()));
        true
    }

    fn finish(&mut self, newest: Option<DateTime<Utc>>, seed: &[u8]) -> Vec<String> {
        let (mut ids, mut new) = (NewIds::default(), NewLines::after(newest, seed));
        let mut parent = self.session.last().to_owned();
        let contents = std::mem::take(&mut self.contents).into_iter();
        let lines = contents.map(|(target, content)| {
            let id = ids.next(&self.session.entries, &mut new);
            let line = LineText::of_type("context_edit")
                .text("id", &id)
                .json("parentId", &parent)
                .text("timestamp", &new.time())
                .json("targetId", &target)
                .json("replacement", &LineText::default().json("content", &content).end());
            parent = quoted(&id);
            line.end()
        });
        lines.collect()
    }
}
