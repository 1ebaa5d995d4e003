//! Implements `--list`, `--show` and `--log`, which show the snapshots and the history of a
//! session.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use ctx_cli::{
    ExitStatus, Failure, Io, Listing, Outcome, Result, json_line, printable, short_bytes,
    short_count, short_time,
};
use ctx_format::counted;
use ctx_store::{
    Catalog, Event, Flaw, Meta, SessionId, SnapshotId, SnapshotKind, Store, When, real_path,
};

use crate::store::{GRACE_DAYS, copy_out, failure, list_trash, since};

/// Prints the snapshots, newest first, for `--list`.
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
    let objects = || metas.iter().map(json_line).collect();
    let text = if json { objects() } else { table(&metas, store.now(), io) };
    io.print(&text)?;
    warn_uncommitted(&catalog, io);
    Ok(status)
}

/// The text shown in a table cell whose value is unknown.
const NOTHING: &str = "-";

fn table(metas: &[&Meta], now: DateTime<Utc>, io: &Io) -> String {
    if metas.is_empty() {
        return String::new();
    }
    let mut listing = Listing::new("ID|>AGE|>SIZE|>MESSAGES|>TOKENS|KIND|HELD|PATH");
    for meta in metas {
        let tokens = meta.tokens.as_ref();
        let tokens = tokens.map(|tokens| short_count(tokens.count));
        let held = if meta.held { "held" } else { NOTHING };
        listing.push([
            meta.id.clone(),
            short_time(since(meta.created, now)),
            short_bytes(meta.bytes),
            meta.tally.messages.to_string(),
            tokens.unwrap_or_else(|| NOTHING.to_owned()),
            <&str>::from(meta.kind).to_owned(),
            held.to_owned(),
            meta.source.as_deref().map_or_else(|| NOTHING.to_owned(), printable),
        ]);
    }
    match io.columns() {
        None => listing.for_stdout(None),
        columns => listing.painted(columns, io),
    }
}

/// Prints the items in the trash, for `--list --trash`.
pub(super) fn trash(store: &Store, scope: &Scope<'_>, json: bool, io: &mut Io) -> Outcome {
    let file = scope.file.map(real_path).transpose().map_err(Failure::new)?;
    let mut trashed = store.trash_list(scope.session).map_err(failure)?;
    trashed.retain(|it| {
        let source = it.meta.as_ref().and_then(|meta| meta.source.as_deref());
        let is_of = |file: &Path| source.is_some_and(|source| Path::new(source) == file);
        file.as_deref().is_none_or(is_of) && scope.has(it.removed)
    });
    list_trash(store, &trashed, GRACE_DAYS, json, io)
}

pub(super) fn warn_uncommitted(catalog: &Catalog, io: &mut Io) {
    for id in &catalog.uncommitted {
        io.warn(format_args!(
            "{id}.jsonl has no meta.json: it was never committed, and ctx-gc moves it to the trash"
        ));
    }
}

/// Prints the bytes of a snapshot, for `--show ID`.
pub(super) fn show(store: &Store, scope: &Scope<'_>, id: &str, io: &mut Io) -> Outcome {
    let entry = match scope.file {
        Some(_) => scope.all(store, io)?.find(id).cloned(),
        None if Path::new(id).is_file() => {
            return Err(Failure::new(format_args!("{id} is a file, not a snapshot"))
                .hint(format!("ctx-snapshot --show latest {id}")));
        }
        None => store.find_snapshot(scope.session, id),
    };
    let entry = entry.map_err(|error| failure(store.explained(error)))?;
    let (mut bytes, _) = store.open_verified(&entry).map_err(failure)?;
    copy_out(&mut bytes, io)?;
    Ok(ExitStatus::Done)
}

/// The user's selection of snapshots. By default, all snapshots are selected.
pub(super) struct Scope<'a> {
    pub(super) session: Option<&'a SessionId>,
    pub(super) file: Option<&'a Path>,
    /// If set, only snapshots that were taken at this time or later are selected.
    pub(super) since: Option<When>,
    /// If set, only snapshots that were taken before this time are selected.
    pub(super) before: Option<When>,
}

