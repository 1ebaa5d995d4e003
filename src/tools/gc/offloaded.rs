//! Offloaded files that nothing names any longer.

use chrono::{DateTime, Utc};
use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_store::{SessionId, Store, Unnamed};

use super::run::{State, say};
use crate::store::failure;

/// Moves those that were not used since `deadline` into the trash, or shows them.
pub(super) fn clean(
    store: &Store,
    session: Option<&SessionId>,
    deadline: DateTime<Utc>,
    json: bool,
    mut removing: Option<&mut State>,
    io: &mut Io,
) -> Result<(), Failure> {
    let mut sessions = store.offload_sessions().map_err(failure)?;
    sessions.retain(|id| session.is_none_or(|session| session == id));
    for session in sessions {
        let files = match store.unnamed(&session, deadline) {
            Ok(Unnamed::Files(files)) => files,
            Ok(Unnamed::Unknown(why)) => {
                io.note(format_args!(
                    "the offloaded files of {session} stay: not every transcript that may name them can be looked into: {why}"
                ));
                continue;
            }
            Err(error) => {
                io.report(&failure(error));
                if let Some(state) = &mut removing {
                    state.partial = true;
                }
                continue;
            }
        };
        let Some(state) = &mut removing else {
            for file in files {
                say(&format!("would remove {file}: nothing names it"), json, io)?;
            }
            continue;
        };
        let mut removed = store.discard_offloaded(&files, deadline).map_err(failure)?;
        state.note(&mut removed, io);
        for file in &removed.offloaded {
            say(&format!("removed {file}: nothing names it"), json, io)?;
        }
    }
    Ok(())
}

/// `--undelete HASH`
pub(super) fn undelete(
    store: &Store,
    session: Option<&SessionId>,
    wanted: &str,
    dry_run: bool,
    io: &mut Io,
) -> Outcome {
    let file = store
        .find_deleted_offload(session, wanted)
        .map_err(failure)?;
    if dry_run {
        say(&format!("would bring back {file}"), false, io)?;
    } else {
        store.undelete_offload(&file).map_err(failure)?;
        say(&file.to_string(), false, io)?;
    }
    Ok(ExitStatus::Done)
}
