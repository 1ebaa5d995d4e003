//! What the client notes down of a session: its folder and its names.

use crate::dialect::kind_of;
use crate::{About, Object};

pub(super) fn of<'a>(object: &Object<'a>) -> About<'a> {
    let mut about = About {
        folder: object.text_of("cwd"),
        ..About::default()
    };
    match kind_of(object).as_ref() {
        "custom-title" => about.name = object.text_of("customTitle"),
        "ai-title" => about.title = object.text_of("aiTitle"),
        _ => {}
    }
    about
}
