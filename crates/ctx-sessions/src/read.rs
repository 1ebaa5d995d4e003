//! One session file, read quickly.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::SystemTime;

use ctx_transcript::{Options, Records};

use crate::content::Content;
use crate::facts::FactReader;
use crate::log::Log;
use crate::mark::Mark;
use crate::place;
use crate::shrink::Shrink;
use crate::sum::{Stand, Sum};

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

/// Reads a file; what must wait until its dialect is known waits in a file without a name in
/// `temp`.
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
        unseen: true,
        temp: Some(temp.to_owned()),
        ..Options::default()
    };
    let mut records = Records::open(source, &options)?;
    let Some(dialect) = records.dialect() else {
        return Ok(Look::NoSession);
    };
    let mut reader = FactReader::new(dialect);
    let mut sum = Sum::of(dialect);
    let mut log = Log::of(dialect, &records, temp);
    while let Some(record) = records.next()? {
        let is_open = |object| !is_whole && dialect.measures_texts(object);
        if record.object().is_some_and(is_open) {
            return Ok(Look::Whole);
        }
        let facts = reader.read(&record);
        match &mut log {
            Some(log) => log.push(&record, facts)?,
            None => sum.add(facts, Stand::of(None), record.object()),
        }
    }
    if let Some(log) = log {
        log.add_to(&mut sum, &mut reader)?;
    }
    Ok(Look::Session(Box::new(sum.finish(&reader.names))))
}

#[cfg(test)]
mod tests;
