//! Files in a store's memory that are not memory files: each session's summaries, and the daily
//! logs. People may edit these files. A daily log has an entry for each compaction, extraction,
//! consolidation and rollback on that day:
//!
//! ```text
//! # 2026-11-24 (UTC)
//!
//! ## 10:18:12 demo: compacted 30282 → 9004 tokens, 206 → 12 messages
//!
//! - decision: We will keep SQLite. (user, demo:42)
//! ```

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use ctx_store::{
    Facts, Figures, SessionId, SharedFolder, Store, StoreError, file_names, open_plain,
};

/// Reads a regular file; `None` if the file does not exist. Symbolic links are not followed.
pub fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    match open_plain(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Io { action: "read", path: path.to_owned(), source }),
    }
}

/// Returns the names in a folder, sorted. Omits names that are not valid UTF-8. Returns an empty
/// list if the folder does not exist. Symbolic links are not followed.
pub fn names_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |source| StoreError::Io { action: "read", path: folder.to_owned(), source };
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Ok(meta) if !meta.is_dir() => return Err(failed(io::Error::other("it is not a folder"))),
        looked_up => looked_up.map_err(failed)?,
    };
    let mut names = file_names(folder)?;
    names.sort();
    Ok(names)
}

/// Retries `attempt` a few times if another program saved the file between our read and our write.
pub(crate) fn tried_again<T>(
    mut attempt: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut tries = (1..SharedFolder::TRIES).map(|_| attempt());
    let done = tries.find(|done| !matches!(done, Err(StoreError::Changed(_))));
    done.unwrap_or_else(attempt)
}

fn folder(store: &Store) -> PathBuf {
    store.memory().join("session-summaries")
}

/// The path of the file that contains a session's summaries.
pub fn summary_path(store: &Store, session: &SessionId) -> PathBuf {
    folder(store).join(format!("{session}.md"))
}

/// Appends a summary of `messages` messages. Returns `false` and appends nothing if the text equals
/// the newest summary, for example because a pipeline ran again. `figures` are recorded in the
/// audit log.
pub fn append_summary(
    store: &Store,
    session: &SessionId,
    messages: u64,
    text: &str,
    figures: Figures,
) -> Result<bool, StoreError> {
    let folder = store.shared_folder(&folder(store))?;
    let file = folder.read(&format!("{session}.md"))?;
    let text = text.trim_end().replace(|c: char| c != '\n' && is_unseen(c), " ");
    let body = format!(" messages\n\n{text}\n");
    if file.old.ends_with(body.as_bytes()) {
        return Ok(false);
    }
    let heading = if file.old.is_empty() { format!("# {session}\n") } else { String::new() };
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

/// The daily log entry for one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DailyEntry {
    /// The session; `None` if the operation covered several sessions.
    pub session: Option<String>,
    /// A description of the operation.
    pub what: String,
    /// The items to remember from the operation, each on one line.
    pub items: Vec<String>,
}

impl DailyEntry {
    /// Appends the entry to `dir/{date}.md`, where `date` is the UTC date of `now`. If a person
    /// edits the file at the same time, the entry is appended to the edited version.
    pub fn append(&self, dir: &Path, now: DateTime<Utc>) -> Result<(), StoreError> {
        let folder = SharedFolder::lock(dir)?;
        SharedFolder::remove_unfinished(dir);
        self.append_in(&folder, now)
    }

    /// Appends the entry to the store's daily log. If the log cannot be written, the error says
    /// that the operation itself was completed.
    pub fn log(&self, store: &Store) -> Result<(), StoreError> {
        let log = || self.append_in(&store.shared_folder(&daily(store))?, store.now());
        log().map_err(|error| error.after("the change"))
    }

    fn append_in(&self, folder: &SharedFolder, now: DateTime<Utc>) -> Result<(), StoreError> {
        let name = format!("{}.md", now.format("%F"));
        tried_again(|| {
            let file = folder.read(&name)?;
            let section = self.section(&file.old, now);
            file.append(section.as_bytes())
        })
    }

    /// The text to append to a log that contains `old`.
    fn section(&self, old: &[u8], now: DateTime<Utc>) -> String {
        let mut text = match old {
            [] => format!("# {} (UTC)\n", now.format("%F")),
            [.., b'\n'] => String::new(),
            _ => "\n".to_owned(),
        };
        let what = match &self.session {
            Some(session) => format!("{session}: {}", self.what),
            None => self.what.clone(),
        };
        let _ = writeln!(text, "\n## {} {}", now.format("%T"), on_one_line(&what));
        if !self.items.is_empty() {
            text.push('\n');
        }
        for item in &self.items {
            let _ = writeln!(text, "- {}", on_one_line(item));
        }
        text
    }
}

/// Replaces control and invisible characters with spaces, so that text from a session cannot start
/// an entry, control a terminal or hide from a reader.
fn on_one_line(text: &str) -> String {
    text.replace(is_unseen, " ")
}

fn is_unseen(c: char) -> bool {
    c.is_control() || ctx_text::is_invisible(c)
}

fn daily(store: &Store) -> PathBuf {
    store.memory().join("daily")
}

/// A log of the operations on one day.
#[derive(Clone, Debug)]
pub(crate) struct DailyLog {
    /// The name of the file, such as `2026-11-24.md`.
    pub(crate) name: String,
    pub(crate) day: NaiveDate,
    pub(crate) text: String,
}

/// Reads the daily logs, oldest first. Symbolic links are not followed.
pub(crate) fn logs(store: &Store) -> Result<Vec<DailyLog>, StoreError> {
    let dir = daily(store);
    let mut logs = Vec::new();
    for name in names_in(&dir)? {
        let Some(day) = name.strip_suffix(".md").and_then(|day| day.parse().ok()) else { continue };
        if let Some(bytes) = read_file(&dir.join(&name))? {
            logs.push(DailyLog { name, day, text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(logs)
}

/// Removes the unfinished logs that killed runs left in the store's `tmp/`. Writing an entry does
/// not remove unfinished logs, because the next entry may be for another day.
pub fn tidy_logs(store: &Store) -> Result<(), StoreError> {
    let dir = daily(store);
    let mut names = store.unfinished_edits()?;
    names.retain(|name| dir.join(name).is_file());
    if names.is_empty() {
        return Ok(());
    }
    let folder = store.shared_folder(&dir)?;
    names.iter().try_for_each(|name| folder.read(name).map(drop))
}
