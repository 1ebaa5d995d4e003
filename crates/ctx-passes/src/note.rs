//! What a pass has to say beside its output.

use std::fmt;

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The user should know, although the pass goes on.
    Warning,
    /// What was done.
    Info,
    /// What was done to each record.
    Detail,
}

/// One note about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// The lines it is about, from the outside in: a record's, and of a batch record
    /// the message's; none when it is about the whole session.
    pub lines: Vec<u64>,
    /// What is to be said.
    pub text: String,
}

/// The notes of a pass, in the order in which they came up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Something that the user should know.
    pub fn warn(&mut self, lines: &[u64], text: impl fmt::Display) {
        self.add(Level::Warning, lines, text);
    }

    /// Something that was done.
    pub fn info(&mut self, text: impl fmt::Display) {
        self.add(Level::Info, &[], text);
    }

    /// One more.
    pub fn add(&mut self, level: Level, lines: &[u64], text: impl fmt::Display) {
        self.0.push(Note {
            level,
            lines: lines.to_vec(),
            text: text.to_string(),
        });
    }

    /// The notes of a part of the session, which stands in this line.
    pub fn extend_within(&mut self, line: u64, inner: Self) {
        self.0.extend(inner.0.into_iter().map(|mut note| {
            note.lines.insert(0, line);
            note
        }));
    }

    /// The notes of what came next.
    pub fn append(&mut self, mut next: Self) {
        self.0.append(&mut next.0);
    }

    /// Takes them out.
    pub fn take(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Notes};

    #[test]
    fn notes_keep_their_order_and_the_way_to_their_line() {
        let mut inner = Notes::new();
        inner.warn(&[2], "a result is missing");
        inner.info("done");
        let mut notes = Notes::new();
        notes.info("begun");
        notes.extend_within(7, inner);
        let found: Vec<_> = notes
            .take()
            .into_iter()
            .map(|note| (note.level, note.lines, note.text))
            .collect();
        assert_eq!(
            found,
            [
                (Level::Info, vec![], "begun".to_owned()),
                (Level::Warning, vec![7, 2], "a result is missing".to_owned()),
                (Level::Info, vec![7], "done".to_owned()),
            ]
        );
        assert!(notes.take().is_empty());
    }
}
