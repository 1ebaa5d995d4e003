//! What `ctx-gc` does in each of its modes.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_store::retention::{Candidate, Protection, Reason, Verdict, decide};
use ctx_store::{Catalog, Entry, Removed, SessionId, SessionLock, SnapshotId, Store, StoreError};

use super::report::{Action, Subject, say, say_removed};
use super::{GcArgs, offloaded};
use crate::store::failure;

const NO_RULE: &str = "no rule keeps it";

/// Retention, the end of the grace, and the files that rollbacks left.
pub(super) fn gc(store: &Store, args: &GcArgs, io: &mut Io) -> Outcome {
    let session = args.session.as_ref();
    let deadline = store.now() - TimeDelta::days(i64::from(args.grace_days));
    let mut state = State::default();
    // First what makes room.
    if args.dry_run {
        show_expired(store, Some(deadline), args, io)?;
    } else {
        let mut purged = store.purge(Some(deadline)).map_err(failure)?;
        state.note(&mut purged, io);
        say_removed(Action::Purge, &purged, args, io)?;
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
        show_plan(&catalog, &verdicts, args, io)?;
        None
    } else {
        apply(store, &catalog, &verdicts, args, &mut state, io)?;
        Some(&mut state)
    };
    offloaded::clean(store, deadline, args, removing, io)?;
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
    args: &GcArgs,
    state: &mut State,
    io: &mut Io,
) -> Result<(), Failure> {
    let mut locks: BTreeMap<&SessionId, Option<SessionLock>> = BTreeMap::new();
    let mut doomed = Vec::new();
    for (entry, verdict) in catalog.entries.iter().zip(verdicts) {
        if verdict.keeps() {
            io.note(format_args!(
                "keep {}: {}",
                entry.id,
                reasons(verdict).join(", ")
            ));
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
        let why = [NO_RULE.to_owned()];
        say(Action::Remove, Subject::Snapshot(id), &why, args, io)?;
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
    args: &GcArgs,
    io: &mut Io,
) -> Result<(), Failure> {
    for (entry, verdict) in catalog.entries.iter().zip(verdicts) {
        let (action, why) = if verdict.keeps() {
            (Action::Keep, reasons(verdict))
        } else {
            (Action::Remove, vec![NO_RULE.to_owned()])
        };
        say(action, Subject::Snapshot(&entry.id), &why, args, io)?;
    }
    for id in &catalog.uncommitted {
        let why = ["never committed".to_owned()];
        say(Action::Remove, Subject::Snapshot(id), &why, args, io)?;
    }
    Ok(())
}

fn reasons(verdict: &Verdict) -> Vec<String> {
    verdict.reasons.iter().map(Reason::to_string).collect()
}

/// `--purge`
pub(super) fn purge(store: &Store, args: &GcArgs, io: &mut Io) -> Outcome {
    if args.dry_run {
        show_expired(store, None, args, io)?;
        return Ok(ExitStatus::Done);
    }
    let purged = store.purge(None).map_err(failure)?;
    end(Action::Purge, purged, args, io)
}

/// `--forget -s ID`
pub(super) fn forget(store: &Store, session: &SessionId, args: &GcArgs, io: &mut Io) -> Outcome {
    if args.dry_run {
        let catalog = store.catalog(Some(session)).map_err(failure)?;
        for entry in &catalog.entries {
            say(Action::Delete, Subject::Snapshot(&entry.id), &[], args, io)?;
        }
        for file in store.offloaded_files(session).map_err(failure)? {
            say(Action::Delete, Subject::Offloaded(&file), &[], args, io)?;
        }
        return Ok(ExitStatus::Done);
    }
    let forgotten = store.forget(session).map_err(failure)?;
    end(Action::Delete, forgotten, args, io)
}

fn end(action: Action, mut removed: Removed, args: &GcArgs, io: &mut Io) -> Outcome {
    let mut state = State::default();
    state.note(&mut removed, io);
    say_removed(action, &removed, args, io)?;
    Ok(state.end(io))
}

/// What is in the trash, and due.
fn show_expired(
    store: &Store,
    deadline: Option<DateTime<Utc>>,
    args: &GcArgs,
    io: &mut Io,
) -> Result<(), Failure> {
    for id in store.expired(deadline).map_err(failure)? {
        say(Action::Purge, Subject::Snapshot(&id), &[], args, io)?;
    }
    for file in store.expired_offloads(deadline).map_err(failure)? {
        say(Action::Purge, Subject::Offloaded(&file), &[], args, io)?;
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
        io.write(format!("would bring back {id}\n").as_bytes())?;
        return Ok(ExitStatus::Done);
    }
    let id = store.undelete(session, wanted).map_err(failure)?;
    io.write(format!("{id}\n").as_bytes())?;
    Ok(ExitStatus::Done)
}
