//! Compares two sessions: finds the messages and lines that only one of them contains, and the
//! changes within messages that both contain.

mod brief;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use brief::changes_within;
use similar::{Algorithm, DiffOp};

use crate::error::{OrCannot, Result};
use crate::{Entry, Store};

pub use brief::Brief;

/// A difference in one record between two sessions.
#[derive(Clone, Debug)]
pub enum Change {
    /// Only the old session contains the record.
    Removed(Brief),
    /// Only the new session contains the record.
    Added(Brief),
    /// The content of the record changed.
    Changed {
        /// The record in the old session.
        old: Brief,
        /// The record in the new session.
        new: Brief,
        /// The differences between the two records, in words.
        what: Vec<String>,
    },
    /// The record was moved, but its bytes are the same.
    Moved {
        /// The line number of the record in the old session.
        from: u64,
        /// The record in the new session.
        new: Brief,
    },
}

/// The result of comparing two sessions record by record.
#[derive(Debug)]
pub struct Comparison {
    /// The differences, in the order of the new session.
    pub changes: Vec<Change>,
    /// The number of identical records that occur in both sessions in the same order.
    pub same: usize,
}

/// Compares two sessions message by message. Records that are not messages are compared as well.
pub fn compare(old: impl Read, new: impl Read) -> io::Result<Comparison> {
    let hasher = RandomState::new();
    let old = brief::read(old, &hasher)?;
    let new = brief::read(new, &hasher)?;
    Ok(Pairing::of(&old, &new, &hasher).comparison())
}

/// Matches the records of two sessions.
struct Pairing<'a> {
    old: &'a [Brief],
    new: &'a [Brief],
    /// For each record in the new session, the index of the matching record in the old session, and
    /// how the record changed.
    pairs: Vec<Option<(usize, LineChange)>>,
    /// For each record in the old session, whether some record in the new one matches it.
    is_paired: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineChange {
    Kept,
    Moved,
    Changed,
}

impl<'a> Pairing<'a> {
    fn of(old: &'a [Brief], new: &'a [Brief], hasher: &RandomState) -> Self {
        let mut pairing =
            Self { old, new, pairs: vec![None; new.len()], is_paired: vec![false; old.len()] };
        pairing.in_order();
        pairing.by(LineChange::Moved, |brief, _| vec![brief.hash]);
        pairing.by(LineChange::Changed, |brief, _| brief.keys.clone());
        // Pair records that have the same role, begin alike, and are between the same neighbours.
        pairing.by(LineChange::Changed, |brief, gap| {
            alike(brief).map(|alike| hasher.hash_one((gap, alike))).into_iter().collect()
        });
        pairing
    }

