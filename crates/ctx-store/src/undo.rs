//! Undo: which replacement of a file was the last one that came about.
//!
//! Each snapshot of a replaced file says what was to take its place. That was done when the
//! file still begins with it: agents only append. Then a run that was killed before its
//! commit, and left its snapshot, is not taken for the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Naming, StoreError};
use crate::files::if_there;
use crate::hash::feed;
use crate::live::Live;
use crate::{Catalog, Entry, Meta, Store, Successor, hex};

impl Store {
    /// The state before the last replacement of a file. A snapshot of just the bytes that are
    /// there now is passed over. Where the file begins with nothing that any of the tools put
    /// there, somebody has written it anew, and the newest one it is. A damaged snapshot that
    /// may be the one is an error.
    ///
    /// The hashes that it goes by are returned, too: a rollback asks more of them, and the file
    /// is read but twice in all. That once more is under the lock, when its bytes become a
    /// snapshot: an agent may have appended until then.
    pub(crate) fn last_replaced<'c>(
        &self,
        catalog: &'c Catalog,
        path: Option<&Path>,
    ) -> Result<(&'c Entry, Beginnings), StoreError> {
        if catalog.entries.is_empty() {
            return Err(StoreError::NothingToUndo);
        }
        let mut entries: Vec<&Entry> = catalog.entries.iter().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.id.stamp.sequence));
        let metas = entries.iter().filter_map(|entry| entry.meta.as_ref().ok());
        let asked = metas.flat_map(Meta::lengths);
        let now = Beginnings::of(path, asked)?;
        let mut newest = None;
        for entry in entries {
            let Ok(meta) = &entry.meta else {
                if self.may_be_of_replacement(entry) {
                    let damaged = entry.trusted_meta().expect_err("it is damaged");
                    return Err(damaged.in_undo());
                }
                continue;
            };
            if !meta.kind.is_of_replacement() || now.is(meta) {
                continue;
            }
            match &meta.replaced_by {
                Some(new) if !now.begin_with(new) => {
                    newest.get_or_insert(entry);
                }
                // Older versions of the tools did not write it down.
                _ => return Ok((entry, now)),
            }
        }
        let newest = newest.ok_or(StoreError::NothingToUndo)?;
        Ok((newest, now))
    }

    /// Of a damaged snapshot; its commit record may still be good.
    fn may_be_of_replacement(&self, entry: &Entry) -> bool {
        let sealed = self.read_sealed(&entry.id);
        sealed.map_or(true, |meta| meta.kind.is_of_replacement())
    }
}

impl Meta {
    /// How long its bytes are, and what was to take their place.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        let new = self.replaced_by.as_ref().map(|new| new.bytes);
        new.into_iter().chain([self.bytes])
    }
}

/// The hashes of the beginnings of a file, by their lengths.
#[derive(Default)]
pub(crate) struct Beginnings {
    /// Which file.
    path: Option<PathBuf>,
    /// Of the whole file; `None` where there is none.
    length: Option<u64>,
    hashes: BTreeMap<u64, String>,
}

impl Beginnings {
    /// Those that are asked for, in one pass over the file.
    pub(crate) fn of(
        path: Option<&Path>,
        asked: impl Iterator<Item = u64>,
    ) -> Result<Self, StoreError> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let none = Self {
            path: Some(path.to_owned()),
            ..Self::default()
        };
        if if_there(fs::symlink_metadata(path).naming("read", path))?.is_none() {
            return Ok(none);
        }
        let live = Live::open(path)?;
        let length = live.meta.len();
        let mut lengths: BTreeSet<u64> = asked.filter(|bytes| *bytes <= length).collect();
        lengths.insert(length);
        let hashes = hashes(&live.file, lengths).naming("read", path)?;
        Ok(Self {
            length: Some(length),
            hashes,
            ..none
        })
    }

    /// Whether they are those of that file.
    pub(crate) fn are_of(&self, path: &Path) -> bool {
        self.path.as_deref() == Some(path)
    }

    pub(crate) fn begin_with(&self, new: &Successor) -> bool {
        self.hashes.get(&new.bytes) == Some(&new.sha256)
    }

    /// How much of the file is a snapshot, or what took its place; the longer one.
    pub(crate) fn fit(&self, meta: &Meta) -> Option<u64> {
        let own = (self.hashes.get(&meta.bytes) == Some(&meta.sha256)).then_some(meta.bytes);
        let new = meta.replaced_by.as_ref();
        let new = new.filter(|new| self.begin_with(new)).map(|new| new.bytes);
        own.max(new)
    }

    fn is(&self, meta: &Meta) -> bool {
        let whole = self.length.and_then(|length| self.hashes.get(&length));
        whole == Some(&meta.sha256)
    }
}

fn hashes(mut input: impl Read, lengths: BTreeSet<u64>) -> io::Result<BTreeMap<u64, String>> {
    let (mut hasher, mut done) = (Sha256::new(), 0);
    let mut found = BTreeMap::new();
    for length in lengths {
        done += feed(&mut hasher, &mut input.by_ref().take(length - done))?;
        if done < length {
            // It was cut meanwhile.
            break;
        }
        found.insert(length, hex(&hasher.clone().finalize()));
    }
    Ok(found)
}
