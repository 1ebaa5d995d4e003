//! Replaced files that stay linked beside the live one until they are quiet.

use std::path::Path;

use crate::{Kind, Origin};

/// `.NAME.ctx-old-SEQUENCE`: hidden, so that no agent takes it for a session.
pub(crate) fn retained_name(origin: &Origin, sequence: u64) -> Option<String> {
    if !matches!(origin.kind, Kind::PreRollback | Kind::PreCompact) {
        return None;
    }
    let name = Path::new(origin.source.as_deref()?).file_name()?.to_str()?;
    Some(format!(".{name}.ctx-old-{sequence}"))
}
