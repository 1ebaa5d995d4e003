//! What the client notes down of a session: its folder, and the name that the user gives it.

use crate::dialect::kind_of;
use crate::{About, Object};

pub(super) fn of<'a>(object: &Object<'a>) -> About<'a> {
    let mut about = About::default();
    match kind_of(object).as_ref() {
        "session_meta" => {
            if let Some(payload) = object.object_of("payload") {
                about.folder = payload.text_of("cwd");
            }
        }
        "event_msg" => {
            let payload = object.object_of("payload");
            let named = payload.filter(|payload| kind_of(payload) == "thread_name_updated");
            about.name = named.and_then(|payload| payload.text_of("thread_name"));
        }
        _ => {}
    }
    about
}
