//! A session file in place.

use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Io};
use ctx_passes::compact::{Plan, Report, SessionFile, Stores};
use ctx_store::Store;

use super::Args;
use crate::cache::last_change;
use crate::passes;
use crate::store::{failure, session_of, warn_edits, warn_retained};

/// Hands the file to what compacts it.
pub(super) fn session_file<T>(
    args: &Args,
    plan: &Plan,
    path: &Path,
    store: &Store,
    compact: impl FnOnce(SessionFile<'_>) -> T,
) -> Result<T, Failure> {
    let session = session_of(args.session.as_ref(), path)?;
    Ok(compact(SessionFile {
        plan,
        stores: Stores {
            store,
            session: &session,
            path,
        },
        dialect: args.read.dialect(),
        invalid: args.read.invalid,
        last_change: last_change(path),
        min_idle: args.output.idle.get(),
    }))
}

/// Compacts it, or tells what would be done.
pub(super) fn run(
    args: &Args,
    plan: &Plan,
    path: &Path,
    store: &Store,
    io: &mut Io,
) -> Result<Report, Failure> {
    let name = path.display().to_string();
    let report = session_file(args, plan, path, store, |file| {
        passes::telling(&name, io, |notes| file.run(notes))
    })?;
    let mut report = report.map_err(|error| passes::failure(error, &name))?;
    if let Some(retained) = &report.retained {
        warn_retained(retained, io);
    }
    warn_edits(&report.edits, io);
    if let Some(error) = report.late_error.take() {
        return Err(failure(error).status(ExitStatus::Uncertain));
    }
    for error in &report.not_deleted {
        io.warn(format_args!("{name}: not deleted: {error}"));
    }
    Ok(report)
}
