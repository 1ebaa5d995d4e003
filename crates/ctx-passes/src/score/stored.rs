//! The offloaded texts that a session names by their paths or by handles.

use ctx_ledger::score::After;
use ctx_store::{OffloadedFile, SessionId, Store, StoreError};

use crate::offload::sessions;

/// What the new session refers to, as far as it could be read.
#[derive(Debug, Default)]
pub struct Referred {
    /// The texts.
    pub texts: Vec<String>,
    /// Why others could not be read: they are lost.
    pub failed: Vec<StoreError>,
}

/// Of the offloaded files of one session, or of all, those that `after` names.
pub fn referred(
    store: &Store,
    session: Option<&SessionId>,
    after: &After,
) -> Result<Referred, StoreError> {
    let handles = after.handles().into_iter();
    let hashes: Vec<String> = handles.map(|handle| handle.hash.to_string()).collect();
    let mut found = Referred::default();
    for session in sessions(store, session)? {
        let named = store.offload_folder(&session)?.files_in(after.as_str());
        let is_named = |file: &&OffloadedFile| {
            named.contains(*file) || hashes.iter().any(|hash| file.begins_with(hash))
        };
        for file in store.offloaded_files(&session)?.iter().filter(is_named) {
            match store.read_offloaded(file) {
                Ok(content) => found.texts.push(content.text),
                Err(error) => found.failed.push(error),
            }
        }
    }
    Ok(found)
}
