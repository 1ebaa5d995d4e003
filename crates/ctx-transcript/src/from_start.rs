//! A file that is read from its start by several at once.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Reads a file from its start without moving the position that all its handles share.
pub struct FromStart {
    file: File,
    at: u64,
}

impl FromStart {
    /// Nothing read yet.
    pub fn new(file: File) -> Self {
        Self { file, at: 0 }
    }
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
