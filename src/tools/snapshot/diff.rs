//! Implements `--diff A B`, which shows the differences between two sessions, message by message.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Seek};
use std::ops::Range;
use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Io, Listing, Outcome, Paint, Result, printable, short_bytes};
use ctx_format::counted;
use ctx_store::compare::{Brief, Change, Comparison, Diff, Hunk, compare};
use ctx_store::{Entry, Store, StoreError, When, open_plain};

use super::Args;
use crate::session::file_of;
use crate::store::failure;

impl Args {
    /// Prints the differences, if any, between two snapshots or between a snapshot and a file.
    pub(super) fn diff(&self, names: &[String], store: &Store, io: &mut Io) -> Outcome {
        let names = names.iter().map(|name| self.path(name, store));
        let names = names.collect::<Result<Vec<_>>>()?;
        let (old, new) =
            if let [old, new] = &names[..] { (&**old, new) } else { ("latest", &names[0]) };
        let (old, new) = (self.open(&names, store, old)?, self.open(&names, store, new)?);
        if self.raw {
            return diff_lines(old, new, io);
        }
        let compared = compare(&old, &new).map_err(Failure::unread)?;
        if !compared.changes.is_empty() {
            show(&compared, io)?;
        } else if differ(old, new).map_err(Failure::unread)? {
            io.warn("no message differs, but some bytes do; --raw shows the lines");
        } else {
            return Ok(ExitStatus::Done);
        }
        Ok(ExitStatus::No)
    }

    /// Opens the snapshot `name`. If `name` contains a slash or there is no such snapshot, opens
    /// the file `name`.
    fn open(&self, names: &[String], store: &Store, name: &str) -> Result<File> {
        if name.contains('/') {
            return file(name);
        }
        let found = self.snapshot(names, store, name);
        match (found, Path::new(name).is_file()) {
            (Ok(_) | Err(StoreError::Ambiguous { .. }), true) => {
                Err(Failure::new(format_args!("{name:?} is the name of a snapshot and of a file"))
                    .hint(format!("use ./{name} for the file, or the full id for the snapshot")))
            }
            (Err(_), true) => file(name),
            (found, false) => {
                found.and_then(|entry| store.open_to_compare(&entry)).map_err(failure)
            }
        }
    }

    /// Returns the path of the session's file if `name` is the id of an agent's session or the
    /// beginning of such an id. Returns any other name unchanged. Digits alone are always a number.
    fn path(&self, name: &str, store: &Store) -> Result<String> {
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && self.snapshot(&[], store, name).is_ok() {
            return Ok(name.to_owned());
        }
        let path = file_of(name.into()).map_err(Failure::new)?;
        Ok(path.into_os_string().into_string().unwrap_or_else(|_| name.to_owned()))
    }

    /// Finds a snapshot of the session that the user named. If no session is named, prefers
    /// snapshots of the file that the snapshot is compared with; only an id or a number may name a
    /// snapshot of another file.
    fn snapshot(&self, names: &[String], store: &Store, name: &str) -> Result<Entry, StoreError> {
        let mut files = names.iter().map(Path::new).filter(|other| other.is_file());
        if let Some(file) = files.next().filter(|_| self.session.is_none()) {
            let found = store.catalog_of_file(file);
            let found = found.and_then(|found| found.catalog.find(name).cloned());
            if found.is_ok() || name == "latest" || When::parse(name, store.now()).is_ok() {
                return found;
            }
        }
        // "latest" is the newest snapshot of the session whose snapshot it is compared with.
        let others = names.iter().filter(|other| *other != name && name == "latest");
        let found = others.map(|other| store.find_snapshot(None, other)).find_map(Result::ok);
        let session = self.session.clone().or(found.map(|entry| entry.id.session));
        store.find_snapshot(session.as_ref(), name)
    }
}

fn file(name: &str) -> Result<File> {
    open_plain(Path::new(name))
        .map_err(|error| Failure::unread(error).at(name, None).hint("check the path"))
}

