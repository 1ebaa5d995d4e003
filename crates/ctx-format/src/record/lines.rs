//! Splits a stream into records, in bounded memory.

use std::io::{self, Read};

use crate::{MAX_LINE, Origin, Piece, Record};

/// The initial size of the buffer, kept small so that short inputs touch little memory.
const FIRST_BUFFER: usize = 16 << 10;

/// The size of the buffer for longer inputs. For a line that does not fit, the buffer grows to the
/// size of the line, up to [`MAX_LINE`].
const BUFFER: usize = 256 << 10;

/// Reads lines and lends each line to the caller until the next one is read.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// `buffer[start..end]` has been read from the source but not yet returned.
    start: usize,
    end: usize,
    /// `buffer[start..start + scanned]` contains no `\n`.
    scanned: usize,
    number: u64,
    offset: u64,
    within_long: bool,
    at_end: bool,
    max_line: usize,
}

impl<R: Read> Lines<R> {
    /// Reads lines from `source`, which need not be buffered.
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            scanned: 0,
            number: 1,
            offset: 0,
            within_long: false,
            at_end: false,
            max_line: MAX_LINE,
        }
    }

    /// Returns the next line, or the next piece of a line that is too long.
    #[allow(clippy::should_implement_trait)] // An `Iterator` cannot lend its items.
    pub(crate) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        loop {
            let waiting = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', &waiting[self.scanned..]) {
                let length = self.scanned + at + 1;
                return Ok(Some(self.hand_on(length, true)));
            }
            self.scanned = waiting.len();
            if self.at_end {
                if self.scanned == 0 && !self.within_long {
                    return Ok(None);
                }
                return Ok(Some(self.hand_on(self.scanned, true)));
            }
            if self.scanned >= self.max_line {
                return Ok(Some(self.hand_on(self.scanned, false)));
            }
            self.fill()?;
        }
    }

    /// The bytes that have been read from the source but not yet returned.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The bytes that have been read from the source but not yet returned, and the source itself,
    /// from which the remaining bytes can be read.
    pub(crate) fn ahead_and_source(&mut self) -> (&[u8], &mut R) {
        (&self.buffer[self.start..self.end], &mut self.source)
    }

    /// Reads more bytes into [`Self::ahead`]. Returns false at the end of the input, or if the
    /// unreturned bytes have reached the maximum length of a line.
    pub(crate) fn read_ahead(&mut self) -> io::Result<bool> {
        if self.at_end || self.end - self.start >= self.max_line {
            return Ok(false);
        }
        self.fill()?;
        Ok(!self.at_end)
    }

    /// Returns the line that begins `at` bytes after the first unreturned byte, without its line
    /// ending. Returns only the beginning of the line if it does not fit into the buffer, and
    /// `None` at the end of the input.
    pub(crate) fn peek(&mut self, at: usize) -> io::Result<Option<&[u8]>> {
        loop {
            let end = memchr::memchr(b'\n', self.ahead().get(at..).unwrap_or_default());
            if end.is_some() || !self.read_ahead()? {
                let ahead = self.ahead().get(at..).filter(|ahead| !ahead.is_empty());
                return Ok(ahead.map(|ahead| &ahead[..end.unwrap_or(ahead.len())]));
            }
        }
    }

    /// Replaces the unreturned bytes with `text`. The source must have been read to its end.
    pub(crate) fn replace_ahead(&mut self, text: Vec<u8>) {
        (self.start, self.end, self.scanned) = (0, text.len(), 0);
        self.buffer = text;
    }

    fn hand_on(&mut self, length: usize, ends: bool) -> Record<'_> {
        let piece = match (self.within_long, ends) {
            (false, true) => Piece::Whole,
            (false, false) => Piece::First,
            (true, false) => Piece::Middle,
            (true, true) => Piece::Last,
        };
        let bytes = &self.buffer[self.start..self.start + length];
        let origin = Origin { line: self.number, offset: self.offset, piece, ..Origin::ALONE };
        self.within_long = !ends;
        self.number += u64::from(ends);
        self.offset += length as u64;
        self.start += length;
        self.scanned = 0;
        origin.record(bytes)
    }

    /// Makes room in the buffer, and then reads from the source once.
    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 && (self.start == self.end || self.end == self.buffer.len()) {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let size = match self.buffer.len() {
                0 => FIRST_BUFFER,
                size => (size * 2).clamp(BUFFER, self.max_line.max(BUFFER)),
            };
            self.buffer.resize(size.max(self.end + 1), 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Piece};
    use proptest::prelude::*;
    use std::io::{self, Read};

    /// A reader that returns at most a fixed number of bytes per call.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buffer.len()).min(self.0.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(input: &[u8], step: usize, max: usize) -> Vec<(Vec<u8>, u64, u64, Piece)> {
        let mut lines = Lines { max_line: max, ..Lines::new(Drip(input, step)) };
        let mut seen = Vec::new();
        while let Some(line) = lines.next().expect("no error") {
            seen.push((line.bytes.to_vec(), line.line, line.offset, line.piece));
        }
        seen
    }

    #[test]
    fn the_last_line_needs_no_end() {
        let seen = all(b"a\n\nb", 2, 100);
        let texts: Vec<_> = seen.iter().map(|line| line.0.as_slice()).collect();
        assert_eq!(texts, [&b"a\n"[..], b"\n", b"b"]);
        assert_eq!(seen[2].1, 3);
        assert_eq!(seen[2].2, 3);
    }

    #[test]
    fn a_long_line_comes_in_pieces() {
        let input = [vec![b'x'; 1 << 20], b"\ny\n".to_vec()].concat();
        let seen = all(&input, 4096, 64);
        assert_eq!(seen.first().map(|line| line.3), Some(Piece::First));
        let last_long = &seen[seen.len() - 2];
        assert_eq!((last_long.1, last_long.3), (1, Piece::Last));
        assert_eq!(seen.last().map(|line| (line.0.as_slice(), line.1)), Some((&b"y\n"[..], 2)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(input in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..600),
                           step in 1usize..50, max in 1usize..40) {
            let seen = all(&input, step, max);
            let joined: Vec<u8> = seen.iter().flat_map(|line| line.0.clone()).collect();
            prop_assert_eq!(&joined, &input);
            let mut offset = 0;
            for (bytes, _, at, _) in &seen {
                prop_assert_eq!(*at, offset);
                offset += bytes.len() as u64;
            }
        }
    }
}
