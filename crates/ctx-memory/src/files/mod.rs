//! The files of a store's memory that are not memory files of extracted items: the daily logs,
//! the state of the consolidation, the summaries of each session.

pub(crate) mod daily_log;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chrono::SecondsFormat;
use ctx_store::{Facts, Figures, SessionId, Store, StoreError, open_plain};

pub use daily_log::DailyEntry;

/// The bytes of a regular file, if it is there; links are not followed.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    match open_plain(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Io { action: "read", path: path.to_owned(), source }),
    }
}

const NAME: &str = "consolidated.json";

/// The text of the file; `None` if there is none, or it is not UTF-8.
pub(crate) fn read_consolidated(store: &Store) -> Result<Option<String>, StoreError> {
    let bytes = read(&store.memory().join(NAME))?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// Replaces the file. A failure says that the consolidation itself is done.
pub(crate) fn replace_consolidated(store: &Store, text: &str) -> Result<(), StoreError> {
    let replaced = store.write_file(&store.memory().join(NAME), text.as_bytes());
    replaced.map_err(|error| error.after("the consolidation"))
}

fn folder(store: &Store) -> PathBuf {
    store.memory().join("session-summaries")
}

/// The file of a session's summaries.
pub fn summary_path(store: &Store, session: &SessionId) -> PathBuf {
    folder(store).join(format!("{session}.md"))
}

/// Appends the summary of `messages` messages, and says whether it did: the newest summary is not
/// repeated, so that a pipeline may run again. `figures` go into the audit log.
pub fn append_summary(
    store: &Store,
    session: &SessionId,
    messages: u64,
    text: &str,
    figures: Figures,
) -> Result<bool, StoreError> {
    let folder = store.shared_folder(&folder(store))?;
    let file = folder.read(&format!("{session}.md"))?;
    // A file name in a summary must not drive a terminal.
    let text = text.trim_end().replace(|c: char| c.is_control() && c != '\n', " ");
    let body = format!(" messages\n\n{text}\n");
    if file.bytes().ends_with(body.as_bytes()) {
        return Ok(false);
    }
    let heading = if file.bytes().is_empty() { format!("# {session}\n") } else { String::new() };
    let time = store.now().to_rfc3339_opts(SecondsFormat::Micros, true);
    let entry = format!("{heading}\n# {time}: {messages}{body}");
    let mut facts =
        Facts { bytes: Some(entry.len() as u64), count: Some(messages), ..Facts::of(session) };
    let operation = store.begin("summary", &facts)?;
    file.append(entry.as_bytes())?;
    facts.figures = figures;
    store.done(&operation, &facts)?;
    Ok(true)
}
