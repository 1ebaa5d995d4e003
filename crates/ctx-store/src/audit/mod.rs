//! The audit log, which records what each tool did to the store, and when. Each operation is
//! recorded twice, at its start and at its end, so that an interrupted operation can be recognized.
//! Each record is written in a single call. Each record begins with the sha256 of the previous
//! line, so that changed, removed or inserted lines can be detected. An attempt that failed without
//! changing anything is recorded only once.
//!
//! A record contains only ids, hashes, numbers and fixed words, so neither session text nor flag
//! values can end up in the log.

pub(crate) mod history;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, SecondsFormat, Utc};
use memchr::memmem;
use ring::digest::{Context, SHA256};
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::error::{OrCannot, Result};
use crate::fs::{careful, ends_line, hash, hex, if_there, open_plain};
use crate::id::{SessionId, SnapshotId, TIME};
use crate::snapshot::meta::Meta;
use crate::store::{Store, StoreLock};

/// The measured effects of a change to a session: numbers and fixed words, keyed as in
/// `docs/json.md`.
pub type Figures = serde_json::Map<String, serde_json::Value>;

/// The facts about an operation that go into its audit record: ids, hashes and sizes, but never
/// session text or flag values.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The id of the session, or `None` if the operation may affect several sessions.
    pub session: Option<String>,
    /// The ids of the snapshots that the operation took, restored or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<String>,
    /// The sha256 of the session file before the operation.
    pub sha256_before: Option<String>,
    /// The sha256 of the session file, or of the snapshot, after the operation.
    pub sha256: Option<String>,
    /// The size of the file in bytes, or the number of bytes written.
    pub bytes: Option<u64>,
    /// The number of bytes appended to the session file, if the file was not replaced.
    pub added_bytes: Option<u64>,
    /// The number of bytes that were carried over into the new file because other processes wrote
    /// them during the operation.
    pub late_bytes: Option<u64>,
    /// The number of items written or removed.
    pub count: Option<u64>,
    /// The measured effects of the change.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Facts {
    /// Returns the facts for an operation on one session. All fields except the session's id are
    /// empty.
    pub fn of(session: &SessionId) -> Self {
        Self { session: Some(session.to_string()), ..Self::default() }
    }

    /// Returns the facts for an operation on one snapshot.
    pub(crate) fn of_snapshot(id: &SnapshotId, meta: &Meta) -> Self {
        Self {
            snapshots: vec![id.to_string()],
            sha256: Some(meta.sha256.clone()),
            bytes: Some(meta.bytes),
            ..Self::of(&id.session)
        }
    }
}

/// An operation whose start has been recorded in the audit log.
#[derive(Clone, Debug)]
pub struct Operation {
    id: String,
    op: &'static str,
}

#[derive(Serialize)]
struct Record<'a> {
    /// The sha256 of the log's previous line. `prev` must be the first member of the record.
    prev: String,
    time: String,
    operation: &'a str,
    op: &'a str,
    phase: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    flags: &'a [String],
    pid: u32,
    #[serde(flatten)]
    facts: &'a Facts,
}

impl Store {
    /// Records the start of an operation. If this record cannot be written, the operation must not
    /// change anything, because every change must leave a trace in the log.
    pub fn begin(&self, op: &'static str, facts: &Facts) -> Result<Operation> {
        self.lock()?.begin(op, facts)
    }

    /// Checks the audit log's hash chain, and returns the lines at which it is broken.
    pub fn check_audit_log(&self) -> Result<Vec<BrokenLink>> {
        let log = self.open_audit_log()?;
        log.map_or_else(|| Ok(Vec::new()), check).or_cannot("read", &self.audit_log())
    }

    /// Calls `see` with each line of the audit log. A line that is too long to be a record is cut
    /// off.
    pub(crate) fn each_log_line(&self, mut see: impl FnMut(&[u8])) -> Result<()> {
        let Some(log) = self.open_audit_log()? else { return Ok(()) };
        let see_first = |piece: &[u8], begins: bool| {
            if begins {
                see(piece);
            }
        };
        each_piece(log, see_first).or_cannot("read", &self.audit_log())
    }

