//! Large results that the caller put into files before a session is compacted.

use std::collections::BTreeMap;

use ctx_format::Record;

use super::content::Content;
use crate::PassError;

/// A session whose large results are in files.
#[derive(Clone, Copy)]
pub struct Offloaded<'a> {
    /// The rest of the session, and whether it is small enough; `None` if no result was large.
    pub left: Option<(&'a Content, bool)>,
    /// The results themselves, those of earlier runs as well, where the policy wants the summary
    /// to be made of them.
    pub originals: Option<&'a dyn Originals>,
    /// The paths of the files.
    pub paths: &'a [String],
}

/// Restores offloaded results.
pub trait Originals {
    /// The session is read from its beginning, perhaps not for the first time.
    fn begin(&self);

    /// A record with its results restored; `None` if it has none in files.
    fn of(&self, record: &Record<'_>) -> Result<Option<Vec<u8>>, PassError>;

    /// The files that could not be read, by line and path, and why not.
    fn unreadable(&self) -> BTreeMap<(u64, String), String>;
}
