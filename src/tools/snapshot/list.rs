//! What was saved: listed and written out.

use std::cmp::Reverse;
use std::path::Path;

use chrono::{DateTime, Utc};
use ctx_cli::{
    Align, ExitStatus, Failure, Io, Listing, Outcome, json_line, printable, short_bytes,
    short_count, short_time,
};
use ctx_store::{Catalog, Flaw, GRACE_DAYS, Meta, SessionId, Store, real_path};

use super::scope::Scope;
use crate::store::{copy_out, failure};
use crate::trash::{self, since};

/// `--list`: the newest come first.
pub(super) fn list(store: &Store, scope: &Scope<'_>, json: bool, io: &mut Io) -> Outcome {
    let mut catalog = scope.catalog(store, io)?;
    let mut status = ExitStatus::Done;
    catalog
        .entries
        .sort_by_key(|entry| Reverse(entry.id.stamp.sequence));
    let mut metas = Vec::new();
    for entry in &catalog.entries {
        match &entry.meta {
            Ok(meta) => metas.push(meta),
            Err(Flaw::Damaged(why)) => io.warn(format_args!("{} is damaged: {why}", entry.id)),
            Err(Flaw::Unread(why)) => {
                io.warn(format_args!("{} could not be read: {why}", entry.id));
                status = ExitStatus::Partial;
            }
        }
    }
    let text = if json {
        metas.iter().map(json_line).collect()
    } else {
        table(&metas, store.now(), io)
    };
    io.write(text.as_bytes())?;
    warn_uncommitted(&catalog, io);
    Ok(status)
}

/// What stands where nothing is known.
const NOTHING: &str = "-";

fn table(metas: &[&Meta], now: DateTime<Utc>, io: &Io) -> String {
    if metas.is_empty() {
        return String::new();
    }
    let mut listing = Listing::new(&[
        ("ID", Align::Left),
        ("AGE", Align::Right),
        ("SIZE", Align::Right),
        ("MESSAGES", Align::Right),
        ("TOKENS", Align::Right),
        ("KIND", Align::Left),
        ("HELD", Align::Left),
        ("PATH", Align::Left),
    ]);
    for meta in metas {
        let tokens = meta.tokens.as_ref();
        let tokens = tokens.map(|tokens| short_count(tokens.count));
        let held = if meta.held { "held" } else { NOTHING };
        listing.push(vec![
            meta.id.clone(),
            short_time(since(meta.created, now)),
            short_bytes(meta.bytes),
            meta.tally.messages.to_string(),
            tokens.unwrap_or_else(|| NOTHING.to_owned()),
            meta.kind.as_str().to_owned(),
            held.to_owned(),
            meta.source
                .as_deref()
                .map_or_else(|| NOTHING.to_owned(), printable),
        ]);
    }
    let columns = io.columns();
    if columns.is_none() {
        listing = listing.without_heading();
    }
    listing.painted(columns, io)
}

/// `--list --trash`
pub(super) fn trash(store: &Store, scope: &Scope<'_>, json: bool, io: &mut Io) -> Outcome {
    if let Some(session) = scope.session {
        store.require_session_or_trash(session).map_err(failure)?;
    }
    let file = scope.file.map(real_path).transpose();
    let file = file.map_err(Failure::new)?;
    let mut trashed = store.trash_list(scope.session).map_err(failure)?;
    trashed.retain(|it| {
        let source = it.meta.as_ref().and_then(|meta| meta.source.as_deref());
        let is_of = |file: &Path| source.is_some_and(|source| Path::new(source) == file);
        file.as_deref().is_none_or(is_of) && scope.has(it.removed)
    });
    trash::list(store, &trashed, GRACE_DAYS, json, io)
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
    let entry = store.find_snapshot(session, id).map_err(failure)?;
    let (mut bytes, _) = store.open_verified(&entry).map_err(failure)?;
    copy_out(&mut bytes, io)?;
    Ok(ExitStatus::Done)
}
