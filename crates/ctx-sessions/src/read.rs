//! One session file, read quickly.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::SystemTime;

use ctx_transcript::view::{Outside, Presence};
use ctx_transcript::{Dialect, Object, Options, Outline, Record, Records, Role};

use crate::content::Content;
use crate::mark::Mark;
use crate::measure;
use crate::place;
use crate::shrink::Shrink;
use crate::title;

/// What came of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The file as it was when it was opened: what is written meanwhile makes it another.
    pub mark: Mark,
    /// Whether the file was still for long enough for this to be kept.
    pub is_settled: bool,
    /// What it holds; `None` where it is no session.
    pub content: Option<Content>,
}

/// Reads a file; what cannot wait in memory waits in a file without a name in `temp`.
pub fn read(path: &Path, temp: &Path, now: SystemTime) -> io::Result<Reading> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mark = Mark::of(&meta);
    let mut found = look(Shrink::new(&file), temp, false)?;
    if matches!(found, Look::Whole) {
        file.rewind()?;
        found = look(&file, temp, true)?;
    }
    let mut content = match found {
        Look::Session(content) => Some(*content),
        Look::NoSession | Look::Whole => None,
    };
    if let Some(content) = content.as_mut().filter(|it| it.folder.is_none()) {
        content.folder = place::folder_beside(path);
    }
    Ok(Reading {
        mark,
        is_settled: mark.is_settled(now),
        content,
    })
}

/// What was seen of a session.
enum Look {
    NoSession,
    Session(Box<Content>),
    /// Its texts must be whole, so that the context can be told.
    Whole,
}

fn look(source: impl Read, temp: &Path, is_whole: bool) -> io::Result<Look> {
    let options = Options {
        temp: Some(temp.to_owned()),
        ..Options::default()
    };
    let mut records = Records::open(source, &options)?;
    let Some(dialect) = records.dialect() else {
        return Ok(Look::NoSession);
    };
    let mut sum = Sum::of(dialect);
    while let Some(record) = records.next()? {
        if let Some(object) = record.whole_object() {
            if !is_whole && dialect.measures_texts(object) {
                return Ok(Look::Whole);
            }
            sum.add(&record, object);
        } else if record.class.is_bad() {
            sum.content.bad += u64::from(record.piece.begins());
        }
    }
    Ok(Look::Session(Box::new(sum.finish())))
}

/// What is known after some of the records.
struct Sum {
    dialect: &'static dyn Dialect,
    content: Content,
    name: Option<String>,
    title: Option<String>,
    /// An ask that the client may have written itself.
    doubtful_ask: Option<String>,
    /// Estimated tokens of the context, and of what stands behind the newest usage.
    all: u64,
    behind: u64,
}

impl Sum {
    fn of(dialect: &'static dyn Dialect) -> Self {
        let content = Content {
            dialect: dialect.name().to_owned(),
            ..Content::default()
        };
        Self {
            dialect,
            content,
            name: None,
            title: None,
            doubtful_ask: None,
            all: 0,
            behind: 0,
        }
    }

    fn add(&mut self, record: &Record<'_>, object: &Object<'_>) {
        let outside = match record.presence {
            Some(Presence::Outside(why)) => Some(why),
            _ => None,
        };
        // What a helper says has nothing to do with what this session is.
        if outside == Some(Outside::OtherAgent) {
            return;
        }
        self.ask(object);
        if outside.is_none() {
            self.measure(record, object);
        }
        self.about(object);
        self.usage(object, outside);
    }

    /// A message of the context.
    fn measure(&mut self, record: &Record<'_>, object: &Object<'_>) {
        let Some(message) = record.message(Some(self.dialect)) else {
            return;
        };
        let content = &mut self.content;
        if message.role != Role::Assistant {
            // Only these can be what the outline tells of, which costs as much as the message.
            let outline = self.dialect.outline(object);
            let is = |what: fn(&Outline<'_>) -> bool| outline.as_ref().is_some_and(what);
            content.turns += u64::from(is(|it| it.begins_turn));
            if is(|it| it.is_summary) {
                // What was counted before was of another context.
                content.recorded = None;
            }
        }
        if !message.continues {
            content.messages += 1;
            content.system += u64::from(message.role.is_system());
        }
        let tool_bytes = measure::tool_bytes(&message);
        content.tool_bytes = content.tool_bytes.saturating_add(tool_bytes);
        let tokens = measure::tokens(&message);
        self.all = self.all.saturating_add(tokens);
        self.behind = self.behind.saturating_add(tokens);
    }

    /// What the agent notes down.
    fn about(&mut self, object: &Object<'_>) {
        let about = self.dialect.about(object);
        let content = &mut self.content;
        if content.session.is_none() {
            content.session = self.dialect.session(object).and_then(whole);
        }
        content.folder = content
            .folder
            .take()
            .or_else(|| about.folder.and_then(whole));
        let own = |text: Cow<'_, str>| title::line(&text);
        self.name = about.name.and_then(own).or_else(|| self.name.take());
        self.title = about.title.and_then(own).or_else(|| self.title.take());
    }

    /// Which model was asked last, and what it counted. Of a reply that is no longer said the
    /// numbers tell nothing; events are of no branch.
    fn usage(&mut self, object: &Object<'_>, outside: Option<Outside>) {
        if !matches!(outside, None | Some(Outside::NeverSent)) {
            return;
        }
        let usage = self.dialect.usage(object);
        let content = &mut self.content;
        if usage.is_some() || outside.is_some() {
            let model = self.dialect.model(object);
            content.model = model.and_then(whole).or_else(|| content.model.take());
        }
        if let Some(usage) = usage.filter(|usage| !usage.is_of_helper) {
            content.recorded = Some(usage.total());
            content.recorded_window = usage.window.or(content.recorded_window);
            self.behind = 0;
        }
    }

    /// What the user asked first, in the context or not.
    fn ask(&mut self, object: &Object<'_>) {
        if self.content.ask.is_some() {
            return;
        }
        let outline = self.dialect.outline(object);
        if !outline.is_some_and(|it| it.begins_turn && !it.is_summary) {
            return;
        }
        let Some(message) = self.dialect.message(object) else {
            return;
        };
        match title::ask(&message) {
            title::Ask::Said(ask) => self.content.ask = Some(ask),
            title::Ask::Doubtful(ask) => {
                self.doubtful_ask.get_or_insert(ask);
            }
            title::Ask::None => {}
        }
    }

    fn finish(self) -> Content {
        let mut content = self.content;
        content.title = self.name.or(self.title);
        content.ask = content.ask.or(self.doubtful_ask);
        content.estimated = match content.recorded {
            Some(_) => self.behind,
            None => self.all,
        };
        content
    }
}

/// A text of which nothing was cut out; what is so long is no name and no path.
fn whole(text: Cow<'_, str>) -> Option<String> {
    (!text.is_empty() && !text.contains('\0')).then(|| text.into_owned())
}

#[cfg(test)]
mod tests;
