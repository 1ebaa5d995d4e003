//! Reads the facts that the session list shows about a session file, such as its title and token
//! count.
//!
//! An [`Index`] keeps the results of earlier runs, so that unchanged files need not be read again.
//! The index is only a cache, so a missing or damaged index counts as empty.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ctx_engine::estimate::CalibrationPass;
use ctx_engine::message_counter::{MessageCounter, add_to_size};
use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, FixedFile, Object, Options, Part, Record, Records};
use ctx_policy::trigger::Size;
use ctx_text::first_chars;
use serde::{Deserialize, Serialize};

use crate::find::{Mark, kimi_state, project_root, workspace_name};

/// What the session list shows about a session file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Content {
    /// The dialect of the file.
    pub dialect: String,
    /// The session's id, as assigned by the agent.
    pub session: Option<String>,
    /// The session name that the user chose, or else the title that the agent chose.
    pub title: Option<String>,
    /// The user's first request.
    pub ask: Option<String>,
    /// The agent's working directory.
    pub folder: Option<String>,
    /// The model used for the last request.
    pub model: Option<String>,
    /// The size of the model's window in tokens, taken from the file or, failing that, from the
    /// list of models.
    pub recorded_window: Option<u64>,
    /// The number of messages in the context, including system messages.
    pub messages: u64,
    /// The number of system messages in the context.
    pub system: u64,
    /// The number of user requests in the context.
    pub turns: u64,
    /// The size of the tool results in the context, in bytes.
    pub tool_bytes: u64,
    /// The token count of the context according to the newest valid usage record.
    pub recorded: Option<u64>,
    /// How many of the `context_tokens` were estimated rather than recorded.
    pub estimated: u64,
    /// The best available token count of the whole context.
    #[serde(rename = "tokens")]
    pub context_tokens: u64,
    /// The number of lines that are not records.
    pub bad_lines: u64,
}

impl Content {
    /// Returns the size of the session, for comparison with a policy's triggers.
    pub(crate) fn size(&self) -> Size {
        Size {
            messages: self.messages,
            system_messages: self.system,
            turns: self.turns,
            tokens: self.context_tokens,
            tool_bytes: self.tool_bytes,
            ..Size::default()
        }
    }
}

/// The result of reading a session file, together with the file's size and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The file's size and times when it was opened. Any later write to the file changes them.
    pub mark: Mark,
    /// True if the file had not changed recently, so that this result may be cached.
    pub is_settled: bool,
    /// The content, or `None` if the file is not a session.
    pub content: Option<Content>,
}

/// Reads a session file. Records that do not fit into memory are written to an unnamed file in
/// `temp`.
pub fn read(
    path: &Path,
    temp: &Path,
    counter: MessageCounter,
    now: SystemTime,
) -> io::Result<Reading> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mark = Mark::of(&meta);
    let options = Options { temp: Some(temp.to_owned()), ..Options::default() };
    let again = Box::new(FixedFile::from(file.try_clone()?));
    let mut records = Records::open_twice(&file, Some(again), &options)?;
    let mut content = None;
    if let Some(dialect) = records.dialect() {
        let mut reader = ContentReader::new(dialect, counter);
        while let Some(record) = records.next()? {
            reader.push(&record);
        }
        content = Some(reader.finish());
    }
    if let Some(content) = &mut content {
        // These agents find a session by the name of its folder.
        let log = records.dialect().and_then(Dialect::log);
        if let Some(id) = log.and_then(|log| log.session_of_path(path)) {
            content.session = Some(id.to_owned());
        }
        if content.dialect == "copilot" {
            content.title = workspace_name(path).as_deref().and_then(one_line);
        }
        content.session = content.session.take().or_else(|| records.document_text("sessionId"));
        content.folder = content.folder.take().or_else(|| project_root(path));
        if let Some(state) = kimi_state(path) {
            (content.folder, content.title) = (state.cwd, state.title.and_then(|it| one_line(&it)));
        }
    }
    Ok(Reading { mark, is_settled: mark.is_settled(now), content })
}

/// Collects the [`Content`] of a session from its records.
struct ContentReader {
    dialect: &'static dyn Dialect,
    counter: MessageCounter,
    calibration: CalibrationPass,
    size: Size,
    content: Content,
    /// The title that the agent chose. The agent's title is used only if the user did not name the
    /// session.
    made_title: Option<String>,
    /// The first request that may have been written by the client rather than the user.
    doubtful_ask: Option<String>,
}

impl ContentReader {
    fn new(dialect: &'static dyn Dialect, counter: MessageCounter) -> Self {
        let content = Content { dialect: dialect.name().to_owned(), ..Content::default() };
        Self {
            dialect,
            counter,
            calibration: CalibrationPass::new(counter, Some(dialect)),
            size: Size::default(),
            content,
            made_title: None,
            doubtful_ask: None,
        }
    }

    fn push(&mut self, record: &Record<'_>) {
        let Some(object) = record.whole_object() else {
            self.content.bad_lines += u64::from(record.class.is_bad() && record.piece.begins());
            return;
        };
        let tokens = self.message(record);
        self.calibration.push(record, tokens);
        // A subagent's records do not describe the main session.
        if record.presence != Some(Presence::Outside(Outside::OtherAgent)) {
            self.describe(object);
            if self.content.ask.is_none() {
                self.ask(object);
            }
        }
    }

