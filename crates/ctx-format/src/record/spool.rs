//! A queue of waiting records. The queue is kept in memory until it exceeds a limit, and then in an
//! unnamed temporary file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// The maximum number of bytes to hold in memory before a file is used.
const IN_MEMORY: usize = 16 << 20;

/// A queue of bytes. The caller must remember the length of each item.
#[derive(Default)]
pub struct Spool {
    memory: Vec<u8>,
    /// The number of bytes at the start of `memory` that have been consumed.
    taken: usize,
    limit: usize,
    dir: PathBuf,
    overflow: Option<Overflow>,
}

/// The temporary file that holds the queue once the memory limit is exceeded. The file is dropped
/// when all its bytes have been consumed.
struct Overflow {
    file: BufWriter<File>,
    read: u64,
    written: u64,
}

const BLOCK: usize = 256 << 10;

impl Spool {
    /// Creates an empty spool. A temporary file is created in `dir` once the memory limit is
    /// exceeded.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self::with_limit(dir, IN_MEMORY)
    }

    /// Like [`Self::new`], but with a different memory limit in bytes.
    pub fn with_limit(dir: impl Into<PathBuf>, limit: usize) -> Self {
        Self { memory: Vec::new(), taken: 0, limit, dir: dir.into(), overflow: None }
    }

    /// Appends `bytes` to the end of the queue.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(overflow) = &mut self.overflow {
            return overflow.push(bytes);
        }
        if self.memory.len() - self.taken + bytes.len() <= self.limit {
            // Once half of `memory` has been consumed, its remaining bytes move to the start.
            if self.taken > 0 && self.taken >= self.memory.len() / 2 {
                self.memory.drain(..self.taken);
                self.taken = 0;
            }
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let file = BufWriter::with_capacity(BLOCK, tempfile::tempfile_in(&self.dir)?);
        let mut overflow = Overflow { file, read: 0, written: 0 };
        // The file may be in use until the program ends, so the queue's memory is freed here.
        overflow.push(&std::mem::take(&mut self.memory)[self.taken..])?;
        self.taken = 0;
        self.overflow.insert(overflow).push(bytes)
    }

    /// Removes the next `length` bytes from the queue, and writes them to `out`.
    pub fn pop_to(&mut self, length: usize, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.copy_to(0, length, out)?;
        let here = length.min(self.memory.len() - self.taken);
        self.taken += here;
        if let Some(overflow) = &mut self.overflow {
            overflow.read += (length - here) as u64;
            if overflow.read == overflow.written {
                self.overflow = None;
            }
        }
        Ok(())
    }

    /// Writes `length` bytes from the queue to `out` without consuming them. The first `start`
    /// bytes of the queue are skipped.
    pub fn copy_to(
        &mut self,
        start: usize,
        length: usize,
        out: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        let memory = &self.memory[self.taken..];
        let here = memory.get(start..).unwrap_or_default();
        let here = &here[..length.min(here.len())];
        out.write_all(here)?;
        let (left, start) = (length - here.len(), start.max(memory.len()) - memory.len());
        match &mut self.overflow {
            _ if left == 0 => Ok(()),
            Some(overflow) => overflow.copy_to(start as u64, left as u64, out),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Removes the next `length` bytes from the queue, and returns them.
    pub fn pop(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        self.pop_to(length, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes all unconsumed bytes to `out`.
    pub fn write_to(mut self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        out.write_all(&self.memory[self.taken..])?;
        self.overflow.as_mut().map_or(Ok(()), |it| it.copy_to(0, it.written - it.read, out))
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Overflow {
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Writes `length` bytes from the file to `out`. The first `start` unconsumed bytes are
    /// skipped.
    fn copy_to(
        &mut self,
        start: u64,
        length: u64,
        out: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.read + start))?;
        let copied = io::copy(&mut self.file.get_ref().take(length), out)?;
        self.file.seek(SeekFrom::Start(self.written))?;
        if copied < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Spool;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn all_that_is_left_is_written(bytes in proptest::collection::vec(any::<u8>(), 0..200), limit in 0usize..100, taken in 0usize..200, step in 1usize..50) {
            let mut spool = Spool::with_limit(std::env::temp_dir(), limit);
            for piece in bytes.chunks(step) {
                spool.push(piece).expect("push");
            }
            let taken = taken.min(bytes.len());
            prop_assert_eq!(&spool.pop(taken).expect("pop"), &bytes[..taken]);
            let mut left = Vec::new();
            spool.write_to(&mut left).expect("write");
            prop_assert_eq!(&left, &bytes[taken..]);
        }

        #[test]
        fn first_in_first_out(steps in proptest::collection::vec((any::<bool>(), 0usize..50), 0..200), limit in 0usize..100) {
            let mut spool = Spool::with_limit(std::env::temp_dir(), limit);
            let mut waiting = VecDeque::new();
            let mut next = 0u8;
            for (push, length) in steps {
                if push {
                    let bytes = vec![next; length];
                    next = next.wrapping_add(1);
                    spool.push(&bytes).expect("push");
                    waiting.push_back(bytes);
                } else if let Some(bytes) = waiting.pop_front() {
                    prop_assert_eq!(spool.pop(bytes.len()).expect("pop"), bytes);
                }
            }
            let mut start = 0;
            for bytes in &waiting {
                let mut copy = Vec::new();
                spool.copy_to(start, bytes.len(), &mut copy).expect("copy");
                prop_assert_eq!(&copy, bytes);
                start += bytes.len();
            }
            prop_assert!(spool.copy_to(start, 1, &mut Vec::new()).is_err());
            for bytes in waiting {
                prop_assert_eq!(spool.pop(bytes.len()).expect("pop"), bytes);
            }
            prop_assert!(spool.pop(1).is_err());
        }
    }
}