    fn open_audit_log(&self) -> Result<Option<File>> {
        let path = self.audit_log();
        if_there(open_plain(&path).or_cannot("open", &path))
    }

    /// Records an attempt that failed and changed nothing.
    pub fn failed(&self, op: &'static str, facts: &Facts) -> Result<()> {
        let mut locked = self.lock()?;
        locked.append(&locked.operation(op), "failed", facts)
    }

    /// Records that the operation has been completed. If the record cannot be written, the error
    /// message says "… is done, but", because the change itself is complete.
    pub fn done(&self, operation: &Operation, facts: &Facts) -> Result<()> {
        self.lock().map_err(|error| error.after(operation.op))?.done(operation, facts)
    }
}

impl StoreLock<'_> {
    pub(crate) fn begin(&mut self, op: &'static str, facts: &Facts) -> Result<Operation> {
        let operation = self.operation(op);
        self.append(&operation, "intent", facts)?;
        Ok(operation)
    }

    fn operation(&self, op: &'static str) -> Operation {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let time = self.store.now().format(TIME);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("{time}-{}.{count}", std::process::id());
        Operation { id, op }
    }

    pub(crate) fn done(&mut self, operation: &Operation, facts: &Facts) -> Result<()> {
        self.append(operation, "done", facts).map_err(|error| error.after(operation.op))
    }

    fn append(&mut self, operation: &Operation, phase: &str, facts: &Facts) -> Result<()> {
        let store = self.store;
        let path = store.audit_log();
        let opened = careful().append(true).create(true).mode(0o600).open(&path);
        let mut file = opened.or_cannot("open", &path)?;
        let prev = hash_of_last(&file).or_cannot("read", &path)?;
        let mut line = Vec::new();
        // If a run was killed while it was writing a record, the last line has no newline.
        if !ends_line(&file).or_cannot("read", &path)? {
            line.push(b'\n');
        }
        let record = Record {
            prev,
            time: store.now().to_rfc3339_opts(SecondsFormat::Micros, true),
            operation: &operation.id,
            op: operation.op,
            phase,
            tool: &store.actor.tool,
            flags: &store.actor.flags,
            pid: std::process::id(),
            facts,
        };
        serde_json::to_writer(&mut line, &record).or_cannot("write", &path)?;
        line.push(b'\n');
        file.write_all(&line).or_cannot("write", &path)?;
        file.sync_data().or_cannot("sync", &path)
    }
}

/// The bytes at the start of every record in the hash chain.
const PREV: &[u8] = b"{\"prev\":\"";
/// The number of hex digits in a sha256.
const DIGITS: usize = 64;
/// How many bytes at the start of a line are searched for the record's time.
const HEAD: usize = 256;
const BLOCK: usize = 64 * 1024;

/// Returns the 64 zeros that the first record of a log contains instead of a previous hash.
fn none_before() -> String {
    "0".repeat(DIGITS)
}

/// Returns the byte range of a log's last line, without its newline, or `None` if the log is empty.
fn last_line(log: &File) -> io::Result<Option<Range<u64>>> {
    let length = log.metadata()?.len();
    let mut byte = [0];
    if length == 0 {
        return Ok(None);
    }
    log.read_exact_at(&mut byte, length - 1)?;
    let end = length - u64::from(byte == *b"\n");
    let mut start = end;
    let mut block = vec![0; BLOCK];
    while start > 0 {
        let from = start.saturating_sub(BLOCK as u64);
        let size = usize::try_from(start - from).unwrap_or(BLOCK);
        log.read_exact_at(&mut block[..size], from)?;
        if let Some(at) = memchr::memrchr(b'\n', &block[..size]) {
            start = from + at as u64 + 1;
            break;
        }
        start = from;
    }
    Ok(Some(start..end))
}

/// Returns the sha256 of a log's last line, for use in the next record. If a run was killed while
/// it was writing the last line, the incomplete line is hashed.
fn hash_of_last(mut log: &File) -> io::Result<String> {
    let Some(Range { start, end }) = last_line(log)? else { return Ok(none_before()) };
    log.seek(SeekFrom::Start(start))?;
    hash(&mut log.take(end - start))
}

