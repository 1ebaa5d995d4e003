//! The messages of a record that stay behind a compaction, where not all of them do.

use super::Dialect;
use crate::Object;
use crate::compaction::{CompactionError, Kept};

/// These, raw, of a record of `dialect` whose object is `object`; `None` where all stay.
pub(super) fn of(
    kept: &Kept<'_>,
    dialect: &dyn Dialect,
    object: &Object<'_>,
) -> Option<Result<Vec<String>, CompactionError>> {
    let numbers = kept.messages.as_ref()?;
    let held = dialect.held(object);
    let raw = |number: &usize| held.get(*number).map(|it| it.raw.clone().into_owned());
    let picked: Option<Vec<String>> = numbers.iter().map(raw).collect();
    Some(picked.ok_or(CompactionError::Unreadable))
}
