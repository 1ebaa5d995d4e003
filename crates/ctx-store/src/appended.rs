//! What would go with a rollback: lines that agents have appended since a tool last had to do
//! with the file.

use std::fmt;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use serde::Serialize;

use ctx_transcript::counted;

use crate::Successor;
use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::restore::Restore;
use crate::undo::Beginnings;

/// What others have appended to a session file.
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
    /// What stands in a file behind the part that a tool knows of, and would go with it: behind
    /// what took the place of the snapshot's bytes, behind these themselves, or else behind what
    /// another replacement made of the file.
    pub fn appended(&self, path: &Path) -> Result<Option<Appended>, StoreError> {
        let meta = &self.meta;
        let own = Successor {
            bytes: meta.bytes,
            sha256: meta.sha256.clone(),
        };
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
            read = Beginnings::of(Some(path), known.iter().map(|(_, of)| of.bytes))?;
            &read
        };
        match known.iter().find(|(_, of)| now.begin_with(of)) {
            Some((since, of)) => Appended::behind(of.bytes, since, path),
            None => Ok(None),
        }
    }
}

impl Appended {
    fn behind(at: u64, since: &str, path: &Path) -> Result<Option<Self>, StoreError> {
        let mut file = Live::open(path)?.file;
        file.seek(SeekFrom::Start(at)).naming("read", path)?;
        let mut file = BufReader::new(file);
        let (mut lines, mut bytes) = (0, 0);
        loop {
            let read = file.skip_until(b'\n').naming("read", path)?;
            if read == 0 {
                break;
            }
            (lines, bytes) = (lines + 1, bytes + read as u64);
        }
        let since = since.to_owned();
        Ok((bytes > 0).then_some(Self {
            since,
            lines,
            bytes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::restore::Wanted;
    use crate::testing::{Bench, id};
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
            appended.map(|it| {
                (
                    it.since.rsplit('-').next().map(str::to_owned),
                    it.lines,
                    it.bytes,
                )
            })
        };
        let since = |number: &str, lines, bytes| Some((Some(number.to_owned()), lines, bytes));
        assert_eq!(appended(Wanted::Named("1")), None);
        fs::write(&path, "old\n1\n2\nha").expect("written");
        assert_eq!(appended(Wanted::Named("1")), since("0001", 3, 6));
        let claimed = bench
            .store
            .begin_replacement(&path, &id("demo"), MinIdle::default());
        let added = claimed.expect("claimed").append(Addition {
            lines: b"ours\n",
            operation: "compact",
            kind: SnapshotKind::PreCompact,
            figures: Figures::default(),
        });
        added.expect("appended");
        // Ours are no loss.
        assert_eq!(appended(Wanted::Undo(Some(&path))), None);
        let grown = text() + "3\n";
        fs::write(&path, grown).expect("written");
        assert_eq!(appended(Wanted::Undo(Some(&path))), since("0002", 1, 2));
        // What has looked for the snapshot has read enough of the file to tell.
        let undo = bench
            .store
            .find_restore(&id("demo"), Wanted::Undo(Some(&path)));
        let undo = undo.expect("found");
        assert!(undo.file.are_of(&path));
        let told = undo.appended(&path).expect("reads").expect("a line");
        assert_eq!(
            told.to_string(),
            format!("1 line, 2 bytes that were appended since {}", undo.meta.id)
        );
        // A file that was compacted as a whole.
        let mut found = bench.store.find_restore(&id("demo"), Wanted::Named("1"));
        let found = found.as_mut().expect("found");
        found.restore(&path, MinIdle::default()).expect("restored");
        fs::write(&path, "old\nmore\n").expect("written");
        assert_eq!(appended(Wanted::Named("2")), since("0003", 1, 5));
        fs::write(&path, "anew\n").expect("written");
        assert_eq!(appended(Wanted::Named("2")), None);
        fs::remove_file(&path).expect("removed");
        assert_eq!(appended(Wanted::Named("2")), None);
    }
}
