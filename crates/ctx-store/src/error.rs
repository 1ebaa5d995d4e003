//! The errors that the store reports. Each message says whether anything was changed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::retention::PolicyError;

/// The result type of most functions in this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A failure of the store or of the replacement of a session file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A system call failed; nothing was changed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The verb that follows "cannot" in the message: "read", "create".
        action: &'static str,
        /// The path on which the system call failed.
        path: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// A file that is written whole or not at all was not written.
    #[error("cannot write {}: {source}; nothing was changed", path.display())]
    NotWritten {
        /// The file that was not written.
        path: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// A file has its new content, but a power cut may undo that.
    #[error("{} is written, but may not survive a power cut: {source}", path.display())]
    NotDurable {
        /// The file that was written.
        path: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// Others can write to the store, or another user owns it.
    #[error("{} is not safe: {why}", path.display())]
    Insecure {
        /// The directory or file of the store that is not safe.
        path: PathBuf,
        /// Why the path is not safe.
        why: &'static str,
    },
    /// The directory is not a store, and has other files.
    #[error("{} is not a store: it has other files and no FORMAT", .0.display())]
    NotAStore(PathBuf),
    /// The text is not allowed as the id of a session.
    #[error(
        "{0:?} is not a session id: expected 1 to 128 of A-Z a-z 0-9 . _ - after a letter or digit"
    )]
    BadSession(String),
    /// No snapshot has the requested name.
    #[error("{0}")]
    NoSnapshot(Box<MissingSnapshot>),
    /// The store has no snapshots and no offloaded files of this session.
    #[error("no session {session:?} in the store")]
    NoSession {
        /// The requested session.
        session: String,
        /// Known sessions with similar names.
        near: Vec<String>,
        /// Whether the trash has items of this session.
        in_trash: bool,
    },
    /// No snapshot was taken of this file, and the file does not begin with the content of any
    /// snapshot.
    #[error("no snapshot was taken of {}, and no snapshot matches its beginning", .0.display())]
    NoSnapshotOf(PathBuf),
    /// A moved file is recognized by its content only, and this content fits several sessions.
    #[error("{} begins with the content of several sessions: {}", path.display(), sessions.join(", "))]
    SeveralSessions {
        /// The moved file.
        path: PathBuf,
        /// The sessions whose content matches the beginning of the file.
        sessions: Vec<String>,
    },
    /// The trash has nothing with the requested name.
    #[error("no snapshot {0:?} in the trash")]
    NotInTrash(String),
    /// No tool has replaced the file, or every snapshot has the file's current content.
    #[error("nothing to undo: no tool has replaced the current content")]
    NothingToUndo,
    /// The snapshot to restore is damaged, or damage to another snapshot hides which one to
    /// restore.
    #[error("nothing was undone: snapshot {id} is damaged: {why}")]
    UndoDamaged {
        /// The id of the damaged snapshot.
        id: String,
        /// What is wrong with the snapshot.
        why: String,
    },
    /// Several items match the requested name.
    #[error("{wanted:?} is ambiguous: {}", matches.join(", "))]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// The first few items that match, and how many more there are.
        matches: Vec<String>,
    },
    /// The retention policy is not valid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The bytes or the meta.json of a snapshot differ from what was committed.
    #[error("snapshot {id} is damaged: {why}")]
    Damaged {
        /// The id of the damaged snapshot.
        id: String,
        /// What is wrong with the snapshot.
        why: String,
    },
    /// The commit record of a snapshot could not be read; the snapshot may be intact.
    #[error("snapshot {id} could not be read: {why}")]
    Unread {
        /// The id of the snapshot.
        id: String,
        /// The error from the operating system, with the path.
        why: String,
    },
    /// The store cannot tell which offloaded files of a session are still referenced.
    #[error("cannot read every transcript that may name offloaded files: {0}")]
    Unsearchable(String),
    /// The store's path is not UTF-8, so a session cannot name files in it.
    #[error("{}: the path is not UTF-8, so no transcript can name files in it", .0.display())]
    NotUtf8(PathBuf),
    /// The file was not replaced, because no snapshot of its content could be taken.
    #[error("{} was not changed, because its content could not be saved: {source}", path.display())]
    NotSaved {
        /// The session file.
        path: PathBuf,
        /// Why the content could not be saved.
        source: Box<StoreError>,
    },
    /// The user holds the snapshot, so it may not be removed.
    #[error("snapshot {0} is held")]
    Held(String),
    /// The path is not a file that the tools may read or replace.
    #[error("{} {why}", path.display())]
    Refused {
        /// The path that was refused.
        path: PathBuf,
        /// The end of the message, after the path: "is a FIFO".
        why: &'static str,
    },
    /// The path is inside a store, whose files belong to the tools and are not sessions.
    #[error("{} is in the store {}", path.display(), root.display())]
    InStore {
        /// The path inside the store.
        path: PathBuf,
        /// The directory of the store.
        root: PathBuf,
    },
    /// The snapshot was taken of another file.
    #[error("{id} was taken of {taken_of}{}", if *is_gone { ", which is gone" } else { "" })]
    OtherFile {
        /// The file that the user wanted to restore.
        path: PathBuf,
        /// The id of the snapshot.
        id: String,
        /// The file from which the snapshot was taken.
        taken_of: String,
        /// Whether the file from which the snapshot was taken is gone. If that file is gone, `path`
        /// may be the same session under another name.
        is_gone: bool,
    },
    /// The clock is far ahead of every time that the store has recorded; nothing was removed.
    #[error("the clock says {}; nothing was removed", clock_jumped(*now, *seen, *to))]
    ClockJumped {
        /// The current time according to the clock.
        now: DateTime<Utc>,
        /// The last time that the store recorded before the jump.
        seen: DateTime<Utc>,
        /// The first recorded time after the jump; `now` if there is none.
        to: DateTime<Utc>,
    },
    /// Another process is using the store, the session or its file.
    #[error("{0}")]
    Busy(String),
    /// Another process changed the file, other than by appending to it.
    #[error("{} changed meanwhile; nothing was replaced", .0.display())]
    Changed(PathBuf),
    /// The file changed so recently that an agent may be using it, with its history in memory.
    #[error("{} changed {}; a running agent would not notice a change by this tool", path.display(), since(*ago))]
    NotIdle {
        /// The session file.
        path: PathBuf,
        /// The time since the file's last change.
        ago: Duration,
        /// How long the file must have been idle.
        min_idle: Duration,
    },
    /// The operation is done, but a power cut may undo it, or its audit record is missing.
    #[error("{what} is done, but {source}")]
    Uncertain {
        /// What was done, as the message names it: `snapshot ID`, `the replacement of PATH`.
        what: String,
        /// The failure that followed the change.
        source: Box<StoreError>,
    },
}

