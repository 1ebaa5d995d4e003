//! Replaced files: they keep a name beside the new file until nobody writes to them any
//! more, so that what a process still writes is not lost.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Naming, StoreError};
use crate::files::{is_same_file, open_plain};
use crate::hash;
use crate::temp;
use crate::writers::{Writers, writers};
use crate::{Meta, SessionId, SnapshotId, SnapshotKind, Store};

/// Where the kernel cannot tell whether somebody writes to a file, it is taken to be
/// finished when it has not changed for this long.
const SILENCE: Duration = Duration::from_secs(600);

/// What became of the replaced files of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Removed: their bytes are in snapshots.
    pub removed: u64,
    /// Left alone: open for writing, or changed a short time ago.
    pub busy: Vec<(SnapshotId, PathBuf)>,
    /// Snapshots of what was written to them after they had been replaced.
    pub late: Vec<SnapshotId>,
}

impl Store {
    /// Removes the replaced files that nobody writes any longer, and what killed
    /// runs left beside the live ones.
    pub fn sweep_retained(&self, session: Option<&SessionId>) -> Result<SweepReport, StoreError> {
        temp::reap(&self.tmp(), None);
        if let Some(session) = session {
            temp::reap_beside(&self.summary_path(session));
        }
        let mut swept = SweepReport::default();
        for entry in self.catalog(session)?.entries {
            let Ok(meta) = &entry.meta else { continue };
            let Some((live, retained)) = meta.retained_paths() else {
                continue;
            };
            temp::reap_beside(&live);
            if let Ok(file) = open_plain(&retained) {
                self.sweep_one(&entry.id, meta, &live, &retained, &file, &mut swept)?;
            }
        }
        Ok(swept)
    }

    /// A path out of meta.json is not trusted: what is removed is a file of our
    /// own naming whose bytes are all in a snapshot.
    fn sweep_one(
        &self,
        id: &SnapshotId,
        meta: &Meta,
        live: &Path,
        retained: &Path,
        mut file: &File,
        swept: &mut SweepReport,
    ) -> Result<(), StoreError> {
        let old = file.metadata().naming("read", retained)?;
        let now = fs::symlink_metadata(live).ok();
        // A run was killed after the link and before the rename: it is the session file.
        let same = now.is_some_and(|now| is_same_file(&now, &old));
        if !same {
            let silent = old.modified().ok().and_then(|at| at.elapsed().ok());
            let is_quiet = match writers(file) {
                Writers::Nobody => true,
                Writers::NobodySeen => silent.is_some_and(|silent| silent >= SILENCE),
                Writers::Somebody(_) => false,
            };
            if !is_quiet {
                swept.busy.push((id.clone(), retained.to_owned()));
                return Ok(());
            }
            let known = hash(&mut file.take(meta.bytes)).naming("read", retained)?;
            if known != meta.sha256 || old.len() > meta.bytes {
                file.rewind().naming("read", retained)?;
                let mut draft = self.draft(file, retained)?;
                draft.source = Some(live.to_string_lossy().into_owned());
                let late = draft.commit(&id.session, SnapshotKind::Late)?;
                swept.late.push(late.id);
            }
        }
        fs::remove_file(retained).naming("remove", retained)?;
        swept.removed += 1;
        Ok(())
    }
}
