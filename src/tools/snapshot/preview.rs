//! `-n`: what would be done.

use std::io;
use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Io, Outcome, inputs, is_stdin, json_line, printable};
use ctx_store::Store;
use serde::Serialize;

use super::Args;
use crate::store::{copy_out, failure, session_of};

/// What would become of a file, for programs.
#[derive(Serialize)]
struct Told<'a> {
    name: &'a str,
    session: &'a str,
    dry_run: bool,
    /// The snapshot that has these bytes already.
    snapshot: Option<String>,
    bytes: u64,
}

/// Tells of each file whether it would be saved; stdin goes on.
pub(super) fn save(args: &Args, store: &Store, io: &mut Io) -> Outcome {
    let mut statuses = Vec::new();
    for path in inputs(&args.files)? {
        if is_stdin(&path) {
            copy_out(&mut io::stdin().lock(), io)?;
            continue;
        }
        match of_file(args, store, &path) {
            Ok(text) => {
                io.write(text.as_bytes())?;
                statuses.push(ExitStatus::Done);
            }
            Err(failure) => {
                io.report(&failure);
                statuses.push(failure.exit_status());
            }
        }
    }
    Ok(ExitStatus::of_several(&statuses))
}

fn of_file(args: &Args, store: &Store, path: &Path) -> Result<String, Failure> {
    let session = session_of(args.session.as_ref(), path)?;
    let (bytes, saved) = store.would_save(path, &session).map_err(failure)?;
    let name = path.display().to_string();
    let snapshot = saved.map(|id| id.to_string());
    if args.json {
        return Ok(json_line(&Told {
            name: &name,
            session: session.as_str(),
            dry_run: true,
            snapshot,
            bytes,
        }));
    }
    let name = printable(&name);
    Ok(match snapshot {
        Some(id) => format!("{name} is saved already: {id}\n"),
        None => format!("would save {name} as a snapshot of {session}: {bytes} bytes\n"),
    })
}
