//! Which entries an entry names.

use super::header;
use crate::Object;
use crate::dialect::kind_of;
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
    // What an edit says of its target it cannot say of the entry above.
    let is_edit = kind_of(object) == "context_edit";
    let bond = if is_edit { Bond::Needs } else { Bond::Mention };
    links.name(object, object, "targetId", bond);
    for key in ["appendParentId", "fromId"] {
        links.name(object, object, key, Bond::Mention);
    }
    links.name(object, object, "firstKeptEntryId", Bond::Needs);
    links
}
