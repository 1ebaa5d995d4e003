//! The errors that the store reports. The severity of each error says whether anything was changed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::retention::PolicyError;

/// The result type of most functions in this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A failure in the store, or in replacing a session file. The tools find the hint for a failure by
/// the name of its variant.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
pub enum StoreError {
    /// A system call failed; nothing was changed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The verb that follows "cannot" in the message, such as "read" or "create".
        action: &'static str,
        /// The path on which the system call failed.
        path: PathBuf,
        /// The error reported by the operating system.
        source: io::Error,
    },
    /// An atomic write failed before the file was renamed to its final name.
    #[error("cannot write {}: {source}; nothing was changed", path.display())]
    NotWritten {
        /// The file that was not written.
        path: PathBuf,
        /// The error reported by the operating system.
        source: io::Error,
    },
    /// A file has been given its new content, but a power cut may undo the change.
    #[error("{} is written, but may not survive a power cut: {source}", path.display())]
    NotDurable {
        /// The file that was written.
        path: PathBuf,
        /// The error reported by the operating system.
        source: io::Error,
    },
    /// Other users can write to the store, or another user owns it.
    #[error("{} is not safe: {why}", path.display())]
    Insecure {
        /// The unsafe directory or file in the store.
        path: PathBuf,
        /// Why the path is not safe.
        why: &'static str,
    },
    /// The directory is not a store, and it contains other files.
    #[error("{} is not a store: it contains other files, but no FORMAT file", .0.display())]
    NotAStore(PathBuf),
    /// The text is not a valid session id.
    #[error(
        "{0:?} is not a session id: use 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit"
    )]
    BadSession(String),
    /// No snapshot has the requested name.
    #[error("{0}")]
    NoSnapshot(Box<MissingSnapshot>),
    /// The store contains neither snapshots nor offloaded files for this session.
    #[error("no session {session:?} in the store")]
    NoSession {
        /// The requested session id.
        session: String,
        /// Similar session ids that are in the store.
        near: Vec<String>,
        /// Whether the trash contains items from this session.
        in_trash: bool,
    },
    /// The store has no snapshot of this file, and the file does not begin with any other
    /// snapshot's content.
    #[error("no snapshot was taken of {}, and no snapshot matches its beginning", .0.display())]
    NoSnapshotOf(PathBuf),
    /// The file seems to have been moved, so only its content can identify its session, but several
    /// sessions match.
    #[error("the beginning of {} matches several sessions: {}", path.display(), sessions.join(", "))]
    SeveralSessions {
        /// The moved file.
        path: PathBuf,
        /// The sessions whose content matches the beginning of the file.
        sessions: Vec<String>,
    },
    /// Nothing in the trash has the requested name.
    #[error("nothing in the trash matches {0:?}")]
    NotInTrash(String),
    /// There is nothing to undo, because no tool has replaced the file, or every snapshot contains
    /// the file's current content.
    #[error("nothing to undo: no tool has replaced the file, or it already has its old content")]
    NothingToUndo,
    /// The snapshot to restore is damaged, or it cannot be determined because another snapshot is
    /// damaged.
    #[error("snapshot {id} is damaged, so nothing was undone: {why}")]
    UndoDamaged {
        /// The id of the damaged snapshot.
        id: String,
        /// What is wrong with the snapshot.
        why: String,
    },
    /// The requested name matches several items.
    #[error("{wanted:?} is ambiguous: {}", matches.join(", "))]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// The first few matches, and how many more there are.
        matches: Vec<String>,
    },
    /// The retention policy is not valid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A snapshot's bytes or meta.json have changed since the snapshot was committed.
    #[error("snapshot {id} is damaged: {why}")]
    Damaged {
        /// The id of the damaged snapshot.
        id: String,
        /// What is wrong with the snapshot.
        why: String,
    },
    /// A snapshot's commit record could not be read, but the snapshot may be intact.
    #[error("snapshot {id} could not be read: {why}")]
    Unread {
        /// The id of the snapshot.
        id: String,
        /// The error reported by the operating system, with the path.
        why: String,
    },
    /// It is not known which of a session's offloaded files are still in use, because not every
    /// transcript could be searched.
    #[error("cannot read every transcript that may refer to offloaded files: {0}")]
    Unsearchable(String),
    /// The store's path is not UTF-8, so a session cannot refer to files in the store.
    #[error("{}: the path is not UTF-8, so no transcript can refer to files in it", .0.display())]
    NotUtf8(PathBuf),
    /// The file was not replaced, because its content could not be saved in a snapshot.
    #[error("{} was not changed, because its content could not be saved: {source}", path.display())]
    NotSaved {
        /// The session file.
        path: PathBuf,
        /// Why the content could not be saved.
        source: Box<StoreError>,
    },
    /// The snapshot must not be removed, because the user put it on hold.
    #[error("snapshot {0} is held")]
    Held(String),
    /// The tools refuse to read or replace the file at this path.
    #[error("{} {why}", path.display())]
    Refused {
        /// The path that was refused.
        path: PathBuf,
        /// The words that follow the path in the message, such as "is a FIFO".
        why: &'static str,
    },
    /// The path is inside a store, which contains the tools' own files and no sessions.
    #[error("{} is in the store {}", path.display(), root.display())]
    InStore {
        /// The path inside the store.
        path: PathBuf,
        /// The directory of the store.
        root: PathBuf,
    },
    /// The snapshot was taken from another file.
    #[error("{id} is a snapshot of {taken_of}{}", if *is_gone { ", which is gone" } else { "" })]
    OtherFile {
        /// The file that the user wants to restore.
        path: PathBuf,
        /// The id of the snapshot.
        id: String,
        /// The session file that was saved in the snapshot.
        taken_of: String,
        /// Whether the saved file no longer exists, in which case `path` may be the same session
        /// under a new name.
        is_gone: bool,
    },
    /// Nothing was removed, because the clock seems to have jumped ahead.
    #[error("the clock says {}; nothing was removed", clock_jumped(*now, *seen, *to))]
    ClockJumped {
        /// The current time according to the clock.
        now: DateTime<Utc>,
        /// The last time recorded in the store before the jump.
        seen: DateTime<Utc>,
        /// The first time recorded in the store after the jump, or `now` if nothing has been
        /// recorded since.
        to: DateTime<Utc>,
    },
    /// Another process is using the store, the session or its file.
    #[error("{0}")]
    Busy(String),
    /// Another process changed the file, so the file was not replaced.
    #[error("{} was changed in the meantime; nothing was replaced", .0.display())]
    Changed(PathBuf),
    /// The file changed so recently that an agent may be using it. A running agent keeps its
    /// history in memory.
    #[error("{} changed {}; a running agent would not notice a change by this tool", path.display(), since(*ago))]
    NotIdle {
        /// The session file.
        path: PathBuf,
        /// How long ago the file was last changed.
        ago: Duration,
        /// How long the file must have been idle.
        min_idle: Duration,
    },
    /// The operation is done, but a power cut may undo it, or its audit record is missing.
    #[error("{what} is done, but {source}")]
    Uncertain {
        /// What was done, as worded in the message: `snapshot ID`, `the replacement of PATH`.
        what: String,
        /// The failure that occurred after the change.
        source: Box<StoreError>,
    },
}

