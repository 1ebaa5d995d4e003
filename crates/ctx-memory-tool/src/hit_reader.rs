//! Reads the text of search results.

use std::io::{self, BufRead, BufReader};

use ctx_format::Dialect;
use ctx_search::Hit;
use ctx_store::SnapshotBytes;

use crate::searchable_text::said_in_line;
use crate::stored::{SourceLine, Stored};

/// The number of bytes to read at a time. Most records fit into a buffer of this size.
const BUFFER: usize = 16 << 10;

/// Reads the text of search results. Keeps the most recent snapshot open, so that a packed snapshot
/// is unpacked only once if its results are read in ascending order.
pub(crate) struct HitReader<'a> {
    stored: &'a Stored<'a>,
    open: Option<Open>,
}

struct Open {
    name: String,
    dialect: &'static dyn Dialect,
    bytes: BufReader<SnapshotBytes>,
    /// The offset of the next byte to read from the snapshot.
    at: u64,
}

impl<'a> HitReader<'a> {
    pub(crate) fn new(stored: &'a Stored<'a>) -> Self {
        Self { stored, open: None }
    }

    /// Returns the text of a result, or `None` if it can no longer be read.
    pub(crate) fn text(&mut self, hit: &Hit) -> Option<String> {
        let quick = self.in_snapshot(hit);
        // If the line is not a complete record, read the session from the start.
        quick.or_else(|| {
            let held = self.stored.held(&hit.source, SourceLine::from_number(hit.line));
            held.ok().flatten().map(|held| held.text)
        })
    }

    fn in_snapshot(&mut self, hit: &Hit) -> Option<String> {
        let name = &hit.source.name;
        if !self.open.as_ref().is_some_and(|open| open.name == *name && open.at <= hit.offset) {
            let (bytes, dialect) = self.stored.open_snapshot(name)?;
            let bytes = BufReader::with_capacity(BUFFER, bytes);
            self.open = Some(Open { name: name.clone(), dialect, bytes, at: 0 });
        }
        let open = self.open.as_mut()?;
        said_in_line(open.dialect, &open.line_at(hit.offset).ok()?).map(|said| said.text)
    }
}

impl Open {
    /// Reads the line at `offset`, which must not be before the current position.
    fn line_at(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        let ahead = offset - self.at;
        let buffered = self.bytes.buffer().len();
        match usize::try_from(ahead) {
            Ok(ahead) if ahead <= buffered => self.bytes.consume(ahead),
            _ => {
                self.bytes.consume(buffered);
                self.bytes.get_mut().skip(ahead - buffered as u64)?;
            }
        }
        let mut line = Vec::new();
        self.bytes.read_until(b'\n', &mut line)?;
        self.at = offset + line.len() as u64;
        Ok(line)
    }
}
