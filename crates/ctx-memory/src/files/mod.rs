//! The files of a store's memory that are not memory files of extracted items: the daily logs,
//! the state of the consolidation, the summaries of each session.

pub(crate) mod consolidated;
pub(crate) mod daily_log;
mod session_summary;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use ctx_store::{StoreError, open_plain};

pub use daily_log::DailyEntry;
pub use session_summary::{append_summary, summary_path};

/// The bytes of a regular file; links are not followed.
fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let read = || {
        let mut bytes = Vec::new();
        open_plain(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|source| StoreError::Io { action: "read", path: path.to_owned(), source })
}
