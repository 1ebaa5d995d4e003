//! What the agent notes down of a session: its folder, and the name that the user gives it.

use crate::dialect::kind_of;
use crate::{About, Object};

pub(super) fn of<'a>(object: &Object<'a>) -> About<'a> {
    let mut about = About::default();
    match kind_of(object).as_ref() {
        "session" => about.folder = object.text_of("cwd"),
        "session_info" => about.name = object.text_of("name"),
        _ => {}
    }
    about
}
