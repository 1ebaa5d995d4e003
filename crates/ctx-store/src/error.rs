//! The errors of the store, and whether something had been changed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::retention::PolicyError;

/// What most functions here return.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A failure of the store or of the replacement of a session file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A call of the system failed; nothing was changed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The verb: "read", "create".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that is written whole or not at all was not written.
    #[error("cannot write {}: {source}; nothing was changed", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file has its new content, but a power cut may undo that.
    #[error("{} is written, but may not survive a power cut: {source}", path.display())]
    NotDurable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Others can write to the store, or another user owns it.
    #[error("{} is not safe: {why}", path.display())]
    Insecure {
        /// The store's directory or file.
        path: PathBuf,
        /// Why it is not safe.
        why: &'static str,
    },
    /// The directory has other things in it.
    #[error("{} is not a store: it has other files and no FORMAT", .0.display())]
    NotAStore(PathBuf),
    /// An id of a session that is not allowed.
    #[error(
        "{0:?} is no session id: expected 1 to 128 of A-Z a-z 0-9 . _ - after a letter or digit"
    )]
    BadSession(String),
    /// No snapshot has this name.
    #[error("{0}")]
    NoSnapshot(Box<MissingSnapshot>),
    /// The store knows nothing of a session.
    #[error("no session {session:?} in the store")]
    NoSession {
        /// The session that was asked for.
        session: String,
        /// Sessions with names that are near.
        near: Vec<String>,
        /// Whether there is something of it in the trash.
        in_trash: bool,
    },
    /// No snapshot was taken of a file, and none has its content.
    #[error("no snapshot was taken of {}, and no snapshot matches its beginning", .0.display())]
    NoSnapshotOf(PathBuf),
    /// Only the content of a moved file shows its session, and several fit.
    #[error("what is in {} begins as several sessions do: {}", path.display(), sessions.join(", "))]
    SeveralSessions {
        /// The file.
        path: PathBuf,
        /// The sessions.
        sessions: Vec<String>,
    },
    /// The trash has nothing with this name.
    #[error("no snapshot {0:?} in the trash")]
    NotInTrash(String),
    /// No snapshot was taken before a replacement, or only of what the file holds now.
    #[error("nothing to undo: what is there was never replaced")]
    NothingToUndo,
    /// The last replaced content is damaged, or the damage hides which one it was.
    #[error("nothing is undone: snapshot {id} is damaged: {why}")]
    UndoDamaged {
        /// The id of that snapshot.
        id: String,
        /// The problem.
        why: String,
    },
    /// Several things have this name.
    #[error("{wanted:?} is ambiguous: {}", matches.join(", "))]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// The first of them.
        matches: Vec<String>,
    },
    /// The rules of retention.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Bytes or meta.json of a snapshot are not what was committed.
    #[error("snapshot {id} is damaged: {why}")]
    Damaged {
        /// Its id.
        id: String,
        /// The problem.
        why: String,
    },
    /// The commit record of a snapshot could not be read; it may be whole.
    #[error("snapshot {id} could not be read: {why}")]
    Unread {
        /// Its id.
        id: String,
        /// The error of the system, and the path.
        why: String,
    },
    /// It is unknown whether a transcript names the offloaded files of a session.
    #[error("not every transcript that may name offloaded files can be looked into: {0}")]
    Unsearchable(String),
    /// The store's path cannot be written into a session.
    #[error("{}: a transcript cannot name a path that is not UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// Without a snapshot of what is there, nothing is replaced.
    #[error("{} is as it was, because what is in it could not be saved: {source}", path.display())]
    NotSaved {
        /// The session file.
        path: PathBuf,
        /// Why not.
        source: Box<StoreError>,
    },
    /// The snapshot may not be removed.
    #[error("snapshot {0} is held")]
    Held(String),
    /// A file that the tools do not touch, or do not trust.
    #[error("{} {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The problem: "is a FIFO".
        why: &'static str,
    },
    /// A path in a store. Its files belong to the tools and are not sessions.
    #[error("{} is in the store {}", path.display(), root.display())]
    InStore {
        /// The path.
        path: PathBuf,
        /// The directory of the store.
        root: PathBuf,
    },
    /// A snapshot of another file.
    #[error("{id} was taken of {taken_of}{}", if *is_gone { ", which is gone" } else { "" })]
    OtherFile {
        /// The file that should have been restored.
        path: PathBuf,
        /// Its id.
        id: String,
        /// The file that it was taken of.
        taken_of: String,
        /// Whether that one is gone, so that this one may be it, under another name.
        is_gone: bool,
    },
    /// The clock went far on at once, by all that the store has seen; nothing was removed.
    #[error("the clock says {}; nothing was removed", clock_jumped(*now, *seen, *to))]
    ClockJumped {
        /// The time of the clock.
        now: DateTime<Utc>,
        /// The last time that the store has seen before the jump.
        seen: DateTime<Utc>,
        /// The first time after the jump; `now` if there is none.
        to: DateTime<Utc>,
    },
    /// Another process uses the store, the session or its file.
    #[error("{0}")]
    Busy(String),
    /// The file changed in another way than by growing.
    #[error("{} changed meanwhile; nothing was replaced", .0.display())]
    Changed(PathBuf),
    /// An agent may be at work on the file, and keep its history in memory.
    #[error("{} changed {}; a running agent would not notice what is changed in it", path.display(), since(*ago))]
    NotIdle {
        /// The session file.
        path: PathBuf,
        /// How long ago it was changed.
        ago: Duration,
        /// How long ago that has to be.
        min_idle: Duration,
    },
    /// The operation is done, but a power cut may undo it, or the audit log lacks it.
    #[error("{what} is done, but {source}")]
    Uncertain {
        /// The completed change: an id or a path.
        what: String,
        /// The failure after that.
        source: Box<StoreError>,
    },
}

