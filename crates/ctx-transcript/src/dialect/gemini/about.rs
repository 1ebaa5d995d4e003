//! What the client notes down of a session: the title that it makes.

use crate::{About, Object};

pub(super) fn of<'a>(object: &Object<'a>) -> About<'a> {
    let set = object.object_of("$set");
    let noted = set.as_ref().unwrap_or(object);
    About {
        title: noted.text_of("summary"),
        ..About::default()
    }
}