/// Prints a line for each difference, and then the number of differences of each kind.
fn show(compared: &Comparison, io: &mut Io) -> Result<()> {
    let mut listing = Listing::new("|>LINE|ROLE|>SIZE|WHAT");
    let mut counts = [0_usize; 4];
    for change in &compared.changes {
        let (kind, row) = row(change);
        counts[kind] += 1;
        listing.push(row);
    }
    for line in listing.for_stdout(io.columns()).lines() {
        let paint = match line.chars().next() {
            Some('-') => Some(Paint::Red),
            Some('+') => Some(Paint::Green),
            Some('~' | '>') => Some(Paint::Yellow),
            _ => None,
        };
        io.print(format!("{}\n", io.paint(paint, line)))?;
    }
    let [removed, added, changed, moved] = counts;
    let (removed, same) = (counted(removed, "record"), compared.same);
    let end = format!(
        "{removed} removed, {added} added, {changed} changed, {moved} moved, {same} unchanged\n"
    );
    io.print(&end)
}

/// Returns the index of the change's kind, and the cells of the row that describes the change.
fn row(change: &Change) -> (usize, [String; 5]) {
    let size = |brief: &Brief| short_bytes(brief.bytes);
    let (kind, line, brief, size, what) = match change {
        Change::Removed(old) => (0, old.line.to_string(), old, size(old), old.words.clone()),
        Change::Added(new) => (1, new.line.to_string(), new, size(new), new.words.clone()),
        Change::Changed { old, new, what } => {
            let what = format!("{}: {}", what.join("; "), old.words);
            let sizes = format!("{} → {}", size(old), size(new));
            (2, from_to(old.line, new.line), new, sizes, what)
        }
        Change::Moved { from, new } => {
            (3, from_to(*from, new.line), new, size(new), new.words.clone())
        }
    };
    let sign = ["-", "+", "~", ">"][kind];
    let role = brief.role.map_or("-", |role| role.as_str());
    (kind, [sign.to_owned(), line, role.to_owned(), size, printable(&what)])
}

/// Formats two line numbers as `7 → 3`, or as `7` if they are equal.
fn from_to(from: u64, to: u64) -> String {
    if from == to {
        return to.to_string();
    }
    format!("{from} → {to}")
}

/// Prints a unified diff without context. Lines that are only in A begin with `-`, and lines that
/// are only in B begin with `+`.
fn diff_lines(old: File, new: File, io: &mut Io) -> Outcome {
    let mut diff = Diff::of_files(old, new).map_err(Failure::unread)?;
    let hunks = std::mem::take(&mut diff.hunks);
    for hunk in &hunks {
        show_hunk(&mut diff, hunk, io).map_err(|error| Failure::stdout(&error))?;
    }
    Ok(if hunks.is_empty() { ExitStatus::Done } else { ExitStatus::No })
}

/// Returns true if two files differ in any byte.
fn differ(mut old: File, mut new: File) -> io::Result<bool> {
    old.rewind()?;
    new.rewind()?;
    Ok(!Diff::of_files(old, new)?.hunks.is_empty())
}

fn show_hunk(diff: &mut Diff, Hunk { old, new }: &Hunk, io: &mut Io) -> io::Result<()> {
    // As in diff(1), the start of an empty range is the number of the line before it.
    let start = |range: &Range<usize>| range.start + usize::from(!range.is_empty());
    let (from, to) = (start(old), start(new));
    writeln!(io.out(), "@@ -{from},{} +{to},{} @@", old.len(), new.len())?;
    for (lines, range, sign, paint) in
        [(&mut diff.old, old, '-', Paint::Red), (&mut diff.new, new, '+', Paint::Green)]
    {
        for line in range.clone() {
            let text = lines.read(line)?;
            let line = io.paint(paint, &format!("{sign}{}", shown(&text)));
            writeln!(io.out(), "{line}")?;
        }
    }
    Ok(())
}

/// Returns the text of a line without its line ending. Control characters are escaped.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut shown = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        let cells: Vec<String> = chunk.valid().split('\t').map(printable).collect();
        shown.push_str(&cells.join("\t"));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_line_cannot_drive_the_terminal() {
        assert_eq!(shown(b"a\x1b]0;x\x07\xff\tb\n"), "a\\u{1b}]0;x\\u{7}\\xff\tb");
    }
}