/// What an error means for the caller. The severity determines the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The operation failed, and nothing was changed.
    Failed,
    /// The operation failed without changing anything, and another attempt may succeed.
    Busy,
    /// The operation is done, but it may not survive a power cut, or its audit record may be
    /// missing.
    Uncertain,
}

/// Puts the time since a change into words: `5 s ago`.
fn since(ago: Duration) -> String {
    match ago.as_secs() {
        0 => "just now".to_owned(),
        seconds @ 1..120 => format!("{seconds} s ago"),
        seconds => format!("{} min ago", seconds / 60),
    }
}

/// The maximum number of matches to list in the message about an ambiguous name.
const SHOWN_MATCHES: usize = 5;

impl StoreError {
    /// Returns the error for a name that matches several items.
    pub(crate) fn ambiguous<T: ToString>(wanted: &str, found: impl IntoIterator<Item = T>) -> Self {
        let mut matches: Vec<String> = found.into_iter().map(|item| item.to_string()).collect();
        let more = matches.len().saturating_sub(SHOWN_MATCHES);
        if more > 0 {
            matches.truncate(SHOWN_MATCHES);
            matches.push(format!("and {more} more"));
        }
        Self::Ambiguous { wanted: wanted.to_owned(), matches }
    }

    /// Returns the error for a file that is refused. `why` is the part of the message that follows
    /// the path.
    pub(crate) fn refused(path: &Path, why: &'static str) -> Self {
        Self::Refused { path: path.to_owned(), why }
    }

