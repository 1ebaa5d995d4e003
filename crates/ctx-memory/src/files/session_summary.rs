//! The cumulative summary of a session: the summaries of its compactions, the newest last.

use std::path::PathBuf;

use chrono::SecondsFormat;
use ctx_store::{Facts, Figures, SessionId, Store, StoreError};

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
    let body = format!(" messages\n\n{}\n", without_controls(text.trim_end()));
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

/// A file name in a summary must not drive a terminal.
fn without_controls(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    text.chars().map(plain).collect()
}
