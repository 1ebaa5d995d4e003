//! The searchable content of a store, and how to read it.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use ctx_cli::{ExitStatus, Failure, Result};
use ctx_format::{Dialect, Options, Record, Records, dialect};
use ctx_memory::{names_in, read_file};
use ctx_search::{Document, Source, SourceKind};
use ctx_store::{Entry, OffloadedFile, SnapshotBytes, Store};
use ctx_tools::store::failure;

use crate::searchable_text::{entry_of, known_role, paragraphs, said};

/// The folders in a store that contain memory files, each with the kind of source that it holds.
const FOLDERS: [(&str, SourceKind); 5] = [
    ("memory/extracted", SourceKind::Extracted),
    ("memory/daily", SourceKind::Daily),
    ("memory/summary", SourceKind::Master),
    ("memory/summary", SourceKind::Soul),
    ("memory/session-summaries", SourceKind::Summary),
];

/// The searchable content of a store: memory files, snapshots and offloaded results.
pub(crate) struct Stored<'a> {
    store: &'a Store,
    /// All sources, in the order in which they are indexed.
    pub(crate) sources: Vec<Source>,
    snapshots: HashMap<String, Entry>,
    offloaded: HashMap<String, OffloadedFile>,
    /// The errors for parts of the store that cannot be read.
    pub(crate) failed: Vec<Failure>,
}

/// The content stored at one position in a source.
pub(crate) struct StoredText {
    /// The bytes exactly as stored.
    pub(crate) bytes: Vec<u8>,
    /// The searchable text.
    pub(crate) text: String,
}

impl<'a> Stored<'a> {
    /// Lists the sources without following symbolic links.
    pub(crate) fn of(store: &'a Store) -> Result<Self> {
        let mut stored = Self {
            store,
            sources: Vec::new(),
            snapshots: HashMap::new(),
            offloaded: HashMap::new(),
            failed: Vec::new(),
        };
        for (folder, kind) in FOLDERS {
            stored.list_folder(folder, kind);
        }
        stored.list_snapshots()?;
        stored.list_offloaded()?;
        Ok(stored)
    }

    fn list_folder(&mut self, folder: &str, kind: SourceKind) {
        let path = self.store.root.join(folder);
        let names = names_in(&path).unwrap_or_else(|error| {
            self.failed.push(failure(error).status(ExitStatus::Partial));
            Vec::new()
        });
        for name in names.into_iter().filter(|name| is_of(kind, name)) {
            let meta = fs::symlink_metadata(path.join(&name)).ok();
            let Some(meta) = meta.filter(fs::Metadata::is_file) else { continue };
            let (time, change) = (meta.mtime_nsec(), meta.ctime_nsec());
            let session = name.strip_suffix(".md").filter(|_| kind == SourceKind::Summary);
            let mark = format!("{} {}.{time} {}.{change}", meta.len(), meta.mtime(), meta.ctime());
            self.add(kind, &format!("{folder}/{name}"), session, mark);
        }
    }

    fn add(&mut self, kind: SourceKind, name: &str, session: Option<&str>, mark: String) {
        let session = session.map(str::to_owned);
        self.sources.push(Source { name: name.to_owned(), kind, session, mark });
    }

    fn list_snapshots(&mut self) -> Result<()> {
        for entry in self.store.catalog(None).map_err(failure)?.entries {
            let name = entry.id.to_string();
            match entry.trusted_meta() {
                Ok(meta) => {
                    let session = Some(entry.id.session.as_str());
                    self.add(SourceKind::Snapshot, &name, session, meta.sha256);
                }
                Err(error) => self.failed.push(failure(error).status(ExitStatus::Partial)),
            }
            self.snapshots.insert(name, entry);
        }
        Ok(())
    }

    fn list_offloaded(&mut self) -> Result<()> {
        for file in self.store.all_offloaded(None).map_err(failure)? {
            let name = format!("offloaded/{}/{}", file.session, file.name);
            self.add(SourceKind::Offloaded, &name, Some(file.session.as_str()), String::new());
            self.offloaded.insert(name, file);
        }
        Ok(())
    }

    /// The current path of a source. The path changes when a snapshot is packed.
    pub(crate) fn path(&self, source: &Source) -> PathBuf {
        let snapshot = self.snapshots.get(&source.name);
        snapshot.map_or_else(|| self.store.root.join(&source.name), |entry| self.path_of(entry))
    }

