//! How much room a store takes.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use walkdir::WalkDir;

use crate::catalog::snapshot_files;
use crate::error::{Naming, StoreError};
use crate::files::if_there;
use crate::{SessionId, Store};

/// The size of a store; all zeros where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Sessions of which there are snapshots or offloaded files.
    pub sessions: u64,
    /// Snapshots, those in the trash left out.
    pub snapshots: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of the files of snapshots, as they lie there: packed ones packed.
    pub snapshot_bytes: u64,
    /// Bytes of the files in the trash.
    pub trash_bytes: u64,
}

impl Store {
    /// How much room it takes, by the lengths of its files. What vanishes meanwhile takes none.
    pub fn usage(&self) -> Result<Usage, StoreError> {
        let snapshots = snapshot_files(&self.snapshots())?;
        let committed = snapshots.iter().filter(|file| file.is_meta);
        let lengths = snapshots.iter();
        let lengths = lengths.filter_map(|file| fs::symlink_metadata(&file.path).ok());
        let sessions: std::collections::BTreeSet<SessionId> = self.sessions()?;
        Ok(Usage {
            sessions: sessions.len() as u64,
            snapshots: committed.count() as u64,
            bytes: length_of(self.root())?,
            snapshot_bytes: lengths.map(|meta| meta.len()).sum(),
            trash_bytes: length_of(&self.trash())?,
        })
    }
}

/// The bytes of all files in a folder, links not followed; what vanishes meanwhile takes none.
fn length_of(folder: &Path) -> Result<u64, StoreError> {
    let mut bytes = 0;
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(io::Error::from);
        let meta = entry.and_then(|entry| entry.metadata().map_err(Into::into));
        let meta = if_there(meta.naming("read", folder))?;
        bytes += meta
            .filter(fs::Metadata::is_file)
            .map_or(0, |meta| meta.len());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Usage;
    use crate::testing::Bench;

    /// 16: nothing of a store that is not there; each file of one that is.
    #[test]
    fn the_room_is_that_of_the_files() {
        let bench = Bench::new();
        assert_eq!(bench.store.usage().expect("read"), Usage::default());
        assert!(!bench.store.root().exists());
        bench.take("demo", b"12345\n");
        let gone = bench.take("other", b"1\n");
        let before = bench.store.usage().expect("read");
        assert_eq!((before.sessions, before.snapshots), (2, 2));
        assert_eq!(before.trash_bytes, 0);
        assert!(before.snapshot_bytes > 8 && before.bytes > before.snapshot_bytes);
        fs::write(bench.store.root().join("memory/more"), "12345").expect("written");
        assert_eq!(bench.store.usage().expect("read").bytes, before.bytes + 5);
        bench.store.discard(&[gone], &[]).expect("removed");
        let after = bench.store.usage().expect("read");
        assert_eq!((after.sessions, after.snapshots), (1, 1));
        assert!(after.trash_bytes > 2);
    }
}