    /// Adds a message to the size of the context, and returns the message's token count.
    fn message(&mut self, record: &Record<'_>) -> Option<u64> {
        let outline = record.outline(Some(self.dialect))?;
        let message = record.message(Some(self.dialect))?;
        Some(add_to_size(&mut self.size, &outline, &message, &self.counter))
    }

    fn describe(&mut self, object: &Object<'_>) {
        let Some(log) = self.dialect.log() else { return };
        let content = &mut self.content;
        let about = log.about(object);
        let title = |text: Cow<'_, str>| one_line(&text);
        content.title = about.name.and_then(title).or_else(|| content.title.take());
        self.made_title = about.title.and_then(title).or_else(|| self.made_title.take());
        let text = |it: Option<Cow<'_, str>>| it.map(Cow::into_owned).filter(|it| !it.is_empty());
        content.session = content.session.take().or_else(|| text(about.session));
        content.folder = content.folder.take().or_else(|| text(about.folder));
    }

    /// Finds the user's first request, even if that message is no longer in the context.
    fn ask(&mut self, object: &Object<'_>) {
        if !self.dialect.outline(object).is_some_and(|it| it.begins_turn && !it.is_summary) {
            return;
        }
        let Some(message) = self.dialect.message(object) else { return };
        for part in &message.parts {
            let Part::Text(text) = part else { continue };
            let Some(line) = one_line(text) else { continue };
            // A tag or a command may have been written by the client rather than the user.
            let is_command = line.starts_with('/') && !line.contains(' ');
            if !line.starts_with('<') && !is_command {
                self.content.ask = Some(line);
                return;
            }
            self.doubtful_ask.get_or_insert(line);
        }
    }

    fn finish(self) -> Content {
        let calibration = self.calibration.finish();
        let recorded = calibration.last.map(|last| last.usage.total());
        // Use the calibrated estimate only for agents' own logs, as the other tools do.
        let estimate = calibration.estimate.filter(|_| self.dialect.is_linked());
        let tokens = estimate.map_or(self.size.tokens, |estimate| estimate.tokens);
        let content = self.content;
        Content {
            title: content.title.or(self.made_title),
            ask: content.ask.or(self.doubtful_ask),
            model: calibration.model,
            recorded_window: calibration.window,
            messages: self.size.messages,
            system: self.size.system_messages,
            turns: self.size.turns,
            tool_bytes: self.size.tool_bytes,
            recorded,
            estimated: tokens.saturating_sub(recorded.unwrap_or(0)),
            context_tokens: tokens,
            ..content
        }
    }
}

/// The maximum number of characters in a title.
const TITLE: usize = 160;

/// Returns the beginning of `text` on one line, or `None` if `text` is empty.
fn one_line(text: &str) -> Option<String> {
    let line = ctx_text::one_line(text);
    let begin = first_chars(&line, TITLE);
    let line = if begin.len() < line.len() { format!("{begin}…") } else { line };
    (!line.is_empty()).then_some(line)
}

/// The first line of an index. Increase the version number in this line whenever a change to the
/// code alters what is read from a session file.
const HEAD: &str = concat!("{\"sessions\":\"5 ", env!("CARGO_PKG_VERSION"), "\"}");

/// The cached results of reading session files, by path.
#[derive(Debug, Default)]
pub struct Index {
    /// The mark and content of each file. The content is `None` if the file is not a session.
    entries: HashMap<PathBuf, (Mark, Option<Content>)>,
    /// True if results have been added since the index was parsed.
    pub is_changed: bool,
}

impl Index {
    /// Parses an index. Returns an empty index if another version of the tools wrote `text`.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Self::default();
        }
        let entries = lines.filter_map(|line| serde_json::from_str(line).ok());
        Self { entries: entries.collect(), is_changed: false }
    }

    /// Returns the cached result for an unchanged file. The inner value is `None` if the file is
    /// not a session.
    pub fn get(&self, path: &Path, mark: &Mark) -> Option<Option<&Content>> {
        let (_, content) = self.entries.get(path).filter(|(known, _)| known == mark)?;
        Some(content.as_ref())
    }

    /// Stores the result for a file if the file's mark is reliable.
    pub fn put(&mut self, path: &Path, reading: &Reading) {
        if reading.is_settled {
            self.entries.insert(path.to_owned(), (reading.mark, reading.content.clone()));
            self.is_changed = true;
        }
    }

    /// Removes entries whose files no longer exist. Does nothing if the index has not changed,
    /// because an unchanged index is not written.
    pub fn forget_vanished(&mut self) {
        if self.is_changed {
            self.entries.retain(|path, _| path.symlink_metadata().is_ok());
        }
    }

    /// Returns the text of the index, which is always the same for the same entries. Paths that are
    /// not valid UTF-8 are omitted.
    pub fn to_text(&self) -> String {
        let lines = self.entries.iter().filter_map(|entry| serde_json::to_string(&entry).ok());
        let mut lines: Vec<String> = lines.collect();
        lines.sort_unstable();
        lines.insert(0, HEAD.to_owned());
        lines.push(String::new());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests;
