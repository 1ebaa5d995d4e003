//! Which entries an entry names.

use super::tree;
use crate::Object;
use crate::dialect::kind_of;
use crate::links::{Bond, Links};

pub(super) fn of<'a>(object: &Object<'a>) -> Links<'a> {
    if kind_of(object) == "session" {
        let is_first = tree::version(object) < 2.0;
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
