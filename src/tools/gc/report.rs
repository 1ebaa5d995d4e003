//! What `ctx-gc` did, or would do: a line for people, or a JSON object.

use std::fmt;

use ctx_cli::{Failure, Io};
use ctx_store::{Offloaded, Removed, SnapshotId};
use serde::Serialize;

use super::GcArgs;

/// What happens to a snapshot or an offloaded file.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    Keep,
    /// Into the trash.
    Remove,
    /// Out of the trash, for good.
    Purge,
    /// For good, without the trash.
    Delete,
}

/// What it happens to.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    Snapshot(&'a SnapshotId),
    Offloaded(&'a Offloaded),
}

#[derive(Serialize)]
struct Line {
    id: String,
    keep: bool,
    reasons: Vec<String>,
    kind: &'static str,
    action: Action,
}

/// Says what is done with one thing, and why.
pub(super) fn say(
    action: Action,
    subject: Subject<'_>,
    reasons: &[String],
    args: &GcArgs,
    io: &mut Io,
) -> Result<(), Failure> {
    let line = if args.json {
        let keep = action == Action::Keep;
        let line = Line {
            id: subject.to_string(),
            keep,
            reasons: if keep { reasons.to_vec() } else { Vec::new() },
            kind: subject.kind(),
            action,
        };
        serde_json::to_string(&line).map_err(Failure::new)?
    } else {
        let verb = action.verb(args.dry_run);
        let colon = if reasons.is_empty() { "" } else { ": " };
        format!("{verb} {subject}{colon}{}", reasons.join(", "))
    };
    io.write(line.as_bytes())?;
    io.write(b"\n")
}

/// Says of all that is gone what was done with it.
pub(super) fn say_removed(
    action: Action,
    removed: &Removed,
    args: &GcArgs,
    io: &mut Io,
) -> Result<(), Failure> {
    for id in &removed.snapshots {
        say(action, Subject::Snapshot(id), &[], args, io)?;
    }
    for file in &removed.offloaded {
        say(action, Subject::Offloaded(file), &[], args, io)?;
    }
    Ok(())
}

impl Action {
    fn verb(self, dry_run: bool) -> &'static str {
        match (self, dry_run) {
            (Self::Keep, _) => "keep",
            (Self::Remove, true) => "would remove",
            (Self::Remove, false) => "removed",
            (Self::Purge, true) => "would purge",
            (Self::Purge, false) => "purged",
            (Self::Delete, true) => "would delete",
            (Self::Delete, false) => "deleted",
        }
    }
}

impl Subject<'_> {
    fn kind(self) -> &'static str {
        match self {
            Self::Snapshot(_) => "snapshot",
            Self::Offloaded(_) => "offloaded",
        }
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => id.fmt(f),
            Self::Offloaded(file) => file.fmt(f),
        }
    }
}
