//! Which offloaded files may go: those that no transcript of their session names,
//! live or in a snapshot. When one of them cannot be looked into, all stay.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rustix::fs::OFlags;

use super::folder::Folder;
use super::named::Search;
use super::{Offloaded, sources};
use crate::catalog::{names_in, open_plain};
use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::removal::{Removal, Removed};
use crate::store::{data_name, make_dirs};
use crate::trash::{bins, sync_removal};
use crate::{SessionId, Store};

/// What of a session's offloaded files nothing names.
#[derive(Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// These.
    Files(Vec<Offloaded>),
    /// Nobody can tell: not every place where they may be named can be looked into.
    Unknown(String),
}

impl Store {
    /// The offloaded files of a session that were last used at `deadline` or
    /// before and that nothing names.
    pub fn unnamed(
        &self,
        session: &SessionId,
        deadline: DateTime<Utc>,
    ) -> Result<Unnamed, StoreError> {
        let Some(folder) = Folder::of_session(self, session)? else {
            return Ok(Unnamed::Files(Vec::new()));
        };
        let mut files = self.offloaded_files(session)?;
        files.retain(|file| is_unused(&folder, file, deadline));
        let mut search = Search::new(files);
        if search.is_done() {
            return Ok(Unnamed::Files(Vec::new()));
        }
        for path in self.snapshot_files(session)? {
            match open_plain(&path) {
                // gc moved it, and what it moved is listed too.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                file => search
                    .look_through(&mut file.naming("read", &path)?)
                    .naming("read", &path)?,
            }
        }
        let live = match self.transcripts(session, &folder)? {
            Ok(live) => live,
            Err(why) => return Ok(Unnamed::Unknown(why)),
        };
        for path in live {
            let looked = Live::open(&path).and_then(|live| {
                search
                    .look_through(&mut &live.file)
                    .naming("read", &live.path)
            });
            if let Err(error) = looked {
                return Ok(Unnamed::Unknown(error.to_string()));
            }
        }
        Ok(Unnamed::Files(search.unnamed()))
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
        files: &[Offloaded],
        deadline: DateTime<Utc>,
    ) -> Result<Removed, StoreError> {
        if files.is_empty() {
            return Ok(Removed::default());
        }
        let mut removal = Removal::begin(self, "gc", None, &[], files.len())?;
        let bin = self.new_bin()?;
        for file in files {
            let Some(folder) = Folder::of_session(self, &file.session)? else {
                continue;
            };
            if is_unused(&folder, file, deadline) {
                let to = bin.join(IN_TRASH).join(file.session.as_str());
                let moved = make_dirs(&to).and_then(|()| folder.give(&file.name, &to));
                removal.note_offloaded(file.clone(), moved);
                sync_removal(&to)?;
                folder.sync().map_err(|error| error.after("the removal"))?;
            }
        }
        // Stays unless all was spared.
        let _ = fs::remove_dir(&bin);
        removal.done()
    }

    /// Offloaded files in the trash, and where: those whose grace was over at
    /// `deadline`, or all.
    pub(crate) fn binned_offloads(
        &self,
        deadline: Option<DateTime<Utc>>,
    ) -> Result<Vec<(Offloaded, PathBuf)>, StoreError> {
        let mut found = Vec::new();
        for bin in bins(&self.trash(), deadline)? {
            let offloaded = bin.join(IN_TRASH);
            for session in names(&offloaded)? {
                let Ok(id) = session.parse::<SessionId>() else {
                    continue;
                };
                let dir = offloaded.join(&session);
                let files = names(&dir)?.into_iter().filter_map(|name| {
                    let file = Offloaded {
                        session: id.clone(),
                        name: super::OffloadName::parse(&name)?,
                    };
                    Some((file, dir.join(name)))
                });
                found.extend(files);
            }
        }
        Ok(found)
    }

    /// The offloaded file in the trash that `wanted` names: by its hash or name,
    /// or the beginning of one.
    pub fn find_deleted_offload(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
    ) -> Result<Offloaded, StoreError> {
        let mut found: Vec<Offloaded> = self
            .binned_offloads(None)?
            .into_iter()
            .map(|(file, _)| file)
            .filter(|file| session.is_none_or(|session| *session == file.session))
            .filter(|file| file.begins_with(wanted))
            .collect();
        found.sort();
        found.dedup();
        match &found[..] {
            [] => Err(StoreError::NotInTrash(wanted.to_owned())),
            [file] => Ok(file.clone()),
            _ => Err(StoreError::Ambiguous {
                wanted: wanted.to_owned(),
                matches: found.iter().take(5).map(ToString::to_string).collect(),
            }),
        }
    }

    /// Brings an offloaded file back from the trash.
    pub fn undelete_offload(&self, file: &Offloaded) -> Result<(), StoreError> {
        let mut locked = self.lock()?;
        let facts = crate::Facts {
            session: Some(file.session.to_string()),
            sha256: Some(file.name.sha256().to_owned()),
            ..crate::Facts::default()
        };
        let operation = locked.begin("undelete", &facts)?;
        let folder = Folder::create(self, &file.session)?;
        let binned = self.binned_offloads(None)?;
        for (_, path) in binned.iter().filter(|(binned, _)| binned == file) {
            folder.take_back(path, &file.name)?;
            remove_empty(path);
        }
        folder.freshen(&file.name);
        folder.sync().map_err(|error| error.after("undelete"))?;
        locked.done(&operation, &facts)
    }
}

/// The folder of offloaded files in a folder of the trash.
const IN_TRASH: &str = "offloaded";

fn is_unused(folder: &Folder, file: &Offloaded, deadline: DateTime<Utc>) -> bool {
    let used = folder
        .open(&file.name.to_string(), OFlags::RDONLY)
        .ok()
        .and_then(|file| file.metadata().ok()?.modified().ok());
    used.is_some_and(|used| DateTime::<Utc>::from(used) <= deadline)
}

/// Names in a folder of the trash; none when it is no folder.
fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let is_folder = fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir());
    if !is_folder {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).naming("read", dir)? {
        if let Ok(name) = entry.naming("read", dir)?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

/// Removes the folders that a file in the trash left empty: its session's, the
/// one above, the bin.
pub(crate) fn remove_empty(path: &Path) {
    for dir in path.ancestors().skip(1).take(3) {
        // Stays as long as something is in it.
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
}
