//! A compaction in the format of Claude Code: a boundary, which names the old lines that stay, and
//! a summary.
//!
//! Clients since 2.1.141 read a list of the old lines that stay, those since 2.1.76 the first and
//! the last line of a chain of parents; this was tested with 2.1.197. Older clients read neither.
//! For these, for results next to the chain, and if a line that stays has changed, the lines that
//! stay are written again after the summary.

use std::collections::HashMap;

use super::{NO_USAGE, kind_of};
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, LineText, Times, copy_with,
};
use crate::{Object, json};

/// The members that all lines of a session share.
const SHARED: [&str; 7] =
    ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"];

/// The first version that reads `preservedSegment`.
const READS_SEGMENT: [u32; 3] = [2, 1, 76];
/// The first version that reads `preservedMessages`.
const READS_LIST: [u32; 3] = [2, 1, 141];

/// The beginning of the summary that the model receives.
const OPENING: &str = "What came before in this session was compacted. Its summary:";

/// Collects facts from the lines of a session.
#[derive(Default)]
pub(super) struct Writer {
    /// The shared members in the main agent's last line, raw.
    shared: Vec<(&'static str, String)>,
    times: Times,
}

/// The ways in which the boundary names the old lines that stay.
struct Names {
    /// Whether it lists them.
    list: bool,
    /// Whether it names the ends of their chain, for clients that cannot read the list.
    chain: bool,
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
        let names = self.names(compaction, &kept);
        let metadata = metadata(compaction, &names, &summary, &kept);
        let mut lines = vec![
            self.boundary(compaction, &boundary, &metadata),
            self.summary(compaction, &boundary, &summary),
        ];
        if !names.list && !names.chain {
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

    fn names(&self, compaction: &Compaction<'_>, kept: &[Object<'_>]) -> Names {
        let version = self.version();
        let is_same = !kept.is_empty() && compaction.kept.iter().all(|kept| !kept.is_changed);
        let list = is_same && version >= READS_LIST;
        let is_below =
            |pair: &[Object<'_>]| pair[1].text_of("parentUuid") == pair[0].text_of("uuid");
        let is_chain = || version >= READS_SEGMENT && kept.windows(2).all(is_below);
        // The ends are only correct if nothing between them is removed.
        Names { list, chain: is_same && compaction.is_end && (list || is_chain()) }
    }

    /// Begins a line with its `links`.
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

    /// Writes the lines that stay as a new chain below `parent`.
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
            // The client joins the blocks of a reply wherever they are.
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
    names: &Names,
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
    if let ([head, ..], [.., last], true) = (&ids[..], &ids[..], names.chain) {
        let segment = LineText::new()
            .json("headUuid", head)
            .text("anchorUuid", summary)
            .json("tailUuid", last);
        metadata = metadata.json("preservedSegment", &segment.end());
    }
    if names.list {
        let list =
            LineText::new().text("anchorUuid", summary).list("uuids", &ids).list("allUuids", &ids);
        metadata = metadata.json("preservedMessages", &list.end());
    }
    metadata.end()
}