    /// Pairs identical records that occur in both sessions in the same order. Looks only at records
    /// that occur in both sessions, because a compaction may remove thousands of records, and it
    /// would take too long to align those records as well.
    fn in_order(&mut self) {
        let common = |these: &[Brief], others: &[Brief]| -> Vec<usize> {
            let others: HashSet<u64> = others.iter().map(|brief| brief.hash).collect();
            (0..these.len()).filter(|at| others.contains(&these[*at].hash)).collect()
        };
        let (old, new) = (common(self.old, self.new), common(self.new, self.old));
        let hashes = |briefs: &[Brief], at: &[usize]| -> Vec<u64> {
            at.iter().map(|at| briefs[*at].hash).collect()
        };
        let (a, b) = (hashes(self.old, &old), hashes(self.new, &new));
        for op in similar::capture_diff_slices(Algorithm::Myers, &a, &b) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                for at in 0..len {
                    self.pair(old[old_index + at], new[new_index + at], LineChange::Kept);
                }
            }
        }
    }

    fn pair(&mut self, old: usize, new: usize, place: LineChange) {
        self.pairs[new] = Some((old, place));
        self.is_paired[old] = true;
    }

    /// Pairs the remaining records that share a key, in order. `keys` computes a record's keys,
    /// given the number of kept records before it.
    fn by(&mut self, place: LineChange, keys: impl Fn(&Brief, usize) -> Vec<u64>) {
        let (old, new) = (self.old, self.new);
        let (old_gaps, new_gaps) = self.gaps();
        let mut known: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (at, brief) in old.iter().enumerate().filter(|(at, _)| !self.is_paired[*at]) {
            for key in keys(brief, old_gaps[at]) {
                known.entry(key).or_default().push_back(at);
            }
        }
        for (at, brief) in new.iter().enumerate() {
            if self.pairs[at].is_some() {
                continue;
            }
            let found = keys(brief, new_gaps[at]).into_iter().find_map(|key| {
                let olds = known.get_mut(&key)?;
                while olds.front().is_some_and(|old| self.is_paired[*old]) {
                    olds.pop_front();
                }
                olds.pop_front()
            });
            if let Some(old) = found {
                self.pair(old, at, place);
            }
        }
    }

    /// For each record of the old and of the new session, counts the kept records before it.
    fn gaps(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut old_kept, mut new_kept) =
            (vec![false; self.old.len()], vec![false; self.new.len()]);
        for (new, pair) in self.pairs.iter().enumerate() {
            if let Some((old, LineChange::Kept)) = pair {
                (old_kept[*old], new_kept[new]) = (true, true);
            }
        }
        let count = |kept: Vec<bool>| {
            let mut before = 0;
            let gaps = kept.into_iter().map(|is_kept| {
                before += usize::from(is_kept);
                before - usize::from(is_kept)
            });
            gaps.collect()
        };
        (count(old_kept), count(new_kept))
    }

    /// Lists the differences in the order of the new session. A removed record is listed before the
    /// record that replaced it.
    fn comparison(&self) -> Comparison {
        let (old_gaps, new_gaps) = self.gaps();
        let mut changes: Vec<((usize, bool, usize), Change)> = Vec::new();
        for (at, brief) in self.old.iter().enumerate() {
            if !self.is_paired[at] {
                changes.push(((old_gaps[at], false, at), Change::Removed(brief.clone())));
            }
        }
        let mut same = 0;
        for (at, brief) in self.new.iter().enumerate() {
            let new = brief.clone();
            let change = match self.pairs[at] {
                Some((_, LineChange::Kept)) => {
                    same += 1;
                    continue;
                }
                Some((old, LineChange::Moved)) => Change::Moved { from: self.old[old].line, new },
                Some((old, LineChange::Changed)) => Change::Changed {
                    what: changes_within(&self.old[old], brief),
                    old: self.old[old].clone(),
                    new,
                },
                None => Change::Added(new),
            };
            changes.push(((new_gaps[at], true, at), change));
        }
        changes.sort_by_key(|(key, _)| *key);
        Comparison { changes: changes.into_iter().map(|(_, change)| change).collect(), same }
    }
}

/// How many leading characters two messages must share in order to count as the same message.
const BEGIN: usize = 24;

/// Returns the role of a message and its first [`BEGIN`] characters, or `None` if the message is
/// not longer than that.
fn alike(brief: &Brief) -> Option<(&'static str, &str)> {
    let (end, _) = brief.words.char_indices().nth(BEGIN)?;
    Some((brief.role?.as_str(), &brief.words[..end]))
}

/// A range of lines in the old session, and the range of lines that replaces it in the new session.
/// Line numbers are 0-based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines that were removed from the old session.
    pub old: Range<usize>,
    /// The lines that were added in the new session.
    pub new: Range<usize>,
}

/// The result of comparing two sessions line by line.
pub struct Diff {
    /// All lines of the old session.
    pub old: Lines,
    /// All lines of the new session.
    pub new: Lines,
    /// The ranges of lines that differ, in order.
    pub hunks: Vec<Hunk>,
}

/// The lines of a file. Only the lines' hashes are kept in memory, because two whole sessions may
/// not fit.
pub struct Lines {
    file: File,
    /// The byte offset of each line, followed by the offset where the last line ends.
    bounds: Vec<u64>,
    hashes: Vec<u64>,
}

impl Store {
    /// Checks a snapshot's bytes, and opens them as a seekable file.
    pub fn open_to_compare(&self, entry: &Entry) -> Result<File> {
        let (bytes, _) = self.open_verified(entry)?;
        bytes.into_file().or_cannot("read", &self.data_path(&entry.id))
    }
}

