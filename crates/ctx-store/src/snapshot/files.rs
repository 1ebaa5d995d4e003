//! The names of the files of a snapshot.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::fs::file_names;
use crate::id::SnapshotId;

/// The end of the name of a commit record.
pub(crate) const META: &str = ".meta.json";
/// The end of the name of plain bytes.
pub(crate) const PLAIN: &str = ".jsonl";
/// The end of the name of packed bytes.
pub(crate) const PACKED: &str = ".jsonl.zst";

/// One of the files of a snapshot.
pub(crate) struct SnapshotFile {
    pub(crate) id: SnapshotId,
    /// Whether the file is the commit record.
    pub(crate) is_meta: bool,
    pub(crate) path: PathBuf,
}

/// The files in `dir` whose names are those of snapshot files.
pub(crate) fn snapshot_files(dir: &Path) -> Result<Vec<SnapshotFile>> {
    let file = |name: String| {
        let stem = [META, PACKED, PLAIN].iter().find_map(|ending| name.strip_suffix(ending))?;
        let (id, is_meta) = (SnapshotId::parse(stem)?, name.ends_with(META));
        Some(SnapshotFile { id, is_meta, path: dir.join(name) })
    };
    Ok(file_names(dir)?.into_iter().filter_map(file).collect())
}