impl Scope<'_> {
    /// Returns the selected snapshots.
    pub(super) fn catalog(&self, store: &Store, io: &mut Io) -> Result<Catalog> {
        let mut catalog = self.all(store, io)?;
        catalog.entries.retain(|entry| self.has(entry.id.stamp.time));
        Ok(catalog)
    }

    /// Returns all snapshots of the selected session or file, regardless of when they were taken.
    /// For an unknown session, the result is empty.
    pub(super) fn all(&self, store: &Store, io: &mut Io) -> Result<Catalog> {
        let mut catalog = match (self.file, self.session) {
            (Some(file), _) => of_file(store, file, io)?,
            (None, session) => store.catalog(session).map_err(failure)?,
        };
        let is_of = |id: &SessionId| self.session.is_none_or(|session| session == id);
        catalog.entries.retain(|entry| is_of(&entry.id.session));
        Ok(catalog)
    }

    /// Returns true if the selection includes snapshots taken at this time.
    pub(super) fn has(&self, time: DateTime<Utc>) -> bool {
        self.since.is_none_or(|since| time >= since.start)
            && self.before.is_none_or(|before| time < before.start)
    }
}

fn of_file(store: &Store, file: &Path, io: &mut Io) -> Result<Catalog> {
    let found = store.catalog_of_file(file).map_err(failure)?;
    if let Some(source) = &found.by_content {
        io.warn(format_args!(
            "{}: no snapshot was taken of this path, but the file contains the session that was saved from {source}",
            file.display()
        ));
    }
    Ok(found.catalog)
}

/// The operations whose records need no more than a fixed text, each with this text.
const OPERATIONS: &str = include_str!("operations.txt");

/// Prints the history of a session, newest event first. Each line shows the time, the number of the
/// snapshot, the tool, and what the tool did.
pub(super) fn log(store: &Store, scope: &Scope<'_>, json: bool, io: &mut Io) -> Outcome {
    if scope.file.is_none() && scope.session.is_none() {
        return Err(Failure::new("no session is named").hint("name a FILE, or a session with -s"));
    }
    let catalog = scope.all(store, io)?;
    let sessions: BTreeSet<SessionId> = match scope.session {
        Some(session) => [session.clone()].into(),
        None => catalog.entries.iter().map(|entry| entry.id.session.clone()).collect(),
    };
    let mut events = store.history(&sessions).map_err(failure)?;
    events.retain(|event| scope.has(event.time));
    if let Some(file) = scope.file {
        catalog.prefer_events(file, &mut events).map_err(failure)?;
    }
    if json {
        let lines: String = events.iter().map(json_line).collect();
        io.print(&lines)?;
        return Ok(ExitStatus::Done);
    }
    let metas = catalog.entries.iter().filter_map(|entry| entry.meta.as_ref().ok());
    let metas: Metas<'_> = metas.map(|meta| (meta.id.as_str(), meta)).collect();
    let mut listing = Listing::new("TIME|>SNAPSHOT|TOOL|WHAT");
    for event in &events {
        listing.push([
            event.time.to_rfc3339_opts(SecondsFormat::Secs, true),
            snapshot(event),
            printable(&event.tool),
            printable(&what(event, &metas)),
        ]);
    }
    if !events.is_empty() {
        io.print(listing.for_stdout(io.columns()))?;
    }
    Ok(ExitStatus::Done)
}

/// The metadata of all existing snapshots, by snapshot id.
type Metas<'a> = BTreeMap<&'a str, &'a Meta>;

