//! Offloaded files that nothing names any longer.

use chrono::{DateTime, Utc};
use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_store::{SessionId, Store, Unnamed};

use super::GcArgs;
use super::report::{Action, Subject, say};
use super::run::State;
use crate::store::failure;

/// Moves those that were not used since `deadline` into the trash, or shows them.
pub(super) fn clean(
    store: &Store,
    deadline: DateTime<Utc>,
    args: &GcArgs,
    mut removing: Option<&mut State>,
    io: &mut Io,
) -> Result<(), Failure> {
    let mut sessions = store.offload_sessions().map_err(failure)?;
    sessions.retain(|id| args.session.as_ref().is_none_or(|session| session == id));
    let why = ["nothing names it".to_owned()];
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
                say(Action::Remove, Subject::Offloaded(&file), &why, args, io)?;
            }
            continue;
        };
        let mut removed = store.discard_offloaded(&files, deadline).map_err(failure)?;
        state.note(&mut removed, io);
        for file in &removed.offloaded {
            say(Action::Remove, Subject::Offloaded(file), &why, args, io)?;
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
        io.write(format!("would bring back {file}\n").as_bytes())?;
    } else {
        store.undelete_offload(&file).map_err(failure)?;
        io.write(format!("{file}\n").as_bytes())?;
    }
    Ok(ExitStatus::Done)
}
