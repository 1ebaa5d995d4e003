//! Additions that were not finished: a run was killed in the middle of its write, or the power
//! failed.
//!
//! Before lines are put behind a session file, they are noted in the store with the snapshot of
//! what stands there. The next run on the file finds the note, and in the file one of these:
//!
//! - the old bytes alone, or with all of the lines: nothing is to be done;
//! - the old bytes and a part of the lines: the part is cut off;
//! - the same, and behind that what an agent has written since: the first of its lines is glued to
//!   ours. A new file without our part takes the place of this one, which becomes a snapshot;
//! - something else: the file was written anew, and is none of our business.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::atomic::persist;
use crate::error::{Naming, StoreError};
use crate::files::{names, open_plain};
use crate::live::Live;
use crate::store::make_dirs;
use crate::{SessionId, Snapshot, SnapshotId, Store, hash};

/// The first line of a note; the bytes of the addition follow.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Id of the snapshot of what stands before the addition.
    snapshot: String,
    /// When the session file was changed before that, in seconds and nanoseconds since 1970.
    modified: Option<(u64, u32)>,
}

/// How much of a note is read for its first line.
const LONGEST_HEAD: u64 = 1024;

/// How much of a line is looked at; of a longer one no end is told.
const LONGEST_LINE: u64 = 64 << 20;

/// A note of an addition, on the disk.
pub(crate) struct Note(PathBuf);

impl Note {
    pub(crate) fn remove(&self) {
        // Where it stays, the next run finds the addition finished.
        let _ = fs::remove_file(&self.0);
    }
}

/// What a run found behind the bytes that an addition was to follow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing that has to go.
    Nothing,
    /// A part of the addition.
    Part {
        /// The length that the file had before it.
        old: u64,
        /// When it was changed before it.
        modified: Option<SystemTime>,
    },
    /// A part of the addition there, and more behind it.
    PartAndMore(Range<u64>),
}

impl Store {
    fn additions(&self) -> PathBuf {
        self.root().join("appending")
    }

    /// Of two files of one session, each has its own.
    fn note_of(&self, live: &Live) -> Result<PathBuf, StoreError> {
        let name = SessionId::of_path(&live.path)?;
        Ok(self.additions().join(name.as_str()))
    }

    /// Notes durably what is about to be written behind a session file.
    pub(crate) fn note_addition(
        &self,
        before: &Snapshot,
        live: &Live,
        bytes: &[u8],
    ) -> Result<Note, StoreError> {
        make_dirs(&self.additions())?;
        let path = self.note_of(live)?;
        let modified = live.meta.modified().ok();
        let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let head = Head {
            snapshot: before.id.to_string(),
            modified: since.map(|since| (since.as_secs(), since.subsec_nanos())),
        };
        let mut note = serde_json::to_vec(&head).naming("write", &path)?;
        note.push(b'\n');
        note.extend_from_slice(bytes);
        let mut temp = self.temp("appending", 0o600)?;
        temp.write_all(&note).naming("write", &path)?;
        persist(temp, &path).map_err(StoreError::before)?;
        Ok(Note(path))
    }

    /// What an earlier run has left of an addition to the file, and the note of it.
    pub(crate) fn unfinished_addition(
        &self,
        live: &Live,
    ) -> Result<Option<(Note, Found)>, StoreError> {
        let path = self.note_of(live)?;
        let Ok(note) = open_plain(&path) else {
            return Ok(None);
        };
        let found = match read(note) {
            Some((head, bytes)) => self.find(live, &head, &bytes)?,
            None => Found::Nothing,
        };
        // For who copies it.
        let mut file = &live.file;
        file.rewind().naming("read", &live.path)?;
        Ok(Some((Note(path), found)))
    }

    fn find(&self, live: &Live, head: &Head, bytes: &[u8]) -> Result<Found, StoreError> {
        let id = SnapshotId::parse(&head.snapshot);
        let before = id.and_then(|id| self.read_meta(&id).ok());
        let Some(before) = before.filter(|before| before.is_of(&live.path)) else {
            return Ok(Found::Nothing);
        };
        let path = &live.path;
        let (old, now) = (before.bytes, live.meta.len());
        let file = &live.file;
        if now <= old || hash(&mut file.take(old)).naming("read", path)? != before.sha256 {
            return Ok(Found::Nothing);
        }
        let mut rest = Vec::new();
        let mut behind = file.take((now - old).min(bytes.len() as u64));
        behind.read_to_end(&mut rest).naming("read", path)?;
        let same = rest.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        if same == bytes.len() {
            return Ok(Found::Nothing);
        }
        if same as u64 == now - old {
            let since = head.modified.and_then(|(seconds, nanos)| {
                Duration::from_secs(seconds).checked_add(Duration::from_nanos(nanos.into()))
            });
            let modified = since.and_then(|since| UNIX_EPOCH.checked_add(since));
            return Ok(Found::Part { old, modified });
        }
        let end = end_of_ours(live, old, &bytes[..same])?;
        Ok(end.map_or(Found::Nothing, |end| Found::PartAndMore(old..end)))
    }

    /// Removes the notes of a session that is forgotten.
    pub(crate) fn remove_notes(&self, session: &SessionId) {
        for name in names(&self.additions()).unwrap_or_default() {
            let path = self.additions().join(name);
            let head = open_plain(&path).ok().and_then(read);
            let id = head.and_then(|(head, _)| SnapshotId::parse(&head.snapshot));
            if id.is_none_or(|id| id.session == *session) {
                Note(path).remove();
            }
        }
    }
}

fn read(note: File) -> Option<(Head, Vec<u8>)> {
    let mut note = BufReader::new(note);
    let mut head = Vec::new();
    (&mut note)
        .take(LONGEST_HEAD)
        .read_until(b'\n', &mut head)
        .ok()?;
    let head = serde_json::from_slice(&head).ok()?;
    let mut bytes = Vec::new();
    note.read_to_end(&mut bytes).ok()?;
    Some((head, bytes))
}

/// Where an agent's line begins that is glued to a part of ours, which stands at `old`. Their
/// first bytes may be the same as those that we did not get to write, so that the end of ours is
/// where a whole object begins. `None` where nothing of ours is there, or no end can be told.
fn end_of_ours(live: &Live, old: u64, same: &[u8]) -> Result<Option<u64>, StoreError> {
    let path = &live.path;
    let mut file = &live.file;
    let mut glued = Vec::new();
    let behind = file.seek(SeekFrom::Start(old + same.len() as u64));
    let mut rest = BufReader::new(file.take(LONGEST_LINE));
    let read = behind.and_then(|_| rest.read_until(b'\n', &mut glued));
    read.naming("read", path)?;
    for end in (0..=same.len()).rev() {
        let head = &same[end..];
        if head.first().or(glued.first()) != Some(&b'{') {
            continue;
        }
        let whole = serde_json::from_reader::<_, IgnoredAny>(head.chain(&glued[..]));
        if whole.is_ok() {
            return Ok((end > 0).then_some(old + end as u64));
        }
    }
    Ok(None)
}
