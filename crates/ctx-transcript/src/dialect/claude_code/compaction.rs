//! A compaction in the words of Claude Code: a boundary and a summary, and which old lines stay.
//!
//! Clients since 2.1.141 read a list of the old lines that stay, those since 2.1.76 the first
//! and the last one of a chain of parents; tried with 2.1.197. For older ones, for results that
//! hang beside the chain, and where a line that stays has changed, what stays is written again
//! behind the summary.

use std::collections::HashMap;

use super::{ClaudeCode, kind_of};
use crate::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, Kept, LineText, Times,
};
use crate::{Edits, Object, json};

/// What all lines say alike: where the session runs.
const SHARED: [&str; 7] = [
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
];

/// The first version that reads `preservedSegment`.
const READS_SEGMENT: [u32; 3] = [2, 1, 76];
/// The first version that reads `preservedMessages`.
const READS_LIST: [u32; 3] = [2, 1, 141];

/// How the summary begins, for the model.
const OPENING: &str = "What came before in this session was compacted. Its summary:";

/// Sees the lines of a session.
#[derive(Default)]
pub(super) struct Writer {
    /// What the last line of the main agent shares with the others, raw.
    shared: Vec<(&'static str, String)>,
    times: Times,
}

/// How the old lines that stay are told.
enum Tail {
    /// In the boundary.
    Named,
    /// In the boundary, for clients that follow parents only.
    Chained,
    /// Written again.
    Copied,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: Option<&Object<'_>>) {
        let Some(object) = object else {
            return;
        };
        self.times.push(object);
        let is_of_tree = object.get("uuid").is_some() && object.get("sessionId").is_some();
        if is_of_tree && !object.is_true("isSidechain") {
            let members = SHARED
                .iter()
                .filter_map(|key| Some((*key, object.get(key)?)));
            self.shared.clear();
            self.shared
                .extend(members.map(|(key, raw)| (key, raw.to_owned())));
        }
    }

