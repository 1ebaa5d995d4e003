//! `--undelete`: things come back from the trash.

use ctx_cli::{ExitStatus, Io, Outcome};
use ctx_store::{Store, StoreError, UndeleteReport};

use super::Args;
use crate::store::failure;

/// What is not there does not hinder what is.
pub(super) fn undelete(args: &Args, store: &Store, io: &mut Io) -> Outcome {
    let session = args.session.as_ref();
    let (mut items, mut missing) = (Vec::new(), Vec::new());
    for wanted in &args.undelete {
        match store.find_all_deleted(session, wanted) {
            Ok(found) => items.extend(found),
            Err(error) => missing.push(error),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    items.retain(|item| seen.insert(item.clone()));
    let UndeleteReport { back, failed } = if args.dry_run {
        UndeleteReport {
            back: items,
            failed: Vec::new(),
        }
    } else {
        store.undelete_all(&items)
    };
    if !args.dry_run {
        match &back[..] {
            [] => {}
            [item] => io.committed(format_args!("{item} is back")),
            items => io.committed(format_args!("{} things are back", items.len())),
        }
    }
    if !Args::is_silent(io) {
        let would = if args.dry_run {
            "would bring back "
        } else {
            ""
        };
        for item in &back {
            io.write(format!("{would}{item}\n").as_bytes())?;
        }
    }
    ended(back.is_empty(), missing.into_iter().chain(failed), io)
}

/// Where nothing is back, the last failure is that of the run.
fn ended(is_none: bool, failed: impl Iterator<Item = StoreError>, io: &mut Io) -> Outcome {
    let mut failed: Vec<StoreError> = failed.collect();
    let last = failed.pop();
    for error in failed {
        io.report(&failure(error));
    }
    match last {
        None => Ok(ExitStatus::Done),
        Some(error) if is_none => Err(failure(error)),
        Some(error) => {
            io.report(&failure(error));
            Ok(ExitStatus::Partial)
        }
    }
}