/// What an error means for the caller. Each severity has its own exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The operation failed, and nothing was changed.
    Failed,
    /// The operation failed without a change, and another attempt may succeed.
    Busy,
    /// The operation is done; its durability or its audit record is uncertain.
    Uncertain,
}

/// The time since a change, in words: `5 s ago`.
fn since(ago: Duration) -> String {
    match ago.as_secs() {
        0 => "just now".to_owned(),
        seconds @ 1..120 => format!("{seconds} s ago"),
        seconds => format!("{} min ago", seconds / 60),
    }
}

/// The most matches of an ambiguous id that the message lists.
const SHOWN_MATCHES: usize = 5;

impl StoreError {
    /// The error for a name that matches several items.
    pub(crate) fn ambiguous<T: ToString>(wanted: &str, found: impl IntoIterator<Item = T>) -> Self {
        let mut matches: Vec<String> = found.into_iter().map(|item| item.to_string()).collect();
        let more = matches.len().saturating_sub(SHOWN_MATCHES);
        if more > 0 {
            matches.truncate(SHOWN_MATCHES);
            matches.push(format!("and {more} more"));
        }
        Self::Ambiguous { wanted: wanted.to_owned(), matches }
    }

    /// The error for a file that is refused; `why` says what is wrong with it.
    pub(crate) fn refused(path: &Path, why: &'static str) -> Self {
        Self::Refused { path: path.to_owned(), why }
    }