impl Diff {
    /// Compares two files. If a file comes from a snapshot, the caller must have checked its bytes.
    pub fn of_files(old: File, new: File) -> io::Result<Self> {
        let hasher = RandomState::new();
        let (old, new) = (Lines::of(old, &hasher)?, Lines::of(new, &hasher)?);
        let ops = similar::capture_diff_slices(Algorithm::Myers, &old.hashes, &new.hashes);
        let differing = ops.into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
        let hunks = differing.map(|op| Hunk { old: op.old_range(), new: op.new_range() });
        Ok(Self { hunks: hunks.collect(), old, new })
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

    /// Reads the bytes of the line at this index, including the newline.
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
    use super::{Change, compare};

    fn message(role: &str, text: &str) -> String {
        format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n")
    }

    /// Compares two sessions, and returns the differences in a short form and the number of
    /// unchanged records.
    fn diff(old: &[String], new: &[String]) -> (Vec<String>, usize) {
        let compared = compare(old.concat().as_bytes(), new.concat().as_bytes()).expect("reads");
        let told = compared.changes.iter().map(|change| match change {
            Change::Removed(old) => format!("-{}", old.line),
            Change::Added(new) => format!("+{}", new.line),
            Change::Changed { old, new, what } => {
                format!("~{},{}: {}", old.line, new.line, what.join("; "))
            }
            Change::Moved { from, new } => format!(">{from},{}", new.line),
        });
        (told.collect(), compared.same)
    }

    fn session() -> Vec<String> {
        vec![
            message("system", "You are careful."),
            message("user", "Please look at the importer, it is slow."),
            "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]}\n".to_owned(),
            format!("{{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"{}\"}}\n", "x".repeat(1200)),
            message("assistant", "It reads each line twice."),
        ]
    }

    /// Comparing a session with itself finds no changes.
    #[test]
    fn equal_sessions_have_no_changes() {
        assert_eq!(diff(&session(), &session()), (vec![], 5));
        assert_eq!(diff(&[], &[]), (vec![], 0));
    }

    /// Removed, added and moved messages are listed with their line numbers.
    #[test]
    fn messages_are_removed_added_and_moved() {
        let old = session();
        let mut new = old.clone();
        new.remove(1);
        new.push(message("user", "Thanks."));
        assert_eq!(diff(&old, &new), (vec!["-2".into(), "+5".into()], 4));
        let mut new = old.clone();
        let last = new.pop().expect("one");
        new.insert(0, last);
        assert_eq!(diff(&old, &new), (vec![">5,1".into()], 4));
    }

    /// A message with a shortened result is recognized by its call id, and a message with changed
    /// text by its beginning and its neighbours.
    #[test]
    fn what_changed_within_a_message_is_told() {
        let old = session();
        let mut new = old.clone();
        new[3] = "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"x\\n⟦ctx: read, all 1200 bytes: ctx-offload --show 01234567⟧\"}\n".to_owned();
        new[1] = message("user", "Please look at the importer, it is slow. And soon.");
        let (changes, same) = diff(&old, &new);
        assert_eq!(same, 3);
        assert_eq!(
            changes,
            [
                "~2,2: text: 40 → 50 characters",
                "~4,4: result: 1200 → 58 characters, now ends with a handle",
            ]
        );
        let (back, _) = diff(&new, &old);
        assert_eq!(back[1], "~4,4: result: 58 → 1200 characters, no longer ends with a handle");
        new[4] = "{\"role\":\"assistant\",\"content\":\"It reads each line twice.\",\"seen\":1}\n"
            .to_owned();
        let (changes, _) = diff(&old, &new);
        assert_eq!(changes[2], "~5,5: only JSON members outside the message changed");
    }

    /// An agent's own log is compared record by record. A record that is not a message is displayed
    /// as its type.
    #[test]
    fn an_agents_own_file_is_compared_by_its_records() {
        let record = |id: &str, text: &str| {
            format!(
                "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
            )
        };
        let head = "{\"type\":\"session\",\"version\":3,\"id\":\"p-1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n".to_owned();
        let old = [head.clone(), record("a1", "hi"), record("a2", "there")];
        let entry = "{\"type\":\"compaction\",\"id\":\"a3\",\"parentId\":\"a2\",\"timestamp\":\"2026-01-01T00:00:02.000Z\",\"summary\":\"s\",\"firstKeptEntryId\":\"a2\",\"tokensBefore\":9}\n".to_owned();
        let new = [head, record("a1", "hello"), record("a2", "there"), entry];
        let (changes, same) = diff(&old, &new);
        assert_eq!(same, 2);
        assert_eq!(changes, ["~2,2: text: 2 → 5 characters", "+4"]);
    }

    /// It is fast to compare two sessions that have nothing in common.
    #[test]
    fn many_messages_are_compared_fast() {
        let many = |of: &str| -> Vec<String> {
            (0..20_000).map(|n| message("user", &format!("{of} {n}"))).collect()
        };
        let begun = std::time::Instant::now();
        let (changes, same) = diff(&many("a"), &many("b"));
        assert_eq!((changes.len(), same), (40_000, 0));
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}

#[cfg(test)]
mod lines_tests {
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
