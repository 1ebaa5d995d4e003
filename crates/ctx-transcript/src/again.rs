//! A source that can be looked at before it is read.

use std::io::{self, Read};

use crate::Spool;

/// Gives what was looked at once more, and then the rest.
pub(crate) struct Again<R> {
    looked_at: Spool,
    /// Bytes that wait in it.
    waiting: usize,
    rest: R,
}

/// The source while it is looked at.
pub(crate) struct Look<'a, R> {
    again: &'a mut Again<R>,
    /// How many bytes may still wait.
    room: usize,
}

impl<R: Read> Again<R> {
    pub(crate) fn new(rest: R) -> Self {
        Self {
            looked_at: Spool::with_limit("", 0),
            waiting: 0,
            rest,
        }
    }

    /// Reads what nobody has read yet. It waits in `spool`, up to so many bytes, where the
    /// input seems to end.
    pub(crate) fn look(&mut self, spool: Spool, most: usize) -> Look<'_, R> {
        self.looked_at = spool;
        Look {
            again: self,
            room: most,
        }
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
