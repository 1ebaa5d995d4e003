//! What `ctx-gc` does in each of its modes.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_store::retention::{Candidate, Protection, Reason, Verdict, decide};
use ctx_store::{Catalog, Entry, Removed, SessionId, SessionLock, SnapshotId, Store, StoreError};
use serde::Serialize;

use super::{GcArgs, offloaded};
use crate::store::failure;

/// Retention, the end of the grace, and the files that rollbacks left.
pub(super) fn gc(store: &Store, args: &GcArgs, io: &mut Io) -> Outcome {
    let session = args.session.as_ref();
    let deadline = store.now() - TimeDelta::days(i64::from(args.grace_days));
    let mut state = State::default();
    // First what makes room.
    if args.dry_run {
        show_expired(store, Some(deadline), args.json, io)?;
    } else {
        let mut purged = store.purge(Some(deadline)).map_err(failure)?;
        state.note(&mut purged, io);
        show_removed(&purged, "purged", args.json, io)?;
        sweep(store, session, &mut state, io);
    }
    let catalog = store.catalog(session).map_err(failure)?;
    let candidates: Vec<Candidate> = catalog
        .entries
        .iter()
        .map(|entry| candidate(entry, &state.busy))
        .collect();
    let verdicts = decide(&candidates, &args.policy(), store.now()).map_err(Failure::new)?;
    let removing = if args.dry_run {
        show_plan(&catalog, &verdicts, args.json, io)?;
        None
    } else {
        apply(store, &catalog, &verdicts, args.json, &mut state, io)?;
        Some(&mut state)
    };
    offloaded::clean(store, session, deadline, args.json, removing, io)?;
    Ok(state.end(io))
}

/// What went wrong without stopping us.
#[derive(Default)]
pub(super) struct State {
    /// Snapshots whose replaced files are still open.
    busy: Vec<SnapshotId>,
    unaudited: bool,
    pub(super) partial: bool,
}

impl State {
    pub(super) fn note(&mut self, removed: &mut Removed, io: &mut Io) {
        self.unaudited |= removed.unaudited;
        for error in removed.failed.drain(..) {
            io.report(&failure(error));
            self.partial = true;
        }
    }

    fn end(&self, io: &mut Io) -> ExitStatus {
        if self.unaudited {
            io.warn("the audit log was not written: the disk is full");
            ExitStatus::Uncertain
        } else if self.partial {
            ExitStatus::Partial
        } else {
            ExitStatus::Done
        }
    }
}

fn sweep(store: &Store, session: Option<&SessionId>, state: &mut State, io: &mut Io) {
    match store.sweep_retained(session) {
        Ok(swept) => {
            for id in &swept.late {
                io.warn(format_args!(
                    "another process wrote to a file after it had been replaced; saved as {id}"
                ));
            }
            for (id, path) in swept.busy {
                io.note(format_args!("{} is still in use", path.display()));
                state.busy.push(id);
            }
        }
        Err(error) => {
            io.report(&failure(error));
            state.partial = true;
        }
    }
}

fn candidate(entry: &Entry, busy: &[SnapshotId]) -> Candidate {
    let protected = match &entry.meta {
        Err(_) => Some(Protection::Unreadable),
        Ok(meta) if meta.held => Some(Protection::Held),
        Ok(_) => busy.contains(&entry.id).then_some(Protection::InUse),
    };
    Candidate {
        session: entry.id.session.to_string(),
        sequence: entry.id.stamp.sequence,
        taken: entry.id.stamp.time,
        protected,
    }
}

fn apply(
    store: &Store,
    catalog: &Catalog,
    verdicts: &[Verdict],
    json: bool,
    state: &mut State,
    io: &mut Io,
) -> Result<(), Failure> {
    let mut locks: BTreeMap<&SessionId, Option<SessionLock>> = BTreeMap::new();
    let mut doomed = Vec::new();
    for (entry, verdict) in catalog.entries.iter().zip(verdicts) {
        if verdict.keeps() {
            io.note(format_args!("keep {}: {}", entry.id, reasons(verdict)));
            continue;
        }
        // Somebody rolls this session back at the moment: its turn comes next time.
        let session = &entry.id.session;
        if !locks.contains_key(session) {
            locks.insert(session, lock(store, session)?);
        }
        if locks[session].is_some() {
            doomed.push(entry.id.clone());
        } else {
            io.note(format_args!("skip {}: its session is in use", entry.id));
        }
    }
    let mut removed = store
        .discard(&doomed, &catalog.uncommitted)
        .map_err(failure)?;
    state.note(&mut removed, io);
    for id in &removed.snapshots {
        show(id, &Verdict::default(), "removed", json, io)?;
    }
    Ok(())
}

