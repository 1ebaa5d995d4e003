//! Reads one session file for the list.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use ctx_engine::counter::{MessageCounter, add_to_size};
use ctx_engine::estimate::CalibrationPass;
use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, FromStart, Object, Options, Record, Records};
use ctx_policy::trigger::Size;

use crate::content::Content;
use crate::mark::Mark;
use crate::place;
use crate::title::{self, Ask};

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The state of the file when it was opened. A later write changes the mark.
    pub mark: Mark,
    /// Whether the file was still for long enough for this to be kept.
    pub is_settled: bool,
    /// The content, or `None` if the file is not a session.
    pub content: Option<Content>,
}

/// Reads a file. Records that must wait go to an unnamed file in `temp`.
pub fn read(
    path: &Path,
    temp: &Path,
    counter: MessageCounter,
    now: SystemTime,
) -> io::Result<Reading> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mark = Mark::of(&meta);
    let mut content = read_content(&file, temp, counter)?;
    if let Some(content) = content.as_mut().filter(|it| it.folder.is_none()) {
        content.folder = place::folder_beside(path);
    }
    Ok(Reading { mark, is_settled: mark.is_settled(now), content })
}

fn read_content(file: &File, temp: &Path, counter: MessageCounter) -> io::Result<Option<Content>> {
    let options = Options { temp: Some(temp.to_owned()), ..Options::default() };
    let again = Box::new(FromStart::new(file.try_clone()?));
    let mut records = Records::open_twice(file, again, &options)?;
    let Some(dialect) = records.dialect() else {
        return Ok(None);
    };
    let mut reader = ContentReader::new(dialect, counter);
    while let Some(record) = records.next()? {
        reader.push(&record);
    }
    Ok(Some(reader.finish()))
}

/// Collects the facts about a session from its records.
struct ContentReader {
    dialect: &'static dyn Dialect,
    counter: MessageCounter,
    calibration: CalibrationPass,
    size: Size,
    content: Content,
    /// The title that the agent made; one by the user replaces it.
    made_title: Option<String>,
    /// An ask that the client may have written itself.
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
            let is_bad = record.class.is_bad() && record.piece.begins();
            self.content.bad_lines += u64::from(is_bad);
            return;
        };
        let tokens = self.message(record);
        self.calibration.push(record, tokens);
        // Records of a subagent do not describe this session.
        if record.presence != Some(Presence::Outside(Outside::OtherAgent)) {
            self.describe(object);
            if self.content.ask.is_none() {
                self.ask(object);
            }
        }
    }

    /// Adds a message of the context. Returns its tokens.
    fn message(&mut self, record: &Record<'_>) -> Option<u64> {
        let outline = record.outline(Some(self.dialect))?;
        let message = record.message(Some(self.dialect))?;
        let is_system = outline.role.is_system() && outline.begins_message();
        self.content.system += u64::from(is_system);
        Some(add_to_size(&mut self.size, &outline, &message, &self.counter))
    }

    fn describe(&mut self, object: &Object<'_>) {
        let Some(log) = self.dialect.log() else {
            return;
        };
        let content = &mut self.content;
        let about = log.about(object);
        let title = |text: Cow<'_, str>| title::line(&text);
        content.title = about.name.and_then(title).or_else(|| content.title.take());
        self.made_title = about.title.and_then(title).or_else(|| self.made_title.take());
        if content.session.is_none() {
            content.session = log.session(object).and_then(not_empty);
        }
        if content.folder.is_none() {
            content.folder = about.folder.and_then(not_empty);
        }
    }

    /// Looks for the user's first request, whether or not it is still in the context.
    fn ask(&mut self, object: &Object<'_>) {
        let outline = self.dialect.outline(object);
        if !outline.is_some_and(|it| it.begins_turn && !it.is_summary) {
            return;
        }
        let Some(message) = self.dialect.message(object) else {
            return;
        };
        match title::ask(&message) {
            Ask::Said(ask) => self.content.ask = Some(ask),
            Ask::Doubtful(ask) => {
                self.doubtful_ask.get_or_insert(ask);
            }
            Ask::None => {}
        }
    }

    fn finish(self) -> Content {
        let calibration = self.calibration.finish();
        let recorded = calibration.last.map(|last| last.usage.total());
        // As in the other tools, only logs are calibrated.
        let estimate = calibration.estimate.filter(|_| self.dialect.is_linked());
        let tokens = estimate.map_or(self.size.tokens, |estimate| estimate.tokens);
        let content = self.content;
        Content {
            title: content.title.or(self.made_title),
            ask: content.ask.or(self.doubtful_ask),
            model: calibration.model,
            recorded_window: calibration.window,
            messages: self.size.messages + content.system,
            turns: self.size.turns,
            tool_bytes: self.size.tool_bytes,
            recorded,
            estimated: tokens.saturating_sub(recorded.unwrap_or(0)),
            context_tokens: tokens,
            ..content
        }
    }
}

fn not_empty(text: Cow<'_, str>) -> Option<String> {
    (!text.is_empty()).then(|| text.into_owned())
}

#[cfg(test)]
mod tests;
