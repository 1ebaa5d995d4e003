//! The hash chain of the audit log. Each record begins with the sha256 of the previous line, so a
//! record that was changed, removed or inserted shows.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use chrono::{DateTime, Utc};

use memchr::memmem;
use sha2::{Digest, Sha256};

use crate::fs::hex;

/// How a record of a chain begins.
const PREV: &[u8] = b"{\"prev\":\"";
/// Digits of a hash.
const DIGITS: usize = 64;
/// The number of bytes of a line that are parsed. The hash and the time are within them.
const HEAD: usize = 256;
const BLOCK: usize = 64 * 1024;

/// The placeholder for a hash in the first record of a log.
pub(crate) fn none_before() -> String {
    "0".repeat(DIGITS)
}

/// Where the last line of a log is, without its end.
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

/// sha256 of the last line of a log, for the record that is to follow it. A run that was
/// killed may have left half a record: that is a line like any other.
pub(crate) fn hash_of_last(log: &File) -> io::Result<String> {
    let Some(Range { mut start, end }) = last_line(log)? else {
        return Ok(none_before());
    };
    let mut hasher = Sha256::new();
    let mut block = vec![0; BLOCK];
    while start < end {
        let size = usize::try_from(end - start).map_or(BLOCK, |left| left.min(BLOCK));
        log.read_exact_at(&mut block[..size], start)?;
        hasher.update(&block[..size]);
        start += size as u64;
    }
    Ok(hex(&hasher.finalize()))
}

/// The time of the last record of a log.
pub(crate) fn time_of_last(log: &File) -> Option<DateTime<Utc>> {
    let Range { start, end } = last_line(log).ok()??;
    let mut head = vec![0; usize::try_from(end - start).map_or(HEAD, |left| left.min(HEAD))];
    log.read_exact_at(&mut head, start).ok()?;
    let key = b"\"time\":\"";
    let time = &head[memmem::find(&head, key)? + key.len()..];
    let time = &time[..memchr::memchr(b'"', time)?];
    let time = DateTime::parse_from_rfc3339(std::str::from_utf8(time).ok()?);
    Some(time.ok()?.to_utc())
}

/// A line of the audit log that does not follow from the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLink {
    /// Its number, from 1.
    pub line: u64,
    /// The problem.
    pub why: &'static str,
}

const OTHER_LINE: &str =
    "it does not follow from the line before it: that was changed, or lines are missing or added";
const NO_BEGINNING: &str = "the records before it are missing";
const NO_HASH: &str = "it is a record without the hash of the one before it";

/// The beginning of a line.
#[derive(Default)]
struct Line {
    hasher: Sha256,
    head: Vec<u8>,
    last: u8,
}

impl Line {
    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.last = bytes.last().copied().unwrap_or(self.last);
    }

    /// The hash of the line before it that it has.
    fn prev(&self) -> Option<&[u8]> {
        let rest = self.head.strip_prefix(PREV)?;
        let prev = rest.get(..DIGITS)?;
        let is_hex = prev.iter().all(u8::is_ascii_hexdigit);
        (is_hex && rest.get(DIGITS) == Some(&b'"')).then_some(prev)
    }

    /// Whether it is a record and no half of one.
    fn is_whole(&self) -> bool {
        self.head.first() == Some(&b'{') && self.last == b'}'
    }
}

/// Follows the chain through a log, in bounded memory. Lines before the first record of the
/// chain are those of older tools.
pub(crate) fn check(log: impl Read) -> io::Result<Vec<BrokenLink>> {
    let mut log = BufReader::with_capacity(BLOCK, log);
    let mut broken = Vec::new();
    let mut before: Option<String> = None;
    let mut is_chained = false;
    for number in 1.. {
        let Some(line) = next_line(&mut log)? else {
            break;
        };
        let why = match line.prev() {
            Some(prev) => {
                is_chained = true;
                let expected = before.clone().unwrap_or_else(none_before);
                match prev == expected.as_bytes() {
                    true => None,
                    false if before.is_none() => Some(NO_BEGINNING),
                    false => Some(OTHER_LINE),
                }
            }
            None => (is_chained && line.is_whole()).then_some(NO_HASH),
        };
        broken.extend(why.map(|why| BrokenLink { line: number, why }));
        before = Some(hex(&line.hasher.finalize()));
    }
    Ok(broken)
}

fn next_line(log: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Line::default();
    let mut is_begun = false;
    loop {
        let bytes = match log.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        if bytes.is_empty() {
            return Ok(is_begun.then_some(line));
        }
        is_begun = true;
        let end = memchr::memchr(b'\n', bytes);
        line.add(&bytes[..end.unwrap_or(bytes.len())]);
        let used = end.map_or(bytes.len(), |end| end + 1);
        log.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::check;

    /// A log that a signal interrupts before each byte.
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

    /// C9: a read that a signal interrupts continues.
    #[test]
    fn a_chain_is_followed_through_interruptions() {
        let log = b"{\"time\":\"of an older tool\"}\nhalf a line\n";
        let broken = check(&log[..]).expect("from memory");
        let again = check(Interrupted(log, false)).expect("goes on");
        assert_eq!(again, broken);
    }
}
