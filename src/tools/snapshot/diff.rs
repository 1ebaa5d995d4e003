//! `--diff A B`: which lines two snapshots do not share.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use ctx_cli::{ExitStatus, Failure, Io, Outcome, Paint};
use ctx_store::{Catalog, SessionId, Store};
use similar::{Algorithm, DiffOp};

use crate::store::failure;

/// A session as the hashes of its lines: sessions do not fit in memory twice.
struct Side {
    file: File,
    /// Offset and hash of each line.
    lines: Vec<(u64, u64)>,
    end: u64,
}

/// Prints the lines of A that B lacks as `-`, and those that B has instead as
/// `+`, in the hunks of a unified diff without context.
pub(super) fn diff(
    store: &Store,
    session: Option<&SessionId>,
    a: &str,
    b: &str,
    io: &mut Io,
) -> Outcome {
    let catalog = store.catalog(session).map_err(failure)?;
    let state = RandomState::new();
    let mut a = Side::open(store, &catalog, a, &state)?;
    let mut b = Side::open(store, &catalog, b, &state)?;
    let hashes = |side: &Side| side.lines.iter().map(|line| line.1).collect::<Vec<_>>();
    let ops = similar::capture_diff_slices(Algorithm::Myers, &hashes(&a), &hashes(&b));
    let mut same = true;
    for op in ops {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        same = false;
        hunk(&mut a, &mut b, &op.old_range(), &op.new_range(), io)
            .map_err(|error| Failure::stdout(&error))?;
    }
    Ok(if same {
        ExitStatus::Done
    } else {
        ExitStatus::No
    })
}

fn hunk(
    a: &mut Side,
    b: &mut Side,
    old: &Range<usize>,
    new: &Range<usize>,
    io: &mut Io,
) -> io::Result<()> {
    // A range of no lines stands after the line before it, as in diff(1).
    let start = |range: &Range<usize>| range.start + usize::from(!range.is_empty());
    let (from, to) = (start(old), start(new));
    writeln!(io.out(), "@@ -{from},{} +{to},{} @@", old.len(), new.len())?;
    for (side, range, sign, paint) in [(a, old, '-', Paint::Red), (b, new, '+', Paint::Green)] {
        for line in range.clone() {
            let text = side.read(line)?;
            let line = io.paint(paint, &format!("{sign}{}", shown(&text)));
            writeln!(io.out(), "{line}")?;
        }
    }
    Ok(())
}

/// A line without its end; what could drive a terminal is escaped.
fn shown(line: &[u8]) -> String {
    use std::fmt::Write;
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut shown = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() && c != '\t' {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

impl Side {
    fn open(
        store: &Store,
        catalog: &Catalog,
        wanted: &str,
        hasher: &RandomState,
    ) -> Result<Self, Failure> {
        let entry = catalog.find(wanted).map_err(failure)?;
        let (file, _) = store.open_verified(entry).map_err(failure)?;
        let name = entry.id.to_string();
        Self::index(file, hasher)
            .map_err(|error| Failure::new(format_args!("cannot read: {error}")).at(name, None))
    }

    fn index(file: File, hasher: &RandomState) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(128 * 1024, file);
        let (mut lines, mut line, mut end) = (Vec::new(), Vec::new(), 0);
        while reader.read_until(b'\n', &mut line)? > 0 {
            lines.push((end, hasher.hash_one(&line)));
            end += line.len() as u64;
            line.clear();
        }
        Ok(Self {
            file: reader.into_inner(),
            lines,
            end,
        })
    }

    fn read(&mut self, line: usize) -> io::Result<Vec<u8>> {
        let from = self.lines[line].0;
        let to = self.lines.get(line + 1).map_or(self.end, |next| next.0);
        self.file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&self.file).take(to - from).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_line_cannot_drive_the_terminal() {
        assert_eq!(
            shown(b"a\x1b]0;x\x07\xff\tb\n"),
            "a\\u{1b}]0;x\\u{7}\\xff\tb"
        );
    }
}