    fn path_of(&self, entry: &Entry) -> PathBuf {
        let plain = self.store.data_path(&entry.id);
        if plain.exists() { plain } else { self.store.packed_path(&entry.id) }
    }

    /// Calls `take` with each document in a source.
    pub(crate) fn read(&self, source: &Source, take: &mut dyn FnMut(Document)) -> Result<()> {
        match self.snapshots.get(&source.name) {
            Some(entry) => self.read_snapshot(entry, take),
            None => self.read_file(source, take),
        }
    }

    /// Calls `take` with each document in a memory file or an offloaded result.
    fn read_file(&self, source: &Source, take: &mut dyn FnMut(Document)) -> Result<()> {
        let path = self.path(source);
        let modified = path.symlink_metadata().and_then(|meta| meta.modified());
        let modified = modified.map_or(0, |time| DateTime::<Utc>::from(time).timestamp_millis());
        let document = |line, text: &str| Document {
            line,
            time: day_of(source).unwrap_or(modified),
            text: text.to_owned(),
            ..Document::default()
        };
        if let Some(file) = self.offloaded.get(&source.name) {
            take(document(1, &self.store.read_offloaded(file).map_err(failure)?.text));
            return Ok(());
        }
        let text = read_text(&path).map_err(|failure| failure.status(ExitStatus::Partial))?;
        for (line, text) in paragraphs(&text) {
            let plain = document(line, text);
            take(match entry_of(text) {
                Some(entry) => Document {
                    session: Some(entry.citation.session),
                    role: known_role(entry.role),
                    time: entry.date.map_or(plain.time, start_of),
                    ..plain
                },
                None => plain,
            });
        }
        Ok(())
    }

    fn read_snapshot(&self, entry: &Entry, take: &mut dyn FnMut(Document)) -> Result<()> {
        let (bytes, meta) = self.store.open_verified(entry).map_err(failure)?;
        let saved = meta.created.timestamp_millis();
        self.each_record(entry, bytes, |place, record, dialect| {
            if let Some(object) = record.whole_object()
                && let Some(said) = said(dialect, object)
            {
                take(Document {
                    line: place.to_number(),
                    offset: record.offset,
                    role: said.role,
                    time: object.time().map_or(saved, |time| time.timestamp_millis()),
                    text: said.text,
                    ..Document::default()
                });
            }
            true
        })
    }

    /// The content at a position in a source; `None` if no record or paragraph starts there.
    pub(crate) fn held(&self, source: &Source, place: SourceLine) -> Result<Option<StoredText>> {
        if let Some(entry) = self.snapshots.get(&source.name) {
            return self.held_in_snapshot(entry, place);
        }
        let mut found = None;
        self.read_file(source, &mut |document| {
            if document.line == place.to_number() {
                found = Some(document.text);
            }
        })?;
        // A printed paragraph ends with a newline.
        let end = if source.kind == SourceKind::Offloaded { "" } else { "\n" };
        Ok(found.map(|text| {
            let text = text + end;
            StoredText { bytes: text.clone().into_bytes(), text }
        }))
    }

    /// Opens a snapshot; `None` if the snapshot cannot be opened or its dialect is unknown.
    pub(crate) fn open_snapshot(
        &self,
        name: &str,
    ) -> Option<(SnapshotBytes, &'static dyn Dialect)> {
        let entry = self.snapshots.get(name)?;
        let dialect = dialect::by_name(entry.meta.as_ref().ok()?.tally.dialect.as_deref()?)?;
        Some((self.store.open_bytes(&entry.id).ok()?, dialect))
    }

    fn held_in_snapshot(&self, entry: &Entry, place: SourceLine) -> Result<Option<StoredText>> {
        let bytes = self.store.open_bytes(&entry.id).map_err(failure)?;
        let mut found = None;
        self.each_record(entry, bytes, |at, record, dialect| {
            if at == place {
                let said = record.whole_object().and_then(|it| said(dialect, it));
                found =
                    said.map(|said| StoredText { bytes: record.bytes.to_vec(), text: said.text });
            }
            at != place
        })?;
        Ok(found)
    }

