//! Cleans up after a run that was killed while it appended lines to a session file.
//!
//! Before a run appends lines, it records them in `appending/` together with the snapshot of the file.
//! The next run on the file finds the record and one of these:
//!
//! - the old bytes alone, or the old bytes and all lines: nothing to do;
//! - the old bytes and a part of the lines: the part is cut off;
//! - the same, followed by lines that an agent has written since. The first of them is on the same line
//!   as our part, so a new file without the part replaces this one, which becomes a snapshot;
//! - anything else: somebody has rewritten the file, and it stays as it is.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::audit::{Facts, Figures};
use crate::error::{OrCannot, StoreError};
use crate::fs::atomic::persist;
use crate::fs::folder::make_dirs;
use crate::fs::{file_names, hash, open_plain};
use crate::id::{SessionId, SnapshotId};
use crate::lock::SessionLock;
use crate::replace::append::Tail;
use crate::replace::session_file::SessionFile;
use crate::replace::{NewContent, Replacement};
use crate::snapshot::draft::Snapshot;
use crate::snapshot::meta::SnapshotKind;
use crate::store::Store;

/// The first line of a note; the bytes of the addition follow.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Id of the snapshot taken before the addition.
    snapshot: String,
    /// When the session file was changed before that, in seconds and nanoseconds since 1970.
    modified: Option<(u64, u32)>,
}

/// How much of a note is read for its first line.
const LONGEST_HEAD: u64 = 1024;

/// The longest line that is searched for its end.
const LONGEST_LINE: u64 = 64 << 20;

/// What follows the bytes that the addition was to follow.
enum AppendState {
    /// Nothing to remove.
    Nothing,
    /// A part of the addition.
    Part {
        /// The length that the file had before it.
        old: u64,
        /// When it was changed before it.
        modified: Option<SystemTime>,
    },
    /// A part of the addition at this range, and more after it.
    PartAndMore(Range<u64>),
}

impl Store {
    fn additions(&self) -> PathBuf {
        self.root().join("appending")
    }

    /// Two files of one session have separate records.
    fn note_of(&self, live: &SessionFile) -> Result<PathBuf, StoreError> {
        let name = SessionId::of_path(&live.path)?;
        Ok(self.additions().join(name.as_str()))
    }

    /// Durably records the lines that are about to be appended; returns the path of the note.
    pub(crate) fn note_addition(
        &self,
        before: &Snapshot,
        live: &SessionFile,
        bytes: &[u8],
    ) -> Result<PathBuf, StoreError> {
        make_dirs(&self.additions())?;
        let path = self.note_of(live)?;
        let modified = live.meta.modified().ok();
        let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let head = Head {
            snapshot: before.id.to_string(),
            modified: since.map(|since| (since.as_secs(), since.subsec_nanos())),
        };
        let mut note = serde_json::to_vec(&head).or_cannot("write", &path)?;
        note.push(b'\n');
        note.extend_from_slice(bytes);
        let mut temp = self.temp("appending", 0o600)?;
        temp.write_all(&note).or_cannot("write", &path)?;
        persist(temp, &path).map_err(StoreError::before)?;
        Ok(path)
    }

    /// The rest of an earlier run's addition to the file.
    fn find(
        &self,
        live: &SessionFile,
        head: &Head,
        bytes: &[u8],
    ) -> Result<AppendState, StoreError> {
        let id = SnapshotId::parse(&head.snapshot);
        let before = id.and_then(|id| self.read_meta(&id).ok());
        let Some(before) = before.filter(|before| before.is_of(&live.path)) else {
            return Ok(AppendState::Nothing);
        };
        let path = &live.path;
        let (old, now) = (before.bytes, live.meta.len());
        let file = &live.file;
        if now <= old || hash(&mut file.take(old)).or_cannot("read", path)? != before.sha256 {
            return Ok(AppendState::Nothing);
        }
        let mut rest = Vec::new();
        let mut behind = file.take((now - old).min(bytes.len() as u64));
        behind.read_to_end(&mut rest).or_cannot("read", path)?;
        let same = rest.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        if same == bytes.len() {
            return Ok(AppendState::Nothing);
        }
        if same as u64 == now - old {
            let since = head.modified.and_then(|(seconds, nanos)| {
                Duration::from_secs(seconds).checked_add(Duration::from_nanos(nanos.into()))
            });
            let modified = since.and_then(|since| UNIX_EPOCH.checked_add(since));
            return Ok(AppendState::Part { old, modified });
        }
        let end = end_of_ours(live, old, &bytes[..same])?;
        Ok(end.map_or(AppendState::Nothing, |end| AppendState::PartAndMore(old..end)))
    }

