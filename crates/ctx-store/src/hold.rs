//! Held snapshots: retention leaves them alone.

use crate::{Facts, SessionId, SnapshotId, Store, StoreError};

impl Store {
    /// Holds a snapshot, or releases it; one that is already so stays as it is.
    pub fn hold(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
        held: bool,
    ) -> Result<SnapshotId, StoreError> {
        let mut locked = self.lock()?;
        let catalog = self.catalog(session)?;
        let entry = catalog.find(wanted)?;
        let mut meta = entry.trusted_meta()?;
        if meta.held == held {
            return Ok(entry.id.clone());
        }
        meta.held = held;
        let facts = Facts {
            snapshots: vec![meta.id.clone()],
            ..Facts::of(&entry.id.session)
        };
        let operation = locked.begin(if held { "hold" } else { "release" }, &facts)?;
        locked.write_meta(&entry.id, &meta)?;
        locked.done(&operation, &facts)?;
        Ok(entry.id.clone())
    }
}