    /// Calls `take` with each record in a snapshot and the record's position, until `take` returns
    /// false. A snapshot in an unknown dialect has no records.
    fn each_record(
        &self,
        entry: &Entry,
        bytes: impl Read,
        mut take: impl FnMut(SourceLine, &Record<'_>, &dyn Dialect) -> bool,
    ) -> Result<()> {
        let options = Options {
            // Also search messages that are no longer sent to the model.
            unseen: true,
            temp: Some(std::env::temp_dir()),
            ..Options::default()
        };
        let unread = |error| self.cannot_read(entry, &error);
        let mut records = Records::open(bytes, &options).map_err(unread)?;
        let Some(dialect) = records.dialect() else { return Ok(()) };
        let mut place = SourceLine::of_line(0);
        while let Some(record) = records.next().map_err(unread)? {
            place = if record.line == place.line {
                SourceLine { nth: place.nth + 1, ..place }
            } else {
                SourceLine::of_line(record.line)
            };
            if !take(place, &record, dialect) {
                break;
            }
        }
        Ok(())
    }

    fn cannot_read(&self, entry: &Entry, error: &io::Error) -> Failure {
        let path = self.path_of(entry).display().to_string();
        Failure::unread(error).at(path, None).status(ExitStatus::Partial)
    }
}

/// Returns true if searches include the file `name` in a folder of this kind.
fn is_of(kind: SourceKind, name: &str) -> bool {
    match kind {
        SourceKind::Master => name == "master.md",
        SourceKind::Soul => name == "soul.md",
        _ => !name.starts_with('.') && Path::new(name).extension().is_some_and(|end| end == "md"),
    }
}

/// The start of the day that a daily log covers, in milliseconds since 1970; `None` for other
/// sources.
fn day_of(source: &Source) -> Option<i64> {
    source.name.strip_prefix("memory/daily/")?.strip_suffix(".md")?.parse().ok().map(start_of)
}

/// The start of a day in UTC, in milliseconds since 1970.
fn start_of(day: NaiveDate) -> i64 {
    day.and_time(NaiveTime::MIN).and_utc().timestamp_millis()
}

/// Reads a file in the store; a missing file reads as empty. Invalid UTF-8 is replaced, because
/// people may have written the file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&read_file(path).map_err(failure)?.unwrap_or_default()).into_owned())
}

/// A position in a source: a line, and a message within that line. If a session is a single JSON
/// document, all its messages may be on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) line: u64,
    /// The number of messages on this line that start before this message.
    pub(crate) nth: u64,
}

/// The number of bits for the line number in the index, which stores the line number and the
/// message number as one integer.
const LINE_BITS: u32 = 40;

impl SourceLine {
    pub(crate) fn of_line(line: u64) -> Self {
        Self { line, nth: 0 }
    }

    pub(crate) fn to_number(self) -> u64 {
        self.nth << LINE_BITS | self.line
    }

    pub(crate) fn from_number(number: u64) -> Self {
        Self { line: number & ((1 << LINE_BITS) - 1), nth: number >> LINE_BITS }
    }

    /// Parses `NAME:LINE` or `NAME:LINE.N`.
    pub(crate) fn parse(text: &str) -> Option<(&str, Self)> {
        let (name, place) = text.rsplit_once(':')?;
        let (line, nth) = place.split_once('.').unwrap_or((place, "1"));
        let number = |digits: &str| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|number: &u64| is_number && *number > 0)
        };
        let nth = number(nth)? - 1;
        let line = number(line)?;
        Some((name, Self { line, nth }))
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            0 => write!(f, "{}", self.line),
            nth => write!(f, "{}.{}", self.line, nth + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SourceLine;

    #[test]
    fn what_is_written_is_read() {
        for (line, nth, text) in [(7, 0, "a:b:7"), (1, 2, "a:b:1.3")] {
            let place = SourceLine { line, nth };
            assert_eq!(format!("a:b:{place}"), text);
            assert_eq!(SourceLine::parse(text), Some(("a:b", place)));
            assert_eq!(SourceLine::from_number(place.to_number()), place);
        }
        for bad in ["", "a", "a:", "a:x", "a:0", "a:1.0", "a:+1", "a:1.", "a:1.2.3"] {
            assert_eq!(SourceLine::parse(bad), None, "{bad}");
        }
    }
}
