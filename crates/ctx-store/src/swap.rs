//! The new file beside the live one, the exchange of the two, and what comes right after it.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::arrivals::Arrivals;
use crate::atomic::inherit;
use crate::error::{Naming, Severity, StoreError};
use crate::exchange::{put_in_place, save_others};
use crate::files::{file_id, id_of, parent, sync_dir};
use crate::hash;
use crate::lease::{self, Answer, Lease, Others};
use crate::live::Live;
use crate::meta::Successor;
use crate::temp::TempFile;
use crate::{NewContent, Snapshot, Store};

/// How often a file that keeps growing is caught up with before we give up.
const ROUNDS: usize = 5;
/// In how many of these rounds the disk is waited for.
const SYNCED_ROUNDS: usize = 3;
/// A lease that was held for longer may have been taken away.
const LEASE: Duration = Duration::from_secs(5);
const OTHER_CONTENT: &str =
    "does not hold what was written: another process has written it over, or the disk is at fault";

/// The new content beside the live file; dropped, it leaves nothing.
pub(crate) struct NewFile {
    temp: TempFile,
    /// What was written to it.
    pub(crate) content: Successor,
}

impl NewFile {
    pub(crate) fn write(live: &Live, new: &mut NewContent<'_>) -> Result<Self, StoreError> {
        let path = &live.path;
        let name = path.file_name().unwrap_or_default();
        // What a killed run left is gone: that was looked for when the session was locked.
        let temp = TempFile::create(parent(path), name, 0o600);
        let mut temp = temp.naming("create a file beside", path)?;
        let bytes = new.copy_to(&mut temp, path)?;
        inherit(&temp.file, &live.meta).naming("keep the mode of", path)?;
        temp.file.sync_all().naming("sync", temp.path())?;
        let sha256 = new.sha256.to_owned();
        Ok(Self {
            temp,
            content: Successor { bytes, sha256 },
        })
    }
}

/// A replacement up to its commit; dropped before that, it leaves nothing.
pub(crate) struct Swap<'a> {
    store: &'a Store,
    live: &'a Live,
    before: &'a Snapshot,
    temp: TempFile,
    content: Successor,
    /// The name that the old file will have: that of what was replaced, which the next run
    /// finds by the snapshot.
    aside: PathBuf,
    arrivals: Arrivals<'a>,
    /// Whether what is appended meanwhile may follow the new content; else it stops all.
    pub(crate) may_grow: bool,
}

impl<'a> Swap<'a> {
    pub(crate) fn of(store: &'a Store, live: &'a Live, before: &'a Snapshot, new: NewFile) -> Self {
        let aside = before.meta.retained.as_deref().unwrap_or_default();
        Self {
            store,
            live,
            before,
            temp: new.temp,
            content: new.content,
            aside: live.path.with_file_name(aside),
            arrivals: Arrivals::since(live, before),
            may_grow: true,
        }
    }

    /// Carries over what was appended since the snapshot, until nothing more comes; where
    /// the file may not grow, it has to be as it was. Nobody can write to it before the lease
    /// is dropped, where leases can be had.
    fn catch_up(&mut self) -> Result<Option<Lease<'a>>, StoreError> {
        for round in 0..ROUNDS {
            let alone = self.live.keep_writers_out()?;
            let now = self.live.again()?;
            let modified = (now.mtime(), now.mtime_nsec());
            if now.len() == self.arrivals.covered && modified == self.arrivals.modified {
                return Ok(alone);
            }
            drop(alone);
            if (!self.may_grow && now.len() != self.arrivals.covered) || !self.arrivals.are_all()? {
                return Err(StoreError::Changed(self.live.path.clone()));
            }
            self.arrivals.modified = modified;
            self.arrivals.carry(now.len(), &self.temp.file)?;
            // A slow disk must not let a busy agent win each round. What is not on the disk
            // yet is so before the old file, which has it, goes.
            if round < SYNCED_ROUNDS {
                let synced = self.temp.file.sync_all();
                synced.naming("sync", self.temp.path())?;
            }
        }
        let name = self.live.path.display();
        Err(StoreError::Busy(format!("{name} keeps growing")))
    }

    /// The exchange, and what comes before and after it. Returns the bytes carried over, and
    /// the old file when it may still be in use, or holds what is nowhere else.
    pub(crate) fn commit(mut self) -> Result<(u64, Option<PathBuf>), StoreError> {
        let writers_wait = self.catch_up()?;
        let Self {
            store,
            live,
            before,
            temp: TempFile { mut name, file },
            content,
            aside: old,
            mut arrivals,
            may_grow: _,
        } = self;
        let path = &live.path;
        let carried = arrivals.late;
        let begun = Instant::now();
        let all_wait = match lease::ask(&file, Others::All) {
            Answer::Granted(lease) => Some(lease),
            Answer::InUse | Answer::Unknown => None,
        };
        let mut others = Vec::new();
        if let Err(error) = put_in_place(&mut name, &old, live, &mut others) {
            drop((writers_wait, all_wait));
            let places = (live.path.as_path(), old.as_path());
            let saved = save_others(store, before, &content, places, others);
            // What may have happened to the session goes before what is not saved.
            return Err(match saved {
                Err(not_saved) if error.severity() != Severity::Uncertain => not_saved,
                _ => error,
            });
        }
        let finish = || {
            // Who came meanwhile to write finds the old file. Who comes now waits for the new
            // one until it holds that, so that what he writes stands behind it.
            drop(writers_wait);
            let mut is_over = arrivals.drain(&file)?;
            if arrivals.late > carried && !(all_wait.is_some() && begun.elapsed() < LEASE) {
                // Somebody may have read the new file before that, and write it anew.
                is_over = false;
            }
            drop(all_wait);
            file.sync_all().naming("sync", path)?;
            sync_dir(parent(path))?;
            check(&file, path, &content)?;
            if is_over && arrivals.are_over(&file, begun)? {
                // Nobody can write to it any more, and all its bytes are saved.
                fs::remove_file(&old).naming("remove", &old)?;
                return Ok((arrivals.late, None));
            }
            Ok((arrivals.late, Some(old)))
        };
        let what = format!("the replacement of {}", path.display());
        finish().map_err(|error: StoreError| error.after(what))
    }
}

/// Reads back what was written, unless another file stands there by now.
fn check(mut file: &File, path: &Path, content: &Successor) -> Result<(), StoreError> {
    let ours = file.metadata().naming("read", path)?;
    if file_id(path).naming("read", path)? != id_of(&ours) {
        return Ok(());
    }
    // By the same handle: to open the file once more would wait for our own lease, where that could
    // not be given back.
    file.rewind().naming("read", path)?;
    let written = hash(&mut file.take(content.bytes)).naming("read", path)?;
    if written == content.sha256 {
        return Ok(());
    }
    Err(StoreError::refused(path, OTHER_CONTENT))
}
