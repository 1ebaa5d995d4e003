//! Passes records on unchanged, the last one only when everything is done.

use std::io::{self, ErrorKind, Write};

use ctx_engine::PassError;

/// Writes records. The last one is held back until [`Self::into_parts`] hands it out: without
/// it a later tool sees that something failed here.
pub(super) struct HoldingWriter<W> {
    /// `None` once its reader went away: that ends the output, not the work.
    output: Option<W>,
    held: Vec<u8>,
}

impl<W: Write> HoldingWriter<W> {
    /// A writer to `output`.
    pub(super) fn new(output: W) -> Self {
        Self { output: Some(output), held: Vec::new() }
    }

    /// The next record.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), PassError> {
        self.write_held()?;
        self.held.clear();
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// Flushes all but the last record, so that a failing output is noticed before anything depends
    /// on it.
    pub(super) fn flush(&mut self) -> Result<(), PassError> {
        self.with(|output, _| output.flush())
    }

    /// Returns the output, unless its reader went away, and the last record, which the caller
    /// writes when all is done.
    pub(super) fn into_parts(self) -> (Option<W>, Vec<u8>) {
        (self.output, self.held)
    }

    fn write_held(&mut self) -> Result<(), PassError> {
        self.with(W::write_all)
    }

    fn with(
        &mut self,
        write: impl FnOnce(&mut W, &[u8]) -> io::Result<()>,
    ) -> Result<(), PassError> {
        let Some(output) = &mut self.output else {
            return Ok(());
        };
        match write(output, &self.held) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.output = None,
            other => other.map_err(PassError::output)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind, Write};

    use super::HoldingWriter;

    /// Accepts this many bytes, then fails with this error.
    struct Narrow(usize, ErrorKind, Vec<u8>);

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.2.len() + bytes.len() > self.0 {
                return Err(self.1.into());
            }
            self.2.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_last_record_waits_for_the_end() {
        let mut written = Vec::new();
        let mut writer = HoldingWriter::new(&mut written);
        writer.push(b"one\n").expect("to memory");
        writer.push(b"two\n").expect("to memory");
        writer.flush().expect("to memory");
        drop(writer);
        assert_eq!(written, b"one\n");
        let mut writer = HoldingWriter::new(Vec::new());
        for record in ["one\n", "two\n"] {
            writer.push(record.as_bytes()).expect("to memory");
        }
        let (written, held) = writer.into_parts();
        assert_eq!(written.expect("an output"), b"one\n");
        assert_eq!(held, b"two\n");
    }

    #[test]
    fn without_a_reader_the_work_goes_on() {
        let mut writer = HoldingWriter::new(Narrow(4, ErrorKind::BrokenPipe, Vec::new()));
        for record in ["one\n", "two\n", "three\n"] {
            writer.push(record.as_bytes()).expect("nobody reads it");
        }
        assert!(writer.into_parts().0.is_none());
    }

    #[test]
    fn an_output_that_fails_is_an_error() {
        let mut writer = HoldingWriter::new(Narrow(4, ErrorKind::StorageFull, Vec::new()));
        writer.push(b"one\n").expect("held");
        writer.push(b"two\n").expect("it has room");
        writer.push(b"three\n").expect_err("it is full");
    }
}
