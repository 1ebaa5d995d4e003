//! The errors of the index.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;

/// Why nothing can be searched.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A call of the file system failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The engine failed.
    #[error("the search index: {0}")]
    Engine(#[from] TantivyError),
    /// Another run builds the index, and there is no finished one yet.
    #[error("another run builds the search index")]
    Busy,
}

impl SearchError {
    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
