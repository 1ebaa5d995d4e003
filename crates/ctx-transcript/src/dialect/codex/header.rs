//! The first line of a session, without which the client 0.169.0 loads nothing of it.

use std::borrow::Cow;

use crate::dialect::kind_of;
use crate::dialect::made::{NO_TIME, id_of};
use crate::{Object, json};

/// What the client demands of a header.
pub(super) const OF_HEADER: [&str; 5] = ["id", "timestamp", "cwd", "originator", "cli_version"];

/// Whether the client takes the line for one.
pub(super) fn is_header(object: &Object<'_>) -> bool {
    let payload = object.object_of("payload");
    let has = |payload: &Object<'_>| OF_HEADER.iter().all(|key| payload.text_of(key).is_some());
    kind_of(object) == "session_meta"
        && object.text_of("timestamp").is_some()
        && payload.as_ref().is_some_and(has)
}

/// Whether it is one as files of before September 2025 have it.
pub(super) fn is_old_head(object: &Object<'_>) -> bool {
    object.text_of("id").is_some()
        && object.text_of("timestamp").is_some()
        && object.get("type").is_none()
}

/// What lines tell of their session, for a header that is made.
#[derive(Default)]
pub(super) struct Known {
    id: Option<String>,
    cwd: Option<String>,
    time: Option<String>,
    has_ordinals: bool,
}

impl Known {
    pub(super) fn see(&mut self, object: &Object<'_>) {
        let keep = |of: &mut Option<String>, found: Option<Cow<'_, str>>| {
            if of.is_none() {
                *of = found.map(Cow::into_owned);
            }
        };
        let payload = object.object_of("payload");
        let of_payload = |key| payload.as_ref().and_then(|payload| payload.text_of(key));
        keep(&mut self.id, of_payload("thread_id"));
        keep(&mut self.cwd, of_payload("cwd"));
        keep(&mut self.time, object.text_of("timestamp"));
        self.has_ordinals |= object.get("ordinal").is_some();
    }

    /// A header, with what the client demands.
    pub(super) fn header(&self) -> String {
        let time = self.time.as_deref().unwrap_or(NO_TIME);
        let id = self.id.clone().unwrap_or_else(|| id_of(time));
        let cwd = json::quoted(self.cwd.as_deref().unwrap_or("/"));
        let (time, id) = (json::quoted(time), json::quoted(&id));
        let (ordinal, mode) = if self.has_ordinals {
            (r#""ordinal":0,"#, r#","history_mode":"paginated""#)
        } else {
            ("", "")
        };
        format!(
            r#"{{"timestamp":{time},{ordinal}"type":"session_meta","payload":{{"id":{id},"timestamp":{time},"cwd":{cwd},"originator":"codex_cli_rs","cli_version":"0.0.0"{mode}}}}}"#
        )
    }
}
