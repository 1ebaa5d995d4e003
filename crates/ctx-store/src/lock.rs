//! The kernel's locks on the store and on a session: free as soon as their
//! holder dies, so there is no stale lock and nothing to unlock by hand.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, StoreError};
use crate::fs::atomic::is_left;
use crate::fs::{careful, lock_now, open_plain, sync_dir, wait_for_lock};
use crate::id::{SessionId, Stamp};
use crate::os;
use crate::snapshot::snapshot_files;
use crate::store::Store;

/// The store's lock: sequence numbers, commit renames, gc, audit records.
/// Never held while stdin is read, stdout is written or the network is waited for.
pub(crate) struct StoreLock<'a> {
    pub(crate) store: &'a Store,
    file: File,
}

/// A session's lock: held from plan to commit by what replaces its file.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    /// Whether the previous run was killed before it could clean up.
    pub(crate) after_a_kill: bool,
}

impl SessionLock {
    /// Records durably that this run may leave files next to the session file.
    pub(crate) fn remember(&self, store: &Store) {
        // If this cannot be flushed, gc finds the files.
        if os::sync_data(&self.file).is_ok() {
            let _ = sync_dir(&store.locks());
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // If the file remains, the next run searches for leftovers, as after a kill.
        if !is_left() {
            let _ = self.file.set_len(0);
        }
    }
}

/// Content of the store's lock file.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Counter {
    /// The last number that was given.
    sequence: u64,
    /// The latest time that was given with one.
    latest: DateTime<Utc>,
}

/// Content of a session's lock file while a run has it: for the message that it does, and for
/// the next run, when this one is killed.
#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    tool: String,
}

impl Store {
    /// Takes the store's lock, creating the store if need be.
    pub(crate) fn lock(&self) -> Result<StoreLock<'_>, StoreError> {
        self.prepare()?;
        let path = self.root().join("lock");
        let file = open_lock(&path)?;
        let busy = || format!("the store {} is locked", self.root().display());
        wait_for_lock(&file, &path, busy)?;
        Ok(StoreLock { store: self, file })
    }

    /// Takes a session's lock, or says who has it.
    pub fn lock_session(&self, session: &SessionId) -> Result<SessionLock, StoreError> {
        self.prepare()?;
        let path = self.locks().join(session.as_str());
        let mut file = open_lock(&path)?;
        match lock_now(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder: Option<Holder> = read_json(&mut file);
                let by = holder.map_or_else(String::new, |holder| {
                    format!(" by {} (pid {})", holder.tool, holder.pid)
                });
                return Err(StoreError::Busy(format!("session {session} is being changed{by}")));
            }
            Err(TryLockError::Error(error)) => return Err(error).or_cannot("lock", &path),
        }
        let before: Option<Holder> = read_json(&mut file);
        let holder = Holder { pid: std::process::id(), tool: self.actor.tool.clone() };
        // A full disk does not matter: the file is locked, whatever it says.
        let _ = write_json(&mut file, &holder);
        Ok(SessionLock { file, after_a_kill: before.is_some() })
    }

    /// The latest time that a snapshot was ever taken at, as far as it can be read now.
    pub(crate) fn latest_time_unlocked(&self) -> Option<DateTime<Utc>> {
        let mut file = open_plain(&self.root().join("lock")).ok()?;
        read_json::<Counter>(&mut file).map(|counter| counter.latest)
    }
}

impl StoreLock<'_> {
    /// The time, with the next number of the store: above every number that was ever given,
    /// also when the snapshots that had them are gone.
    pub(crate) fn next_stamp(&mut self) -> Result<Stamp, StoreError> {
        let time = self.store.now();
        let last = match read_json::<Counter>(&mut self.file) {
            Some(last) => last,
            None => self.count()?,
        };
        let next = Counter { sequence: last.sequence + 1, latest: last.latest.max(time) };
        // On the disk, because the names of the snapshots are not read again.
        self.write_counter(&next)?;
        Ok(Stamp { sequence: next.sequence, time })
    }

    /// The latest time of any snapshot, as far as it is recorded.
    pub(crate) fn latest_time(&mut self) -> Option<DateTime<Utc>> {
        read_json::<Counter>(&mut self.file).map(|counter| counter.latest)
    }

    /// Counts the snapshots again. Returns whether the last number was missing or too low.
    pub(crate) fn recount(&mut self) -> Result<bool, StoreError> {
        let counted = self.count()?;
        let known = read_json::<Counter>(&mut self.file);
        self.write_counter(&counted)?;
        Ok(known.is_none_or(|known| known.sequence < counted.sequence))
    }

    fn write_counter(&mut self, counter: &Counter) -> Result<(), StoreError> {
        let written = write_json(&mut self.file, counter);
        let synced = written.and_then(|()| os::sync_data(&self.file));
        synced.or_cannot("write", &self.store.root().join("lock"))
    }

    /// Counts from the names of all snapshots and the remaining counter.
    fn count(&mut self) -> Result<Counter, StoreError> {
        #[derive(Deserialize)]
        struct Number {
            sequence: u64,
        }
        let known = read_json::<Number>(&mut self.file).map_or(0, |number| number.sequence);
        let there = snapshot_files(&self.store.snapshots())?;
        let stamps = there.iter().map(|file| file.id.stamp);
        let highest = stamps.clone().map(|stamp| stamp.sequence).max();
        let latest = stamps.map(|stamp| stamp.time).max();
        Ok(Counter {
            sequence: known.max(highest.unwrap_or(0)),
            latest: latest.unwrap_or(DateTime::UNIX_EPOCH),
        })
    }
}

fn open_lock(path: &Path) -> Result<File, StoreError> {
    let opened = careful().write(true).create(true).mode(0o600).open(path);
    opened.or_cannot("open", path)
}

pub(crate) fn read_json<T: serde::de::DeserializeOwned>(file: &mut File) -> Option<T> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// One write, then truncation: a killed run loses no number.
fn write_json(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
}
