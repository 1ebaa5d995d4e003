//! What can go wrong with the index.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;

/// Why nothing can be searched.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A call of the file system failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Of which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The engine failed.
    #[error("the search index: {0}")]
    Engine(#[from] TantivyError),
    /// Another run builds the index, and there is none yet.
    #[error("another run builds the search index")]
    Busy,
}

impl SearchError {
    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
