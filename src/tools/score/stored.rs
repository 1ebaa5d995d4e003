//! What the store has: snapshots of BEFORE, files that AFTER names.

use clap::ArgMatches;
use ctx_cli::{Failure, Io};
use ctx_ledger::score::After;
use ctx_store::{Offloaded, SessionId, Store, StoreError, hash};

use super::input::Again;
use super::{Args, TOOL};
use crate::store::failure;

/// An opened store, of which one session may be all that counts.
pub(super) struct Stored {
    store: Store,
    session: Option<SessionId>,
}

impl Stored {
    /// Opens the store that was asked for, or the default one where there is one.
    pub(super) fn open(
        args: &Args,
        matches: &ArgMatches,
        io: &mut Io,
    ) -> Result<Option<Self>, Failure> {
        let is_asked_for = args.store.store.is_some() || args.session.is_some();
        if !is_asked_for && !args.store.exists() {
            return Ok(None);
        }
        let session = args.session.clone();
        match args.store.open(&TOOL, matches) {
            Ok(store) => Ok(Some(Self { store, session })),
            Err(failure) if is_asked_for => Err(failure),
            // Nobody named it, and most of a score needs none.
            Err(failure) => {
                io.report(&failure);
                Ok(None)
            }
        }
    }

    /// Whether the exact bytes are in a snapshot that is not damaged.
    pub(super) fn has(&self, before: &Again) -> Result<bool, Failure> {
        let Some(mut file) = before.file()? else {
            return Ok(false);
        };
        let Ok(length) = file.metadata().map(|meta| meta.len()) else {
            return Ok(false);
        };
        let catalog = self.store.catalog(self.session.as_ref()).map_err(failure)?;
        let mut sha256 = None;
        for entry in &catalog.entries {
            let Ok(meta) = &entry.meta else { continue };
            if meta.bytes != length {
                continue;
            }
            let wanted = match &sha256 {
                Some(sha256) => sha256,
                None => sha256.insert(hash(&mut file).map_err(|error| {
                    Failure::new(format_args!("cannot read BEFORE again: {error}"))
                })?),
            };
            if meta.sha256 != *wanted {
                continue;
            }
            match self.store.open_verified(entry) {
                Ok(_) => return Ok(true),
                Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(failure(error)),
            }
        }
        Ok(false)
    }

    /// The offloaded texts that AFTER names by their path or by a handle.
    pub(super) fn referred(&self, after: &After, io: &mut Io) -> Result<Vec<String>, Failure> {
        let sessions = match &self.session {
            Some(session) => vec![session.clone()],
            None => self.store.offload_sessions().map_err(failure)?,
        };
        let handles = after.handles().into_iter();
        let hashes: Vec<String> = handles.map(|handle| handle.hash.to_string()).collect();
        let mut texts = Vec::new();
        for session in sessions {
            let folder = self.store.offload_folder(&session).map_err(failure)?;
            let paths = paths(after.as_str(), folder.path());
            let named = |file: &Offloaded| {
                paths.contains(&folder.path_of(&file.name).as_str())
                    || hashes.iter().any(|hash| file.begins_with(hash))
            };
            let files = self.store.offloaded_files(&session).map_err(failure)?;
            for file in files.iter().filter(|file| named(file)) {
                match self.store.read_offloaded(file) {
                    Ok(content) => texts.push(content.text),
                    // Such a text is lost.
                    Err(error) => io.report(&failure(error)),
                }
            }
        }
        Ok(texts)
    }
}

/// The paths in a text that begin with a folder.
fn paths<'t>(text: &'t str, folder: &str) -> Vec<&'t str> {
    let starts = text.match_indices(folder).map(|(at, _)| &text[at..]);
    let path = |rest: &'t str| {
        let name = &rest[folder.len()..];
        let belongs = |c: char| c == '/' || c == '.' || c.is_ascii_alphanumeric();
        let length = name.find(|c| !belongs(c)).unwrap_or(name.len());
        rest[..folder.len() + length].trim_end_matches('.')
    };
    starts.map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn paths_end_where_names_do() {
        let text = "see /s/offloaded/demo/ab12.txt. Or \"/s/offloaded/demo/cd.json.txt\" (/s/offloaded/demo)";
        assert_eq!(
            paths(text, "/s/offloaded/demo"),
            [
                "/s/offloaded/demo/ab12.txt",
                "/s/offloaded/demo/cd.json.txt",
                "/s/offloaded/demo"
            ]
        );
    }
}
