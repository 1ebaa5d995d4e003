//! `--diff A B`: what two sessions do not share, message by message.

use std::fs::File;
use std::io;
use std::path::Path;

use ctx_cli::{Align, ExitStatus, Failure, Io, Listing, Outcome, Paint, printable, short_bytes};
use ctx_store::compare::{Brief, Change, Comparison, compare};
use ctx_store::{Catalog, SessionId, Store, StoreError, open_plain};
use ctx_transcript::counted;

use super::raw_diff;
use crate::store::failure;

/// Two snapshots, or a snapshot and a file, as they were typed.
pub(super) struct Operands<'a> {
    pub(super) session: Option<&'a SessionId>,
    pub(super) names: &'a [String],
    /// Lines instead of messages.
    pub(super) raw: bool,
}

impl Operands<'_> {
    /// Prints what is different; nothing, where that is nothing.
    pub(super) fn diff(&self, store: &Store, io: &mut Io) -> Outcome {
        let mut open = self.names.iter().map(|name| self.open(store, name));
        let (Some(old), Some(new)) = (open.next(), open.next()) else {
            return Err(Failure::new("two are compared"));
        };
        let (old, new) = (old?, new?);
        if self.raw {
            return raw_diff::diff(old, new, io);
        }
        let compared = compare(&old, &new).map_err(unread)?;
        if !compared.changes.is_empty() {
            show(&compared, io)?;
        } else if raw_diff::differ(old, new).map_err(unread)? {
            io.warn("no message differs, but bytes do: --raw shows the lines");
        } else {
            return Ok(ExitStatus::Done);
        }
        Ok(ExitStatus::No)
    }

    /// The bytes of a snapshot, or of a file: a path with a slash, or a name that no snapshot has.
    fn open(&self, store: &Store, name: &str) -> Result<File, Failure> {
        if name.contains('/') {
            return file(name);
        }
        let found = self.snapshot(store, name);
        match (found, Path::new(name).is_file()) {
            (Ok(_) | Err(StoreError::Ambiguous { .. }), true) => Err(Failure::new(format_args!(
                "{name:?} is the name of a snapshot and of a file"
            ))
            .hint(format!("./{name} is the file, the whole id the snapshot"))),
            (Err(_), true) => file(name),
            (found, false) => found
                .and_then(|entry| store.open_to_compare(&entry))
                .map_err(failure),
        }
    }

    /// A snapshot of the session, else of the file that it is compared with.
    fn snapshot(&self, store: &Store, name: &str) -> Result<ctx_store::Entry, StoreError> {
        if self.session.is_none() {
            let mut files = self.names.iter().filter(|other| Path::new(other).is_file());
            let found = files.find_map(|file| of_file(store, file));
            if let Some(Ok(entry)) = found.map(|catalog| catalog.find(name).cloned()) {
                return Ok(entry);
            }
        }
        store.find_snapshot(self.session, name)
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err`.
fn unread(error: io::Error) -> Failure {
    Failure::new(format_args!("cannot read: {error}"))
}

fn of_file(store: &Store, file: &str) -> Option<Catalog> {
    let found = store.catalog_of_file(Path::new(file));
    found.ok().map(|found| found.catalog)
}

fn file(name: &str) -> Result<File, Failure> {
    open_plain(Path::new(name)).map_err(|error| {
        let failure = Failure::new(format_args!("cannot read: {error}")).at(name, None);
        failure.hint("check the path")
    })
}

/// A line for each message, then how many there are of each kind.
fn show(compared: &Comparison, io: &mut Io) -> Result<(), Failure> {
    let mut listing = Listing::new(&[
        ("", Align::Left),
        ("LINE", Align::Right),
        ("ROLE", Align::Left),
        ("SIZE", Align::Right),
        ("WHAT", Align::Left),
    ]);
    let mut counts = [0_usize; 4];
    for change in &compared.changes {
        let (kind, row) = row(change);
        counts[kind] += 1;
        listing.push(row);
    }
    let columns = io.columns();
    let listing = match columns {
        Some(_) => listing,
        None => listing.without_heading(),
    };
    for line in listing.text(columns).lines() {
        let line = match line.chars().next() {
            Some('-') => io.paint(Paint::Red, line),
            Some('+') => io.paint(Paint::Green, line),
            Some('~' | '>') => io.paint(Paint::Yellow, line),
            _ => line.to_owned(),
        };
        io.write(format!("{line}\n").as_bytes())?;
    }
    let [removed, added, changed, moved] = counts;
    let removed = counted(removed, "record");
    let same = compared.same;
    let end = format!(
        "{removed} removed, {added} added, {changed} changed, {moved} moved, {same} the same\n"
    );
    io.write(end.as_bytes())
}

/// Which kind of change, and its cells.
fn row(change: &Change) -> (usize, Vec<String>) {
    let cells = |sign: &str, line: String, brief: &Brief, size: String, what: String| {
        let role = brief.role.map_or("-", |role| role.as_str());
        vec![
            sign.to_owned(),
            line,
            role.to_owned(),
            size,
            printable(&what),
        ]
    };
    let size = |brief: &Brief| short_bytes(brief.bytes);
    match change {
        Change::Removed(old) => {
            let words = old.words.clone();
            (0, cells("-", old.line.to_string(), old, size(old), words))
        }
        Change::Added(new) => {
            let words = new.words.clone();
            (1, cells("+", new.line.to_string(), new, size(new), words))
        }
        Change::Changed { old, new, what } => {
            let line = from_to(old.line, new.line);
            let what = format!("{}: {}", what.join("; "), old.words);
            let sizes = format!("{} → {}", size(old), size(new));
            (2, cells("~", line, new, sizes, what))
        }
        Change::Moved { from, new } => {
            let words = new.words.clone();
            (
                3,
                cells(">", from_to(*from, new.line), new, size(new), words),
            )
        }
    }
}

/// `7`, or `7 → 3`.
fn from_to(from: u64, to: u64) -> String {
    if from == to {
        return to.to_string();
    }
    format!("{from} → {to}")
}
