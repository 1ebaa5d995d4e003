//! `consolidated.json`: what a consolidation leaves for the next one.

use std::io;

use ctx_store::{Store, StoreError};

use super::read;

const NAME: &str = "consolidated.json";

/// The text of the file; `None` if there is none, or it is not UTF-8.
pub(crate) fn read_consolidated(store: &Store) -> Result<Option<String>, StoreError> {
    match read(&store.memory().join(NAME)) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(String::from_utf8(read?).ok()),
    }
}

/// Replaces the file. A failure says that the consolidation itself is done.
pub(crate) fn replace_consolidated(store: &Store, text: &str) -> Result<(), StoreError> {
    let replaced = store.write_file(&store.memory().join(NAME), text.as_bytes());
    replaced.map_err(|error| error.after("the consolidation"))
}
