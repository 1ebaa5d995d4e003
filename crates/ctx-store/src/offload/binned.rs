//! Offloaded files in the trash: `trash/{time}/offloaded/{session}/{name}`.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::folder::Folder;
use super::{OffloadName, Offloaded};
use crate::error::{Naming, StoreError};
use crate::trash::bins;
use crate::{Facts, SessionId, Store};

/// The folder of offloaded files in a folder of the trash.
pub(super) const IN_TRASH: &str = "offloaded";

impl Store {
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
                        name: OffloadName::parse(&name)?,
                    };
                    Some((file, dir.join(name)))
                });
                found.extend(files);
            }
        }
        Ok(found)
    }

    /// The offloaded files of [`Store::purge`].
    pub fn expired_offloads(
        &self,
        deadline: Option<DateTime<Utc>>,
    ) -> Result<Vec<Offloaded>, StoreError> {
        let binned = self.binned_offloads(deadline)?;
        Ok(binned.into_iter().map(|(file, _)| file).collect())
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
        let facts = Facts {
            session: Some(file.session.to_string()),
            sha256: Some(file.name.sha256().to_owned()),
            ..Facts::default()
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
