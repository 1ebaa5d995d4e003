//! Of which session or file, and of which time, snapshots are listed.

use std::path::Path;

use ctx_cli::{Failure, Io};
use ctx_store::{Catalog, SessionId, Store, When};

use crate::store::failure;

/// What is asked for; of everything, where nothing is said.
pub(super) struct Scope<'a> {
    pub(super) session: Option<&'a SessionId>,
    pub(super) file: Option<&'a Path>,
    /// Not what was before it.
    pub(super) since: Option<When>,
    /// Only what was before it.
    pub(super) before: Option<When>,
}

impl Scope<'_> {
    /// The snapshots of that time.
    pub(super) fn catalog(&self, store: &Store, io: &mut Io) -> Result<Catalog, Failure> {
        if let (None, Some(session)) = (self.file, self.session) {
            store.require_session(session).map_err(failure)?;
        }
        let mut catalog = self.all(store, io)?;
        catalog
            .entries
            .retain(|entry| self.has(entry.id.stamp.time));
        Ok(catalog)
    }

    /// The snapshots of any time; none of a session that the store does not know.
    pub(super) fn all(&self, store: &Store, io: &mut Io) -> Result<Catalog, Failure> {
        let mut catalog = match (self.file, self.session) {
            (Some(file), _) => of_file(store, file, io)?,
            (None, session) => store.catalog(session).map_err(failure)?,
        };
        let is_of = |id: &SessionId| self.session.is_none_or(|session| session == id);
        catalog.entries.retain(|entry| is_of(&entry.id.session));
        Ok(catalog)
    }

    /// Whether a time is one of those that are asked for.
    pub(super) fn has(&self, time: chrono::DateTime<chrono::Utc>) -> bool {
        self.since.is_none_or(|since| time >= since.start)
            && self.before.is_none_or(|before| time < before.start)
    }
}

fn of_file(store: &Store, file: &Path, io: &mut Io) -> Result<Catalog, Failure> {
    let found = store.catalog_of_file(file).map_err(failure)?;
    if let Some(source) = &found.by_content {
        io.warn(format_args!(
            "{}: no snapshot was taken of this path; by its content it is the session that was saved from {source}",
            file.display()
        ));
    }
    Ok(found.catalog)
}