    /// The severity of this error.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Busy(_) | Self::Changed(_) | Self::NotIdle { .. } | Self::ClockJumped { .. } => {
                Severity::Busy
            }
            Self::Uncertain { .. } | Self::NotDurable { .. } => Severity::Uncertain,
            Self::NotSaved { source, .. } if source.severity() == Severity::Busy => Severity::Busy,
            _ => Severity::Failed,
        }
    }

    /// Whether the cause is a full disk.
    pub(crate) fn is_disk_full(&self) -> bool {
        let source = match self {
            Self::Io { source, .. }
            | Self::NotWritten { source, .. }
            | Self::NotDurable { source, .. } => source,
            Self::Uncertain { source, .. } => return source.is_disk_full(),
            _ => return false,
        };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Wraps an error that happened after `what` had been done.
    #[must_use]
    pub fn after(self, what: impl Into<String>) -> Self {
        let source = match self {
            Self::Uncertain { source, .. } => source,
            other => Box::new(other),
        };
        Self::Uncertain { what: what.into(), source }
    }

    /// Turns the error for a damaged or unreadable snapshot into the error of an undo, which never
    /// falls back to an older snapshot.
    pub(crate) fn in_undo(self) -> Self {
        match self {
            Self::Damaged { id, why } | Self::Unread { id, why } => Self::UndoDamaged { id, why },
            other => other,
        }
    }

    /// Turns "done, but uncertain" into a plain failure, for a file that does not count until a
    /// later step has succeeded.
    pub(crate) fn before(self) -> Self {
        match self {
            Self::NotDurable { path, source } => Self::NotWritten { path, source },
            other => other,
        }
    }
}

fn clock_jumped(now: DateTime<Utc>, seen: DateTime<Utc>, to: DateTime<Utc>) -> String {
    let days = (to - seen).num_days();
    let shown = |time: DateTime<Utc>| time.format("%Y-%m-%d %H:%M UTC");
    if to == now {
        let now = shown(now);
        return format!("{now}, {days} days after the last time that the store recorded");
    }
    let (now, seen, to) = (shown(now), shown(seen), shown(to));
    format!("{now}, but the store recorded nothing in the {days} days from {seen} to {to}")
}

/// A requested snapshot that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSnapshot {
    /// The requested name.
    pub wanted: String,
    /// Why no snapshot has the requested name.
    pub reason: MissingReason,
    /// Snapshots with similar numbers.
    pub near: Vec<String>,
}

/// Why no snapshot has the requested name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// There is no such snapshot.
    Unknown,
    /// The digits look like a date. The text is that day in the form `2026-11-21`, which the store
    /// accepts.
    DayInDigits(String),
    /// The digits may be a hash that happens to have no letter.
    HashInDigits,
    /// The snapshot belongs to another session, or another file, than the requested one.
    Elsewhere(String),
    /// The snapshot is in the trash.
    InTrash(String),
    /// No snapshot was taken on that day. The ids are those of the nearest snapshots before and
    /// after that day.
    NotThatDay(Vec<String>),
    /// Every snapshot is newer than the requested time. The id is that of the oldest snapshot;
    /// `None` if there are no snapshots.
    NoneBefore(Option<String>),
}

impl fmt::Display for MissingSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = &self.wanted;
        match &self.reason {
            MissingReason::Unknown => write!(f, "no snapshot {wanted:?}"),
            MissingReason::DayInDigits(_) | MissingReason::HashInDigits => {
                write!(f, "{wanted} is not a snapshot number")
            }
            MissingReason::Elsewhere(id) if id == wanted => {
                write!(f, "{id} belongs to another session")
            }
            MissingReason::Elsewhere(id) => {
                write!(f, "{wanted} is {id}, which belongs to another session")
            }
            MissingReason::InTrash(id) => write!(f, "{id} is in the trash"),
            MissingReason::NotThatDay(_) => write!(f, "no snapshot was taken on {wanted}"),
            MissingReason::NoneBefore(_) => write!(f, "no snapshot is as old as {wanted}"),
        }
    }
}

/// Adds the path to the error of a failed system call.
pub(crate) trait OrCannot<T> {
    /// `action` is the verb in the message: "read", "create".
    fn or_cannot(self, action: &'static str, path: &Path) -> Result<T>;

    /// Reports that an atomic write failed before the file had its final name, so nothing was
    /// changed.
    fn or_not_written(self, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> OrCannot<T> for Result<T, E> {
    fn or_cannot(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|error| StoreError::Io { action, path: path.to_owned(), source: error.into() })
    }

    fn or_not_written(self, path: &Path) -> Result<T> {
        self.map_err(|error| StoreError::NotWritten { path: path.to_owned(), source: error.into() })
    }
}
