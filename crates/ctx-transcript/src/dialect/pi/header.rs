//! The header of a session: the first line that parses. Without one pi loads nothing.

use crate::dialect::kind_of;
use crate::dialect::made::{NO_TIME, id_of};
use crate::flaw::{Effect, Flaw, Remedy};
use crate::{Object, json};

/// Whether a line is of the type of a header. Behind the first one such lines are passed over.
pub(super) fn is_of_kind(object: &Object<'_>) -> bool {
    kind_of(object) == "session"
}

/// The version that a header says, of which 1 had no number; `None` where `object` is none, since
/// it has no id.
pub(super) fn version(object: &Object<'_>) -> Option<f64> {
    object.text_of("id").filter(|_| is_of_kind(object))?;
    let raw = object.get("version").filter(|raw| *raw != "null");
    Some(raw.map_or(1.0, |raw| {
        let number = json::text(raw).unwrap_or(raw.into());
        // What is no number is not older than anything.
        number.trim().parse().unwrap_or(f64::NAN)
    }))
}

/// Whether entries of that version have no ids.
pub(super) fn is_first(version: f64) -> bool {
    version < 2.0
}

/// The file begins with something else than a header.
pub(super) fn missing(record: usize, first: &Object<'_>) -> Flaw {
    let what = "no header is the first line: pi loads nothing of the file";
    let time = first.text_of("timestamp");
    let time = time.as_deref().unwrap_or(NO_TIME);
    let has_ids = first.get("id").is_some() && first.get("parentId").is_some();
    let version = if has_ids { r#""version":3,"# } else { "" };
    let (id, time) = (json::quoted(&id_of(time)), json::quoted(time));
    let header = format!(r#"{{"type":"session",{version}"id":{id},"timestamp":{time},"cwd":"/"}}"#);
    Flaw::new(record, "no-header", Effect::Refused, what.to_owned())
        .repaired_by(Remedy::Before(header))
}
