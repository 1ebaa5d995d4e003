//! Which offloaded files may go: those that no transcript of their session names,
//! live or in a snapshot. When one of them cannot be looked into, all stay.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rustix::fs::OFlags;

use super::folder::Folder;
use super::named::Search;
use super::{OffloadedFile, sources};
use crate::bytes::{PACKED, SnapshotBytes};
use crate::catalog::snapshot_files;
use crate::error::{Naming, StoreError};
use crate::files::if_there;
use crate::live::Live;
use crate::removal::{RemovalReport, StoreItem};
use crate::trash::bins;
use crate::{Entry, SessionId, Store};

/// The snapshots of each session, found in one look at the store.
pub(crate) struct Snapshots {
    /// Their bytes, also of those in the trash, which may be brought back.
    data: BTreeMap<SessionId, Vec<PathBuf>>,
    /// Those that are not in the trash.
    entries: BTreeMap<SessionId, Vec<Entry>>,
}

impl Store {
    /// The offloaded files of a session that were last used at `deadline` or before and that
    /// nothing names.
    pub fn unreferenced(
        &self,
        session: &SessionId,
        deadline: DateTime<Utc>,
    ) -> Result<Vec<OffloadedFile>, StoreError> {
        let files = self.unused(session, deadline)?;
        if files.is_empty() {
            return Ok(files);
        }
        self.unnamed(session, files, &self.snapshots_of(Some(session))?)
    }

    /// Looks for the snapshots of one session, or of all. The trash comes last, because a
    /// snapshot may be moved there meanwhile.
    pub(crate) fn snapshots_of(
        &self,
        session: Option<&SessionId>,
    ) -> Result<Snapshots, StoreError> {
        let mut entries: BTreeMap<SessionId, Vec<Entry>> = BTreeMap::new();
        for entry in self.catalog(session)?.entries {
            let session = entry.id.session.clone();
            entries.entry(session).or_default().push(entry);
        }
        let mut dirs = vec![self.snapshots()];
        // What is damaged may still be repaired by hand.
        dirs.extend(bins(&self.damaged(), None)?);
        dirs.extend(bins(&self.trash(), None)?);
        let mut data: BTreeMap<SessionId, Vec<PathBuf>> = BTreeMap::new();
        for dir in dirs {
            for file in snapshot_files(&dir)? {
                if !file.is_meta && session.is_none_or(|session| *session == file.id.session) {
                    data.entry(file.id.session).or_default().push(file.path);
                }
            }
        }
        Ok(Snapshots { data, entries })
    }

    /// The offloaded files of a session that were last used at `deadline` or before.
    pub(crate) fn unused(
        &self,
        session: &SessionId,
        deadline: DateTime<Utc>,
    ) -> Result<Vec<OffloadedFile>, StoreError> {
        let Some(folder) = if_there(Folder::of_session(self, session))? else {
            return Ok(Vec::new());
        };
        let mut files = self.offloaded_files(session)?;
        files.retain(|file| is_unused(&folder, file, deadline));
        Ok(files)
    }

    /// Those of these files of a session that nothing names.
    pub(crate) fn unnamed(
        &self,
        session: &SessionId,
        files: Vec<OffloadedFile>,
        snapshots: &Snapshots,
    ) -> Result<Vec<OffloadedFile>, StoreError> {
        let mut search = Search::new(files);
        for path in snapshots.data.get(session).into_iter().flatten() {
            search_snapshot(&mut search, path)?;
        }
        for path in self.live_files(session, snapshots)? {
            Live::open(&path)
                .and_then(|live| {
                    search
                        .look_through(&mut &live.file)
                        .naming("read", &live.path)
                })
                .map_err(|error| StoreError::Unsearchable(error.to_string()))?;
        }
        Ok(search.unreferenced())
    }

    /// The live files of a session, when all of them are known.
    fn live_files(
        &self,
        session: &SessionId,
        snapshots: &Snapshots,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let unknown = |why: &str| StoreError::Unsearchable(why.to_owned());
        let live = sources::read(&Folder::of_session(self, session)?)?;
        let mut live = live.ok_or_else(|| unknown("one went into a pipe"))?;
        for Entry { id, meta } in snapshots.entries.get(session).into_iter().flatten() {
            let meta = meta.as_ref();
            let meta = meta.map_err(|why| unknown(&format!("snapshot {id}: {why}")))?;
            live.extend(meta.source.as_ref().map(PathBuf::from));
        }
        if live.is_empty() {
            return Err(unknown("no file of the session is known"));
        }
        live.sort();
        live.dedup();
        Ok(live)
    }

    /// Moves offloaded files into the trash, except those that were used after `deadline`.
    pub fn discard_offloaded(
        &self,
        files: &[OffloadedFile],
        deadline: DateTime<Utc>,
    ) -> Result<RemovalReport, StoreError> {
        let items = files.iter().cloned().map(StoreItem::Offloaded).collect();
        self.move_to_trash(items, |item| match item {
            StoreItem::Snapshot(_) => Ok(false),
            StoreItem::Offloaded(file) => {
                let folder = Folder::of_session(self, &file.session);
                Ok(!folder.is_ok_and(|folder| is_unused(&folder, file, deadline)))
            }
        })
    }
}

/// What cannot be unpacked may name anything. A file that is gone was moved into the trash, which
/// is searched as well, or it was packed.
fn search_snapshot(search: &mut Search, path: &Path) -> Result<(), StoreError> {
    let mut packed = path.as_os_str().to_owned();
    packed.push(PACKED);
    for path in [path, Path::new(&packed)] {
        let bytes = SnapshotBytes::open(path, None).naming("read", path);
        let Some(mut bytes) = if_there(bytes)? else {
            continue;
        };
        return match search.look_through(&mut bytes) {
            Err(error) if bytes.is_packed() && error.raw_os_error().is_none() => Err(
                StoreError::Unsearchable(format!("{}: {error}", path.display())),
            ),
            searched => searched.naming("read", path),
        };
    }
    Ok(())
}

fn is_unused(folder: &Folder, file: &OffloadedFile, deadline: DateTime<Utc>) -> bool {
    let used = folder
        .open(&file.name.to_string(), OFlags::RDONLY)
        .ok()
        .and_then(|file| file.metadata().ok()?.modified().ok());
    used.is_some_and(|used| DateTime::<Utc>::from(used) <= deadline)
}
