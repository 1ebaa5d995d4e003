//! A session without its header, of which pi 0.73.1 loads nothing.

use crate::dialect::made::{NO_TIME, id_of};
use crate::flaw::{Effect, Flaw, Remedy};
use crate::{Object, json};

/// The file begins with something else than a header.
pub(super) fn flaw(record: usize, first: &Object<'_>) -> Flaw {
    let what = "no header is the first line: pi loads nothing of the file";
    let time = first.text_of("timestamp");
    let time = time.as_deref().unwrap_or(NO_TIME);
    let has_ids = first.get("id").is_some() && first.get("parentId").is_some();
    let version = if has_ids { r#""version":3,"# } else { "" };
    let (id, time) = (json::quoted(&id_of(time)), json::quoted(time));
    let header = format!(r#"{{"type":"session",{version}"id":{id},"timestamp":{time},"cwd":"/"}}"#);
    Flaw::new(record, "no-header", Effect::Refused, what.to_owned())
        .mended_by(Remedy::Before(header))
}