    pub(crate) fn remove_note(note: &Path) {
        // If the record remains, the next run finds the addition complete.
        let _ = fs::remove_file(note);
    }

    /// Removes the notes of a session that is forgotten.
    pub(crate) fn remove_notes(&self, session: &SessionId) {
        for name in file_names(&self.additions()).unwrap_or_default() {
            let path = self.additions().join(name);
            let head = open_plain(&path).ok().and_then(read);
            let id = head.and_then(|(head, _)| SnapshotId::parse(&head.snapshot));
            if id.is_none_or(|id| id.session == *session) {
                Self::remove_note(&path);
            }
        }
    }
}

fn read(note: File) -> Option<(Head, Vec<u8>)> {
    let mut note = BufReader::new(note);
    let mut head = Vec::new();
    (&mut note).take(LONGEST_HEAD).read_until(b'\n', &mut head).ok()?;
    let head = serde_json::from_slice(&head).ok()?;
    let mut bytes = Vec::new();
    note.read_to_end(&mut bytes).ok()?;
    Some((head, bytes))
}

/// Where an agent's line begins that was appended directly to a part of ours, which starts at
/// `old`. Its first bytes may equal those that we did not write, so our part ends where a complete
/// object begins. `None` if nothing of ours is there, or the end is unclear.
fn end_of_ours(live: &SessionFile, old: u64, same: &[u8]) -> Result<Option<u64>, StoreError> {
    let path = &live.path;
    let mut file = &live.file;
    let mut glued = Vec::new();
    let behind = file.seek(SeekFrom::Start(old + same.len() as u64));
    let mut rest = BufReader::new(file.take(LONGEST_LINE));
    let read = behind.and_then(|_| rest.read_until(b'\n', &mut glued));
    read.or_cannot("read", path)?;
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

/// The name of the operation in the audit log.
const OPERATION: &str = "repair-addition";

impl Store {
    /// Takes away what a killed run has left of an addition to a file that is claimed.
    /// `None` where the file was changed by that.
    pub(crate) fn repair_addition(
        &self,
        session: &SessionId,
        lock: SessionLock,
        live: SessionFile,
    ) -> Result<Option<(SessionLock, SessionFile)>, StoreError> {
        let path = self.note_of(&live)?;
        let Ok(note) = open_plain(&path) else {
            return Ok(Some((lock, live)));
        };
        let found = match read(note) {
            Some((head, bytes)) => self.find(&live, &head, &bytes)?,
            None => AppendState::Nothing,
        };
        // For who copies it.
        (&live.file).rewind().or_cannot("read", &live.path)?;
        match found {
            AppendState::Nothing => {
                Self::remove_note(&path);
                return Ok(Some((lock, live)));
            }
            AppendState::Part { old, modified } => {
                let facts = Facts { bytes: Some(old), ..Facts::of(session) };
                let operation = self.begin(OPERATION, &facts)?;
                Tail::open(live)?.cut(old, modified)?;
                self.done(&operation, &facts)?;
            }
            AppendState::PartAndMore(part) => {
                let draft = live.draft(self)?;
                let replacement = Replacement::new(self, session, lock, live, draft);
                replace_without(replacement, part)?;
            }
        }
        Self::remove_note(&path);
        Ok(None)
    }
}

/// Removes our part. The lines that an agent has written after it stay.
fn replace_without(replacement: Replacement<'_>, part: Range<u64>) -> Result<(), StoreError> {
    let path = replacement.live.path.clone();
    let bytes = replacement.bytes()?;
    let rest = || Without { file: &bytes, at: 0, part: part.clone() };
    let sha256 = hash(&mut rest()).or_cannot("read", &path)?;
    let mut new = NewContent {
        reader: &mut rest(),
        sha256: &sha256,
        operation: OPERATION,
        kind: SnapshotKind::PreCompact,
        figures: Figures::default(),
    };
    replacement.commit(&mut new).map(drop)
}

/// A file without a part of it.
struct Without<'a> {
    file: &'a File,
    at: u64,
    part: Range<u64>,
}

impl Read for Without<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.contains(&self.at) {
            self.at = self.part.end;
        }
        let before = self.part.start.saturating_sub(self.at);
        let most = match usize::try_from(before) {
            Ok(before) if before > 0 => before.min(buffer.len()),
            _ => buffer.len(),
        };
        let count = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
