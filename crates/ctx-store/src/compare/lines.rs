//! Which lines two sessions do not share.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use similar::{Algorithm, DiffOp};

use crate::error::{OrCannot, StoreError};
use crate::snapshot::Entry;
use crate::store::Store;

/// Lines of the old session and the lines that the new one has in their place, counted
/// from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines that are gone.
    pub old: Range<usize>,
    /// The lines that are new.
    pub new: Range<usize>,
}

/// Two sessions, compared line by line.
pub struct Diff {
    /// The one that is there before.
    pub old: Lines,
    /// The one that is compared with it.
    pub new: Lines,
    /// The differences, in order.
    pub hunks: Vec<Hunk>,
}

/// The lines of a file. Only their hashes are in memory: two sessions may not fit into it.
pub struct Lines {
    file: File,
    /// Where each line begins, and where the last one ends.
    bounds: Vec<u64>,
    hashes: Vec<u64>,
}

impl Store {
    /// The bytes of a snapshot, checked, in a file to go back and forth in.
    pub fn open_to_compare(&self, entry: &Entry) -> Result<File, StoreError> {
        let (bytes, _) = self.open_verified(entry)?;
        bytes.into_file().or_cannot("read", &self.data_path(&entry.id))
    }
}

impl Diff {
    /// Compares two files, of which the bytes of snapshots were checked.
    pub fn of_files(old: File, new: File) -> io::Result<Self> {
        let hasher = RandomState::new();
        Ok(Self::of(Lines::of(old, &hasher)?, Lines::of(new, &hasher)?))
    }

    fn of(old: Lines, new: Lines) -> Self {
        let ops = similar::capture_diff_slices(Algorithm::Myers, &old.hashes, &new.hashes);
        let differs = |op: &DiffOp| !matches!(op, DiffOp::Equal { .. });
        let hunks = ops
            .into_iter()
            .filter(differs)
            .map(|op| Hunk { old: op.old_range(), new: op.new_range() });
        let hunks = hunks.collect();
        Self { old, new, hunks }
    }
}

impl Lines {
    fn of(file: File, hasher: &RandomState) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(128 * 1024, file);
        let (mut bounds, mut measured, mut line) = (vec![0], Vec::new(), Vec::new());
        let mut end = 0;
        while reader.read_until(b'\n', &mut line)? > 0 {
            end += line.len() as u64;
            bounds.push(end);
            measured.push(hasher.hash_one(&line));
            line.clear();
        }
        Ok(Self { file: reader.into_inner(), bounds, hashes: measured })
    }

    /// The bytes of a line, with its end.
    pub fn read(&mut self, line: usize) -> io::Result<Vec<u8>> {
        let (from, to) = (self.bounds[line], self.bounds[line + 1]);
        self.file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&self.file).take(to - from).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Diff, Hunk};
    use crate::tests::Bench;

    fn diff(old: &str, new: &str) -> Diff {
        let bench = Bench::new();
        bench.take("demo", old.as_bytes());
        bench.take("demo", new.as_bytes());
        let entries = bench.store.catalog(None).expect("lists").entries;
        let open = |at: usize| bench.store.open_to_compare(&entries[at]).expect("opens");
        Diff::of_files(open(0), open(1)).expect("read")
    }

    #[test]
    fn only_lines_that_are_not_shared_are_in_hunks() {
        let mut diff = diff("a\nb\nc\nd", "a\nc\nx\ny\n");
        let hunk = |old, new| Hunk { old, new };
        assert_eq!(diff.hunks, [hunk(1..2, 1..1), hunk(3..4, 2..4)]);
        assert_eq!(diff.old.read(1).expect("read"), b"b\n");
        assert_eq!(diff.old.read(3).expect("read"), b"d");
        assert_eq!(diff.new.read(3).expect("read"), b"y\n");
    }

    #[test]
    fn equal_sessions_have_no_hunks() {
        for text in ["", "a\n", "a\nb"] {
            assert_eq!(diff(text, text).hunks, []);
        }
        assert_eq!(diff("", "a\n").hunks.len(), 1);
    }
}
