//! Lists and prints saved snapshots.

use std::cmp::Reverse;
use std::path::Path;

use chrono::{DateTime, Utc};
use ctx_cli::{
    Align, ExitStatus, Failure, Io, Listing, Outcome, json_line, printable, short_bytes,
    short_count, short_time,
};
use ctx_store::{Catalog, Flaw, Meta, SessionId, Store, When, real_path};

use crate::store::{copy_out, failure};
use crate::trash::{self, since};

/// `--list`: the newest come first.
pub(super) fn list(store: &Store, scope: &Scope<'_>, json: bool, io: &mut Io) -> Outcome {
    let mut catalog = scope.catalog(store, io)?;
    let mut status = ExitStatus::Done;
    catalog.entries.sort_by_key(|entry| Reverse(entry.id.stamp.sequence));
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
    let text =
        if json { metas.iter().map(json_line).collect() } else { table(&metas, store.now(), io) };
    io.write(text.as_bytes())?;
    warn_uncommitted(&catalog, io);
    Ok(status)
}

/// The text of an unknown value.
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
            meta.source.as_deref().map_or_else(|| NOTHING.to_owned(), printable),
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
    trash::list(store, &trashed, trash::GRACE_DAYS, json, io)
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

/// The selection of snapshots; all by default.
pub(super) struct Scope<'a> {
    pub(super) session: Option<&'a SessionId>,
    pub(super) file: Option<&'a Path>,
    /// Only snapshots from this time on.
    pub(super) since: Option<When>,
    /// Only snapshots before this time.
    pub(super) before: Option<When>,
}

impl Scope<'_> {
    /// The snapshots of that time.
    pub(super) fn catalog(&self, store: &Store, io: &mut Io) -> Result<Catalog, Failure> {
        if let (None, Some(session)) = (self.file, self.session) {
            store.require_session(session).map_err(failure)?;
        }
        let mut catalog = self.all(store, io)?;
        catalog.entries.retain(|entry| self.has(entry.id.stamp.time));
        Ok(catalog)
    }

    /// The snapshots of any time; none of a session that the store does not know.
    pub(super) fn all(&self, store: &Store, io: &mut Io) -> Result<Catalog, Failure> {
        let mut catalog = match (self.file, self.session) {
            (Some(file), _) => of_file(store, file, io)?,
            (None, session) => store.catalog(session).map_err(failure)?,
        };
        let is_of = |id: &SessionId| self.session.is_none_or(|session| session == id);
        catalog.entries.retain(|entry| is_of(&entry.id.session));
        Ok(catalog)
    }

    /// Whether the selection includes a time.
    pub(super) fn has(&self, time: chrono::DateTime<chrono::Utc>) -> bool {
        self.since.is_none_or(|since| time >= since.start)
            && self.before.is_none_or(|before| time < before.start)
    }
}

fn of_file(store: &Store, file: &Path, io: &mut Io) -> Result<Catalog, Failure> {
    let found = store.catalog_of_file(file).map_err(failure)?;
    if let Some(source) = &found.by_content {
        io.warn(format_args!(
            "{}: no snapshot was taken of this path; by its content it is the session that was saved from {source}",
            file.display()
        ));
    }
    Ok(found.catalog)
}