    fn finish(
        mut self: Box<Self>,
        compaction: &Compaction<'_>,
    ) -> Result<Vec<String>, CompactionError> {
        if self.shared.is_empty() {
            return Err(CompactionError::Missing("uuid and sessionId"));
        }
        let mut ids = Ids::new(&compaction.seed);
        let (boundary, summary) = (ids.uuid(), ids.uuid());
        let kept = objects(&compaction.kept)?;
        let tail = self.tail(compaction, &kept);
        let metadata = metadata(compaction, &tail, &summary, &kept);
        let mut lines = vec![
            self.boundary(compaction, &boundary, &metadata),
            self.summary(compaction, &boundary, &summary),
        ];
        if matches!(tail, Tail::Copied) {
            lines.extend(self.copies(compaction, &kept, &summary, &mut ids));
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
        if kept.is_empty() || compaction.kept.iter().any(|kept| kept.is_changed) {
            Tail::Copied
        } else if version >= READS_LIST {
            Tail::Named
        } else if version >= READS_SEGMENT && compaction.is_end && is_chain(kept) {
            Tail::Chained
        } else {
            Tail::Copied
        }
    }

    fn shared(&self, mut line: LineText) -> LineText {
        for (key, raw) in &self.shared {
            line = line.json(key, raw);
        }
        line
    }

    fn boundary(&mut self, compaction: &Compaction<'_>, id: &str, metadata: &str) -> String {
        let last = Object::parse(compaction.last).ok();
        let last = last.as_ref().and_then(|last| last.get("uuid"));
        let line = LineText::new()
            .json("parentUuid", "null")
            .json("logicalParentUuid", last.unwrap_or("null"))
            .json("isSidechain", "false");
        let time = self.times.next(compaction.now);
        self.shared(line)
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
        let line = LineText::new()
            .text("parentUuid", boundary)
            .json("isSidechain", "false");
        let text = format!("{OPENING}\n\n{}", compaction.summary);
        let message = LineText::new().text("role", "user").text("content", &text);
        let time = self.times.next(compaction.now);
        self.shared(line)
            .text("type", "user")
            .json("message", &message.end())
            .json("isVisibleInTranscriptOnly", "true")
            .json("isCompactSummary", "true")
            .text("uuid", id)
            .text("timestamp", &time)
            .end()
    }

    /// The lines that stay, with places of their own in the tree.
    fn copies(
        &mut self,
        compaction: &Compaction<'_>,
        kept: &[Object<'_>],
        summary: &str,
        ids: &mut Ids,
    ) -> Vec<String> {
        let mut parent = summary.to_owned();
        let (mut new_ids, mut replies) = (HashMap::new(), HashMap::new());
        let mut copies = Vec::new();
        for object in kept {
            let id = ids.uuid();
            if let Some(old) = object.text_of("uuid") {
                new_ids.insert(old, json::quoted(&id));
            }
            let mut members = HashMap::from([
                ("uuid", json::quoted(&id)),
                ("parentUuid", json::quoted(&parent)),
                ("timestamp", json::quoted(&self.times.next(compaction.now))),
            ]);
            let caller = object.text_of("sourceToolAssistantUUID");
            if let Some(new) = caller.and_then(|caller| new_ids.get(&caller)) {
                members.insert("sourceToolAssistantUUID", new.clone());
            }
            // The client takes blocks of one reply together, wherever they stand.
            let message = object.object_of("message");
            let reply = message.as_ref().and_then(|message| message.get("id"));
            let reply = reply.map(|old| {
                let new = || json::quoted(&format!("msg_{}", ids.uuid().replace('-', "")));
                replies.entry(old).or_insert_with(new).clone()
            });
            copies.push(copy(object, &members, reply));
            parent = id;
        }
        copies
    }
}

fn objects<'k>(kept: &'k [Kept<'_>]) -> Result<Vec<Object<'k>>, CompactionError> {
    let objects = kept.iter().map(|kept| {
        let object = Object::parse(kept.text).ok();
        let object = object.filter(|object| object.text_of("uuid").is_some());
        object.ok_or(CompactionError::Unreadable)
    });
    objects.collect()
}

/// Whether each line names the one before as its parent.
fn is_chain(kept: &[Object<'_>]) -> bool {
    kept.windows(2)
        .all(|pair| pair[1].text_of("parentUuid") == pair[0].text_of("uuid"))
}

fn metadata(
    compaction: &Compaction<'_>,
    tail: &Tail,
    summary: &str,
    kept: &[Object<'_>],
) -> String {
    let trigger = if compaction.is_automatic {
        "auto"
    } else {
        "manual"
    };
    let metadata = LineText::new()
        .text("trigger", trigger)
        .json("preTokens", &compaction.tokens.0.to_string())
        .json("postTokens", &compaction.tokens.1.to_string());
    let id = |object: &Object<'_>| object.get("uuid").unwrap_or("null").to_owned();
    let (Some(head), Some(last)) = (kept.first(), kept.last()) else {
        return metadata.end();
    };
    let segment = LineText::new()
        .json("headUuid", &id(head))
        .text("anchorUuid", summary)
        .json("tailUuid", &id(last));
    match tail {
        Tail::Copied => metadata,
        Tail::Chained => metadata.json("preservedSegment", &segment.end()),
        Tail::Named => {
            let uuids: Vec<String> = kept.iter().map(id).collect();
            let listed = LineText::new()
                .text("anchorUuid", summary)
                .list("uuids", &uuids)
                .list("allUuids", &uuids);
            // For readers that know no list: where nothing between its ends leaves.
            let metadata = if compaction.is_end {
                metadata.json("preservedSegment", &segment.end())
            } else {
                metadata
            };
            metadata.json("preservedMessages", &listed.end())
        }
    }
    .end()
}

/// The line with other values of some members, and its reply with another id.
fn copy(object: &Object<'_>, members: &HashMap<&str, String>, reply: Option<String>) -> String {
    let mut edits = Edits::new();
    for (key, new) in members {
        if let Some(raw) = object.get(key) {
            edits.replace(object.place_of(raw), new.clone());
        }
    }
    let message = object.object_of("message");
    let id = message.as_ref().and_then(|message| message.get("id"));
    if let Some((raw, new)) = id.zip(reply) {
        edits.replace(object.place_of(raw), new);
    }
    let usage = message.as_ref().and_then(|message| message.get("usage"));
    if let Some(raw) = usage.filter(|_| kind_of(object) == "assistant") {
        // What it has used says nothing of the new context: the client would compact it again
        // at once.
        edits.replace(object.place_of(raw), ClaudeCode::NO_USAGE.to_owned());
    }
    edits.of_object(object).trim().to_owned()
}
