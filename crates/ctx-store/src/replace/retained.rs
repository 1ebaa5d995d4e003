//! Handles session files that have been replaced. The old file keeps a second name until no process
//! is writing to it any more, so that late writes are not lost.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{
    file_id, hash, id_of, is_unchanged, open_plain, parent, reap, reap_all, reap_beside,
    remove_file,
};
use crate::os::Writers;
use crate::{Meta, SessionId, SnapshotId, SnapshotKind, Store};

/// If the kernel cannot tell whether a file has writers, the file is assumed to have none once it
/// has not changed for this long.
const SILENCE: Duration = Duration::from_secs(600);

/// The result of checking a store's replaced files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Replaced files that stay because they may still be in use, each with the id of the snapshot
    /// that holds its content.
    pub busy: Vec<(SnapshotId, PathBuf)>,
    /// The ids of snapshots taken because a process wrote to a file after it had been replaced.
    pub late: Vec<SnapshotId>,
}

impl Store {
    /// Removes replaced files to which no process is writing any more, and unfinished files that
    /// killed runs left next to session files. Skips sessions that another run is changing.
    pub fn sweep_retained(&self, session: Option<&SessionId>) -> Result<SweepReport> {
        reap(&self.tmp());
        reap(&self.snapshots());
        let mut swept = SweepReport::default();
        let mut names: BTreeMap<PathBuf, HashSet<OsString>> = BTreeMap::new();
        for entry in self.catalog(session)?.entries {
            let Ok(meta) = &entry.meta else { continue };
            if let Some((live, retained)) = meta.retained_paths() {
                let name = live.file_name().unwrap_or_default().to_owned();
                names.entry(parent(&live).to_owned()).or_default().insert(name);
                if meta.has_retained() {
                    // Lock the session, because another run may be exchanging these files right
                    // now.
                    match self.lock_session(&entry.id.session) {
                        Ok(_lock) => self.sweep_one(&entry.id, meta, &mut swept)?,
                        Err(StoreError::Busy(_)) => swept.busy.push((entry.id, retained)),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        for (folder, names) in names {
            reap_all(&folder, &names);
        }
        Ok(swept)
    }

    /// Like [`Store::sweep_retained`], but for one session only, and without reading the whole
    /// store. Examines only files that the latest runs on the session may have left. The caller
    /// must have locked the session.
    pub(crate) fn sweep_recent(&self, session: &SessionId) -> Result<()> {
        reap(&self.tmp());
        let recent = self.recent(session).retained;
        let mut gone = Vec::new();
        let mut swept = SweepReport::default();
        let ids = recent.iter().filter_map(|id| SnapshotId::parse(id));
        for id in ids.filter(|id| id.session == *session) {
            // If meta.json cannot be read now, ctx-gc will examine the replaced file later.
            if let Ok(meta) = self.read_meta(&id) {
                if let Some((live, _)) = meta.retained_paths() {
                    reap_beside(&live);
                }
                self.sweep_one(&id, &meta, &mut swept)?;
            }
            if !swept.busy.iter().any(|(busy, _)| *busy == id) {
                gone.push(id);
            }
        }
        self.forget_retained(session, &gone);
        Ok(())
    }

    /// Removes the replaced file that belongs to one snapshot, if the file is no longer in use.
    /// Does not trust the paths in meta.json: the file is removed only if its name has the form
    /// that we use, and its bytes are in a snapshot or were written by us.
    pub(crate) fn sweep_one(
        &self,
        id: &SnapshotId,
        meta: &Meta,
        swept: &mut SweepReport,
    ) -> Result<()> {
        let Some((live, retained)) = meta.retained_paths() else { return Ok(()) };
        let (live, retained) = (live.as_path(), retained.as_path());
        let Ok(mut file) = open_plain(retained) else { return Ok(()) };
        let old = file.metadata().or_cannot("read", retained)?;
        // On a file system that cannot exchange names, a killed run may have left a second name for
        // the session file itself. A second name of that kind is simply removed.
        if !file_id(live).is_ok_and(|now| now == id_of(&old)) {
            let silent = old.modified().ok().and_then(|at| at.elapsed().ok());
            let is_quiet = match Writers::of(&file) {
                Writers::None => true,
                Writers::NoneSeen => silent.is_some_and(|silent| silent >= SILENCE),
                Writers::Some(_) => false,
            };
            if !is_quiet {
                swept.busy.push((id.clone(), retained.to_owned()));
                return Ok(());
            }
            let found = hash(&mut file).or_cannot("read", retained)?;
            let ours = meta.replaced_by.as_ref().map(|ours| ours.sha256.as_str());
            if found != meta.sha256 && ours != Some(&found) {
                swept.late.push(self.save_late(&id.session, live, &file, retained)?);
            }
        }
        #[cfg(test)]
        crate::tests::moments::moment();
        // A process that opened the file under its earlier name may have written to the file while
        // we were reading it.
        let now = file.metadata().or_cannot("read", retained)?;
        if matches!(Writers::of(&file), Writers::Some(_)) || !is_unchanged(&now, &old) {
            swept.busy.push((id.clone(), retained.to_owned()));
            return Ok(());
        }
        remove_file(retained).or_cannot("remove", retained)
    }

    /// Takes a snapshot of a file that another process wrote to during or after the replacement of
    /// the session file `live`. If the file cannot be read, the error contains `name`.
    pub(crate) fn save_late(
        &self,
        session: &SessionId,
        live: &Path,
        mut file: &File,
        name: &Path,
    ) -> Result<SnapshotId> {
        file.rewind().or_cannot("read", name)?;
        let mut draft = self.draft(file, name)?;
        draft.source = Some(live.to_string_lossy().into_owned());
        Ok(draft.commit(session, SnapshotKind::Late)?.id)
    }
}
