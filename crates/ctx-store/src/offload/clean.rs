//! Which offloaded files may go: those that no transcript of their session names,
//! live or in a snapshot. When one of them cannot be looked into, all stay.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use rustix::fs::OFlags;

use super::folder::Folder;
use super::named::Search;
use super::{OffloadedFile, sources};
use crate::catalog::names_in;
use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::open::{if_there, open_plain};
use crate::removal::{RemovalReport, StoreItem};
use crate::store::data_name;
use crate::trash::bins;
use crate::{SessionId, Store};

/// What of a session's offloaded files nothing names.
#[derive(Debug, PartialEq, Eq)]
pub enum Unreferenced {
    /// These.
    Files(Vec<OffloadedFile>),
    /// Nobody can tell: not every place where they may be named can be looked into.
    Unknown(String),
}

impl Store {
    /// The offloaded files of a session that were last used at `deadline` or
    /// before and that nothing names.
    pub fn unreferenced(
        &self,
        session: &SessionId,
        deadline: DateTime<Utc>,
    ) -> Result<Unreferenced, StoreError> {
        let Some(folder) = Folder::of_session(self, session)? else {
            return Ok(Unreferenced::Files(Vec::new()));
        };
        let mut files = self.offloaded_files(session)?;
        files.retain(|file| is_unused(&folder, file, deadline));
        let mut search = Search::new(files);
        if search.is_done() {
            return Ok(Unreferenced::Files(Vec::new()));
        }
        for path in self.snapshot_files(session)? {
            // One that is not there was moved by gc, and what it moved is listed too.
            if let Some(mut file) = if_there(open_plain(&path)).naming("read", &path)? {
                search.look_through(&mut file).naming("read", &path)?;
            }
        }
        let live = match self.transcripts(session, &folder)? {
            Ok(live) => live,
            Err(why) => return Ok(Unreferenced::Unknown(why)),
        };
        for path in live {
            let looked = Live::open(&path).and_then(|live| {
                search
                    .look_through(&mut &live.file)
                    .naming("read", &live.path)
            });
            if let Err(error) = looked {
                return Ok(Unreferenced::Unknown(error.to_string()));
            }
        }
        Ok(Unreferenced::Files(search.unreferenced()))
    }

    /// The bytes of all snapshots of a session, those in the trash included:
    /// they may be brought back. The trash comes last, for what is on its way there.
    fn snapshot_files(&self, session: &SessionId) -> Result<Vec<PathBuf>, StoreError> {
        let mut dirs = vec![self.snapshots()];
        dirs.extend(bins(&self.trash(), None)?);
        let mut files = Vec::new();
        for dir in dirs {
            let ours = names_in(&dir)?
                .into_iter()
                .filter(|(id, is_meta)| !is_meta && id.session == *session);
            files.extend(ours.map(|(id, _)| dir.join(data_name(&id))));
        }
        Ok(files)
    }

    /// The live files of a session, or why they are not known.
    fn transcripts(
        &self,
        session: &SessionId,
        folder: &Folder,
    ) -> Result<Result<Vec<PathBuf>, String>, StoreError> {
        let Some(mut live) = sources::read(folder)? else {
            return Ok(Err("one went into a pipe".to_owned()));
        };
        for entry in self.catalog(Some(session))?.entries {
            match entry.meta {
                Ok(meta) => live.extend(meta.source.map(PathBuf::from)),
                Err(why) => return Ok(Err(format!("snapshot {}: {why}", entry.id))),
            }
        }
        live.sort();
        live.dedup();
        Ok(if live.is_empty() {
            Err("no file of the session is known".to_owned())
        } else {
            Ok(live)
        })
    }

    /// Moves offloaded files into the trash; what was used after `deadline` is spared.
    pub fn discard_offloaded(
        &self,
        files: &[OffloadedFile],
        deadline: DateTime<Utc>,
    ) -> Result<RemovalReport, StoreError> {
        let items = files.iter().cloned().map(StoreItem::Offloaded).collect();
        self.move_to_trash(items, |item| match item {
            StoreItem::Snapshot(_) => false,
            StoreItem::Offloaded(file) => {
                !Folder::of_session(self, &file.session).is_ok_and(|folder| {
                    folder.is_some_and(|folder| is_unused(&folder, file, deadline))
                })
            }
        })
    }
}

fn is_unused(folder: &Folder, file: &OffloadedFile, deadline: DateTime<Utc>) -> bool {
    let used = folder
        .open(&file.name.to_string(), OFlags::RDONLY)
        .ok()
        .and_then(|file| file.metadata().ok()?.modified().ok());
    used.is_some_and(|used| DateTime::<Utc>::from(used) <= deadline)
}
