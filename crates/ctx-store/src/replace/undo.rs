//! Undo: finds the last successful replacement of a file.
//!
//! Each snapshot of a replaced file describes its new content. The replacement succeeded if the
//! file still begins with that, since agents only append. A run that was killed before its commit,
//! and left its snapshot, is therefore not mistaken for the last one. Also finds what a rollback
//! would remove: lines that agents have appended since a tool last changed or saved the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ctx_format::counted;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::{OrCannot, StoreError};
use crate::fs::{hash_into, hex, is_there};
use crate::replace::restore::Restore;
use crate::replace::session_file::SessionFile;
use crate::snapshot::meta::{Meta, Successor};
use crate::snapshot::{Catalog, Entry};
use crate::store::Store;

impl Store {
    /// The state before the last replacement of a file. Skips a snapshot of exactly the current
    /// bytes. If the file begins with nothing that a tool wrote, it has been rewritten, and the
    /// newest replacement counts. A damaged snapshot that may be the one is an error.
    ///
    /// Also returns the hashes that decide, because a rollback needs more of them and should read
    /// the file only twice. The second time is under the lock, since an agent may append until
    /// then.
    pub(crate) fn last_replaced<'c>(
        &self,
        catalog: &'c Catalog,
        path: Option<&Path>,
    ) -> Result<(&'c Entry, PrefixHashes), StoreError> {
        if catalog.entries.is_empty() {
            return Err(StoreError::NothingToUndo);
        }
        let mut entries: Vec<&Entry> = catalog.entries.iter().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.id.stamp.sequence));
        let metas = entries.iter().filter_map(|entry| entry.meta.as_ref().ok());
        let asked = metas.flat_map(Meta::lengths);
        let now = PrefixHashes::of(path, asked)?;
        let mut newest = None;
        for entry in entries {
            let Ok(meta) = &entry.meta else {
                // The commit record of a damaged one may still be good.
                let sealed = self.read_sealed(&entry.id);
                if sealed.is_ok_and(|meta| !meta.kind.is_of_replacement()) {
                    continue;
                }
                let damaged = entry.trusted_meta().expect_err("it is damaged");
                return Err(damaged.in_undo());
            };
            if !meta.kind.is_of_replacement() || now.is(meta) {
                continue;
            }
            match &meta.replaced_by {
                Some(new) if !now.begin_with(new) => {
                    newest.get_or_insert(entry);
                }
                // Older versions of the tools did not write it down.
                _ => return Ok((entry, now)),
            }
        }
        let newest = newest.ok_or(StoreError::NothingToUndo)?;
        Ok((newest, now))
    }
}

impl Meta {
    /// How long its bytes are, and what was to take their place.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        let new = self.replaced_by.as_ref().map(|new| new.bytes);
        new.into_iter().chain([self.bytes])
    }
}

/// The hashes of the beginnings of a file, by their lengths.
#[derive(Default)]
pub(crate) struct PrefixHashes {
    /// Which file.
    path: Option<PathBuf>,
    /// For the whole file; `None` if there is no file.
    length: Option<u64>,
    hashes: BTreeMap<u64, String>,
}

impl PrefixHashes {
    /// The requested hashes, in one pass over the file.
    pub(crate) fn of(
        path: Option<&Path>,
        asked: impl Iterator<Item = u64>,
    ) -> Result<Self, StoreError> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let none = Self { path: Some(path.to_owned()), ..Self::default() };
        if !is_there(path)? {
            return Ok(none);
        }
        let live = SessionFile::open(path)?;
        let length = live.meta.len();
        let mut lengths: BTreeSet<u64> = asked.filter(|bytes| *bytes <= length).collect();
        lengths.insert(length);
        let hashes = hashes(&live.file, lengths).or_cannot("read", path)?;
        Ok(Self { length: Some(length), hashes, ..none })
    }

    /// Whether they are those of that file.
    pub(crate) fn are_of(&self, path: &Path) -> bool {
        self.path.as_deref() == Some(path)
    }

    pub(crate) fn begin_with(&self, new: &Successor) -> bool {
        self.hashes.get(&new.bytes) == Some(&new.sha256)
    }

    /// How much of the file is a snapshot, or what took its place; the longer one.
    pub(crate) fn fit(&self, meta: &Meta) -> Option<u64> {
        let own = (self.hashes.get(&meta.bytes) == Some(&meta.sha256)).then_some(meta.bytes);
        let new = meta.replaced_by.as_ref();
        let new = new.filter(|new| self.begin_with(new)).map(|new| new.bytes);
        own.max(new)
    }

    fn is(&self, meta: &Meta) -> bool {
        let whole = self.length.and_then(|length| self.hashes.get(&length));
        whole == Some(&meta.sha256)
    }
}

fn hashes(mut input: impl Read, lengths: BTreeSet<u64>) -> io::Result<BTreeMap<u64, String>> {
    let (mut hasher, mut done) = (Sha256::new(), 0);
    let mut found = BTreeMap::new();
    for length in lengths {
        done += hash_into(&mut hasher, &mut input.by_ref().take(length - done))?;
        if done < length {
            // It was truncated meanwhile.
            break;
        }
        found.insert(length, hex(&hasher.clone().finalize()));
    }
    Ok(found)
}