/// What an error means for the caller; each has its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing was changed.
    Failed,
    /// Nothing was changed, and another try may succeed.
    Busy,
    /// The operation is done; its durability or its audit record is uncertain.
    Uncertain,
}

/// How long ago something was, for people.
fn since(ago: Duration) -> String {
    match ago.as_secs() {
        0 => "just now".to_owned(),
        seconds @ 1..120 => format!("{seconds} s ago"),
        seconds => format!("{} min ago", seconds / 60),
    }
}

/// How many matches of an ambiguous id are named.
const SHOWN_MATCHES: usize = 5;

impl StoreError {
    /// Several things have the name that was asked for.
    pub(crate) fn ambiguous<T: ToString>(wanted: &str, found: impl IntoIterator<Item = T>) -> Self {
        let mut matches: Vec<String> = found.into_iter().map(|item| item.to_string()).collect();
        let more = matches.len().saturating_sub(SHOWN_MATCHES);
        if more > 0 {
            matches.truncate(SHOWN_MATCHES);
            matches.push(format!("and {more} more"));
        }
        Self::Ambiguous { wanted: wanted.to_owned(), matches }
    }

    /// The file at `path` is refused; `why` says what is wrong with it.
    pub(crate) fn refused(path: &Path, why: &'static str) -> Self {
        Self::Refused { path: path.to_owned(), why }
    }

    /// The severity of the error.
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

    /// Whether the disk is full.
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

    /// The same failure, after `what` was done.
    #[must_use]
    pub fn after(self, what: impl Into<String>) -> Self {
        let source = match self {
            Self::Uncertain { source, .. } => source,
            other => Box::new(other),
        };
        Self::Uncertain { what: what.into(), source }
    }

    /// The same failure while undoing a replacement: an undo never falls back to an older state.
    pub(crate) fn in_undo(self) -> Self {
        match self {
            Self::Damaged { id, why } | Self::Unread { id, why } => Self::UndoDamaged { id, why },
            other => other,
        }
    }

    /// The same failure, when nothing of what was written counts.
    pub(crate) fn before(self) -> Self {
        match self {
            Self::NotDurable { path, source } => Self::NotWritten { path, source },
            other => other,
        }
    }
}

fn clock_jumped(now: DateTime<Utc>, seen: DateTime<Utc>, to: DateTime<Utc>) -> String {
    let days = (to - seen).num_days();
    let told = |time: DateTime<Utc>| time.format("%Y-%m-%d %H:%M UTC");
    if to == now {
        let now = told(now);
        return format!("{now}, {days} days after the last time that the store has seen");
    }
    let (now, seen, to) = (told(now), told(seen), told(to));
    format!("{now}, but of the {days} days from {seen} to {to} the store has seen nothing")
}

/// A snapshot that was asked for and is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSnapshot {
    /// The requested name.
    pub wanted: String,
    /// Why nothing has that name.
    pub reason: MissingReason,
    /// Snapshots whose numbers are near.
    pub near: Vec<String>,
}

/// Why nothing has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// There is no such snapshot.
    Unknown,
    /// It is a whole day, written as a number.
    DayInDigits(String),
    /// It may be a hash without a letter.
    HashInDigits,
    /// It belongs to another session, or another file, than requested.
    Elsewhere(String),
    /// It is in the trash.
    InTrash(String),
    /// No snapshot was taken on that day; these are the nearest ones before and after it.
    NotThatDay(Vec<String>),
    /// No snapshot is as old; this is the oldest.
    NoneBefore(Option<String>),
}

impl fmt::Display for MissingSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = &self.wanted;
        match &self.reason {
            MissingReason::Unknown => write!(f, "no snapshot {wanted:?}"),
            MissingReason::DayInDigits(_) | MissingReason::HashInDigits => {
                write!(f, "{wanted} is no snapshot number")
            }
            MissingReason::Elsewhere(id) if id == wanted => write!(f, "{id} is of another session"),
            MissingReason::Elsewhere(id) => write!(f, "{wanted} is {id}, of another session"),
            MissingReason::InTrash(id) => write!(f, "{id} is in the trash"),
            MissingReason::NotThatDay(_) => write!(f, "no snapshot was taken on {wanted}"),
            MissingReason::NoneBefore(_) => write!(f, "no snapshot is as old as {wanted}"),
        }
    }
}

/// Names the file when a call of the system fails.
pub(crate) trait OrCannot<T> {
    /// `action` is the verb of the message: "read", "create".
    fn or_cannot(self, action: &'static str, path: &Path) -> Result<T>;

    /// For a file that is written whole or not at all, until it is in its place.
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