    /// Returns the severity of this error.
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

    /// Whether the error was caused by a full disk.
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

    /// Wraps an error that occurred after `what` had been done.
    #[must_use]
    pub fn after(self, what: impl Into<String>) -> Self {
        let source = match self {
            Self::Uncertain { source, .. } => source,
            other => Box::new(other),
        };
        Self::Uncertain { what: what.into(), source }
    }

    /// Turns the error for a damaged or unreadable snapshot into the error that an undo reports,
    /// because an undo never falls back to an older snapshot.
    pub(crate) fn in_undo(self) -> Self {
        match self {
            Self::Damaged { id, why } | Self::Unread { id, why } => Self::UndoDamaged { id, why },
            other => other,
        }
    }

    /// Turns the error "is done, but …" into a plain failure. Intended for files that have no
    /// effect until a later step has succeeded.
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
        return format!("{now}, {days} days after the last time recorded in the store");
    }
    let (now, seen, to) = (shown(now), shown(seen), shown(to));
    format!("{now}, but nothing was recorded in the store in the {days} days from {seen} to {to}")
}

/// The error for a requested snapshot that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{}", reason.message(wanted))]
pub struct MissingSnapshot {
    /// The requested name.
    pub wanted: String,
    /// Why no snapshot has the requested name.
    pub reason: MissingReason,
    /// The ids of the snapshots with the nearest numbers.
    pub near: Vec<String>,
}

/// Why no snapshot has the requested name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// There is no such snapshot.
    Unknown,
    /// The requested name consists of digits and looks like a date. The text is that date in the
    /// accepted form, `2026-11-21`.
    DayInDigits(String),
    /// The requested name consists of digits and may be a hash without letters.
    HashInDigits,
    /// The snapshot belongs to another session or another file. The text is the id of that
    /// snapshot.
    Elsewhere(String),
    /// The snapshot is in the trash. The text is the id of that snapshot.
    InTrash(String),
    /// No snapshot was taken on that day. The ids are those of the nearest snapshots before and
    /// after that day.
    NotThatDay(Vec<String>),
    /// Every snapshot is newer than the requested time. The text is the id of the oldest snapshot,
    /// or `None` if there are no snapshots.
    NoneBefore(Option<String>),
}

impl MissingReason {
    fn message(&self, wanted: &str) -> String {
        match self {
            Self::Unknown => format!("no snapshot {wanted:?}"),
            Self::DayInDigits(_) | Self::HashInDigits => {
                format!("{wanted} is not a snapshot number")
            }
            Self::Elsewhere(id) if id == wanted => format!("{id} belongs to another session"),
            Self::Elsewhere(id) => format!("{wanted} is {id}, which belongs to another session"),
            Self::InTrash(id) => format!("{id} is in the trash"),
            Self::NotThatDay(_) => format!("no snapshot was taken on {wanted}"),
            Self::NoneBefore(_) => format!("no snapshot is older than {wanted}"),
        }
    }
}

/// Adds the path and the action to the error from a failed system call.
pub(crate) trait OrCannot<T> {
    /// `action` is the verb in the message, such as "read" or "create".
    fn or_cannot(self, action: &'static str, path: &Path) -> Result<T>;

    /// Turns the error from an atomic write into [`StoreError::NotWritten`], because nothing was
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
