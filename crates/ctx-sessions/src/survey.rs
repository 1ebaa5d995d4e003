//! The survey: which files must be read, and the rows of the result.

use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;

use crate::find::{Finds, Found};
use crate::index::Index;
use crate::read::Reading;
use crate::row::{Question, Row, sort};

/// Files, and an index of what was read before.
pub(crate) struct Survey {
    finds: Finds,
    index: Index,
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Listed {
    /// The newest first.
    pub rows: Vec<Row>,
    /// Files that are no sessions.
    pub foreign: Vec<PathBuf>,
    /// Paths that could not be read, other than the operands.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Named paths that could not be read.
    pub failed: Vec<(PathBuf, io::Error)>,
    /// How many files of helpers were passed over.
    pub helpers: usize,
    /// Files and folders that were looked at.
    pub looked_in: Vec<PathBuf>,
}

impl Survey {
    /// A survey before any file is read.
    pub(crate) fn new(finds: Finds, index: Index) -> Self {
        Self { finds, index }
    }

    /// The files that must be read: the largest first, so that the last threads end together.
    pub(crate) fn to_read(&self) -> Vec<PathBuf> {
        let new = |it: &&Found| !it.is_packed && self.index.get(&it.path, &it.mark).is_none();
        let mut files: Vec<&Found> = self.finds.files.iter().filter(new).collect();
        files.sort_by_key(|found| Reverse(found.mark.size));
        files.iter().map(|found| found.path.clone()).collect()
    }

    /// The list, and the index for the next time. `readings` are those of what had to be read,
    /// in their order; `named` the operands.
    pub(crate) fn finish(
        self,
        read: Vec<PathBuf>,
        readings: Vec<io::Result<Reading>>,
        named: &[PathBuf],
        question: &Question,
    ) -> (Listed, Index) {
        let Self { finds, mut index } = self;
        let mut listed = Listed {
            rows: Vec::with_capacity(finds.files.len()),
            foreign: Vec::new(),
            unreadable: finds.unreadable,
            failed: finds.failed,
            helpers: finds.helpers,
            looked_in: Vec::new(),
        };
        let mut fresh = std::collections::HashMap::new();
        for (path, reading) in read.into_iter().zip(readings) {
            match reading {
                Ok(reading) => {
                    index.put(&path, &reading);
                    fresh.insert(path, reading);
                }
                Err(error) if named.contains(&path) => listed.failed.push((path, error)),
                // The file was deleted in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => listed.unreadable.push((path, error)),
            }
        }
        for mut found in finds.files {
            if found.is_packed {
                listed.rows.push(Row::of(&found, None, question));
                continue;
            }
            let content = match fresh.get(&found.path) {
                Some(reading) => {
                    found.mark = reading.mark;
                    Some(reading.content.as_ref())
                }
                None => index.get(&found.path, &found.mark),
            };
            match content {
                Some(Some(content)) => listed.rows.push(Row::of(&found, Some(content), question)),
                Some(None) => listed.foreign.push(found.path),
                // The file could not be read.
                None => {}
            }
        }
        sort(&mut listed.rows);
        index.forget_vanished();
        (listed, index)
    }
}
