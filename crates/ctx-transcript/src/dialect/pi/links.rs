//! Which entries an entry names.

use super::header;
use crate::Object;
use crate::links::{Bond, Links};

pub(super) fn of<'a>(object: &Object<'a>) -> Links<'a> {
    if header::is_of_kind(object) {
        let is_first = header::version(object).is_some_and(header::is_first);
        let mut links = Links {
            stays: true,
            keeps_all: is_first
                .then_some("version 1 of pi's files knows its lines by their numbers"),
            ..Links::default()
        };
        links.belongs(object, object, "id");
        return links;
    }
    let mut links = Links::of(object, "id");
    links.name(object, object, "parentId", Bond::Parent);
    for key in ["targetId", "appendParentId", "fromId"] {
        links.name(object, object, key, Bond::Mention);
    }
    links.name(object, object, "firstKeptEntryId", Bond::Needs);
    links
}