/// Lines that others have appended to a session file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Appended {
    /// The id of the snapshot since which it came.
    pub since: String,
    /// How many lines, an unfinished last one included.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// `2 lines, 24 bytes that were appended since ID`.
impl fmt::Display for Appended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lines, bytes) = (counted(self.lines, "line"), counted(self.bytes, "byte"));
        let since = &self.since;
        write!(f, "{lines}, {bytes} that were appended since {since}")
    }
}

impl Restore<'_> {
    /// What follows the part of the file that a tool knows, and would be lost with it: after the
    /// content that replaced the snapshot, after the snapshot's own bytes, or after the result of
    /// another replacement.
    pub fn appended(&self, path: &Path) -> Result<Option<Appended>, StoreError> {
        let meta = &self.meta;
        let own = Successor { bytes: meta.bytes, sha256: meta.sha256.clone() };
        let mut made: Vec<(&str, &Successor)> = Vec::new();
        made.extend(self.made.iter().map(|(id, made)| (id.as_str(), made)));
        made.sort_by_key(|(_, made)| std::cmp::Reverse(made.bytes));
        let after = meta.replaced_by.iter().chain([&own]);
        let known = after.map(|of| (meta.id.as_str(), of)).chain(made);
        let known: Vec<_> = known.collect();
        let read;
        let now = if self.file.are_of(path) {
            &self.file
        } else {
            read = PrefixHashes::of(Some(path), known.iter().map(|(_, of)| of.bytes))?;
            &read
        };
        let Some((since, of)) = known.into_iter().find(|(_, of)| now.begin_with(of)) else {
            return Ok(None);
        };
        let mut file = SessionFile::open(path)?.file;
        file.seek(SeekFrom::Start(of.bytes)).or_cannot("read", path)?;
        let mut file = BufReader::new(file);
        let mut appended = Appended { since: since.to_owned(), lines: 0, bytes: 0 };
        loop {
            let read = file.skip_until(b'\n').or_cannot("read", path)?;
            if read == 0 {
                return Ok((appended.bytes > 0).then_some(appended));
            }
            appended.lines += 1;
            appended.bytes += read as u64;
        }
    }
}

#[cfg(test)]
mod appended_tests {
    use std::fs;

    use crate::replace::restore::SnapshotChoice;
    use crate::tests::{Bench, id};
    use crate::{Addition, Figures, MinIdle, SnapshotKind};

    #[test]
    fn what_was_appended_since_is_counted() {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", "old\n");
        let draft = bench.store.draft_of(&path).expect("reads");
        let saved = draft.commit(&id("demo"), SnapshotKind::Snapshot);
        saved.expect("commits");
        let text = || fs::read_to_string(&path).expect("reads");
        let appended = |wanted| {
            let found = bench.store.find_restore(&id("demo"), wanted);
            let appended = found.expect("found").appended(&path).expect("reads");
            appended.map(|it| (it.since.rsplit('-').next().map(str::to_owned), it.lines, it.bytes))
        };
        let since = |number: &str, lines, bytes| Some((Some(number.to_owned()), lines, bytes));
        assert_eq!(appended(SnapshotChoice::Named("1")), None);
        fs::write(&path, "old\n1\n2\nha").expect("written");
        assert_eq!(appended(SnapshotChoice::Named("1")), since("0001", 3, 6));
        let claimed = bench.store.begin_replacement(&path, &id("demo"), MinIdle::default());
        let added = claimed.expect("claimed").append(Addition {
            lines: b"ours\n",
            operation: "compact",
            kind: SnapshotKind::PreCompact,
            figures: Figures::default(),
        });
        added.expect("appended");
        // Ours are no loss.
        assert_eq!(appended(SnapshotChoice::Undo(Some(&path))), None);
        let grown = text() + "3\n";
        fs::write(&path, grown).expect("written");
        assert_eq!(appended(SnapshotChoice::Undo(Some(&path))), since("0002", 1, 2));
        // The search for the snapshot has read enough of the file to tell.
        let undo = bench.store.find_restore(&id("demo"), SnapshotChoice::Undo(Some(&path)));
        let undo = undo.expect("found");
        assert!(undo.file.are_of(&path));
        let told = undo.appended(&path).expect("reads").expect("a line");
        assert_eq!(
            told.to_string(),
            format!("1 line, 2 bytes that were appended since {}", undo.meta.id)
        );
        // A file that was compacted as a whole.
        let mut found = bench.store.find_restore(&id("demo"), SnapshotChoice::Named("1"));
        let found = found.as_mut().expect("found");
        found.restore(&path, MinIdle::default()).expect("restored");
        fs::write(&path, "old\nmore\n").expect("written");
        assert_eq!(appended(SnapshotChoice::Named("2")), since("0003", 1, 5));
        fs::write(&path, "anew\n").expect("written");
        assert_eq!(appended(SnapshotChoice::Named("2")), None);
        fs::remove_file(&path).expect("removed");
        assert_eq!(appended(SnapshotChoice::Named("2")), None);
    }
}
