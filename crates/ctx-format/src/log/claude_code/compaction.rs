//! A compaction in Claude Code's format: a boundary (a line that names the old lines to keep)
//! followed by a summary.
//!
//! Clients since 2.1.141 read a list of the old lines to keep. Clients since 2.1.76 read the ids of
//! the first and last line in a chain of parents; this was tested with 2.1.197. Clients before
//! 2.1.76 read neither the list nor the chain. If a client cannot find all kept lines with the list
//! or the chain, or if a kept line has changed, the kept lines are written again after the summary.

use std::collections::HashMap;

use super::{NO_USAGE, version};
use crate::convert::target::anthropic;
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Kept, LineText, NewLines, copy_with,
};
use crate::{Object, json};

/// The members whose values are the same on all lines of a session.
const SHARED: [&str; 7] =
    ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"];

/// The first version that reads the member `preservedSegment`.
const READS_SEGMENT: [u32; 3] = [2, 1, 76];
/// The first version that reads the member `preservedMessages`.
const READS_LIST: [u32; 3] = [2, 1, 141];

/// The text that precedes the summary in the message to the model.
const OPENING: &str = "What came before in this session was compacted. Its summary:";

/// The keys and raw JSON values of some of an object's members.
type Members = Vec<(&'static str, String)>;

/// Collects the members that the lines of a session share.
#[derive(Default)]
pub(super) struct Writer {
    /// The values of the shared members, from the main agent's last line.
    shared: Members,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        let is_of_tree = object.get("uuid").is_some() && object.get("sessionId").is_some();
        if is_of_tree && !object.is_true("isSidechain") {
            let members = SHARED.iter().filter_map(|key| Some((*key, object.get(key)?)));
            self.shared.clear();
            self.shared.extend(members.map(|(key, raw)| (key, raw.to_owned())));
        }
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        if self.shared.is_empty() {
            return Err(CompactionError::Missing("uuid and sessionId"));
        }
        let mut new = NewLines::of(compaction);
        let (boundary, summary) = (new.ids.uuid(), new.ids.uuid());
        let kept = compaction.kept.iter().map(Kept::object);
        let kept: Vec<Object<'_>> = kept.collect::<Result<_, _>>()?;
        if kept.iter().any(|object| object.text_of("uuid").is_none()) {
            return Err(CompactionError::Unreadable);
        }
        let names = self.names(compaction, &kept, &summary);
        let mut lines = vec![
            self.boundary(compaction, &boundary, &names, &new.time()),
            self.summary(compaction, &boundary, &summary, &new.time()),
        ];
        if names.is_empty() {
            lines.extend(copies(&kept, summary, &mut new));
        }
        Ok(lines)
    }
}

impl Writer {
    fn version(&self) -> [u32; 3] {
        let raw = self.shared.iter().find(|(key, _)| *key == "version");
        raw.map_or([0; 3], |(_, raw)| version(raw))
    }

    /// The members with which the boundary names the old lines to keep: a list of their ids and,
    /// for clients that cannot read a list, the ends of their chain.
    fn names(&self, compaction: &Compaction<'_>, kept: &[Object<'_>], anchor: &str) -> Members {
        let ids = kept.iter().filter_map(|object| object.get("uuid"));
        let ids: Vec<String> = ids.map(str::to_owned).collect();
        let mut names = Vec::new();
        let (Some(head), Some(tail)) = (ids.first(), ids.last()) else { return names };
        if compaction.kept.iter().any(|kept| kept.is_changed) {
            return names;
        }
        let version = self.version();
        let reads_list = version >= READS_LIST;
        let is_below =
            |pair: &[Object<'_>]| pair[1].text_of("parentUuid") == pair[0].text_of("uuid");
        let is_chain = || version >= READS_SEGMENT && kept.windows(2).all(is_below);
        // The ends describe the chain correctly only if no line between them was removed.
        if compaction.is_end && (reads_list || is_chain()) {
            let ends = LineText::default().json("headUuid", head).text("anchorUuid", anchor);
            names.push(("preservedSegment", ends.json("tailUuid", tail).end()));
        }
        if reads_list {
            let list = LineText::default().text("anchorUuid", anchor).list("uuids", &ids);
            names.push(("preservedMessages", list.list("allUuids", &ids).end()));
        }
        names
    }

    /// Begins a line with `links` (its references to other lines) and the shared members.
    fn begin(&self, links: LineText) -> LineText {
        let line = links.json("isSidechain", "false");
        self.shared.iter().fold(line, |line, (key, raw)| line.json(key, raw))
    }

    fn boundary(
        &self,
        compaction: &Compaction<'_>,
        id: &str,
        names: &[(&str, String)],
        time: &str,
    ) -> String {
        let last = Object::parse(compaction.last).ok();
        let last = last.as_ref().and_then(|last| last.get("uuid"));
        let links = LineText::default().json("parentUuid", "null");
        let metadata = LineText::default()
            .text("trigger", if compaction.is_automatic { "auto" } else { "manual" })
            .json("preTokens", &compaction.tokens.0.to_string())
            .json("postTokens", &compaction.tokens.1.to_string());
        let metadata = names.iter().fold(metadata, |line, (key, json)| line.json(key, json));
        self.begin(links.json("logicalParentUuid", last.unwrap_or("null")))
            .members(r#""type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false"#)
            .text("timestamp", time)
            .text("uuid", id)
            .text("level", "info")
            .json("compactMetadata", &metadata.end())
            .end()
    }

    fn summary(&self, compaction: &Compaction<'_>, boundary: &str, id: &str, time: &str) -> String {
        // A summary that stays as it was already has an opening.
        let said = compaction.summary.strip_prefix(OPENING);
        let said = said.map_or(compaction.summary, str::trim_start);
        let text = format!("{OPENING}\n\n{said}");
        self.begin(LineText::default().text("parentUuid", boundary))
            .text("type", "user")
            .json("message", &anthropic::message("user", &json::quoted(&text)))
            .members(r#""isVisibleInTranscriptOnly":true,"isCompactSummary":true"#)
            .text("uuid", id)
            .text("timestamp", time)
            .end()
    }
}

/// Writes copies of the kept lines, as a chain below the line with the id `parent`.
fn copies(kept: &[Object<'_>], mut parent: String, new: &mut NewLines) -> Vec<String> {
    let (mut new_ids, mut replies) = (HashMap::new(), HashMap::new());
    let mut copies = Vec::new();
    for object in kept {
        let (id, time) = (new.ids.uuid(), new.time());
        new_ids.insert(object.text_of("uuid"), id.clone());
        let mut texts = vec![("uuid", &*id), ("parentUuid", &*parent), ("timestamp", &*time)];
        let caller = object.text_of("sourceToolAssistantUUID");
        texts.extend(new_ids.get(&caller).map(|new| ("sourceToolAssistantUUID", &**new)));
        let mut edits = copy_with(object, &texts, NO_USAGE);
        // The client joins all blocks that have the same reply id, so the copies need new ids.
        let message = object.object_of("message");
        if let Some(old) = message.as_ref().and_then(|message| message.get("id")) {
            let reply = || json::quoted(&format!("msg_{}", new.ids.uuid().replace('-', "")));
            edits.replace(object.place_of(old), replies.entry(old).or_insert_with(reply).clone());
        }
        copies.push(edits.of_object(object).trim().to_owned());
        parent = id;
    }
    copies
}
