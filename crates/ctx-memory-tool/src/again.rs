//! Texts of results, read again where the index says that they begin.

use std::io::{self, BufRead, BufReader};

use ctx_format::{Dialect, Object};
use ctx_search::Hit;
use ctx_store::SnapshotBytes;

use crate::place::Place;
use crate::said::said;
use crate::stored::Stored;

/// How much is read at a time: most records are shorter.
const BUFFER: usize = 16 << 10;

/// Reads texts again. A snapshot stays open: offsets in ascending order read a packed one once.
pub(crate) struct Again<'a> {
    stored: &'a Stored<'a>,
    open: Option<Open>,
}

struct Open {
    name: String,
    dialect: &'static dyn Dialect,
    bytes: BufReader<SnapshotBytes>,
    /// The offset of what is read next.
    at: u64,
}

impl<'a> Again<'a> {
    pub(crate) fn new(stored: &'a Stored<'a>) -> Self {
        Self { stored, open: None }
    }

    /// The text of a result, or `None` if it can no longer be read.
    pub(crate) fn text(&mut self, hit: &Hit) -> Option<String> {
        let quick = self.in_snapshot(hit);
        // If the bytes alone are not a record, read the session from its beginning.
        quick.or_else(|| {
            let held = self.stored.held(&hit.source, Place::from_number(hit.line));
            held.ok().flatten().map(|held| held.text)
        })
    }

    fn in_snapshot(&mut self, hit: &Hit) -> Option<String> {
        let name = &hit.source.name;
        let fits = |open: &Open| open.name == *name && open.at <= hit.offset;
        let open = if let Some(open) = self.open.take().filter(fits) {
            self.open.insert(open)
        } else {
            let (bytes, dialect) = self.stored.open_snapshot(name)?;
            self.open.insert(Open {
                name: name.clone(),
                dialect,
                bytes: BufReader::with_capacity(BUFFER, bytes),
                at: 0,
            })
        };
        let line = open.line_at(hit.offset).ok()?;
        let text = std::str::from_utf8(&line).ok()?;
        let text = text.trim_start_matches('\u{feff}').trim_end();
        let object = Object::parse(text).ok()?;
        said(open.dialect, &object).map(|said| said.text)
    }
}

impl Open {
    /// The line that begins at an offset that is not behind.
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
