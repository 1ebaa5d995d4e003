//! Reads a log a second time, after the first reading has shown which records are in the context.

use crate::log::Remedy;
use crate::record::line_end;
use crate::view::ViewBuilder;
use crate::{Class, Flaw, Log, Object, Origin, Record, Spool};
use std::collections::VecDeque;
use std::io::{self, BufReader, Read};

/// The source of the bytes for the second reading.
pub(crate) enum Source {
    /// A spool in which the first reading stored its bytes.
    Spool(Spool),
    /// A reader that returns the same bytes again.
    Reader(BufReader<Box<dyn Read + Send>>),
}

/// The results of the first reading, to be returned along with the bytes of each record.
pub(crate) struct SecondReading {
    source: Source,
    /// The origin and length of each record that the second reading has not returned yet.
    waiting: VecDeque<(Origin, usize)>,
    /// The number of records. All pieces of an overlong line count as one record.
    records: usize,
    /// Whether the session begins with a byte order mark.
    has_mark: bool,
    /// The bytes of the last record returned.
    bytes: Vec<u8>,
    /// The flaws of the session, each with its line number.
    pub(crate) flaws: Vec<(u64, Flaw)>,
}

impl SecondReading {
    /// Creates a second reading that has no records yet.
    pub(crate) fn new(source: Source) -> Self {
        let (waiting, bytes, flaws) = Default::default();
        Self { source, waiting, records: 0, has_mark: false, bytes, flaws }
    }

    /// Adds the next record from the first reading, and passes it to `view`.
    pub(crate) fn push(
        &mut self,
        record: &Record<'_>,
        view: &mut dyn ViewBuilder,
    ) -> io::Result<()> {
        if let Source::Spool(spool) = &mut self.source {
            spool.push(record.bytes)?;
        }
        self.has_mark |= record.skipped > 0;
        if record.piece.begins() {
            show(view, self.records, record);
            self.records += 1;
        }
        let length = record.bytes.len();
        self.waiting.push_back((record.origin.clone(), length));
        Ok(())
    }

    /// Ends the first reading of a session of the agent `log`, and asks the view which records are
    /// in the context.
    pub(crate) fn finish(mut self, view: &dyn ViewBuilder, log: &dyn Log) -> Self {
        let mut view = view.view();
        let mark = log.flaw_if_any(0, "byte-order-mark").filter(|_| self.has_mark);
        view.flaws.extend(mark.map(|flaw| flaw.repaired_by(Remedy::Unmark)));
        view.flaws.sort_by_key(|flaw| flaw.record);
        let mut flaws = std::mem::take(&mut view.flaws).into_iter().peekable();
        let mut records = 0;
        for (origin, _) in &mut self.waiting {
            if origin.piece.begins() {
                records += 1;
                let of_record = std::iter::from_fn(|| flaws.next_if(|it| it.record < records));
                self.flaws.extend(of_record.map(|flaw| (origin.line, flaw)));
            }
            origin.presence = Some(view.of(records - 1));
            origin.portion = view.portion(records - 1);
        }
        self
    }

    /// Returns the next record of the second reading.
    pub(crate) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        let Some((origin, length)) = self.waiting.pop_front() else { return Ok(None) };
        self.bytes.clear();
        match &mut self.source {
            Source::Spool(spool) => spool.pop_to(length, &mut self.bytes)?,
            Source::Reader(source) => {
                let read = source.take(length as u64).read_to_end(&mut self.bytes)?;
                if read < length {
                    let kind = io::ErrorKind::UnexpectedEof;
                    return Err(io::Error::new(kind, "the session shrank while it was being read"));
                }
            }
        }
        Ok(Some(origin.record(&self.bytes)))
    }
}

/// Passes a record to a view. The caller must pass only the first piece of an overlong line.
pub fn show(view: &mut dyn ViewBuilder, number: usize, record: &Record<'_>) {
    match record.object() {
        Some(object) if record.class == Class::Concatenated => view.push_first_of(number, object),
        Some(object) => view.push(number, object),
        None if record.class.is_bad() => show_bad(view, number, record),
        None if record.class == Class::Blank => {
            let text = record.bytes.get(record.skipped..).unwrap_or_default();
            view.push_blank(number, &text[..text.len() - line_end(text).len()]);
        }
        None => {}
    }
}

/// Passes a bad line to a view, because some agents read part of such a line.
fn show_bad(view: &mut dyn ViewBuilder, number: usize, record: &Record<'_>) {
    let text = String::from_utf8_lossy(record.bytes.get(record.skipped..).unwrap_or_default());
    let is_read = matches!(record.class, Class::Broken | Class::Nul | Class::NotUtf8);
    match Object::parse(&text) {
        Ok(object) if is_read && record.class != Class::NotUtf8 => {
            view.push_first_of(number, &object);
        }
        Ok(object) if is_read && object.rest().trim_ascii().is_empty() => {
            view.push_replaced(number, &object);
        }
        _ => view.push_bad(number),
    }
}

/// A source that can be examined before it is read. All bytes are read again from the start,
/// including those that were examined.
pub(crate) struct Again<R> {
    looked_at: Spool,
    /// The number of bytes in `looked_at`.
    waiting: usize,
    rest: R,
}

/// Examines bytes from a source before the source is read.
pub(crate) struct Look<'a, R> {
    again: &'a mut Again<R>,
    /// The number of bytes that may be examined before the limit is reached.
    room: usize,
}

impl<R: Read> Again<R> {
    pub(crate) fn new(rest: R) -> Self {
        Self { looked_at: Spool::default(), waiting: 0, rest }
    }

    /// Returns a reader that examines the source's bytes. The bytes that it returns are kept in
    /// `spool`, to be read again. After `most` bytes, the reader behaves as if the input had ended.
    pub(crate) fn look(&mut self, spool: Spool, most: usize) -> Look<'_, R> {
        self.looked_at = spool;
        Look { again: self, room: most }
    }
}

impl<R: Read> Read for Look<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.room);
        let read = self.again.rest.read(&mut buffer[..length])?;
        self.again.looked_at.push(&buffer[..read])?;
        self.again.waiting += read;
        self.room -= read;
        Ok(read)
    }
}

impl<R: Read> Read for Again<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.waiting == 0 {
            return self.rest.read(buffer);
        }
        let length = buffer.len().min(self.waiting);
        self.looked_at.pop_to(length, &mut &mut buffer[..length])?;
        self.waiting -= length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::Again;
    use crate::Spool;

    #[test]
    fn what_was_looked_at_comes_once_more() {
        let text = "0123456789".repeat(20);
        for (most, seen) in [(0, 0), (50, 50), (usize::MAX, 200)] {
            let mut again = Again::new(text.as_bytes());
            let mut begin = [0; 7];
            again.read_exact(&mut begin).expect("from memory");
            let spool = Spool::with_limit(std::env::temp_dir(), 30);
            let mut looked = String::new();
            let mut look = again.look(spool, most);
            look.read_to_string(&mut looked).expect("from a file");
            assert_eq!(looked, text[7..][..seen.min(193)]);
            let mut rest = String::new();
            again.read_to_string(&mut rest).expect("from a file");
            assert_eq!(rest, text[7..]);
        }
    }
}
