//! Snapshots that are taken back: the replacement that they were taken for did not come
//! about, so that a job that fails every night does not fill the disk.

use crate::removal::{Removal, StoreItem};
use crate::trash::sync_removal;
use crate::{
    Draft, Entry, SessionId, Snapshot, SnapshotId, SnapshotKind, Store, StoreError, SweepReport,
};

impl Store {
    /// After a replacement that did not come about: judges what is left at the name for the
    /// replaced file, and takes the snapshot back, unless somebody may need it to find that.
    pub(crate) fn settle(&self, before: &Snapshot) {
        let mut swept = SweepReport::default();
        let judged = self.sweep_one(&before.id, &before.meta, &mut swept);
        if judged.is_ok() && !before.meta.has_retained() {
            // It does no harm where it stays.
            let _ = self.withdraw(&before.id);
        }
    }

    /// Deletes a snapshot for good, the commit record first.
    pub(crate) fn withdraw(&self, id: &SnapshotId) -> Result<(), StoreError> {
        let item = StoreItem::Snapshot(id.clone());
        let items = [item.clone()];
        let mut removal = Removal::begin(self, "withdraw", Some(&id.session), &items)?;
        removal.each([item], |item| Some((item, self.remove_snapshot(id))));
        sync_removal(&self.snapshots())?;
        removal.done()?;
        self.lock()?.forget_withdrawn(id)
    }

    /// The newest snapshot of a session, when it was taken of the same bytes for the same
    /// purpose: that run was killed, or what it did was undone by hand.
    pub(crate) fn superseded(
        &self,
        session: &SessionId,
        draft: &Draft<'_>,
        kind: SnapshotKind,
    ) -> Option<SnapshotId> {
        let Entry { id, meta: Ok(meta) } = self.newest(session)? else {
            return None;
        };
        let is_same = meta.sha256 == draft.sha256 && meta.source == draft.source;
        (is_same && meta.kind == kind && !meta.held && !meta.has_retained()).then_some(id)
    }
}
