//! Lines of JSON with their long strings cut short: what a session looks like, a tenth of its
//! size, at the speed of a search for quotes.
//!
//! What is left is the same JSON with the same structure, so all that reads a session reads
//! this, too, and finds the same messages in it. A line that is no JSON is none afterwards.

mod string;

use std::io::{self, Read};

use ctx_transcript::MAX_LINE;

use string::Cut;
pub use string::length;

/// How much is read at a time: it stays near the processor until it is shrunk.
const CHUNK: usize = 64 << 10;

/// The member of a record whose strings are left out: the half of a file of Claude Code, which
/// no model is sent and no dialect reads as a message. What is no string stays, so that a line
/// that is no JSON is none afterwards.
const UNREAD: &[u8] = b"toolUseResult";

/// Gives the lines of `source`, each shrunk.
pub struct Shrink<R> {
    source: R,
    /// `input[start..end]` is read and not yet shrunk; no line ends in it.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// What of `input[start..end]` was searched for a line end.
    scanned: usize,
    /// Shrunk, of which `taken` bytes are handed out.
    output: Vec<u8>,
    taken: usize,
    /// Within a line that is too long to be looked at.
    within_long: bool,
    at_end: bool,
}

impl<R: Read> Shrink<R> {
    /// Reads `source` to its end.
    pub fn new(source: R) -> Self {
        Self {
            source,
            input: Vec::new(),
            start: 0,
            end: 0,
            scanned: 0,
            output: Vec::new(),
            taken: 0,
            within_long: false,
            at_end: false,
        }
    }

    /// Shrinks the lines that are there; reads where there is none.
    fn advance(&mut self) -> io::Result<()> {
        self.output.clear();
        self.taken = 0;
        let waiting = &self.input[self.start..self.end];
        let end = memchr::memrchr(b'\n', &waiting[self.scanned..]);
        if let Some(end) = end {
            let length = self.scanned + end + 1;
            self.shrink(length);
        } else if self.at_end {
            self.shrink(waiting.len());
        } else if waiting.len() >= MAX_LINE {
            if !std::mem::replace(&mut self.within_long, true) {
                // What is not looked at is no record, as for all that reads sessions.
                self.output.push(0);
            }
            (self.start, self.scanned) = (self.end, 0);
        } else {
            self.scanned = waiting.len();
            self.fill()?;
        }
        Ok(())
    }

    /// Shrinks the next `length` bytes: whole lines, but for the last one of the input.
    fn shrink(&mut self, length: usize) {
        let mut lines = &self.input[self.start..self.start + length];
        let is_text = simdutf8::basic::from_utf8(lines).is_ok();
        while !lines.is_empty() {
            let end = memchr::memchr(b'\n', lines).map_or(lines.len(), |end| end + 1);
            let (line, rest) = lines.split_at(end);
            if std::mem::take(&mut self.within_long) {
                self.output.push(b'\n');
            } else if is_text || simdutf8::basic::from_utf8(line).is_ok() {
                line_to(line, &mut self.output);
            } else {
                // Nobody reads it.
                self.output.extend_from_slice(line);
            }
            lines = rest;
        }
        self.start += length;
        self.scanned = 0;
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.input.len() - self.end < CHUNK {
            let size = (self.input.len() * 2).max(self.end + CHUNK);
            self.input.resize(size, 0);
        }
        loop {
            match self.source.read(&mut self.input[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

impl<R: Read> Read for Shrink<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.output.len() {
            if self.at_end && self.start == self.end {
                return Ok(0);
            }
            self.advance()?;
        }
        let ready = &self.output[self.taken..];
        let length = ready.len().min(buffer.len());
        buffer[..length].copy_from_slice(&ready[..length]);
        self.taken += length;
        Ok(length)
    }
}

/// Puts a line of UTF-8 into `output`, shrunk.
fn line_to(line: &[u8], output: &mut Vec<u8>) {
    let (mut at, mut copied) = (0, 0);
    let mut depth = 0_usize;
    let mut last: &[u8] = b"";
    let mut is_unread = false;
    while let Some(byte) = line.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let string = &line[at..];
                let Some(cut) = Cut::of(string) else {
                    // No string of JSON: nothing of it may become one.
                    break;
                };
                if is_unread {
                    output.extend_from_slice(&line[copied..at]);
                    copied = at + cut.end - 1;
                } else if cut.changes() {
                    output.extend_from_slice(&line[copied..at]);
                    cut.to(string, output);
                    copied = at + cut.end;
                }
                last = &string[..cut.end - 1];
                at += cut.end;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                is_unread &= depth > 0;
            }
            b':' if depth == 1 => is_unread = last == UNREAD,
            b',' if depth == 1 => is_unread = false,
            _ => {}
        }
    }
    output.extend_from_slice(&line[copied..]);
}

#[cfg(test)]
mod tests;
