//! A compaction as Claude Code writes it: a boundary, which names the old lines that stay, and a
//! summary.
//!
//! Clients since 2.1.141 read a list of the old lines that stay, those since 2.1.76 the first and
//! the last one of a chain of parents; tried with 2.1.197. For older ones, for results next to the
//! chain, and if a line that stays has changed, the lines that stay are written again after the
//! summary.

use std::collections::HashMap;

use super::{NO_USAGE, kind_of};
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, LineText, Times, copy_with,
};
use crate::{Object, json};

/// The members that are the same in all lines of a session.
const SHARED: [&str; 7] =
    ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"];

/// The first version that reads `preservedSegment`.
const READS_SEGMENT: [u32; 3] = [2, 1, 76];
/// The first version that reads `preservedMessages`.
const READS_LIST: [u32; 3] = [2, 1, 141];

/// How the summary begins, for the model.
const OPENING: &str = "What came before in this session was compacted. Its summary:";

/// Sees the lines of a session.
#[derive(Default)]
pub(super) struct Writer {
    /// The shared members of the main agent's last line, raw.
    shared: Vec<(&'static str, String)>,
    times: Times,
}

/// How old lines stay.
enum Tail {
    /// The boundary lists them.
    Named,
    /// The boundary names the ends of their chain.
    Chained,
    /// They are written again.
    Copied,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.times.push(object);
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
        let mut ids = Ids::new(&compaction.seed);
        let (boundary, summary) = (ids.uuid(), ids.uuid());
        let mut kept = Vec::new();
        for line in &compaction.kept {
            let object = line.object()?;
            object.text_of("uuid").ok_or(CompactionError::Unreadable)?;
            kept.push(object);
        }
        let tail = self.tail(compaction, &kept);
        let metadata = metadata(compaction, &tail, &summary, &kept);
        let mut lines = vec![
            self.boundary(compaction, &boundary, &metadata),
            self.summary(compaction, &boundary, &summary),
        ];
        if matches!(tail, Tail::Copied) {
            lines.extend(self.copies(compaction, &kept, summary, &mut ids));
        }
        Ok(lines)
    }
}

impl Writer {
    fn version(&self) -> [u32; 3] {
        let raw = self.shared.iter().find(|(key, _)| *key == "version");
        let text = raw.and_then(|(_, raw)| json::text(raw)).unwrap_or_default();
        let mut numbers = text.split('.').map(|part| part.parse().unwrap_or(0));
        [(); 3].map(|()| numbers.next().unwrap_or(0))
    }

    fn tail(&self, compaction: &Compaction<'_>, kept: &[Object<'_>]) -> Tail {
        let version = self.version();
        let mut pairs = kept.windows(2);
        let mut is_chain =
            || pairs.all(|pair| pair[1].text_of("parentUuid") == pair[0].text_of("uuid"));
        if kept.is_empty() || compaction.kept.iter().any(|kept| kept.is_changed) {
            Tail::Copied
        } else if version >= READS_LIST {
            Tail::Named
        } else if version >= READS_SEGMENT && compaction.is_end && is_chain() {
            Tail::Chained
        } else {
            Tail::Copied
        }
    }

    /// The beginning of a line, with its `links`.
    fn begin(&self, links: LineText) -> LineText {
        let line = links.json("isSidechain", "false");
        self.shared.iter().fold(line, |line, (key, raw)| line.json(key, raw))
    }

    fn boundary(&mut self, compaction: &Compaction<'_>, id: &str, metadata: &str) -> String {
        let last = Object::parse(compaction.last).ok();
        let last = last.as_ref().and_then(|last| last.get("uuid"));
        let links = LineText::new().json("parentUuid", "null");
        let time = self.times.next(compaction.now);
        self.begin(links.json("logicalParentUuid", last.unwrap_or("null")))
            .text("type", "system")
            .text("subtype", "compact_boundary")
            .text("content", "Conversation compacted")
            .json("isMeta", "false")
            .text("timestamp", &time)
            .text("uuid", id)
            .text("level", "info")
            .json("compactMetadata", metadata)
            .end()
    }

    fn summary(&mut self, compaction: &Compaction<'_>, boundary: &str, id: &str) -> String {
        let text = format!("{OPENING}\n\n{}", compaction.summary);
        let message = LineText::new().text("role", "user").text("content", &text);
        let time = self.times.next(compaction.now);
        self.begin(LineText::new().text("parentUuid", boundary))
            .text("type", "user")
            .json("message", &message.end())
            .json("isVisibleInTranscriptOnly", "true")
            .json("isCompactSummary", "true")
            .text("uuid", id)
            .text("timestamp", &time)
            .end()
    }

    /// The lines that stay, as a chain of their own below `parent`.
    fn copies(
        &mut self,
        compaction: &Compaction<'_>,
        kept: &[Object<'_>],
        mut parent: String,
        ids: &mut Ids,
    ) -> Vec<String> {
        let (mut new_ids, mut replies) = (HashMap::new(), HashMap::new());
        let mut copies = Vec::new();
        for object in kept {
            let id = ids.uuid();
            if let Some(old) = object.text_of("uuid") {
                new_ids.insert(old, json::quoted(&id));
            }
            let mut members = vec![
                ("uuid", json::quoted(&id)),
                ("parentUuid", json::quoted(&parent)),
                ("timestamp", json::quoted(&self.times.next(compaction.now))),
            ];
            let caller = object.text_of("sourceToolAssistantUUID");
            if let Some(new) = caller.and_then(|caller| new_ids.get(&caller)) {
                members.push(("sourceToolAssistantUUID", new.clone()));
            }
            let no_usage = (kind_of(object) == "assistant").then_some(NO_USAGE);
            let mut edits = copy_with(object, &members, no_usage);
            // The client joins the blocks of one reply wherever they are.
            let message = object.object_of("message");
            if let Some(old) = message.as_ref().and_then(|message| message.get("id")) {
                let new = || json::quoted(&format!("msg_{}", ids.uuid().replace('-', "")));
                let new = replies.entry(old).or_insert_with(new);
                edits.replace(object.place_of(old), new.clone());
            }
            copies.push(edits.of_object(object).trim().to_owned());
            parent = id;
        }
        copies
    }
}

fn metadata(
    compaction: &Compaction<'_>,
    tail: &Tail,
    summary: &str,
    kept: &[Object<'_>],
) -> String {
    let trigger = if compaction.is_automatic { "auto" } else { "manual" };
    let mut metadata = LineText::new()
        .text("trigger", trigger)
        .json("preTokens", &compaction.tokens.0.to_string())
        .json("postTokens", &compaction.tokens.1.to_string());
    let ids = kept.iter().map(|object| object.get("uuid").unwrap_or("null").to_owned());
    let ids: Vec<String> = ids.collect();
    if let ([head, ..], [.., last]) = (&ids[..], &ids[..]) {
        // Clients that know no list read the segment: it is right if nothing between its ends
        // leaves.
        if matches!(tail, Tail::Chained) || (matches!(tail, Tail::Named) && compaction.is_end) {
            let segment = LineText::new()
                .json("headUuid", head)
                .text("anchorUuid", summary)
                .json("tailUuid", last);
            metadata = metadata.json("preservedSegment", &segment.end());
        }
        if matches!(tail, Tail::Named) {
            let list = LineText::new()
                .text("anchorUuid", summary)
                .list("uuids", &ids)
                .list("allUuids", &ids);
            metadata = metadata.json("preservedMessages", &list.end());
        }
    }
    metadata.end()
}