fn what(event: &Event, metas: &Metas<'_>) -> String {
    let done = match event.op.as_str() {
        "snapshot" => saved(event, metas),
        "compact" => compacted(event),
        "rollback" => rolled_back(event, metas),
        "offload" => format!("offloaded {}", things(event, "result")),
        "extract" => format!("wrote {} into the memory files", things(event, "item")),
        "gc" => format!("moved to the trash: {}", numbers(event)),
        "purge" => format!("deleted from the trash: {}", numbers(event)),
        "forget" => format!("deleted for good: {}", numbers(event)),
        other => {
            let mut known = OPERATIONS.lines().filter_map(|line| line.split_once(": "));
            known.find(|(op, _)| *op == other).map_or(other, |(_, what)| what).to_owned()
        }
    };
    match event.phase.as_str() {
        "intent" => format!("{}: started but not finished", event.op),
        "failed" => {
            let outcome = event.outcome.as_deref().unwrap_or("failed");
            format!("attempted, nothing changed: {outcome}")
        }
        _ => done,
    }
}

fn saved(event: &Event, metas: &Metas<'_>) -> String {
    let meta = event.snapshots.first().and_then(|id| metas.get(id.as_str()));
    let saved = match meta.map(|meta| meta.kind) {
        Some(SnapshotKind::Late) => "saved later changes:",
        Some(SnapshotKind::PreCompact | SnapshotKind::PreRollback) => "saved, no replacement:",
        _ => "saved",
    };
    match (meta, event.bytes) {
        (Some(meta), _) => format!("{saved} {}", meta.size()),
        (None, Some(bytes)) => format!("{saved} {}", counted(bytes, "byte")),
        (None, None) => saved.to_owned(),
    }
}

fn rolled_back(event: &Event, metas: &Metas<'_>) -> String {
    let is_undo = event.flags.iter().any(|flag| flag == "undo");
    let (how, undo) = if is_undo { ("undone", " (undo)") } else { ("rolled back", "") };
    // Older versions of the tools recorded only the hash.
    let restored = event.restored.as_deref().or_else(|| {
        let sha256 = event.sha256.as_ref()?;
        let is_older = |meta: &&&Meta| meta.created < event.time;
        let older = metas.values().filter(is_older);
        let newest = older.filter(|meta| meta.sha256 == *sha256);
        let newest = newest.filter(|meta| !event.snapshots.contains(&meta.id));
        newest.max_by_key(|meta| meta.sequence).map(|meta| meta.id.as_str())
    });
    restored.map_or_else(|| how.to_owned(), |id| format!("rolled back to {}{undo}", number(id)))
}

/// Returns the number of the snapshot taken for an event, or `-` if the event does not have exactly
/// one snapshot.
fn snapshot(event: &Event) -> String {
    if let [id] = event.snapshots.as_slice() { number(id) } else { NOTHING.to_owned() }
}

/// Describes a compaction, such as `compacted 30282 → 9004 tokens, 206 → 12 messages`.
fn compacted(event: &Event) -> String {
    let change = |before: Option<u64>, after: Option<u64>, what: &str| {
        Some(format!("{} → {}", before?, counted(after?, what)))
    };
    let fewer = event.messages_after.filter(|after| event.messages_before > Some(*after));
    let changes = [
        change(event.tokens_before, event.tokens_after, "token"),
        change(event.messages_before, fewer, "message"),
    ];
    let changes: Vec<String> = changes.into_iter().flatten().collect();
    let outcome = event.outcome.as_deref();
    let outcome = outcome.filter(|outcome| *outcome != "compacted");
    let outcome = outcome.map_or_else(String::new, |outcome| format!(" ({outcome})"));
    let changes = changes.join(", ");
    let space = if changes.is_empty() { "" } else { " " };
    format!("compacted{space}{changes}{outcome}")
}

fn things(event: &Event, what: &str) -> String {
    event.count.map_or_else(|| format!("{what}s"), |count| counted(count, what))
}

/// Returns the numbers of all snapshots affected by an event.
fn numbers(event: &Event) -> String {
    if event.snapshots.is_empty() {
        return things(event, "thing");
    }
    event.snapshots.iter().map(|id| number(id)).collect::<Vec<_>>().join(", ")
}

/// Returns the number of a snapshot, such as `0007`.
fn number(id: &str) -> String {
    SnapshotId::parse(id).map_or_else(|| id.to_owned(), |id| format!("{:04}", id.stamp.sequence))
}
