//! `ctx-memory get` prints the text at a position `NAME:LINE`, which is the `ref` of a search
//! result.

use std::fmt;
use std::io::{self, BufRead, BufReader};

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Result, Statuses};
use ctx_format::Dialect;
use ctx_search::Hit;
use ctx_store::SnapshotBytes;
use ctx_tools::store::StoreArgs;

use crate::searchable_text::said_in_line;
use crate::stored::Stored;
use crate::write_text;

/// Print the text of a result of `ctx-memory search`
///
/// For a message in a snapshot, prints the bytes of its record; for a memory file, the entry or the
/// paragraph; for an offloaded result, all of its text. On a terminal, control characters are shown
/// as escapes; a file or a pipe gets the bytes unchanged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The `ref` of a result
    #[arg(value_name = "REF", required = true)]
    refs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
        let store = self.store.open(&crate::TOOL, matches)?;
        let stored = Stored::of(&store)?;
        let mut statuses = Statuses::default();
        for reference in &self.refs {
            match bytes(reference, &stored) {
                Ok(bytes) => {
                    write_text(&bytes, io)?;
                    statuses.add(ExitStatus::Done);
                }
                Err(failure) => statuses.failed(&failure, io),
            }
        }
        Ok(statuses.of_all())
    }
}

/// Finds the name among the sources of the store. It is never opened as a path.
fn bytes(reference: &str, stored: &Stored<'_>) -> Result<Vec<u8>> {
    let Some((name, place)) = SourceLine::parse(reference) else {
        return Err(Failure::new(format_args!("{reference}: not a ref"))
            .hint("copy the `ref` of a result of ctx-memory search, NAME:LINE"));
    };
    let missing = || {
        Failure::new(format_args!("{reference}: nothing has that name"))
            .hint("it may have been removed or changed; search again")
    };
    let source = stored.sources.iter().find(|source| source.name == name);
    let held = source.map_or(Ok(None), |source| stored.held(source, place))?;
    held.map(|held| held.bytes).ok_or_else(missing)
}

/// A line of a source, and the number of the message if the line has several. A session that is one
/// JSON document may have no line ends at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) line: u64,
    /// The number of messages in this line that start before it.
    pub(crate) nth: u64,
}

/// The number of bits for the line, because the index has one number for both.
const LINE_BITS: u32 = 40;

impl SourceLine {
    pub(crate) fn of_line(line: u64) -> Self {
        Self { line, nth: 0 }
    }

    pub(crate) fn to_number(self) -> u64 {
        self.nth << LINE_BITS | self.line
    }

    pub(crate) fn from_number(number: u64) -> Self {
        Self { line: number & ((1 << LINE_BITS) - 1), nth: number >> LINE_BITS }
    }

    /// Parses `NAME:LINE` or `NAME:LINE.N`.
    pub(crate) fn parse(text: &str) -> Option<(&str, Self)> {
        let (name, place) = text.rsplit_once(':')?;
        let (line, nth) = place.split_once('.').unwrap_or((place, "1"));
        let number = |digits: &str| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|number: &u64| is_number && *number > 0)
        };
        let nth = number(nth)? - 1;
        let line = number(line)?;
        Some((name, Self { line, nth }))
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            0 => write!(f, "{}", self.line),
            nth => write!(f, "{}.{}", self.line, nth + 1),
        }
    }
}

/// The number of bytes to read at a time. Most records are shorter.
const BUFFER: usize = 16 << 10;

/// Reads the text of results. Keeps a snapshot open, so that offsets in ascending order read a
/// packed one only once.
pub(crate) struct Again<'a> {
    stored: &'a Stored<'a>,
    open: Option<Open>,
}

struct Open {
    name: String,
    dialect: &'static dyn Dialect,
    bytes: BufReader<SnapshotBytes>,
    /// The offset of the next byte.
    at: u64,
}

impl<'a> Again<'a> {
    pub(crate) fn new(stored: &'a Stored<'a>) -> Self {
        Self { stored, open: None }
    }

    /// The text of a result, or `None` if it can no longer be read.
    pub(crate) fn text(&mut self, hit: &Hit) -> Option<String> {
        let quick = self.in_snapshot(hit);
        // If these bytes are not a record by themselves, read the session from its start.
        quick.or_else(|| {
            let held = self.stored.held(&hit.source, SourceLine::from_number(hit.line));
            held.ok().flatten().map(|held| held.text)
        })
    }

    fn in_snapshot(&mut self, hit: &Hit) -> Option<String> {
        let name = &hit.source.name;
        let fits = |open: &Open| open.name == *name && open.at <= hit.offset;
        if !self.open.as_ref().is_some_and(fits) {
            let (bytes, dialect) = self.stored.open_snapshot(name)?;
            let bytes = BufReader::with_capacity(BUFFER, bytes);
            self.open = Some(Open { name: name.clone(), dialect, bytes, at: 0 });
        }
        let open = self.open.as_mut()?;
        let line = open.line_at(hit.offset).ok()?;
        said_in_line(open.dialect, &line).map(|said| said.text)
    }
}

impl Open {
    /// Reads the line at an offset that has not been passed yet.
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

#[cfg(test)]
mod tests {
    use super::SourceLine;

    #[test]
    fn what_is_written_is_read() {
        for (line, nth, text) in [(7, 0, "a:b:7"), (1, 2, "a:b:1.3")] {
            let place = SourceLine { line, nth };
            assert_eq!(format!("a:b:{place}"), text);
            assert_eq!(SourceLine::parse(text), Some(("a:b", place)));
            assert_eq!(SourceLine::from_number(place.to_number()), place);
        }
        for bad in ["", "a", "a:", "a:x", "a:0", "a:1.0", "a:+1", "a:1.", "a:1.2.3"] {
            assert_eq!(SourceLine::parse(bad), None, "{bad}");
        }
    }
}