/// Returns the time in the last record of a log, or `None` if it cannot be read.
pub(crate) fn time_of_last(log: &File) -> Option<DateTime<Utc>> {
    let Range { start, end } = last_line(log).ok()??;
    let mut head = vec![0; usize::try_from(end - start).map_or(HEAD, |left| left.min(HEAD))];
    log.read_exact_at(&mut head, start).ok()?;
    let key = b"\"time\":\"";
    let time = &head[memmem::find(&head, key)? + key.len()..];
    let time = &time[..memchr::memchr(b'"', time)?];
    Some(DateTime::parse_from_rfc3339(std::str::from_utf8(time).ok()?).ok()?.to_utc())
}

/// A line of the audit log whose recorded hash is missing or does not match the previous line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLink {
    /// The 1-based line number.
    pub line: u64,
    /// What is wrong with the line.
    pub why: &'static str,
}

const OTHER_LINE: &str =
    "it does not match the line before it; that line was changed, or lines were removed or added";
const NO_BEGINNING: &str = "the records before it are missing";
const NO_HASH: &str = "the record lacks the hash of the previous record";

/// Checks a log's hash chain in bounded memory. Lines before the first hashed record are accepted,
/// because older versions of the tools wrote no hashes.
fn check(log: impl Read) -> io::Result<Vec<BrokenLink>> {
    let mut broken = Vec::new();
    let (mut number, mut is_chained) = (0, false);
    let mut line_before: Option<Context> = None;
    each_piece(log, |piece, begins| {
        let piece = piece.strip_suffix(b"\n").unwrap_or(piece);
        if begins {
            number += 1;
            let before = line_before.take().map_or_else(none_before, |it| hex(it.finish()));
            let prev = prev(piece);
            is_chained |= prev.is_some();
            let is_whole = piece.starts_with(b"{") && piece.ends_with(b"}");
            let why = match prev {
                Some(prev) if prev == before.as_bytes() => None,
                Some(_) => Some(if number == 1 { NO_BEGINNING } else { OTHER_LINE }),
                None => (is_chained && is_whole).then_some(NO_HASH),
            };
            broken.extend(why.map(|why| BrokenLink { line: number, why }));
        }
        line_before.get_or_insert_with(|| Context::new(&SHA256)).update(piece);
    })?;
    Ok(broken)
}

/// Returns the previous line's hash, as recorded in this line of the log.
fn prev(line: &[u8]) -> Option<&[u8]> {
    let (prev, rest) = line.strip_prefix(PREV)?.split_at_checked(DIGITS)?;
    let is_hash = prev.iter().all(u8::is_ascii_hexdigit) && rest.starts_with(b"\"");
    is_hash.then_some(prev)
}

/// The length in bytes of the longest line that the tools write. A longer line comes from another
/// program, and is read in pieces of this length to bound memory use.
const LONGEST_LINE: u64 = 1 << 20;

/// Calls `see` with each piece of each line in a log. The second argument is true if the piece is
/// the start of a line.
fn each_piece(log: impl Read, mut see: impl FnMut(&[u8], bool)) -> io::Result<()> {
    let mut log = BufReader::with_capacity(128 * 1024, log);
    let (mut piece, mut begins) = (Vec::new(), true);
    while log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut piece)? > 0 {
        see(&piece, begins);
        begins = piece.ends_with(b"\n");
        piece.clear();
    }
    Ok(())
}

#[cfg(test)]
mod chain_tests {
    use std::io::{self, Read};

    use super::check;

    /// A reader that returns a log one byte at a time, and is interrupted by a signal before every
    /// read.
    struct Interrupted<'a>(&'a [u8], bool);

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.0.read(&mut buffer[..1])
        }
    }

    /// Checking the hash chain continues when a signal interrupts a read.
    #[test]
    fn a_chain_is_followed_through_interruptions() {
        let log = b"{\"time\":\"written by an older tool\"}\nhalf a line\n";
        let broken = check(&log[..]).expect("from memory");
        let again = check(Interrupted(log, false)).expect("goes on");
        assert_eq!(again, broken);
    }
}