/// `None` while something else has the lock.
fn lock(store: &Store, session: &SessionId) -> Result<Option<SessionLock>, Failure> {
    match store.lock_session(session) {
        Err(StoreError::Busy(_)) => Ok(None),
        other => other.map(Some).map_err(failure),
    }
}

fn show_plan(
    catalog: &Catalog,
    verdicts: &[Verdict],
    json: bool,
    io: &mut Io,
) -> Result<(), Failure> {
    for (entry, verdict) in catalog.entries.iter().zip(verdicts) {
        show(&entry.id, verdict, "would remove", json, io)?;
    }
    for id in &catalog.uncommitted {
        say(&format!("would remove {id}: never committed"), json, io)?;
    }
    Ok(())
}

fn show(
    id: &SnapshotId,
    verdict: &Verdict,
    verb: &str,
    json: bool,
    io: &mut Io,
) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Line {
        id: String,
        keep: bool,
        reasons: Vec<String>,
    }
    let line = if json {
        let line = Line {
            id: id.to_string(),
            keep: verdict.keeps(),
            reasons: verdict.reasons.iter().map(Reason::to_string).collect(),
        };
        serde_json::to_string(&line).map_err(Failure::new)?
    } else if verdict.keeps() {
        format!("keep {id}: {}", reasons(verdict))
    } else {
        format!("{verb} {id}: no rule keeps it")
    };
    say(&line, false, io)
}

fn reasons(verdict: &Verdict) -> String {
    let words: Vec<String> = verdict.reasons.iter().map(Reason::to_string).collect();
    words.join(", ")
}

/// A line for people; under `--json` it goes to the notes.
pub(super) fn say(line: &str, json: bool, io: &mut Io) -> Result<(), Failure> {
    if json {
        io.note(line);
        return Ok(());
    }
    io.write(line.as_bytes())?;
    io.write(b"\n")
}

/// `--purge`
pub(super) fn purge(store: &Store, dry_run: bool, io: &mut Io) -> Outcome {
    if dry_run {
        show_expired(store, None, false, io)?;
        return Ok(ExitStatus::Done);
    }
    report(store.purge(None).map_err(failure)?, "purged", io)
}

/// `--forget -s ID`
pub(super) fn forget(store: &Store, session: &SessionId, dry_run: bool, io: &mut Io) -> Outcome {
    if dry_run {
        let catalog = store.catalog(Some(session)).map_err(failure)?;
        for entry in &catalog.entries {
            say(&format!("would delete {}", entry.id), false, io)?;
        }
        for file in store.offloaded_files(session).map_err(failure)? {
            say(&format!("would delete {file}"), false, io)?;
        }
        return Ok(ExitStatus::Done);
    }
    report(store.forget(session).map_err(failure)?, "deleted", io)
}

fn report(mut removed: Removed, verb: &str, io: &mut Io) -> Outcome {
    let mut state = State::default();
    state.note(&mut removed, io);
    show_removed(&removed, verb, false, io)?;
    Ok(state.end(io))
}

fn show_removed(removed: &Removed, verb: &str, json: bool, io: &mut Io) -> Result<(), Failure> {
    for id in &removed.snapshots {
        say(&format!("{verb} {id}"), json, io)?;
    }
    for file in &removed.offloaded {
        say(&format!("{verb} {file}"), json, io)?;
    }
    Ok(())
}

/// What is in the trash, and due.
fn show_expired(
    store: &Store,
    deadline: Option<DateTime<Utc>>,
    json: bool,
    io: &mut Io,
) -> Result<(), Failure> {
    for id in store.expired(deadline).map_err(failure)? {
        say(&format!("would purge {id}"), json, io)?;
    }
    for file in store.expired_offloads(deadline).map_err(failure)? {
        say(&format!("would purge {file}"), json, io)?;
    }
    Ok(())
}

/// `--undelete ID`
pub(super) fn undelete(
    store: &Store,
    session: Option<&SessionId>,
    wanted: &str,
    dry_run: bool,
    io: &mut Io,
) -> Outcome {
    let id = match store.find_deleted(session, wanted) {
        Err(StoreError::NotInTrash(_)) => {
            return offloaded::undelete(store, session, wanted, dry_run, io);
        }
        other => other.map_err(failure)?,
    };
    if dry_run {
        say(&format!("would bring back {id}"), false, io)?;
        return Ok(ExitStatus::Done);
    }
    let id = store.undelete(session, wanted).map_err(failure)?;
    say(&id.to_string(), false, io)?;
    Ok(ExitStatus::Done)
}
