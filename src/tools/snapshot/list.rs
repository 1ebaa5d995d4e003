//! What was saved: listed and written out.

use std::fs::File;
use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Io, Outcome, json_line};
use ctx_store::{Catalog, Flaw, Meta, SessionId, Store};
use ctx_transcript::counted;

use crate::store::{copy_out, failure};

/// `--list`
pub(super) fn list(store: &Store, session: Option<&SessionId>, json: bool, io: &mut Io) -> Outcome {
    let catalog = store.catalog(session).map_err(failure)?;
    let mut status = ExitStatus::Done;
    for entry in &catalog.entries {
        match &entry.meta {
            Ok(meta) if json => {
                io.write(json_line(meta).as_bytes())?;
            }
            Ok(meta) => io.write(line(meta).as_bytes())?,
            Err(Flaw::Damaged(why)) => io.warn(format_args!("{} is damaged: {why}", entry.id)),
            Err(Flaw::Unread(why)) => {
                io.warn(format_args!("{} could not be read: {why}", entry.id));
                status = ExitStatus::Partial;
            }
        }
    }
    warn_uncommitted(&catalog, io);
    Ok(status)
}

/// One line, in columns that need no header: id, messages, lines, bytes, kind.
fn line(meta: &Meta) -> String {
    let held = if meta.held { " held" } else { "" };
    let tokens = meta.tokens.as_ref();
    let tokens = tokens.map(|tokens| counted(tokens.count, "token"));
    let tokens = tokens.map_or_else(String::new, |tokens| format!("  {tokens}"));
    let messages = counted(meta.tally.messages, "message");
    let (lines, bytes) = (counted(meta.lines, "line"), counted(meta.bytes, "byte"));
    let (id, kind) = (&meta.id, meta.kind.as_str());
    format!("{id}  {messages}{tokens}  {lines}  {bytes}  {kind}{held}\n")
}

pub(super) fn warn_uncommitted(catalog: &Catalog, io: &mut Io) {
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
