//! What was saved: listed, written out, checked.

use std::fs::File;
use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_store::{Catalog, Entry, Meta, SessionId, Store, StoreError};

use crate::output::json_line;
use crate::store::{copy_out, failure};

/// `--list`
pub(super) fn list(store: &Store, session: Option<&SessionId>, json: bool, io: &mut Io) -> Outcome {
    let catalog = store.catalog(session).map_err(failure)?;
    for entry in &catalog.entries {
        match &entry.meta {
            Ok(meta) if json => {
                io.write(json_line(meta).as_bytes())?;
            }
            Ok(meta) => io.write(line(meta).as_bytes())?,
            Err(why) => io.warn(format_args!("{} is damaged: {why}", entry.id)),
        }
    }
    warn_uncommitted(&catalog, io);
    Ok(ExitStatus::Done)
}

/// One line, in columns that need no header: id, messages, lines, bytes, kind.
fn line(meta: &Meta) -> String {
    let held = if meta.held { " held" } else { "" };
    let tokens = meta.tokens.as_ref();
    let tokens = tokens.map_or_else(String::new, |tokens| format!("  {} tokens", tokens.count));
    format!(
        "{}  {} messages{tokens}  {} lines  {} bytes  {}{held}\n",
        meta.id,
        meta.tally.messages,
        meta.lines,
        meta.bytes,
        meta.kind.as_str()
    )
}

fn warn_uncommitted(catalog: &Catalog, io: &mut Io) {
    for id in &catalog.uncommitted {
        io.warn(format_args!(
            "{id}.jsonl has no meta.json: it was never committed, and ctx-gc moves it to the trash"
        ));
    }
}

/// `--show ID`
pub(super) fn show(store: &Store, session: Option<&SessionId>, id: &str, io: &mut Io) -> Outcome {
    let catalog = store.catalog(session).map_err(failure)?;
    let entry = catalog.find(id).map_err(failure)?;
    let (mut file, _) = store.open_verified(entry).map_err(failure)?;
    copy_out(&mut file, io)?;
    Ok(ExitStatus::Done)
}

/// Writes a file of the store to stdout.
pub(super) fn copy(path: &Path, io: &mut Io) -> Result<(), Failure> {
    let name = path.display().to_string();
    let mut file = File::open(path).map_err(|error| Failure::new(error).at(name, None))?;
    copy_out(&mut file, io)
}

/// `--verify`, in the words of sha256sum.
pub(super) fn verify(store: &Store, session: Option<&SessionId>, io: &mut Io) -> Outcome {
    let catalog = store.catalog(session).map_err(failure)?;
    let mut damaged = 0;
    for entry in &catalog.entries {
        let verdict = verdict(store, entry);
        damaged += usize::from(verdict != "OK");
        io.write(format!("{}: {verdict}\n", entry.id).as_bytes())?;
    }
    warn_uncommitted(&catalog, io);
    if damaged == 0 {
        return Ok(ExitStatus::Done);
    }
    io.warn(format_args!(
        "{damaged} of {} snapshots are damaged",
        catalog.entries.len()
    ));
    Ok(ExitStatus::No)
}

fn verdict(store: &Store, entry: &Entry) -> String {
    let why = match store.open_verified(entry) {
        Ok(_) => return "OK".to_owned(),
        Err(StoreError::Damaged { why, .. }) => why,
        Err(error) => error.to_string(),
    };
    // Out of a tampered meta.json it could drive the terminal.
    format!("FAILED: {}", why.escape_debug())
}
