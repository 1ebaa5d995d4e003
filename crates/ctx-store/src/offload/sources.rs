//! `sources.jsonl`: in which transcripts the offloaded files of a session are
//! named, as far as that is known.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::folder::Folder;
use crate::error::{Naming, StoreError};
use crate::files::if_there;

const NAME: &str = "sources.jsonl";

/// Adds transcripts that are not listed yet. Each has a line: its path as a JSON string, or
/// `null` when that is not known.
pub(super) fn add(folder: &Folder, transcripts: &[Option<&Path>]) -> Result<(), StoreError> {
    let path = folder.path().join(NAME);
    let mut file = folder.open(NAME, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND)?;
    let mut old = String::new();
    file.read_to_string(&mut old).naming("read", &path)?;
    let mut new = String::new();
    if !old.is_empty() && !old.ends_with('\n') {
        new.push('\n');
    }
    for transcript in transcripts {
        // A path that is not UTF-8 cannot be written down, so it counts as unknown.
        let line = serde_json::Value::from(transcript.and_then(Path::to_str)).to_string();
        if !old.lines().chain(new.lines()).any(|known| known == line) {
            new.push_str(&line);
            new.push('\n');
        }
    }
    file.write_all(new.as_bytes())
        .and_then(|()| file.sync_all())
        .naming("write", &path)
}

/// The transcripts; `None` when the path of one is not known.
pub(super) fn read(folder: &Folder) -> Result<Option<Vec<PathBuf>>, StoreError> {
    let mut text = String::new();
    if let Some(mut file) = if_there(folder.open(NAME, OFlags::RDONLY))? {
        file.read_to_string(&mut text)
            .naming("read", &folder.path().join(NAME))?;
    }
    Ok(text
        .lines()
        .map(|line| serde_json::from_str(line).ok())
        .collect())
}
