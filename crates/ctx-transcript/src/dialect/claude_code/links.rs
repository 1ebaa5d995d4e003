//! Which lines a line names.

use crate::dialect::kind_of;
use crate::links::{Bond, GoodFor, Links};
use crate::{Object, json};

pub(super) fn of<'a>(object: &Object<'a>) -> Links<'a> {
    let kind = kind_of(object);
    let mut links = Links {
        good_for: good_for(&kind, object),
        ..Links::of(object, "uuid")
    };
    links.belongs(object, object, "sessionId");
    links.name(object, object, "parentUuid", Bond::Parent);
    for key in ["logicalParentUuid", "sourceToolAssistantUUID", "leafUuid"] {
        links.name(object, object, key, Bond::Mention);
    }
    // Without one of the lines that a compaction keeps the client keeps none of them.
    let metadata = object.object_of("compactMetadata");
    let kept = |key| metadata.as_ref()?.object_of(key);
    if let Some(segment) = kept("preservedSegment") {
        for key in ["headUuid", "anchorUuid", "tailUuid"] {
            links.name(object, &segment, key, Bond::Needs);
        }
    }
    if let Some(list) = kept("preservedMessages") {
        links.name(object, &list, "anchorUuid", Bond::Needs);
        let ids = list.elements_of("uuids").unwrap_or_default();
        for raw in ids.into_iter().filter(|raw| json::text(raw).is_some()) {
            links.name_at(object, raw, Bond::Needs);
        }
    }
    links
}

fn good_for(kind: &str, object: &Object<'_>) -> Option<GoodFor> {
    match kind {
        "progress" => Some(GoodFor::Progress),
        "file-history-snapshot" => Some(GoodFor::FileHistory),
        // A boundary is what the context begins with.
        "system" if object.text_of("subtype").as_deref() != Some("compact_boundary") => {
            Some(GoodFor::ItsParent)
        }
        _ => None,
    }
}
