//! The index of earlier readings, so that unchanged files need not be read again.
//!
//! The index is a cache. A missing or damaged one counts as empty.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::find::Mark;
use crate::read::{Content, Reading};

/// The first line, with a version: another one where a reading would say something else of the same
/// file.
const HEAD: &str = concat!("{\"sessions\":\"3 ", env!("CARGO_PKG_VERSION"), "\"}");

/// The readings of files, by their paths.
#[derive(Debug, Default)]
pub struct Index {
    /// Their marks and contents; without one the file is not a session.
    entries: HashMap<PathBuf, (Mark, Option<Content>)>,
    is_changed: bool,
}

/// A line of the file.
#[derive(Deserialize, Serialize)]
struct IndexLine<P, M, C> {
    path: P,
    mark: M,
    content: C,
}

impl Index {
    /// The index in `text`; an empty one for another version.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Self::default();
        }
        let entries = lines.filter_map(|line| {
            let line: IndexLine<PathBuf, Mark, Option<Content>> =
                serde_json::from_str(line).ok()?;
            Some((line.path, (line.mark, line.content)))
        });
        Self { entries: entries.collect(), is_changed: false }
    }

    /// The earlier reading of a file if the file is unchanged: its content, or `None` inside if it
    /// is not a session.
    pub fn get(&self, path: &Path, mark: &Mark) -> Option<Option<&Content>> {
        let (_, content) = self.entries.get(path).filter(|(known, _)| known == mark)?;
        Some(content.as_ref())
    }

    /// Keeps what was read of a file, if that file can be known again.
    pub fn put(&mut self, path: &Path, reading: &Reading) {
        if reading.is_settled {
            let known = (reading.mark, reading.content.clone());
            self.entries.insert(path.to_owned(), known);
            self.is_changed = true;
        }
    }

    /// Forgets files that are no longer there. Only what has changed is written, so only then
    /// anything is looked for.
    pub fn forget_vanished(&mut self) {
        if self.is_changed {
            self.entries.retain(|path, _| path.symlink_metadata().is_ok());
        }
    }

    /// Whether it holds anything that was not in what was parsed.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// The text of it: the same for the same readings. A path that is no text is left out.
    pub fn to_text(&self) -> String {
        let mut lines: Vec<String> = self
            .entries
            .iter()
            .filter_map(|(path, (mark, content))| {
                let line = IndexLine { path: path.to_str()?, mark, content };
                serde_json::to_string(&line).ok()
            })
            .collect();
        lines.sort_unstable();
        lines.insert(0, HEAD.to_owned());
        lines.push(String::new());
        lines.join("\n")
    }
}

#[cfg(test)]
mod index_tests {
    use std::path::Path;

    use super::{HEAD, Index};
    use crate::{Content, Mark, Reading};

    fn reading(size: u64, is_settled: bool) -> Reading {
        Reading {
            mark: Mark { size, ..Mark::default() },
            is_settled,
            content: Some(Content { messages: size, ..Content::default() }),
        }
    }

    #[test]
    fn what_was_put_is_found_while_the_file_is_the_same() {
        let mut index = Index::default();
        index.put(Path::new("/b"), &reading(7, true));
        index.put(Path::new("/a"), &Reading { content: None, ..reading(1, true) });
        index.put(Path::new("/c"), &reading(2, false));
        assert!(index.is_changed());
        let text = index.to_text();
        let index = Index::parse(&text);
        assert!(!index.is_changed());
        assert_eq!(index.to_text(), text);
        let of = |path, size| index.get(Path::new(path), &reading(size, true).mark);
        assert_eq!(of("/b", 7).flatten().map(|it| it.messages), Some(7));
        assert_eq!(of("/b", 8), None);
        assert_eq!(of("/a", 1), Some(None), "no session");
        assert_eq!(of("/c", 2), None, "it may change again and look the same");
    }

    #[test]
    fn what_is_no_index_of_this_version_holds_nothing() {
        let mut index = Index::default();
        index.put(Path::new("/b"), &reading(7, true));
        let text = index.to_text();
        let other = text.replacen(HEAD, "{\"sessions\":\"0 0\"}", 1);
        assert_ne!(other, text);
        for bad in ["", "\0\0", "{", "[]\n", &other] {
            let index = Index::parse(bad);
            assert_eq!(index.get(Path::new("/b"), &reading(7, true).mark), None, "{bad:?}");
        }
        let torn = Index::parse(&text[..text.len() - 9]);
        assert_eq!(torn.to_text().lines().count(), 1, "only its head");
    }

    #[test]
    fn vanished_files_are_forgotten() {
        let mut index = Index::default();
        index.put(Path::new("/no/such/file"), &reading(7, true));
        index.put(Path::new("/"), &reading(8, true));
        index.forget_vanished();
        let text = index.to_text();
        assert!(!text.contains("/no/such") && text.lines().count() == 2, "{text}");
    }
}
